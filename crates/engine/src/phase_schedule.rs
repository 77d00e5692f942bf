//! Decides when the warm-up ends, when the measured window begins, and when the window is complete.

use super::event_loop::Decision;
use analysis::warmup_end::{Steady, SteadyLimits, SteadyState};
use imports::StepLimit;
use imports::stress::Uncertainty;
use load::{Flow, Limit, Window};
use measure::SummedInterval;
use measure::clock::SECOND_NS;
use std::time::Duration;
use store::record::{WarmupEnd, WarmupRecord};
use study::plan::PhaseKind;
use study::settings::{Settings, Warmup};

/// Warm-up and measured window as a sequence of intervals.
pub struct PhaseSchedule {
    /// Number of intervals of a fixed warm-up. `None` if the warm-up ends when the target is in a
    /// steady state.
    pub warmup_count: Option<u64>,
    /// Length of the measured window, in ns. The length is a number of whole seconds, except for
    /// recorded traffic.
    pub measure_ns: u64,
    steady: Steady,
    /// Number of intervals in which the load still ramps up. Such an interval does not count as
    /// steady.
    rising: u64,
    /// True once the measured window has begun.
    pub measuring: bool,
    /// End of an automatic warm-up.
    pub ended: Option<SteadyState>,
    warmup_s: f64,
}

impl PhaseSchedule {
    /// Creates the schedule, which begins at the start line of a load. The load ramps up to its
    /// full rate in the time `rise`, which is part of the warm-up. `is_first` is true for the first
    /// load that is measured on these node processes.
    pub fn new(settings: &Settings, is_first: bool, rise: Duration) -> PhaseSchedule {
        let window = settings.window;
        let warmup = window.warmup_of(is_first);
        let rising = (rise.as_nanos() as u64).div_ceil(SECOND_NS);
        let warmup_count = match warmup {
            // The study accepts only whole seconds.
            Warmup::Fixed(ns) => Some(ns.div_ceil(SECOND_NS).max(rising)),
            Warmup::Auto(_) => None,
        };
        PhaseSchedule {
            warmup_count,
            measure_ns: window.measure_ns,
            steady: Steady::new(steady_limits(warmup)),
            rising,
            measuring: warmup_count == Some(0),
            ended: None,
            warmup_s: 0.0,
        }
    }

    /// Returns the window that decides which operations of the load are measured.
    pub fn window(&self) -> Window {
        match self.warmup_count {
            Some(count) => Window::After(Duration::from_secs(count)),
            None => Window::WhenTold,
        }
    }

    /// Returns the length of the window.
    pub fn measured(&self) -> Duration {
        Duration::from_nanos(self.measure_ns)
    }

    /// Returns the limit at which the load generator stops the load by itself.
    pub fn limit(&self) -> Limit {
        match self.warmup_count {
            Some(count) => Limit::Duration(Duration::from_secs(count) + self.measured()),
            None => Limit::Unlimited,
        }
    }

    /// Takes the next interval, returns the phase of the interval, and decides whether the load
    /// continues. The window begins one interval after the report of a steady state, so that the
    /// client receives the start of the window in advance.
    pub fn see(&mut self, summed: &SummedInterval) -> Decision {
        let interval = &summed.interval;
        if self.measuring {
            return Decision::go_on("measure", interval);
        }
        let mut decision = Decision::go_on("warmup", interval);
        if interval.draining {
            return decision;
        }
        self.warmup_s += interval.seconds();
        if interval.end_ns >= interval.window_from_ns {
            self.measuring = true;
            decision.next = Some(PhaseKind::Measure);
        } else if self.rising > 0 {
            self.rising -= 1;
        } else if self.warmup_count.is_none() && self.ended.is_none() {
            let steady = self.steady.push(summed.ok_per_s(), summed.p99_ms());
            if steady != SteadyState::Warming {
                self.ended = Some(steady);
                decision.flow = Flow::Measure(self.measure_ns.div_ceil(SECOND_NS));
            }
        }
        decision
    }

    /// Returns the record of the warm-up.
    pub fn warmup_record(&self) -> WarmupRecord {
        let steady = match (self.warmup_count, self.ended) {
            (Some(_), _) => WarmupEnd::Fixed,
            (None, Some(SteadyState::Detected)) => WarmupEnd::Detected,
            (None, Some(SteadyState::Forced)) => WarmupEnd::Forced,
            (None, Some(SteadyState::Warming) | None) => WarmupEnd::Warming,
        };
        WarmupRecord {
            seconds: self.warmup_s,
            steady,
        }
    }
}

/// A step of an imported command, as a sequence of intervals. If the step has a limit on operations
/// or time, the load generator ends it. Otherwise this type ends the step when the uncertainty of
/// its rate is small enough.
pub struct RecordedArrivals {
    limit: StepLimit,
    /// Standard error of the mean of operations per second, over whole intervals.
    uncertainty: Uncertainty,
}

impl RecordedArrivals {
    /// Begins the step at the start line.
    pub fn new(limit: StepLimit) -> RecordedArrivals {
        RecordedArrivals {
            limit,
            uncertainty: Uncertainty::default(),
        }
    }

