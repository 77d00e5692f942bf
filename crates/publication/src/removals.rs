//! The list of private strings of one or several runs, with their replacements.
//!
//! A string has the same replacement in all files. Strings for the same thing, such as the name and
//! the address of a node, share a replacement.

use crate::private_string::PrivateKind;
use crate::record_strings::{self, StringGroup};
use crate::removal::Removal;
use crate::replacer::Replacer;
use crate::this_machine::ThisMachine;
use crate::{patterns, removals_file};
use anyhow::Result;
use report::{Page, RunView};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The list of private strings. Each string occurs once, without regard to upper and lower case.
#[derive(Clone, Debug, Default)]
pub struct Removals {
    list: Vec<Removal>,
    index: HashMap<String, usize>,
    /// Names that cassay itself gave to the things of a group.
    names: BTreeMap<usize, String>,
    groups_count: usize,
}

impl Removals {
    /// Collects the private strings of runs and of their pages, and gives each a replacement. With
    /// `with_names`, the list also contains the names of keyspaces, tables, data centers and racks.
    pub fn collect(
        views: &[RunView],
        pages: &mut [Page],
        machine: &ThisMachine,
        with_names: bool,
    ) -> Removals {
        let mut all = Removals::default();
        for view in views {
            for group in record_strings::read(view, with_names) {
                all.add_group(group);
            }
        }
        for (kind, original) in machine.strings() {
            all.add(kind, &original);
        }
        for page in pages.iter_mut() {
            page.change_texts(&mut |text| {
                for (kind, original) in patterns::scan(text) {
                    all.add(kind, &original);
                }
            });
        }
        all.choose_replacements();
        all.count(pages);
        all
    }

    /// All private strings, ordered by kind.
    pub fn list(&self) -> &[Removal] {
        &self.list
    }

    fn add(&mut self, kind: PrivateKind, original: &str) {
        self.add_group(StringGroup {
            kind,
            originals: vec![original.to_owned()],
            name: None,
        });
    }

    /// Adds strings with the same meaning. If one of them is known, the others join its group.
    fn add_group(&mut self, new: StringGroup) {
        let key = |text: &String| text.to_ascii_lowercase();
        let known = new.originals.iter().find_map(|one| self.index.get(&key(one)));
        let (group, kind) = match known {
            Some(index) => (self.list[*index].group, self.list[*index].kind),
            None => {
                self.groups_count += 1;
                (self.groups_count, new.kind)
            }
        };
        if let Some(name) = new.name {
            self.names.entry(group).or_insert(name);
        }
        for original in new.originals {
            let next = self.list.len();
            let index = *self.index.entry(key(&original)).or_insert(next);
            if index == next {
                self.list.push(Removal {
                    kind,
                    original,
                    replacement: None,
                    times: 0,
                    group,
                });
            }
        }
    }

    /// Gives each group a replacement that is neither a private string nor the name of another
    /// thing.
    fn choose_replacements(&mut self) {
        self.list.sort_by_key(|removal| removal.kind);
        self.renew_index();
        let mut chosen = self.names.clone();
        let mut used: HashSet<String> = self.names.values().cloned().collect();
        let mut numbers: BTreeMap<PrivateKind, usize> = BTreeMap::new();
        for removal in &mut self.list {
            let name = chosen.entry(removal.group).or_insert_with(|| {
                let number = numbers.entry(removal.kind).or_default();
                loop {
                    *number += 1;
                    let name = format!("{}{number}", removal.kind);
                    if !self.index.contains_key(&name) && used.insert(name.clone()) {
                        return name;
                    }
                }
            });
            removal.replacement = Some(name.clone());
        }
    }

    fn renew_index(&mut self) {
        let keys = self.list.iter().enumerate();
        self.index = keys.map(|(index, one)| (one.original.to_ascii_lowercase(), index)).collect();
    }

    /// Counts the occurrences of each string in the pages.
    fn count(&mut self, pages: &mut [Page]) {
        let mut times = vec![0; self.list.len()];
        let replacer = Replacer::new(&self.list);
        for page in pages {
            page.change_texts(&mut |text| {
                for (_, index) in replacer.matches(text) {
                    times[index] += 1;
                }
            });
        }
        for (removal, times) in self.list.iter_mut().zip(times) {
            removal.times = times;
        }
    }

    /// Returns the list as a text that the user can edit.
    pub fn to_file(&self) -> String {
        removals_file::write(&self.list)
    }

    /// Changes the list as a file states. A string that is only in the file joins the list. A
    /// string that is only in the list keeps its replacement.
    ///
    /// # Errors
    /// The file has another format, or a replacement contains a private string.
    pub fn apply_file(&mut self, text: &str, pages: &mut [Page]) -> Result<()> {
        for entry in removals_file::read(text)? {
            self.add(entry.kind, &entry.original);
            let key = entry.original.to_ascii_lowercase();
            if let Some(removal) = self.index.get(&key).and_then(|at| self.list.get_mut(*at)) {
                removal.replacement = entry.replacement;
            }
        }
        let replacer = Replacer::new(&self.list);
        for removal in &self.list {
            let replacement = removal.replacement.as_deref().unwrap_or_default();
            if let Some(leak) = replacer.first_private(replacement) {
                anyhow::bail!(
                    "the replacement {replacement:?} of {:?} contains the private string {leak:?}\n\
                     hint: write another replacement, or `keep` for {leak:?}",
                    removal.original
                );
            }
        }
        drop(replacer);
        self.count(pages);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn removals(groups: &[(PrivateKind, &[&str], Option<&str>)]) -> Removals {
        let mut all = Removals::default();
        for (kind, originals, name) in groups {
            all.add_group(StringGroup {
                kind: *kind,
                originals: originals.iter().map(|one| (*one).to_owned()).collect(),
                name: name.map(str::to_owned),
            });
        }
        all.choose_replacements();
        all
    }

    fn replacement<'a>(all: &'a Removals, original: &str) -> &'a str {
        let found = all.list.iter().find(|one| one.original == original);
        found.and_then(|one| one.replacement.as_deref()).unwrap_or("none")
    }

    #[test]
    fn names_of_one_thing_share_a_replacement() {
        let all = removals(&[
            (PrivateKind::Node, &["10.0.0.1", "db1"], None),
            (PrivateKind::Host, &["DB1", "db1.corp"], None),
            (PrivateKind::Node, &["127.0.0.2"], Some("node2")),
            (PrivateKind::Host, &["host1"], None),
            (PrivateKind::Host, &["other"], None),
        ]);
        for (original, expected) in [
            ("10.0.0.1", "node1"),
            ("db1", "node1"),
            ("db1.corp", "node1"),
            ("127.0.0.2", "node2"),
            ("other", "host3"),
        ] {
            assert_eq!(replacement(&all, original), expected, "{original}");
        }
    }

    #[test]
    fn a_file_changes_keeps_and_adds_strings() {
        let mut all = removals(&[
            (PrivateKind::Host, &["db1"], None),
            (PrivateKind::User, &["ann"], None),
        ]);
        let file = "host\t1\tdb1\tkeep\ntext\t0\tProject Falcon\tthe project\n";
        all.apply_file(file, &mut []).unwrap();
        assert_eq!(replacement(&all, "db1"), "none");
        assert_eq!(replacement(&all, "ann"), "user1");
        assert_eq!(replacement(&all, "Project Falcon"), "the project");
        let bad = all.apply_file("user\t1\tann\tfalcon of Ann\n", &mut []).unwrap_err();
        assert!(
            bad.to_string().contains("contains the private string \"Ann\""),
            "{bad}"
        );
    }
}
