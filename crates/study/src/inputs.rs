//! The files that the workloads of a study refer to. cassay reads each file once and keeps its text
//! with the run, so that the run can be resumed and shown without the original files.

use crate::settings::{Folder, Overrides, RecordedTraffic, Recordings};
use foreign::FileKind;
use query_log::Recording;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Reads files of a study, and keeps their texts.
pub struct Inputs<'a> {
    folder: Option<&'a Folder>,
    read: RefCell<BTreeMap<String, String>>,
    recordings: RefCell<Recordings>,
}

impl<'a> Inputs<'a> {
    /// Creates the inputs of a study. A file comes from the recorded files, or else from the folder
    /// of the study.
    pub fn new(overrides: &'a Overrides) -> Inputs<'a> {
        Inputs {
            folder: overrides.files.as_ref(),
            read: RefCell::new(overrides.inputs.clone()),
            recordings: RefCell::new(overrides.recordings.clone()),
        }
    }

    /// Creates inputs that contain only the recorded files.
    pub fn recorded(inputs: &BTreeMap<String, String>) -> Inputs<'static> {
        Inputs {
            folder: None,
            read: RefCell::new(inputs.clone()),
            recordings: RefCell::default(),
        }
    }

    /// Adds recorded traffic that has already been read.
    pub fn with_recordings(self, recordings: &Recordings) -> Inputs<'a> {
        Inputs {
            recordings: RefCell::new(recordings.clone()),
            ..self
        }
    }

    /// Returns all recorded traffic that has been read.
    pub fn recordings(&self) -> Recordings {
        self.recordings.borrow().clone()
    }

    /// Returns recorded traffic. The error is a sentence with a remedy. A run keeps only the digest
    /// of recorded traffic, because the traffic is too large. cassay refuses traffic that has
    /// changed since then.
    pub fn recording(&self, asked: &RecordedTraffic) -> Result<Arc<Recording>, String> {
        let known = self.read.borrow().get(&asked.name()).cloned();
        if let Some(known) = known.and_then(|digest| self.recordings.borrow().get(&digest).cloned())
        {
            return Ok(known);
        }
        let Some(folder) = self.folder else {
            return Err(
                "a run does not store recorded traffic: pass --trust, and cassay reads the traffic \
                 again from its original path"
                    .to_owned(),
            );
        };
        let place = |name: &String| locate(folder, name).map(|path| (name.clone(), path));
        let places = asked.files.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let recording =
            query_log::read(&places, asked.choice()).map_err(|error| error.to_string())?;
        let mut read = self.read.borrow_mut();
        let digest = read.entry(asked.name()).or_insert_with(|| recording.digest.clone());
        if *digest != recording.digest {
            return Err(format!(
                "the {} has changed since the run began",
                asked.name()
            ));
        }
        let recording = Arc::new(recording);
        self.recordings.borrow_mut().add(Arc::clone(&recording));
        Ok(recording)
    }

    /// Returns the text of a file of the study, such as a workload file. The error is a sentence
    /// with a remedy.
    pub fn read(&self, name: &str) -> Result<String, String> {
        self.read_kind(FileKind::Workload, name)
    }

    /// Returns the text of a file of the study, which may be as large as a file of `kind`.
    pub fn read_kind(&self, kind: FileKind, name: &str) -> Result<String, String> {
        if let Some(text) = self.read.borrow().get(name) {
            return Ok(text.clone());
        }
        let Some(folder) = self.folder else {
            return Err(format!("this run has no copy of the file {name}"));
        };
        let text = read_below(folder, kind, name)?;
        self.read.borrow_mut().insert(name.to_owned(), text.clone());
        Ok(text)
    }

    /// Returns the text of a file of `kind` that the command line names, relative to the current
    /// folder. The error is a sentence with a remedy.
    pub fn read_own(&self, kind: FileKind, name: &str) -> Result<String, String> {
        if let Some(text) = self.read.borrow().get(name) {
            return Ok(text.clone());
        }
        let here = Folder {
            path: PathBuf::new(),
            open: true,
        };
        let text = read_below(&here, kind, name)?;
        self.read.borrow_mut().insert(name.to_owned(), text.clone());
        Ok(text)
    }

    /// Returns the text of a file that was recorded with the run. `None` for other files.
    pub fn recorded_text(&self, name: &str) -> Option<String> {
        self.read.borrow().get(name).cloned()
    }

    /// Masks a password in the texts that cassay keeps with the run. In the properties files of
    /// YCSB, also masks every value whose name marks a secret. The files of other tools may use
    /// such names for columns.
    pub fn hide(&self, tool: imports::Tool, password: &str) {
        for text in self.read.borrow_mut().values_mut() {
            let line = |line| without(line, tool, password);
            *text = text.split_inclusive('\n').map(line).collect();
        }
    }

    /// Returns all texts that have been read. The keys are the file names that the study uses.
    pub fn into_read(self) -> BTreeMap<String, String> {
        self.read.into_inner()
    }
}

