//! The inputs to mutate, with the reader of each kind of input. The program itself uses the same
//! readers.

mod frames;

use crate::query_log;
use crate::read;
use analysis::profile::{Names, TrialProfile, differences};
use imports::Tool;
use report::RunView;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::Run;
use topology::{
    Machine,
    export::FORMATS,
    test_machines::{Counts, Numbering, Shape},
};
use workload::{Spec, Stage};

/// Valid inputs to mutate, each with a name.
pub type Texts = Vec<(&'static str, Vec<u8>)>;

/// Function that reads an input as the program does.
pub type Reader = Box<dyn Fn(&[u8])>;

/// One kind of input: its valid texts, and the reader that must survive their mutations.
pub struct InputKind {
    pub name: &'static str,
    /// Relative number of inputs. The number depends on how much can go wrong, and on the cost of
    /// one input.
    pub weight: u64,
    pub texts: Box<dyn Fn() -> Texts>,
    pub read: Reader,
}

impl InputKind {
    pub fn new(
        name: &'static str,
        weight: u64,
        texts: fn() -> Texts,
        read: fn(&[u8]),
    ) -> InputKind {
        InputKind {
            name,
            weight,
            texts: Box::new(texts),
            read: Box::new(read),
        }
    }

    /// Returns the kind of input for a file of a run. cassay reads each file by itself, and also as
    /// part of the golden run, which an earlier version wrote.
    fn run_file(
        name: &'static str,
        weight: u64,
        file: &'static str,
        alone: fn(&[u8]),
    ) -> InputKind {
        let bytes = move || {
            let bytes = std::fs::read(Path::new(GOLDEN).join(file));
            vec![(file, bytes.unwrap_or_else(|why| panic!("{file}: {why}")))]
        };
        InputKind {
            name,
            weight,
            texts: Box::new(bytes),
            read: Box::new(move |bytes| {
                alone(bytes);
                read_run(file, bytes);
            }),
        }
    }
}

/// Returns the kinds of input that this module contains. `files` contains the other kinds.
pub fn kinds() -> Vec<InputKind> {
    vec![
        InputKind::new("request", 10, frames::requests, read::request),
        InputKind::new("response", 10, frames::responses, read::response),
        InputKind::new("study", 10, studies, read::study),
        InputKind::new("published", 5, published, read::published),
        InputKind::new("workload-file", 10, workload_files, read_workload_file),
        InputKind::new("stress-words", 20, stress_words, read_stress_words),
        InputKind::new("stress-profile", 10, stress_profiles, read_stress_profile),
        InputKind::new("nb-file", 10, nb_files, read_nb_file),
        InputKind::new("ycsb-words", 20, ycsb_words, read_ycsb_words),
        InputKind::new("easy-words", 20, easy_words, read_easy_words),
        InputKind::new("import", 10, imports, read::import),
        InputKind::new("query-log", 2, query_log::texts, query_log::read),
        InputKind::new("machine", 10, machines, read_machine),
        InputKind::new("placement", 10, placements, read_placement),
        InputKind::run_file("hlog", 10, "trials/00-threads-4/latency.hlog", read::hlog),
        InputKind::run_file("journal", 10, "journal.ndjson", read::journal),
        InputKind::run_file(
            "intervals",
            5,
            "trials/00-threads-4/intervals.ndjson",
            read::journal,
        ),
        InputKind::new("overview", 10, overviews, read::overview),
        InputKind::new("profile", 5, profiles, read_profile),
        InputKind::run_file("findings", 5, "findings.json", read::findings),
        InputKind::run_file("plan", 5, "plan.json", read::findings),
        InputKind::run_file("trial", 5, "trials/00-threads-4/trial.json", read::findings),
    ]
}

fn imports() -> Texts {
    texts_of(&[
        "stress user profile=p.yaml ops(insert=1) n=10\ntable: t\n",
        "nb own.yaml default\nscenarios: {default: run driver=cql cycles=10}\n",
        "ycsb run cassandra-cql -P file\nrecordcount=10\n",
        "easy run KeyValue -n 10 -p 100 -r 0.5\n",
    ])
}

macro_rules! shipped {
    ($($path:literal),+ $(,)?) => {
        vec![$(($path, include_bytes!(concat!("../../../../", $path)).to_vec())),+]
    };
}

fn studies() -> Texts {
    let mut texts = shipped!(
        "studies/first-look.yaml",
        "studies/hosts.yaml",
        "studies/known-stall.yaml",
        "studies/azure-local-storage/azure-fixed.yaml",
        "studies/azure-local-storage/azure-variable.yaml",
        "studies/dse-vsan/dse-hours.yaml",
        "studies/dse-vsan/dse-peak.yaml",
        "studies/nvme-vs-hdd/nvme-vs-hdd.yaml",
        "studies/vsphere-vtopology/vsphere-vtopology.yaml",
    );
    texts.push(("attached", ATTACHED.into()));
    texts.extend(texts_of(&[UNTIL_ANSWERED, SCREENED, GRID]));
    texts
}

fn published() -> Texts {
    let mut texts = shipped!(
        "studies/dse-vsan/published-failures.yaml",
        "studies/dse-vsan/published-hours.yaml",
        "studies/nvme-vs-hdd/published.yaml",
    );
    texts.extend(texts_of(&["\
ratios:
- {what: w, metric: latency_ms.p99, of: a, to: b, of_at: {threads: 2}, least: 0.9, most: 1.5}
- {what: w, metric: ops_per_s, of: b, to: a, to_at: {threads: 2}, value: 2}
figures: [{place: table 1, what: w, in_flight: 200, ops_per_s: 1000, p50_ms: 1, mean_ms: 2}]
"]));
    texts
}

/// Returns overviews, whose figures are 32-bit floats in base64: 1.0 or 0.0.
fn overviews() -> Texts {
    texts_of(&[
        r#"{"format":1,"width_s":1.0,"kinds":[{"kind":"read","figures":{
"ok":"AACAPwAAgD8AAIA/AACAPwAAAAAAAAAAAAAAAAAAAAA=",
"seconds":"AACAPwAAgD8AAIA/AACAPwAAgD8AAIA/AACAPwAAgD8=",
"errors.overloaded":"AACAPwAAgD8AAIA/AACAPwAAgD8AAIA/AACAPwAAgD8=",
"p99_ms":"AACAPwAAgD8AAIA/AACAPwAAgD8AAIA/AACAPwAAgD8=",
"cpu_share":"AACAPwAAgD8AAIA/AACAPwAAgD8AAIA/AACAPwAAgD8="}}],
"series":[{"probe":"os","name":"cpu","unit":"share","count":1,"sum":0.5}]}"#,
        r#"{"probe":"os","name":"cpu","place":"a","unit":"%","width_s":1.0,"places":"AACAPwAAgD8="}
{"probe":"os","name":"cpu","unit":"%","width_s":0.5,"places":"AACAPwAAgD8AAIA/AACAPw=="}
"#,
    ])
}

