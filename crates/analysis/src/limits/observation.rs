//! Reads every row of the table for one trial.

use super::kind::LimitKind;
use super::series_view::{View, WindowSeries};

const MACHINE: &str = "machine";
/// Minimum share of the time in which tasks wait for a CPU. Above this share, a busy CPU counts as
/// a CPU with a queue.
const CPU_PRESSURE_MIN: f64 = 0.20;
/// Shortest time between client and coordinator, or between nodes, that can be a limit, in ms.
/// Shorter times are spent in the processes and the kernel.
const LINK_MS_MIN: f64 = 1.0;
/// Minimum share of the window that collections or safepoints must take. Below this share, their
/// times are not judged.
const STOPPED_MIN: f64 = 0.01;

/// Facts about a node with which readings are compared. A fact is `None` if it is unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeFacts {
    pub name: String,
    pub host: String,
    /// Number of CPUs that the node may use: the CPU quota of the host, or the number of CPUs of
    /// the host.
    pub cpus: Option<f64>,
    /// Numbers of the CPUs that the node may use. Empty if the node may use all CPUs.
    pub cpu_numbers: Vec<usize>,
    /// True if a quota limits the CPU time of the node.
    pub has_quota: bool,
    /// Rate limit of compaction in bytes per second. 0 if the rate of compaction is unlimited.
    pub compaction_bytes_per_s: Option<f64>,
    /// Number of compactors of the node.
    pub compactors: Option<f64>,
    /// Rate of the node's link in one direction, in bytes per second.
    pub link_bytes_per_s: Option<f64>,
    /// Limits of the node's disk: reads and writes per second, bytes read and written per second.
    pub disk: [Option<f64>; 4],
}

/// A load of the client, with the smallest value at which the client counts as full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientLoad {
    /// Measured value of the load.
    pub value: f64,
    /// Limit of the value according to the validity rules.
    pub limit: f64,
}

/// Facts about the trial that complement the readings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialFacts {
    /// Nodes of the target.
    pub nodes: Vec<NodeFacts>,
    /// CPU use of the client, and its throughput relative to the ceiling.
    pub client: Vec<ClientLoad>,
    /// Length of the measured window, in seconds.
    pub window_s: f64,
    /// Mean service time that the client measured, in ms.
    pub service_mean_ms: Option<f64>,
    /// p99.9 of the latency, in ms. `None` if the p99.9 is not known.
    pub p999_ms: Option<f64>,
    /// True if rule V18 could not separate the load of other programs from the load of the nodes.
    pub are_others_unknown: bool,
}

/// Value of a row. If several places have a value, this is the value nearest its limit.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitReading {
    /// Row of the decision table.
    pub kind: LimitKind,
    /// Node, host, device or thread at which the value was measured. Empty for the client.
    pub place: String,
    /// Value, in the unit of the row.
    pub value: f64,
    /// Smallest value at which the resource counts as full.
    pub limit: f64,
    /// True if the value has reached `limit`. For some rows, such as CPU, work must also wait for
    /// the resource.
    pub is_full: bool,
}

impl LimitReading {
    /// Returns the value as a share of its limit.
    pub fn fullness(&self) -> f64 {
        self.value / self.limit
    }
}

/// CPU use of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeUse {
    pub node: String,
    /// Number of CPUs that the process of the node kept busy.
    pub used: f64,
    /// Number of CPUs that the node may use.
    pub available: f64,
}

/// Observation of one trial, with a reading for each observable row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// One reading for each row that could be observed, in the order of the rows.
    pub readings: Vec<LimitReading>,
    /// Rows that could not be observed.
    pub unobserved: Vec<LimitKind>,
    /// CPU use of each node whose CPU use is known.
    pub nodes: Vec<NodeUse>,
}

/// Evaluates every row of the table. If a row has readings of several places, the function keeps
/// the fullest of the full readings, or the fullest reading if none is full.
pub fn observe(series: &[WindowSeries<'_>], facts: &TrialFacts) -> Observation {
    let table = Table {
        view: View(series),
        facts,
    };
    let mut seen = Observation::default();
    for kind in LimitKind::ALL {
        let all = table.read(kind).into_iter().filter(|one| one.value.is_finite());
        let nearest = all.max_by(|one, other| {
            let order = one.is_full.cmp(&other.is_full);
            order.then(one.fullness().total_cmp(&other.fullness()))
        });
        match nearest {
            Some(reading) => seen.readings.push(reading),
            None => seen.unobserved.push(kind),
        }
    }
    seen.nodes = facts.nodes.iter().filter_map(|node| table.use_of(node)).collect();
    seen
}

struct Table<'a> {
    view: View<'a>,
    facts: &'a TrialFacts,
}

