//! Makes the release packages. Each contains a static program for one architecture, with its manual
//! pages, completions, schemas and licences. Digests and a bill of materials are added.
//!
//! 1. Checks for the required tools, and lists all missing tools with the command that installs
//!    them.
//! 2. Builds the programs, without any paths or times of this machine in them.
//! 3. Strips each program, checks that it does not require a library, and tries it. An emulator
//!    runs the program for the other architecture.
//! 4. Packs each program. The bytes depend only on the commit and the toolchain.
//!    `--check-reproducible` proves this by building a clone of the commit in another folder.

mod address;
mod archive;
mod bill;
mod build;
mod contents;
mod debian;
mod formula;
mod image;
mod installer;
mod notices;
mod parts;
mod rpm;
mod smoke;
mod wheel;

pub use address::Address;
use anyhow::{Context, Result, bail, ensure};
use build::Build;
use data_encoding::HEXLOWER;
use installer::Archive;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use xtask::architecture::{self, Architecture};
use xtask::{process, tree};

/// Maximum size of a program, in bytes. The size is limited, because every user downloads the
/// program, and cassay sends it to hosts.
const PROGRAM_BYTES_MAX: usize = 20_000_000;

const SUMMARY: &str = "A performance laboratory for Apache Cassandra";

/// Options of `cargo xtask dist`.
#[derive(clap::Args)]
pub struct Options {
    /// Only for these processor architectures
    #[arg(long, value_name = "KIND", num_args = 1..)]
    only: Vec<Architecture>,
    /// Also build a clone of the commit in another folder, and compare every byte
    #[arg(long)]
    check_reproducible: bool,
    /// Do not run the programs
    #[arg(long)]
    untried: bool,
    /// URL where the files will be published: the installer downloads from there, and a Homebrew
    /// formula is written
    #[arg(long, value_name = "URL")]
    from: Option<Address>,
}

struct Package {
    name: String,
    bytes: Vec<u8>,
}

