//! What the dependencies are: their licences, where they come from, and whether one is there twice.
//!
//! `deny.toml` says what is allowed, in the words of cargo-deny. Three of its four checks are done
//! here as well, of the packages that are built on this machine and without the network, so that
//! the gate has them everywhere: cargo-deny takes as long to build as the gate may take. Where it
//! is installed it does all of its checks; what nobody has checked is said.

use crate::process::{self, cargo};
use crate::tree;
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Checks the dependencies; says what was not checked.
pub fn run() -> Result<()> {
    let path = tree::root().join("deny.toml");
    let text = std::fs::read_to_string(&path).context("read deny.toml")?;
    let rules = Rules::read(&text)?;
    let packages = packages()?;
    let problems = rules.problems(&packages);
    if !problems.is_empty() {
        bail!("deny.toml does not allow:\n  {}", problems.join("\n  "));
    }
    println!(
        "{} packages: licences, sources and duplicates are as deny.toml has it",
        packages.len()
    );
    advisories()
}

/// cargo-deny's own run, if it is there.
fn advisories() -> Result<()> {
    if process::output(&cargo(), &["deny", "--version"]).is_err() {
        println!(
            "not checked: advisories, and packages of other machines; `cargo install --locked \
             cargo-deny` brings what checks them"
        );
        return Ok(());
    }
    deny(&["--offline"], &["bans", "licenses", "sources"])?;
    // The database is fetched from the network; without one, the last that was fetched is used.
    if process::run(&cargo(), &["deny", "fetch", "db"]).is_ok() {
        return deny(&[], &["advisories"]);
    }
    if !has_database() {
        println!("not checked: advisories; their database cannot be fetched, and none is here");
        return Ok(());
    }
    println!("advisories as of the last time that they could be fetched");
    deny(&["--offline"], &["advisories"])
}

fn deny(how: &[&str], checks: &[&str]) -> Result<()> {
    let all = ["--all-features", "check", "--hide-inclusion-graph"];
    process::run(&cargo(), &[&["deny"], how, &all, checks].concat())
}

/// Whether a database of advisories was ever fetched: a folder with something in it, where
/// cargo-deny puts them.
fn has_database() -> bool {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let folders = home.and_then(|home| std::fs::read_dir(home.join("advisory-dbs")).ok());
    let is_filled =
        |folder: &Path| std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    folders.is_some_and(|mut folders| {
        folders.any(|folder| folder.is_ok_and(|folder| is_filled(&folder.path())))
    })
}

/// A package that is built here and is not ours.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
    license: String,
    /// Empty: the registry that everything comes from.
    source: String,
}

fn packages() -> Result<Vec<Package>> {
    let tree = [
        "tree",
        "--workspace",
        "--locked",
        "--edges",
        "normal,build,dev",
    ];
    let tree = [&tree[..], &["--prefix", "none", "--format", "{p}|{l}"]].concat();
    // Offline: what is built here has been fetched to be built.
    let text = process::output(&cargo(), &[&tree[..], &["--offline"]].concat())
        .or_else(|_| process::output(&cargo(), &tree))?;
    let mut packages: Vec<Package> = text.lines().filter_map(package).collect();
    packages.sort();
    packages.dedup();
    if packages.is_empty() {
        bail!("cargo lists no packages");
    }
    Ok(packages)
}