impl<'a> Table<'a> {
    fn use_of(&self, node: &NodeFacts) -> Option<NodeUse> {
        Some(NodeUse {
            node: node.name.clone(),
            used: self.view.mean("pidstat.%CPU", &node.name)? / 100.0,
            available: node.cpus?,
        })
    }

    fn read(&self, kind: LimitKind) -> Vec<LimitReading> {
        match kind {
            LimitKind::Client => self.client(),
            LimitKind::Cpu => self.per_host(kind, Self::cpu),
            LimitKind::OtherPrograms => self.per_host(kind, Self::other_programs),
            LimitKind::CpuQuota => self.per_node(kind, |node| self.quota(node)),
            LimitKind::Thread => self.thread(),
            LimitKind::DiskQueue => self.disk_queue(),
            LimitKind::DiskRate => self.disk_rate(),
            LimitKind::PacketLoss => self.packet_loss(),
            _ => self.per_node(kind, |node| self.value_of(kind, node)),
        }
    }

    fn value_of(&self, kind: LimitKind, node: &NodeFacts) -> Option<f64> {
        let (view, name) = (&self.view, node.name.as_str());
        match kind {
            LimitKind::GarbageCollection => self.stopped_share(name),
            LimitKind::Pause => {
                let share = self.longest_pause_ms(name)? / self.facts.p999_ms?;
                // Pauses that take a small share of the window affect few requests, so they do not
                // count.
                let is_rare = self.stopped_share(name).is_none_or(|share| share < STOPPED_MIN);
                Some(if is_rare { 0.0 } else { share })
            }
            LimitKind::Safepoints => {
                let stopped = view.at("safepoint.stopped", name)?.sum();
                let reach = view.at("safepoint.reach", name)?.sum();
                let is_little = stopped < STOPPED_MIN * 1e3 * self.facts.window_s;
                Some(if is_little { 0.0 } else { reach / stopped })
            }
            LimitKind::Stage => {
                let stages = ["ReadStage", "MutationStage"];
                let waits = stages.iter().filter_map(|stage| self.waiting_share(stage, name));
                waits.reduce(f64::max)
            }
            LimitKind::TransportQueue => self.waiting_share("Native-Transport-Requests", name),
            LimitKind::FlushWriters => self.waiting_share("MemtableFlushWriter", name),
            LimitKind::MemtableSpace => view.mean("memtable_pool.blocked/s", name),
            LimitKind::CommitLogSegments => view.mean("commit_log.waiting_on_segment/s", name),
            LimitKind::CommitLogSync => self.commit_log_sync(name),
            LimitKind::CompactionThroughput => self.compaction_throughput(node),
            LimitKind::Compactors => self.compactors(node),
            LimitKind::Network => self.network(node),
            LimitKind::BetweenNodes => self.between_nodes(name),
            LimitKind::ClientLink => self.client_link(name),
            LimitKind::ReadRepair => {
                let reads = view.mean("client_request.Read.ops/s", name)?;
                let repairs = view.mean("read_repair.blocking/s", name)?;
                (reads > 0.0).then(|| repairs / reads)
            }
            LimitKind::SstablesPerRead => view.mean("sstables_per_read.p99", name),
            LimitKind::Tombstones => view.mean("tombstones_per_read.p99", name),
            LimitKind::Caches => {
                let caches = ["cache.keys.hit_ratio", "cache.chunks.hit_ratio"];
                let misses = caches.iter().filter_map(|cache| view.mean(cache, name));
                misses.map(|hits| 1.0 - hits).reduce(f64::max)
            }
            LimitKind::Shedding => {
                let clients = ["clients.timed_out_in_queue/s", "clients.discarded/s"];
                let refused = clients.iter().filter_map(|series| view.mean(series, name));
                let dropped =
                    view.like(["dropped.", "/s"], name).into_iter().map(WindowSeries::mean);
                refused.chain(dropped).reduce(|sum, rate| sum + rate)
            }
            _ => None,
        }
    }

