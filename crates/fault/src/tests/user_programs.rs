//! Life cycle of a fault that a study defines by programs.

use super::*;
use target_spec::Invocation;
use target_spec::fault::{Commands, DataLoss, Hit, Options};

/// The fault is on an attached node, which cassay does not restart.
#[test]
fn a_fault_that_a_study_names_takes_the_same_course() {
    let words = |text: &str| Invocation {
        words: text.split(' ').map(str::to_owned).collect(),
        folder: "folder".into(),
    };
    let commands = Commands {
        name: "pull-cable".to_owned(),
        inject: words("ssh root@{node} down {address}"),
        see: words("./is-down {node}"),
        heal: words("ssh root@{node} up"),
        within: Duration::from_secs(90),
        loses: DataLoss::Nothing,
    };
    let kind = FaultKind::from(&commands);
    let options = Options::default();
    let course = |mut sim: Sim| {
        sim.ordered_ns = 10 * S;
        let (hit, length) = (Hit::Node(NodeIndex(1)), Duration::from_secs(10));
        let outcome = run(&kind, &hit, &options, &mut sim, length, &mut |_| ());
        (outcome, sim)
    };
    let (outcome, sim) = course(Sim {
        stays_broken: true,
        stops_itself: true,
        ..Sim::default()
    });
    let Some(Injection::Command { inject, heal }) = sim.broken.first() else {
        panic!("{outcome:#?}");
    };
    assert_eq!(
        inject.words.join(" "),
        "ssh root@10.0.0.2 down 10.0.0.2:9042"
    );
    assert_eq!(heal.words.join(" "), "ssh root@10.0.0.2 up");
    assert!(heal.folder.is_absolute() && heal.folder.ends_with("folder"));
    let seen = "./is-down 10.0.0.2 reports the node as broken, the node answers a client";
    assert_eq!(outcome.steps[2].words, seen);
    let ends = (outcome.verdict(), sim.restarts_count);
    assert_eq!(ends, (FaultVerdict::Mismatch, 0), "it does not heal");
    assert!(
        sim.now_ns >= 100 * S,
        "it had the time that the study gives"
    );

    assert_eq!(course(Sim::default()).0.verdict(), FaultVerdict::Confirmed);
    let (outcome, _) = course(Sim {
        breaks_another: true,
        ..Sim::default()
    });
    assert_eq!(
        outcome.verdict(),
        FaultVerdict::Mismatch,
        "nothing was seen"
    );
    let (outcome, sim) = course(Sim {
        is_blind: true,
        ..Sim::default()
    });
    assert_eq!(
        outcome.verdict(),
        FaultVerdict::Inconclusive,
        "{outcome:#?}"
    );
    assert!(sim.injected.is_empty(), "nobody had seen it whole");
}
