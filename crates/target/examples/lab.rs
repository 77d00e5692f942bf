//! Tries a local target by hand: `cargo run -p target --example lab -- up 1`.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a tool for the hand"
)]

use std::time::Duration;
use target::{Dirs, LocalSpec, Spec};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let dirs = Dirs {
        cache: "/tmp/target-lab/cache".into(),
        data: "/tmp/target-lab/data".into(),
    };
    let mut say = |line: &str| println!("  {line}");
    println!("{:?}", target::leftovers::clear(&dirs, &mut say));
    let spec = LocalSpec {
        nodes: args.get(2).map_or(1, |n| n.parse().unwrap_or(1)),
        heap_bytes: 512 << 20,
        racks: vec!["r1".into(), "r2".into()],
        ..LocalSpec::default()
    };
    match args[1].as_str() {
        "start" => {
            let cluster = target::start(&Spec::Local(spec), &dirs, &mut say)?;
            println!("{:#?}\n{:#?}", cluster.nodes()[0], cluster.capabilities());
            let mut line = String::new();
            std::io::stdin().read_line(&mut line)?;
            let mut session = cluster.session()?;
            session.execute_schema("CREATE KEYSPACE IF NOT EXISTS lab WITH replication = {'class':'NetworkTopologyStrategy','dc1':1}")?;
            session
                .execute_schema("CREATE TABLE IF NOT EXISTS lab.t (k int PRIMARY KEY, v text)")?;
            for k in 0..1000 {
                session.query(&format!("INSERT INTO lab.t (k, v) VALUES ({k}, 'v')"))?;
            }
            println!("{:?}", cluster.operation_counts("lab"));
            println!(
                "{:?}",
                cluster.settle("lab", &["t"], Duration::from_secs(60), &mut say)?
            );
            println!("settings: {}", cluster.settings()?[0].1.len());
            cluster.collect_logs("/tmp/target-lab/logs".as_ref())?;
            cluster.stop()?;
        }
        "up" => println!("{:#?}", target::kept::up(&spec, &dirs, &mut say)?),
        "status" => println!("{:#?}", target::kept::status(&dirs)),
        "down" => println!("{:?}", target::kept::down(&dirs, None, &mut say)?),
        "counts" => counts(&dirs)?,
        "query" => {
            let kept = target::kept::status(&dirs);
            let mut session = target::Session::open(
                kept[0].nodes[0].address,
                &target::Access::default(),
                Duration::from_secs(10),
            )?;
            for cql in &args[2..] {
                let result = session.query(cql)?;
                println!("{}", result.columns.join(" | "));
                for row in result.rows {
                    println!(
                        "{}",
                        row.iter()
                            .map(|v| v.to_string())
                            .collect::<Vec<_>>()
                            .join(" | ")
                    );
                }
            }
        }
        _ => println!("start|up|status|down|query"),
    }
    Ok(())
}

/// Sends known numbers of operations of every kind, prepared, and prints what the server counts.
fn counts(dirs: &Dirs) -> anyhow::Result<()> {
    use cql::request::{self, QueryParams};
    use std::io::{Read, Write};
    let point = target::kept::status(dirs)[0].nodes[0].address;
    let spec = Spec::Attach(target::AttachSpec {
        contact_points: vec![point.to_string()],
        ..Default::default()
    });
    let cluster = target::start(&spec, dirs, &mut |line| println!("  {line}"))?;
    println!(
        "{:?} {:?}",
        cluster.nodes(),
        cluster.settle("lab", &["t"], Duration::from_secs(20), &mut |_| ())?
    );
    let mut session = cluster.session()?;
    session.execute_schema("CREATE KEYSPACE IF NOT EXISTS lab WITH replication = {'class':'NetworkTopologyStrategy','dc1':1}")?;
    session.execute_schema("CREATE TABLE IF NOT EXISTS lab.t (k int PRIMARY KEY, v text)")?;
    let mut stream = std::net::TcpStream::connect(point)?;
    let mut exchange = |frame: &[u8]| -> anyhow::Result<Vec<u8>> {
        stream.write_all(frame)?;
        let mut head = [0u8; 9];
        stream.read_exact(&mut head)?;
        let mut body = vec![0; u32::from_be_bytes(head[5..].try_into()?) as usize];
        stream.read_exact(&mut body)?;
        anyhow::ensure!(head[4] != 0, "{}", String::from_utf8_lossy(&body));
        Ok(body)
    };
    let mut frame = Vec::new();
    request::startup(&mut frame, 0, None);
    exchange(&frame)?;
    for (cql, times, keyed) in [
        ("UPDATE lab.t SET v = 'x' WHERE k = ?", 1000, true),
        ("SELECT * FROM lab.t WHERE k = ?", 700, true),
        ("SELECT * FROM lab.t LIMIT 10", 50, false),
        ("DELETE FROM lab.t WHERE k = ?", 30, true),
        ("SELECT * FROM lab.t WHERE k IN (1, 2, 3)", 10, false),
        (
            "BEGIN UNLOGGED BATCH UPDATE lab.t SET v='y' WHERE k=1; UPDATE lab.t SET v='y' WHERE k=2; APPLY BATCH",
            10,
            false,
        ),
        (
            "BEGIN BATCH UPDATE lab.t SET v='y' WHERE k=1; UPDATE lab.t SET v='y' WHERE k=2; APPLY BATCH",
            10,
            false,
        ),
        ("UPDATE lab.t SET v = 'z' WHERE k = ? IF EXISTS", 10, true),
    ] {
        let before = cluster.operation_counts("lab")?.unwrap();
        frame.clear();
        request::prepare(&mut frame, 0, cql);
        let body = exchange(&frame)?;
        let length = u16::from_be_bytes([body[4], body[5]]) as usize;
        let id = body[6..6 + length].to_vec();
        for k in 0i32..times {
            let key = k.to_be_bytes();
            let values = [Some(&key[..])];
            let params = QueryParams {
                values: if keyed { &values } else { &[] },
                ..Default::default()
            };
            frame.clear();
            request::execute(&mut frame, 0, &id, &params);
            exchange(&frame)?;
        }
        let after = cluster.operation_counts("lab")?.unwrap();
        println!(
            "{times:5} of {cql}: {} reads, {} writes",
            after.reads - before.reads,
            after.writes - before.writes
        );
    }
    Ok(())
}
