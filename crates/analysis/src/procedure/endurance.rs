//! One point for hours, preceded by shorter windows at the same point.
//!
//! Invariant: the turns come in order, each once, regardless of their results. So the long window
//! always follows the shorter windows, and is the last.

use super::{Answer, Ask, Decide, Next, Point, ProcedureEstimate, Role, SeenTrial};

/// One point for hours.
#[derive(Clone, Debug, PartialEq)]
pub struct Endurance {
    /// Load of the point.
    pub point: Point,
    /// Length of the long window, ns.
    pub for_ns: u64,
    /// Lengths of the shorter windows, in their order, ns; at most [`Endurance::BESIDE_MAX`].
    pub beside_ns: Vec<u64>,
    /// Share within which two throughputs count as equal, for the long window and the shorter
    /// windows.
    pub within: f64,
}

impl Endurance {
    /// Maximum number of shorter windows. More of them would be a separate study.
    pub const BESIDE_MAX: usize = 8;

    /// Returns the role of each turn, in order.
    fn roles(&self) -> impl Iterator<Item = Role> {
        let beside = (0..self.beside_ns.len()).map(|number| Role::Beside(number as u8));
        beside.chain([Role::Endurance])
    }
}

impl Decide for Endurance {
    fn outlook(&self) -> ProcedureEstimate {
        let turns = self.roles().count();
        ProcedureEstimate {
            points: vec![self.point; turns],
            certain: turns,
            turns_max: turns,
            up_to: None,
            any_order: false,
            decided_by: None,
        }
    }

    fn next(&self, seen: &[SeenTrial]) -> Next {
        let is_new = |role: &Role| !seen.iter().any(|trial| trial.role == *role);
        match self.roles().find(is_new) {
            Some(role) => {
                let point = self.point;
                Next::Measure(vec![Ask { point, role }])
            }
            None => Next::Answer(Answer::Complete),
        }
    }

    fn role(&self, turn: usize) -> Role {
        self.roles().nth(turn).unwrap_or_default()
    }

    fn window_ns(&self, role: Role, _measure_ns: u64) -> u64 {
        match role {
            Role::Beside(number) => {
                let beside = self.beside_ns.get(usize::from(number));
                beside.copied().unwrap_or(self.for_ns)
            }
            _ => self.for_ns,
        }
    }
}
