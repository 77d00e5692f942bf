//! Tests which needs follow from settings, and what happens if a need is not met.

use super::*;
use study::resolve::resolve;
use study::settings::{Data, Load, Overrides, PageCache, Probes, Reset, RestoreMethod, Settle};
use target_spec::CapabilityStatus;

fn settings(target: &str, rest: &str) -> Settings {
    let text = format!(
        "study: s\nquestion: Does it?\ntarget: {target}\n\
         workload: {{use: standard1, mix: {{write: 1}}}}\n\
         procedure: {{fixed: {{threads: 4}}}}\n{rest}"
    );
    let study = resolve("s.yaml", &text, &Overrides::default())
        .unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let mut settings = study.variants.into_iter().next().expect("a variant").settings;
    // Probes are on unless a study switches them off. Other tests check the needs of probes.
    settings.probes = None;
    settings
}

fn names(needs: &[Need]) -> Vec<(&'static str, Strength)> {
    needs.iter().map(|need| (need.capability.name(), need.strength)).collect()
}

const LIMITED: &str = "{local: {hosts: 2, isolation: ISOLATION, \
                       host: {cpu_quota: 1.5, memory: 2GiB, volume: 2GiB, link: {delay: 5ms}}}}";

#[test]
fn hosts_kept_apart_by_word_must_be_and_otherwise_may_be() {
    use Strength::{Must, MustIfApart, Wish};
    let of = |isolation: &str| {
        let target = LIMITED.replace("ISOLATION", isolation);
        names(&needs(&settings(&target, "")))
    };
    let limits = ["cpu-limit", "memory-limit", "volume", "link-delay"];
    let with = |own: Strength, each: Strength| -> Vec<(&str, Strength)> {
        [("hosts", own)].into_iter().chain(limits.map(|name| (name, each))).collect()
    };
    assert_eq!(of("hosts"), with(Must, Must));
    assert_eq!(of("auto"), with(Wish, MustIfApart));
    let why = needs(&settings(&LIMITED.replace("ISOLATION", "hosts"), ""));
    let why: Vec<&str> = why.iter().map(|need| need.why.as_str()).collect();
    assert_eq!(
        why,
        [
            "target.local.isolation: hosts",
            "target.local.host.cpu_quota: 1.5",
            "target.local.host.memory: 2GiB",
            "target.local.host.volume: 2GiB",
            "target.local.host.link.delay: 5ms",
        ]
    );
}

#[test]
fn a_plain_cluster_needs_nothing() {
    for target in [
        "{local: {nodes: 3}}",
        "{attach: {contact_points: [db1]}}",
        "{null: {}}",
    ] {
        assert_eq!(needs(&settings(target, "")), [], "{target}");
    }
}

#[test]
fn data_in_a_known_state_needs_the_means() {
    let mut all = settings("{local: {nodes: 1}}", "data: {settle: compactions}\n");
    assert_eq!(names(&needs(&all)), [("settle", Strength::Must)]);
    all.data = Data {
        load: Load::Fraction(0.3),
        settle: Settle::Auto,
        reset: Reset::Snapshot,
        restore: RestoreMethod::Offline,
        page_cache: PageCache::Drop,
        ..all.data
    };
    let found = needs(&all);
    let expected = ["volume", "snapshot", "offline-restore", "drop-page-cache"];
    assert_eq!(names(&found), expected.map(|name| (name, Strength::Must)));
    assert_eq!(found[0].why, "data.load: 30 % of the data volume");
    all.data.restore = RestoreMethod::Online;
    assert!(!names(&needs(&all)).contains(&("offline-restore", Strength::Must)));
}

#[test]
fn probes_are_wished_for() {
    let mut all = settings("{attach: {contact_points: [db1]}}", "");
    all.probes = Some(Probes {
        gc_log_ns: None,
        ..Probes::default()
    });
    let found = needs(&all);
    assert!(
        found.iter().all(|need| need.strength == Strength::Wish),
        "{found:?}"
    );
    let names = found.iter().map(|need| need.capability.name());
    let expected = ["host-metrics", "process-statistics", "jvm-metrics"];
    assert_eq!(names.collect::<Vec<_>>(), expected);
    let missing = lacking(
        found,
        &all_but(&[Capability::HostMetrics, Capability::JvmMetrics]),
    );
    assert_eq!(
        notes(&missing),
        [
            "cassay does not measure `probes.hosts`, `probes.jvm` on this target: detail of \
             host-metrics; detail of jvm-metrics"
        ]
    );
}

fn all_but(absent: &[Capability]) -> Vec<CapabilityStatus> {
    let of = |capability: Capability| CapabilityStatus {
        capability,
        present: !absent.contains(&capability),
        detail: format!("detail of {}", capability.name()),
    };
    Capability::ALL.map(of).to_vec()
}

