//! The quantities that a study varies: the axes of its matrix, and the units of a scale-up.

use serde_json::Value;
use topology::Units;

/// An axis of a matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    pub name: String,
    /// Names of the values of the axis. The first value is the baseline for the other values.
    pub values: Vec<String>,
    /// Text of the whole axis, on one line.
    pub text: String,
    /// Partial study of each value.
    pub settings: Vec<Value>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScaleUp {
    /// Unit into which the machine is divided.
    pub units: Option<Units>,
    /// Number of units at each value of the axis.
    pub counts: Vec<u32>,
    /// True if one node runs on each unit.
    pub per_unit: bool,
    /// Upper bound of p99, in ms. Only results within this bound count. `None` if the study has no
    /// bound.
    pub p99_bound_ms: Option<f64>,
}
