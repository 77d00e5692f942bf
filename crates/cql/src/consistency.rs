//! Consistency levels. A level determines how many replicas must answer before an operation counts
//! as done.
//!
//! Names and codes are those of section 3 of the protocol specification. The parser of names
//! ignores case and accepts `-` for `_`, because users write the names by hand in studies.

use std::fmt;
use std::str::FromStr;

/// A consistency level, including serial levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u16)]
pub enum Consistency {
    /// For writes only. A hint that the coordinator stores counts as an answer.
    Any = 0x0000,
    /// One replica.
    One = 0x0001,
    /// Two replicas.
    Two = 0x0002,
    /// Three replicas.
    Three = 0x0003,
    /// More than half of all replicas.
    Quorum = 0x0004,
    /// Every replica.
    All = 0x0005,
    /// More than half of the replicas in the coordinator's data center.
    LocalQuorum = 0x0006,
    /// More than half of the replicas in each data center.
    EachQuorum = 0x0007,
    /// Paxos over all data centers. This level is only valid as a serial consistency or for reads.
    Serial = 0x0008,
    /// Paxos within the coordinator's data center. This level is only valid as a serial consistency
    /// or for reads.
    LocalSerial = 0x0009,
    /// One replica in the coordinator's data center.
    LocalOne = 0x000A,
}

/// Error for a name or code that is not a consistency level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a consistency level; the levels are {names}", names = names())]
pub struct UnknownConsistency(pub String);

impl Consistency {
    /// Every level, in the order of the codes.
    pub const ALL_LEVELS: [Consistency; 11] = [
        Consistency::Any,
        Consistency::One,
        Consistency::Two,
        Consistency::Three,
        Consistency::Quorum,
        Consistency::All,
        Consistency::LocalQuorum,
        Consistency::EachQuorum,
        Consistency::Serial,
        Consistency::LocalSerial,
        Consistency::LocalOne,
    ];

    /// Returns the level's code in the protocol.
    #[inline]
    pub fn code(self) -> u16 {
        self as u16
    }

    /// Returns the level with this code in the protocol. Returns `None` for an unknown code.
    pub fn from_code(code: u16) -> Option<Consistency> {
        Self::ALL_LEVELS.get(usize::from(code)).copied()
    }

    /// Returns the level's name in upper case, as CQL and `cqlsh` write it.
    pub fn name(self) -> &'static str {
        match self {
            Consistency::Any => "ANY",
            Consistency::One => "ONE",
            Consistency::Two => "TWO",
            Consistency::Three => "THREE",
            Consistency::Quorum => "QUORUM",
            Consistency::All => "ALL",
            Consistency::LocalQuorum => "LOCAL_QUORUM",
            Consistency::EachQuorum => "EACH_QUORUM",
            Consistency::Serial => "SERIAL",
            Consistency::LocalSerial => "LOCAL_SERIAL",
            Consistency::LocalOne => "LOCAL_ONE",
        }
    }

    /// Returns true for SERIAL and LOCAL_SERIAL, which only lightweight transactions use.
    pub fn is_serial(self) -> bool {
        matches!(self, Consistency::Serial | Consistency::LocalSerial)
    }
}

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Consistency {
    type Err = UnknownConsistency;

    fn from_str(name: &str) -> Result<Consistency, UnknownConsistency> {
        let wanted = name.trim().replace('-', "_");
        Self::ALL_LEVELS
            .into_iter()
            .find(|level| level.name().eq_ignore_ascii_case(&wanted))
            .ok_or_else(|| UnknownConsistency(name.to_owned()))
    }
}

fn names() -> String {
    Consistency::ALL_LEVELS.map(Consistency::name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_survives_its_code_and_its_name() {
        for level in Consistency::ALL_LEVELS {
            assert_eq!(Consistency::from_code(level.code()), Some(level));
            assert_eq!(level.to_string().parse(), Ok(level));
            assert_eq!(
                level.name().to_lowercase().replace('_', "-").parse(),
                Ok(level)
            );
        }
        assert_eq!(Consistency::from_code(0x000B), None);
    }

    #[test]
    fn an_unknown_level_is_named_beside_the_known_ones() {
        let error = "QUORUMM".parse::<Consistency>().unwrap_err().to_string();
        assert!(
            error.starts_with("`QUORUMM` is not a consistency level"),
            "{error}"
        );
        assert!(error.contains("LOCAL_QUORUM"), "{error}");
    }
}
