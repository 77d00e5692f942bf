//! Tests the event loop on a simulated clock, without load. Each test scripts the events, and
//! compares the resulting actions with the expected ones.

use super::*;
use measure::KindInterval;

const MS: u64 = MILLISECOND_NS;
const START: u64 = 1000 * SECOND_NS;

#[derive(Clone, Copy)]
enum Fate {
    Interval,
    /// A node dies, and is up again after this time in ms.
    Dies(&'static str, u64),
    CtrlC,
}

#[derive(Clone, Copy)]
enum FaultAnswer {
    Began(usize),
    Over(usize),
}

/// A simulated load with a clock. The load ends when the loop requests it.
struct Sim {
    now_ns: u64,
    /// Scripted events, by time in ms since the start line.
    script: VecDeque<(u64, Fate)>,
    dead: Vec<(&'static str, u64)>,
    stop_ns: u64,
    interrupted: bool,
    intervals: u64,
    /// Actions with their times in ms since the start line. Contains checks of the nodes and writes
    /// of readings only if `tells_looks` is true.
    done: Vec<(u64, String)>,
    /// Answers that the simulated faults will give, with the times of the answers.
    told: Vec<(u64, FaultAnswer)>,
    /// Time until the target of a fault is healthy again, in ms.
    waits_ms: u64,
    /// Time that the healing of a fault takes, in ms.
    heals_ms: u64,
    tells_looks: bool,
}

impl Sim {
    fn since_ms(&self) -> u64 {
        (self.now_ns - START) / MS
    }
}

impl World for Sim {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn wait(&mut self, until_ns: u64) -> Next {
        loop {
            let next = self.script.front().map(|(at_ms, _)| START + at_ms * MS);
            let ends_ns = self.stop_ns.max(self.now_ns);
            let fate_ns = next.unwrap_or(u64::MAX);
            if ends_ns <= fate_ns.min(until_ns) {
                self.now_ns = ends_ns;
                return Next::Over;
            }
            if until_ns < fate_ns {
                self.now_ns = until_ns.max(self.now_ns);
                return Next::Time;
            }
            self.now_ns = fate_ns.max(self.now_ns);
            match self.script.pop_front().expect("it was looked at").1 {
                Fate::Interval => {
                    let kind = KindInterval::default();
                    let mut interval = Interval::second(self.intervals, vec![kind]);
                    interval.end_ns = self.now_ns;
                    self.intervals += 1;
                    return Next::Interval(interval.into());
                }
                // The death of a node and Ctrl-C do not wake the loop. The loop notices them at its
                // next check.
                Fate::Dies(node, for_ms) => {
                    self.dead.push((node, self.now_ns + for_ms * MS));
                }
                Fate::CtrlC => self.interrupted = true,
            }
        }
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    fn act(&mut self, act: Act) -> Result<Option<LoopEvent>> {
        let (text, tells) = match &act {
            Act::Keep { phase, .. } => (format!("keep {phase}"), true),
            Act::Begin(kind, at_ns) => {
                let at_ms = (at_ns - START) / MS;
                (format!("begin {} at {at_ms}", kind.name()), true)
            }
            Act::Steer(flow) => (format!("{flow:?}"), true),
            Act::LookAtNodes => ("look".to_owned(), self.tells_looks),
            Act::LookAtFaults => (String::new(), false),
            Act::Inject(number) => (format!("inject {number}"), true),
            Act::Omit(number) => (format!("omit {number}"), true),
            Act::Heal(number) => (format!("heal {number}"), true),
            Act::KeepReadings => ("readings".to_owned(), self.tells_looks),
        };
        if tells {
            self.done.push((self.since_ms(), text));
        }
        match act {
            Act::Steer(Flow::StopAt(at_ns)) => self.stop_ns = self.stop_ns.min(at_ns),
            Act::Steer(Flow::Abandon) => self.stop_ns = self.now_ns,
            Act::Inject(number) => {
                let at_ns = self.now_ns + self.waits_ms * MS;
                self.told.push((at_ns, FaultAnswer::Began(number)));
            }
            Act::Heal(number) => {
                let at_ns = self.now_ns + self.heals_ms * MS;
                self.told.push((at_ns, FaultAnswer::Over(number)));
            }
            Act::LookAtFaults => {
                let is_there = |(at_ns, _): &(u64, FaultAnswer)| *at_ns <= self.now_ns;
                let at = self.told.iter().position(is_there);
                return Ok(at.map(|at| match self.told.remove(at) {
                    (at_ns, FaultAnswer::Began(number)) => LoopEvent::FaultHolds(number, at_ns),
                    (_, FaultAnswer::Over(number)) => LoopEvent::FaultOver(number),
                }));
            }
            Act::LookAtNodes => {
                self.dead.retain(|(_, back_ns)| self.now_ns < *back_ns);
                let died: Vec<DeadNode> = self
                    .dead
                    .iter()
                    .map(|(node, _)| DeadNode {
                        node: (*node).to_owned(),
                        how: format!("{node} died"),
                    })
                    .collect();
                return Ok((!died.is_empty()).then_some(LoopEvent::Died(died)));
            }
            _ => {}
        }
        Ok(None)
    }
}

fn sim(script: &[(u64, Fate)], ends_ms: u64) -> Sim {
    Sim {
        now_ns: START,
        script: script.iter().copied().collect(),
        dead: Vec::new(),
        stop_ns: START + ends_ms * MS,
        interrupted: false,
        intervals: 0,
        done: Vec::new(),
        told: Vec::new(),
        waits_ms: 0,
        heals_ms: 250,
        tells_looks: false,
    }
}

fn takes(node: &str, at_ms: u64, for_ms: u64) -> Breaking {
    Breaking {
        at_ns: at_ms * MS,
        for_ns: for_ms * MS,
        after: None,
        takes_away: vec![node.to_owned()],
    }
}

/// Runs the loop over a load that is measured from start to end. If the load ended early, returns
/// the reason.
fn run(sim: &mut Sim, faults: &[Breaking], ends_at_ms: Option<u64>) -> Option<EarlyEnd> {
    let mut decide = |_: &SummedInterval| Decision::in_phase("measure");
    let mut conduct = Conduct::new(START, Vec::new(), faults.to_vec(), &mut decide);
    conduct.measures_from(START);
    if let Some(at_ms) = ends_at_ms {
        conduct.ends_at(START + at_ms * MS);
    }
    conduct.run(sim).unwrap();
    conduct.cut
}

fn done(sim: &Sim) -> Vec<(u64, &str)> {
    let done = sim.done.iter();
    done.map(|(at_ms, text)| (*at_ms, text.as_str())).collect()
}

/// An earlier version detected the death of a node only at the end of the next second.
#[test]
fn a_death_and_ctrl_c_are_seen_at_the_next_tick() {
    let mut died = sim(
        &[(1000, Fate::Interval), (1730, Fate::Dies("node1", 9000))],
        9000,
    );
    let cut = run(&mut died, &[], None);
    assert_eq!(cut, Some(EarlyEnd::NodeDied("node1 died".to_owned())));
    assert_eq!(done(&died), [(1000, "keep measure"), (1800, "Abandon")]);

    let mut pressed = sim(&[(1730, Fate::CtrlC)], 9000);
    assert_eq!(run(&mut pressed, &[], None), Some(EarlyEnd::Interrupted));
    assert_eq!(done(&pressed), [(1800, "Abandon")]);
}

/// Returns the actions on faults and the early end of the load, with their times.
fn fault_actions(sim: &Sim) -> Vec<(u64, &str)> {
    let is_one = |text: &str| ["inject", "heal", "omit"].contains(&text.split(' ').next().unwrap());
    let mut done = done(sim);
    done.retain(|(_, text)| is_one(text) || *text == "Abandon");
    done
}

#[test]
fn a_node_that_a_fault_takes_away_does_not_end_the_load() {
    let faults = [takes("node1", 1050, 1000)];
    let dies = |at_ms, for_ms| [(at_ms, Fate::Dies("node1", for_ms))];
    let why = || Some(EarlyEnd::NodeDied("node1 died".to_owned()));
    let (inject, heal) = ((1050, "inject 0"), (2050, "heal 0"));

    let mut back_in_time = sim(&dies(1060, 1100), 4000);
    assert_eq!(run(&mut back_in_time, &faults, None), None);
    assert_eq!(back_in_time.since_ms(), 4000);
    assert_eq!(fault_actions(&back_in_time), [inject, heal]);

    let mut too_soon = sim(&dies(850, 9000), 4000);
    assert_eq!(run(&mut too_soon, &faults, None), why());
    assert_eq!(
        fault_actions(&too_soon),
        [(900, "Abandon"), (900, "omit 0")],
        "nothing is broken"
    );

    // An earlier version did not detect the death of one node while another node was deliberately
    // down.
    let both = [
        (1060, Fate::Dies("node1", 1100)),
        (1330, Fate::Dies("node2", 9000)),
    ];
    let mut another = sim(&both, 4000);
    let why_two = Some(EarlyEnd::NodeDied("node2 died".to_owned()));
    assert_eq!(run(&mut another, &faults, None), why_two);
    let healed_first = [inject, (1400, "heal 0"), (1400, "Abandon")];
    assert_eq!(fault_actions(&another), healed_first);

    // The fault ends at 2300 ms, and its node is still down.
    let mut not_back = sim(&dies(1060, 9000), 4000);
    assert_eq!(run(&mut not_back, &faults, None), why());
    assert_eq!(fault_actions(&not_back), [inject, heal, (2300, "Abandon")]);

    // The fault does not take its node down, so a death of the node is unexpected.
    let stays = [Breaking {
        takes_away: Vec::new(),
        ..takes("node1", 1050, 1000)
    }];
    let mut dies_of_it = sim(&dies(1060, 1100), 4000);
    assert_eq!(run(&mut dies_of_it, &stays, None), why());
}

#[test]
fn faults_begin_at_their_window_times_and_ctrl_c_heals_first() {
    let faults = [takes("node1", 500, 1000), takes("node2", 700, 200)];
    let mut all = sim(&[(2500, Fate::CtrlC)], 4000);
    assert_eq!(run(&mut all, &faults, None), Some(EarlyEnd::Interrupted));
    let order = [
        (500, "inject 0"),
        (700, "inject 1"),
        (900, "heal 1"),
        (1500, "heal 0"),
        (2500, "Abandon"),
    ];
    assert_eq!(
        fault_actions(&all),
        order,
        "what is whole is not healed again"
    );

    let mut pressed = sim(&[(650, Fate::CtrlC)], 4000);
    run(&mut pressed, &faults, None);
    let order = [
        (500, "inject 0"),
        (700, "heal 0"),
        (700, "Abandon"),
        (700, "omit 1"),
    ];
    assert_eq!(fault_actions(&pressed), order);

    // Even if the caller is delayed, the loop performs all actions, in order.
    let mut conduct_away = sim(&[], 4000);
    conduct_away.now_ns += 3000 * MS;
    run(&mut conduct_away, &faults, None);
    let texts: Vec<&str> = fault_actions(&conduct_away).iter().map(|one| one.1).collect();
    assert_eq!(texts, ["inject 0", "inject 1", "heal 1", "heal 0"]);
}

#[test]
fn a_fault_holds_its_full_time_and_the_next_waits_for_its_end() {
    let next = |at_ms, after| Breaking {
        after: Some(after),
        ..takes("node2", at_ms, 500)
    };
    // The first fault waits 700 ms for its node, and its healing takes 900 ms.
    let faults = [takes("node1", 500, 500), next(1000, 0), next(1100, 1)];
    let mut row = sim(&[], 9000);
    (row.waits_ms, row.heals_ms) = (700, 900);
    run(&mut row, &faults, Some(7000));
    let order = [
        (500, "inject 0"),
        (1700, "heal 0"),
        (2700, "inject 1"),
        (3900, "heal 1"),
        (4900, "inject 2"),
        (6100, "heal 2"),
    ];
    assert_eq!(fault_actions(&row), order);

    // When the last fault may begin, less than half of its duration is left.
    let mut short = sim(&[], 9000);
    (short.waits_ms, short.heals_ms) = (700, 900);
    run(&mut short, &faults, Some(5000));
    let late = [&order[..4], &[(4800, "omit 2")]].concat();
    assert_eq!(fault_actions(&short), late);

    // The end of the load is not known in advance. At the end, the second fault is in effect, and
    // the third fault has not begun.
    let mut ended = sim(&[], 3000);
    (ended.waits_ms, ended.heals_ms) = (700, 900);
    run(&mut ended, &faults, None);
    let left = [&order[..3], &[(3000, "omit 2")]].concat();
    assert_eq!(fault_actions(&ended), left);
}

#[test]
fn the_time_of_faults_begins_with_the_measured_window() {
    let mut sim = sim(&[(1000, Fate::Interval), (2000, Fate::Interval)], 2500);
    let mut seen = 0;
    let mut decide = |_: &SummedInterval| {
        seen += 1;
        let next = (seen == 1).then_some(PhaseKind::Measure);
        Decision {
            next,
            ..Decision::in_phase("warmup")
        }
    };
    let faults = vec![takes("node1", 450, 1000)];
    let mut conduct = Conduct::new(START, Vec::new(), faults, &mut decide);
    conduct.run(&mut sim).unwrap();
    assert_eq!(fault_actions(&sim), [(1450, "inject 0"), (2450, "heal 0")]);
}

/// In one run, nine of ten faults took so long that the last fault never began, and no message
/// reported this.
#[test]
fn the_end_of_what_is_measured_is_known_when_it_begins() {
    let mut sim = sim(&[(1000, Fate::Interval)], 4000);
    let mut decide = |_: &SummedInterval| Decision {
        next: Some(PhaseKind::Measure),
        ..Decision::in_phase("warmup")
    };
    let second = Breaking {
        after: Some(0),
        ..takes("node2", 1500, 2000)
    };
    let faults = vec![takes("node1", 500, 1600), second];
    let mut conduct = Conduct::new(START, Vec::new(), faults, &mut decide);
    conduct.measures_for(Duration::from_millis(3000));
    conduct.run(&mut sim).unwrap();
    // The window ends at 4000 ms.
    let order = [(1500, "inject 0"), (3100, "omit 1"), (3100, "heal 0")];
    assert_eq!(fault_actions(&sim), order);
}

/// Without an end that depends on the last fault, every window had to be as long as the slowest
/// recovery might take.
#[test]
fn the_last_fault_ends_the_load_at_the_end_of_an_interval() {
    let measured = |after_ms: u64, window_ms: u64| {
        let mut sim = sim(&[(1000, Fate::Interval)], 9000);
        let mut decide = |_: &SummedInterval| Decision {
            next: Some(PhaseKind::Measure),
            ..Decision::in_phase("warmup")
        };
        let faults = vec![takes("node1", 500, 600), takes("node2", 700, 900)];
        let mut conduct = Conduct::new(START, Vec::new(), faults, &mut decide);
        conduct.measures_for(Duration::from_millis(window_ms));
        conduct.ends_after_faults(Duration::from_millis(after_ms));
        conduct.run(&mut sim).unwrap();
        sim.since_ms()
    };
    // The measurement begins at 1000 ms, and the second fault ends at 2600 ms.
    assert_eq!(measured(3000, 8000), 6000);
    assert_eq!(measured(0, 8000), 5000, "the clients hear of it before");
    assert_eq!(measured(3000, 3000), 9000, "its length ends it, as without");
}

#[test]
fn a_fault_due_between_two_intervals_comes_at_its_time() {
    let script = [(1000, Fate::Interval), (2000, Fate::Interval)];
    let mut sim = sim(&script, 2450);
    let faults = [takes("node1", 1350, 100)];
    assert_eq!(run(&mut sim, &faults, Some(2450)), None);
    // The loop does not announce the end, because the load generator received the fixed end at the
    // start.
    assert_eq!(
        done(&sim),
        [
            (1000, "keep measure"),
            (1350, "inject 0"),
            (1450, "heal 0"),
            (2000, "keep measure"),
        ]
    );
    assert_eq!(sim.since_ms(), 2450);
}

#[test]
fn a_repeated_task_runs_once_after_a_pause() {
    let mut agenda = Agenda(BTreeSet::from([(START, Due::LookAtNodes)]));
    assert_eq!(agenda.next_ns(), START);
    assert_eq!(agenda.take(START - 1), []);
    assert_eq!(agenda.take(START + 350 * MS), [Due::LookAtNodes]);
    assert_eq!(agenda.next_ns(), START + 400 * MS, "in step with its begin");

    let mut sim = sim(&[], 1050);
    sim.tells_looks = true;
    run(&mut sim, &[], None);
    let looks = (1..=10).map(|tick| (tick * 100, "look"));
    let end = [(1000, "readings"), (1050, "look"), (1050, "readings")];
    assert_eq!(done(&sim), looks.chain(end).collect::<Vec<_>>());
}

/// An earlier version did not detect a node that died in the last moments of the load.
#[test]
fn a_node_death_before_the_end_is_seen_and_the_first_end_holds() {
    let mut sim = sim(
        &[(3960, Fate::Dies("node1", 9000)), (3970, Fate::CtrlC)],
        3990,
    );
    let cut = run(&mut sim, &[], None);
    assert_eq!(
        cut,
        Some(EarlyEnd::Interrupted),
        "seen before it was looked"
    );
    assert_eq!(done(&sim), [(3990, "Abandon")]);
}

#[test]
fn the_phase_that_an_interval_ends_begins_with_the_next_one() {
    let mut sim = sim(&[(1000, Fate::Interval), (2000, Fate::Interval)], 2500);
    let mut seen = 0;
    let mut decide = |summed: &SummedInterval| {
        seen += 1;
        let next = (seen == 1).then_some(PhaseKind::Measure);
        let phase = if seen == 1 { "warmup" } else { "measure" };
        Decision {
            next,
            ..Decision::go_on(phase, &summed.interval)
        }
    };
    Conduct::new(START, Vec::new(), Vec::new(), &mut decide).run(&mut sim).unwrap();
    let expected = [
        (1000, "keep warmup"),
        (1000, "begin measure at 1000"),
        (2000, "keep measure"),
    ];
    assert_eq!(done(&sim), expected);
}