    /// Returns the limit at which the load generator must stop the load by itself.
    pub fn limit(&self) -> Limit {
        match self.limit {
            StepLimit::Operations(count) => Limit::Operations(count),
            StepLimit::Either(count, length) => Limit::Either(count, length),
            StepLimit::Duration(length) => Limit::Duration(length),
            StepLimit::Uncertainty { .. } => Limit::Unlimited,
        }
    }

    /// Takes the next interval, and decides whether the load continues.
    pub fn see(&mut self, summed: &SummedInterval) -> Decision {
        let mut decision = Decision::go_on("measure", &summed.interval);
        if let StepLimit::Uncertainty { target, min, max } = self.limit
            && !summed.interval.draining
        {
            self.uncertainty.add(summed.ok_per_s());
            if self.uncertainty.reached(target, min, max) {
                decision.flow = Flow::StopNow;
            }
        }
        decision
    }
}

/// Returns the limits of the steady-state detector. The second in which the detector reports still
/// belongs to the warm-up, and counts towards the limit of the warm-up. If the limit were too short
/// for a report, every warm-up would end at its limit instead of in a steady state.
fn steady_limits(warmup: Warmup) -> SteadyLimits {
    let max_s = match warmup {
        Warmup::Auto(ns) => ((ns / SECOND_NS) as usize).saturating_sub(1).max(1),
        Warmup::Fixed(_) => 0,
    };
    SteadyLimits {
        max_s,
        ..SteadyLimits::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{Interval, KindInterval, Outcome};
    use study::resolve::resolve;
    use study::settings::Overrides;

    fn settings(window: &str) -> Settings {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{local: {{}}}}\n\
             workload: {{use: standard1, mix: {{write: 1}}}}\n\
             procedure: {{fixed: {{threads: 4}}}}\nwindow: {window}\n"
        );
        let study = resolve("s", &text, &Overrides::default()).unwrap();
        study.variants.into_iter().next().unwrap().settings
    }

    fn summed(interval: Interval) -> SummedInterval {
        SummedInterval::new(interval.into())
    }

    fn interval(index: u64, ok: u64) -> Interval {
        let mut kind = KindInterval::default();
        kind.succeed(true, 1_000_000, 1_000_000, ok);
        Interval::second(index, vec![kind])
    }

    /// Returns the phases of intervals with the given numbers of operations, and the decision to
    /// measure. The decision is the index of its interval, and the length of the window in seconds.
    fn phases(window: &str, operations: &[u64]) -> (Vec<&'static str>, Option<(usize, u64)>) {
        let mut course = PhaseSchedule::new(&settings(window), false, Duration::ZERO);
        let mut from_ns = match course.window() {
            Window::After(warmup) => warmup.as_nanos() as u64,
            Window::Whole | Window::WhenTold => u64::MAX,
        };
        let mut told = None;
        let mut phases = Vec::new();
        for (index, ok) in operations.iter().enumerate() {
            let mut interval = interval(index as u64, *ok);
            interval.window_from_ns = from_ns;
            let end_ns = interval.end_ns;
            let decision = course.see(&summed(interval));
            phases.push(decision.phase);
            if let Flow::Measure(count) = decision.flow {
                told = Some((index, count));
                from_ns = end_ns + SECOND_NS;
            }
        }
        (phases, told)
    }

    #[test]
    fn a_fixed_warm_up_ends_after_its_intervals() {
        let (phases, told) = phases("{warmup: 2s, measure: 3s}", &[10; 5]);
        assert_eq!(
            phases,
            ["warmup", "warmup", "measure", "measure", "measure"]
        );
        assert_eq!(told, None, "the engine knows the schedule from the start");
    }

    #[test]
    fn without_warm_up_the_first_interval_counts() {
        assert_eq!(phases("{warmup: 0s, measure: 1s}", &[10]).0, ["measure"]);
    }

    #[test]
    fn the_first_load_on_new_processes_warms_them_for_longer() {
        let count = |window, is_first| {
            PhaseSchedule::new(&settings(window), is_first, Duration::ZERO).warmup_count
        };
        let fixed = "{warmup: 2s, first_warmup: 30s, measure: 3s}";
        assert_eq!(
            (count(fixed, true), count(fixed, false)),
            (Some(30), Some(2))
        );
        let auto = "{warmup: auto, first_warmup: 30s, measure: 3s}";
        assert_eq!((count(auto, true), count(auto, false)), (Some(30), None));
        let shorter = "{warmup: 5s, first_warmup: 1s, measure: 3s}";
        assert_eq!(count(shorter, true), Some(5));
        assert_eq!(count("{warmup: 2s, measure: 3s}", true), Some(2));
    }

    /// Intervals in which the load still ramps up do not have the load that the study measures.
    #[test]
    fn a_load_that_rises_is_warmed_up_no_sooner_than_it_has_risen() {
        let rise = Duration::from_millis(2500);
        let fixed = |window| PhaseSchedule::new(&settings(window), false, rise).warmup_count;
        assert_eq!(fixed("{warmup: 0s, measure: 3s}"), Some(3));
        assert_eq!(fixed("{warmup: 5s, measure: 3s}"), Some(5));
        let mut course = PhaseSchedule::new(&settings("{measure: 3s}"), false, rise);
        let mut seen = 0;
        while course.ended.is_none() {
            let mut interval = interval(seen, 1000);
            interval.window_from_ns = u64::MAX;
            course.see(&summed(interval));
            seen += 1;
        }
        assert_eq!(seen, 3 + 10, "three seconds more than without");
    }

    #[test]
    fn an_auto_warm_up_ends_when_steady_before_the_whole_window() {
        let (phases, told) = phases("{measure: 4s}", &[10; 13]);
        assert_eq!(
            phases[..11],
            ["warmup"; 11],
            "the second of the word is one"
        );
        assert_eq!(phases[11..], ["measure"; 2]);
        assert_eq!(told, Some((9, 4)));
    }

    #[test]
    fn a_step_ends_at_the_wanted_precision_or_at_its_longest() {
        let limit = StepLimit::Uncertainty {
            target: 0.02,
            min: 3,
            max: 6,
        };
        let stops_at = |rates: &[u64]| {
            let mut course = RecordedArrivals::new(limit);
            let flows = rates.iter().enumerate();
            let mut flows =
                flows.map(|(index, ok)| course.see(&summed(interval(index as u64, *ok))).flow);
            flows.position(|flow| matches!(flow, Flow::StopNow))
        };
        assert_eq!(
            stops_at(&[100; 8]),
            Some(2),
            "no spread: the fewest intervals"
        );
        assert_eq!(
            stops_at(&[1, 100, 1, 100, 1, 100, 1]),
            Some(5),
            "never sure"
        );
    }

    /// The step must end by the standard error that the tool prints. An earlier version of cassay
    /// computed a value that was larger by √(n / (n - 1)) for n intervals. So the step did not end
    /// although the printed value was below the target.
    #[test]
    fn a_step_ends_by_the_standard_error_that_is_printed() {
        let limit = StepLimit::Uncertainty {
            target: 0.052,
            min: 2,
            max: 200,
        };
        let mut course = RecordedArrivals::new(limit);
        // The mean is 100 and the standard deviation is 10, so the relative standard error after
        // four intervals is 0.1 / sqrt(4) = 0.050. The earlier formula would return 0.058.
        let rates = [90, 110, 90, 110, 90, 110].into_iter().enumerate();
        let mut flows =
            rates.map(|(index, ok)| course.see(&summed(interval(index as u64, ok))).flow);
        let stops_at = flows.position(|flow| matches!(flow, Flow::StopNow));
        assert_eq!(stops_at, Some(3));
    }

    /// The statements of a read-modify-write are parts of one operation. If they counted as
    /// operations, the rate would be too high, and a steady rate would look unsteady.
    #[test]
    fn the_rate_of_a_step_leaves_parts_out() {
        let limit = StepLimit::Uncertainty {
            target: 0.02,
            min: 3,
            max: 6,
        };
        let mut course = RecordedArrivals::new(limit);
        let flows = [5, 500, 50].map(|parts| {
            let mut interval = interval(0, 100);
            interval.kinds.push(KindInterval::default());
            interval.kinds[1].is_part = true;
            interval.kinds[1].outcomes.add_many(Outcome::Ok, parts);
            course.see(&summed(interval)).flow
        });
        assert!(matches!(flows[2], Flow::StopNow), "{:?}", flows[2]);
        let mut steady = Uncertainty::default();
        (0..3).for_each(|_| steady.add(100.0));
        assert_eq!(course.uncertainty, steady);
    }

    /// If the limit of the warm-up was five seconds, an earlier version reported a steady state
    /// after only four equal seconds.
    #[test]
    fn no_steady_state_is_seen_in_less_time_than_it_takes() {
        for (limit, ended_after, how) in [(5, 4, WarmupEnd::Forced), (30, 10, WarmupEnd::Detected)]
        {
            let window = format!("{{warmup_max: {limit}s}}");
            let mut course = PhaseSchedule::new(&settings(&window), false, Duration::ZERO);
            let mut index = 0;
            while course.ended.is_none() {
                let mut interval = interval(index, 1000);
                interval.window_from_ns = u64::MAX;
                course.see(&summed(interval));
                index += 1;
            }
            assert_eq!((index, course.warmup_record().steady), (ended_after, how));
        }
    }

    #[test]
    fn an_auto_warm_up_that_never_calms_is_forced_at_its_limit() {
        let mut course = PhaseSchedule::new(&settings("{warmup_max: 3s}"), false, Duration::ZERO);
        let mut flows = Vec::new();
        for index in 0..2 {
            let mut interval = interval(index, 0);
            interval.window_from_ns = u64::MAX;
            flows.push(course.see(&summed(interval)).flow);
        }
        // The third second is the last second of the warm-up that the limit permits. So the
        // detector must report at the end of the second one.
        assert_eq!(flows, [Flow::Continue, Flow::Measure(60)]);
        assert_eq!(course.warmup_record().steady, WarmupEnd::Forced);
    }
}
