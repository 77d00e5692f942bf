//! Selects the operations of a scenario line: `phase:main,type:read`, `block:main.*`,
//! `any(block:a,block:b)`. A value is a regular expression that must match the whole value of the
//! tag.

use regex_lite::Regex;

#[derive(Clone, Debug)]
pub(crate) struct Filter {
    conjugate: Conjugate,
    /// Conditions, each with a tag and the pattern of its value. The pattern is `None` if any value
    /// matches.
    conditions: Vec<(String, Option<Regex>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conjugate {
    All,
    Any,
    None,
}

impl Filter {
    /// Parses a filter. The empty filter selects all operations.
    pub(crate) fn parse(text: &str) -> Result<Filter, String> {
        let (conjugate, text) = conjugate(text.trim());
        let mut conditions = Vec::new();
        for part in text.split([',', ' ']).filter(|part| !part.is_empty()) {
            let condition = match part.split_once([':', '=']) {
                None => (part.to_owned(), None),
                Some((tag, pattern)) => {
                    let pattern = pattern.trim_matches(['\'', '"']);
                    let whole = Regex::new(&format!("^(?:{pattern})$")).map_err(|_| {
                        format!(
                            "cassay does not understand the regular expression `{pattern}` of the \
                             tag"
                        )
                    })?;
                    (tag.to_owned(), Some(whole))
                }
            };
            conditions.push(condition);
        }
        Ok(Filter {
            conjugate,
            conditions,
        })
    }

    /// Returns true if the filter selects operations with these tags. If several levels of the file
    /// set a tag, the tag has several values.
    pub(crate) fn matches(&self, tags: &[(String, String)]) -> bool {
        let is = |key: &str, whole: &Option<Regex>| {
            let mut values = tags.iter().filter(|(tag, _)| tag == key);
            values.any(|(_, value)| whole.as_ref().is_none_or(|whole| whole.is_match(value)))
        };
        // Some files write `blocks:` instead of `block:`, so the code accepts both.
        let holds = |(key, whole): &&(String, Option<Regex>)| {
            is(key, whole) || key.strip_suffix('s').is_some_and(|key| is(key, whole))
        };
        let held = self.conditions.iter().filter(holds).count();
        match self.conjugate {
            Conjugate::All => held == self.conditions.len(),
            Conjugate::Any => held > 0,
            Conjugate::None => held == 0,
        }
    }
}

/// Splits `any(…)`, `all(…)` and `none(…)` into the word and the content of the parentheses.
fn conjugate(text: &str) -> (Conjugate, &str) {
    for (name, conjugate) in [
        ("all(", Conjugate::All),
        ("any(", Conjugate::Any),
        ("none(", Conjugate::None),
    ] {
        if let Some(inner) = text.strip_prefix(name).and_then(|t| t.strip_suffix(')')) {
            return (conjugate, inner);
        }
    }
    (Conjugate::All, text)
}

#[cfg(test)]
mod tests {
    use super::Filter;

    #[test]
    fn a_filter_chooses_by_whole_values_and_regular_expressions() {
        let tags = [("block", "main_read"), ("type", "read")]
            .map(|(tag, value)| (tag.to_owned(), value.to_owned()));
        for (filter, expected) in [
            ("", true),
            ("block:main_read", true),
            ("block:main", false),
            ("block:main.*", true),
            ("block:main-*.*", true),
            ("block:main-.*", false),
            ("block:'main_(read|write)'", true),
            ("block=main.*,type:write", false),
            ("block:main.*, type:read", true),
            ("blocks:main.*", true),
            ("type", true),
            ("phase", false),
            ("any(type:write,block:main.*)", true),
            ("none(type:write,block:rampup)", true),
            ("none(type:read)", false),
        ] {
            let filter_ = Filter::parse(filter).unwrap();
            assert_eq!(filter_.matches(&tags), expected, "{filter}");
        }
    }

    #[test]
    fn an_invalid_regular_expression_is_refused() {
        assert!(Filter::parse("block:(main").unwrap_err().contains("(main"));
    }
}
