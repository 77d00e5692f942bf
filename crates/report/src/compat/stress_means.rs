//! Formats means over several cassandra-stress clients. Publications often show such means instead
//! of percentiles of all operations. The tool itself does not print them.

use super::java::fixed;
use super::stress::{Sample, Timing};
use std::collections::BTreeSet;

/// Returns the means of the clients' percentiles and maxima. Returns an empty string if fewer than
/// two clients have done operations. No line begins like a line of the results, so scripts do not
/// confuse the two.
pub fn means(clients: &[Sample]) -> String {
    let has_done = |one: &Timing| one.operations() > 0;
    let totals: Vec<Timing> = clients.iter().map(Sample::total).filter(has_done).collect();
    if totals.len() < 2 {
        return String::new();
    }
    let names: BTreeSet<&String> = clients.iter().flat_map(|one| one.operations.keys()).collect();
    let line = |label: &str, of: &dyn Fn(&Timing) -> f64| {
        let figure = |name: &&String| {
            let timings = clients.iter().filter_map(|one| one.operations.get(*name));
            Some(format!(
                "{name}: {} ms",
                fixed(mean_of(timings, of)?, 1, true)
            ))
        };
        let each = names.iter().filter_map(figure).collect::<Vec<_>>().join(", ");
        let all = fixed(mean_of(totals.iter(), of).unwrap_or(0.0), 1, false);
        format!("Mean of clients' {label:<18}: {all:>6} ms [{each}]\n")
    };
    let mut text = format!(
        "Means of the figures of {} clients. A mean of percentiles is not a percentile:\nthe \
         percentiles of all operations are above.\n",
        totals.len()
    );
    for (label, percentile) in [
        ("medians", 50.0),
        ("95th percentiles", 95.0),
        ("99th percentiles", 99.0),
        ("99.9th percentiles", 99.9),
    ] {
        text.push_str(&line(label, &|timing| timing.percentile_ms(percentile)));
    }
    text.push_str(&line("maxima", &Timing::max_ms));
    text.push('\n');
    text
}

/// Returns the mean of `of` over the clients that have done operations. Returns `None` if no client
/// has done operations.
fn mean_of<'t>(
    timings: impl Iterator<Item = &'t Timing>,
    of: &dyn Fn(&Timing) -> f64,
) -> Option<f64> {
    let busy = timings.filter(|one| one.operations() > 0);
    let (count, sum) = busy.fold((0.0, 0.0), |(count, sum), one| (count + 1.0, sum + of(one)));
    (count > 0.0).then_some(sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(us: impl Iterator<Item = u64>) -> Sample {
        let mut timing = Timing::default();
        us.for_each(|us| timing.latency.record(us * 1000));
        let mut sample = Sample::default();
        sample.operations.insert("READ".to_owned(), timing);
        sample
    }

    /// If the clients differ, the mean of their p99 values is far from the p99 of all operations.
    #[test]
    fn means_of_several_clients_are_named_as_what_they_are() {
        let clients = [
            sample((1..=100).map(|n| n * 100)),
            sample((901..=1000).map(|n| n * 100)),
        ];
        expect_test::expect![[r#"
            Means of the figures of 2 clients. A mean of percentiles is not a percentile:
            the percentiles of all operations are above.
            Mean of clients' medians           :   50.0 ms [READ: 50.0 ms]
            Mean of clients' 95th percentiles  :   54.5 ms [READ: 54.5 ms]
            Mean of clients' 99th percentiles  :   54.9 ms [READ: 54.9 ms]
            Mean of clients' 99.9th percentiles:   55.0 ms [READ: 55.0 ms]
            Mean of clients' maxima            :   55.0 ms [READ: 55.0 ms]

        "#]]
        .assert_eq(&means(&clients));
        assert_eq!(means(&clients[..1]), "");
        assert_eq!(means(&[clients[0].clone(), Sample::default()]), "");
        let idle = [&clients[..], &[Sample::default()]].concat();
        assert_eq!(means(&idle), means(&clients));
    }
}
