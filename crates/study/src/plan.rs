//! A study spelled out: every trial with its phases, in the order in which they run.
//!
//! A plan is a pure function of the study: the same file, command line and seed give the same plan,
//! which is how an interrupted run is taken up again. What a trial finds done already (the target
//! runs, the data is there) is planned from the trials before it; a run decides it again from what
//! is really there, by the same two functions, since a ladder may end early.

use crate::estimate::{self, Estimate};
use crate::human;
use crate::inputs::Inputs;
use crate::settings::{
    Point, Procedure, Reset, Settings, Settle, Study, Target, Until, Variant, Warmup,
};
use crate::work::{self, Work};
use workload::{Program, Step, StepLimit};

/// Numbers of operations between two cells: at 10 M operations a second, 30 hours.
const OPERATIONS_PER_CELL: u64 = 1 << 40;

/// A study spelled out.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Every trial, in order.
    pub trials: Vec<Trial>,
    /// What each variant's workload comes to, in the study's order.
    pub works: Vec<Work>,
    /// What the run is expected to take.
    pub estimate: Estimate,
}

/// One configuration, run once.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Number, from 0.
    pub index: usize,
    /// Folder name: `00-writes-threads-4`.
    pub slug: String,
    /// Number of the variant in the study.
    pub variant: usize,
    /// Where on the axis.
    pub point: Point,
    /// Number of the block, from 0.
    pub block: usize,
    /// Number of its first operation. Variants have the same one at the same point and block, so
    /// that they are asked the same; no two points have, so that none finds a cache warmed by
    /// another's keys.
    pub first_operation: u64,
    /// Phases in order.
    pub phases: Vec<Phase>,
}

/// One phase of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Which one.
    pub kind: PhaseKind,
    /// What it does, in words.
    pub what: String,
    /// Expected length in seconds.
    pub seconds: f64,
}

/// The phases, in the order of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseKind {
    /// The target is started or attached.
    Target,
    /// Keyspace and tables are created or emptied.
    Schema,
    /// Rows are written.
    Load,
    /// Flushes and compactions are awaited.
    Settle,
    /// Load is offered, and not yet counted.
    Warmup,
    /// Load is offered and counted.
    Measure,
    /// Rows are read back and compared.
    Verify,
}

impl PhaseKind {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            PhaseKind::Target => "target",
            PhaseKind::Schema => "schema",
            PhaseKind::Load => "load",
            PhaseKind::Settle => "settle",
            PhaseKind::Warmup => "warmup",
            PhaseKind::Measure => "measure",
            PhaseKind::Verify => "verify",
        }
    }
}

/// What stands on a target: which keyspaces were filled by what.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    filled: Vec<(String, DataKey)>,
}

/// Two variants with equal keys find the same rows in the same tables.
#[derive(Clone, Debug, PartialEq)]
pub struct DataKey {
    workload: String,
    params: Vec<(String, crate::tree::Tree)>,
    keyspace: crate::settings::Keyspace,
    rows: u64,
    load_rows: u64,
}

/// What a trial has to do before it can warm up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparation {
    /// The data is there.
    Nothing,
    /// Create keyspace and tables, and load.
    Fill,
    /// The keyspace holds other tables or rows: drop it, then as `Fill`.
    Replace,
    /// Empty the tables, and load again.
    Truncate,
}

impl Standing {
    /// What `settings` need on a target in this state.
    pub fn preparation(&self, settings: &Settings, program: &Program) -> Preparation {
        let key = DataKey::of(settings);
        match self
            .filled
            .iter()
            .find(|(name, _)| name == program.keyspace())
        {
            None => Preparation::Fill,
            Some((_, there)) if *there != key => Preparation::Replace,
            Some(_) if settings.data.reset == Reset::Truncate => Preparation::Truncate,
            Some(_) => Preparation::Nothing,
        }
    }

    /// Notes that it was done.
    pub fn prepared(&mut self, settings: &Settings, program: &Program) {
        self.filled.retain(|(name, _)| name != program.keyspace());
        self.filled
            .push((program.keyspace().to_owned(), DataKey::of(settings)));
    }
}

impl DataKey {
    fn of(settings: &Settings) -> DataKey {
        DataKey {
            workload: settings.workload.name.clone(),
            params: settings.workload.params.clone(),
            keyspace: settings.keyspace.clone(),
            rows: settings.data.rows,
            load_rows: settings.data.load_rows,
        }
    }
}