/// Makes the packages in `target/packages`.
pub fn run(options: &Options) -> Result<()> {
    let architectures = match &options.only[..] {
        [] => vec![Architecture::X86, Architecture::Arm],
        only => only.to_vec(),
    };
    let sysroot = PathBuf::from(process::output("rustc", &["--print", "sysroot"])?.trim());
    architecture::check(&architectures, &sysroot)?;
    say_what_is_left_out(options);
    let build = Build::here()?;
    let published = options.from.as_ref();
    let packages = make(&build, &architectures, &sysroot, options.untried, published)?;
    let folder = build.target_folder.join("packages");
    // Files of an earlier run must be removed, because they would appear to be part of this run.
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("clear {}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let mut sums = String::new();
    for Package { name, bytes } in &packages {
        let path = folder.join(name);
        std::fs::write(&path, bytes).with_context(|| format!("write {}", path.display()))?;
        println!("{:8.1} MB  {}", megabytes(bytes.len()), path.display());
        sums += &format!("{}  {name}\n", sha256(bytes));
    }
    let path = folder.join("SHA256SUMS");
    std::fs::write(&path, sums).with_context(|| format!("write {}", path.display()))?;
    for one in &architectures {
        check_size(&build.stripped(*one, &sysroot)?)?;
    }
    if options.check_reproducible {
        check_reproducible(&build, &packages, &architectures, &sysroot, published)?;
    }
    Ok(())
}

/// Checks that this machine can make all packages.
///
/// # Errors
/// A tool is missing. The error names the tool, and explains how to install it.
pub fn check_tools() -> Result<()> {
    let sysroot = PathBuf::from(process::output("rustc", &["--print", "sysroot"])?.trim());
    architecture::check(&[Architecture::X86, Architecture::Arm], &sysroot)?;
    ensure!(
        rpm::is_possible(),
        "missing programs:\n  rpmbuild: apt-get install rpm"
    );
    Ok(())
}

fn say_what_is_left_out(options: &Options) {
    if !rpm::is_possible() {
        println!("cassay is not packed as rpm: rpmbuild is missing; hint: apt-get install rpm");
    }
    if options.from.is_none() {
        println!(
            "the Homebrew formula is omitted, and the installer has no address: set both with \
             --from URL"
        );
    }
}

fn make(
    build: &Build,
    architectures: &[Architecture],
    sysroot: &Path,
    is_untried: bool,
    published: Option<&Address>,
) -> Result<Vec<Package>> {
    build.run(architectures)?;
    let mut packages = Vec::new();
    let mut archives = Vec::new();
    let mut numbers = BTreeSet::new();
    for one in architectures {
        let program = build.stripped(*one, sysroot)?;
        let bytes =
            std::fs::read(&program).with_context(|| format!("read {}", program.display()))?;
        check_program(&program)?;
        let runner = smoke::Runner::new(*one, &program)?;
        let version = runner.version()?;
        if !is_untried {
            smoke::run(&runner).with_context(|| format!("try the program for {}", one.target()))?;
        }
        let parts = parts::third_party_parts(one.target())?;
        let (number, _) = version.split_once('+').unwrap_or((&version, ""));
        let name = format!("cassay-{number}-{}", one.target());
        let bill = bill::build(&parts, &version, &sha256(&bytes), &build.time);
        let bill = format!("{bill:#}\n");
        let contents = contents::collect(&runner, bytes, &bill, &notices::build(&parts)?, sysroot)?;
        let time = (build.epoch_s, build.time.as_str());
        let archive = archive::packed(&contents, &name, build.epoch_s)?;
        archives.push(Archive {
            one: *one,
            sha256: sha256(&archive),
        });
        numbers.insert(number.to_owned());
        let made = [
            (format!("{name}.tar.gz"), archive),
            wheel::build(&contents, number, *one)?,
            debian::build(&contents, number, *one, build.epoch_s)?,
            image::build(&contents, number, *one, time)?,
        ];
        packages.extend(made.map(|(name, bytes)| Package { name, bytes }));
        if rpm::is_possible() {
            let folder = build.target_folder.join("rpm");
            let (name, bytes) = rpm::build(&contents, number, *one, build.epoch_s, &folder)?;
            packages.push(Package { name, bytes });
        }
        packages.push(Package {
            name: format!("{name}.cdx.json"),
            bytes: bill.into_bytes(),
        });
    }
    let numbers: Vec<String> = numbers.into_iter().collect();
    let [number] = &numbers[..] else {
        bail!("the programs have versions {}", numbers.join(", "));
    };
    let mut add = |name: &str, text: String| {
        packages.push(Package {
            name: name.to_owned(),
            bytes: text.into_bytes(),
        });
    };
    add(
        installer::NAME,
        installer::build(number, &archives, published)?,
    );
    if let Some(published) = published {
        add(formula::NAME, formula::build(number, &archives, published)?);
    }
    Ok(packages)
}

/// Checks that a program does not require shared libraries.
fn check_program(program: &Path) -> Result<()> {
    let path = program.display().to_string();
    let said = process::output(
        "readelf",
        &["--wide", "--dynamic", "--program-headers", &path],
    )?;
    ensure!(
        !said.contains("NEEDED") && !said.contains("INTERP"),
        "{path} is not static, and needs libraries of the machine:\n{said}"
    );
    Ok(())
}

fn check_size(program: &Path) -> Result<()> {
    let size = std::fs::metadata(program).context("look at the program")?.len() as usize;
    ensure!(
        size <= PROGRAM_BYTES_MAX,
        "{} has {:.1} MB, but the documents promise at most {:.0} MB; hint: docs/performance.md \
         lists its largest parts",
        program.display(),
        megabytes(size),
        megabytes(PROGRAM_BYTES_MAX)
    );
    Ok(())
}

/// Builds a clone of the commit in another folder, and compares its packages with those of the
/// first build.
fn check_reproducible(
    build: &Build,
    packages: &[Package],
    architectures: &[Architecture],
    sysroot: &Path,
    published: Option<&Address>,
) -> Result<()> {
    let clone = build.target_folder.join("reproduced/at-another-place");
    let path = clone.display().to_string();
    if clone.exists() {
        std::fs::remove_dir_all(&clone).with_context(|| format!("clear {path}"))?;
    }
    let root = tree::root().display().to_string();
    process::run("git", &["clone", "--quiet", "--shared", &root, &path])?;
    process::run(
        "git",
        &[
            "-C",
            &path,
            "checkout",
            "--quiet",
            "--detach",
            &build.commit,
        ],
    )?;
    let again = make(
        &build.elsewhere(&clone),
        architectures,
        sysroot,
        true,
        published,
    )?;
    let different: Vec<&str> = packages
        .iter()
        .zip(&again)
        .filter(|(one, other)| one.bytes != other.bytes)
        .map(|(one, _)| one.name.as_str())
        .collect();
    if !different.is_empty() {
        bail!(
            "two builds of {} differ in {}; the second build is in {path}{}",
            build.commit,
            different.join(", "),
            if build.is_clean {
                ""
            } else {
                "; hint: commit the changes, because the clone does not contain them"
            },
        );
    }
    std::fs::remove_dir_all(&clone).with_context(|| format!("clear {path}"))?;
    println!(
        "built in two folders, all {} files are the same",
        packages.len()
    );
    Ok(())
}

pub fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}
