//! Tests the readings of a working node. cassay reads a local node through MBeans and its GC log.
//! It reads an attached node through the agent's port and password. If the node has no agent,
//! cassay reads it by CQL alone.

use super::{dirs, small};
use crate::program::{HANG_LIMIT, Lab, is_line_since};
use ::cassandra::Permit;
use ::cassandra::probe::{ProbeSpec, Reading};
use cluster::Cluster;
use measure::clock::{self, SECOND_NS};
use std::collections::BTreeMap;
use std::time::Duration;
use target_spec::{Allow, AttachSpec, Capability, JolokiaAccess, LocalSpec, SecretSource, Target};

/// Number of rows that are written and read one by one while the probes run.
const ROWS: u64 = 2000;

/// Returns the specification of every probe of a node, with five readings a second.
fn every_probe() -> ProbeSpec {
    let period = Some(Duration::from_millis(200));
    ProbeSpec {
        jvm: period,
        cassandra: period,
        gc_log: period,
        ..ProbeSpec::default()
    }
}

fn start(spec: &Target, lab: &Lab) -> Cluster {
    let cluster = cluster::start(spec, &dirs(lab), &mut |_| ()).unwrap();
    cluster.permit(Permit {
        allow: Allow::parse("write=watched").unwrap(),
        ..Permit::default()
    });
    cluster
}

/// Readings of one series in the order of time: time in ns, and value.
type Series = Vec<(u64, f64)>;

/// Writes and reads rows between two readings. Returns all readings between the first reading and
/// the last.
fn watch(cluster: &Cluster) -> BTreeMap<String, Series> {
    let probes = cluster.probe(&every_probe(), "watched", &["rows"]).unwrap();
    let mut seen: Vec<Reading> = Vec::new();
    // Waits for new readings, because earlier readings may still be queued.
    let mut await_looks = |count: usize| {
        let from_ns = clock::now_ns();
        let looks = |seen: &[Reading]| {
            let is_look = |one: &&Reading| &*one.name == "thread_pools.ReadStage.active";
            let new = seen.iter().filter(|one| one.at_ns > from_ns);
            new.filter(is_look).count()
        };
        let deadline = clock::Deadline::after(HANG_LIMIT);
        while looks(&seen) < count {
            assert!(!deadline.passed(), "no look in {HANG_LIMIT:?}");
            clock::sleep(Duration::from_millis(20));
            seen.extend(probes.take());
        }
    };
    await_looks(2);
    let mut session = cluster.session().unwrap();
    for key in 0..ROWS {
        let write = format!("INSERT INTO watched.rows (key, value) VALUES ({key}, 'text')");
        session.query(&write).unwrap();
        let read = format!("SELECT value FROM watched.rows WHERE key = {key}");
        assert_eq!(session.query(&read).unwrap().rows.len(), 1);
    }
    await_looks(2);
    let (rest, costs) = probes.stop();
    seen.extend(rest);
    for cost in &costs {
        assert_eq!(cost.problems, Vec::<String>::new(), "{}", cost.probe);
        assert!(cost.looks >= 2 && cost.cpu_ns > 0, "{cost:?}");
    }
    let mut series: BTreeMap<String, Series> = BTreeMap::new();
    for one in seen {
        let of = series.entry(one.name.to_string()).or_default();
        of.push((one.at_ns, one.value));
    }
    series
}

/// Returns the number of events that a series of rates covers. Each value covers the time since the
/// previous reading. If a counter first appears during the test, its first value covers the time
/// since the last reading of `clients.connected`.
fn counted(series: &BTreeMap<String, Series>, name: &str) -> u64 {
    let rate = &series[name];
    let looks = series["clients.connected"].iter().map(|(at_ns, _)| *at_ns);
    let mut last_ns = looks.filter(|at_ns| *at_ns < rate[0].0).max();
    let mut sum = 0.0;
    for (at_ns, value) in rate {
        let since_ns = at_ns - last_ns.unwrap_or(*at_ns);
        sum += value * since_ns as f64 / SECOND_NS as f64;
        last_ns = Some(*at_ns);
    }
    sum.round() as u64
}

