//! Replaces private strings in texts.

use crate::private_string::PrivateKind;
use crate::removal::Removal;
use aho_corasick::AhoCorasick;
use std::ops::Range;

/// Minimum number of characters of a name with a digit or a mark that is replaced within a word. A
/// shorter name could occur in a word by chance.
const CHARS_WITHIN_WORDS_MIN: usize = 6;

/// Maximum number of digits of a port.
const PORT_DIGITS_MAX: usize = 5;

/// Replaces the strings of a list. Upper and lower case are equal.
pub struct Replacer<'a> {
    list: &'a [Removal],
    /// Places at which each string may occur.
    places: Vec<Place>,
    /// `None` if the list is empty.
    search: Option<AhoCorasick>,
}

impl Replacer<'_> {
    pub fn new(list: &[Removal]) -> Replacer<'_> {
        let search = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(list.iter().map(|removal| &removal.original));
        Replacer {
            list,
            places: list.iter().map(Place::from_removal).collect(),
            search: (!list.is_empty())
                .then(|| search.expect("the list is far smaller than the limits of the search")),
        }
    }

    /// Returns the ranges of the strings in a text, with their indices in the list. The ranges do
    /// not overlap. The leftmost range takes precedence, and then the longest.
    pub fn matches(&self, text: &str) -> Vec<(Range<usize>, usize)> {
        let Some(search) = &self.search else {
            return Vec::new();
        };
        let mut all: Vec<(Range<usize>, usize)> = search
            .find_overlapping_iter(text)
            .map(|found| (found.range(), found.pattern().as_usize()))
            .filter(|(range, index)| self.places[*index].fits(text, range))
            .collect();
        all.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        let mut end = 0;
        all.retain(|(range, _)| {
            let is_free = range.start >= end;
            if is_free {
                end = range.end;
            }
            is_free
        });
        all
    }

    /// Replaces the private strings in a text, and the ports after addresses.
    pub fn replace(&self, text: &mut String) {
        let matches = self.matches(text);
        if matches.is_empty() {
            return;
        }
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for (range, index) in matches {
            let Some(replacement) = &self.list[index].replacement else {
                continue;
            };
            let range = with_port(text, range, self.list[index].kind);
            out.push_str(&text[from..range.start]);
            out.push_str(replacement);
            from = range.end;
        }
        out.push_str(&text[from..]);
        *text = out;
    }

    /// Returns the first string in a text that the list does not keep.
    pub fn first_private<'a>(&self, text: &'a str) -> Option<&'a str> {
        let mut matches = self.matches(text).into_iter();
        let private = matches.find(|(_, index)| self.list[*index].replacement.is_some());
        private.map(|(range, _)| &text[range])
    }

    /// Returns true if the user keeps this string.
    pub fn is_kept(&self, text: &str) -> bool {
        self.list
            .iter()
            .any(|one| one.replacement.is_none() && one.original.eq_ignore_ascii_case(text))
    }
}

/// Rule for the text around a match. A match that is a part of a longer name or number is another
/// name.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Neither a digit nor a dot may adjoin an IPv4 address, except a dot after it.
    Address,
    /// A longer path begins with the path of its folder.
    Path,
    Anywhere,
    Word,
}

impl Place {
    fn from_removal(removal: &Removal) -> Place {
        let original = &removal.original;
        if original.parse::<std::net::Ipv4Addr>().is_ok() {
            return Place::Address;
        }
        match removal.kind {
            PrivateKind::Path => Place::Path,
            PrivateKind::Text => Place::Anywhere,
            _ if is_distinct(original) => Place::Anywhere,
            _ => Place::Word,
        }
    }

    fn fits(self, text: &str, range: &Range<usize>) -> bool {
        let before = text[..range.start].chars().next_back();
        let after = text[range.end..].chars().next();
        let is = |c: Option<char>, test: &dyn Fn(char) -> bool| c.is_some_and(test);
        match self {
            Place::Address => {
                let is_number = |c: char| c.is_ascii_digit();
                !is(before, &|c| is_number(c) || c == '.') && !is(after, &is_number)
            }
            Place::Path => !is(after, &char::is_alphanumeric),
            Place::Anywhere => true,
            Place::Word => {
                !is(before, &char::is_alphanumeric) && !is(after, &char::is_alphanumeric)
            }
        }
    }
}

/// Returns true if a name is so long and so special that it cannot be a part of another word.
fn is_distinct(original: &str) -> bool {
    original.chars().count() >= CHARS_WITHIN_WORDS_MIN
        && original.chars().any(|c| !c.is_alphabetic())
        && original.chars().any(char::is_alphabetic)
        && !original.contains(':')
}

/// Extends the range of an address or a host over the brackets around it and the port after it.
fn with_port(text: &str, range: Range<usize>, kind: PrivateKind) -> Range<usize> {
    if ![PrivateKind::Address, PrivateKind::Host, PrivateKind::Node].contains(&kind) {
        return range;
    }
    let mut range = range;
    if text[..range.start].ends_with('[') && text[range.end..].starts_with(']') {
        range = range.start - 1..range.end + 1;
    }
    let Some(rest) = text[range.end..].strip_prefix(':') else {
        return range;
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if (1..=PORT_DIGITS_MAX).contains(&digits) {
        range.end += 1 + digits;
    }
    range
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::removals::Removals;

    fn replaced(file: &str, text: &str) -> String {
        let mut removals = Removals::default();
        removals.apply_file(file, &mut []).unwrap();
        let mut text = text.to_owned();
        Replacer::new(removals.list()).replace(&mut text);
        text
    }

    #[test]
    fn whole_names_are_replaced_and_parts_of_words_remain() {
        let file = "host\t0\tdb1\thost7\nhost\t0\tdb1.corp\thost8\nuser\t0\tann\tuser7\n\
                    address\t0\t10.0.0.1\tnode7\naddress\t0\tfe80::1\tnode8\n\
                    path\t0\t/Users/ann\tpath7\ncluster\t0\tacme-prod\tcluster7\n\
                    host\t0\tkept1.com\tkeep\n";
        for (text, expected) in [
            ("db1 and DB1.corp:9042, db12", "host7 and host8, db12"),
            ("annual plans of Ann", "annual plans of user7"),
            (
                "10.0.0.1:9042, 110.0.0.1, 10.0.0.11",
                "node7, 110.0.0.1, 10.0.0.11",
            ),
            ("[fe80::1]:9042 and fe80::1", "node8 and node8"),
            ("/Users/ann/x and /Users/anna", "path7/x and /Users/anna"),
            ("xacme-prody", "xcluster7y"),
            ("db1_x-ann", "host7_x-user7"),
            ("kept1.com", "kept1.com"),
        ] {
            assert_eq!(replaced(file, text), expected, "{text}");
        }
    }
}
