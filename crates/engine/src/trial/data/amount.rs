//! Measures the progress of a load phase, and explains why the load phase stopped.

use anyhow::{Context, Result, ensure};
use cluster::DataUse;

/// Describes why rows could not be loaded. The causes come before the errors of the client, because
/// the errors follow from the causes.
pub(super) fn not_loaded(count: u64, errors: &str, causes: &[String]) -> String {
    let what = format!("cassay could not load all of {count} rows: {errors}");
    if !causes.is_empty() {
        return format!("{}; so {what}", causes.join("; "));
    }
    if errors.contains("shutting down") {
        return format!("{what}. A node is shutting down: see its log for the reason");
    }
    let is_slow = [
        "timeout",
        "timed out",
        "overload",
        "unavailable",
        "connection",
    ]
    .iter()
    .any(|word| errors.contains(word));
    if !is_slow {
        return format!(
            "{what}. The server refuses the requests: its message describes the necessary change"
        );
    }
    format!("{what}. Lower the load, or raise `client.timeout`")
}

/// Returns the progress of the nodes towards `bytes` of data per node. At 1, the nodes have reached
/// this size.
pub(super) fn size(data: &[DataUse], bytes: u64) -> Result<f64> {
    ensure!(
        !data.is_empty(),
        "cassay cannot determine the size of the nodes' data"
    );
    let sum: u64 = data.iter().map(|one| one.live_bytes).sum();
    Ok(sum as f64 / data.len() as f64 / bytes as f64)
}

/// Returns the progress of the data volumes towards `share` of their size. At 1, the volumes are
/// full to this share.
pub(super) fn fullness(data: &[DataUse], share: f64) -> Result<f64> {
    let full = |one: &DataUse| {
        let volume = one.volume.as_ref()?;
        Some(volume.used_bytes as f64 / volume.total_bytes.max(1) as f64)
    };
    let all: Option<Vec<f64>> = data.iter().map(full).collect();
    let all = all.filter(|all| !all.is_empty()).context(
        "cassay cannot determine the size of the nodes' data volumes: use \
         `data.load.bytes_per_node`",
    )?;
    Ok(all.iter().sum::<f64>() / all.len() as f64 / share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cluster::VolumeUse;

    fn node(live_bytes: u64, used: u64) -> DataUse {
        DataUse {
            node: "node1".to_owned(),
            host: "host1".to_owned(),
            live_bytes,
            volume: Some(VolumeUse {
                total_bytes: 1000,
                used_bytes: used,
                available_bytes: 1000 - used,
            }),
        }
    }

    #[test]
    fn a_lower_load_is_advised_only_where_nothing_else_is_known() {
        let advised = |errors: &str, causes: &[&str]| {
            let causes: Vec<String> = causes.iter().map(|text| text.to_string()).collect();
            let text = not_loaded(9, errors, &causes);
            (text.contains("Lower the load"), text)
        };
        assert!(advised("3 write_timeout", &[]).0);
        let refused = "9 invalid (first, from node1: Guardrail page_size violated)";
        assert!(!advised(refused, &[]).0 && advised(refused, &[]).1.contains("refuses"));
        let stopped = "3 overloaded (first, from node1: Server is shutting down)";
        assert!(!advised(stopped, &[]).0);
        let (lower, text) = advised(stopped, &["node1: the data volume of the node is full"]);
        assert!(
            !lower
                && text.starts_with(
                    "node1: the data volume of the node is full; so cassay could not load all of 9"
                ),
            "{text}"
        );
    }

    #[test]
    fn progress_is_the_mean_of_the_nodes() {
        let data = [node(100, 300), node(300, 100)];
        assert!((size(&data, 400).unwrap() - 0.5).abs() < 1e-9);
        assert!((fullness(&data, 0.4).unwrap() - 0.5).abs() < 1e-9);
        assert!(size(&[], 1).is_err() && fullness(&[], 0.5).is_err());
        let unseen = DataUse {
            volume: None,
            ..node(1, 1)
        };
        let error = fullness(&[unseen], 0.5).unwrap_err().to_string();
        assert!(error.contains("bytes_per_node"), "{error}");
    }
}