#[test]
fn without_network_namespaces_hosts_report_their_missing_limits() {
    let needs = needs(&settings(&LIMITED.replace("ISOLATION", "auto"), ""));
    let nothing = lacking(needs.clone(), &all_but(&[]));
    assert_eq!(nothing, []);
    let rootless = [
        Capability::Hosts,
        Capability::CpuLimit,
        Capability::MemoryLimit,
        Capability::Volume,
        Capability::LinkDelay,
    ];
    let missing = lacking(needs.clone(), &all_but(&rootless));
    assert!(missing.iter().all(|one| !one.refuses), "{missing:?}");
    assert_eq!(
        notes(&missing),
        [
            "the hosts have no separate networks, no cpu-limit, no memory-limit, no volume, no \
             link-delay: detail of hosts"
        ]
    );
    // If the hosts are isolated but a limit cannot be set, the study is refused. Otherwise the
    // record would contain a limit that was not in effect.
    let missing = lacking(needs, &all_but(&[Capability::LinkDelay]));
    let refused: Vec<bool> = missing.iter().map(|one| one.refuses).collect();
    assert_eq!(refused, [true]);
    assert_eq!(notes(&missing), Vec::<String>::new());
    assert_eq!(missing[0].need.why, "target.local.host.link.delay: 5ms");
    assert_eq!(missing[0].detail, "detail of link-delay");
}

#[test]
fn a_need_that_an_attached_cluster_lacks_is_refused_at_once() {
    let text = "study: s\nquestion: Does it?\ntarget: {attach: {contact_points: [db1]}}\n\
                workload: {use: standard1, mix: {write: 1}}\n\
                data: {load: {operations: 10}}\n\
                variants: {a: {}, b: {data: {settle: none}}}\n\
                procedure: {fixed: {threads: 4}}\n";
    let mut study = resolve("s.yaml", text, &Overrides::default()).expect("no mistakes");
    // The resolver would refuse this study, so the test sets the value directly.
    study.variants[0].settings.data.page_cache = PageCache::Drop;
    let error = refuse(&study, Vec::new()).unwrap_err().to_string();
    assert!(
        error.contains(
            "no drop-page-cache (`data.page_cache: drop`): cassay cannot reach the nodes' machines"
        ),
        "{error}"
    );
    assert_eq!(error.lines().count(), 2, "once: {error}");
    study.variants.remove(0);
    refuse(&study, Vec::new()).expect("nothing is needed any more");
}

/// In one run, several workers each opened 100 connections to each host, and the process reached
/// its limit of open files.
#[test]
fn missing_connection_slots_refuse_the_study_with_all_numbers() {
    let room = Room {
        files: Some(4096),
        ports: Some(2000),
    };
    let refusal = |target: &str, rest: &str| {
        let settings = settings(target, rest);
        connections(&settings).refusal(&room)
    };
    let many = "client: {workers: 4, connections_per_node: 400}\n";
    assert_eq!(refusal("{attach: {contact_points: [a, b]}}", many), None);
    let files = refusal("{attach: {contact_points: [a, b, c]}}", many).expect("open files");
    assert!(
        files.contains("4800 connections in total") && files.contains("4096"),
        "{files}"
    );
    // The null target runs in this process, so each connection takes two files, one for each end.
    let less = many.replace("400", "500");
    let null = refusal("{null: {}}", &less);
    assert!(null.is_some_and(|why| why.contains("2000 connections in total")));
    let ports = refusal("{local: {}}", &many.replace("400", "501")).expect("ports");
    assert!(ports.contains("2004 connections to one node"), "{ports}");
    // If there are fewer operations than workers, some workers are idle and open no connections.
    let few = "client: {workers: 64, connections_per_node: 400}\n";
    assert_eq!(refusal("{local: {}}", few), None);
}

#[test]
fn nodes_that_cannot_be_placed_are_refused_before_the_start() {
    let of = |counts: &str| {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{local: {{nodes: 1}}}}\n\
             workload: {{use: standard1, mix: {{write: 1}}}}\n\
             procedure: {{scale_up: {{units: cores, counts: {counts}}}, fixed: {{threads: 4}}}}\n"
        );
        resolve("s.yaml", &text, &Overrides::default()).unwrap()
    };
    assert_eq!(unplaceable(&of("[1]")), Vec::<String>::new());
    let said = format!("{:#}", refuse(&of("[1, 4096]"), Vec::new()).unwrap_err());
    assert!(said.contains("“4096-cores”"), "{said}");
    assert!(said.contains("hint: use at most"), "{said}");
    assert!(!said.contains("“1-core”"), "{said}");
}

#[test]
fn how_long_tasks_waited_is_read_as_the_kernel_says_it() {
    let text = "some avg10=43.21 avg60=1.00 avg300=0.00 total=1\nfull avg10=0.00 avg60=0.00\n";
    let share = waited_share(text).unwrap();
    assert!((share - 0.4321).abs() < 1e-9, "{share}");
    assert_eq!(waited_share("full avg10=1.00"), None);
}
