//! Lists the parts of a program, each with its licence. The parts are the linked crates and other
//! components.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use xtask::process::{self, cargo};
use xtask::tree;

/// A third-party part of a program.
#[derive(Clone, Debug)]
pub struct Part {
    pub name: String,
    pub version: String,
    /// Licence of the part, as an SPDX expression.
    pub license: String,
    /// Location of the part's sources.
    pub source: String,
    /// SHA-256 digest of the part's package in the registry. `None` for parts that are not crates.
    pub sha256: Option<String>,
    /// Names and versions of the part's dependencies.
    pub uses: Vec<(String, String)>,
    /// Local folder of the part's files, which is searched for licences.
    pub folder: PathBuf,
}

/// Components that are not crates, but are linked into the program or embedded in pages. Each has a
/// name, a version, a licence, a source, and the path of the licence text.
const CARRIED: [[&str; 5]; 3] = [
    [
        "musl",
        "1.2.5",
        "MIT",
        "https://musl.libc.org",
        "laboratories/src/dist/licences/musl",
    ],
    [
        "plotly.js",
        "3.0.1",
        "MIT",
        "https://github.com/plotly/plotly.js",
        "crates/report/assets/plotly",
    ],
    [
        "Roboto",
        "2.137",
        "Apache-2.0",
        "https://github.com/google/roboto",
        "crates/report/assets/font",
    ],
];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    repository: Option<String>,
    source: Option<String>,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Deserialize)]
struct EdgeKind {
    kind: Option<String>,
}

impl Package {
    /// Returns true if the crate is a macro, which runs only in the compiler.
    fn is_macro(&self) -> bool {
        self.targets
            .iter()
            .any(|target| target.kind.iter().any(|kind| kind == "proc-macro"))
    }
}

/// Returns all third-party parts of the program for a target, ordered by name and version.
///
/// # Errors
/// cargo fails, or a crate does not state its licence.
pub fn third_party_parts(target: &str) -> Result<Vec<Part>> {
    let arguments = [
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        target,
    ];
    let said = process::output(&cargo(), &arguments)?;
    let metadata: Metadata = serde_json::from_str(&said).context("parse the output of cargo")?;
    let digests = digests()?;
    let mut parts = linked(&metadata)
        .into_iter()
        .filter(|(package, _)| package.source.is_some())
        .map(|(package, uses)| part(package, uses, &digests))
        .collect::<Result<Vec<Part>>>()?;
    parts.extend(
        CARRIED.map(|[name, version, license, source, folder]| Part {
            name: name.to_owned(),
            version: version.to_owned(),
            license: license.to_owned(),
            source: source.to_owned(),
            sha256: None,
            uses: Vec::new(),
            folder: tree::root().join(folder),
        }),
    );
    parts.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(parts)
}

fn part(
    package: &Package,
    uses: Vec<(String, String)>,
    digests: &BTreeMap<(String, String), String>,
) -> Result<Part> {
    let Package { name, version, .. } = package;
    let license = package
        .license
        .as_ref()
        .with_context(|| format!("{name} {version} names no licence"))?;
    let documents = format!("https://docs.rs/{name}");
    Ok(Part {
        name: name.clone(),
        version: version.clone(),
        // In an older notation of licences, `/` means OR.
        license: license.replace('/', " OR "),
        source: package.repository.clone().unwrap_or(documents),
        sha256: digests.get(&(name.clone(), version.clone())).cloned(),
        uses,
        folder: package.manifest_path.parent().unwrap_or(Path::new("/")).to_owned(),
    })
}

/// Returns the packages that are linked into `cassay`. Each package has the names and versions of
/// its dependencies.
fn linked(metadata: &Metadata) -> Vec<(&Package, Vec<(String, String)>)> {
    let packages: BTreeMap<&str, &Package> =
        metadata.packages.iter().map(|package| (package.id.as_str(), package)).collect();
    let nodes: BTreeMap<&str, &Node> =
        metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let program = metadata.packages.iter().find(|package| package.name == "cassay");
    let mut waiting: Vec<&str> = program.iter().map(|package| package.id.as_str()).collect();
    let mut seen: BTreeSet<&str> = waiting.iter().copied().collect();
    let mut found = Vec::new();
    while let Some(id) = waiting.pop() {
        let (Some(package), Some(node)) = (packages.get(id), nodes.get(id)) else {
            continue;
        };
        let is_linked = |edge: &&Edge| {
            edge.dep_kinds.iter().any(|kind| kind.kind.is_none())
                && packages.get(edge.pkg.as_str()).is_some_and(|package| !package.is_macro())
        };
        let mut uses = Vec::new();
        for edge in node.deps.iter().filter(is_linked) {
            let used = packages[edge.pkg.as_str()];
            uses.push((used.name.clone(), used.version.clone()));
            if seen.insert(&edge.pkg) {
                waiting.push(&edge.pkg);
            }
        }
        uses.sort();
        found.push((*package, uses));
    }
    found
}

fn digests() -> Result<BTreeMap<(String, String), String>> {
    #[derive(Deserialize)]
    struct Lock {
        package: Vec<Locked>,
    }
    #[derive(Deserialize)]
    struct Locked {
        name: String,
        version: String,
        checksum: Option<String>,
    }
    let path = tree::root().join("Cargo.lock");
    let text = std::fs::read_to_string(&path).context("read Cargo.lock")?;
    let lock: Lock = toml::from_str(&text).context("read Cargo.lock")?;
    let known = |one: Locked| Some(((one.name, one.version), one.checksum?));
    Ok(lock.package.into_iter().filter_map(known).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_for_building_or_testing_are_no_parts() {
        let package = |id: &str, kind: &str| {
            format!(
                r#"{{"id": "{id}", "name": "{id}", "version": "1.0.0", "license": "MIT",
                    "repository": null, "source": "registry", "manifest_path": "/r/{id}/Cargo.toml",
                    "targets": [{{"kind": ["{kind}"]}}]}}"#
            )
        };
        let edge = |id: &str, kind: &str| {
            format!(r#"{{"pkg": "{id}", "dep_kinds": [{{"kind": {kind}}}]}}"#)
        };
        let edges = [
            edge("linked", "null"),
            edge("cc", "\"build\""),
            edge("tried", "\"dev\""),
            edge("derive", "null"),
        ];
        let text = format!(
            r#"{{"packages": [{}], "resolve": {{"nodes": [
                {{"id": "cassay", "deps": [{}]}}, {{"id": "linked", "deps": [{}]}},
                {{"id": "below", "deps": []}}, {{"id": "derive", "deps": [{}]}}]}}}}"#,
            [
                package("cassay", "bin"),
                package("linked", "lib"),
                package("below", "lib"),
                package("cc", "lib"),
                package("tried", "lib"),
                package("derive", "proc-macro"),
            ]
            .join(","),
            edges.join(","),
            edge("below", "null"),
            edge("cc", "null"),
        );
        let metadata: Metadata = serde_json::from_str(&text).unwrap();
        let names: Vec<&str> =
            linked(&metadata).iter().map(|(package, _)| package.name.as_str()).collect();
        assert_eq!(names, ["cassay", "linked", "below"]);
    }
}
