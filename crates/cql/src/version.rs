//! Versions of the native protocol, and how they differ in what is spoken here.
//!
//! Version 3 describes no partition key of a prepared statement. Version 5 has flags of 4 bytes
//! where there was one, names the metadata of a statement's rows when it is executed, says why each
//! replica has failed, and wraps all frames after the answer to STARTUP in
//! [segments](crate::segment).

use std::fmt;

/// A version that is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Version {
    /// Of Cassandra 2.1 and later.
    V3 = 3,
    /// Of Cassandra 2.2 and later. It is taken wherever it is offered, since version 5 costs a
    /// checksum per message.
    #[default]
    V4 = 4,
    /// Of Cassandra 4.0 and later.
    V5 = 5,
}

impl Version {
    /// All of them, in the order in which a server is asked for them.
    pub const ALL: [Version; 3] = [Version::V4, Version::V5, Version::V3];

    /// Its number, which is its byte in requests.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// That of a number; `None` if it is not spoken.
    pub fn of_number(number: u8) -> Option<Version> {
        Version::ALL.into_iter().find(|version| version.number() == number)
    }

    /// Whether frames after the answer to STARTUP are wrapped in segments.
    pub fn has_segments(self) -> bool {
        self >= Version::V5
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_four_is_asked_for_first_and_each_is_found_by_its_number() {
        assert_eq!(Version::ALL[0], Version::default());
        for version in Version::ALL {
            assert_eq!(Version::of_number(version.number()), Some(version));
        }
        assert_eq!(Version::of_number(6), None);
        assert_eq!(Version::of_number(0x42), None);
    }
}
