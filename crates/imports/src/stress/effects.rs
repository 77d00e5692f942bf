//! Tests that every option has an effect. Either the option changes the run, or a note states that
//! it has no effect.

use super::help::{table, topics};
use super::import;
use std::collections::BTreeSet;

/// Options, each with values that differ from the default. The test adds an option to the command
/// `write n=9`, unless the entry states another command.
const GIVEN: &[(&str, &[&str])] = &[
    (
        "write",
        &[
            "n=8",
            "duration=9s",
            "err<0.03",
            "n>40",
            "n<190",
            "no-warmup",
            "no_warmup",
        ],
    ),
    ("write n=9", &["truncate=once", "cl=QUORUM", "keysize=12"]),
    (
        "user profile=lwt ops(insert=1) n=9",
        &["serial-cl=LOCAL_SERIAL"],
    ),
    ("counter_write n=9", &["add=fixed(2)"]),
    (
        "mixed n=9",
        &["ratio(read=2,write=3)", "clustering=fixed(3)"],
    ),
    ("user profile=p", &["ops(insert=1,get=2)"]),
    (
        "user profile=p ops(insert=1,get=1) n=9",
        &["clustering=fixed(3)"],
    ),
    ("user ops(insert=1) n=9", &["profile=p"]),
    (
        "write n=9 -pop",
        &["seq=1..5", "dist=fixed(3)", "contents=shuffled"],
    ),
    (
        "write n=9 -pop seq=1..5",
        &["no-wrap", "read-lookback=fixed(2)"],
    ),
    (
        "user profile=p ops(insert=1) n=9 -insert",
        &[
            "revisit=fixed(3)",
            "visits=fixed(2)",
            "partitions=fixed(2)",
            "batchtype=unlogged",
            "select-ratio=fixed(1)/2",
            "row-population-ratio=fixed(1)/2",
            "cl=QUORUM",
        ],
    ),
    (
        "user profile=lwt ops(insert=1) n=9 -insert",
        &["serial-cl=LOCAL_SERIAL"],
    ),
    (
        "write n=9 -col",
        &[
            "names=a,b",
            "n=fixed(3)",
            "slice",
            "super=1",
            "comparator=LongType",
            "timestamp=5",
            "size=fixed(3)",
        ],
    ),
    ("read n=9 -col", &["slice"]),
    (
        "write n=9 -rate",
        &["threads=3", "threads>=5", "threads<=900"],
    ),
    (
        "write n=9 -rate threads=3",
        &["throttle=5/s", "limit=5/s", "fixed=5/s"],
    ),
    ("write n=9 -rate threads>=5", &["auto"]),
    (
        "write n=9 -errors",
        &[
            "retries=3",
            "ignore",
            "fail-fast",
            "skip-unsupported-columns",
            "delay-policy=linear",
            "min-delay-ms=5",
            "max-delay-ms=9",
        ],
    ),
    ("read n=9 -errors", &["skip-read-validation"]),
    (
        "write n=9 -schema",
        &[
            "replication(factor=3)",
            "keyspace=k",
            "compaction(strategy=LeveledCompactionStrategy)",
            "compression=LZ4Compressor",
        ],
    ),
    (
        "write n=9 -mode native cql3",
        &[
            "native",
            "cql3",
            "simplenative",
            "unprepared",
            "user=u",
            "password=p",
            "compression=lz4",
            "connectionsPerHost=3",
            "maxPending=3",
            "protocolVersion=4",
            "auth-provider=x.Y",
            "port=5",
            "requestTimeout=5",
            "4x",
        ],
    ),
    (
        "write n=9 -node",
        &[
            "whitelist",
            "file=nodes",
            "datacenter=dc2",
            "rack=r1",
            "loadbalance=x",
            "remote-dc=dc3",
        ],
    ),
    ("write n=9 -port", &["native=5", "thrift=5", "jmx=5"]),
    (
        "write n=9 -transport",
        &["factory=x", "truststore=b", "truststore-password=c"],
    ),
    (
        "write n=9 -transport",
        &[
            "keystore=d",
            "keystore-password=e",
            "ssl-protocol=TLSv1.2",
            "ssl-alg=x",
            "store-type=PKCS12",
            "ssl-ciphers=x",
            "hostname-verification",
        ],
    ),
    (
        "write n=9 -log",
        &[
            "level=verbose",
            "file=f",
            "hdrfile=h",
            "interval=5s",
            "print-statements-on-error",
        ],
    ),
    (
        "write n=9",
        &[
            "-graph file=x.html",
            "-graph file=x.html revision=2",
            "-graph file=x.html title=t",
            "-graph file=x.html op=x",
            "-jmx user=u",
            "-jmx password=p",
        ],
    ),
    ("write n=9 -tokenrange", &["wrap", "split-factor=3"]),
    (
        "write n=9 -reporting",
        &["output-frequency=5s", "header-frequency=5s"],
    ),
];

/// Options that only change the amount of text that `--compat` prints.
const PRINTED: [&str; 2] = ["no-summary", "no-settings"];

/// Options that request behaviour which cassay always has.
const DEFAULTS: [&str; 1] = ["prepared"];

const PROFILE: &str = r"keyspace: ks
table: t
table_definition: CREATE TABLE t (k text, c int, v text, PRIMARY KEY (k, c))
columnspec: [{name: c, cluster: fixed(4)}]
queries: {get: {cql: select * from t where k = ?, fields: samerow}}
";

fn check(line: &str) -> Result<String, String> {
    let read = |path: &str| match path {
        "p" => Ok(PROFILE.to_owned()),
        "lwt" => Ok(format!("{PROFILE}insert: {{condition: IF NOT EXISTS}}\n")),
        "nodes" => Ok("10.0.0.7\n".to_owned()),
        _ => Err(format!("no file {path}")),
    };
    let import = import(&[line.to_owned()], 1, &read).map_err(|mistakes| mistakes.to_string())?;
    Ok(format!("{import:?}"))
}

#[test]
fn every_option_changes_what_is_asked_or_is_noted() {
    let mut silent = Vec::new();
    let mut given: BTreeSet<&str> = PRINTED.into_iter().chain(DEFAULTS).collect();
    for (base, options) in GIVEN {
        for option in *options {
            given.extend(option.split(' '));
            let without = check(base);
            let with = check(&format!("{base} {option}"));
            match with {
                Ok(with) if without.as_ref() == Ok(&with) => {
                    silent.push(format!("{base} {option}"));
                }
                // If cassay refuses the option, the user gets a message.
                Ok(_) | Err(_) => {}
            }
        }
    }
    assert_eq!(silent, [""; 0]);
    for topic in topics() {
        for known in table(topic) {
            let is_given = given.iter().any(|option| option.starts_with(known.form));
            assert!(is_given, "{topic} {}: no line here", known.form);
        }
    }
}
