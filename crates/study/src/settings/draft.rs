//! Collects the values of a study's keys, and converts them to settings.
//!
//! A tree without mistakes replaces every default of a draft, except for optional settings. A tree
//! with mistakes can also be converted to settings, but these settings must not be run.

use super::kubernetes_keys::KubernetesDraft;
use super::own_cassandra::OwnCassandra;
use super::{
    Capacity, Client, ClientMachine, Data, FaultDraft, Guard, HostsDraft, Import, ImportedCommands,
    Keyspace, LADDER_POINTS_MAX, Load, OwnTable, Phase, Price, Primary, PrimaryMetric, Probes,
    Profile, ProfiledTrials, ROWS_UNLOADED, RecordedTraffic, Repeat, Require, ScaleUp, Settings,
    Tune, Verify, Why, Window, Workload,
};
use analysis::procedure::{
    Band, Bound, Endurance, FixedPoint, Percentile, Point, Procedure, Search, Sweep, Until,
};
use imports::Tool;
use target_spec::fault::Commands;
use target_spec::{
    AttachSpec, HostIndex, HostsSpec, JolokiaAccess, LocalSpec, NullSpec, RemoteHost, Target,
    TlsSpec,
};
use versions::Release;
use workload::{ALL_KINDS, Tuning};

/// Values of the study's keys that have been applied so far.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    pub(crate) name: String,
    pub(crate) question: String,
    pub(crate) published: Option<String>,
    pub(crate) seed: u64,
    pub(crate) repeat: Repeat,
    /// Experiments after the trials. `None` if the study does not request them.
    pub(crate) why: Option<Why>,
    /// Tuning after the trials. `None` if the study does not request it.
    pub(crate) tune: Option<Tune>,
    /// True if blocks are added until the question is answered.
    pub(crate) answered: bool,
    pub(crate) blocks_min: usize,
    pub(crate) blocks_max: usize,
    pub(crate) primary: Primary,
    pub(crate) repeat_primary: Option<PrimaryMetric>,
    pub(crate) kind: TargetKind,
    pub(crate) local: LocalSpec,
    /// Requested release of Cassandra. `None` if the study does not state a release.
    pub(crate) release: Option<Release>,
    pub(crate) own: OwnCassandra,
    /// Racks that the hosts get in turn. If the study has no hosts, the nodes get them. If the list
    /// is empty, each host has a separate rack.
    pub(crate) racks: Vec<String>,
    /// Number of hosts. 0 if the study does not state a number.
    pub(crate) hosts_count: usize,
    pub(crate) machines: Vec<RemoteHost>,
    /// Price of each machine per hour. `None` for a machine without a price.
    pub(crate) machine_prices: Vec<Option<f64>>,
    pub(crate) hosts: HostsSpec,
    pub(crate) nodes_per_host: usize,
    pub(crate) attach: AttachSpec,
    pub(crate) attached: HostsDraft,
    pub(crate) attached_kubernetes: KubernetesDraft,
    pub(crate) null: NullSpec,
    pub(crate) keyspace: Keyspace,
    pub(crate) workload: Workload,
    pub(crate) data: Data,
    /// Number of rows that the study declares to exist. 0 if it does not state a number.
    pub(crate) present: u64,
    /// Function that returns the procedure. `None` if an imported command line defines the load.
    pub(crate) procedure: Option<fn(&Draft) -> Procedure>,
    pub(crate) points: Vec<Point>,
    pub(crate) until: Option<Until>,
    /// Lower and upper bound of p99, in ms.
    pub(crate) band_ms: Vec<f64>,
    /// Bound of a search on a latency percentile.
    pub(crate) bound: Bound,
    /// Share of a search's result at which the study also measures. `None` if it does not.
    pub(crate) expected: Option<f64>,
    /// Length of an endurance run, in ns.
    pub(crate) for_ns: u64,
    /// Lengths of shorter windows that are measured before the endurance run, in ns.
    pub(crate) beside_ns: Vec<u64>,
    /// Difference of throughput that does not matter in an endurance run, as a share.
    pub(crate) within: f64,
    pub(crate) poisson: bool,
    pub(crate) range: Option<Range>,
    /// Length of the warm-up, in ns. `None` if the warm-up lasts until throughput is steady.
    pub(crate) warmup_ns: Option<u64>,
    pub(crate) warmup_max_ns: u64,
    /// Length of the warm-up before the first window, in ns. `None` if all warm-ups have the same
    /// length.
    pub(crate) first_warmup_ns: Option<u64>,
    pub(crate) measure_ns: u64,
    /// True if the window ends after the last fault.
    pub(crate) until_faults: bool,
    pub(crate) after_faults_ns: u64,
    pub(crate) client: Client,
    pub(crate) verify: Verify,
    /// True if probes run. `None` if the study does not state this.
    pub(crate) probed: Option<bool>,
    pub(crate) probes: Probes,
    pub(crate) period_ns: u64,
    pub(crate) series: Vec<Series>,
    pub(crate) faults: Vec<FaultDraft>,
    pub(crate) commands: Vec<Commands>,
    pub(crate) require: Require,
    pub(crate) guard: Guard,
    pub(crate) price: Option<Price>,
    pub(crate) capacity: Option<Capacity>,
    pub(crate) scale_up: Option<ScaleUp>,
    /// True if the design of a screening is folded over.
    pub(crate) fold: bool,
    /// Current key while a mapping with keys that the user chooses is applied. Otherwise empty.
    pub(crate) key: String,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum TargetKind {
    #[default]
    Null,
    Local,
    Attach,
}

