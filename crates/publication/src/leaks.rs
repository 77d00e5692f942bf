//! Searches written files for private strings. The search does not depend on the replacement: it
//! reads the files, and decodes all their texts.

use crate::decoded_texts::{self, Encoding};
use crate::patterns;
use crate::replacer::Replacer;
use std::fmt;

/// Maximum number of characters of a string that a message quotes.
const QUOTED_CHARS_MAX: usize = 80;

/// A private string in a written file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    pub file: String,
    pub text: String,
    encoding: Encoding,
}

impl fmt::Display for Leak {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted: String = self.text.chars().take(QUOTED_CHARS_MAX).collect();
        write!(
            to,
            "{} contains {quoted:?} {}",
            self.file,
            self.encoding.words()
        )
    }
}

/// Returns the private strings and the addresses in a file, without those that the user keeps.
/// `fixed_parts` contains texts that are the same in all files of this kind.
pub fn find_leaks(
    file: &str,
    bytes: &[u8],
    fixed_parts: &[String],
    replacer: &Replacer<'_>,
) -> Vec<Leak> {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    for part in fixed_parts {
        text = text.replace(part.as_str(), " ");
    }
    let is_markup = [".html", ".svg"].iter().any(|extension| file.ends_with(extension));
    let mut leaks: Vec<Leak> = Vec::new();
    decoded_texts::for_each(&text, is_markup, &mut |text, encoding| {
        let is_private = |address: &&str| !replacer.is_kept(address);
        let addresses = patterns::addresses(text).into_iter().filter(is_private);
        for found in replacer.first_private(text).into_iter().chain(addresses) {
            if leaks.iter().all(|leak| leak.text != found) {
                leaks.push(Leak {
                    file: file.to_owned(),
                    text: found.to_owned(),
                    encoding,
                });
            }
        }
    });
    leaks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::removals::Removals;

    #[test]
    fn listed_strings_and_any_address_are_leaks() {
        let mut removals = Removals::default();
        let file = "host\t0\tdb1\thost1\naddress\t0\t10.0.0.9\tkeep\nhost\t0\tdb2\tkeep\n";
        removals.apply_file(file, &mut []).unwrap();
        let replacer = Replacer::new(removals.list());
        let fixed = ["body{db1}".to_owned()];
        let leaks = |text: &str| {
            let found = find_leaks("index.html", text.as_bytes(), &fixed, &replacer);
            found.iter().map(Leak::to_string).collect::<Vec<String>>()
        };
        let clean = "<style>body{db1}</style><p class=\"db1\">node1, db2 at 10.0.0.9:9042</p>";
        assert_eq!(leaks(clean), Vec::<String>::new());
        assert_eq!(
            leaks("<p>d&#98;1 and 192.0.2.1</p>"),
            [
                "index.html contains \"192.0.2.1\" as plain text",
                "index.html contains \"db1\" in HTML escapes",
            ]
        );
    }
}
