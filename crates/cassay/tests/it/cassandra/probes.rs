//! What a node says of itself while it works: by MBean and by its collector's log where it is ours,
//! by the agent's port and password where it is somebody else's, by CQL alone where there is
//! nothing more.

use super::{dirs, small};
use crate::program::{HANG_LIMIT, Lab, is_line_since};
use cluster::probe::{ProbeSpec, Reading};
use cluster::{Cluster, Permit};
use measure::clock::{self, SECOND_NS};
use std::collections::BTreeMap;
use std::time::Duration;
use target::{Ability, Allow, AttachSpec, JolokiaAccess, SecretSource, Target};

/// So many rows are written and read, one by one, while the probes look.
const ROWS: u64 = 2000;

/// Every probe of a node, five looks a second.
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

/// Readings of one series, in the order of time.
type Series = Vec<(u64, f64)>;

/// Writes and reads rows between two looks at least, and gives what was seen meanwhile.
fn watch(cluster: &Cluster) -> BTreeMap<String, Series> {
    let probes = cluster.probe(&every_probe(), "watched", &["rows"]).unwrap();
    let mut seen: Vec<Reading> = Vec::new();
    // Looks that begin from now on: what was read before may wait to be taken still.
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
        // What clients are not shown before 4.1 is said.
        let is_old = |said: &&String| !is_line_since("4.1") && said.contains("cql_metrics");
        let others: Vec<&String> = cost.problems.iter().filter(|said| !is_old(said)).collect();
        assert_eq!(others, Vec::<&String>::new(), "{}", cost.probe);
        assert!(cost.looks >= 2 && cost.cpu_ns > 0, "{cost:?}");
    }
    let mut series: BTreeMap<String, Series> = BTreeMap::new();
    for one in seen {
        let of = series.entry(one.name.to_string()).or_default();
        of.push((one.at_ns, one.value));
    }
    series
}

/// What a rate has counted: each of its values is of the time since the look before. The first one
/// of a counter that came with its first use has no value before it, but a look there was.
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

/// Every row is counted, once. Not to the row: a rate is over the time between two looks, which is
/// known less exactly the busier the machine is, and `more` is what the server may do for itself.
#[track_caller]
fn assert_counted(series: &BTreeMap<String, Series>, name: &str, more: u64) {
    let count = counted(series, name);
    let range = ROWS - ROWS / 100..=ROWS + more;
    assert!(range.contains(&count), "{name}: {count}, not in {range:?}");
}

/// What both ways must agree on: the node counts what was done to it.
#[track_caller]
fn assert_operations_are_counted(series: &BTreeMap<String, Series>) {
    for name in [
        "table.rows.local_write.ops/s",
        "table.rows.local_read.ops/s",
    ] {
        assert_counted(series, name, ROWS / 100);
    }
    for name in ["client_request.Write.ops/s", "client_request.Read.ops/s"] {
        // By MBean they are of all keyspaces: the server asks itself something now and then.
        assert_counted(series, name, ROWS / 2);
    }
    // The statements of the looks themselves are counted here too.
    assert!(counted(series, "cql.regular/s") >= 2 * ROWS);
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

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn probes_of_a_node_of_ours_count_what_is_done_to_it_and_see_its_pauses() {
    let lab = Lab::new();
    let cluster = start(&Target::Local(small(1)), &lab);
    let mut session = cluster.session().unwrap();
    session
        .execute_schema(
            "CREATE KEYSPACE watched WITH replication = {'class': 'SimpleStrategy', \
             'replication_factor': 1}",
        )
        .unwrap();
    let table = "CREATE TABLE watched.rows (key bigint PRIMARY KEY, value text)";
    session.execute_schema(table).unwrap();
    assert_eq!(cluster.unseen(&every_probe()), Vec::<String>::new());

    let series = watch(&cluster);
    assert_operations_are_counted(&series);
    assert_the_jvm_is_seen(&series, (512 << 20) as f64);
    let hints = is_line_since("4.1").then_some("hints.pending");
    for name in ["compactions.pending", "gossip.unreachable"].into_iter().chain(hints) {
        assert_eq!(last(&series, name), 0.0, "{name}");
    }
    // The server writes down things of its own, now and then.
    assert_counted(&series, "commit_log.completed/s", ROWS / 2);
    let mean = series["client_request.Write.mean"].iter().map(|(_, value)| *value);
    assert!(
        mean.clone().all(|ms| ms > 0.0 && ms < 10_000.0),
        "{:?}",
        mean.collect::<Vec<_>>()
    );
    assert!(series["safepoint.stopped"].iter().all(|(_, ms)| *ms >= 0.0));

    // The same node, as somebody else's.
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
    with_its_password_an_attached_node_shows_as_much(&attach, &lab);
    with_a_wrong_password_it_says_so(&attach, &password, &lab);
    by_cql_alone_operations_are_seen_and_the_rest_is_named(&attach, &lab);
    cluster.stop().unwrap();
}

fn with_its_password_an_attached_node_shows_as_much(attach: &AttachSpec, lab: &Lab) {
    let theirs = start(&Target::Attach(attach.clone()), lab);
    assert!(theirs.can(Ability::Settle));
    let unseen = theirs.unseen(&every_probe());
    assert_eq!(unseen.len(), 1, "{unseen:?}");
    assert!(unseen[0].starts_with("gc_log: "), "{unseen:?}");
    let settled = theirs.settle("watched", &["rows"], HANG_LIMIT, &mut |_| ());
    assert_eq!(settled.unwrap().outcome, cluster::SettleOutcome::Settled);
    let series = watch(&theirs);
    assert_operations_are_counted(&series);
    assert_the_jvm_is_seen(&series, (512 << 20) as f64);
    // Settling has flushed the rows of before.
    assert_eq!(last(&series, "table.rows.live_sstables"), 1.0);
    assert!(last(&series, "table.rows.live_disk_space") > 1000.0);
}

fn with_a_wrong_password_it_says_so(attach: &AttachSpec, password: &std::path::Path, lab: &Lab) {
    std::fs::write(password, "not-the-password").unwrap();
    let theirs = start(&Target::Attach(attach.clone()), lab);
    assert!(!theirs.can(Ability::Settle));
    let unseen = theirs.unseen(&every_probe()).join("\n");
    assert!(unseen.contains("refuses the user or password"), "{unseen}");
    let shown = format!("{unseen} {theirs:?} {attach:?}");
    assert!(!shown.contains("not-the-password"), "{shown}");
}

fn by_cql_alone_operations_are_seen_and_the_rest_is_named(attach: &AttachSpec, lab: &Lab) {
    let attach = AttachSpec {
        jolokia: None,
        ..attach.clone()
    };
    let theirs = start(&Target::Attach(attach), lab);
    assert!(!theirs.can(Ability::Settle));
    let unseen = theirs.unseen(&every_probe()).join("\n");
    for what in [
        "jvm: heap",
        "cassandra: pending compactions",
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
