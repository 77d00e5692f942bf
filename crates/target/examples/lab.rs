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
        nodes: args.get(2).map_or(1, |n| n.parse().unwrap()),
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
