//! Examines an unpacked distribution, a built source tree, or a distribution in one file. This
//! module does not execute anything in them.

use crate::digest::{digest_of, digest_of_texts};
use crate::jar::server_version;
use crate::line::Line;
use crate::release::Release;
use crate::release_lines::names;
use flate2::read::GzDecoder;
use foreign::FileKind;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Prefixes of the name of the server's jar. The first is used in a distribution or a source tree,
/// and the second in Maven.
const SERVERS: [&str; 2] = ["apache-cassandra-", "cassandra-all-"];

/// Maximum unpacked size of a distribution, in bytes. For comparison, distributions of 6.0 have
/// about 200 MB.
const UNPACKED_BYTES_MAX: u64 = 4 << 30;

/// Suffixes of jars in a source tree that have the prefix of the server's jar, but do not contain
/// the server.
const NOT_SERVER: [&str; 3] = ["-sources.jar", "-javadoc.jar", "-tests.jar"];

/// Folders that contain jars in a distribution or in a built source tree.
const FOLDERS: [&str; 3] = ["lib", "build", "build/lib/jars"];

/// Files of a distribution or source tree from which nodes are started.
#[derive(Clone, Debug)]
pub struct Home {
    /// Folder of the distribution or source tree.
    pub folder: PathBuf,
    /// Release of Cassandra in the folder.
    pub release: Release,
    /// All jars of the class path, in the order of their paths.
    pub jars: Vec<PathBuf>,
    /// Jar of the agent that measures the size of objects.
    pub jamm: PathBuf,
    /// File that tells the compiler which methods it should inline, if the distribution has such a
    /// file.
    pub compiler_hints: Option<PathBuf>,
}

/// Reason why a folder or file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// The folder or file cannot be read.
    #[error("cassay cannot read {path}: {answer}")]
    Unreadable {
        /// Path of the folder or file.
        path: String,
        /// Error that the system reports.
        answer: io::Error,
    },
    /// The folder or file does not contain a server.
    #[error(
        "{0} has no jar of the server (apache-cassandra-VERSION.jar, or Maven's \
         cassandra-all-VERSION.jar): neither in lib, as an unpacked distribution, nor in build, as \
         a built source tree"
    )]
    NoServer(String),
    /// The folder contains more than one server.
    #[error("{path} contains the servers {first} and {second}, but may contain only one")]
    TwoServers {
        /// Path of the folder.
        path: String,
        /// Version of one of the servers.
        first: String,
        /// Version of another server.
        second: String,
    },
    /// The server belongs to a release line that cassay does not support.
    #[error(
        "{path} is Cassandra {version}, but cassay can start nodes only of {}",
        names()
    )]
    OtherLine {
        /// Path of the folder or file.
        path: String,
        /// Version according to the server's jar.
        version: String,
    },
    /// The agent that measures the size of objects is missing.
    #[error("{0} contains no jamm jar, which a server needs as its Java agent")]
    NoJamm(String),
}

impl Home {
    /// Examines a folder.
    ///
    /// # Errors
    /// The folder is neither a distribution nor a built source tree, belongs to an unknown release
    /// line, or contains two different servers or no jamm agent.
    pub fn read(folder: &Path) -> Result<Home, HomeError> {
        let path = || folder.display().to_string();
        let unreadable = |answer| HomeError::Unreadable {
            path: path(),
            answer,
        };
        // The path is made absolute, because another program would resolve a relative path from its
        // own folder.
        let folder = folder.canonicalize().map_err(unreadable)?;
        let mut jars = Vec::new();
        for below in FOLDERS.map(|below| folder.join(below)) {
            let entries = std::fs::read_dir(below).into_iter().flatten();
            let found = entries.filter_map(|entry| Some(entry.ok()?.path()));
            jars.extend(found.filter(|path| path.extension().is_some_and(|end| end == "jar")));
        }
        jars.retain(|jar| !NOT_SERVER.iter().any(|end| name_of(jar).ends_with(end)));
        jars.sort();
        let servers = servers_among(&jars);
        let server = servers.first().ok_or_else(|| HomeError::NoServer(path()))?;
        if let Some(other) = servers.iter().find(|other| *other != server) {
            return Err(HomeError::TwoServers {
                path: path(),
                first: server.clone(),
                second: other.clone(),
            });
        }
        let release = found(server, &path())?;
        let jamm = jars.iter().find(|jar| name_of(jar).starts_with("jamm-")).cloned();
        let hints = folder.join("conf/hotspot_compiler");
        Ok(Home {
            jamm: jamm.ok_or_else(|| HomeError::NoJamm(path()))?,
            compiler_hints: Some(hints).filter(|hints| hints.is_file()),
            folder,
            release,
            jars,
        })
    }

    /// Returns the SHA-256 of the names and contents of the jars, in lower-case hexadecimal digits.
    /// Builds that differ in one class therefore have different digests.
    ///
    /// # Errors
    /// A jar cannot be read.
    pub fn digest(&self) -> io::Result<String> {
        let mut text = String::new();
        for jar in &self.jars {
            text.push_str(&format!("{}  {}\n", digest_of(jar)?, name_of(jar)));
        }
        Ok(digest_of_texts(&[&text]))
    }

