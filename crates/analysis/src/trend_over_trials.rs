//! Finds a trend over all trials of a run, in the order in which the trials ran. Such a trend
//! shows, for example, that a node warms up for the whole run, or becomes slower with every trial.
//!
//! Trials are compared only with trials of the same variant at the same load. So neither a variant
//! nor a load looks like a trend. The test is Kendall's, summed over the configurations. Hirsch,
//! Slack and Smith sum it over months (1982, "Techniques of trend analysis for monthly water
//! quality data"). The test uses the exact distribution of the sum, because a run has few trials of
//! each configuration. With two configurations of three trials each, chance alone makes all results
//! rise in 1 of 36 cases.

use crate::autocorrelation;

/// One trial of a run, as input of the test for a trend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunStep {
    /// Number that identifies the configuration of the trial. Only trials with the same number are
    /// compared.
    pub configuration: usize,
    /// Time at which the trial ran, in seconds since an arbitrary moment.
    pub at_s: f64,
    /// Result of the trial, which must be above 0.
    pub value: f64,
}

/// Trend of the trials' results over a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunTrend {
    /// Ratio of the results at the end of the run to the results at its beginning.
    pub factor: f64,
    /// Result of the first trial, and result of the last trial.
    pub ends: [f64; 2],
    /// Probability that chance alone causes a trend at least as clear, in either direction.
    pub p: f64,
    /// Time after the first trial from which all results are within [`LAST_RESULT_FACTOR`] of the
    /// last result of their configuration, in seconds. `None` if, for any configuration, this is
    /// true only of the last result.
    pub arrived_s: Option<f64>,
}

/// Two-sided level of the test. The level is loose, because naming a false cause costs less than
/// missing a true cause. See [`crate::trend`].
const P_MAX: f64 = 0.10;
/// Minimum factor of a reported trend, up or down. It corresponds to the drift that rule V12 allows
/// within one window.
const FACTOR_MIN: f64 = 1.10;
/// Factor within which a result counts as equal to the last result of its configuration.
const LAST_RESULT_FACTOR: f64 = 1.10;
/// Number of trials of one configuration above which the normal distribution replaces the exact
/// distribution.
const EXACT_MAX: usize = 40;

impl RunTrend {
    /// Returns the trend of a run. Returns `None` if the trend may be due to chance, or if it is
    /// too small to be important.
    pub fn from_steps(steps: &[RunStep]) -> Option<RunTrend> {
        let mut ordered: Vec<RunStep> =
            steps.iter().copied().filter(|step| step.value > 0.0).collect();
        ordered.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        let (first, last) = (ordered.first()?, ordered.last()?);
        let groups = by_configuration(&ordered);
        let slope = slope_of_logs(&groups)?;
        let factor = (slope * (last.at_s - first.at_s)).exp();
        let p = p_of_sum(&groups);
        let matters = factor.max(1.0 / factor) >= FACTOR_MIN;
        (matters && p <= P_MAX).then_some(RunTrend {
            factor,
            ends: [first.value, last.value],
            p,
            arrived_s: arrived_s(&groups, first.at_s, factor > 1.0),
        })
    }

    /// Returns true if results rose with time.
    pub fn is_rising(&self) -> bool {
        self.factor > 1.0
    }
}

