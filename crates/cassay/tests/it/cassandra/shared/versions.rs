//! Tests protocol versions on one node that accepts all of these versions.

use super::one_node;
use crate::engine;
use crate::program::HANG_LIMIT;
use ::cassandra::{Access, Session};
use cql::Version;
use load::{Endpoint, Limit, Schedule, VerifyReads};
use measure::Outcome;
use target_spec::NullSpec;

/// Later Cassandra versions still accept the protocol of Cassandra 2.1. The test covers sessions,
/// load, prepared statements and compared rows.
#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn the_oldest_version_and_the_newest_do_what_the_usual_one_does() {
    let node = one_node::address();
    // Other tests on this node create tables with the same names, so this test drops them first.
    let drop_all = || {
        let mut session = Session::open(node, &Access::default(), HANG_LIMIT).expect("a session");
        let drop = "DROP KEYSPACE IF EXISTS keyspace1";
        session.execute_schema(drop).expect("it is dropped");
    };
    drop_all();
    let server = engine::null(NullSpec::default());
    for version in Version::ALL {
        let access = Access::default();
        access.spoken.note(version);
        let mut session = Session::open(node, &access, HANG_LIMIT).expect("a session");
        assert_eq!(access.spoken.now(), version, "it is not refused");
        let keyspace = "CREATE KEYSPACE IF NOT EXISTS keyspace1 WITH replication = \
                        {'class': 'SimpleStrategy', 'replication_factor': 1}";
        session.execute_schema(keyspace).expect("a keyspace");
        let table = "CREATE TABLE IF NOT EXISTS keyspace1.standard1 (key blob PRIMARY KEY, \
                     \"C0\" blob, \"C1\" blob, \"C2\" blob, \"C3\" blob, \"C4\" blob)";
        session.execute_schema(table).expect("a table");
        let prepared = session
            .prepare("SELECT \"C0\" FROM keyspace1.standard1 WHERE key = ?")
            .expect("a statement");
        assert_eq!(prepared.bind_columns.len(), 1);
        assert_eq!(
            prepared.partition_key_indexes.is_empty(),
            version == Version::V3
        );
        let refused = session.query("SELECT * FROM keyspace1.nobodys").unwrap_err();
        assert!(refused.to_string().contains("invalid"), "{refused}");
        for (stage, rows) in [
            (workload::Stage::Load, 1_000),
            (workload::Stage::Main, 2_000),
        ] {
            let schedule = Schedule::Closed { in_flight: 16 };
            let mut config = engine::config(&server, schedule, Limit::Operations(rows));
            config.stage = stage;
            config.program = engine::program(&[("read", 1.0), ("write", 1.0)]);
            config.nodes = vec![Endpoint::from_address(node)];
            config.access.version = version;
            config.verify_reads = VerifyReads::EveryNth(1);
            let (all, _, summary) = engine::run(&config);
            let said = format!("{version}: {:?}", summary.first_errors);
            assert_eq!(all.outcomes.get(Outcome::Ok), rows, "{said}");
        }
    }
    drop_all();
}