    fn per_node(
        &self,
        kind: LimitKind,
        value: impl Fn(&NodeFacts) -> Option<f64>,
    ) -> Vec<LimitReading> {
        let nodes = self.facts.nodes.iter();
        nodes.filter_map(|node| Some(reading(kind, &node.name, value(node)?))).collect()
    }

    fn per_host(
        &self,
        kind: LimitKind,
        value: impl Fn(&Self, &NodeFacts) -> Option<(f64, bool)>,
    ) -> Vec<LimitReading> {
        let of = |node: &NodeFacts| {
            let (value, has_queue) = value(self, node)?;
            let reading = reading(kind, &node.host, value);
            let is_full = reading.is_full && has_queue;
            Some(LimitReading { is_full, ..reading })
        };
        self.facts.nodes.iter().filter_map(of).collect()
    }

    fn client(&self) -> Vec<LimitReading> {
        let loads = self.facts.client.iter();
        loads
            .map(|load| LimitReading {
                limit: load.limit,
                is_full: load.value >= load.limit,
                ..reading(LimitKind::Client, "", load.value)
            })
            .collect()
    }

    /// Returns the used share of the CPUs that a node may use, and true if tasks waited for a CPU.
    /// If the CPU pressure was not read, the function assumes that tasks waited.
    fn cpu(&self, node: &NodeFacts) -> Option<(f64, bool)> {
        let view = &self.view;
        // A CPU that waits for I/O could run other tasks, so the waiting time is added to the idle
        // time.
        let idle_at = |place: &str| {
            let waits = view.mean("mpstat.%iowait", place).unwrap_or_default();
            Some(view.mean("mpstat.%idle", place)? + waits)
        };
        let at = |device: &str| {
            let here = idle_at(&format!("{}{device}", node.host));
            here.or_else(|| idle_at(&format!("{MACHINE}{device}")))
        };
        let idle = if node.cpu_numbers.is_empty() {
            at("")?
        } else {
            let cpus = node.cpu_numbers.iter();
            let idle: Vec<f64> = cpus.filter_map(|cpu| at(&format!("/cpu{cpu}"))).collect();
            (!idle.is_empty()).then(|| idle.iter().sum::<f64>() / idle.len() as f64)?
        };
        let of_host = view.mean("psi.cpu.some", &node.host);
        let pressure = of_host.or_else(|| view.mean("psi.cpu.some", MACHINE));
        let has_queue = pressure.is_none_or(|percent| percent / 100.0 >= CPU_PRESSURE_MIN);
        Some((1.0 - idle / 100.0, has_queue))
    }

    /// Returns the share of the machine's CPUs that other programs used, and true if the CPUs were
    /// full. Returns `None` if this share is unknown.
    fn other_programs(&self, node: &NodeFacts) -> Option<(f64, bool)> {
        if self.facts.are_others_unknown {
            return None;
        }
        let others = self.view.mean("cpu.others", MACHINE)? / 100.0;
        let limit = LimitKind::Cpu.row().limit;
        let is_full = self.cpu(node).is_some_and(|(used, waits)| used >= limit && waits);
        Some((others, is_full))
    }

    fn quota(&self, node: &NodeFacts) -> Option<f64> {
        let share = self.view.mean("cgroup.throttled", &node.host).map(|percent| percent / 100.0);
        share.filter(|_| node.has_quota)
    }

    /// Returns the readings of the threads of each node. A thread limits the load only while the
    /// host of the node has idle CPUs.
    fn thread(&self) -> Vec<LimitReading> {
        let mut found = Vec::new();
        for node in &self.facts.nodes {
            let is_full =
                self.cpu(node).is_some_and(|(used, _)| used >= LimitKind::Cpu.row().limit);
            // Each reading contains only the busiest thread, so the share of a thread is computed
            // over the readings of all threads.
            let threads = self.view.below("threads.%CPU", &node.name);
            let count: u64 = threads.iter().map(|thread| thread.count()).sum();
            found.extend(threads.into_iter().map(|thread| {
                let share = thread.sum() / count as f64 / 100.0;
                let reading = reading(LimitKind::Thread, thread.place, share);
                LimitReading {
                    is_full: reading.is_full && !is_full,
                    ..reading
                }
            }));
        }
        found
    }

