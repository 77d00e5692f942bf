//! A figure that is known exactly, or of which only a lower bound is known.
//!
//! Invariant: a lower bound is never mistaken for the figure. So the type has no order and no
//! arithmetic. A comparison with a limit has no result if the lower bound does not decide it. A
//! caller gets a plain number only by explicitly requesting the lower bound.

/// A figure, or a lower bound of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Known {
    /// The exact figure is known.
    Exactly(f64),
    AtLeast(f64),
}

impl Known {
    /// Returns the lower bound, or the figure itself if it is known. To display the number, write
    /// [`Known::sign`] before it.
    pub fn least(self) -> f64 {
        match self {
            Known::Exactly(value) | Known::AtLeast(value) => value,
        }
    }

    /// Returns true if only a lower bound of the figure is known.
    pub fn is_at_least(self) -> bool {
        matches!(self, Known::AtLeast(_))
    }

    /// Returns the prefix of the number, which is `≥ ` for a lower bound.
    pub fn sign(self) -> &'static str {
        match self {
            Known::Exactly(_) => "",
            Known::AtLeast(_) => "≥ ",
        }
    }

    /// Returns true if the figure is above `limit`. A lower bound above the limit is sufficient for
    /// this. For a lower bound that is not above the limit, returns `None`.
    pub fn is_above(self, limit: f64) -> Option<bool> {
        match self {
            Known::Exactly(value) => Some(value > limit),
            Known::AtLeast(value) => (value > limit).then_some(true),
        }
    }

    /// Converts the figure or its lower bound to another unit.
    #[must_use]
    pub fn divided_by(self, divisor: f64) -> Known {
        match self {
            Known::Exactly(value) => Known::Exactly(value / divisor),
            Known::AtLeast(value) => Known::AtLeast(value / divisor),
        }
    }
}

impl Default for Known {
    fn default() -> Self {
        Known::Exactly(0.0)
    }
}

impl From<f64> for Known {
    fn from(value: f64) -> Known {
        Known::Exactly(value)
    }
}

#[cfg(test)]
mod tests {
    use super::Known::{AtLeast, Exactly};

    #[test]
    fn a_lower_bound_fails_a_limit_for_certain_and_never_keeps_it() {
        for (figure, expected) in [
            (Exactly(9.9), Some(false)),
            (Exactly(10.0), Some(false)),
            (Exactly(10.1), Some(true)),
            (AtLeast(9.9), None),
            (AtLeast(10.0), None),
            (AtLeast(10.1), Some(true)),
        ] {
            assert_eq!(figure.is_above(10.0), expected, "{figure:?}");
        }
    }

    #[test]
    fn a_bound_stays_one_in_every_unit_and_says_so() {
        assert_eq!(AtLeast(3e6).divided_by(1e6), AtLeast(3.0));
        assert_eq!((AtLeast(3.0).sign(), Exactly(3.0).sign()), ("≥ ", ""));
        assert_eq!((AtLeast(3.0).least(), Exactly(3.0).least()), (3.0, 3.0));
    }
}
