//! The card of one fault, which contains all facts about the fault.

use super::{returned, tone, trial};
use crate::number;
use crate::page::{Block, Card, Cell, Table, Tone};
use crate::run_view::RunView;
use analysis::recovery::ClientSymptom;
use measure::number::whole;
use measure::{ClientCount, KindCount};
use store::record::{
    Aftermath, Dip, FaultRecord, Hints, RecoveryRecord, RepairNeed, Returns, SeriesEnd,
    StretchRecord, p99_words,
};

pub fn card(view: &RunView, fault: &FaultRecord) -> Card {
    let mut facts = vec![("Times".to_owned(), times(fault))];
    let mut blocks = Vec::new();
    if let Some(found) = &fault.recovery {
        facts.extend(fault_effects(fault, found));
        blocks.push(Block::Table(stretches(found)));
        blocks.extend(failures(found).map(Block::Table));
    }
    if !fault.evidence.is_empty() {
        facts.push(("Evidence".to_owned(), fault.evidence.clone()));
    }
    blocks.insert(0, Block::Facts(facts));
    Card {
        title: fault.name(),
        detail: trial(view, fault),
        verdict: fault.verdict.to_string(),
        tone: tone(fault),
        blocks,
    }
}

fn times(fault: &FaultRecord) -> String {
    let Some(injected_s) = fault.injected_s else {
        return "not injected".to_owned();
    };
    let since = |from_s: f64, at_s: Option<f64>, what: [&str; 3]| match at_s {
        Some(at_s) => format!(
            "{} {} {}",
            what[0],
            number::duration(at_s - from_s),
            what[1]
        ),
        None => what[2].to_owned(),
    };
    let healing_s = fault.healing_s.unwrap_or(injected_s);
    [
        format!("injected at {} s", number::small(injected_s)),
        since(
            injected_s,
            fault.seen_s,
            ["seen broken", "later", "not observed broken"],
        ),
        since(
            injected_s,
            fault.healing_s,
            ["healed after", "", "not healed"],
        ),
        since(
            healing_s,
            fault.whole_s,
            ["seen whole", "after that", "not observed intact"],
        ),
    ]
    .map(|said| said.trim_end().to_owned())
    .join(" · ")
}

fn fault_effects(fault: &FaultRecord, found: &RecoveryRecord) -> Vec<(String, String)> {
    let mut facts: Vec<(&str, String)> = vec![("Noticed", noticed(fault, found))];
    if let Some(dip) = found.dip {
        facts.push(("Throughput", dip_of(&dip)));
    }
    facts.extend(p99_words(fault).map(|said| ("Latency", said)));
    if let Some(returns) = &found.throughput {
        facts.push((
            "Throughput back to normal",
            both(fault, |after| after.throughput, returns),
        ));
    }
    if let Some(returns) = &found.p99 {
        facts.push((
            "p99 back to normal",
            both(fault, |after| after.p99, returns),
        ));
    }
    facts.push(("Normal", normal(found)));
    facts.retain(|(_, said)| !said.is_empty());
    facts.extend(found.hints.map(|hints| ("Hints", hints_of(&hints))));
    let streamed = found.streamed_bytes.filter(|bytes| *bytes > 0.0);
    facts.extend(streamed.map(|bytes| ("Streamed to nodes", number::bytes(bytes as u64))));
    let repair = match found.repair {
        None => None,
        Some(RepairNeed::Needed) => Some("needed"),
        Some(RepairNeed::NotNeeded) => Some("not needed"),
        Some(RepairNeed::Inconclusive) => Some("unknown"),
    };
    facts.extend(repair.map(|word| ("Repair", format!("{word}: {}", found.repair_why))));
    if !found.beside.is_empty() {
        let also = format!(
            "{}: these figures cover all of these faults",
            found.beside.join(", ")
        );
        facts.push(("Also on", also));
    }
    if !found.unseen.is_empty() {
        facts.push(("Unknown", found.unseen.join("; ")));
    }
    facts.into_iter().map(|(name, said)| (name.to_owned(), said)).collect()
}

fn noticed(fault: &FaultRecord, found: &RecoveryRecord) -> String {
    let seen = &found.noticed;
    let by = match seen.client_by {
        Some(ClientSymptom::LostConnections) => "lost connections",
        Some(by) => by.name(),
        None => "",
    };
    let client = match seen.client_s {
        Some(client_s) => format!("by clients within {} ({by})", number::duration(client_s)),
        // Without a level before the fault, neither throughput nor p99 can show the fault.
        None if found.ops_per_s.is_none() => {
            "by clients: unknown, because the level before the fault is unknown".to_owned()
        }
        None => "not by clients".to_owned(),
    };
    let gossip = seen.gossip_s.map(|gossip_s| {
        let away = seen.gossip_away_s.unwrap_or_default();
        format!(
            "by {} after {} (nodes considered it down for {})",
            seen.gossip_by,
            number::duration(gossip_s),
            number::duration(away)
        )
    });
    let injected_and_seen = fault.injected_s.zip(fault.seen_s);
    let ours = injected_and_seen
        .map(|(from_s, at_s)| format!("by cassay after {}", number::duration(at_s - from_s)));
    let all: Vec<String> = [Some(client), gossip, ours].into_iter().flatten().collect();
    all.join(" · ")
}

