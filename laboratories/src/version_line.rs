//! Makes the files for a line of Cassandra's versions from a release in Maven. These are the lock
//! of the jars, the settings of `cassandra.yaml` with their limits, the guardrails, and the list of
//! releases.
//!
//! The other data of a line is in its `mod.rs`, which is written by hand.

use anyhow::{Context, Result, bail, ensure};
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use xtask::{process, tree};

/// Options of `cargo xtask line`.
#[derive(clap::Args)]
pub struct Options {
    /// Release to pin the line to, such as 5.0.9
    release: String,
}

const POM_VERSION: &str = "VERSION-OF-CASSANDRA";

/// Interface by which Cassandra reads its guardrails.
const GUARDRAILS: &str = "org.apache.cassandra.db.guardrails.GuardrailsConfig";

/// Guardrails whose getter and setting have different names.
const NAMED_OTHERWISE: [(&str, &str); 1] = [(
    "non_partition_restricted_index_query_enabled",
    "nonpartitionrestrictedqueryenabled",
)];

/// Path of the compiler's hints in Cassandra's jar.
const HINTS: &str = "META-INF/hotspot_compiler";

/// Makes the files of the line to which a release belongs.
pub fn run(options: &Options) -> Result<()> {
    let release = options.release.as_str();
    let folder = folder_of(release)?;
    let Fetched {
        work,
        repository,
        jars,
    } = Fetched::download(release)?;
    let server = format!("cassandra-all-{release}.jar");
    let server = jars
        .iter()
        .find(|jar| jar.file_name().is_some_and(|name| name == server.as_str()))
        .with_context(|| format!("Maven has not downloaded {server}"))?;
    write(
        &folder.join("supply.lock"),
        &lock(&repository, &jars, server)?,
    )?;
    let settings = settings(&jars)?;
    write(&folder.join("settings.txt"), &settings)?;
    let limits = limits(release, &jars, &folder.join("settings.txt"))?;
    write(&folder.join("limits.txt"), &limits)?;
    if let Some(guardrails) = guardrails(server, &settings)? {
        write(&folder.join("guardrails.txt"), &guardrails)?;
    }
    write(&folder.join("releases.txt"), &releases(&work, release)?)
}

/// The jars of a release, which Maven has downloaded.
pub struct Fetched {
    /// Folder for Maven's files of this release.
    work: PathBuf,
    /// Folder of the jars, which has the layout of a repository.
    repository: PathBuf,
    pub jars: Vec<PathBuf>,
}

impl Fetched {
    /// Downloads the jars to a folder below `target/line/`.
    ///
    /// # Errors
    /// Maven fails, or is missing.
    pub fn download(release: &str) -> Result<Fetched> {
        let work = tree::root().join("target/line").join(release);
        std::fs::create_dir_all(&work).context("make a folder for Maven")?;
        let pom = std::fs::read_to_string(tree::root().join("crates/versions/pom.xml"))?;
        ensure!(
            pom.contains(POM_VERSION),
            "crates/versions/pom.xml has no {POM_VERSION}"
        );
        write(&work.join("pom.xml"), &pom.replace(POM_VERSION, release))?;
        let pom = work.join("pom.xml");
        let repository = work.join("repository");
        let arguments = [
            "-q".to_owned(),
            "-B".to_owned(),
            format!("--file={}", pom.display()),
            "dependency:copy-dependencies".to_owned(),
            "-DincludeScope=runtime".to_owned(),
            "-Dmdep.useRepositoryLayout=true".to_owned(),
            format!("-DoutputDirectory={}", repository.display()),
        ];
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        process::output("mvn", &arguments)?;
        let jars = jars_below(&repository)?;
        Ok(Fetched {
            work,
            repository,
            jars,
        })
    }
}

/// Returns all releases of the line to which `release` belongs, from Maven's list. The text has one
/// line for each release.
fn releases(work: &Path, release: &str) -> Result<String> {
    let mut numbers = release.split(['.', '-']);
    let line = numbers.by_ref().take(2).collect::<Vec<_>>().join(".");
    let folder = work.join("releases");
    std::fs::create_dir_all(&folder).context("make a folder for Maven")?;
    // The request is a range of versions, because Maven must download the list of releases to
    // resolve it.
    let range = format!("[{line}-alpha1,{line}.9999)");
    let dependency = format!(
        "<dependency><groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId>\
         <version>{range}</version><exclusions><exclusion><groupId>*</groupId>\
         <artifactId>*</artifactId></exclusion></exclusions></dependency>"
    );
    let pom = format!(
        "<project><modelVersion>4.0.0</modelVersion><groupId>line</groupId>\
         <artifactId>releases</artifactId><version>1</version>\
         <dependencies>{dependency}</dependencies></project>"
    );
    write(&folder.join("pom.xml"), &pom)?;
    let repository = folder.join("repository");
    let arguments = [
        "-q".to_owned(),
        "-B".to_owned(),
        format!("--file={}", folder.join("pom.xml").display()),
        format!("-Dmaven.repo.local={}", repository.display()),
        "dependency:resolve".to_owned(),
    ];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    process::output("mvn", &arguments)?;
    let lists = repository.join("org/apache/cassandra/cassandra-all");
    let is_list = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("maven-metadata-") && name.ends_with(".xml")
    };
    let entries = std::fs::read_dir(&lists).context("find Maven's list of releases")?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let list = paths.find(is_list).context("Maven has not downloaded the list of releases")?;
    let list = std::fs::read_to_string(&list)?;
    let all = list.split("<version>").skip(1).filter_map(|rest| rest.split('<').next());
    let is_own = |version: &&str| {
        let rest = version.strip_prefix(line.as_str());
        rest.is_some_and(|rest| rest.starts_with(['.', '-']))
    };
    let own: String = all.filter(is_own).map(|version| format!("{version}\n")).collect();
    ensure!(
        own.contains(release),
        "the list of releases has no {release}"
    );
    Ok(own)
}

