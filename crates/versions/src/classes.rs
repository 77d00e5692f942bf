//! Cassandra classes that a study may name, but that some release lines do not have.

use crate::line::Line;
use crate::release_lines::{LINES, joined};

/// Hint for a class that a line does not have.
pub const LACKED_CLASS_HINT: &str = "use a class that this version has, or a release of another \
                                     line";

impl Line {
    /// Returns the reason why a study cannot name a class for this line, if only other lines have
    /// the class. The name may include its package. Returns `None` if this line has the class, or
    /// if the class is not in the list of any line.
    pub fn lacks_class(&self, name: &str) -> Option<String> {
        let simple = name.rsplit('.').next()?;
        let has = |line: &&&Line| line.classes.contains(&simple);
        let others: Vec<&str> = LINES.iter().filter(has).map(|line| line.name).collect();
        (!others.is_empty() && !has(&&self)).then(|| {
            format!(
                "Cassandra {} has no {simple}, which is in {}",
                self.name,
                joined(&others)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_of_other_lines_is_told_from_one_that_nobody_knows() {
        let [oldest, .., newest] = LINES;
        let lacks = |line: &Line, name| line.lacks_class(name);
        let said = "Cassandra 4.0 has no TrieMemtable, which is in 5.0 and 6.0";
        let full = "org.apache.cassandra.db.memtable.TrieMemtable";
        assert_eq!(lacks(oldest, "TrieMemtable").as_deref(), Some(said));
        assert_eq!(lacks(oldest, full).as_deref(), Some(said));
        assert_eq!(lacks(newest, full), None);
        assert!(lacks(newest, "DateTieredCompactionStrategy").is_some());
        for known in ["SizeTieredCompactionStrategy", "com.mine.Own", ""] {
            assert_eq!(lacks(oldest, known), None);
        }
    }
}
