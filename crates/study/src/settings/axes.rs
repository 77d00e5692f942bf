//! What a study varies: the axes of its matrix, and the units of a scale-up.

use topology::Units;

/// An axis of a matrix: its name, and those of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// The names of its values, the first of which the others are compared with.
    pub values: Vec<String>,
    /// All of it, as it would be written on one line.
    pub text: String,
}

/// What a study asks of a scale-up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScaleUp {
    /// What the machine is cut into.
    pub units: Option<Units>,
    /// How many of them, by value of the axis.
    pub counts: Vec<u32>,
    /// Whether there is a node for each of them.
    pub per_unit: bool,
    /// Only what is done within this p99 counts, ms.
    pub p99_bound_ms: Option<f64>,
}
