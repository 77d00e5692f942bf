//! Tests the sentences of plans about client machines, with invented facts and with runs on disk.

use super::facts::{LinkBy, PointThroughput};
use super::*;
use crate::plan_record;
use measure::KindCounts;
use store::RunWriter;
use store::record::{
    ClientEndRecord, ClientMachineRecord, FindingsRecord, JournalEvent, MachineFacts, SeriesRecord,
    TrialFinding,
};
use study::resolve::resolve;
use study::settings::{GrantedPermissions, Overrides};

const RUN: &str = "20261126T100000Z";

fn measured(place: &str, workers: usize, ceiling_ops_per_s: f64) -> MeasuredClient {
    MeasuredClient {
        place: place.to_owned(),
        workers,
        ceiling_ops_per_s,
        run: RUN.to_owned(),
    }
}

/// Facts for a rate of 1.2 M op/s on one machine, whose client was measured with 8 workers over a
/// link of 10 Gbit/s.
fn facts() -> Facts {
    Facts {
        point: Point::Rate(1_200_000),
        reached: Some(PointThroughput {
            ops_per_s: 1_200_000.0,
            shown: None,
        }),
        measured: vec![measured("here", 8, 820_000.0)],
        payload: Payload {
            request_bytes: 1_100.0,
            answer_bytes: 13.0,
        },
        workers: vec![None],
        link: Some(Link {
            bits_per_s: 10_000_000_000,
            by: LinkBy::Assumed("here".to_owned()),
        }),
        only_here: false,
        names_machines: false,
        splits_range: false,
    }
}

fn needs(change: impl Fn(&mut Facts)) -> ClientsNeeded {
    let mut facts = facts();
    change(&mut facts);
    needed("-".into(), &facts, "study.yaml")
}

fn machines(change: impl Fn(&mut Facts)) -> (Option<usize>, bool) {
    let needed = needs(change);
    (needed.machines, needed.warning.is_some())
}

#[test]
fn a_rate_is_divided_by_half_the_ceiling_and_by_link_capacity() {
    assert_eq!(machines(|_| ()), (Some(3), true));
    let at = |rate: f64| machines(move |facts| facts.reached.as_mut().unwrap().ops_per_s = rate);
    assert_eq!(at(410_000.0), (Some(1), false));
    assert_eq!(at(410_001.0), (Some(2), true));
    // A link transmits 8 Gbit/s of payload in one direction, which is 1 M operations of 1,000 bytes
    // per second.
    let bytes = |request_bytes, answer_bytes| {
        machines(move |facts| {
            facts.measured = vec![measured("here", 8, 1e9)];
            facts.payload = Payload {
                request_bytes,
                answer_bytes,
            };
        })
    };
    assert_eq!(bytes(833.0, 833.0), (Some(1), false));
    assert_eq!(bytes(834.0, 100.0), (Some(2), true));
    assert_eq!(bytes(100.0, 1_700.0), (Some(3), true));
    // A load that remains on this machine uses no link.
    assert_eq!(machines(|facts| facts.link = None), (Some(3), true));
}

#[test]
fn the_load_is_shared_by_workers_and_the_slowest_worker_decides() {
    let named = |workers: Vec<Option<usize>>| {
        machines(move |facts| {
            facts.workers.clone_from(&workers);
            facts.link = None;
        })
    };
    assert_eq!(named(vec![None; 2]), (Some(3), true));
    assert_eq!(named(vec![None; 3]), (Some(3), false));
    // The load needs 23.4 workers, and the two machines have 24.
    assert_eq!(named(vec![Some(16), Some(8)]), (Some(2), false));
    assert_eq!(named(vec![Some(16), Some(7)]), (Some(3), true));
    assert_eq!(named(vec![Some(24)]), (Some(1), false));
    // The load is divided equally among the workers, so the slow workers of load1 set the limit.
    // They have half the throughput of the other workers. So the load needs 46.8 workers, or 8
    // machines with 6 workers each on average.
    let slower = machines(|facts| {
        facts.measured.push(measured("load1", 4, 205_000.0));
        facts.workers = vec![Some(8), Some(4)];
    });
    assert_eq!(slower, (Some(8), true));
    // Three quarters of the load go over one link, whose limit is 8 Gbit/s. Three quarters of
    // 10.6 Gbit/s are within the limit, but three quarters of 11.5 Gbit/s exceed it.
    let uneven = machines(|facts| {
        facts.measured = vec![measured("here", 8, 1e9)];
        facts.workers = vec![Some(12), Some(4)];
    });
    assert_eq!(uneven, (Some(2), false));
    let uneven = machines(|facts| {
        facts.measured = vec![measured("here", 8, 1e9)];
        facts.payload.request_bytes = 1_200.0;
        facts.workers = vec![Some(12), Some(4)];
    });
    assert_eq!(uneven, (Some(3), true));
}