    /// Returns the git commit of a source tree, as the files of the tree state it. Returns `None`
    /// for a distribution.
    pub fn commit(&self) -> Option<String> {
        commit_at(&self.folder)
    }
}

/// Returns the current commit of a folder that contains a `.git`. Returns `None` if the files of
/// git do not state it.
fn commit_at(folder: &Path) -> Option<String> {
    let own = folder.join(".git");
    let read = |path: &Path| foreign::text(FileKind::Home, path).ok();
    // In a worktree, `.git` is a file that contains the path of the worktree's git folder. The
    // references are shared with the main worktree.
    let git = match read(&own) {
        Some(text) => folder.join(text.strip_prefix("gitdir:")?.trim()),
        None => own,
    };
    let shared = match read(&git.join("commondir")) {
        Some(text) => git.join(text.trim()),
        None => git.clone(),
    };
    let head = read(&git.join("HEAD"))?;
    let Some(name) = head.trim().strip_prefix("ref: ") else {
        return commit(head.trim());
    };
    let loose = read(&git.join(name)).or_else(|| read(&shared.join(name)));
    if let Some(text) = loose {
        return commit(text.trim());
    }
    let packed = read(&shared.join("packed-refs"))?;
    let line = packed.lines().find_map(|line| line.strip_suffix(name))?;
    commit(line.trim())
}

/// Returns the text if it is the hash of a commit, and otherwise `None`.
fn commit(text: &str) -> Option<String> {
    let is_one = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_one.then(|| text.to_owned())
}

/// Returns the release of a distribution in one file. The release comes from the name of the
/// server's jar.
///
/// # Errors
/// The file cannot be read, is not a gzipped tar, does not contain a server, or belongs to an
/// unknown release line.
pub fn release_in_tarball(file: &Path) -> Result<Release, HomeError> {
    let path = file.display().to_string();
    let unreadable = |answer| HomeError::Unreadable {
        path: path.clone(),
        answer,
    };
    let opened = foreign::open(FileKind::Archive, file).map_err(unreadable)?;
    let unpacked = GzDecoder::new(io::BufReader::new(opened)).take(UNPACKED_BYTES_MAX);
    let mut archive = tar::Archive::new(unpacked);
    // The function reads raw entries. Otherwise, the library would read a name in a separate entry
    // into memory, regardless of its length.
    for entry in archive.entries().map_err(unreadable)?.raw(true) {
        let entry = entry.map_err(unreadable)?;
        let inner = entry.path().map_err(unreadable)?.into_owned();
        let is_in_lib = inner.parent().is_some_and(|folder| folder.ends_with("lib"));
        if let Some(version) = version_of(name_of(&inner)).filter(|_| is_in_lib) {
            return found(version, &path);
        }
    }
    Err(HomeError::NoServer(path))
}

/// Returns the versions of the servers among the jars. The version inside a jar takes precedence
/// over the name of the jar. If no name belongs to a server, the function examines the content of
/// each jar.
fn servers_among(jars: &[PathBuf]) -> Vec<String> {
    let inside = |jar: &PathBuf| server_version(&foreign::read(FileKind::Jar, jar).ok()?);
    let of_named = |jar: &PathBuf| {
        let name = version_of(name_of(jar))?;
        Some(inside(jar).unwrap_or_else(|| name.to_owned()))
    };
    let named: Vec<String> = jars.iter().filter_map(of_named).collect();
    if named.is_empty() {
        return jars.iter().filter_map(inside).collect();
    }
    named
}

/// Returns the version in the file name of a server's jar, or `None` for other names.
fn version_of(name: &str) -> Option<&str> {
    let rest = SERVERS.iter().find_map(|begin| name.strip_prefix(begin))?;
    let version = rest.strip_suffix(".jar")?;
    version.starts_with(|c: char| c.is_ascii_digit()).then_some(version)
}

