//! Plans and starts a child run.

use anyhow::Result;
use measure::number::duration;
use std::path::{Path, PathBuf};
use store::record::FindingsRecord;
use study::plan::Plan;
use study::resolve::resolve;
use study::settings::{Overrides, Study};

/// Folder and findings of a child run. `None` if the user pressed Ctrl-C.
pub type ChildResult = Option<(PathBuf, FindingsRecord)>;

/// The parent of child runs, and the functions that run them and report about them.
pub struct ChildRuns<'a> {
    /// Study of the parent.
    pub study: &'a Study,
    /// Folder of the parent.
    pub path: &'a Path,
    /// Runs a study with its plan, and puts the results into a folder. If an earlier start of the
    /// parent began the child run, continues it.
    pub conduct: &'a mut dyn FnMut(&Study, &Plan, PathBuf) -> Result<ChildResult>,
    /// Reports a sentence.
    pub say: &'a mut dyn FnMut(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildRunsEnd {
    /// The results have been added to the findings.
    Done,
    /// The user pressed Ctrl-C.
    Interrupted,
}

impl ChildRuns<'_> {
    /// Parses the text of a study. Returns the study and its plan.
    ///
    /// # Errors
    /// The text has mistakes, or cassay cannot plan the study.
    pub(crate) fn plan(&self, text: &str) -> Result<(Study, Plan), String> {
        let study = resolve("study.yaml", text, &overrides(self.study))
            .map_err(|mistakes| format!("the study has mistakes: {mistakes}"))?;
        let plan = study::plan::plan(&study).map_err(|error| error.to_string())?;
        Ok((study, plan))
    }

    /// Plans the first of several studies whose estimate is at most `left_s` seconds. The studies
    /// are in order of preference, and the last one is the shortest. `subject` is the subject of
    /// the error, and `key` is the key of the parent's study that limits the time.
    ///
    /// # Errors
    /// A study cannot be planned, or no estimate is short enough.
    pub(crate) fn first_fitting(
        &self,
        texts: impl IntoIterator<Item = String>,
        left_s: f64,
        (subject, key): (&str, &str),
    ) -> Result<(Study, Plan), String> {
        let mut least_s = 0.0;
        for text in texts {
            let (study, plan) = self.plan(&text)?;
            if plan.estimate.seconds <= left_s {
                return Ok((study, plan));
            }
            least_s = plan.estimate.seconds;
        }
        Err(format!(
            "{subject} needs {}, but only {} of `{key}` remain",
            duration(least_s),
            duration(left_s.max(0.0))
        ))
    }

    /// Returns the path of a child run relative to the folder of its run.
    pub(crate) fn relative(&self, path: &Path) -> String {
        path.strip_prefix(self.path).unwrap_or(path).display().to_string()
    }

    /// Runs a study, and puts the results into `folder` of the parent's folder.
    ///
    /// # Errors
    /// The files of the run cannot be written.
    pub(crate) fn conduct(
        &mut self,
        study: &Study,
        plan: &Plan,
        folder: impl AsRef<Path>,
    ) -> Result<ChildResult> {
        (self.conduct)(study, plan, self.path.join(folder))
    }
}

/// Returns the overrides of a run that follows the run of `study`. The text of its study already
/// contains the overrides of that run.
fn overrides(study: &Study) -> Overrides {
    let own = &study.overrides;
    let mut inputs = own.inputs.clone();
    inputs.extend(study.inputs.clone());
    Overrides {
        inputs,
        recordings: study.recordings.clone(),
        files: own.files.clone(),
        registry: own.registry,
        granted: own.granted.clone(),
        recorded: own.recorded,
        ..Overrides::default()
    }
}
