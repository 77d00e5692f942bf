//! A limit of a host, as a value with its unit. Limits are compared as values, and have only one
//! text form.

use std::fmt;
use std::time::Duration;

/// Limit of a host's disk, link, memory or volume. The text form is a whole number with its unit,
/// such as `100 per second`, `1000 bytes/s`, `1000 bit/s`, `1000000 ns` or `1024 bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A number of operations per second.
    PerSecond(u64),
    /// A number of bytes per second.
    BytesPerSecond(u64),
    /// A number of bits per second.
    BitsPerSecond(u64),
    /// A one-way delay.
    Delay(Duration),
    /// A size in bytes.
    Bytes(u64),
}

impl Limit {
    /// Returns the limit with this name and this number. The names are those of
    /// [`crate::DiskSpec::each`], `link_rate` (bit/s), `link_delay` (ns), `memory` and `volume`
    /// (bytes). `None` for any other name.
    pub fn from_number(name: &str, number: u64) -> Option<Limit> {
        Some(match name {
            "disk_read_iops" | "disk_write_iops" => Limit::PerSecond(number),
            "disk_read_rate" | "disk_write_rate" => Limit::BytesPerSecond(number),
            "link_rate" => Limit::BitsPerSecond(number),
            "link_delay" => Limit::Delay(Duration::from_nanos(number)),
            "memory" | "volume" => Limit::Bytes(number),
            _ => return None,
        })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::PerSecond(number) => write!(to, "{number} per second"),
            Limit::BytesPerSecond(number) => write!(to, "{number} bytes/s"),
            Limit::BitsPerSecond(number) => write!(to, "{number} bit/s"),
            Limit::Delay(delay) => write!(to, "{} ns", delay.as_nanos()),
            Limit::Bytes(number) => write!(to, "{number} bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DiskSpec;

    #[test]
    fn each_limit_of_a_host_has_its_unit() {
        let disk = DiskSpec::default().each().map(|(name, _)| name);
        let others = ["link_rate", "link_delay", "memory", "volume"];
        let words = disk.into_iter().chain(others).map(|name| {
            let limit = Limit::from_number(name, 1000).expect("a limit");
            limit.to_string()
        });
        assert_eq!(
            words.collect::<Vec<_>>(),
            [
                "1000 per second",
                "1000 per second",
                "1000 bytes/s",
                "1000 bytes/s",
                "1000 bit/s",
                "1000 ns",
                "1000 bytes",
                "1000 bytes",
            ]
        );
        assert_eq!(Limit::from_number("cpus", 1), None);
    }
}
