//! `cassay clean`: drops the tables that earlier runs have left on an attached cluster.
//!
//! It drops only tables of the user's own runs, and tables that `--allow` names. It drops a
//! keyspace only if the keyspace contains nothing else. It drops nothing before the user has
//! confirmed.

use super::attached;
use crate::args::{CleanArgs, Common};
use crate::exit::Exit;
use crate::terminal;
use anyhow::{Context, Result};
use cassandra::{MarkedTable, OwnRuns, Permit};
use serde_json::{Value, json};
use target_spec::Act;

/// Lists the tables of earlier runs, and drops them after the user has confirmed.
pub fn run(args: &CleanArgs, common: &Common) -> Result<Exit> {
    let cluster = attached(&args.target, &args.way_in)?;
    let own = OwnRuns {
        known: store::run_names(&common.out)?,
        ..OwnRuns::default()
    };
    let allow = args.allow.joined();
    let is_own = |one: &MarkedTable| own.has(&one.mark) || allow.names(Act::Drop, &one.table);
    let (ours, others): (Vec<_>, Vec<_>) = cluster.marked_tables()?.into_iter().partition(is_own);
    cluster.permit(Permit {
        allow: allow.clone(),
        makes: false,
        own: own.clone(),
    });
    let drops = cluster.drops(&ours)?;
    if !common.json {
        terminal::data(&listed(&ours, &others, &drops));
    }
    let (statements, node) = (drops.len(), cluster.nodes()[0].address);
    let asks = format!(
        "Send these statements ({statements}) to {node}? The cluster loses all rows of these \
         tables."
    );
    let (refused, hint) = ("cassay dropped no table", "drop the listed tables");
    let is_done = !drops.is_empty() && terminal::is_confirmed(args.yes, &asks, refused, hint);
    if is_done {
        let mut session = cluster.session()?;
        for drop in &drops {
            session.execute_schema(drop).with_context(|| format!("run {drop}"))?;
            terminal::say(&format!("done: {drop}"));
        }
    }
    if common.json {
        terminal::json(&json!({
            "own": tables(&ours),
            "others": tables(&others),
            "statements": drops,
            "dropped": is_done,
        }));
    }
    Ok(if is_done || drops.is_empty() {
        Exit::Done
    } else {
        Exit::Usage
    })
}

fn tables(all: &[MarkedTable]) -> Vec<Value> {
    let one =
        |one: &MarkedTable| json!({"table": one.table.to_string(), "run": one.mark.to_string()});
    all.iter().map(one).collect()
}

fn listed(ours: &[MarkedTable], others: &[MarkedTable], drops: &[String]) -> String {
    let mut text = String::new();
    if ours.is_empty() {
        text += "no table belongs to a run in this results folder\n";
    }
    for one in ours {
        text += &format!("{}  created by the run {}\n", one.table, one.mark);
    }
    for one in others {
        text += &format!(
            "{}  cassay keeps this table: its comment names the run {}, which is not in this \
             results folder (--allow drop={} permits cassay to drop the table)\n",
            one.table, one.mark, one.table
        );
    }
    for drop in drops {
        text += &format!("cassay would send: {drop}\n");
    }
    text
}
