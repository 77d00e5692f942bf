//! Relates throughput to price, and computes the number of nodes needed.

use super::comparisons::is_search;
use super::points::{places_of, state_of};
use analysis::autocorrelation;
use analysis::capacity::{BEYOND_MAX, Demand, for_price, nodes};
use analysis::procedure::{Percentile, Point};
use analysis::sweep::State;
use measure::number::counted;
use store::record::PEAK;
use store::record::{
    CapacityRecord, ComparisonRecord, PointRecord, PriceRecord, SearchOutcome, SearchRecord,
    TrialFinding,
};
use study::settings::{Capacity, Price, Study, Variant};
use target_spec::Target;

const HOUR_S: f64 = 3600.0;

/// Returns the throughput per price of each variant that has a price. The throughput is the result
/// of the variant's searches. Without searches, it is the throughput at the primary point of
/// comparisons, or otherwise the highest throughput at a load that the target sustained.
pub fn prices(
    study: &Study,
    trials: &[TrialFinding],
    points: &[PointRecord],
    comparisons: &[ComparisonRecord],
    searches: &[SearchRecord],
) -> Vec<PriceRecord> {
    let of = |variant: &Variant| {
        let price = variant.settings.price.as_ref()?;
        let did = if is_search(variant) {
            found(variant, searches)?
        } else {
            measured(variant, trials, points, comparisons)?
        };
        let worth = HOUR_S / price.per_hour;
        let against = against(study, variant, price, did.place, comparisons);
        Some(PriceRecord {
            variant: variant.name.clone(),
            per_hour: price.per_hour,
            currency: price.currency.clone(),
            point: did.place,
            ops_per_price: did.ops_per_s * worth,
            ci95: did.ci95.map(|ends| ends.map(|end| end * worth)),
            ..against
        })
    };
    study.variants.iter().filter_map(of).collect()
}

/// Throughput of a variant, and the point at which it was measured. The result of a search has no
/// point.
struct MeasuredThroughput {
    place: Option<Point>,
    ops_per_s: f64,
    ci95: Option<[f64; 2]>,
}

/// Returns the result of the searches. Returns `None` if the variant has no searches, or if a
/// search has no exact result.
fn found(variant: &Variant, searches: &[SearchRecord]) -> Option<MeasuredThroughput> {
    let of = searches.iter().filter(|one| one.variant == variant.name);
    let log = |one: &SearchRecord| match one.found_ops_per_s()? {
        measure::Known::Exactly(ops) => Some(ops.ln()),
        measure::Known::AtLeast(_) => None,
    };
    let logs = of.map(log).collect::<Option<Vec<f64>>>()?;
    (!logs.is_empty()).then(|| MeasuredThroughput {
        place: None,
        ops_per_s: autocorrelation::mean(&logs).exp(),
        ci95: autocorrelation::mean_of_blocks_ci95(&logs).map(|ends| ends.map(f64::exp)),
    })
}