fn last(series: &BTreeMap<String, Series>, name: &str) -> f64 {
    let values = series.get(name).unwrap_or_else(|| panic!("no {name}"));
    values.last().expect("a series without values").1
}

/// Checks that every row is counted once. The limits are not exact, because a rate covers the time
/// between two readings, and this time is less exact on a busy machine. `more` is the number of
/// operations that the server itself may perform.
#[track_caller]
fn assert_counted(series: &BTreeMap<String, Series>, name: &str, more: u64) {
    let count = counted(series, name);
    let range = ROWS - ROWS / 100..=ROWS + more;
    assert!(range.contains(&count), "{name}: {count}, not in {range:?}");
}

/// Asserts that the node counts its operations, regardless of how the test reads the counts.
#[track_caller]
fn assert_operations_are_counted(series: &BTreeMap<String, Series>) {
    for name in [
        "table.rows.local_write.ops/s",
        "table.rows.local_read.ops/s",
    ] {
        assert_counted(series, name, ROWS / 100);
    }
    for name in ["client_request.Write.ops/s", "client_request.Read.ops/s"] {
        // Counts from MBeans cover all keyspaces, and the server itself sometimes makes requests.
        // So the counts may be higher.
        assert_counted(series, name, ROWS / 2);
    }
    // The server also counts the statements of the readings themselves. Cassandra has a table with
    // these counts since 4.1.
    if is_line_since("4.1") || series.contains_key("jvm.threads") {
        assert!(counted(series, "cql.regular/s") >= 2 * ROWS);
    }
    assert!(counted(series, "thread_pools.Native-Transport-Requests.completed/s") >= 2 * ROWS);
    assert!(last(series, "clients.connected") >= 1.0);
    assert_eq!(last(series, "compactions.running"), 0.0);
    assert!(last(series, "cache.keys.capacity") > 0.0);
}

fn assert_the_jvm_is_seen(series: &BTreeMap<String, Series>, heap_bytes: f64) {
    assert_eq!(last(series, "jvm.heap_max"), heap_bytes);
    let used = last(series, "jvm.heap_used");
    assert!(used > 1e6 && used < heap_bytes, "{used}");
    assert!(last(series, "jvm.threads") > 10.0);
    assert!(last(series, "jvm.pool.G1_Old_Gen.committed") > 0.0);
    assert!(series.contains_key("jvm.gc.G1_Young_Generation.collections/s"));
    let busiest = series["jvm.%cpu"].iter().map(|(_, value)| *value).fold(0.0, f64::max);
    assert!(
        busiest > 1.0,
        "{busiest} % of a CPU for {ROWS} writes and reads"
    );
}