/// Masks the password in a line whose key names a password, such as `cassandra.password=secret`. In
/// a file of YCSB, masks the whole value of a key that names a secret.
fn without(line: &str, tool: imports::Tool, password: &str) -> String {
    let trimmed = line.trim_start();
    let end = trimmed.find(|c: char| c == '=' || c == ':' || c.is_whitespace());
    let key = &trimmed[..end.unwrap_or(trimmed.len())];
    let value = line.len() - trimmed.len() + key.len();
    let (before, value) = line.split_at(value);
    if tool == imports::Tool::Ycsb && yaml::names_secret(key) {
        let rest = value.trim_start_matches(|c: char| "=: \t".contains(c)).trim_end();
        if !rest.is_empty() {
            return format!("{before}{}", value.replacen(rest, "***", 1));
        }
    }
    if password.is_empty() || !key.to_ascii_lowercase().contains("pass") {
        return line.to_owned();
    }
    format!("{before}{}", value.replacen(password, "***", 1))
}

/// Returns the path of a file that cassay reads at the end of the run. Unless the folder is open,
/// the file must already exist. The error is a sentence with a remedy.
///
/// # Errors
/// The study has no folder from which to read, or the name leads outside the folder. It is also an
/// error if the folder is not open and does not contain the file.
pub fn located(folder: Option<&Folder>, name: &str) -> Result<PathBuf, String> {
    let Some(folder) = folder else {
        return Err(format!(
            "cassay cannot find {name} without the study's folder"
        ));
    };
    locate(folder, name)
}

/// Checks by the name alone that a file is inside the folder of a study. Accepts every name if the
/// folder is open.
///
/// # Errors
/// The name leads outside the folder. The error is a sentence that names the folder.
pub fn stays_inside(folder: &Folder, name: &str) -> Result<(), String> {
    let inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if folder.open || Path::new(name).components().all(inside) {
        return Ok(());
    }
    Err(format!(
        "{name} is outside the study's folder {}: move the file to this folder",
        folder.path.display()
    ))
}

/// Does the same as [`stays_inside`], and also checks links. Accepts a missing file, because
/// reading the file will report the error.
///
/// # Errors
/// The file is outside the folder. The error is a sentence with the reason.
pub fn leads_nowhere_else(folder: &Folder, name: &str) -> Result<(), String> {
    stays_inside(folder, name)?;
    if folder.path.join(name).exists() {
        locate(folder, name).map(|_| ())
    } else {
        Ok(())
    }
}