fn measured(
    variant: &Variant,
    trials: &[TrialFinding],
    points: &[PointRecord],
    comparisons: &[ComparisonRecord],
) -> Option<MeasuredThroughput> {
    let own = points.iter().filter(|point| point.variant == variant.name);
    let primary = comparisons.iter().find(|c| c.primary);
    let at_primary = own.clone().find(|p| primary.is_some_and(|c| c.point == p.point));
    let is_exceeded = |point: &PointRecord| {
        let mut here =
            trials.iter().filter(|t| t.variant == variant.name && t.point == point.point);
        here.any(|trial| state_of(trial) == State::Saturated)
    };
    // If the target sustained no load, its throughput at an excessive load still counts.
    let order = |point: &&PointRecord| (!is_exceeded(point), point.ops_per_s);
    let most = own.max_by(|a, b| {
        let (a, b) = (order(a), order(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    at_primary.or(most).map(|point| MeasuredThroughput {
        place: point.point,
        ops_per_s: point.ops_per_s,
        ci95: point.ops_per_s_ci95,
    })
}

/// Returns the comparison of throughput per price with the baseline. Returns an empty record
/// without a comparison of exact throughputs, or if the two prices do not have the same currency.
fn against(
    study: &Study,
    variant: &Variant,
    price: &Price,
    place: Option<Point>,
    comparisons: &[ComparisonRecord],
) -> PriceRecord {
    let is_throughput = |c: &&ComparisonRecord| matches!(c.metric.as_str(), "ops_per_s" | PEAK);
    let here = comparisons
        .iter()
        .find(|c| c.contender == variant.name && c.point == place && is_throughput(c));
    let compared = here.filter(|c| c.bound.is_none()).and_then(|c| {
        let baseline = study.variants.iter().find(|v| v.name == c.baseline)?;
        let of_baseline = baseline.settings.price.as_ref()?;
        // The ratio is omitted if the prices are in different currencies.
        let is_same = of_baseline.currency == price.currency;
        let prices = price.per_hour / of_baseline.per_hour;
        let (ratio, ci95) = for_price(c.ratio, c.ci95, prices);
        is_same.then(|| PriceRecord {
            baseline: c.baseline.clone(),
            ratio: Some(ratio),
            ratio_ci95: ci95,
            ..PriceRecord::default()
        })
    });
    compared.unwrap_or_default()
}

/// Returns the number of nodes that each variant needs for the requested capacity.
pub fn capacities(
    study: &Study,
    trials: &[TrialFinding],
    points: &[PointRecord],
    searches: &[SearchRecord],
) -> Vec<CapacityRecord> {
    let Some(asked) = &study.capacity else {
        return Vec::new();
    };
    let of = |variant: &Variant| {
        let held = if is_search(variant) {
            searched(asked, variant, searches)
        } else {
            held(asked, variant, trials, points)
        };
        capacity(asked, variant, held)
    };
    study.variants.iter().map(of).collect()
}

/// Rate that the target sustained, and the lower end of the interval of its throughput.
type SustainedRate = (f64, f64);

fn capacity(
    asked: &Capacity,
    variant: &Variant,
    held: Result<SustainedRate, String>,
) -> CapacityRecord {
    let record = CapacityRecord {
        variant: variant.name.clone(),
        ops_per_s: asked.ops_per_s,
        p99_ms: asked.p99_ms,
        failures: asked.failures,
        growth: asked.growth,
        skew: asked.skew,
        copies: variant.settings.keyspace.replication.copies(),
        ..CapacityRecord::default()
    };
    let refused = |why: String| CapacityRecord {
        refused: Some(why),
        ..record.clone()
    };
    let measured = match &variant.settings.target {
        Target::Local(local) => local.nodes as u64,
        Target::Null(_) => 1,
        Target::Attach(_) => {
            return refused(
                "cassay does not know the number of nodes of an attached cluster".to_owned(),
            );
        }
    };
    let (rate, least) = match held {
        Ok(held) => held,
        Err(why) => return refused(why),
    };
    let per_node = least / measured as f64;
    let demand = Demand {
        ops_per_s: asked.ops_per_s,
        growth: asked.growth,
        skew: asked.skew,
        failures: asked.failures,
        copies: record.copies,
    };
    let Some(nodes) = nodes(demand, per_node) else {
        return refused("the interval of the sustained throughput includes 0".to_owned());
    };
    let price = variant.settings.price.as_ref();
    CapacityRecord {
        held_at: Some(rate),
        nodes_measured: Some(measured),
        per_node: Some(per_node),
        nodes: Some(nodes),
        per_hour: price.map(|price| price.per_hour / measured as f64 * nodes as f64),
        currency: price.and_then(|price| price.currency.clone()),
        assumptions: assumptions(asked, nodes, measured),
        ..record
    }
}

/// Returns the reason why no rate is known that the target sustained in every block.
fn none_held(asked: &Capacity) -> String {
    format!(
        "the run has no rate that the target sustained in every block with a p99 of at most {} ms. \
         Measure lower rates (`procedure: {{sweep: {{rate: …}}}}`), or search for a rate in three \
         blocks (`peak`)",
        asked.p99_ms
    )
}

/// Returns the highest rate that the target kept up with in every block. At this rate and all lower
/// rates, p99 must certainly be within the bound. The second value is the lower end of the interval
/// of throughput at this rate.
///
/// # Errors
/// The target sustained no rate, or the throughput has no interval. The error is the reason.
fn held(
    asked: &Capacity,
    variant: &Variant,
    trials: &[TrialFinding],
    points: &[PointRecord],
) -> Result<SustainedRate, String> {
    let is_held = |place: Option<Point>| {
        let here = trials.iter().filter(|t| t.variant == variant.name && t.point == place);
        let mut seen = here.filter(|t| state_of(t) != State::Unusable).peekable();
        seen.peek().is_some()
            && seen.all(|trial| {
                let p99_ms = trial.all.latency_ms.p99;
                state_of(trial) == State::Kept && p99_ms.is_above(asked.p99_ms) == Some(false)
            })
    };
    let places = places_of(trials, &variant.name);
    let rates = places.into_iter().flatten().filter(|at| at.is_rate());
    let held = rates.take_while(|rate| is_held(Some(*rate))).last();
    let rate = held.ok_or_else(|| none_held(asked))?;
    let point = points
        .iter()
        .find(|point| point.variant == variant.name && point.point == Some(rate));
    // A point without an interval cannot be used for planning, because planning uses the lower end
    // of the interval.
    let [least, _] = point.and_then(|point| point.ops_per_s_ci95).ok_or_else(|| {
        format!(
            "the number of nodes follows from the lower end of the 95 % interval of throughput, \
             but the throughput at {} has no interval. Measure a longer window (`window.measure`) \
             or more blocks (`repeat.blocks: 3`)",
            rate.words()
        )
    })?;
    Ok((rate.value(), least))
}

/// Returns the geometric mean of the rates that the searches found, and the lower end of the
/// interval of this mean. The bound of the searches must be at most the requested bound.
///
/// # Errors
/// The searches have another percentile or a larger bound, the search of a block found no rate, or
/// the blocks are too few for an interval. The error is the reason.
fn searched(
    asked: &Capacity,
    variant: &Variant,
    searches: &[SearchRecord],
) -> Result<SustainedRate, String> {
    let bound = variant.settings.procedure.bound();
    let is_asked = bound.is_some_and(|b| b.of == Percentile::P99 && b.ms <= asked.p99_ms);
    if !is_asked {
        return Err(format!(
            "the searches do not require a p99 of at most {} ms",
            asked.p99_ms
        ));
    }
    let of = searches.iter().filter(|s| s.variant == variant.name);
    let log = |search: &SearchRecord| match search.at {
        Some(Point::Rate(rate)) if search.outcome == SearchOutcome::Held => {
            Some((rate as f64).ln())
        }
        _ => None,
    };
    let logs = of
        .map(log)
        .collect::<Option<Vec<f64>>>()
        .filter(|logs| !logs.is_empty())
        .ok_or_else(|| none_held(asked))?;
    let [least, _] = autocorrelation::mean_of_blocks_ci95(&logs).ok_or_else(|| {
        format!(
            "the searches found a sustained rate in only {}, which is too few for a 95 % interval. \
             Search in at least three blocks (`repeat.blocks: 3`)",
            counted(logs.len(), "block")
        )
    })?;
    Ok((autocorrelation::mean(&logs).exp(), least.exp()))
}

fn assumptions(asked: &Capacity, nodes: u64, measured: u64) -> Vec<String> {
    let skew = match asked.skew {
        1.0 => "all nodes have the same load (otherwise set `capacity.skew`)".to_owned(),
        skew => format!("the busiest node has {skew} times the mean load"),
    };
    let mut all = vec![
        "the work per operation does not depend on the number of nodes (token-aware clients, the \
         same replication and consistency level)"
            .to_owned(),
        "each node stores as many bytes as the measured nodes, and its compactions have finished"
            .to_owned(),
        skew,
        "a failure causes no additional work (hints, repair): to include this work, measure while \
         nodes are down"
            .to_owned(),
        "the network is not shared, and racks are balanced".to_owned(),
    ];
    if nodes as f64 > BEYOND_MAX * measured as f64 {
        all.push(format!(
            "the cluster scales from {measured} to {nodes} nodes, which is more than {BEYOND_MAX} \
             times the measured number: measure a larger cluster before you rely on the result"
        ));
    }
    all
}

#[cfg(test)]
mod tests {
    use crate::{combine, test_runs};
    use analysis::procedure::Point;
    use measure::Known;
    use store::record::FindingsRecord;
    use study::resolve::resolve;
    use study::settings::Overrides;

    /// Returns the findings of a study with these keys and five blocks. `did` returns the
    /// throughput and the p99 of a variant.
    fn run(keys: &str, did: impl Fn(&str, f64) -> (f64, Known)) -> FindingsRecord {
        run_with(5, keys, did)
    }

    fn run_with(
        blocks: usize,
        keys: &str,
        did: impl Fn(&str, f64) -> (f64, Known),
    ) -> FindingsRecord {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {{use: standard1}}\n\
             repeat: {{blocks: {blocks}}}\n{keys}\n"
        );
        let study = resolve("s", &text, &Overrides::default()).unwrap();
        let trials = test_runs::trials(&study, |trial| {
            let (ops, p99_ms) = did(trial.variant.name.as_str(), trial.point.value());
            let wobble = trial.one_of([0.0, 0.01, -0.01, 0.004, -0.004]);
            (ops * (1.0 + wobble), p99_ms)
        });
        combine(&study, trials, &|_| None, None)
    }

    const PRICED: &str = "procedure: {fixed: {threads: 8}}\nvariants:\n\
                          \x20 d13: {price_per_hour: {amount: 4, currency: USD}}\n\
                          \x20 l8s: {price_per_hour: {amount: 3, currency: USD}}";

    #[test]
    fn a_slower_variant_may_do_more_for_its_price() {
        let did = |variant: &str, _: f64| match variant {
            "d13" => (23_985.0, Known::Exactly(9.0)),
            _ => (19_974.0, Known::Exactly(9.0)),
        };
        let found = run(PRICED, did);
        let [first, second] = found.prices.as_slice() else {
            panic!("{:?}", found.prices);
        };
        assert!((first.ops_per_price / (23_985.0 * 900.0) - 1.0).abs() < 0.01);
        let ratio = second.ratio.unwrap();
        assert!((ratio - 1.11).abs() < 0.02, "{ratio}");
        let [low, high] = second.ratio_ci95.unwrap();
        assert!(low < ratio && ratio < high);
        let said = found.answer.join("\n");
        assert!(
            said.contains("4 USD per hour") && said.contains("times “d13”"),
            "{said}"
        );
        // Prices in different currencies have no ratio.
        let other = run(&PRICED.replacen("USD", "EUR", 1), did);
        assert_eq!(other.prices[1].ratio, None);
    }

    const HELD: &str = "procedure: {sweep: {rate: [10000, 20000, 30000]}}\n\
                        keyspace: {replication: 3}\n\
                        capacity: {ops_per_s: 100k, p99_ms: 10, failures: 1, skew: 1.1}";

    #[test]
    fn nodes_come_from_the_highest_rate_that_was_held() {
        let found = run(HELD, |_, rate| {
            (
                rate,
                Known::Exactly(if rate > 25_000.0 { 12.0 } else { 8.0 }),
            )
        });
        let capacity = &found.capacities[0];
        assert_eq!(
            (capacity.held_at, capacity.nodes_measured),
            (Some(20_000.0), Some(1))
        );
        // The expected number of nodes is ⌈1.1 × 100,000 ÷ 19,900⌉ + 1.
        assert_eq!(capacity.nodes, Some(7), "{capacity:?}");
        assert!(capacity.assumptions.iter().any(|a| a.contains("from 1 to 7 nodes")));
        assert!(
            found.answer.join("\n").contains("needs 7 nodes"),
            "{:?}",
            found.answer
        );
    }

    /// In a user's run, the answer said that the target kept up with 600 op/s, and then that it
    /// sustained no rate.
    #[test]
    fn a_sustained_rate_without_an_interval_is_named() {
        let found = run_with(1, HELD, |_, rate| (rate.min(21_000.0), Known::Exactly(8.0)));
        let refused = found.capacities[0].refused.clone().unwrap();
        assert!(
            refused.contains("but the throughput at 20,000 op/s has no interval"),
            "{refused}"
        );
    }

    #[test]
    fn a_price_relates_to_a_load_that_the_target_sustained() {
        let keys = "procedure: {sweep: {rate: [10000, 20000, 30000]}}\n\
                    price_per_hour: {amount: 1, currency: USD}";
        let found = run(keys, |_, rate| (rate.min(23_000.0), Known::Exactly(8.0)));
        assert_eq!(found.prices[0].point, Some(Point::Rate(20_000)));
    }

    #[test]
    fn a_rate_with_only_a_lower_bound_of_its_tail_is_not_held() {
        let found = run(HELD, |_, rate| (rate, Known::AtLeast(8.0)));
        assert_eq!(found.capacities[0].nodes, None);
        assert!(
            found.capacities[0]
                .refused
                .as_ref()
                .unwrap()
                .contains("no rate that the target sustained")
        );
        // In a closed loop, the target sustains no rate, so the number of nodes is unknown.
        let closed = HELD.replace("rate:", "threads:");
        let found = run(&closed, |_, _| (20_000.0, Known::Exactly(1.0)));
        assert_eq!(found.capacities[0].nodes, None);
    }
}
