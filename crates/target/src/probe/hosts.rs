//! The machine and the stand-in hosts on it.

mod pressure;

use super::{Look, Out};
use anyhow::Result;
use pressure::Pressure;
use std::path::Path;

/// Place of the readings of the whole machine.
const MACHINE: &str = "machine";

/// All of this machine.
pub(crate) struct Machine {
    pressure: Pressure,
}

impl Machine {
    /// Opens what there is.
    pub fn open() -> Machine {
        Machine {
            pressure: Pressure::open(MACHINE, Path::new("/proc/pressure"), ""),
        }
    }
}

impl Look for Machine {
    fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        self.pressure.look(now_ns, out)
    }
}
