//! Measures several points. The sweep measures either all points, in any order, or rising points
//! until a condition occurs.

use super::{Answer, Decide, Next, Point, ProcedureEstimate, SeenTrial, Until, unseen};

/// Settings of a sweep, which measures several points once each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sweep {
    /// Points without duplicates, in rising order if `until` is set.
    pub points: Vec<Point>,
    /// Condition that can end the sweep before its last point.
    pub until: Option<Until>,
}

impl Decide for Sweep {
    fn outlook(&self) -> ProcedureEstimate {
        let decided_by = |until: Until| {
            let what = until.words();
            format!("For each variant, the sweep ends after the trial in which {what}")
        };
        ProcedureEstimate {
            points: self.points.clone(),
            certain: match self.until {
                Some(_) => self.points.len().min(1),
                None => self.points.len(),
            },
            turns_max: self.points.len(),
            up_to: None,
            any_order: self.until.is_none(),
            decided_by: self.until.map(decided_by),
        }
    }

    fn next(&self, seen: &[SeenTrial]) -> Next {
        let mut left = unseen(&self.points, seen);
        let Some(until) = self.until else {
            return if left.is_empty() {
                Next::Answer(Answer::Complete)
            } else {
                Next::Measure(left)
            };
        };
        let end = until.first_in(seen);
        left.retain(|ask| end.is_none_or(|end| ask.point.value() <= end.value()));
        left.truncate(1);
        match (left.is_empty(), end) {
            (false, _) => Next::Measure(left),
            (true, Some(at)) => Next::Answer(Answer::Ended { at, until }),
            (true, None) => Next::Answer(Answer::Complete),
        }
    }

    fn p99_bound_ms(&self) -> Option<f64> {
        match self.until {
            Some(Until::P99Ms(bound)) => Some(bound),
            _ => None,
        }
    }
}
