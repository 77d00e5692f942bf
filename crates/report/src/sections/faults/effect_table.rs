//! A table of the faults' effects, with a row for each fault of the run, and for each published
//! claim without a matching fault. The columns contain the figures that publications usually print.

use super::{returned, trial};
use crate::number;
use crate::page::{Cell, Table, Tone};
use crate::run_view::RunView;
use std::collections::BTreeSet;
use store::record::{FaultRecord, PublishedFailureRecord, RecoveryRecord, StretchRecord};

#[derive(Clone, Copy)]
enum Subject<'a> {
    Fault(&'a FaultRecord),
    Claim(&'a PublishedFailureRecord),
}

impl<'a> Subject<'a> {
    fn recovery(self) -> Option<&'a RecoveryRecord> {
        match self {
            Subject::Fault(fault) => fault.recovery.as_ref(),
            Subject::Claim(_) => None,
        }
    }
}

const FOOT: &str = "Before: the median of the seconds before the fault. Lowest: the worst second, \
     from the injection until throughput was back to normal. After: the mean of all seconds since \
     the target was intact again. p99: of all operations before or during the fault together. \
     Errors: from the injection on.";

pub fn table(view: &RunView) -> Table {
    let published = view.findings.published.as_ref();
    let claims = published.map_or(&[][..], |published| &published.failures);
    let faults = &view.findings.faults;
    let is_alone =
        |claim: &&PublishedFailureRecord| !faults.iter().any(|fault| is_beside(view, claim, fault));
    let alone = claims.iter().filter(is_alone).map(Subject::Claim);
    let title = published.filter(|_| !claims.is_empty()).map_or(String::new(), |published| {
        format!(
            " Published: {}, on {}. The report quotes the published figure for comparison, and \
             does not judge it.",
            published.title, published.system
        )
    });
    let caption = "Effects of each fault";
    Table::from_records(caption, faults.iter().map(Subject::Fault).chain(alone))
        .text("Fault", |of| match of {
            Subject::Fault(fault) => Cell::new(fault.name()).detail(trial(view, fault)),
            Subject::Claim(claim) => Cell::new(&claim.fault),
        })
        .text("Service", |of| match of {
            Subject::Fault(fault) => fault.recovery.as_ref().map(service).into(),
            Subject::Claim(_) => Cell::new("not done here"),
        })
        .number("Before", "op/s", |of| {
            Some(number::rate(of.recovery()?.ops_per_s?.middle))
        })
        .number("Lowest", "op/s", |of| {
            Some(number::rate(of.recovery()?.dip?.lowest_ops_per_s))
        })
        .number("After", "op/s", |of| {
            Some(number::rate(of.recovery()?.after.as_ref()?.ops_per_s))
        })
        .number("p99 before", "ms", |of| {
            known_p99(of.recovery()?.before.as_ref()?)
        })
        .number("p99 during the fault", "ms", |of| {
            known_p99(of.recovery()?.during.as_ref()?)
        })
        .text("Throughput back to normal", |of| {
            let Subject::Fault(fault) = of else {
                return None;
            };
            returned(fault, |after| after.throughput)
        })
        .text("p99 back to normal", |of| {
            let Subject::Fault(fault) = of else {
                return None;
            };
            returned(fault, |after| after.p99)
        })
        .number("Client errors", "", |of| of.recovery().map(failed))
        .when(!claims.is_empty(), |table| {
            table.text("Published of it", |of| match of {
                Subject::Fault(fault) => {
                    let beside = claims.iter().filter(|claim| is_beside(view, claim, fault));
                    let said = beside.map(|claim| format!("{}: {}", claim.fault, claim.claim));
                    Cell::new(said.collect::<Vec<_>>().join("; ")).tone(Tone::Muted)
                }
                Subject::Claim(claim) => Cell::new(&claim.claim),
            })
        })
        .tone(|of| match of {
            Subject::Fault(_) => Tone::Plain,
            Subject::Claim(_) => Tone::Muted,
        })
        .foot(FOOT.to_owned() + &title)
        .build()
}

/// Returns the p99 in a period, in ms. Returns `None` if no response arrived in the period.
fn known_p99(stretch: &StretchRecord) -> Option<String> {
    let latency = &stretch.latency_ms;
    (latency.p99.least() > 0.0).then(|| number::known_ms(latency.p99))
}

/// Returns true if a claim refers to faults of this kind, and to the variant of the trial.
fn is_beside(view: &RunView, claim: &PublishedFailureRecord, fault: &FaultRecord) -> bool {
    let trials = &view.findings.trials;
    let variant = fault.trial.and_then(|index| {
        let trial = trials.iter().find(|trial| trial.index == index)?;
        Some(&trial.variant)
    });
    let is_of = claim.variants.is_empty() || variant.is_some_and(|of| claim.variants.contains(of));
    claim.beside.contains(&fault.kind) && is_of
}

fn service(found: &RecoveryRecord) -> Cell {
    let failed = [&found.during, &found.after].into_iter().flatten();
    let failed: u64 = failed.map(StretchRecord::failed).sum();
    let errors = match failed {
        0 => "no error",
        _ => "errors",
    };
    let Some(dip) = found.dip else {
        return Cell::new(format!("unknown, {errors}")).tone(Tone::Muted);
    };
    let for_long = number::duration(dip.seconds);
    match (dip.depth, dip.lowest_ops_per_s, failed) {
        (0.0, _, 0) => Cell::new("as before, no error").tone(Tone::Good),
        (0.0, ..) => Cell::new("as fast as before, errors").tone(Tone::Warn),
        (_, 0.0, _) => {
            let stopped = format!("stopped, below normal for {for_long}, {errors}");
            Cell::new(stopped).tone(Tone::Bad)
        }
        _ => Cell::new(format!("slower for {for_long}, {errors}")).tone(Tone::Warn),
    }
}

fn failed(found: &RecoveryRecord) -> Cell {
    let stretches = || [&found.during, &found.after].into_iter().flatten();
    let errors = stretches().flat_map(|stretch| stretch.errors.values().flatten());
    let names: BTreeSet<&str> = errors.map(|(outcome, _)| outcome.as_str()).collect();
    let total: u64 = stretches().map(StretchRecord::failed).sum();
    let names: Vec<&str> = names.into_iter().collect();
    Cell::new(number::count(total)).hint(names.join(", "))
}
