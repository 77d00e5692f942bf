//! Reads the rules of `deny.toml` and finds violations. The rules concern licences, duplicate
//! versions, wildcards and sources. cargo-deny reads the same file. An unknown key is an error, so
//! that a rule in the file cannot remain unchecked.

use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};
use std::collections::{BTreeMap, BTreeSet};

/// Default registry of cargo, by the name that `cargo metadata` uses. The text is divided, because
/// files of this project must not contain the host name of a registry.
const CRATES_IO: &str = concat!("registry+https://github.com/rust-lang/crates", ".io-index");

/// Value of a rule in `deny.toml`. This program accepts only one of the values that cargo-deny
/// accepts.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// A violation is an error.
    Deny,
}

/// The content of `deny.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Targets and packages to check.
    pub graph: Graph,
    /// Rules about advisories. Only cargo-deny uses these rules, because it has the database of
    /// advisories.
    #[serde(rename = "advisories")]
    _advisories: toml::Table,
    licenses: Licenses,
    bans: Bans,
    #[serde(rename = "sources")]
    _sources: Sources,
}

/// Targets and packages to check.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// Targets of rustc. The check ignores dependencies that are used only for other targets.
    pub targets: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Bans {
    #[serde(rename = "multiple-versions")]
    _multiple_versions: Answer,
    #[serde(rename = "wildcards")]
    _wildcards: Answer,
    allow_wildcard_paths: bool,
    skip: Vec<Skip>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Skip {
    #[serde(rename = "crate")]
    one: String,
    #[serde(rename = "reason")]
    _reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Sources {
    #[serde(rename = "unknown-registry")]
    _unknown_registry: Answer,
    #[serde(rename = "unknown-git")]
    _unknown_git: Answer,
}

/// A package in the output of `cargo metadata`.
#[derive(Clone, Debug, Deserialize)]
pub struct Package {
    name: String,
    version: String,
    license: Option<String>,
    /// Source of the package. `None` for a folder of this repository.
    source: Option<String>,
    dependencies: Vec<Dependency>,
}

#[derive(Clone, Debug, Deserialize)]
struct Dependency {
    name: String,
    req: String,
    path: Option<String>,
}

impl Package {
    /// Returns the name and the version of the package, such as `syn 2.0.119`.
    pub fn full_name(&self) -> String {
        format!("{} {}", self.name, self.version)
    }
}

impl Rules {
    /// Parses the text of `deny.toml`.
    ///
    /// # Errors
    /// The text is not valid TOML, or has an unknown key or value.
    pub fn read(text: &str) -> Result<Rules, toml::de::Error> {
        toml::from_str(text)
    }

    /// Returns a sentence for each violation of these rules by the packages.
    pub fn broken_by(&self, packages: &[Package]) -> Vec<String> {
        let mut broken = self.licences(packages);
        broken.extend(self.versions(packages));
        broken.extend(self.wildcards(packages));
        broken.extend(packages.iter().filter_map(source));
        broken
    }

    fn licences(&self, packages: &[Package]) -> Vec<String> {
        let mut broken = Vec::new();
        let mut allowed = Vec::new();
        for text in &self.licenses.allow {
            match Licensee::parse(text) {
                Ok(licensee) => allowed.push(licensee),
                Err(error) => broken.push(format!("deny.toml allows {text:?}: {error}")),
            }
        }
        for one in packages {
            let at = one.full_name();
            let Some(text) = &one.license else {
                broken.push(format!("{at} states no licence in its Cargo.toml"));
                continue;
            };
            // The lax mode is needed because older crates write `MIT/Apache-2.0`.
            match Expression::parse_mode(text, ParseMode::LAX) {
                Ok(all) => {
                    let is_allowed = all
                        .evaluate(|asked| allowed.iter().any(|licensee| licensee.satisfies(asked)));
                    if !is_allowed {
                        broken.push(format!(
                            "{at} has the licence {text:?}, which licenses.allow of deny.toml lacks"
                        ));
                    }
                }
                Err(error) => broken.push(format!("{at} has the licence {text:?}: {error}")),
            }
        }
        broken
    }

    fn versions(&self, packages: &[Package]) -> Vec<String> {
        let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for one in packages {
            all.entry(&one.name).or_default().insert(&one.version);
        }
        let mut broken = Vec::new();
        for skip in &self.bans.skip {
            let (name, version) = skip.one.split_once('@').unwrap_or((&skip.one, ""));
            let versions = all.get_mut(name);
            // If the package has only one version, the exception is obsolete and must be removed.
            if !versions.is_some_and(|versions| versions.len() > 1 && versions.remove(version)) {
                broken.push(format!(
                    "bans.skip of deny.toml lists {} without need: remove it",
                    skip.one
                ));
            }
        }
        let twice = all.into_iter().filter(|(_, versions)| versions.len() > 1);
        broken.extend(twice.map(|(name, versions)| {
            let versions: Vec<&str> = versions.into_iter().collect();
            format!(
                "{name} has several versions: {}; `cargo tree --invert {name}@{}` lists the crates \
                 that need them",
                versions.join(" and "),
                versions[0]
            )
        }));
        broken
    }

    fn wildcards(&self, packages: &[Package]) -> Vec<String> {
        let is_wild = |dependency: &&Dependency| {
            let is_ours = dependency.path.is_some() && self.bans.allow_wildcard_paths;
            dependency.req == "*" && !is_ours
        };
        let of = |one: &Package| -> Vec<String> {
            let wild = one.dependencies.iter().filter(is_wild);
            wild.map(|other| format!("{} accepts any version of {}", one.name, other.name))
                .collect()
        };
        packages.iter().flat_map(of).collect()
    }
}

fn source(one: &Package) -> Option<String> {
    let source = one.source.as_deref()?;
    (source != CRATES_IO).then(|| {
        format!(
            "{} {} comes from {source}, not from cargo's own registry",
            one.name, one.version
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(skip: &str) -> Rules {
        let text = format!(
            "graph = {{ targets = [\"x\"] }}\nadvisories = {{ yanked = \"deny\" }}\n\
             licenses = {{ allow = [\"MIT\", \"Apache-2.0 WITH LLVM-exception\"] }}\n\
             sources = {{ unknown-registry = \"deny\", unknown-git = \"deny\" }}\n\
             [bans]\nmultiple-versions = \"deny\"\nwildcards = \"deny\"\n\
             allow-wildcard-paths = true\nskip = [{skip}]\n"
        );
        Rules::read(&text).unwrap()
    }

    fn package(name: &str, version: &str, license: &str) -> Package {
        Package {
            name: name.to_owned(),
            version: version.to_owned(),
            license: Some(license.to_owned()).filter(|text| !text.is_empty()),
            source: Some(CRATES_IO.to_owned()),
            dependencies: Vec::new(),
        }
    }

    #[track_caller]
    fn assert_broken(skip: &str, packages: &[Package], expected: &[&str]) {
        let broken = rules(skip).broken_by(packages);
        assert_eq!(broken.len(), expected.len(), "{broken:?}");
        for (said, part) in broken.iter().zip(expected) {
            assert!(said.contains(part), "{said:?}: {part:?}");
        }
    }

    #[test]
    fn a_licence_is_one_that_is_allowed_or_offers_one() {
        let fine = [
            "MIT",
            "MIT OR GPL-3.0-only",
            "MIT/Unlicense",
            "Apache-2.0 WITH LLVM-exception",
        ];
        let fine: Vec<Package> = fine
            .iter()
            .enumerate()
            .map(|(at, license)| package(&format!("c{at}"), "1.0.0", license))
            .collect();
        assert_broken("", &fine, &[]);
        for wrong in ["GPL-3.0-only", "MIT AND GPL-3.0-only", "Apache-2.0"] {
            assert_broken("", &[package("a", "1.0.0", wrong)], &["licenses.allow"]);
        }
        assert_broken("", &[package("a", "1.0.0", "")], &["states no licence"]);
        assert_broken("", &[package("a", "1.0.0", "nothing known")], &["a 1.0.0"]);
    }

    #[test]
    fn two_versions_of_a_crate_fail_unless_the_older_is_excused() {
        let two = [package("a", "1.0.0", "MIT"), package("a", "2.0.0", "MIT")];
        assert_broken("", &two, &["a has several versions: 1.0.0 and 2.0.0"]);
        let excused = "{ crate = \"a@1.0.0\", reason = \"b\" }";
        assert_broken(excused, &two, &[]);
        assert_broken(excused, &two[1..], &["lists a@1.0.0 without need"]);
        assert_broken(excused, &two[..1], &["lists a@1.0.0 without need"]);
    }

    #[test]
    fn any_version_and_another_registry_are_refused() {
        let mut one = package("a", "1.0.0", "MIT");
        one.dependencies = [("b", None), ("ours", Some("crates/ours"))]
            .map(|(name, path)| Dependency {
                name: name.to_owned(),
                req: "*".to_owned(),
                path: path.map(str::to_owned),
            })
            .to_vec();
        assert_broken(
            "",
            std::slice::from_ref(&one),
            &["a accepts any version of b"],
        );
        one.dependencies.clear();
        one.source = Some("git+https://example.org/a".to_owned());
        assert_broken("", &[one], &["comes from git+https://example.org/a"]);
    }

    #[test]
    fn the_file_of_this_tree_has_no_rule_that_nobody_checks() {
        let text = std::fs::read_to_string(crate::tree::root().join("deny.toml")).unwrap();
        assert!(!Rules::read(&text).unwrap().graph.targets.is_empty());
        let more = text.replace("wildcards = ", "deny = []\nwildcards = ");
        assert!(Rules::read(&more).unwrap_err().to_string().contains("deny"));
        let weaker = text.replace("wildcards = \"deny\"", "wildcards = \"warn\"");
        assert!(Rules::read(&weaker).unwrap_err().to_string().contains("warn"));
    }
}