    /// Returns the share of the window in which garbage collections stopped a node. Returns `None`
    /// if the node has neither collector readings nor logged pauses.
    fn stopped_share(&self, node: &str) -> Option<f64> {
        let collectors = self.view.like(["jvm.gc.", ".paused_ms/s"], node);
        let pauses = self.view.like(["gc.pause", ""], node);
        let add = |sum: f64, ms: f64| sum + ms;
        let ms_per_s = collectors.into_iter().map(WindowSeries::mean).reduce(add);
        let logged_ms = pauses.into_iter().map(WindowSeries::sum).reduce(add);
        let counted = ms_per_s.map(|ms_per_s| ms_per_s / 1e3);
        let logged = logged_ms.map(|ms| ms / 1e3 / self.facts.window_s);
        counted.into_iter().chain(logged).reduce(f64::max)
    }

    fn longest_pause_ms(&self, node: &str) -> Option<f64> {
        let log = self
            .view
            .like(["gc.pause", ""], node)
            .into_iter()
            .map(WindowSeries::max)
            .reduce(f64::max);
        // If the log exists but has no pause in the window, the longest pause is 0, not unknown.
        let has_log = || self.view.at("safepoint.stopped", node).map(|_| 0.0);
        log.or_else(has_log)
    }

    fn waiting_share(&self, pool: &str, node: &str) -> Option<f64> {
        let pending = self.view.at(&format!("thread_pools.{pool}.pending"), node)?;
        Some(pending.share(|count| count >= 1.0))
    }

    /// Returns the p99 of the wait for a sync, divided by the p99 of the write latency. If no write
    /// waited, the wait has no p99 and the result is 0.
    fn commit_log_sync(&self, node: &str) -> Option<f64> {
        let waits = self.view.mean("commit_log.waiting_on_commit/s", node)?;
        let Some(wait_ms) = self.view.mean("commit_log.waiting_on_commit.p99", node) else {
            return Some(0.0).filter(|_| waits == 0.0);
        };
        Some(wait_ms / self.view.mean("client_request.Write.p99", node)?)
    }

    /// Returns the throughput of compaction divided by its limit, or 0 if the limit is 0
    /// (unlimited). Also returns 0 unless compactions are pending almost all the time and the
    /// number of pending compactions does not fall. Cassandra counts the bytes of a compaction when
    /// the compaction ends, so this function adds the bytes of the running compactions.
    fn compaction_throughput(&self, node: &NodeFacts) -> Option<f64> {
        let limit = node.compaction_bytes_per_s?;
        let pending = self.view.at("compactions.pending", &node.name)?;
        let ended = self.view.mean("compactions.bytes/s", &node.name)?;
        if limit == 0.0 || pending.share(|count| count >= 1.0) < 0.9 || !pending.is_not_falling() {
            return Some(0.0);
        }
        let running = self.view.at("compactions.running_done", &node.name)?;
        let more = running.last() - running.first();
        Some((ended + more / self.facts.window_s) / limit)
    }

    /// Returns the number of running compactions divided by the number of compactors. Returns 0
    /// unless compactions wait almost all the time and the number of pending compactions does not
    /// fall.
    fn compactors(&self, node: &NodeFacts) -> Option<f64> {
        let pending = self.view.at("compactions.pending", &node.name)?;
        let running = self.view.mean("compactions.running", &node.name)?;
        let compactors = node.compactors?;
        let waits = pending.share(|count| count > running).min(1.0) >= 0.9;
        Some(if waits && pending.is_not_falling() {
            running / compactors
        } else {
            0.0
        })
    }

    /// Returns the queue lengths of each node's disks. If the host of a node has no disk readings,
    /// the function uses the disks of the machine that runs cassay.
    fn disk_queue(&self) -> Vec<LimitReading> {
        let disks = self.facts.nodes.iter().flat_map(|node| self.disks(node));
        disks
            .map(|disk| reading(LimitKind::DiskQueue, disk.place, disk.mean()))
            .collect()
    }

    /// Returns the use of each disk with known limits, relative to the limit that the disk is
    /// closest to.
    fn disk_rate(&self) -> Vec<LimitReading> {
        let of = |node: &NodeFacts| {
            let disks = self.disks(node).into_iter();
            let shares = disks.filter_map(|disk| {
                let share = self.share_of_disk_limit(node, disk.place)?;
                Some(reading(LimitKind::DiskRate, disk.place, share))
            });
            shares.collect::<Vec<_>>()
        };
        self.facts.nodes.iter().flat_map(of).collect()
    }

    fn disks(&self, node: &NodeFacts) -> Vec<&'a WindowSeries<'a>> {
        let own = self.view.below("iostat.aqu-sz", &node.host);
        if own.is_empty() {
            self.view.below("iostat.aqu-sz", MACHINE)
        } else {
            own
        }
    }