/// Returns the trials of each configuration that has several trials, in order of time.
fn by_configuration(ordered: &[RunStep]) -> Vec<Vec<RunStep>> {
    let mut groups: Vec<Vec<RunStep>> = Vec::new();
    for step in ordered {
        match groups.iter_mut().find(|group| group[0].configuration == step.configuration) {
            Some(group) => group.push(*step),
            None => groups.push(vec![*step]),
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

/// Returns the median slope of the logarithms of the results, per second. The median covers all
/// pairs of trials of one configuration.
fn slope_of_logs(groups: &[Vec<RunStep>]) -> Option<f64> {
    let slopes: Vec<f64> = pairs(groups)
        .filter(|(a, b)| b.at_s > a.at_s)
        .map(|(a, b)| (b.value / a.value).ln() / (b.at_s - a.at_s))
        .collect();
    (!slopes.is_empty()).then(|| autocorrelation::median(&slopes))
}

/// Returns all pairs of trials of one configuration, with the earlier trial first.
fn pairs(groups: &[Vec<RunStep>]) -> impl Iterator<Item = (&RunStep, &RunStep)> {
    groups.iter().flat_map(|group| {
        let each = group.iter().enumerate();
        each.flat_map(|(at, a)| group[at + 1..].iter().map(move |b| (a, b)))
    })
}

/// Returns the p value of Kendall's S, summed over the configurations. This is the probability
/// that, without a trend, S is at least as far from 0 as observed.
fn p_of_sum(groups: &[Vec<RunStep>]) -> f64 {
    let step = |(a, b): (&RunStep, &RunStep)| {
        f64::from(i8::from(b.value > a.value)) - f64::from(i8::from(b.value < a.value))
    };
    let s: f64 = pairs(groups).map(step).sum();
    if groups.iter().any(|group| group.len() > EXACT_MAX) {
        let term = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0) / 18.0;
        let variance: f64 = groups.iter().map(|group| term(group.len() as f64)).sum();
        let z = (s.abs() - 1.0).max(0.0) / variance.sqrt();
        return 2.0 * (1.0 - autocorrelation::normal_below(z));
    }
    // S is the number of pairs minus twice the number of pairs that are out of order. The number of
    // pairs out of order is distributed like the inversions of a random order. The loop builds this
    // distribution by adding one trial at a time, group by group.
    let mut shares = vec![1.0];
    for places in groups.iter().flat_map(|group| 2..=group.len()) {
        let mut next = vec![0.0; shares.len() + places - 1];
        for (inversions, share) in shares.iter().enumerate() {
            for more in 0..places {
                next[inversions + more] += share / places as f64;
            }
        }
        shares = next;
    }
    let all = (shares.len() - 1) as f64;
    let is_as_far = |inversions: usize| (all - 2.0 * inversions as f64).abs() >= s.abs() - 1e-9;
    let far = shares.iter().enumerate().filter(|(inversions, _)| is_as_far(*inversions));
    far.map(|(_, share)| share).sum::<f64>().min(1.0)
}

/// Returns the time from which the results of all configurations are near the last result of their
/// configuration, in seconds since the first trial. Returns `None` if this is unknown for any
/// configuration.
fn arrived_s(groups: &[Vec<RunStep>], first_s: f64, is_rising: bool) -> Option<f64> {
    let is_away = |step: &RunStep, end: &RunStep| {
        let short = if is_rising {
            end.value / step.value
        } else {
            step.value / end.value
        };
        short > LAST_RESULT_FACTOR
    };
    // In each configuration, `away` is the index of the last trial whose result is not near the
    // last result.
    let arrival_s = |group: &Vec<RunStep>| {
        let end = group.last()?;
        let Some(away) = group.iter().rposition(|step| is_away(step, end)) else {
            return Some(0.0);
        };
        // If only the last result is near, the time is unknown, because that result is compared
        // with itself.
        (away + 2 < group.len()).then(|| group[away + 1].at_s - first_s)
    };
    let all_s: Option<Vec<f64>> = groups.iter().map(arrival_s).collect();
    all_s?.into_iter().reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_series::Chance;

    fn steps(values: &[(usize, f64)]) -> Vec<RunStep> {
        let step = |(at, (configuration, value)): (usize, &(usize, f64))| RunStep {
            configuration: *configuration,
            at_s: 30.0 * at as f64,
            value: *value,
        };
        values.iter().enumerate().map(step).collect()
    }

    /// The series consists of six trials of two settings on a node that had just started, in the
    /// order in which the trials ran.
    #[test]
    fn a_node_that_warms_up_for_the_whole_run_is_seen() {
        let seen = steps(&[
            (0, 7_200.0),
            (1, 12_000.0),
            (0, 22_500.0),
            (1, 23_500.0),
            (0, 31_500.0),
            (1, 34_700.0),
        ]);
        let course = RunTrend::from_steps(&seen).unwrap();
        assert!(course.is_rising() && course.factor > 3.0, "{course:?}");
        assert_eq!(course.ends, [7_200.0, 34_700.0]);
        assert!((course.p - 2.0 / 36.0).abs() < 1e-12, "{}", course.p);
        assert_eq!(
            course.arrived_s, None,
            "the series did not reach a steady level"
        );
    }

    #[test]
    fn effects_of_settings_and_loads_are_no_trend() {
        // The throughput of the second configuration is twice that of the first, and the throughput
        // of the third is ten times as high.
        let seen = steps(&[
            (0, 10.0),
            (1, 20.0),
            (2, 100.0),
            (0, 10.1),
            (1, 19.9),
            (2, 100.2),
        ]);
        assert_eq!(RunTrend::from_steps(&seen), None);
        assert_eq!(
            RunTrend::from_steps(&steps(&[(0, 10.0), (1, 20.0), (2, 40.0)])),
            None
        );
        assert_eq!(RunTrend::from_steps(&[]), None);
        // With two configurations of two trials each, chance alone makes both configurations rise
        // or both fall in half of the runs.
        let two = steps(&[(0, 10.0), (1, 20.0), (0, 20.0), (1, 40.0)]);
        assert_eq!(RunTrend::from_steps(&two), None);
    }

    #[test]
    fn a_warm_up_that_ends_within_the_run_says_when() {
        let values = [5.0, 7.0, 9.6, 9.9, 10.0, 10.2, 10.1];
        let seen = steps(&values.map(|value| (0, value)));
        let course = RunTrend::from_steps(&seen).unwrap();
        assert_eq!(course.arrived_s, Some(60.0), "{course:?}");
    }

    #[test]
    fn a_target_that_becomes_slower_is_seen_too() {
        let values = [40.0, 35.0, 30.0, 22.0, 15.0, 9.0];
        let course = RunTrend::from_steps(&steps(&values.map(|value| (0, value)))).unwrap();
        assert!(!course.is_rising() && course.factor < 0.4, "{course:?}");
    }

    #[test]
    fn noise_is_rarely_called_a_course() {
        let mut chance = Chance::new(77);
        let runs = 2000;
        let called = (0..runs).filter(|_| {
            let noise = chance.autocorrelated(12, 0.0);
            let value = |(at, noise): (usize, f64)| (at % 3, 1000.0 * (0.3 * noise).exp());
            let values: Vec<(usize, f64)> = noise.into_iter().enumerate().map(value).collect();
            RunTrend::from_steps(&steps(&values)).is_some()
        });
        let share = called.count() as f64 / f64::from(runs);
        assert!(share <= 0.11, "{share}");
    }
}
