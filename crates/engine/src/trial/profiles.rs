//! Profiles the nodes in the measured window of a trial.

use anyhow::Result;
use cluster::{Cluster, NodeProfile};
use store::{ProfileRecord, TrialWriter};

use store::record::TrialFinding;
use study::settings::{ProfileEvent, ProfiledTrials, Settings};

#[derive(Debug, Default)]
pub(super) struct Profiling {
    /// Event to sample in the window. `None` if the trial is not profiled.
    event: Option<ProfileEvent>,
    /// Times at which the profilers of the nodes started, in ns. `None` before the start and after
    /// the stop.
    started_ns: Option<Vec<u64>>,
    nodes: Vec<NodeProfile>,
}

impl Profiling {
    /// Returns the state before the window of a trial with these settings.
    pub fn for_trial(settings: &Settings) -> Profiling {
        let profile = settings.probes.as_ref().and_then(|probes| probes.profile);
        let measured = profile.filter(|profile| profile.trials == ProfiledTrials::Measured);
        Profiling {
            event: measured.map(|profile| profile.event),
            ..Profiling::default()
        }
    }

    /// Starts the profilers, if the trial is profiled.
    ///
    /// # Errors
    /// A node does not support the event, or does not answer.
    pub fn window_begins(&mut self, cluster: &Cluster) -> Result<()> {
        if let Some(event) = self.event {
            self.started_ns = Some(cluster.start_profilers(&event.options())?);
        }
        Ok(())
    }

    /// Stops the profilers and reads their samples, if they are running.
    ///
    /// # Errors
    /// A node does not answer.
    pub fn window_ends(&mut self, cluster: &Cluster) -> Result<()> {
        if let (Some(event), Some(started_ns)) = (self.event, self.started_ns.take()) {
            self.nodes = cluster.stop_profilers(&started_ns, event.is_total())?;
        }
        Ok(())
    }

    /// Writes the profiles into the folder of the trial.
    ///
    /// # Errors
    /// A file cannot be written, or the output of the profiler is not in its format.
    pub fn write(&mut self, writer: &TrialWriter, finding: &TrialFinding) -> Result<()> {
        let Some(event) = self.event.filter(|_| !self.nodes.is_empty()) else {
            return Ok(());
        };
        let profile = |profile: NodeProfile| {
            // The client counts the operations of the window. The profiler runs for nearly that
            // time, so the operations of its time follow from the throughput.
            let operations = (finding.all.ops_per_s * profile.seconds).round() as u64;
            let record = ProfileRecord {
                node: profile.node,
                event: event.name().to_owned(),
                interval_ns: if event.is_total() {
                    1
                } else {
                    event.interval()
                },
                window_s: profile.seconds,
                operations,
                unit: if event == ProfileEvent::Alloc {
                    "bytes"
                } else {
                    "ns"
                }
                .to_owned(),
                ..ProfileRecord::default()
            };
            (record, profile.stacks)
        };
        let profiles = std::mem::take(&mut self.nodes).into_iter().map(profile);
        writer.write_profiles(profiles.collect())
    }
}
