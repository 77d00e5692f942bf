//! Scrapes external endpoints during a trial: the endpoints that a study names, and those of the
//! nodes' pods.

use crate::imported_series::import::Scrape;
use anyhow::Result;
use cluster::Cluster;
use host::probe::{Sampler, Task};
use std::time::Duration;
use study::settings::{Import, PERIOD_NS, Settings};
use target_spec::Target;

/// Returns a separate sampler for each external endpoint, so that a slow endpoint does not delay
/// the others.
pub(super) fn all(settings: &Settings, cluster: &Cluster) -> Result<Vec<Sampler>> {
    let sampler = |look: Scrape, period_ns: u64| {
        let place = look.place().to_string();
        let mut sampler = Sampler::new("probe-scrape");
        let period = Duration::from_nanos(period_ns);
        sampler.add(Task::new("prometheus", &place, period, Box::new(look)));
        sampler
    };
    let scraper = |import: &Import| {
        let Import::PrometheusUrl { url, period_ns } = import else {
            return None;
        };
        Some(Scrape::new(url, &[]).map(|look| sampler(look, *period_ns)))
    };
    let described = match &settings.target {
        Target::Attach(spec) => spec.kubernetes.as_ref(),
        Target::Local(_) | Target::Null(_) => None,
    };
    let wanted = described.map(|there| &there.metrics[..]).unwrap_or_default();
    let ends = cluster.metrics_ends().into_iter().filter(|_| !wanted.is_empty());
    let moves = &cluster.access().moves;
    let pods = ends.map(|(node, at)| Scrape::for_node(&node, at, wanted, moves));
    let imports = settings.probes.iter().flat_map(|probes| &probes.import);
    let mut samplers = imports.filter_map(scraper).collect::<Result<Vec<_>>>()?;
    samplers.extend(pods.map(|look| sampler(look, PERIOD_NS)));
    Ok(samplers)
}
