//! Measures one point for hours, after shorter windows at the same point.
//!
//! Invariant: each window is measured once, in order, regardless of the results. So the long window
//! always comes last, after the shorter windows.

use super::{Answer, Ask, Decide, Next, Point, ProcedureEstimate, Role, SeenTrial};

/// Settings of a measurement of one point for hours.
#[derive(Clone, Debug, PartialEq)]
pub struct Endurance {
    /// Load of the long window and of the shorter windows.
    pub point: Point,
    /// Length of the long window, in ns.
    pub for_ns: u64,
    /// Lengths of the shorter windows in the order in which they run, in ns; at most
    /// [`Endurance::BESIDE_MAX`] windows.
    pub beside_ns: Vec<u64>,
    /// Share by which the throughputs of the long window and the shorter windows may differ and
    /// still count as equal.
    pub within: f64,
}

impl Endurance {
    /// Maximum number of shorter windows. More windows are the task of a separate study.
    pub const BESIDE_MAX: usize = 8;

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