#[test]
fn needed_clients_are_reported_with_reasons_and_a_remedy() {
    let needed = needs(|_| ());
    assert_eq!(
        needed.sentence,
        "The highest point, 1,200,000 op/s, needs 3 client machines of 8 workers each: a client \
         here with 8 workers achieved at most 820,000 op/s (run 20261126T100000Z), and rule V3 \
         allows at most 50 % of this ceiling; the requests of about 1.07 KiB per operation need \
         10.6 Gbit/s, which is more than the 8 Gbit/s for payload on a link of 10 Gbit/s (assumed \
         rate of this machine)."
    );
    let warning = needed.warning.unwrap();
    assert!(
        warning.starts_with("one client applies the load, but the highest point needs 3: "),
        "{warning}"
    );
    assert!(
        warning.contains("`client.machines: [here, {ssh: HOST}]`"),
        "{warning}"
    );
    let threads = needs(|facts| {
        facts.point = Point::Threads(512);
        facts.reached = Some(PointThroughput {
            ops_per_s: 200_000.0,
            shown: Some((RUN.to_owned(), Point::Threads(128))),
        });
        facts.workers = vec![Some(4)];
        facts.link = None;
    });
    assert_eq!(
        threads.sentence,
        "The highest point, 512 threads (the run 20261126T100000Z reached 200,000 op/s, at 128 \
         threads), needs 1 client machine of 4 workers: a client here with 8 workers achieved at \
         most 820,000 op/s (run 20261126T100000Z), so about 410,000 op/s with 4 workers, and rule \
         V3 allows at most 50 % of this ceiling."
    );
    assert_eq!(threads.warning, None);
    let only_here = needs(|facts| facts.only_here = true).warning.unwrap();
    assert!(
        only_here.contains("only this machine can reach the target"),
        "{only_here}"
    );
}

#[test]
fn an_unknown_need_is_reported_with_a_way_to_measure_it() {
    let without_ceiling = needs(|facts| facts.measured.clear());
    assert_eq!(without_ceiling.machines, Some(2), "by its links alone");
    assert_eq!(
        without_ceiling.sentence,
        "The number of client machines for the highest point, 1,200,000 op/s, is unknown: no \
         finished run of this study has measured the ceiling of a client. Each run measures the \
         ceiling before its first trial, even without the cluster: `cassay run study.yaml --target \
         null`. By links: the requests of about 1.07 KiB per operation need 10.6 Gbit/s, which is \
         more than the 8 Gbit/s for payload on a link of 10 Gbit/s (assumed rate of this machine), \
         so at least 2."
    );
    let elsewhere = needs(|facts| {
        facts.measured.clear();
        facts.names_machines = true;
    });
    let words = "`cassay run study.yaml --target null --set 'client.machines=[here]'`";
    assert!(elsewhere.sentence.contains(words), "{elsewhere:?}");
    let ranges = needs(|facts| {
        facts.measured.clear();
        (facts.names_machines, facts.splits_range) = (true, true);
    });
    let words = "'client.machines=[here]' --set client.split=stride`";
    assert!(ranges.sentence.contains(words), "{ranges:?}");
    let threads = needs(|facts| {
        facts.point = Point::Threads(64);
        facts.reached = None;
    });
    assert_eq!((threads.machines, threads.warning), (None, None));
    assert!(
        threads.sentence.contains("The first run shows"),
        "{}",
        threads.sentence
    );
}

fn study(target: &str, rest: &str) -> Study {
    let text = format!(
        "study: made-up\nquestion: q\ntarget: {target}\nworkload: {{use: standard1, mix: {{read: \
         1}}}}\ndata: {{load: {{operations: 1k}}}}\n{rest}"
    );
    let granted = GrantedPermissions {
        trust: true,
        ..GrantedPermissions::default()
    };
    let overrides = Overrides {
        granted,
        ..Overrides::default()
    };
    resolve("made-up.yaml", &text, &overrides).unwrap()
}

const ATTACHED: &str = "{attach: {contact_points: [10.0.0.1]}}";

/// Writes a run of a study in which each trial reached `ops_per_s`, and the ceiling of each client
/// was twice that throughput.
fn write(results: &Path, study: &Study, clients: &[(&str, usize)], ops_per_s: &[(u32, f64)]) {
    let plan = study::plan::plan(study).unwrap();
    let record = plan_record::plan_record(study, &plan, "0.0.0");
    let mut run = RunWriter::create(results, &study.text, &record).unwrap();
    let machine = |(place, _): &(&str, usize)| ClientMachineRecord {
        place: (*place).to_owned(),
        machine: MachineFacts {
            link_bits_per_s: Some(25_000_000_000),
            ..MachineFacts::default()
        },
        ..ClientMachineRecord::default()
    };
    let clients_ready = JournalEvent::ClientsReady {
        clients: clients.iter().map(machine).collect(),
    };
    run.journal(None, clients_ready).unwrap();
    let trials = ops_per_s.iter().enumerate().map(|(index, (threads, ops_per_s))| {
        let mut trial = TrialFinding {
            index,
            point: Some(Point::Threads(*threads)),
            ..TrialFinding::default()
        };
        trial.all.ops_per_s = *ops_per_s;
        trial.client.ceiling_ops_per_s = 2.0 * ops_per_s;
        trial.client.workers = 4;
        let client = |(place, workers): &(&str, usize)| ClientEndRecord {
            place: (*place).to_owned(),
            workers: *workers,
            ceilings_ops_per_s: vec![2.5 * ops_per_s, 2.0 * ops_per_s],
            ..ClientEndRecord::default()
        };
        trial.clients = clients.iter().map(client).collect();
        let mut read = SeriesRecord::default();
        read.latency_ms.count = 100;
        trial.kinds.insert("read".to_owned(), read);
        let counts = KindCounts::from([(measure::KindCount::Rows, 1_000)]);
        trial.counts.insert("read".to_owned(), counts);
        trial
    });
    let findings = FindingsRecord {
        trials: trials.collect(),
        ..FindingsRecord::default()
    };
    run.finish(&findings, "0.0.0", None).unwrap();
}