fn locate(folder: &Folder, name: &str) -> Result<PathBuf, String> {
    stays_inside(folder, name)?;
    let path = folder.path.join(name);
    if folder.open {
        return Ok(path);
    }
    // The check resolves links, because a link could lead outside the folder.
    let failed = |error: std::io::Error| {
        format!(
            "cannot read {}: {error}. A path in a study is relative to the folder of the study",
            path.display()
        )
    };
    let (real, base) = (path.canonicalize(), folder.path.canonicalize());
    if real.map_err(failed)?.starts_with(base.map_err(failed)?) {
        return Ok(path);
    }
    Err(format!(
        "{name} is a link to a file outside the study's folder"
    ))
}

/// Returns the text of a file in a folder. The error is a sentence with a remedy.
///
/// # Errors
/// The file cannot be read, is too large, or is outside the folder.
pub fn read_below(folder: &Folder, kind: FileKind, name: &str) -> Result<String, String> {
    let path = locate(folder, name)?;
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    foreign::text(kind, &path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use imports::Tool;

    #[test]
    fn a_file_that_is_too_large_is_called_by_its_kind() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("m.yaml"), vec![b'#'; 3 << 20]).expect("it is written");
        let folder = Folder {
            path: folder.path().to_path_buf(),
            open: false,
        };
        let read = |kind| read_below(&folder, kind, "m.yaml").expect_err("it is too large");
        let said = read(FileKind::Machines);
        assert!(
            said.contains("a list of machines has at most 1048576"),
            "{said}"
        );
        let said = read(FileKind::Workload);
        assert!(
            said.contains("a workload file has at most 2097152"),
            "{said}"
        );
    }

    #[test]
    fn a_study_reads_no_file_outside_its_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).expect("a folder");
        std::fs::write(folder.path().join("secret"), "s").expect("a file");
        std::fs::write(inner.join("fine"), "f").expect("a file");
        std::os::unix::fs::symlink("../secret", inner.join("link")).expect("a link");
        let mut overrides = Overrides {
            files: Some(Folder {
                path: inner,
                open: false,
            }),
            ..Overrides::default()
        };
        let absolute = folder.path().join("secret").display().to_string();
        {
            let inputs = Inputs::new(&overrides);
            assert_eq!(inputs.read("fine").as_deref(), Ok("f"));
            for name in ["../secret", "link", absolute.as_str(), "absent"] {
                assert!(inputs.read(name).is_err(), "{name}");
            }
            let absent = inputs.read("absent").expect_err("no such file");
            assert!(
                absent.ends_with("relative to the folder of the study"),
                "{absent}"
            );
            assert_eq!(inputs.into_read().len(), 1);
        }
        if let Some(folder) = &mut overrides.files {
            folder.open = true;
        }
        assert_eq!(
            Inputs::new(&overrides).read("../secret").as_deref(),
            Ok("s")
        );
    }

    #[test]
    fn a_password_is_kept_out_of_the_record_and_all_else_is_kept() {
        let text = "# cassandra\ndb=cassandra\r\n cassandra.password : cassandra\r\npassword=other";
        let overrides = Overrides {
            inputs: BTreeMap::from([("a".to_owned(), text.to_owned())]),
            ..Overrides::default()
        };
        let inputs = Inputs::new(&overrides);
        inputs.hide(Tool::Nb, "");
        assert_eq!(inputs.read("a").as_deref(), Ok(text));
        inputs.hide(Tool::Nb, "cassandra");
        let hidden = "# cassandra\ndb=cassandra\r\n cassandra.password : ***\r\npassword=other";
        assert_eq!(inputs.read("a").as_deref(), Ok(hidden));
        inputs.hide(Tool::Ycsb, "");
        let hidden = hidden.replace("password=other", "password=***");
        assert_eq!(inputs.read("a"), Ok(hidden));
    }

    #[test]
    fn an_input_on_record_needs_no_folder() {
        let overrides = Overrides {
            inputs: BTreeMap::from([("a".to_owned(), "text".to_owned())]),
            ..Overrides::default()
        };
        let inputs = Inputs::new(&overrides);
        assert_eq!(inputs.read("a").as_deref(), Ok("text"));
        assert!(inputs.read("b").is_err());
    }
}