/// Returns the folder of a release's line, such as `crates/versions/src/v5_0` for 5.0.9.
fn folder_of(release: &str) -> Result<PathBuf> {
    let mut numbers = release.split(['.', '-']);
    let (Some(major), Some(minor)) = (numbers.next(), numbers.next()) else {
        bail!("{release} is not a release number such as 5.0.9");
    };
    let folder = tree::root().join(format!("crates/versions/src/v{major}_{minor}"));
    ensure!(
        folder.join("mod.rs").is_file(),
        "the line {major}.{minor} does not exist: write {}/mod.rs first",
        folder.display()
    );
    Ok(folder)
}

fn digest_of(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("write {}", path.display()))
}

fn jars_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(jars_below(&path)?);
        } else if path.extension().is_some_and(|end| end == "jar") {
            found.push(path);
        }
    }
    Ok(found)
}

/// Returns the lock, which has a line of text for each file, in the order of the names. A line has
/// the SHA-256, the size in bytes and the path in a repository.
fn lock(repository: &Path, jars: &[PathBuf], server: &Path) -> Result<String> {
    let mut lines: Vec<(String, String)> = Vec::new();
    for jar in jars {
        let path = jar.strip_prefix(repository)?.display();
        let name = jar.file_name().and_then(|name| name.to_str()).context("a name")?;
        let bytes = std::fs::read(jar).with_context(|| format!("read {}", jar.display()))?;
        let line = format!("{}  {}  {path}", digest_of(&bytes), bytes.len());
        lines.push((name.to_owned(), line));
    }
    let hints = member(server, HINTS)?;
    let digest = digest_of(&hints);
    let path = server.strip_prefix(repository)?.display();
    let line = format!("{digest}  {}  {path}!/{HINTS}", hints.len());
    lines.push(("hotspot_compiler".to_owned(), line));
    lines.sort();
    Ok(lines.into_iter().map(|(_, line)| line + "\n").collect())
}

fn member(jar: &Path, name: &str) -> Result<Vec<u8>> {
    let file = std::fs::File::open(jar).with_context(|| format!("read {}", jar.display()))?;
    let mut archive = zip::ZipArchive::new(file)?;
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut archive.by_name(name)?, &mut bytes)?;
    Ok(bytes)
}

/// Returns the settings of Cassandra in the notation of the crate `versions`. The program
/// `Settings.java` reads them from Cassandra's class `Config`.
fn settings(jars: &[PathBuf]) -> Result<String> {
    let paths: Vec<String> = jars.iter().map(|jar| jar.display().to_string()).collect();
    let asks = tree::root()
        .join("laboratories/src/version_line/Settings.java")
        .display()
        .to_string();
    let said = process::output("java", &["-cp", &paths.join(":"), &asks])?;
    let (mut names, mut renamed) = (BTreeSet::new(), BTreeSet::new());
    // Other lines are ignored, because they are logs of Cassandra's classes.
    for line in said.lines().filter_map(|line| line.strip_prefix("SETTING ")) {
        match line.split_once(" > ") {
            Some((old, rest)) => {
                let (name, converter) = rest.split_once(' ').context("a converter")?;
                renamed.insert(format!("{old} > {name} {}", unit(converter)?));
            }
            None => {
                let (name, kind) = line.split_once(' ').context("a kind")?;
                names.insert(format!("{name} {}", in_short(kind)?));
            }
        }
    }
    ensure!(
        names.len() > 100,
        "only {} settings were found",
        names.len()
    );
    Ok(names.into_iter().chain(renamed).map(|line| line + "\n").collect())
}

/// Packages of Java that Cassandra's classes use without a module.
const PACKAGES: [&str; 8] = [
    "java.base/java.io",
    "java.base/java.lang",
    "java.base/java.nio",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.util.jar",
    "java.base/sun.nio.ch",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
];

