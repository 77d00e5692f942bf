//! Measures one point once, regardless of the result.

use super::{Answer, Decide, Next, Point, ProcedureEstimate, SeenTrial, unseen};

/// Settings of a measurement of one point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedPoint(pub Point);

impl Decide for FixedPoint {
    fn outlook(&self) -> ProcedureEstimate {
        ProcedureEstimate {
            points: vec![self.0],
            certain: 1,
            turns_max: 1,
            up_to: None,
            any_order: true,
            decided_by: None,
        }
    }

    fn next(&self, seen: &[SeenTrial]) -> Next {
        match unseen(&[self.0], seen) {
            left if left.is_empty() => Next::Answer(Answer::Complete),
            left => Next::Measure(left),
        }
    }
}