fn found(version: &str, path: &str) -> Result<Release, HomeError> {
    let other = || HomeError::OtherLine {
        path: path.to_owned(),
        version: version.to_owned(),
    };
    Line::find(version).and_then(|_| Release::built(version)).ok_or_else(other)
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, file).unwrap();
        }
        folder
    }

    #[test]
    fn a_distribution_and_a_built_source_tree_are_read() {
        let folder = with(&[
            "lib/apache-cassandra-4.1.5.jar",
            "lib/jamm-0.3.2.jar",
            "lib/NOTES",
            "conf/hotspot_compiler",
        ]);
        let home = Home::read(folder.path()).unwrap();
        assert_eq!(home.release.version(), "4.1.5");
        assert_eq!(home.jars.len(), 2);
        assert!(home.compiler_hints.is_some());
        assert_eq!(home.commit(), None);
        let tree = with(&[
            "build/apache-cassandra-6.0-alpha3-SNAPSHOT.jar",
            "build/apache-cassandra-6.0-alpha3-SNAPSHOT-sources.jar",
            "build/lib/jars/jamm-0.4.0.jar",
            ".git/HEAD",
        ]);
        let home = Home::read(tree.path()).unwrap();
        assert_eq!(home.release.line().name, "6.0");
        assert_eq!(home.jars.len(), 2);
        let before = home.digest().unwrap();
        std::fs::write(&home.jamm, "another").unwrap();
        assert_ne!(home.digest().unwrap(), before);
    }

    #[test]
    fn a_folder_that_is_no_home_is_refused_with_the_missing_part() {
        let refused = |files: &[&str]| Home::read(with(files).path()).unwrap_err().to_string();
        assert!(refused(&["lib/a.jar"]).contains("has no jar of the server"));
        assert!(refused(&["lib/apache-cassandra-3.11.4.jar"]).contains("is Cassandra 3.11.4"));
        assert!(refused(&["lib/apache-cassandra-5.0.8.jar"]).contains("no jamm jar"));
        let two = [
            "lib/apache-cassandra-5.0.8.jar",
            "build/apache-cassandra-5.0.9.jar",
        ];
        assert!(refused(&two).contains("servers 5.0.9 and 5.0.8"));
        assert!(Home::read(Path::new("/not/there")).is_err());
    }

    #[test]
    fn a_server_is_known_by_its_jars_contents_not_its_file_name() {
        for (name, inside) in [
            ("cassandra-all-5.0.9.jar", Some("5.0.9")),
            ("cassandra-all-5.0.9.jar", None),
            ("server.jar", Some("5.0.9")),
            ("apache-cassandra-4.1.5.jar", Some("5.0.9")),
        ] {
            let folder = with(&["lib/jamm-0.4.0.jar", "lib/netty.jar"]);
            let jar = inside.map_or_else(|| b"no zip".to_vec(), crate::jar::tests::server);
            std::fs::write(folder.path().join("lib").join(name), jar).unwrap();
            let home = Home::read(folder.path()).unwrap();
            assert_eq!(home.release.version(), "5.0.9", "{name}");
            assert_eq!(home.jars.len(), 3);
        }
        let two = with(&["lib/jamm-0.4.0.jar", "lib/cassandra-all-5.0.9.jar"]);
        let other = two.path().join("lib/x.jar");
        std::fs::write(&other, crate::jar::tests::server("5.0.8")).unwrap();
        assert_eq!(Home::read(two.path()).unwrap().release.version(), "5.0.9");
        std::fs::rename(other, two.path().join("lib/apache-cassandra-5.0.9.jar")).unwrap();
        let refused = Home::read(two.path()).unwrap_err().to_string();
        assert!(refused.contains("servers 5.0.8 and 5.0.9"), "{refused}");
    }

    #[test]
    fn the_commit_of_a_tree_is_read_where_git_keeps_it() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        let put = |folder: &Path, files: &[(&str, String)]| {
            for (name, text) in files {
                let path = folder.join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
        };
        let line = |text: &str| format!("{text}\n");
        let loose = tempfile::tempdir().unwrap();
        put(
            loose.path(),
            &[
                (".git/HEAD", line("ref: refs/heads/x")),
                (".git/refs/heads/x", line(id)),
            ],
        );
        let packed = tempfile::tempdir().unwrap();
        let refs = format!("# pack-refs\n{id} refs/heads/x\n");
        put(
            packed.path(),
            &[
                (".git/HEAD", line("ref: refs/heads/x")),
                (".git/packed-refs", refs),
            ],
        );
        let detached = tempfile::tempdir().unwrap();
        put(detached.path(), &[(".git/HEAD", line(id))]);
        let worktree = tempfile::tempdir().unwrap();
        let own = loose.path().join(".git/worktrees/w");
        put(
            worktree.path(),
            &[(".git", format!("gitdir: {}\n", own.display()))],
        );
        put(
            &own,
            &[
                ("HEAD", line("ref: refs/heads/x")),
                ("commondir", line("../..")),
            ],
        );
        for folder in [&loose, &packed, &detached, &worktree] {
            assert_eq!(commit_at(folder.path()).as_deref(), Some(id));
        }
        put(detached.path(), &[(".git/HEAD", line("nonsense"))]);
        assert_eq!(commit_at(detached.path()), None);
    }

    #[test]
    fn a_tarball_says_its_release_by_its_servers_jar() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("any-name.tar.gz");
        let packed = flate2::write::GzEncoder::new(
            std::fs::File::create(&file).unwrap(),
            flate2::Compression::fast(),
        );
        let mut tar = tar::Builder::new(packed);
        for name in [
            "apache-cassandra-5.0.9/bin/cassandra",
            "apache-cassandra-5.0.9/lib/apache-cassandra-5.0.9.jar",
        ] {
            let mut header = tar::Header::new_ustar();
            header.set_size(1);
            tar.append_data(&mut header, name, &b"x"[..]).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap();
        assert_eq!(release_in_tarball(&file).unwrap().version(), "5.0.9");
        std::fs::write(&file, "no tar").unwrap();
        assert!(
            release_in_tarball(&file)
                .unwrap_err()
                .to_string()
                .contains("cassay cannot read")
        );
    }
}