/// Spells a study out. The error is a sentence: a workload that resolving accepted and that does
/// not compile with the study's seed.
pub fn plan(study: &Study) -> Result<Plan, String> {
    let inputs = Inputs::recorded(&study.inputs);
    let compile = |variant: &Variant| {
        work::compile(&variant.settings, study.seed, &inputs)
            .map_err(|why| format!("variant {}: {why}", variant.name))
    };
    let works = study
        .variants
        .iter()
        .map(compile)
        .collect::<Result<Vec<_>, _>>()?;
    let order = order(study);
    let cells_per_block = study
        .variants
        .iter()
        .map(|v| v.settings.procedure.points.len())
        .max();
    let digits = order.len().saturating_sub(1).to_string().len().max(2);
    let mut standing = Standing::default();
    let mut target: Option<&Target> = None;
    let mut trials = Vec::new();
    for (index, cell) in order.into_iter().enumerate() {
        let variant = &study.variants[cell.variant];
        let (settings, work) = (&variant.settings, &works[cell.variant]);
        let program = &work.program;
        let starts = target != Some(&settings.target);
        if starts {
            standing = Standing::default();
            target = Some(&settings.target);
        }
        let preparation = standing.preparation(settings, program);
        standing.prepared(settings, program);
        let point = settings.procedure.points[cell.rung];
        let cell_number = cell.block * cells_per_block.unwrap_or(1) + cell.rung;
        trials.push(Trial {
            index,
            slug: slug(
                study,
                variant,
                point,
                cell.block,
                &format!("{index:0digits$}"),
            ),
            variant: cell.variant,
            point,
            block: cell.block,
            first_operation: match &work.step {
                Some(step) => step.first_operation,
                None => cell_number as u64 * OPERATIONS_PER_CELL,
            },
            phases: match &work.step {
                Some(step) => step_phases(settings, step, point, starts),
                None => phases(settings, program, point, starts, preparation),
            },
        });
    }
    let estimate = estimate::of_run(study, &works, &trials);
    Ok(Plan {
        trials,
        works,
        estimate,
    })
}

/// One trial before it is spelled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    variant: usize,
    rung: usize,
    block: usize,
}

/// Sequential: variant by variant. Interleaved: in each block every variant has its turn, so that
/// drift of the machine falls on all of them. Variants with the same target take turns at every
/// point; others keep their target for all their points, since a start costs more than a trial.
fn order(study: &Study) -> Vec<Cell> {
    let points = |variant: usize| study.variants[variant].settings.procedure.points.len();
    let blocks = study.repeat.blocks;
    let mut cells = Vec::new();
    if !study.repeat.interleaved {
        for variant in 0..study.variants.len() {
            for block in 0..blocks {
                let rungs = 0..points(variant);
                cells.extend(rungs.map(|rung| Cell {
                    variant,
                    rung,
                    block,
                }));
            }
        }
        return cells;
    }
    let mut chance = Chance(study.seed);
    for block in 0..blocks {
        let mut groups = groups_by_target(study);
        chance.shuffle(&mut groups);
        for mut group in groups {
            let rungs_max = group
                .iter()
                .map(|&variant| points(variant))
                .max()
                .unwrap_or(0);
            for rung in 0..rungs_max {
                chance.shuffle(&mut group);
                let turn = group.iter().filter(|&&variant| rung < points(variant));
                cells.extend(turn.map(|&variant| Cell {
                    variant,
                    rung,
                    block,
                }));
            }
        }
    }
    cells
}

fn groups_by_target(study: &Study) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, variant) in study.variants.iter().enumerate() {
        let target = &variant.settings.target;
        let same = |group: &&mut Vec<usize>| study.variants[group[0]].settings.target == *target;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

/// SplitMix64: small, seeded, the same on every machine; only shuffles.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Fisher and Yates. The modulo's bias is below 2^-50 for any number of variants.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = (self.next() % (last as u64 + 1)) as usize;
            items.swap(last, other);
        }
    }
}

fn slug(study: &Study, variant: &Variant, point: Point, block: usize, number: &str) -> String {
    let mut slug = number.to_owned();
    if variant.name != "-" {
        slug += &format!("-{}", variant.name);
    }
    slug += &format!("-{}-{}", point.axis(), point.value());
    if study.repeat.blocks > 1 {
        slug += &format!("-block-{}", block + 1);
    }
    slug
}

