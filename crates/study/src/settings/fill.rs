//! Fills a draft from a checked tree by the rows of the table. The type of each row applies its
//! value to the draft.

use super::{Draft, secret_of};
use crate::checked_tree::Tree;
use crate::format::{self, Type};

impl Draft {
    pub(crate) fn from_tree(tree: &Tree) -> Draft {
        let mut draft = Draft::default();
        draft.section(tree, "");
        draft
    }

    fn section(&mut self, tree: &Tree, path: &str) {
        for (key, field) in format::children(path) {
            if let Some(value) = tree.get(key) {
                self.take(value, field.path, &field.typ);
            }
        }
    }

    fn take(&mut self, tree: &Tree, path: &str, typ: &Type) {
        match (typ, tree) {
            (Type::Text(set) | Type::Name(set) | Type::CqlName(set), Tree::Text(text)) => {
                set(self, text);
            }
            (Type::Release(set), Tree::Release(release, _)) => set(self, release),
            (Type::Count(.., set), Tree::Count(n))
            | (Type::Duration(.., set), Tree::DurationNs(n))
            | (Type::Bytes(.., set), Tree::Bytes(n))
            | (Type::BitRate(.., set), Tree::BitRate(n)) => set(self, *n),
            (Type::Number(.., set) | Type::Share(.., set), Tree::Number(n)) => set(self, *n),
            (Type::Bool(set), Tree::Bool(on)) => set(self, *on),
            (Type::Secret(set), Tree::Map(_)) => {
                if let Some(secret) = secret_of(tree) {
                    set(self, secret);
                }
            }
            (Type::Level(levels, set), Tree::Text(text)) => {
                if let Some(level) = levels.iter().find(|level| level.name() == text) {
                    set(self, *level);
                }
            }
            (Type::Fault(set), Tree::Text(name)) => {
                if let Some(kind) = self.kind_of(name) {
                    set(self, kind);
                }
            }
            (Type::Choice(words), Tree::Text(text)) => {
                if let Some((_, set)) = words.iter().find(|(word, _)| word == text) {
                    set(self);
                }
            }
            (Type::WordOr(words, other), _) => {
                let word = words.iter().find(|(word, _)| tree.text() == Some(*word));
                match word {
                    Some((_, set)) => set(self),
                    None => self.take(tree, path, other),
                }
            }
            (Type::Either(_, mapping), Tree::Map(_)) => self.take(tree, path, mapping),
            (Type::Either(scalar, _), _) => self.take(tree, path, scalar),
            (Type::List(item), Tree::List(items)) => {
                items.iter().for_each(|tree| self.take(tree, path, item));
            }
            (Type::Map(item), Tree::Map(entries)) => {
                for (key, tree) in entries {
                    self.key.clone_from(key);
                    self.take(tree, path, item);
                }
                self.key.clear();
            }
            (Type::Any(set), _) => set(self, tree),
            (Type::Section(set), Tree::Map(_)) => {
                set(self);
                self.section(tree, path);
            }
            // Variants, phases and scales were merged into the study before the check. For other
            // types, a value of the wrong form is a mistake that has already been reported.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
