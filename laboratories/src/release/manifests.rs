//! Reads and writes the version. The version is in the manifest of the workspace, from which all
//! crates take it, and in the lock files. All other files get the version from the program.

use super::version::Version;
use std::collections::BTreeSet;

/// Table of `Cargo.toml` that contains the version.
const PART: &str = "[workspace.package]";

/// Beginning of the line with the version in the table [`PART`].
const KEY: &str = "version = \"";

/// Returns the version in a workspace's manifest.
///
/// # Errors
/// The manifest does not contain a version.
pub fn version(manifest: &str) -> Result<Version, String> {
    let (start, end) = place(manifest)?;
    manifest[start..end].parse().map_err(|error| format!("Cargo.toml: {error}"))
}

/// Returns the manifest with another version.
///
/// # Errors
/// The manifest does not contain a version that could be replaced.
pub fn with_version(manifest: &str, version: Version) -> Result<String, String> {
    let (start, end) = place(manifest)?;
    Ok(format!(
        "{}{version}{}",
        &manifest[..start],
        &manifest[end..]
    ))
}

fn place(manifest: &str) -> Result<(usize, usize), String> {
    let missing = || format!("Cargo.toml does not contain a version in {PART}");
    let part = manifest.find(&format!("{PART}\n")).ok_or_else(missing)? + PART.len();
    let part_end = manifest[part..].find("\n[").map_or(manifest.len(), |end| part + end);
    let key = format!("\n{KEY}");
    let found = manifest[part..part_end].find(&key).ok_or_else(missing)?;
    let start = part + found + key.len();
    let end = start + manifest[start..].find('"').ok_or_else(missing)?;
    Ok((start, end))
}

/// Returns the names of the packages in a lock file that do not come from a registry. These are the
/// packages of the workspace.
pub fn own_names(lock: &str) -> BTreeSet<String> {
    let packages = lock.split("[[package]]\n").skip(1);
    let own = packages.filter(|package| !package.contains("\nsource = \""));
    own.filter_map(|package| Some(quoted(package.lines().next()?)?.to_owned()))
        .collect()
}

/// Returns the lock file with another version for the packages with these names.
pub fn with_locked(lock: &str, names: &BTreeSet<String>, version: Version) -> String {
    let mut packages = lock.split_inclusive("[[package]]\n");
    let head = packages.next().unwrap_or_default().to_owned();
    packages.fold(head, |text, package| {
        let mut lines = package.split_inclusive('\n');
        let name = lines.next().unwrap_or_default();
        let old = lines.next().unwrap_or_default();
        let is_own = quoted(name).is_some_and(|name| names.contains(name))
            && !package.contains("\nsource = \"");
        if is_own && old.starts_with(KEY) {
            let rest = &package[name.len() + old.len()..];
            text + name + &format!("{KEY}{version}\"\n") + rest
        } else {
            text + package
        }
    })
}

fn quoted(line: &str) -> Option<&str> {
    line.split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use xtask::tree;

    const LOCK: &str = "version = 4\n\n[[package]]\nname = \"cql\"\nversion = \"0.1.0\"\n\
        dependencies = [\n \"sha2\",\n]\n\n[[package]]\nname = \"fuzz\"\nversion = \"0.1.0\"\n\n\
        [[package]]\nname = \"cql\"\nversion = \"0.1.0\"\nsource = \"registry\"\n\n\
        [[package]]\nname = \"store\"\nversion = \"0.1.0\"\n";

    #[test]
    fn only_the_packages_of_the_workspace_get_another_version() {
        let names = ["cql", "store"].map(str::to_owned).into();
        let text = with_locked(LOCK, &names, "1.2.3".parse().unwrap());
        let expected = LOCK
            .replacen(
                "name = \"cql\"\nversion = \"0.1.0\"",
                "name = \"cql\"\nversion = \"1.2.3\"",
                1,
            )
            .replace(
                "\"store\"\nversion = \"0.1.0\"",
                "\"store\"\nversion = \"1.2.3\"",
            );
        assert_eq!(text, expected);
        assert_eq!(
            own_names(LOCK),
            ["cql", "fuzz", "store"].map(str::to_owned).into()
        );
    }

    #[test]
    fn our_own_manifests_say_the_version_where_it_is_replaced() {
        let read = |name: &str| std::fs::read_to_string(tree::root().join(name)).unwrap();
        let manifest = read("Cargo.toml");
        let new = "1234.5.6".parse().unwrap();
        let changed = with_version(&manifest, new).unwrap();
        assert_eq!(version(&changed).unwrap(), new);
        let parsed: toml::Table = changed.parse().unwrap();
        assert_eq!(
            parsed["workspace"]["package"]["version"].as_str(),
            Some("1234.5.6")
        );
        let others = |text: &str| text.lines().filter(|line| !line.starts_with(KEY)).count();
        assert_eq!(others(&changed), others(&manifest));
        let names = own_names(&read("Cargo.lock"));
        assert!(
            names.contains("cassay") && names.contains("laboratories"),
            "{names:?}"
        );
        let old = version(&manifest).unwrap();
        for lock in ["Cargo.lock", "fuzz/Cargo.lock"] {
            let text = with_locked(&read(lock), &names, new);
            assert!(
                text.contains(&format!("name = \"cql\"\n{KEY}{new}\"")),
                "{lock}"
            );
            let again = with_locked(&text, &names, old);
            assert!(
                again == read(lock),
                "{lock} has packages of another version than {old}"
            );
        }
    }
}