/// Returns folded stacks, as a trial keeps them.
fn profiles() -> Texts {
    texts_of(&[
        "ReadStage;java/lang/Thread.run;org/apache/cassandra/db/Read.get 31\n\
         ReadStage;java/lang/Thread.run;org/apache/cassandra/db/Read.get;a/B.c;a/B.c 7\n\
         GC Thread;mark 12\nReadStage;java/lang/Thread.run 1\n",
    ])
}

/// Compares a profile with itself, as findings do.
fn read_profile(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("node1.collapsed");
    std::fs::write(&path, bytes).expect("it is written");
    let mut names = Names::default();
    let mut read = || {
        let mut profile = TrialProfile {
            operations: 1e3,
            sample_cost: 1e4,
            ..TrialProfile::default()
        };
        for (stack, count) in store::FoldedLines::open(&path).into_iter().flatten().flatten() {
            profile.tree.add(&mut names, &stack, count as f64 * 1e4);
        }
        profile
    };
    let pairs = [(read(), read())];
    drop(pairs[0].0.tree.pruned(&names, 0.002, 3000));
    drop(differences(&names, &pairs));
}

/// Sections of a study that no shipped study has.
const ATTACHED: &str = "\
study: attached
question: q
target: {attach: {contact_points: ['h:9042'], user: u, password: {file: p}, tls: {ca: ca.pem},
  jolokia: {port: 8778}}}
