//! The architectures for which programs are built, and the tools that this machine needs to build
//! them.

use crate::process;
use anyhow::{Result, bail};
use clap::ValueEnum;
use std::path::Path;

/// Folder of the installed targets in a toolchain, relative to the toolchain's root.
pub const SYSROOT_TARGETS: &str = "lib/rustlib";

/// A processor architecture for which a program is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Architecture {
    /// 64-bit x86 processors of Intel and AMD.
    #[value(name = "x86_64")]
    X86,
    /// 64-bit ARM processors.
    #[value(name = "aarch64")]
    Arm,
}

struct Tool {
    program: &'static str,
    package: &'static str,
}

impl Architecture {
    /// Returns the name of the architecture in rustc and in the names of packages.
    pub fn target(self) -> &'static str {
        match self {
            Architecture::X86 => "x86_64-unknown-linux-musl",
            Architecture::Arm => "aarch64-unknown-linux-musl",
        }
    }

    /// Returns the name of the architecture in the kernel and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Architecture::X86 => "x86_64",
            Architecture::Arm => "aarch64",
        }
    }

    /// Returns the name of the architecture in Debian and in container images.
    pub fn debian(self) -> &'static str {
        match self {
            Architecture::X86 => "amd64",
            Architecture::Arm => "arm64",
        }
    }

    /// Returns the name of the architecture in Homebrew's formulas.
    pub fn homebrew(self) -> &'static str {
        match self {
            Architecture::X86 => "intel",
            Architecture::Arm => "arm",
        }
    }

    /// Returns true if this machine can run programs of the architecture without an emulator.
    pub fn is_ours(self) -> bool {
        self.name() == std::env::consts::ARCH
    }

    /// Returns the emulator that runs programs of the architecture.
    pub fn emulator(self) -> &'static str {
        match self {
            Architecture::X86 => "qemu-x86_64-static",
            Architecture::Arm => "qemu-aarch64-static",
        }
    }

    /// Returns the C compiler for the dependencies that contain C or assembly (ring, mimalloc).
    fn compiler(self) -> Tool {
        match self {
            own if own.is_ours() => Tool {
                program: "musl-gcc",
                package: "musl-tools",
            },
            Architecture::X86 => Tool {
                program: "x86_64-linux-gnu-gcc",
                package: "gcc-x86-64-linux-gnu libc6-dev-amd64-cross",
            },
            Architecture::Arm => Tool {
                program: "aarch64-linux-gnu-gcc",
                package: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
            },
        }
    }

    /// Returns the environment variables for cargo and build scripts. rustc provides the linker and
    /// the start files, so a C library is not required, and the programs of all architectures are
    /// linked in the same way.
    pub fn variables(self) -> Vec<(String, String)> {
        let target = self.target().replace('-', "_");
        let linker = format!("CARGO_TARGET_{}_LINKER", target.to_uppercase());
        vec![
            (linker, "rust-lld".to_owned()),
            (format!("CC_{target}"), self.compiler().program.to_owned()),
        ]
    }
}

/// Checks that this machine has all tools that are required to build and try the programs.
///
/// # Errors
/// Tools are missing. The error lists all missing tools, and explains how to install each of them.
pub fn check(architectures: &[Architecture], sysroot: &Path) -> Result<()> {
    let mut missing = Vec::new();
    for one in architectures {
        if !sysroot.join(SYSROOT_TARGETS).join(one.target()).exists() {
            let target = one.target();
            missing.push(format!("the target {target}: rustup target add {target}"));
        }
        let mut tools = vec![one.compiler()];
        if !one.is_ours() {
            tools.push(Tool {
                program: one.emulator(),
                package: "qemu-user-static",
            });
        }
        for tool in tools {
            if process::output(tool.program, &["--version"]).is_err() {
                let Tool { program, package } = tool;
                missing.push(format!("{program}: apt-get install {package}"));
            }
        }
    }
    if !missing.is_empty() {
        bail!("missing here:\n  {}", missing.join("\n  "));
    }
    Ok(())
}
