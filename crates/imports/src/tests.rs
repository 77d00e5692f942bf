//! Tests of behaviour that all tools share.

use super::{ImportStep, Tool, import};
use workload::Generator;

const CYCLES: &str = "
bindings: {id: 'ToString()'}
statements: [{insert: 'INSERT INTO ks.t (id) VALUES ({id})', tags: {phase: main}}]
";

fn step(tool: Tool, line: &str) -> ImportStep {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let read = |_: &str| Ok(CYCLES.to_owned());
    let mut import = import(tool, &words, 1, &read).unwrap_or_else(|why| panic!("{line}: {why}"));
    import.steps.remove(0)
}

/// Returns the tokens of the operations' partitions.
fn tokens(step: &ImportStep, numbers: impl Iterator<Item = u64>) -> Vec<Option<i64>> {
    let mut generator = step.program.generator(step.stage);
    let token = |generator: &mut Generator, n: u64| {
        generator.begin(step.first_operation + n);
        generator.token()
    };
    numbers.map(|n| token(&mut generator, n)).collect()
}

/// Command lines of one client. Each has the command lines of three clients that share the same
/// work with 2, 1 and 1 workers.
const RANGES: [(Tool, &str, [&str; 3]); 5] = [
    (
        Tool::Stress,
        "write n=1000",
        [
            "write n=500 -pop seq=1..500",
            "write n=250 -pop seq=501..750",
            "write n=250 -pop seq=751..1000",
        ],
    ),
    (
        Tool::Stress,
        "read n=400 -pop seq=1001..2000",
        [
            "read n=200 -pop seq=1001..1500",
            "read n=100 -pop seq=1501..1750",
            "read n=100 -pop seq=1751..2000",
        ],
    ),
    (
        Tool::Nb,
        "run driver=cql workload=w tags=phase:main cycles=100..1100 threads=8",
        [
            "run driver=cql workload=w tags=phase:main cycles=100..600 threads=8",
            "run driver=cql workload=w tags=phase:main cycles=600..850 threads=8",
            "run driver=cql workload=w tags=phase:main cycles=850..1100 threads=8",
        ],
    ),
    (
        Tool::Nb,
        "run driver=cql workload=w tags=phase:main cycles=1000 recycles=2 threads=8",
        [
            "run driver=cql workload=w tags=phase:main cycles=0..500 recycles=2 threads=8",
            "run driver=cql workload=w tags=phase:main cycles=500..750 recycles=2 threads=8",
            "run driver=cql workload=w tags=phase:main cycles=750..1000 recycles=2 threads=8",
        ],
    ),
    (
        Tool::Ycsb,
        "load -p recordcount=1000 -p threadcount=8",
        [
            "load -p recordcount=1000 -p insertstart=0 -p insertcount=500",
            "load -p recordcount=1000 -p insertstart=500 -p insertcount=250",
            "load -p recordcount=1000 -p insertstart=750 -p insertcount=250",
        ],
    ),
];

#[test]
fn each_client_asks_as_the_tool_does_within_its_range() {
    for (tool, all, clients) in RANGES {
        let step = step(tool, all);
        let range = (step.first_operation, step.limit.operations());
        let program = step.program.in_ranges(step.stage, range, &[2, 1, 1]).expect(all);
        let split = ImportStep {
            program: program.into(),
            ..step
        };
        let count = split.limit.operations().expect(all);
        for (line, workers) in clients.into_iter().zip([[0, 1], [2, 2], [3, 3]]) {
            let own = (0..count).filter(|n| (workers[0]..=workers[1]).contains(&(n % 4)));
            let alone = self::step(tool, line);
            let expected = alone.limit.operations().expect(line);
            assert_eq!(
                tokens(&split, own),
                tokens(&alone, 0..expected),
                "{all}: {line}"
            );
        }
    }
}

#[test]
fn a_step_that_walks_through_no_range_cannot_be_split() {
    for (tool, line) in [
        (Tool::Stress, "read n=1000"),
        (
            Tool::Stress,
            "mixed n=1000 -pop seq=1..10 read-lookback=uniform(1..5)",
        ),
        (Tool::Ycsb, "run -p recordcount=1000 -p operationcount=10"),
        (Tool::Easy, "run KeyValue -n 1000"),
    ] {
        let step = step(tool, line);
        let range = (step.first_operation, step.limit.operations());
        let split = step.program.in_ranges(step.stage, range, &[1, 1]);
        assert!(split.is_none(), "{line}");
    }
}