keyspace: {name: k, replication: {dc1: 3}, compaction: {class: UnifiedCompactionStrategy}}
workload: {use: standard1, mix: {write: 9, read: 1}, consistency: {write: QUORUM}, retries: 2,
  timeout: 2s, speculate_after: 10ms, page_size: 100}
data: {present: 1M}
probes: {period: 2s, import: [{esxtop: x.csv, columns: [CPU]}, {prometheus: 'http://h:1/m'}]}
matrix:
  one: {a: {}, b: {workload: {page_size: 10}}}
  two: {c: {}, d: {client: {compression: lz4}}}
procedure: {sweep: {rate: {from: 1k, to: 8k, factor: 2}, until: timeout}, arrival: poisson}
window: {warmup: auto, measure: 10s}
repeat: {blocks: 5, order: interleaved}
";

const UNTIL_ANSWERED: &str = "\
study: until
question: q
target: {null: {capacity: 10k, drift: {to: 0.8, over: 1m}}}
workload: {use: standard1}
variants:
  a: {price_per_hour: 1.5}
  b: {price_per_hour: 3, target: {null: {latency: 1ms}}}
procedure: {peak: {rate: {from: 1k, to: 100k}, p99_ms: 10, expected: 0.7}}
window: {warmup: 1s, measure: 2s}
repeat: {until: answered, min: 4, max: 12, primary: ops_per_s, detect: 5%}
require: {p99_ms: 20, error_rate: 0.1%, ratio: 0.95}
capacity: {ops_per_s: 100k, p99_ms: 10, failures: 1}
";

const SCREENED: &str = "\
study: screened
question: q
target: {local: {}}
workload: {use: standard1, mix: {write: 1}}
screen:
  fold: true
  settings:
    heap: {small: {}, large: {target: {local: {heap: 1GiB}}}}
    writers: {few: {}, many: {target: {local: {yaml: {concurrent_writes: 64}}}}}
    sync: {periodic: {}, batch: {target: {local: {yaml: {commitlog_sync: batch}}}}}
    page: {small: {workload: {page_size: 10}}, large: {workload: {page_size: 1000}}}
procedure: {fixed: {threads: 16}}
";

const GRID: &str = "\
study: grid
question: q
target: {null: {}}
workload: {use: standard1}
procedure: {grid: {consistency: [ONE, QUORUM], payload: [170B, 340B], threads: [1, 2]}}
";

/// Separator between a workload file and its CSV.
const CSV_MARK: &str = "\n%%%\n";

fn workload_files() -> Texts {
    let mut texts = shipped!("workloads/inbox.yaml", "workloads/orders.yaml");
    let keyed = include_str!("keyed-workload.txt");
    texts.push(("keys of a CSV", keyed.as_bytes().to_vec()));
    texts
}

fn read_workload_file(bytes: &[u8]) {
    let spec = Spec::new("", 1000, 1);
    let text = String::from_utf8_lossy(bytes);
    let (text, csv) = text.split_once(CSV_MARK).unwrap_or((&text, ""));
    let read = |_: &str| Ok(csv.to_owned());
    if let Ok(program) = workload::compile_file("workload.yaml", text, &spec, &read) {
        let program = Arc::new(program);
        for stage in [Stage::Load, Stage::Main] {
            drop(workload::sample(&program, stage, 0, 3));
        }
    }
}