    fn share_of_disk_limit(&self, node: &NodeFacts, device: &str) -> Option<f64> {
        const SERIES: [(&str, f64); 4] = [
            ("iostat.r/s", 1.0),
            ("iostat.w/s", 1.0),
            ("iostat.rkB/s", 1024.0),
            ("iostat.wkB/s", 1024.0),
        ];
        let uses = SERIES.iter().zip(node.disk);
        let shares = uses.filter_map(|((series, factor), limit)| {
            Some(self.view.mean(series, device)? * factor / limit?)
        });
        shares.reduce(f64::max)
    }

    /// Returns the rate of bytes on a node's link divided by the rate of the link, for the busier
    /// direction.
    fn network(&self, node: &NodeFacts) -> Option<f64> {
        let rate = node.link_bytes_per_s?;
        let directions = ["sar.rxkB/s", "sar.txkB/s"].map(|name| {
            let links = self.view.below(name, &node.host).into_iter();
            let outside = links.filter(|link| !link.place.ends_with("/lo"));
            outside.map(WindowSeries::mean).reduce(|sum, kib| sum + kib)
        });
        let busiest = directions.into_iter().flatten().reduce(f64::max)?;
        Some(busiest * 1024.0 / rate)
    }

    fn packet_loss(&self) -> Vec<LimitReading> {
        let lost = self.view.all_of("netstat.retransmitted").into_iter();
        lost.filter_map(|lost| {
            let sent = self.view.mean("netstat.segments_sent", lost.place)?;
            (sent > 0.0).then(|| reading(LimitKind::PacketLoss, lost.place, lost.mean() / sent))
        })
        .collect()
    }

    /// Returns the number of requests per second that a node coordinates, and their mean time in
    /// ms. Returns `None` if the node coordinates no requests of this kind, or if a value is
    /// unknown.
    fn coordinated(&self, node: &str, kind: &str) -> Option<(f64, f64)> {
        let rate = self.view.mean(&format!("client_request.{kind}.ops/s"), node)?;
        let mean = self.view.mean(&format!("client_request.{kind}.mean"), node)?;
        (rate > 0.0).then_some((rate, mean))
    }

    /// Returns the share of a coordinator's time that it did not spend in local reads or writes.
    /// Returns 0 if this time is below [`LINK_MS_MIN`] per request.
    fn between_nodes(&self, node: &str) -> Option<f64> {
        // A single node does not wait for other nodes, so the share is unknown.
        (self.facts.nodes.len() > 1).then_some(())?;
        let kinds = [("Read", ".local_read"), ("Write", ".local_write")];
        let (mut requests, mut whole, mut local) = (0.0, 0.0, 0.0);
        for (request, table) in kinds {
            let Some((rate, mean)) = self.coordinated(node, request) else {
                continue;
            };
            let tables = self.view.like(["table.", ".mean"], node).into_iter();
            let means = tables.filter(|one| one.name.contains(table)).map(WindowSeries::mean);
            requests += rate;
            whole += rate * mean;
            local += rate * means.reduce(f64::max)?;
        }
        let between_ms = (whole - local) / requests;
        (whole > 0.0).then(|| {
            if between_ms < LINK_MS_MIN {
                0.0
            } else {
                1.0 - local / whole
            }
        })
    }

    /// Returns the share of the service time at the client that requests spent outside the
    /// coordinator. Returns 0 if this time is below [`LINK_MS_MIN`].
    fn client_link(&self, node: &str) -> Option<f64> {
        let kinds = ["Read", "Write"].iter().filter_map(|kind| self.coordinated(node, kind));
        let add = |sum: (f64, f64), (rate, mean): (f64, f64)| (sum.0 + rate, sum.1 + rate * mean);
        let (rate, time) = kinds.fold((0.0, 0.0), add);
        let service = self.facts.service_mean_ms?;
        let outside = service - time / rate;
        (rate > 0.0).then(|| {
            if outside < LINK_MS_MIN {
                0.0
            } else {
                outside / service
            }
        })
    }
}

fn reading(kind: LimitKind, place: &str, value: f64) -> LimitReading {
    let limit = kind.row().limit;
    LimitReading {
        kind,
        place: place.to_owned(),
        value,
        limit,
        is_full: value >= limit,
    }
}
