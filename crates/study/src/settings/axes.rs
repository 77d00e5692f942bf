//! The quantities that a study varies: the axes of its matrix, and the units of a scale-up.

use topology::Units;

/// An axis of a matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Name of the axis.
    pub name: String,
    /// Names of the values of the axis. The first value is the baseline for the others.
    pub values: Vec<String>,
    /// The whole axis in the form of one line.
    pub text: String,
}

/// Settings of a scale-up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScaleUp {
    /// Unit into which the machine is divided.
    pub units: Option<Units>,
    /// Number of units for each value of the axis.
    pub counts: Vec<u32>,
    /// True if each unit has its own node.
    pub per_unit: bool,
    /// Only results with a p99 up to this bound count, in ms.
    pub p99_bound_ms: Option<f64>,
}
