//! Where things are: results, cache, clusters.

use crate::args::Arguments;
use crate::speech;
use std::path::PathBuf;
use target::Dirs;

/// The folders of this command.
#[derive(Clone, Debug)]
pub struct Places {
    /// Results of runs.
    pub results: PathBuf,
    /// Jars, and clusters while they run.
    pub dirs: Dirs,
}

impl Places {
    /// As the arguments and the environment say.
    ///
    /// Clusters live in one place for the user, not in the current folder: a command started
    /// anywhere must find what a killed one has left.
    pub fn of(arguments: &Arguments) -> Places {
        Places {
            results: arguments.out.clone(),
            dirs: Dirs {
                cache: folder("CASSAY_CACHE", "XDG_CACHE_HOME", ".cache"),
                data: folder("CASSAY_DATA", "XDG_STATE_HOME", ".local/state"),
            },
        }
    }

    /// Kills and removes what a killed command has left; says what it did.
    pub fn clear_leftovers(&self) {
        let cleared = target::leftovers::clear(&self.dirs, &mut |line| speech::say(line));
        for problem in cleared.problems {
            speech::say(&format!("warning: {problem}"));
        }
    }
}

fn folder(own: &str, xdg: &str, below_home: &str) -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(path) = set(own) {
        return path.into();
    }
    let base = set(xdg)
        .map(PathBuf::from)
        .or_else(|| set("HOME").map(|home| PathBuf::from(home).join(below_home)));
    base.unwrap_or_else(std::env::temp_dir).join("cassay")
}
