//! What programs are made for, and what this machine must have for it.

use super::SYSROOT_TARGETS;
use crate::process;
use anyhow::{Result, bail};
use clap::ValueEnum;
use std::path::Path;

/// A kind of processor that gets a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Architecture {
    /// Intel and AMD, 64 bits.
    #[value(name = "x86_64")]
    X86,
    /// ARM, 64 bits.
    #[value(name = "aarch64")]
    Arm,
}

/// A program that has to be installed, and the package of Debian that has it.
struct Tool {
    program: &'static str,
    package: &'static str,
}

impl Architecture {
    /// As rustc and the names of packages have it.
    pub fn target(self) -> &'static str {
        match self {
            Architecture::X86 => "x86_64-unknown-linux-musl",
            Architecture::Arm => "aarch64-unknown-linux-musl",
        }
    }

    /// As the kernel and Python call it.
    pub fn name(self) -> &'static str {
        match self {
            Architecture::X86 => "x86_64",
            Architecture::Arm => "aarch64",
        }
    }

    /// As Debian and container images call it.
    pub fn debian(self) -> &'static str {
        match self {
            Architecture::X86 => "amd64",
            Architecture::Arm => "arm64",
        }
    }

    /// As formulas of Homebrew call it.
    pub fn homebrew(self) -> &'static str {
        match self {
            Architecture::X86 => "intel",
            Architecture::Arm => "arm",
        }
    }

    /// Whether this machine runs its programs itself.
    pub fn is_ours(self) -> bool {
        self.name() == std::env::consts::ARCH
    }

    /// What runs its programs where the machine does not.
    pub fn emulator(self) -> &'static str {
        match self {
            Architecture::X86 => "qemu-x86_64-static",
            Architecture::Arm => "qemu-aarch64-static",
        }
    }

    /// The C compiler for the dependencies that have C and assembly (ring, mimalloc).
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

    /// What cargo and build scripts are told. rustc brings the linker and the start files, so that
    /// no C library has to be there for it, and both programs are linked alike.
    pub fn variables(self) -> Vec<(String, String)> {
        let target = self.target().replace('-', "_");
        let linker = format!("CARGO_TARGET_{}_LINKER", target.to_uppercase());
        vec![
            (linker, "rust-lld".to_owned()),
            (format!("CC_{target}"), self.compiler().program.to_owned()),
        ]
    }
}

/// Refuses to begin unless everything is there that building and trying takes.
///
/// # Errors
/// What is missing, all at once, each with what installs it.
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
