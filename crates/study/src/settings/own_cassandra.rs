//! A build of Cassandra that nodes use instead of a release, as described in a study.

use std::path::PathBuf;
use target_spec::Origin;

#[derive(Clone, Debug, Default)]
pub(crate) struct OwnCassandra {
    pub home: Option<PathBuf>,
    pub tarball: Option<PathBuf>,
    pub sha256: String,
    pub command: Vec<String>,
    pub build_home: Option<PathBuf>,
}

impl OwnCassandra {
    pub fn origin(&self) -> Origin {
        match (&self.home, &self.tarball, &self.build_home) {
            (Some(home), ..) => Origin::Home(home.clone()),
            (None, Some(file), _) => Origin::Tarball {
                file: file.clone(),
                sha256: self.sha256.clone(),
            },
            (None, None, Some(home)) => Origin::Build {
                command: self.command.clone(),
                home: home.clone(),
            },
            (None, None, None) => Origin::Maven,
        }
    }
}