/// Returns the limits of Cassandra's settings in the notation of the crate `versions`. The program
/// `Limits.java` asks Cassandra's class `DatabaseDescriptor` about values, which takes some
/// minutes.
fn limits(release: &str, jars: &[PathBuf], settings: &Path) -> Result<String> {
    let paths: Vec<String> = jars.iter().map(|jar| jar.display().to_string()).collect();
    let asks = tree::root().join("laboratories/src/version_line/Limits.java");
    let opened = PACKAGES.iter().flat_map(|package| {
        ["opens", "exports"].map(|verb| format!("--add-{verb}={package}=ALL-UNNAMED"))
    });
    let mut arguments: Vec<String> = opened.collect();
    arguments.push("-Dorg.apache.cassandra.disable_mbean_registration=true".to_owned());
    arguments.push("-cp".to_owned());
    arguments.push(paths.join(":"));
    arguments.push(asks.display().to_string());
    arguments.push(settings.display().to_string());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let said = process::output("java", &arguments)?;
    // Other lines are logs of Cassandra's classes, and settings whose limits are not known.
    let rows: BTreeSet<&str> =
        said.lines().filter_map(|line| line.strip_prefix("LIMIT ")).collect();
    ensure!(rows.len() > 20, "only {} limits were found", rows.len());
    let head = format!(
        "# Limits of the settings in cassandra-all-{release}.jar, in addition to their types.\n\
         # `cargo xtask line {release}` asked the jar's class DatabaseDescriptor about values.\n\
         # The documentation of the crate `versions` describes the rows.\n"
    );
    Ok(rows.into_iter().fold(head, |text, row| text + row + "\n"))
}

/// Abbreviates the unit in a type, so that `time:int:Milliseconds` becomes `time:int:ms`.
fn in_short(kind: &str) -> Result<String> {
    let (head, end) = match kind.strip_suffix('?') {
        Some(kind) => (kind, "?"),
        None => (kind, ""),
    };
    let Some((head, unit)) = head.rsplit_once(':').filter(|(head, _)| head.contains(':')) else {
        return Ok(kind.to_owned());
    };
    let unit = match unit {
        "Nanoseconds" => "ns",
        "Microseconds" => "us",
        "Milliseconds" => "ms",
        "Seconds" => "s",
        "Minutes" => "m",
        "Bytes" => "B",
        "Kibibytes" => "KiB",
        "Mebibytes" => "MiB",
        "BytesPerSecond" => "B/s",
        other => bail!("the form of the unit {other} is unknown: add it to version_line.rs"),
    };
    Ok(format!("{head}:{unit}{end}"))
}

/// Returns the settings that are guardrails. Such a setting has a getter in the interface of
/// guardrails. Returns `None` for lines before 4.1, which do not have guardrails.
fn guardrails(server: &Path, settings: &str) -> Result<Option<String>> {
    if member(server, &format!("{}.class", GUARDRAILS.replace('.', "/"))).is_err() {
        return Ok(None);
    }
    let path = server.display().to_string();
    let text = process::output("javap", &["-cp", &path, GUARDRAILS])?;
    let getters: BTreeSet<String> = text
        .split(" get")
        .skip(1)
        .filter_map(|rest| rest.split('(').next())
        .map(str::to_ascii_lowercase)
        .collect();
    let rows = settings.lines().filter(|line| !line.contains('>'));
    let names = rows.filter_map(|row| row.split(' ').next());
    let is_one = |name: &&str| {
        let name = NAMED_OTHERWISE.iter().find(|(setting, _)| setting == name);
        name.is_some_and(|(_, getter)| getters.contains(*getter))
    };
    let plain = |name: &&str| getters.contains(&name.replace('_', ""));
    let all: Vec<&str> = names.filter(|name| plain(name) || is_one(name)).collect();
    ensure!(all.len() > 30, "only {} guardrails were found", all.len());
    Ok(Some(all.iter().map(|name| format!("{name}\n")).collect()))
}

/// Returns the unit of a number in a setting with an old name. The unit follows from Cassandra's
/// converter for this setting.
fn unit(converter: &str) -> Result<&'static str> {
    Ok(match converter {
        "IDENTITY" | "INTEGER_PRIMITIVE_LONG" => "=",
        "LONG_BYTES_DATASTORAGE_MEBIBYTES_DATASTORAGE" => "=",
        "KEYSPACE_COUNT_THRESHOLD_TO_GUARDRAIL" | "TABLE_COUNT_THRESHOLD_TO_GUARDRAIL" => "?",
        "MEGABITS_TO_BYTES_PER_SECOND_DATA_RATE" => "Mbit/s",
        "MEBIBYTES_PER_SECOND_DATA_RATE" => "MiB/s",
        "MINUTES_CUSTOM_DURATION" => "m",
        other if other.starts_with("MILLIS_") => "ms",
        other if other.contains("SECONDS_") => "s",
        other if other.contains("MEBIBYTES") => "MiB",
        other if other.starts_with("KIBIBYTES_") => "KiB",
        other if other.starts_with("BYTES_") => "B",
        other => bail!("the unit of the converter {other} is unknown: add it to version_line.rs"),
    })
}
