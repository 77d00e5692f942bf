//! Sets the build id `CASSAY_BUILD`, by which a controller and an agent check that they are
//! compatible. The id is a digest of the crates that define an agent's protocol, so programs for
//! different kinds of machines have the same id.

use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};

const CRATES: [&str; 9] = [
    "measure",
    "remote",
    "target_spec",
    "topology",
    "linux",
    "host",
    "cassandra",
    "cluster",
    "agent",
];

fn main() {
    let mut digest = DefaultHasher::new();
    for name in CRATES {
        let sources = format!("../{name}/src");
        println!("cargo::rerun-if-changed={sources}");
        let mut files = files(Path::new(&sources));
        assert!(!files.is_empty(), "the crate {name} does not exist");
        files.sort();
        for file in files {
            digest.write(file.to_string_lossy().as_bytes());
            digest.write(&std::fs::read(&file).unwrap_or_default());
        }
    }
    println!("cargo::rustc-env=CASSAY_BUILD={:016x}", digest.finish());
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let below = entries.map(|entry| entry.path());
    below
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}
