//! Reads the keys of a value that determine the number from which the value is computed, and the
//! share of missing values.

use super::File;
use super::groups::Groups;
use super::named_value::MadeFrom;
use super::value_generators::GroupedBy;
use crate::params::whole_number;
use std::sync::Arc;
use yaml::{Node, Raw};

impl<'a> File<'a, '_> {
    /// Reads `divide` and `modulo`, `groups`, or `within` of a value. Returns `None` if a mistake
    /// was reported.
    pub(super) fn made_from(&mut self, node: &'a Node) -> Option<MadeFrom> {
        let (divide, modulo) = (self.stride(node, "divide")?, self.stride(node, "modulo")?);
        let grouped = [
            (node.find("groups"), GroupedBy::Group),
            (node.find("within"), GroupedBy::Place),
        ];
        let mut grouped = grouped.into_iter().filter_map(|(node, by)| Some((node?, by)));
        let first = grouped.next();
        let is_divided = divide.is_some() || modulo.is_some();
        match (first, grouped.next()) {
            (None, _) if is_divided => Some(MadeFrom::Every(divide.unwrap_or(1), modulo)),
            (None, _) => Some(MadeFrom::Itself),
            (Some((sizes, by)), None) if !is_divided => {
                Some(MadeFrom::Group(Arc::new(self.groups(sizes)?), by))
            }
            (Some((node, _)), _) => {
                let message = "a value has only one of `divide` with `modulo`, `groups` and \
                               `within`";
                self.say(&node.place, message);
                None
            }
        }
    }

    fn groups(&mut self, node: &'a Node) -> Option<Groups> {
        let items = match &node.raw {
            Raw::List(items) => items.as_slice(),
            _ => &[],
        };
        let sizes: Option<Vec<u64>> =
            items.iter().map(|item| item.text().and_then(whole_number)).collect();
        let made = sizes.and_then(|sizes| Groups::new(&sizes));
        if made.is_none() {
            let message = "the sizes of groups must be a list of whole numbers from 1";
            let hint = "for example, groups: [1, 1, 3, 20] are four groups with 25 rows in total"
                .to_owned();
            self.out.add(&node.place, message, Some(hint));
        }
        made
    }

    /// Reads `missing` of a value. It is the share of rows or operations for which the value is
    /// missing, by default 0. Returns `None` after a mistake.
    pub(super) fn missing(&mut self, node: &'a Node) -> Option<f64> {
        let Some(share) = node.find("missing") else {
            return Some(0.0);
        };
        let is_share = |share: &f64| (0.0..=1.0).contains(share);
        let found = share.text().and_then(|text| text.parse().ok()).filter(is_share);
        if found.is_none() {
            self.say(
                &share.place,
                "missing must be the share of rows without the value, from 0 to 1",
            );
        }
        found
    }

    /// Reads a whole number of at least 1. Returns `Some(None)` if the key is absent.
    fn stride(&mut self, node: &'a Node, key: &str) -> Option<Option<u64>> {
        let Some(number) = node.find(key) else {
            return Some(None);
        };
        let found = number.text().and_then(whole_number).filter(|n| *n > 0);
        if found.is_none() {
            let message = format!("{key} must be a whole number from 1");
            self.say(&number.place, message);
        }
        found.map(Some)
    }
}
