//! Versions of the native protocol, and their important differences.
//!
//! In version 3, a server does not describe the partition key of a prepared statement. In version
//! 5, flags have 4 bytes instead of one, and EXECUTE contains the id of the result metadata. Also,
//! a server gives the reason of each failed replica. Both ends also wrap all frames after the
//! answer to STARTUP in [segments](crate::segment).

use std::fmt;

/// A supported version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Version {
    /// Cassandra 2.1 and later.
    V3 = 3,
    /// Cassandra 2.2 and later. cassay uses this version wherever a server offers it, since version
    /// 5 costs a checksum per message.
    #[default]
    V4 = 4,
    /// Cassandra 4.0 and later.
    V5 = 5,
}

impl Version {
    /// All versions, in the order in which cassay tries them.
    pub const ALL: [Version; 3] = [Version::V4, Version::V5, Version::V3];

    /// Returns the number of the version, which is its byte in requests.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// Returns the version with this number. Returns `None` if cassay does not support it.
    pub fn from_number(number: u8) -> Option<Version> {
        Version::ALL.into_iter().find(|version| version.number() == number)
    }

    /// Returns true if segments wrap the frames after the answer to STARTUP.
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
    fn version_four_is_tried_first_and_each_has_its_number() {
        assert_eq!(Version::ALL[0], Version::default());
        for version in Version::ALL {
            assert_eq!(Version::from_number(version.number()), Some(version));
        }
        assert_eq!(Version::from_number(6), None);
        assert_eq!(Version::from_number(0x42), None);
    }
}
