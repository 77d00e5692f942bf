//! Names of variants, which are the configurations that a comparison compares.

use serde::{Deserialize, Serialize};
use std::fmt;

const NONE: &str = "-";

/// Name of a variant. If a study has only one variant, the variant has no name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct VariantName(Option<String>);

impl VariantName {
    /// Returns the name of the variant, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Returns true if the variant has no name.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the text that represents the name in files. The text is `-` if the variant has no
    /// name.
    pub fn as_str(&self) -> &str {
        self.name().unwrap_or(NONE)
    }
}

impl From<String> for VariantName {
    fn from(text: String) -> VariantName {
        VariantName(Some(text).filter(|text| !matches!(text.as_str(), NONE | "")))
    }
}

impl From<&str> for VariantName {
    fn from(text: &str) -> VariantName {
        text.to_owned().into()
    }
}

impl From<VariantName> for String {
    fn from(name: VariantName) -> String {
        name.as_str().to_owned()
    }
}

impl fmt::Display for VariantName {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dash_and_nothing_are_no_name() {
        for text in ["-", ""] {
            let name = VariantName::from(text);
            assert_eq!((name.name(), name.as_str()), (None, "-"));
        }
        let name = VariantName::from("large");
        assert_eq!((name.name(), name.as_str()), (Some("large"), "large"));
    }
}