pub fn texts_of(texts: &[&'static str]) -> Texts {
    texts.iter().map(|text| (*text, text.as_bytes().to_vec())).collect()
}

fn stress_words() -> Texts {
    texts_of(&[
        "write n=1M cl=QUORUM no-warmup -rate threads=50 -col n=FIXED(5) size=FIXED(34)",
        "mixed ratio(write=1,read=3) duration=10s -pop dist=gaussian(1..1000,500,100) -rate \
         threads>=4 threads<=64 auto -schema replication(factor=3) compression=LZ4Compressor",
        "counter_write n=100 -node a,b,c -mode native cql3 user=u password=p -port native=9043 \
         -log level=verbose interval=1 -graph file=x.html title=t revision=1 -tokenrange no-wrap",
        "read n=10k err<0.02 -rate threads=8 throttle=1000/s -insert revisit=uniform(1..10) \
         visits=fixed(2) -errors retries=3 ignore -transport factory=x -sendto h",
    ])
}

fn read_stress_words(bytes: &[u8]) {
    read::imported(Tool::Stress, &String::from_utf8_lossy(bytes), "");
}

fn stress_profiles() -> Texts {
    texts_of(&["\
keyspace: ks
keyspace_definition: |
  CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};
table: t
table_definition: |
  CREATE TABLE t (k int, c timeuuid, s text static, v text, l list<int>, m map<text, int>,
    PRIMARY KEY (k, c)) WITH CLUSTERING ORDER BY (c DESC);
extra_definitions:
  - CREATE INDEX i ON t (v)
columnspec:
  - {name: k, population: uniform(1..100)}
  - {name: c, cluster: fixed(20)}
  - {name: v, size: gaussian(1..90), population: exp(1..1000)}
  - {name: l, size: 'qextreme(1..5,2,3)'}
insert: {partitions: fixed(1), select: fixed(1)/2, batchtype: UNLOGGED}
queries:
  get: {cql: select * from t where k = ? and c = ?, fields: samerow}
  all: {cql: 'select * from t where k = ? limit 10', fields: multirow, consistencyLevel: ONE}
token_range_queries:
  scan: {columns: v, page_size: 100}
"])
}

fn read_stress_profile(bytes: &[u8]) {
    let words = "user profile=p.yaml ops(insert=3,get=1,all=1) n=100 -rate threads=2";
    read::imported(Tool::Stress, words, &String::from_utf8_lossy(bytes));
}

fn nb_files() -> Texts {
    shipped!(
        "crates/imports/src/nb/built_in/cql-tabular.yaml",
        "crates/imports/src/nb/built_in/cql-iot.yaml",
        "crates/imports/src/nb/built_in/cql-keyvalue.yaml",
    )
}

fn read_nb_file(bytes: &[u8]) {
    read::imported(
        Tool::Nb,
        "own.yaml default",
        &String::from_utf8_lossy(bytes),
    );
}

fn ycsb_words() -> Texts {
    texts_of(&[
        "run cassandra-cql -p recordcount=1000 -p operationcount=1000 -p readproportion=0.5 -p \
         updateproportion=0.5 -p requestdistribution=zipfian -threads 4 -target 100 -s",
        "load cassandra-cql -p recordcount=1000 -p fieldcount=10 -p fieldlength=100 -p \
         fieldlengthdistribution=uniform -p insertorder=hashed -P file -threads 2",
        "run cassandra-cql -P file -p scanproportion=1 -p maxscanlength=100 -p \
         requestdistribution=hotspot -p hotspotdatafraction=0.2 -p \
         cassandra.readconsistencylevel=ONE",
    ])
}

fn read_ycsb_words(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    read::imported(
        Tool::Ycsb,
        &text,
        "recordcount=100\nworkload=site.ycsb.workloads.CoreWorkload\n",
    );
    read::imported(Tool::Ycsb, "run -P file", &text.replace(" -p ", "\n"));
}

fn easy_words() -> Texts {
    texts_of(&[
        "run KeyValue -d 1h30m -t 8 --rate 5k -r 0.5 --deletes 0.1 -p 1m --pg normal --populate 9k \
         --compaction lcs,160,10 --field.keyvalue.value=random(20,40) --cl LOCAL_ONE --drop",
        "KeyValue -n 10k --pg sequence -p 100 --ttl 60 --id 002 --cql x --host h --port 9043 -U u \
         -P p --dc dc1 --ssl --paging 10 -w.limit=5 --no-schema --max-connections 4",
        "tlp-stress run KeyValue --replication {'class':'X','replication_factor':1} --compaction \
         twcs,1,hours --keycache 10 --rowcache ALL -c 100 --csv f --keyspace k --co",
    ])
}

fn read_easy_words(bytes: &[u8]) {
    read::imported(Tool::Easy, &String::from_utf8_lossy(bytes), "");
}

/// Returns the description of a machine in the format of each source.
fn machines() -> Texts {
    let shape = Shape::regular(Counts(2, 1, 2, 2, 2), Numbering::Block, 8);
    let mut archive = tar::Builder::new(Vec::new());
    for (path, text) in shape.files() {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        let added = archive.append_data(&mut header, path, text.as_bytes());
        added.expect("a file of an archive");
    }
    let lscpu = r#"{"cpus": [
{"cpu": 0, "node": 0, "socket": 0, "core": 0, "l1d:l1i:l2:l3": "0:0:0:0", "online": true},
{"cpu": 1, "node": 0, "socket": 0, "core": 1, "l1d:l1i:l2:l3": "1:1:1:0", "online": true}
]}"#;
    vec![
        ("tar", archive.into_inner().expect("an archive")),
        ("xml", shape.xml().into_bytes()),
        ("lscpu", lscpu.into()),
        ("synthetic", b"pack:2 [numa] l3:2 core:4 pu:2".to_vec()),
        (
            "numa",
            b"[numa(memory=8GB)] pack:2 core:4 pu:1(indexes=0,2,4,6)".to_vec(),
        ),
    ]
}