/// An item of `probes.import`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    pub(crate) esxtop: Option<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) prometheus: Option<String>,
    pub(crate) period_ns: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Range {
    point: fn(u64) -> Point,
    /// Maximum value of a point.
    limit: u64,
    pub(crate) from: Option<u64>,
    pub(crate) to: Option<u64>,
    pub(crate) step: Option<u64>,
    pub(crate) factor: Option<f64>,
}

impl Range {
    pub(crate) fn new(limit: u64, point: fn(u64) -> Point) -> Range {
        Range {
            point,
            limit,
            from: None,
            to: None,
            step: None,
            factor: None,
        }
    }

    /// Returns at most `points_max` points of the range, in ascending order. If a range with a
    /// stated end has more points, the rules report it.
    pub(crate) fn points(&self, points_max: usize) -> Vec<u64> {
        let to = self.to.unwrap_or(self.limit);
        let next = |point: &u64| match (self.step, self.factor) {
            (Some(step), _) => Some(point.saturating_add(step)),
            // The next point is higher by at least one. Otherwise, a small factor would not change
            // a small number.
            (None, Some(factor)) => {
                Some(((*point as f64 * factor).round() as u64).max(point.saturating_add(1)))
            }
            (None, None) => None,
        };
        let points = std::iter::successors(self.from, next).take_while(|point| *point <= to);
        points.take(points_max).collect()
    }
}

impl Draft {
    pub(crate) fn repetition(&self) -> (Repeat, Primary) {
        let (mut repeat, mut primary) = (self.repeat, self.primary);
        if self.answered {
            repeat.blocks = self.blocks_max;
            repeat.first_look = Some(self.blocks_min);
        }
        primary.metric = self.repeat_primary.unwrap_or(primary.metric);
        (repeat, primary)
    }

    pub(crate) fn price(&mut self) -> &mut Price {
        self.price.get_or_insert_default()
    }

    pub(crate) fn scale_up(&mut self) -> &mut ScaleUp {
        self.scale_up.get_or_insert_default()
    }

    pub(crate) fn capacity(&mut self) -> &mut Capacity {
        self.capacity.get_or_insert_default()
    }

    pub(crate) fn tls(&mut self) -> &mut TlsSpec {
        self.attach.tls.get_or_insert_default()
    }

    pub(crate) fn jolokia(&mut self) -> &mut JolokiaAccess {
        self.attach.jolokia.get_or_insert_default()
    }

    pub(crate) fn jolokia_tls(&mut self) -> &mut TlsSpec {
        self.jolokia().tls.get_or_insert_default()
    }

    pub(crate) fn range(&mut self) -> &mut Range {
        self.range.get_or_insert_with(|| Range::new(u64::MAX, Point::Rate))
    }

    pub(crate) fn bound(&mut self, of: Percentile, ms: f64) {
        self.bound = Bound {
            of,
            ms,
            ..self.bound
        };
    }

    /// Sets the price per hour of the machine that was added last.
    pub(crate) fn price_of_host(&mut self, per_hour: f64) {
        self.machine_prices.pop();
        self.machine_prices.push(Some(per_hour));
    }

    /// Returns the price per hour of all machines in use. `None` if the price of a machine is
    /// unknown, or if all machines are free.
    fn price_of_machines(&self) -> Option<Price> {
        let used = self.machine_prices.iter().take(self.hosts_count);
        let per_hour = used.copied().sum::<Option<f64>>()?;
        (per_hour > 0.0).then(|| Price {
            per_hour,
            ..Price::default()
        })
    }

