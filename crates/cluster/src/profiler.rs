//! Starts and stops async-profiler in the nodes, and reads the stacks that it sampled.
//!
//! A node loads the library at its start ([`target_spec::LocalSpec::profiler`]). The library
//! samples only between [`Cluster::start_profilers`] and [`Cluster::stop_profilers`]. Its commands
//! go through the JVM's MBean for diagnostic commands, so the host needs no JDK tools.

use crate::cluster::Cluster;
use crate::target_control::ProfilerPlace;
use anyhow::{Context, Error, Result, ensure};
use cassandra::{Jolokia, mbeans};
use measure::clock;
use std::io::Read;
use target_spec::NodeIndex;

/// Maximum size of the stacks of one node, in bytes. Ten minutes of a busy node result in 5 MiB.
const STACKS_BYTES_MAX: u64 = 64 << 20;

/// File for the samples, in the node's folder of temporary files. Each stop overwrites the file.
const FILE: &str = "profile.collapsed";

/// Samples of a node between a start and a stop.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeProfile {
    pub node: String,
    /// Time between start and stop, in seconds.
    pub seconds: f64,
    /// Stacks in folded form: frames separated by `;`, then a space and the weight. The first frame
    /// is the thread with its number, such as `[ReadStage-1 tid=4]`.
    pub stacks: String,
}

struct Profiler<'a> {
    node: &'a str,
    agent: &'a Jolokia,
    place: ProfilerPlace<'a>,
}

impl Cluster {
    /// Starts the profilers of all nodes with async-profiler's `options`, such as
    /// `event=ctimer,interval=10ms`. Returns the start time of each profiler, in ns.
    ///
    /// # Errors
    /// A node has not loaded the profiler, does not answer, or does not support the event.
    pub fn start_profilers(&self, options: &str) -> Result<Vec<u64>> {
        let start = |profiler: Profiler<'_>| {
            profiler.command(&format!("start,threads,{options}"))?;
            Ok(clock::now_ns())
        };
        self.profilers()?.into_iter().map(start).collect()
    }

    /// Stops the profilers of all nodes, and reads their samples. `started_ns` is the result of
    /// [`Cluster::start_profilers`]. With `total`, the weights are bytes or ns, otherwise samples.
    ///
    /// # Errors
    /// A node does not answer, or its samples are unreadable or too large.
    pub fn stop_profilers(&self, started_ns: &[u64], total: bool) -> Result<Vec<NodeProfile>> {
        let total = if total { ",total" } else { "" };
        // All profilers stop before the first file is read, so that they sample the same time.
        let mut stopped = Vec::new();
        for (profiler, start_ns) in self.profilers()?.into_iter().zip(started_ns) {
            let file = profiler.place.folder.join(FILE);
            let stopped_ns = clock::now_ns();
            profiler.command(&format!(
                "stop,collapsed{total},norm,file={}",
                file.display()
            ))?;
            stopped.push((profiler, stopped_ns.saturating_sub(*start_ns)));
        }
        let read = |(profiler, ns): (Profiler<'_>, u64)| {
            Ok(NodeProfile {
                node: profiler.node.to_owned(),
                seconds: ns as f64 / 1e9,
                stacks: profiler.stacks()?,
            })
        };
        stopped.into_iter().map(read).collect()
    }

    fn profilers(&self) -> Result<Vec<Profiler<'_>>> {
        let control = self.control();
        let of_node = |(index, node)| {
            let node: &cassandra::NodeInfo = node;
            let place = control.profiler(NodeIndex(index));
            Ok(Profiler {
                node: &node.name,
                agent: control.jolokia(NodeIndex(index)).map_err(Error::msg)?,
                place: place.with_context(|| format!("{} has not loaded a profiler", node.name))?,
            })
        };
        self.nodes().iter().enumerate().map(of_node).collect()
    }
}

impl Profiler<'_> {
    fn command(&self, command: &str) -> Result<()> {
        let library = self.place.library.display().to_string();
        mbeans::command_library(self.agent, &library, command)
            .with_context(|| format!("control the profiler of {}", self.node))
    }

    /// Returns the content of the last stop's file.
    fn stacks(&self) -> Result<String> {
        let path = self.place.folder.join(FILE);
        let mut bytes = Vec::new();
        let mut reader = self.place.agent.reader(&path, 0).take(STACKS_BYTES_MAX + 1);
        reader
            .read_to_end(&mut bytes)
            .with_context(|| format!("read the profile of {}", self.node))?;
        ensure!(
            bytes.len() as u64 <= STACKS_BYTES_MAX,
            "the profile of {} ({}) is larger than {} MiB\nhint: measure a shorter window",
            self.node,
            path.display(),
            STACKS_BYTES_MAX >> 20
        );
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
