//! Tests the trials into which a study expands, and their order.

use super::order::{Chance, balanced};
use super::*;
use crate::resolve::resolve;
use crate::settings::Overrides;
use analysis::procedure::{Procedure, Until};
use expect_test::{Expect, expect};
use std::collections::BTreeSet;
use workload::random::Draws;

fn study(rest: &str) -> Study {
    let data = if rest.contains("data: {load") {
        ""
    } else {
        "data: {load: {operations: 10k}}\n"
    };
    let text = format!(
        "study: s\nquestion: q\nworkload: {{use: standard1}}\n\
         {data}window: {{measure: 10s}}\n{rest}"
    );
    resolve("s", &text, &Overrides::default()).unwrap()
}

fn check(rest: &str, expect: Expect) {
    let plan = plan(&study(rest)).unwrap();
    let line = |trial: &Turn| {
        let names: Vec<_> = trial.phases.iter().map(|phase| phase.kind.name()).collect();
        format!("{} {}\n", trial.slug, names.join(" "))
    };
    expect.assert_eq(&plan.trials.iter().map(line).collect::<String>());
}

#[test]
fn variants_on_one_target_alternate_per_point_and_load_once() {
    check(
        "target: {local: {}}\nprocedure: {sweep: {threads: [4, 8]}}\n\
         variants: {a: {}, b: {workload: {mix: {write: 1}}}}\nrepeat: {blocks: 2}\n",
        expect![[r#"
            00-b-threads-4-block-1 target schema load settle warmup measure verify
            01-a-threads-4-block-1 settle warmup measure verify
            02-b-threads-8-block-1 settle warmup measure verify
            03-a-threads-8-block-1 settle warmup measure verify
            04-a-threads-8-block-2 settle warmup measure verify
            05-b-threads-8-block-2 settle warmup measure verify
            06-a-threads-4-block-2 settle warmup measure verify
            07-b-threads-4-block-2 settle warmup measure verify
        "#]],
    );
}

#[test]
fn variants_on_different_targets_stay_for_all_points_of_a_block() {
    check(
        "target: {local: {}}\nprocedure: {sweep: {threads: [4, 8]}}\n\
         variants: {a: {}, b: {target: {local: {heap: 512MiB}}}}\nrepeat: {blocks: 2}\n",
        expect![[r#"
            00-b-threads-8-block-1 target schema load settle warmup measure verify
            01-b-threads-4-block-1 settle warmup measure verify
            02-a-threads-4-block-1 restart settle warmup measure verify
            03-a-threads-8-block-1 settle warmup measure verify
            04-a-threads-8-block-2 settle warmup measure verify
            05-a-threads-4-block-2 settle warmup measure verify
            06-b-threads-4-block-2 restart settle warmup measure verify
            07-b-threads-8-block-2 settle warmup measure verify
        "#]],
    );
}

#[test]
fn truncate_loads_again_and_other_tables_replace() {
    check(
        "target: {null: {}}\nprocedure: {fixed: {rate: 5k}}\n\
         variants: {a: {data: {reset: truncate}}, b: {workload: {params: {columns: 2}}}}\n\
         repeat: {blocks: 2, order: sequential}\n",
        expect![[r#"
            00-a-rate-5000-block-1 target schema load warmup measure
            01-a-rate-5000-block-2 schema load warmup measure
            02-b-rate-5000-block-1 schema load warmup measure
            03-b-rate-5000-block-2 warmup measure
        "#]],
    );
}

#[test]
fn a_snapshot_is_made_once_and_every_trial_restores_it_first() {
    check(
        "target: {local: {}}\nprocedure: {sweep: {threads: [4, 8]}}\n\
         phases: {load: {target: {local: {yaml: {commitlog_sync: periodic}}}}}\n\
         data: {load: {operations: 10k}, reset: snapshot}\n\
         variants:\n  a: {target: {local: {yaml: {commitlog_sync: batch}}}}\n  \
         b: {target: {local: {heap: 512MiB}}}\n",
        expect![[r#"
            00-a-threads-4 target schema load settle snapshot restart restore warmup measure verify
            01-a-threads-8 restore warmup measure verify
            02-b-threads-4 restart restore warmup measure verify
            03-b-threads-8 restore warmup measure verify
        "#]],
    );
}

/// The trials of a ladder keep the order and the operations of earlier versions. So cassay can
/// resume a run that was interrupted under an earlier version.
#[test]
fn a_ladder_is_planned_whole_and_its_first_point_is_certain() {
    let study = study(
        "target: {null: {}}\nprocedure: {sweep: {threads: {from: 4, factor: 2, to: 16}, until: \
         {p99_ms: 20}}}\nvariants: {a: {}, b: {workload: {params: {columns: 2}}}, c: {procedure: \
         {fixed: {rate: 5k}}}}\nrepeat: {blocks: 2}\nseed: 7\n",
    );
    let plan = plan(&study).unwrap();
    let line = |trial: &Turn| {
        let cell = trial.first_operation / OPERATIONS_PER_CELL;
        let certain = if trial.certain { " certain" } else { "" };
        format!("{} cell {cell}{certain}\n", trial.slug)
    };
    expect![[r#"
        00-a-threads-4-block-1 cell 0 certain
        01-b-threads-4-block-1 cell 0 certain
        02-c-rate-5000-block-1 cell 0 certain
        03-b-threads-8-block-1 cell 1
        04-a-threads-8-block-1 cell 1
        05-a-threads-16-block-1 cell 2
        06-b-threads-16-block-1 cell 2
        07-c-rate-5000-block-2 cell 3 certain
        08-a-threads-4-block-2 cell 3 certain
        09-b-threads-4-block-2 cell 3 certain
        10-a-threads-8-block-2 cell 4
        11-b-threads-8-block-2 cell 4
        12-a-threads-16-block-2 cell 5
        13-b-threads-16-block-2 cell 5
    "#]]
    .assert_eq(&plan.trials.iter().map(line).collect::<String>());
    assert!(plan.estimate.seconds_least < plan.estimate.seconds);
}

/// In an earlier version, a ladder continued although five of its runs had improved by less than
/// the measurable difference.
#[test]
fn an_imported_ladder_ends_by_uncertainty_if_its_runs_do() {
    for (words, expected) in [("write", Some(0.02)), ("write n=1000", None)] {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{null: {{}}}}\n\
             workload: {{stress: '{words} -rate auto'}}\n"
        );
        let study = resolve("s", &text, &Overrides::default()).unwrap();
        let Procedure::Sweep(sweep) = &study.variants[0].settings.procedure else {
            panic!("{words} is a ladder");
        };
        let gain_min = expected;
        assert_eq!(sweep.until, Some(Until::Flat { gain_min }), "{words}");
    }
}

/// If a procedure finds its points during the run, the plan contains a turn for each point that the
/// procedure may need.
#[test]
fn turns_without_a_point_are_planned_where_they_will_come() {
    let study = study(
        "target: {null: {}}\nprocedure: {fixed: {threads: 4}}\nvariants: {a: {}, b: {}}\n\
         repeat: {blocks: 2}\nseed: 7\n",
    );
    let works = plan(&study).unwrap().works;
    let outlook = |turns_max| ProcedureEstimate {
        turns_max,
        any_order: false,
        ..study.variants[0].settings.procedure.outlook()
    };
    let turns = turns(&study, &works, &[outlook(3), outlook(1)]);
    let line = |turn: &Turn| {
        let certain = if turn.certain { " certain" } else { "" };
        let offered = turn.phases.last().unwrap().work.to_string();
        format!("{} {offered}{certain}\n", turn.slug)
    };
    expect![[r#"
        00-b-threads-4-block-1 4 in flight, 10s certain
        01-a-threads-4-block-1 4 in flight, 10s certain
        02-a-step-2-block-1 at the load that the procedure chooses, 10s
        03-a-step-3-block-1 at the load that the procedure chooses, 10s
        04-a-threads-4-block-2 4 in flight, 10s certain
        05-b-threads-4-block-2 4 in flight, 10s certain
        06-a-step-2-block-2 at the load that the procedure chooses, 10s
        07-a-step-3-block-2 at the load that the procedure chooses, 10s
    "#]]
    .assert_eq(&turns.iter().map(line).collect::<String>());
    let firsts: BTreeSet<u64> = turns.iter().map(|turn| turn.first_operation).collect();
    assert_eq!(firsts.len(), 6, "no two points ask the same");
}

#[test]
fn only_the_same_cell_of_two_variants_gets_the_same_operations() {
    let study = study(
        "target: {null: {}}\nprocedure: {sweep: {threads: [4, 8]}}\nrepeat: {blocks: 3}\n\
         variants: {a: {}, b: {}}\n",
    );
    let plan = plan(&study).unwrap();
    let firsts = |variant| -> BTreeSet<_> {
        let trials = plan.trials.iter().filter(|trial| trial.variant.0 == variant);
        trials
            .map(|t| {
                (
                    t.block.0,
                    t.point.unwrap().value() as u64,
                    t.first_operation,
                )
            })
            .collect()
    };
    assert_eq!(firsts(0), firsts(1));
    let numbers: BTreeSet<_> = plan.trials.iter().map(|t| t.first_operation).collect();
    assert_eq!(numbers.len(), 6);
}

#[test]
fn every_seed_measures_every_cell_and_seeds_differ_in_order() {
    let mut study = study(
        "target: {null: {}}\nprocedure: {sweep: {threads: [1, 2]}}\nrepeat: {blocks: 4}\n\
         variants: {a: {}, b: {}, c: {}}\n",
    );
    let mut orders = BTreeSet::new();
    for seed in 0..20 {
        study.seed = seed;
        let order = order(&study, &outlooks(&study));
        let cell = |c: &Cell| (c.variant.0, c.rung, c.block.0);
        assert_eq!(order.iter().map(cell).collect::<BTreeSet<_>>().len(), 24);
        assert_eq!(
            order,
            self::order(&study, &outlooks(&study)),
            "a plan is a pure function"
        );
        orders.insert(order.iter().map(cell).collect::<Vec<_>>());
    }
    assert!(orders.len() > 10);
}

#[test]
fn every_item_has_every_place_and_predecessor_equally_often() {
    for (items, blocks, seed) in (1..=7).flat_map(|items| {
        (1..=15).flat_map(move |blocks| (0..5).map(move |seed| (items, blocks, seed)))
    }) {
        let orders = balanced(items, blocks, &mut Chance(Draws::sequence(seed)));
        assert_eq!(orders.len(), blocks);
        let mut places = vec![vec![0; items]; items];
        let mut follows = vec![vec![0; items]; items];
        for order in &orders {
            for (place, item) in order.iter().enumerate() {
                places[place][*item] += 1;
            }
            order.windows(2).for_each(|pair| follows[pair[0]][pair[1]] += 1);
        }
        let context = format!("{items} items, {blocks} blocks, seed {seed}: {orders:?}");
        for counts in &places {
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(most - least <= 1, "{context}");
            assert_eq!(counts.iter().sum::<usize>(), blocks, "{context}");
        }
        // A complete design consists of one square for an even number of items, and of two squares
        // for an odd number.
        let whole = if items % 2 == 0 { items } else { 2 * items };
        if blocks % whole == 0 {
            let apart: BTreeSet<usize> = follows
                .iter()
                .enumerate()
                .flat_map(|(a, row)| {
                    row.iter().enumerate().filter(move |(b, _)| a != *b).map(|(_, count)| *count)
                })
                .collect();
            assert!(apart.len() <= 1, "{context}: {follows:?}");
        }
    }
}

#[test]
fn variants_and_points_are_counterbalanced_except_in_ladders() {
    let study = |until: &str| {
        study(&format!(
            "target: {{null: {{}}}}\nrepeat: {{blocks: 6}}\nvariants: {{a: {{}}, b: {{}}}}\n\
             procedure: {{sweep: {{threads: [1, 2, 3]{until}}}}}\n"
        ))
    };
    let order = |until: &str| {
        let study = study(until);
        order(&study, &outlooks(&study))
    };
    let rises = order(", until: timeout");
    let order = order("");
    let first = |cell: &Cell| {
        let same = |c: &&Cell| (c.block, c.rung) == (cell.block, cell.rung);
        order.iter().find(same).unwrap().variant == cell.variant
    };
    for rung in 0..3 {
        let firsts = order.iter().filter(|c| c.rung == rung && c.variant.0 == 0 && first(c));
        assert_eq!(
            firsts.count(),
            3,
            "a is first in three of six blocks at {rung}"
        );
        let begins = (0..6).filter(|block| {
            let first = order.iter().find(|c| c.block.0 == *block).unwrap();
            first.rung == rung
        });
        assert_eq!(begins.count(), 2, "{rung} comes first in two of six blocks");
    }
    let same_block = |pair: &&[Cell]| pair[0].block == pair[1].block;
    assert!(rises.windows(2).filter(same_block).all(|pair| pair[0].rung <= pair[1].rung));
}

#[test]
fn the_shipped_first_look_fits_its_promises() {
    let text = include_str!("../../../../studies/first-look.yaml");
    let seconds = |target: Option<&str>, scale: Option<&str>| {
        let overrides = Overrides {
            target: target.map(str::to_owned),
            scale: scale.map(str::to_owned),
            ..Overrides::default()
        };
        plan(&resolve("first-look", text, &overrides).unwrap())
            .unwrap()
            .estimate
            .seconds
    };
    assert!(
        seconds(None, None) < 360.0,
        "under six minutes on Cassandra"
    );
    assert!(
        seconds(Some("null"), None) < 60.0,
        "under a minute on the null target"
    );
    assert!(seconds(None, Some("laptop")) < seconds(None, None));
    assert!(seconds(None, Some("ci")) < seconds(None, Some("laptop")));
}

/// Blocks beyond the minimum are planned, but not certain. Added blocks have a separate order at
/// the end, and existing trials keep their names.
#[test]
fn possible_blocks_are_not_certain_and_added_ones_move_none() {
    let mut study = study(
        "target: {null: {}}\nprocedure: {sweep: {threads: [1, 2]}}\n\
         variants: {a: {}, b: {}}\nrepeat: {until: answered, min: 4, max: 6}\n",
    );
    let plan = super::plan(&study).unwrap();
    let certain =
        |plan: &Plan| -> Vec<bool> { plan.trials.iter().map(|trial| trial.certain).collect() };
    assert_eq!(certain(&plan), [vec![true; 16], vec![false; 8]].concat());
    assert!(plan.estimate.seconds_least < plan.estimate.seconds * 0.7);
    study.added = vec![2, 1];
    let longer = super::plan(&study).unwrap();
    assert_eq!(longer.trials.len(), 36);
    let slugs = |plan: &Plan| -> Vec<String> {
        plan.trials.iter().map(|trial| trial.slug.clone()).collect()
    };
    assert_eq!(slugs(&longer)[..24], slugs(&plan)[..]);
    assert!(certain(&longer)[24..].iter().all(|certain| *certain));
    let blocks: Vec<usize> = longer.trials[24..].iter().map(|trial| trial.block.0).collect();
    assert_eq!(blocks, [6, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8]);
    let first = |plan: &Plan| plan.trials.iter().map(|t| t.first_operation).max();
    assert!(
        first(&longer) > first(&plan),
        "other operations than before"
    );
}

/// In an earlier version, cassay planned a comparison of compressors with random bytes without a
/// warning.
#[test]
fn obstacles_to_an_answer_about_storage_give_warnings() {
    let warnings = |rest: &str| {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{local: {{}}}}\nprocedure: {{fixed: {{threads: 1}}}}\n\
             data: {{load: {{operations: 1k}}}}\nwindow: {{measure: 60s}}\n{rest}"
        );
        let study = resolve("s", &text, &Overrides::default()).expect("a study");
        plan(&study).expect("a plan").warnings.join("\n")
    };
    let compressors = "variants: {a: {keyspace: {compression: {class: LZ4Compressor}}}, b: \
         {keyspace: {compression: {class: SnappyCompressor}}}}\n";
    let said = warnings(&format!("workload: {{use: kv}}\n{compressors}"));
    assert!(
        said.starts_with(
            "variants differ in `keyspace.compression`, but the rows of kv are hardly \
             compressible: LZ4 compresses them to 77 %"
        ) && said.ends_with(
            "With `workload: {params: {compressible: 0.7}}`, LZ4 compresses them to about a third"
        ),
        "{said}"
    );
    let compressible = "workload: {use: kv, params: {compressible: 0.7}}\n";
    assert_eq!(warnings(&format!("{compressible}{compressors}")), "");
    // The data on disk has the same ratio with both compressors unless flushes use the table's
    // compressor.
    let zstd = compressors.replace("Snappy", "Zstd");
    let said = warnings(&format!("{compressible}{zstd}"));
    assert!(said.starts_with(
        "when Cassandra flushes a table with ZstdCompressor, it compresses the SSTables with LZ4"
    ));
    let table = zstd.replace(
        "b: {",
        "b: {target: {local: {yaml: {flush_compression: table}}}, ",
    );
    assert_eq!(warnings(&format!("{compressible}{table}")), "");
    // Variants that store the same data in the same way need no warning.
    let consistency = "variants: {a: {}, b: {workload: {consistency: {read: ONE}}}}\n";
    assert_eq!(
        warnings(&format!("workload: {{use: kv}}\n{consistency}")),
        ""
    );
    let sizes =
        "workload: {use: kv}\nvariants: {a: {}, b: {workload: {params: {value_size: 900}}}}\n";
    assert!(warnings(sizes).contains("differ in `workload.params`"));
}

/// Returns the names of the imported steps in the order in which they are measured, block by block.
fn steps_in_order(rest: &str, seed: u64) -> Vec<String> {
    let text = format!("study: s\nquestion: q\nseed: {seed}\ntarget: {{null: {{}}}}\n{rest}");
    let study = resolve("s", &text, &Overrides::default()).unwrap();
    let plan = plan(&study).unwrap();
    let name = |trial: &Turn| {
        let name = study.variant(trial.variant).name.to_string();
        format!("{name} {}", trial.block.0)
    };
    plan.trials.iter().map(name).collect()
}

#[test]
fn steps_of_another_tool_run_in_their_order_for_any_seed() {
    let stress = "workload: {stress: ['write n=9 -rate threads=1', 'mixed n=9 -rate threads=1', \
                  'read n=9 -rate threads=1']}\n";
    let ycsb = "workload: {ycsb: ['load -p recordcount=9 -p workload=CoreWorkload', 'run -p \
                recordcount=9 -p operationcount=9 -p workload=CoreWorkload']}\n";
    for seed in 1..20 {
        for (blocks, order) in [(1, "interleaved"), (3, "interleaved"), (3, "sequential")] {
            let repeat = format!("repeat: {{blocks: {blocks}, order: {order}}}\n");
            let expected = |names: &[&str]| -> Vec<String> {
                let in_block = |block| names.iter().map(move |name| format!("{name} {block}"));
                (0..blocks).flat_map(in_block).collect()
            };
            let said = format!("seed {seed}, {repeat}");
            let seen = steps_in_order(&format!("{stress}{repeat}"), seed);
            assert_eq!(seen, expected(&["write", "mixed", "read"]), "{said}");
            let seen = steps_in_order(&format!("{ycsb}{repeat}"), seed);
            assert_eq!(seen, expected(&["load", "run"]), "{said}");
        }
    }
}

/// A side runs all of its steps before the next side runs, so that each step finds the data of the
/// side's previous step.
#[test]
fn compared_imports_alternate_with_all_their_steps() {
    let rest = "workload: {stress: ['write n=9 -rate threads=1', 'read n=9 -rate threads=1']}\n\
                variants: {a: {}, b: {client: {connections_per_node: 2}}}\nrepeat: {blocks: 4}\n";
    let mut firsts = BTreeSet::new();
    for seed in 1..9 {
        let seen = steps_in_order(rest, seed);
        let blocks: Vec<&[String]> = seen.chunks(4).collect();
        assert_eq!(blocks.len(), 4);
        for (number, block) in blocks.iter().enumerate() {
            let steps = |sides: [&str; 2]| {
                let of = |side| ["write", "read"].map(|step| format!("{side}-{step} {number}"));
                sides.map(of).concat()
            };
            let (ab, ba) = (steps(["a", "b"]), steps(["b", "a"]));
            assert!(*block == ab || *block == ba, "{block:?}");
        }
        let begins = blocks.iter().filter(|block| block[0].starts_with('a')).count();
        assert_eq!(
            begins, 2,
            "each side begins as often as the other: {seen:?}"
        );
        firsts.insert(seen[0].clone());
    }
    assert_eq!(firsts.len(), 2, "chance decides who begins");
}

#[test]
fn a_step_and_its_fault_free_twin_alternate_after_shared_steps() {
    let rest = "target: {local: {}}\nworkload: {stress: ['write n=9 -rate threads=1', \
                'read duration=20s -rate threads=1']}\nfaults: [{kind: node-pause, at: 5s, for: \
                1s}]\nrepeat: {blocks: 2, without_faults: true}\n";
    let text = format!("study: s\nquestion: q\nseed: 3\n{rest}");
    let study = resolve("s", &text, &Overrides::default()).unwrap();
    let plan = plan(&study).unwrap();
    let names: Vec<String> = plan
        .trials
        .iter()
        .map(|trial| study.variant(trial.variant).name.to_string())
        .collect();
    for block in names.chunks(3) {
        assert_eq!(block[0], "write");
        let others: BTreeSet<&str> = block[1..].iter().map(String::as_str).collect();
        assert_eq!(others, BTreeSet::from(["read", "without-faults"]));
    }
    assert_ne!(names[1], names[4], "they take turns");
}