    pub(crate) fn host(&mut self) -> &mut RemoteHost {
        if self.machines.is_empty() {
            self.machines.push(RemoteHost::default());
        }
        let last = self.machines.len() - 1;
        &mut self.machines[last]
    }

    pub(crate) fn machine(&mut self) -> &mut ClientMachine {
        if self.client.machines.is_empty() {
            self.client.machines.push(ClientMachine::default());
        }
        let last = self.client.machines.len() - 1;
        &mut self.client.machines[last]
    }

    pub(crate) fn series(&mut self) -> &mut Series {
        if self.series.is_empty() {
            self.series.push(Series::default());
        }
        let last = self.series.len() - 1;
        &mut self.series[last]
    }

    pub(crate) fn import(&mut self, tool: Tool, command: &str) {
        tool.name().clone_into(&mut self.workload.name);
        let none = ImportedCommands {
            tool,
            commands: Vec::new(),
            step: 0,
            range_workers: Vec::new(),
        };
        let import = self.workload.import.get_or_insert(none);
        import.commands.push(command.to_owned());
    }

    pub(crate) fn own_table(&mut self) -> &mut OwnTable {
        self.workload.table.get_or_insert_default()
    }

    pub(crate) fn recorded(&mut self) -> &mut RecordedTraffic {
        "recorded".clone_into(&mut self.workload.name);
        self.workload.recorded.get_or_insert_default()
    }

    /// Changes the settings of the current kind of operation, or of all kinds.
    pub(crate) fn tune(&mut self, change: impl FnOnce(&mut Tuning)) {
        let kind = if self.key.is_empty() {
            ALL_KINDS
        } else {
            &self.key
        };
        let mut tuning = Tuning::default();
        change(&mut tuning);
        self.workload.tunings.push((kind.to_owned(), tuning));
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings {
            target: self.target(),
            keyspace: self.keyspace.clone(),
            workload: self.workload(),
            data: self.data(),
            procedure: self.procedure.map_or_else(Procedure::default, |make| make(self)),
            poisson: self.poisson,
            window: Window {
                warmup: self.guard.warmup(self.warmup_ns, self.warmup_max_ns),
                first_warmup_ns: self.first_warmup_ns,
                measure_ns: self.measure_ns,
                after_faults_ns: self.until_faults.then_some(self.after_faults_ns),
            },
            client: self.client(),
            verify: self.verify,
            probes: self.probes(),
            faults: self.faults().into_iter().map(|(_, fault)| fault).collect(),
            require: self.require.clone(),
            guard: self.guard,
            price: self.price.clone().or_else(|| self.price_of_machines()),
            load_phase: None,
        }
    }

    /// Returns the target and the keyspace, which are the settings that a phase may change.
    pub(crate) fn phase(&self) -> Phase {
        Phase {
            target: self.target(),
            keyspace: self.keyspace.clone(),
        }
    }

    fn target(&self) -> Target {
        match self.kind {
            TargetKind::Null => Target::Null(self.null.clone()),
            TargetKind::Attach => Target::Attach(AttachSpec {
                hosts: self.attached_hosts(),
                kubernetes: self.attached_kubernetes.cluster(),
                ..self.attach.clone()
            }),
            TargetKind::Local => Target::Local(self.local()),
        }
    }

    pub(crate) fn local(&self) -> LocalSpec {
        let count = match &self.hosts.pods {
            Some(_) => self.hosts_count.max(1),
            None => self.hosts_count,
        };
        let pods = self.hosts.pods.iter().flat_map(|pods| pods.numbered(count));
        let hosts = (count > 0).then(|| HostsSpec {
            count,
            // The first machines of the list are used. The rules ensure that the list has enough
            // machines.
            machines: self.machines.iter().take(count).cloned().chain(pods).collect(),
            ..self.hosts.clone()
        });
        let nodes = hosts.as_ref().map(|hosts| hosts.nodes(self.nodes_per_host));
        let spec = LocalSpec {
            release: self.release.as_ref().unwrap_or(&self.local.release).clone(),
            origin: self.own.origin(),
            nodes: nodes.unwrap_or(self.local.nodes),
            profiler: self.probes.profile.is_some_and(|p| p.trials != ProfiledTrials::Extra),
            hosts,
            ..self.local.clone()
        };
        // All nodes of a host are in the same rack, because they fail together.
        let rack = |host: HostIndex| match self.racks.len() {
            0 => format!("rack{}", if count > 0 { host.number() } else { 1 }),
            racks => self.racks[host.0 % racks].clone(),
        };
        let racks = match count {
            // If the study has no hosts, each node counts as a host.
            0 => (0..spec.nodes).map(HostIndex).map(rack).collect(),
            _ => spec.seats().into_iter().map(|seat| rack(seat.host)).collect(),
        };
        LocalSpec { racks, ..spec }
    }