/// Asserts that each of two profiles in a row contains Cassandra's methods in a thread that reads.
#[track_caller]
fn assert_a_profile_shows_the_reads(cluster: &Cluster) {
    let mut session = cluster.session().unwrap();
    for round in 0..2 {
        let started_ns = cluster.start_profilers("event=ctimer,interval=1000000").unwrap();
        for key in 0..ROWS {
            let read = format!("SELECT value FROM watched.rows WHERE key = {key}");
            session.query(&read).unwrap();
        }
        let profiles = cluster.stop_profilers(&started_ns, false).unwrap();
        let [profile] = &profiles[..] else {
            panic!("{profiles:?}");
        };
        assert_eq!(profile.node, "node1");
        assert!(profile.seconds > 0.0);
        // A read of local rows runs in the read stage, or at once in the thread of its request.
        let is_read = |line: &&str| {
            let has_thread = line.starts_with("[ReadStage-") || line.starts_with("[Native-");
            has_thread && line.contains(";org/apache/cassandra/")
        };
        let reads = profile.stacks.lines().filter(is_read).count();
        assert!(reads > 0, "round {round}: {}", profile.stacks);
    }
    let unknown = cluster.start_profilers("event=no-such-event").unwrap_err();
    let unknown = format!("{unknown:#}");
    assert!(unknown.contains("profiler of node1"), "{unknown}");
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn probes_of_a_managed_node_count_operations_and_see_pauses() {
    let lab = Lab::new();
    let spec = LocalSpec {
        profiler: true,
        ..small(1)
    };
    let cluster = start(&Target::Local(spec), &lab);
    let mut session = cluster.session().unwrap();
    session
        .execute_schema(
            "CREATE KEYSPACE watched WITH replication = {'class': 'SimpleStrategy', \
             'replication_factor': 1}",
        )
        .unwrap();
    let table = "CREATE TABLE watched.rows (key bigint PRIMARY KEY, value text)";
    session.execute_schema(table).unwrap();
    assert_eq!(unseen(&cluster), Vec::<String>::new());

    let series = watch(&cluster);
    assert_operations_are_counted(&series);
    assert_the_jvm_is_seen(&series, (512 << 20) as f64);
    let hints = is_line_since("4.1").then_some("hints.pending");
    for name in ["compactions.pending", "gossip.unreachable"].into_iter().chain(hints) {
        assert_eq!(last(&series, name), 0.0, "{name}");
    }
    // The count may be higher, because the server itself sometimes writes.
    assert_counted(&series, "commit_log.completed/s", ROWS / 2);
    let mean = series["client_request.Write.mean"].iter().map(|(_, value)| *value);
    assert!(
        mean.clone().all(|ms| ms > 0.0 && ms < 10_000.0),
        "{:?}",
        mean.collect::<Vec<_>>()
    );
    assert!(series["safepoint.stopped"].iter().all(|(_, ms)| *ms >= 0.0));
    assert_a_profile_shows_the_reads(&cluster);

    // Attaches to the same node and reads it as an attached node.
    let clusters = std::fs::read_dir(lab.clusters()).unwrap();
    let files = clusters.map(|entry| entry.unwrap().path().join("node1/conf/jolokia.properties"));
    let file = files.into_iter().find(|file| file.is_file());
    let properties = std::fs::read_to_string(file.expect("the agent's properties")).unwrap();
    let property = |name: &str| {
        let lines = properties.lines();
        let mut value = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        value.next_back().unwrap_or_else(|| panic!("no {name}")).to_string()
    };
    let password = lab.path().join("password");
    std::fs::write(&password, property("password")).unwrap();
    let jolokia = JolokiaAccess {
        port: property("port").parse().unwrap(),
        user: Some(property("user")),
        password: Some(SecretSource::File(password.clone())),
        tls: None,
    };
    let attach = AttachSpec {
        contact_points: vec![cluster.nodes()[0].address.to_string()],
        jolokia: Some(jolokia),
        ..AttachSpec::default()
    };
    let by_mbeans = with_its_password_an_attached_node_shows_as_much(&attach, &lab);
    with_a_wrong_password_it_says_so(&attach, &password, &lab);
    if is_line_since("6.0") {
        by_cql_alone_its_metrics_are_what_its_mbeans_are(&attach, &by_mbeans, &lab);
    } else {
        by_cql_alone_operations_are_seen_and_the_rest_is_named(&attach, &lab);
    }
    cluster.stop().unwrap();
}

/// Returns the series that no probe can read, except the hardware counters, which most virtual
/// machines do not have.
fn unseen(cluster: &Cluster) -> Vec<String> {
    let mut unseen = cluster.unseen(&every_probe());
    unseen.retain(|one| !one.starts_with("hosts: hardware counters"));
    unseen
}

fn with_its_password_an_attached_node_shows_as_much(
    attach: &AttachSpec,
    lab: &Lab,
) -> BTreeMap<String, Series> {
    let theirs = start(&Target::Attach(attach.clone()), lab);
    assert!(theirs.can(Capability::Settle));
    let unseen = unseen(&theirs);
    assert_eq!(unseen.len(), 1, "{unseen:?}");
    assert!(unseen[0].starts_with("gc_log: "), "{unseen:?}");
    let settled = theirs.settle("watched", &["rows"], HANG_LIMIT, &mut |_| ());
    assert_eq!(settled.unwrap().outcome, cluster::SettleOutcome::Settled);
    let series = watch(&theirs);
    assert_operations_are_counted(&series);
    assert_the_jvm_is_seen(&series, (512 << 20) as f64);
    // Settling has already flushed the earlier rows to disk, so the node has one SSTable.
    assert_eq!(last(&series, "table.rows.live_sstables"), 1.0);
    assert!(last(&series, "table.rows.live_disk_space") > 1000.0);
    series
}

fn with_a_wrong_password_it_says_so(attach: &AttachSpec, password: &std::path::Path, lab: &Lab) {
    std::fs::write(password, "not-the-password").unwrap();
    let theirs = start(&Target::Attach(attach.clone()), lab);
    assert!(!theirs.can(Capability::Mbeans));
    assert_eq!(theirs.can(Capability::Settle), is_line_since("6.0"));
    let unseen = theirs.unseen(&every_probe()).join("\n");
    assert!(unseen.contains("refuses the user or password"), "{unseen}");
    let shown = format!("{unseen} {theirs:?} {attach:?}");
    assert!(!shown.contains("not-the-password"), "{shown}");
}

/// Tests that, from Cassandra 6.0 on, tables of metrics return the same series as MBeans.
fn by_cql_alone_its_metrics_are_what_its_mbeans_are(
    attach: &AttachSpec,
    by_mbeans: &BTreeMap<String, Series>,
    lab: &Lab,
) {
    let attach = AttachSpec {
        jolokia: None,
        ..attach.clone()
    };
    let theirs = start(&Target::Attach(attach), lab);
    assert!(theirs.can(Capability::Settle));
    let settled = theirs.settle("watched", &["rows"], HANG_LIMIT, &mut |_| ()).unwrap();
    assert_eq!(settled.outcome, cluster::SettleOutcome::Settled);
    assert!(
        settled.detail.contains("0 pending, 1 SSTables"),
        "{}",
        settled.detail
    );
    let unseen = theirs.unseen(&every_probe()).join("\n");
    for what in [
        "jvm: heap",
        "over CQL, from system_metrics and system_views",
        "gc_log: pauses",
    ] {
        assert!(unseen.contains(what), "{unseen}");
    }
    let series = watch(&theirs);
    assert_operations_are_counted(&series);
    for same in [
        "table.rows.live_sstables",
        "table.rows.live_disk_space",
        "table.rows.total_disk_space",
        "table.rows.compression_ratio",
        "cache.keys.capacity",
        "commit_log.size",
        "compactions.pending",
    ] {
        assert_eq!(last(&series, same), last(by_mbeans, same), "{same}");
    }
    // The units must match. In other units, a percentile would differ by a factor of a thousand.
    for near in ["client_request.Write.p99", "client_request.Write.mean"] {
        let ratio = last(&series, near) / last(by_mbeans, near);
        assert!((0.02..50.0).contains(&ratio), "{near}: {ratio}");
    }
    // Tables lack these series, because they belong to the JVM or to gossip, or exist only while
    // tasks wait.
    let others = [
        "jvm.",
        "safepoint",
        "gossip.",
        "hints.pending",
        "commit_log.waiting_on",
    ];
    let is_elsewhere = |name: &&String| others.iter().any(|other| name.starts_with(other));
    // A statistic of requests exists only after a request of its kind. The server itself sometimes
    // scans, so its statistics of scans may exist.
    let is_idle = |name: &&String| {
        let kind = name.strip_suffix(".mean").or(name.strip_suffix(".p99"));
        let rate = kind.map(|kind| format!("{kind}.ops/s"));
        rate.is_some_and(|rate| series.contains_key(&rate) && counted(&series, &rate) == 0)
    };
    let missing: Vec<&String> = by_mbeans
        .keys()
        .filter(|name| !series.contains_key(*name) && !is_elsewhere(name) && !is_idle(name))
        .collect();
    assert_eq!(missing, Vec::<&String>::new());
}

fn by_cql_alone_operations_are_seen_and_the_rest_is_named(attach: &AttachSpec, lab: &Lab) {
    let attach = AttachSpec {
        jolokia: None,
        ..attach.clone()
    };
    let theirs = start(&Target::Attach(attach), lab);
    assert!(!theirs.can(Capability::Settle));
    let unseen = theirs.unseen(&every_probe()).join("\n");
    for what in [
        "jvm: heap",
        "cannot read pending compactions",
        "gc_log: pauses",
        "port: 8778",
    ] {
        assert!(unseen.contains(what), "{unseen}");
    }
    let series = watch(&theirs);
    assert_operations_are_counted(&series);
    assert!(
        !series.keys().any(|name| name.starts_with("jvm.")),
        "{series:?}"
    );
}

/// The test causes both events. A background compaction of a corrupted file throws an exception
/// that no caller catches. A table that another client creates is a schema change.
#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn uncaught_exceptions_and_schema_changes_are_reported() {
    let lab = Lab::new();
    let cluster = start(&Target::Local(small(1)), &lab);
    let mut session = cluster.session().unwrap();
    for cql in [
        "CREATE KEYSPACE watched WITH replication = {'class': 'SimpleStrategy', \
         'replication_factor': 1}",
        "CREATE TABLE watched.rows (key bigint PRIMARY KEY, value text) WITH compaction = \
         {'class': 'SizeTieredCompactionStrategy', 'min_threshold': 2}",
    ] {
        session.execute_schema(cql).unwrap();
    }
    let mut write_and_settle = || {
        for key in 0..ROWS {
            let write = format!("INSERT INTO watched.rows (key, value) VALUES ({key}, 'text')");
            session.query(&write).unwrap();
        }
        cluster
            .settle("watched", &["rows"], Duration::from_secs(15), &mut |_| ())
            .unwrap()
    };
    write_and_settle();
    let before = cluster.query_reports();
    let same = cluster.query_reports().since(&before);
    assert_eq!(same.exceptions, Some(Vec::new()));
    assert_eq!(same.metadata, Vec::<String>::new());
    let handles = cluster.handles().unwrap();
    let (file, bytes) = handles.nodes[target_spec::NodeIndex(0)].data_file().unwrap();
    let mut data = std::fs::read(&file).unwrap();
    assert_eq!(data.len() as u64, bytes);
    data.iter_mut()
        .skip(bytes as usize / 2)
        .take(64)
        .for_each(|byte| *byte = !*byte);
    std::fs::write(&file, data).unwrap();
    write_and_settle();
    cluster
        .session()
        .unwrap()
        .execute_schema("CREATE TABLE watched.more (key int PRIMARY KEY)")
        .unwrap();
    let since = cluster.query_reports().since(&before);
    let told = since.exceptions.unwrap();
    let names_it = !is_line_since("6.0") || told.iter().any(|one| one.contains("Corrupt"));
    assert!(!told.is_empty() && names_it, "{told:?}");
    let [changed] = &since.metadata[..] else {
        panic!("{:?}", since.metadata)
    };
    let words = if is_line_since("6.0") {
        "SCHEMA_CHANGE"
    } else {
        "the schema, from version"
    };
    assert!(changed.contains(words), "{changed}");
    cluster.stop().unwrap();
}
