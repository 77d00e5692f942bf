//! Mark of a table that cassay created on an attached cluster: a comment with the name of the run.
//!
//! Invariant: any user may write a comment, so a mark alone does not permit writes. The named run
//! must also be this run, be in the user's results folder, or belong to the current study.

use std::collections::BTreeSet;
use std::fmt;
use target_spec::Object;

/// Prefix of a mark, which the name of the run follows.
const MARK: &str = "made by cassay, run ";

/// Runs whose tables belong to the user.
#[derive(Clone, Debug, Default)]
pub struct OwnRuns {
    /// This run, as `STUDY/STAMP`. Empty before the run has a name.
    pub run: String,
    /// Study whose earlier runs belong to the user, regardless of where their results are.
    pub study: Option<String>,
    /// Runs in the user's results folder, each as `STUDY/STAMP`.
    pub known: BTreeSet<String>,
}

impl OwnRuns {
    /// Returns true if the mark names this run, even without the name of the study.
    fn is_this(&self, mark: &Mark) -> bool {
        !self.run.is_empty() && mark.is_of(&self.run)
    }

    /// Returns true if tables with this mark belong to the user.
    pub fn has(&self, mark: &Mark) -> bool {
        let study = mark.0.split_once('/').map(|(study, _)| study);
        self.is_this(mark)
            || self.known.contains(&mark.0)
            || self.known.iter().any(|known| mark.is_of(known))
            || study.is_some() && study == self.study.as_deref()
    }

    /// Returns true if the mark names an earlier run of the user.
    pub fn is_earlier(&self, mark: &Mark) -> bool {
        self.has(mark) && !self.is_this(mark)
    }
}

/// Run that created a table, according to the table's comment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(String);

impl Mark {
    pub fn for_run(run: &str) -> Mark {
        Mark(run.to_owned())
    }

    /// Parses a table's comment. Returns `None` if the comment is not a mark.
    pub fn read(comment: &str) -> Option<Mark> {
        comment.strip_prefix(MARK).map(|run| Mark(run.to_owned()))
    }

    pub fn comment(&self) -> String {
        format!("{MARK}{}", self.0)
    }

    /// Returns true if the mark names the run `STUDY/STAMP`. Early builds of version 0.1.0 wrote
    /// only the stamp.
    fn is_of(&self, run: &str) -> bool {
        let stamp = run.rsplit('/').next().unwrap_or(run);
        self.0 == run || self.0 == stamp
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MarkedTable {
    pub table: Object,
    /// Run that the table's comment names.
    pub mark: Mark,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_counts_only_for_runs_that_are_known_otherwise() {
        let own = OwnRuns {
            run: "peak/20261129T120000Z".to_owned(),
            study: Some("peak".to_owned()),
            known: BTreeSet::from(["first/20261101T080000Z".to_owned()]),
        };
        for (comment, is_own, is_earlier) in [
            ("made by cassay, run peak/20261129T120000Z", true, false),
            ("made by cassay, run 20261129T120000Z", true, false),
            ("made by cassay, run peak/20260101T000000Z", true, true),
            ("made by cassay, run first/20261101T080000Z", true, true),
            ("made by cassay, run 20261101T080000Z", true, true),
            ("made by cassay, run first/20261102T080000Z", false, false),
            ("made by cassay, run of another team in June", false, false),
            ("made by cassay, run ", false, false),
            ("made by cassay, run peak", false, false),
        ] {
            let mark = Mark::read(comment).expect("a mark");
            assert_eq!(own.has(&mark), is_own, "{comment}");
            assert_eq!(own.is_earlier(&mark), is_earlier, "{comment}");
            let before_a_run = OwnRuns::default();
            assert!(!before_a_run.has(&mark), "{comment}");
        }
        assert_eq!(Mark::read("orders of the shop"), None);
    }
}
