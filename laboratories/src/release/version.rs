//! Versions of releases, which consist of three numbers.

use std::fmt;
use std::str::FromStr;

/// A version of a release. A version with a suffix (`1.0.0-rc.1`) is not accepted, because each
/// kind of package orders these versions differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    major: u32,
    minor: u32,
    patch: u32,
}

impl Version {
    /// Returns the name of the git tag of the version.
    pub fn tag(self) -> String {
        format!("v{self}")
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Version, String> {
        let number = |part: &str| -> Option<u32> {
            let number = part.parse::<u32>().ok()?;
            // A sign or a leading zero is refused, so that each version has only one spelling.
            (number.to_string() == part).then_some(number)
        };
        let numbers: Option<Vec<u32>> = text.split('.').map(number).collect();
        match numbers.as_deref() {
            Some(&[major, minor, patch]) => Ok(Version {
                major,
                minor,
                patch,
            }),
            _ => Err(format!(
                "{text:?} is not a version; it is three numbers, such as 0.2.0"
            )),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_three_numbers_and_ordered_by_them() {
        let read = |text: &str| text.parse::<Version>();
        assert_eq!(read("0.10.2").unwrap().to_string(), "0.10.2");
        assert_eq!(read("0.10.2").unwrap().tag(), "v0.10.2");
        assert!(read("0.9.12").unwrap() < read("0.10.0").unwrap());
        assert!(read("1.0.0").unwrap() > read("0.99.99").unwrap());
        for bad in [
            "",
            "1",
            "1.2",
            "1.2.3.4",
            "v1.2.3",
            "1.2.3-rc.1",
            "1.02.3",
            "1.+2.3",
            "1.2.x",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