/// Describes an effect, such as `50 % less at worst (150 op/s, 4.97 s after the injection), below
/// normal for 13 s, 79 missing requests`.
fn dip_of(dip: &Dip) -> String {
    if dip.depth == 0.0 {
        return "never below normal".to_owned();
    }
    format!(
        "{} less at worst ({} op/s, {} after the injection), below normal for {}, {} missing \
         requests",
        number::percent(dip.depth),
        number::rate(dip.lowest_ops_per_s),
        number::duration(dip.lowest_at_s),
        number::duration(dip.seconds),
        whole(dip.lost_ops)
    )
}

/// Describes a normal second before the fault, and the range that counts as normal.
fn normal(found: &RecoveryRecord) -> String {
    let within = |share: f64| number::percent(share);
    let rate = found.ops_per_s.map(|before| {
        format!(
            "{} op/s within {}",
            number::rate(before.middle),
            within(before.within)
        )
    });
    let p99 = found.p99_ms.map(|before| {
        format!(
            "a median p99 per second of {} ms within {}",
            number::ms(before.middle),
            within(before.within)
        )
    });
    let seconds = found.ops_per_s.map(|before| before.intervals);
    let said: Vec<String> = [rate, p99].into_iter().flatten().collect();
    match seconds {
        Some(seconds) if !said.is_empty() => {
            format!("{}, from the {seconds} s before it", said.join(", "))
        }
        _ => said.join(", "),
    }
}

/// Describes when a series left the normal range and when it returned, in seconds after the
/// injection and after the healing.
fn both(fault: &FaultRecord, of: fn(&Aftermath) -> Option<SeriesEnd>, returns: &Returns) -> String {
    let mut said = vec![returned(fault, of).map_or_else(String::new, |cell| cell.text)];
    let injected = &returns.injected;
    if let (Some(_), Some(back_s)) = (returns.healed, injected.back_s.filter(|s| *s > 0.0)) {
        said.push(format!("{} after the injection", number::duration(back_s)));
    }
    if let Some(left_s) = injected.left_s.filter(|left_s| *left_s >= 1.0) {
        let left = number::duration(left_s);
        said.push(format!("abnormal from {left} after the injection"));
    }
    said.retain(|part| !part.is_empty());
    said.join(" · ")
}

fn hints_of(hints: &Hints) -> String {
    if hints.stored == 0.0 {
        return "no hints were stored".to_owned();
    }
    let gone = match hints.drained_s {
        Some(drained_s) => format!(
            "the last one {} after the healing",
            number::duration(drained_s)
        ),
        None => "some remained".to_owned(),
    };
    let again = match hints.undelivered {
        0.0 => String::new(),
        tries => format!(
            " · {} attempts failed, and Cassandra retries them",
            number::rate(tries)
        ),
    };
    format!(
        "{} kept · {} delivered{again} · {gone}",
        whole(hints.stored),
        whole(hints.delivered)
    )
}

fn three_stretches(found: &RecoveryRecord) -> impl Iterator<Item = (&'static str, &StretchRecord)> {
    let all = [
        ("before", &found.before),
        ("broken", &found.during),
        ("after", &found.after),
    ];
    all.into_iter().filter_map(|(name, stretch)| Some((name, stretch.as_ref()?)))
}

fn stretches(found: &RecoveryRecord) -> Table {
    Table::from_records("", three_stretches(found))
        .text("Clients saw", |(name, _)| name)
        .number("Length", "", |(_, stretch)| {
            number::duration(stretch.seconds)
        })
        .number("Mean throughput", "op/s", |(_, stretch)| {
            number::rate(stretch.ops_per_s)
        })
        .number("p50", "ms", |(_, stretch)| {
            number::known_ms(stretch.latency_ms.p50)
        })
        .number("p99", "ms", |(_, stretch)| {
            number::known_ms(stretch.latency_ms.p99)
        })
        .number("max", "ms", |(_, stretch)| {
            number::known_ms(stretch.latency_ms.max)
        })
        .number("Failed", "", |(_, stretch)| {
            Cell::zero_expected(stretch.failed(), Tone::Warn)
        })
        .number("Retries", "", |(_, stretch)| {
            number::count(stretch.counts[KindCount::Retries])
        })
        .number("Speculations", "", |(_, stretch)| {
            let all = Cell::new(number::count(stretch.counts[KindCount::Speculations]));
            match stretch.counts[KindCount::SpeculationsWon] {
                0 => all,
                won => all.detail(format!("{} first", number::count(won))),
            }
        })
        .number("Connections lost", "", |(_, stretch)| {
            number::count(stretch.client[ClientCount::ConnectionsLost])
        })
        .number("Sent late", "", |(_, stretch)| {
            number::count(stretch.client[ClientCount::Late])
        })
        .number("Abandoned unsent", "", |(_, stretch)| {
            number::count(stretch.client[ClientCount::Dropped])
        })
        .build()
}

fn failures(found: &RecoveryRecord) -> Option<Table> {
    let each = three_stretches(found).flat_map(|(name, stretch)| {
        let kinds = stretch.errors.iter();
        kinds.flat_map(move |(kind, errors)| errors.iter().map(move |error| (name, kind, error)))
    });
    Table::from_records("", each)
        .text("Failed", |(name, ..)| name)
        .text("Kind", |(_, kind, _)| kind)
        .text("Error", |(.., (outcome, _))| outcome.as_str())
        .number("Operations", "", |(.., (_, count))| number::count(*count))
        .unless_empty()
}