fn clients(study: &Study, results: &Path) -> ClientsNeeded {
    let plan = study::plan::plan(study).unwrap();
    let all = clients_needed(study, &plan, results);
    most_needed(&all).unwrap().clone()
}

#[test]
fn an_earlier_run_on_the_same_target_predicts_the_clients() {
    let results = tempfile::tempdir().unwrap();
    let threads = "procedure: {sweep: {threads: [8, 64]}}\n";
    let asked = study(ATTACHED, threads);
    assert_eq!(clients(&asked, results.path()).ops_per_s, None);
    // The ceiling of a client is known from a run on any target. The throughput at a number of
    // threads is known only from runs on the same target.
    write(
        results.path(),
        &study("{null: {}}", threads),
        &[],
        &[(8, 1e5), (64, 2e5)],
    );
    let known = clients(&asked, results.path());
    assert_eq!((known.ops_per_s, known.machines), (None, None));
    let ceiling = known.ceiling.unwrap();
    assert_eq!((ceiling.workers, ceiling.ceiling_ops_per_s), (4, 4e5));
    write(results.path(), &asked, &[], &[(8, 5e4), (64, 9e4)]);
    let known = clients(&asked, results.path());
    assert_eq!((known.ops_per_s, known.machines), (Some(9e4), Some(1)));
    // The run has counted ten rows of 180 bytes for each operation.
    assert_eq!(known.answer_bytes, 25.0 + 1_800.0);
    // A run with another workload gives no information about the workload of the study.
    let other = study(ATTACHED, threads).text.replace("{read: 1}", "{write: 1}");
    let other = resolve("made-up.yaml", &other, &Overrides::default()).unwrap();
    assert_eq!(clients(&other, results.path()).ceiling, None);
}

#[test]
fn named_clients_are_judged_by_their_own_results() {
    let results = tempfile::tempdir().unwrap();
    let with = |machines: &str| {
        let rest = format!(
            "procedure: {{sweep: {{rate: [1k, 100k]}}}}\nclient: {{machines: [{machines}]}}\n"
        );
        study(ATTACHED, &rest)
    };
    let both = [("here", 2), ("load1", 8)];
    write(
        results.path(),
        &with("here, {ssh: load1}"),
        &both,
        &[(8, 5e4)],
    );
    let on = |machines: &str| {
        let known = clients(&with(machines), results.path());
        let ceiling = known.ceiling.unwrap();
        (
            ceiling.place,
            ceiling.workers,
            known.machines,
            known.link_is_assumed,
        )
    };
    let said = |place: &str, workers, machines, assumed| {
        (place.to_owned(), workers, Some(machines), assumed)
    };
    assert_eq!(on("{ssh: load1}"), said("load1", 8, 2, false));
    // If no run has used a machine, only the ceilings of other machines are known.
    assert_eq!(on("{ssh: load2}"), said("load1", 8, 2, true));
    assert_eq!(on("{ssh: load1, workers: 16}"), said("load1", 8, 1, false));
}

#[test]
fn where_the_client_is_what_is_measured_it_needs_no_others() {
    let study = study("{null: {}}", "procedure: {fixed: {threads: 8}}\n");
    let plan = study::plan::plan(&study).unwrap();
    let results = tempfile::tempdir().unwrap();
    assert_eq!(clients_needed(&study, &plan, results.path()), []);
}

#[test]
fn the_variant_that_needs_most_clients_or_is_unknown_is_named() {
    let named = |name: &str, change: &dyn Fn(&mut Facts)| ClientsNeeded {
        variant: name.into(),
        ..needs(change)
    };
    let few = named("few", &|facts| {
        facts.reached.as_mut().unwrap().ops_per_s = 1e5
    });
    let unknown = named("unknown", &|facts| facts.reached = None);
    let many = named("many", &|_| ());
    let first = |all: &[&ClientsNeeded]| {
        let all: Vec<ClientsNeeded> = all.iter().map(|one| (*one).clone()).collect();
        clients_words(&all).unwrap().0
    };
    assert!(first(&[&few, &many, &unknown]).starts_with("“many”: The highest point"));
    assert!(first(&[&few, &unknown]).starts_with("“unknown”: "));
    assert_eq!(first(&[&few, &few]), few.sentence);
    assert_eq!(clients_words(&[]), None);
}