/// `name v1.0.0 (where from) (proc-macro)|licence`; none for packages of ours, which are folders.
fn package(line: &str) -> Option<Package> {
    let line = line.trim_end().trim_end_matches(" (*)");
    let (package, license) = line.split_once('|')?;
    let (name, rest) = package.split_once(" v")?;
    let (version, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let source = rest.replace("(proc-macro)", "");
    let source = source.trim().trim_start_matches('(').trim_end_matches(')');
    (!source.starts_with('/')).then(|| Package {
        name: name.to_owned(),
        version: version.to_owned(),
        license: license.to_owned(),
        source: source.to_owned(),
    })
}

/// What `deny.toml` allows.
#[derive(Debug)]
struct Rules {
    licenses: BTreeSet<String>,
    /// `name@version` of those that may be there beside another version.
    skipped: BTreeSet<String>,
}

impl Rules {
    fn read(text: &str) -> Result<Rules> {
        let rules: toml::Table = text.parse().context("read deny.toml")?;
        let list = |section: &str, key: &str| {
            let found = rules.get(section).and_then(|section| section.get(key));
            let found = found.and_then(toml::Value::as_array);
            found.with_context(|| format!("deny.toml has no list {section}.{key}"))
        };
        let licenses = list("licenses", "allow")?.iter();
        let skipped = list("bans", "skip")?.iter();
        Ok(Rules {
            licenses: licenses
                .filter_map(|one| Some(one.as_str()?.to_owned()))
                .collect(),
            skipped: skipped
                .filter_map(|one| Some(one.get("crate")?.as_str()?.to_owned()))
                .collect(),
        })
    }

    fn problems(&self, packages: &[Package]) -> Vec<String> {
        let mut problems = Vec::new();
        for package in packages {
            let Package {
                name,
                version,
                license,
                source,
            } = package;
            if !self.allows(license) {
                problems.push(format!("{name} {version}: its licence is `{license}`"));
            }
            if !source.is_empty() {
                problems.push(format!("{name} {version}: it comes from {source}"));
            }
        }
        for (name, versions) in versions(packages) {
            let is_free = |version: &&&str| !self.skipped.contains(&format!("{name}@{version}"));
            if versions.len() > 1 && versions.iter().filter(is_free).count() > 1 {
                let versions: Vec<&str> = versions.into_iter().collect();
                problems.push(format!("{name} is there twice: {}", versions.join(", ")));
            }
        }
        problems
    }

    /// Whether a licence of those that an expression offers is allowed: `OR` (once written `/`)
    /// offers one of two, `AND` asks for both.
    fn allows(&self, expression: &str) -> bool {
        let spaced = expression
            .replace('/', " OR ")
            .replace('(', " ( ")
            .replace(')', " ) ");
        let mut words = spaced.split_whitespace().peekable();
        self.either(&mut words) && words.next().is_none()
    }

    fn either<'a>(&self, words: &mut Words<'a, impl Iterator<Item = &'a str>>) -> bool {
        let mut allowed = self.both(words);
        while words.next_if_eq(&"OR").is_some() {
            allowed |= self.both(words);
        }
        allowed
    }

    fn both<'a>(&self, words: &mut Words<'a, impl Iterator<Item = &'a str>>) -> bool {
        let mut allowed = self.one(words);
        while words.next_if_eq(&"AND").is_some() {
            allowed &= self.one(words);
        }
        allowed
    }

    fn one<'a>(&self, words: &mut Words<'a, impl Iterator<Item = &'a str>>) -> bool {
        match words.next() {
            Some("(") => {
                let allowed = self.either(words);
                words.next_if_eq(&")").is_some() && allowed
            }
            Some(name) => {
                let mut name = name.to_owned();
                if words.next_if_eq(&"WITH").is_some() {
                    name = format!("{name} WITH {}", words.next().unwrap_or_default());
                }
                self.licenses.contains(&name)
            }
            None => false,
        }
    }
}

type Words<'a, I> = std::iter::Peekable<I>;

/// The versions of each package.
fn versions(packages: &[Package]) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        versions
            .entry(&package.name)
            .or_default()
            .insert(&package.version);
    }
    versions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        Rules::read(
            "[licenses]\nallow = ['MIT', 'Zlib', 'A WITH x']\n[bans]\nskip = [{crate = 'a@1.0.0'}]",
        )
        .unwrap()
    }

    #[test]
    fn expressions_of_licences_are_read_as_they_bind() {
        let rules = rules();
        for yes in [
            "MIT",
            "GPL OR MIT",
            "GPL/MIT",
            "(GPL OR MIT) AND Zlib",
            "A WITH x",
            "GPL AND GPL OR MIT",
        ] {
            assert!(rules.allows(yes), "{yes}");
        }
        for no in [
            "",
            "GPL",
            "MIT AND GPL",
            "(MIT",
            "MIT GPL",
            "A",
            "A WITH y",
            "MIT AND",
            "GPL OR",
        ] {
            assert!(!rules.allows(no), "{no}");
        }
    }

    #[test]
    fn another_licence_another_source_and_a_second_version_are_found() {
        let list = "\
            a v1.0.0|MIT\n\
            a v2.0.0 (proc-macro)|MIT (*)\n\
            b v1.0.0|GPL\n\
            c v1.0.0 (https://example.org/c#abc)|MIT\n\
            d v1.0.0|MIT\n\
            d v2.0.0|MIT\n\
            ours v0.0.0 (/srv/ours)|GPL\n";
        let packages: Vec<Package> = list.lines().filter_map(package).collect();
        assert_eq!(packages.len(), 6);
        let expected = [
            "b 1.0.0: its licence is `GPL`",
            "c 1.0.0: it comes from https://example.org/c#abc",
            "d is there twice: 1.0.0, 2.0.0",
        ];
        assert_eq!(rules().problems(&packages), expected);
    }
}