fn read_machine(bytes: &[u8]) {
    if let Ok(machine) = Machine::from_bytes(bytes, "machine") {
        drop(topology::draw(&machine, None));
    }
}

/// Returns files that apply a placement, as users have them.
fn placements() -> Texts {
    texts_of(&[
        "<domain><vcpu placement='static' cpuset='0-3'>4</vcpu><cputune><vcpupin vcpu='0' \
         cpuset='0'/></cputune><numatune><memory mode='strict' nodeset='0'/></numatune></domain>",
        "sched.cpu.affinity = \"0,1,2,3\"\nnuma.nodeAffinity = \"0\"\nnumvcpus = \"4\"\n",
        "[Service]\nCPUAffinity=0-3,8\nNUMAPolicy=bind\nNUMAMask=0\nAllowedCPUs=0-3\n",
        "numactl --physcpubind=0-3,8-11 --membind=0 cassandra -f\n",
        "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: c, resources: {limits: {cpu: 4}}}]}",
    ])
}

fn read_placement(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for format in &FORMATS {
        drop((format.read)(&text));
    }
}

/// The run of an earlier version that must remain readable.
const GOLDEN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../store/golden/format-1/first-look/20261120T232909Z"
);

/// Reads the golden run with one of its files replaced, and shows the run.
fn read_run(name: &str, bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    link(Path::new(GOLDEN), folder.path());
    let path = folder.path().join(name);
    std::fs::remove_file(&path).expect("it is a file of the run");
    std::fs::write(&path, bytes).expect("it is written");
    let Ok(run) = Run::open(folder.path()) else {
        return;
    };
    if let Ok(view) = RunView::read(&run) {
        drop(report::text(&report::page(&view)));
    }
    // `resume` also reads these parts of a run.
    drop(run.study_yaml());
    drop(run.trial_findings());
}

fn link(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let (path, to): (PathBuf, PathBuf) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            std::fs::create_dir(&to).expect("a folder");
            link(&path, &to);
        } else {
            std::os::unix::fs::symlink(&path, &to).expect("a link")
        }
    }
}