    /// Returns the workload. Changes to all kinds of operations come first in the list, so that
    /// changes to a single kind take precedence.
    pub(crate) fn workload(&self) -> Workload {
        let mut workload = self.workload.clone();
        workload.tunings.sort_by_key(|(kind, _)| kind != ALL_KINDS);
        if let Some(imported) = &mut workload.import {
            imported.range_workers = self.client().range_workers();
        }
        workload
    }

    /// Returns the settings of the data. [`crate::compile_workload::estimate_rows`] later converts
    /// a load in bytes to rows, when the program is known.
    pub(crate) fn data(&self) -> Data {
        let load_rows = match self.data.load {
            Load::None => 0,
            Load::Operations(rows) => rows,
            Load::BytesPerNode(_) | Load::Fraction(_) => ROWS_UNLOADED,
        };
        let rows = load_rows.max(self.present);
        Data {
            load_rows,
            has_rows: rows > 0,
            rows: if rows == 0 { ROWS_UNLOADED } else { rows },
            ..self.data.clone()
        }
    }

    pub(super) fn points(&self) -> Vec<Point> {
        let mut points = self.points.clone();
        if let Some(range) = &self.range {
            let values = range.points(LADDER_POINTS_MAX).into_iter();
            points.extend(values.map(range.point));
        }
        points
    }

    pub(crate) fn sweep(&self) -> Procedure {
        let (points, until) = (self.points(), self.until);
        Sweep { points, until }.into()
    }

    pub(crate) fn band(&self) -> Procedure {
        let Some(range) = &self.range else {
            return Procedure::default();
        };
        let [from, step, to] = [range.from, range.step, range.to].map(|n| n.unwrap_or(1) as u32);
        let ms = |at: usize| self.band_ms.get(at).copied().unwrap_or(0.0);
        Procedure::from(Band {
            from,
            step,
            to: to.max(from),
            least_ms: ms(0),
            most_ms: ms(1),
            expected: self.expected,
        })
    }

    pub(crate) fn peak(&self) -> Procedure {
        self.search(Search::peak)
    }

    pub(crate) fn latency_target(&self) -> Procedure {
        self.search(Search::latency_target)
    }

    fn search(&self, make: fn(Point, u64, Bound) -> Search) -> Procedure {
        let Some(range) = &self.range else {
            return Procedure::default();
        };
        let from = range.from.unwrap_or(1);
        let to = range.to.unwrap_or(from).max(from);
        Procedure::from(Search {
            expected: self.expected,
            ..make((range.point)(from), to, self.bound)
        })
    }

    pub(crate) fn endurance(&self) -> Procedure {
        let point = self.points.first();
        point.map_or_else(Procedure::default, |point| {
            Procedure::from(Endurance {
                point: *point,
                for_ns: self.for_ns,
                beside_ns: self.beside_ns.clone(),
                within: self.within,
            })
        })
    }

    pub(crate) fn fixed(&self) -> Procedure {
        let point = self.points.first();
        point.map_or_else(Procedure::default, |point| FixedPoint(*point).into())
    }

    /// Returns the profile, whose section is applied before its keys.
    pub(crate) fn profile(&mut self) -> &mut Profile {
        self.probes.profile.get_or_insert_default()
    }

    fn probes(&self) -> Option<Probes> {
        match (self.probed, self.kind) {
            (Some(false), _) | (None, TargetKind::Null) => None,
            (Some(true), _) | (None, TargetKind::Local | TargetKind::Attach) => Some(Probes {
                import: self.series.iter().map(|series| self.imported(series)).collect(),
                ..self.probes.clone()
            }),
        }
    }

    fn imported(&self, series: &Series) -> Import {
        let columns = series.columns.clone();
        match (&series.esxtop, &series.prometheus) {
            (Some(file), _) => Import::Esxtop {
                file: file.clone(),
                columns,
            },
            (None, Some(url)) if url.contains("://") => Import::PrometheusUrl {
                url: url.clone(),
                period_ns: series.period_ns.unwrap_or(self.period_ns),
            },
            (None, file) => Import::PrometheusFile {
                file: file.clone().unwrap_or_default(),
            },
        }
    }
}
