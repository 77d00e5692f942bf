//! Checks the files of changes. Each file must be in the folder of its kind, and contain one
//! paragraph.

use super::Violation;
use crate::changes::{FOLDER, KINDS, is_guide, paragraph};
use crate::tree::Tree;

/// Checks each file below `changes/`.
pub fn changes(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in &tree.files {
        let Some(name) = file.path.strip_prefix(FOLDER).and_then(|path| path.strip_prefix('/'))
        else {
            continue;
        };
        if is_guide(&file.path) {
            continue;
        }
        let kind = name.split_once('/').map(|(kind, _)| kind).unwrap_or_default();
        if !KINDS.iter().any(|(folder, _)| *folder == kind) || !file.has_extension("md") {
            let what = "a change is `changes/breaking|security|new|fixed/NAME.md`".to_owned();
            found.push(Violation::in_file(&file.path, what));
        } else if let Err(reason) = paragraph(file.text()) {
            found.push(Violation::in_file(&file.path, reason.to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_a_paragraph_in_the_folder_of_its_kind() {
        let tree = Tree::from_texts(&[
            ("changes/README.md", "# Changes\n\nHow.\n"),
            ("changes/new/a.md", "**A.** It\nis new.\n"),
            ("changes/old/b.md", "**B.**\n"),
            ("changes/new/c.md", "C.\n"),
            ("changes/fixed/d.md", "**D.**\n\nMore.\n"),
        ]);
        let said: Vec<String> = changes(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "changes/old/b.md: a change is `changes/breaking|security|new|fixed/NAME.md`",
                "changes/new/c.md: a change begins with a bold phrase that states it",
                "changes/fixed/d.md: a change is one paragraph",
            ]
        );
    }
}