fn phases(
    settings: &Settings,
    program: &Program,
    point: Point,
    starts: bool,
    preparation: Preparation,
) -> Vec<Phase> {
    let mut phases = Vec::new();
    let mut add = |kind, what: String| {
        let seconds = estimate::of_phase(kind, settings);
        phases.push(Phase {
            kind,
            what,
            seconds,
        });
    };
    if starts {
        add(PhaseKind::Target, target_words(&settings.target));
    }
    let (keyspace, tables) = (program.keyspace(), program.tables().join(", "));
    match preparation {
        Preparation::Nothing => {}
        Preparation::Fill => add(PhaseKind::Schema, format!("create {keyspace}: {tables}")),
        Preparation::Replace => {
            add(
                PhaseKind::Schema,
                format!("drop and create {keyspace}: {tables}"),
            );
        }
        Preparation::Truncate => add(PhaseKind::Schema, format!("empty {keyspace}: {tables}")),
    }
    if preparation != Preparation::Nothing && settings.data.load_rows > 0 {
        let rows = human::format_count(settings.data.load_rows);
        add(PhaseKind::Load, format!("write {rows} rows"));
    }
    // Before every trial: the writes of the one before leave compactions too.
    if settings.data.settle != Settle::None {
        add(
            PhaseKind::Settle,
            "flush, and wait for compactions".to_owned(),
        );
    }
    let offered = offered_words(point, &settings.procedure);
    let warmup = match settings.window.warmup {
        Warmup::Auto(max) => {
            format!(
                "{offered}, until steady, at most {}",
                human::format_duration_ns(max)
            )
        }
        Warmup::Fixed(ns) => format!("{offered}, {}", human::format_duration_ns(ns)),
    };
    if settings.window.warmup != Warmup::Fixed(0) {
        add(PhaseKind::Warmup, warmup);
    }
    let measure = human::format_duration_ns(settings.window.measure_ns);
    add(PhaseKind::Measure, format!("{offered}, {measure}"));
    if settings.verify.sample > 0 {
        let rows = human::format_count(settings.verify.sample);
        add(PhaseKind::Verify, format!("read {rows} rows and compare"));
    }
    phases
}

/// The phases of an import's step.
fn step_phases(settings: &Settings, step: &Step, point: Point, starts: bool) -> Vec<Phase> {
    let mut phases = Vec::new();
    let mut add = |kind, what: String, seconds: f64| {
        phases.push(Phase {
            kind,
            what,
            seconds,
        });
    };
    let usual = |kind| estimate::of_phase(kind, settings);
    if starts {
        let what = target_words(&settings.target);
        add(PhaseKind::Target, what, usual(PhaseKind::Target));
    }
    if !step.before.is_empty() {
        let what = format!("execute {} statement(s) of the schema", step.before.len());
        add(PhaseKind::Schema, what, usual(PhaseKind::Schema));
    }
    if settings.data.settle != Settle::None {
        let what = "flush, and wait for compactions".to_owned();
        add(PhaseKind::Settle, what, usual(PhaseKind::Settle));
    }
    let offered = offered_words(point, &settings.procedure);
    if step.warmup_operations > 0 {
        let count = human::format_count(step.warmup_operations);
        let seconds = estimate::of_operations(step.warmup_operations, settings, point);
        let what = format!("{offered}, {count} operations, not counted");
        add(PhaseKind::Warmup, what, seconds);
    }
    let (what, seconds) = match step.limit {
        StepLimit::Operations(count) => (
            format!("{} operations", human::format_count(count)),
            estimate::of_operations(count, settings, point),
        ),
        StepLimit::Either(count, length) => (
            format!(
                "{} operations or {} s",
                human::format_count(count),
                length.as_secs_f64()
            ),
            estimate::of_operations(count, settings, point).min(length.as_secs_f64()),
        ),
        StepLimit::Duration(length) => (
            human::format_duration_ns(settings.window.measure_ns),
            length.as_secs_f64(),
        ),
        StepLimit::Uncertainty { target, min, max } => (
            format!("until the rate's standard error is below {target}, {min} to {max} intervals"),
            f64::from(min),
        ),
    };
    add(PhaseKind::Measure, format!("{offered}, {what}"), seconds);
    phases
}

/// A target in words.
pub fn target_words(target: &Target) -> String {
    match target {
        Target::Local(local) => format!(
            "start {} node(s) of Cassandra {} with {} heap",
            local.nodes,
            local.version,
            human::format_bytes(local.heap_bytes)
        ),
        Target::Attach(attach) => format!("attach to {}", attach.contact_points.join(", ")),
        Target::Null(_) => "start the null target".to_owned(),
    }
}

fn offered_words(point: Point, procedure: &Procedure) -> String {
    match point {
        Point::Threads(threads) => format!("{threads} in flight"),
        Point::Rate(rate) if procedure.poisson => {
            format!("{} op/s, Poisson arrivals", human::format_count(rate))
        }
        Point::Rate(rate) => format!("{} op/s", human::format_count(rate)),
    }
}

/// What ends a ladder, in words.
pub fn until_words(until: Until) -> String {
    match until {
        Until::Flat => "the rate no longer grows".to_owned(),
        Until::Timeout => "a request times out".to_owned(),
        Until::P99Ms(ms) => format!("p99 is above {ms} ms or a request times out"),
    }
}

#[cfg(test)]
mod tests;
