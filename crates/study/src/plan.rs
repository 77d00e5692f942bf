//! Expands a study into all trials with their phases, in the order in which they run.
//!
//! A plan is a pure function of the study. The same file, command line and seed always result in
//! the same plan, so an interrupted run can be resumed. The plan derives the state at the start of
//! a trial from the earlier trials. For example, the target is running and the data is loaded. A
//! run uses the actual state instead, because a procedure may end early.

mod accord;
mod error;
pub mod order;
mod phase;
mod phase_descriptions;

use crate::client_warnings;
use crate::compile_workload::{self, Work};
use crate::data_state::DataState;
use crate::estimate::{self, Estimate};
use crate::fault_warnings;
use crate::guardrail_warnings;
use crate::inputs::Inputs;
use crate::read_back;
use crate::settings::{Load, Reset, Sample, Settings, Settle, Study, Variant, Warmup};
use crate::storage_warnings;
use crate::target_differences;
use crate::units;
use crate::upgrade_warnings;
use analysis::procedure::{Ask, Point, ProcedureEstimate, Role};
use error::{accord_stays, only_data, only_levels_taken};
use imports::ImportStep;
use measure::number::counted;
use order::{Cell, order, outlooks};
use phase_descriptions::{load_words, read_back_words, restore_words, schema_words, step_words};
use std::borrow::Cow;
use std::sync::Arc;
use target_spec::{Change, Target};
use workload::Program;

pub use crate::index::{BlockIndex, VariantIndex};
pub use error::PlanError;
pub use phase::{Offer, OfferLength, Phase, PhaseKind, PhaseWork};
pub use phase_descriptions::target_words;

/// Distance between the first operation numbers of two cells. At 10 M operations per second, a cell
/// can run for 30 hours before it reaches the numbers of the next cell.
const OPERATIONS_PER_CELL: u64 = 1 << 40;

/// A study, expanded into trials.
#[derive(Clone, Debug)]
pub struct Plan {
    /// All trials, in order. Some trials have no point yet, and some may not run.
    pub trials: Vec<Turn>,
    /// Compiled workload of each variant, in the order of the study.
    pub works: Vec<Work>,
    /// Expected cost of the run.
    pub estimate: Estimate,
    /// Sentences about predicted problems. They are only advice.
    pub warnings: Vec<String>,
}

/// Facts that are known about the rows at the start of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowsBefore {
    /// True if the rows that the trial reads are known to exist. This is the case if the study
    /// loads rows or declares that they exist. For the command of another tool, there are two such
    /// cases: a step up to this one only writes rows, or this step writes none.
    pub are_said: bool,
    /// True if the rows do not come from this run. This is the case if the study declares that the
    /// rows exist. For the command of another tool, this is the case if no step up to this one only
    /// writes rows.
    pub are_strange: bool,
}

impl Plan {
    /// Returns the compiled workload of a variant. `variant` must be the index of a variant of the
    /// planned study.
    pub fn work(&self, variant: VariantIndex) -> &Work {
        &self.works[variant.0]
    }

    /// Returns the known facts about the rows before a trial.
    pub fn rows_before(&self, trial: &Trial, settings: &Settings) -> RowsBefore {
        let work = self.works.get(trial.variant.0);
        let Some((work, step)) = work.and_then(|work| Some((work, work.step.as_ref()?))) else {
            let are_strange = settings.data.is_present();
            return RowsBefore {
                are_said: are_strange || settings.data.load != Load::None,
                are_strange,
            };
        };
        let keyspace = work.program.keyspace();
        let until = &self.trials[..=trial.index];
        let are_filled = until.iter().any(|turn| fills(self.work(turn.variant), keyspace));
        RowsBefore {
            are_said: are_filled || work.program.writes(step.stage).is_empty(),
            are_strange: !are_filled,
        }
    }
}

/// Returns true if the work is a step of an import that only writes, and writes to `keyspace`. Such
/// a step fills the tables.
fn fills(work: &Work, keyspace: &str) -> bool {
    let stage = work.step.as_ref().map(|step| step.stage);
    let program = &work.program;
    program.keyspace() == keyspace && stage.is_some_and(|stage| program.only_writes(stage))
}

/// A configuration that runs once. In a plan, the point of a trial may be unknown.
#[derive(Clone, Debug)]
pub struct Trial<P = Point> {
    /// Index of the trial, starting at 0.
    pub index: usize,
    /// Name of the trial's folder, such as `00-writes-threads-4`.
    pub slug: String,
    /// Index of the trial's variant in the study.
    pub variant: VariantIndex,
    /// Position of the trial on the load axis.
    pub point: P,
    /// Purpose of the measurement. In a plan, the role is unknown if the point is unknown.
    pub role: Role,
    /// True if the trial always runs. Otherwise, the procedure may end before this trial.
    pub certain: bool,
    /// Index of the trial's block.
    pub block: BlockIndex,
    /// Number of the trial's first operation. Variants at the same point and block have the same
    /// number, so that they get the same operations. Different points have different numbers, so
    /// that the keys of one point do not warm caches for another.
    pub first_operation: u64,
    /// Phases of the trial, in order.
    pub phases: Vec<Phase>,
}

/// A planned trial. Its point is set if the procedure determines the point before the first
/// measurement.
pub type Turn = Trial<Option<Point>>;

impl<P> Trial<P> {
    /// Returns the expected length of the trial, in seconds.
    pub fn seconds(&self) -> f64 {
        self.phases.iter().map(|phase| phase.seconds).sum()
    }

    /// Returns the expected length of one phase of the trial, in seconds. Returns 0 if the trial
    /// does not have this phase.
    pub fn seconds_of(&self, kind: PhaseKind) -> f64 {
        let phase = self.phases.iter().find(|phase| phase.kind == kind);
        phase.map_or(0.0, |phase| phase.seconds)
    }
}

impl Turn {
    /// Returns the trial with the point and the role of `ask`. The role determines the length of
    /// the trial's window.
    pub fn trial_for(&self, ask: Ask, settings: &Settings) -> Trial {
        let Ask { point, role } = ask;
        let mut turn = self.clone();
        let windows_ns = [self.role, role].map(|role| settings.window_ns(role));
        for phase in &mut turn.phases {
            let PhaseWork::Offer(offer) = &mut phase.work else {
                continue;
            };
            offer.at.get_or_insert(point);
            if let [planned, now] = windows_ns
                && phase.kind == PhaseKind::Measure
                && planned != now
            {
                offer.length = OfferLength::For(now);
                phase.seconds = now as f64 / 1e9;
            }
        }
        Trial {
            index: turn.index,
            slug: turn.slug,
            variant: turn.variant,
            point,
            role,
            certain: turn.certain,
            block: turn.block,
            first_operation: turn.first_operation,
            phases: turn.phases,
        }
    }
}

impl<P> Trial<P> {
    /// Returns the settings of the trial. They are the settings of its variant, except that the
    /// length of the window may differ.
    pub fn settings<'s>(&self, of_variant: &'s Settings) -> Cow<'s, Settings> {
        let measure_ns = of_variant.window_ns(self.role);
        if measure_ns == of_variant.window.measure_ns {
            return Cow::Borrowed(of_variant);
        }
        let mut settings = of_variant.clone();
        settings.window.measure_ns = measure_ns;
        Cow::Owned(settings)
    }
}

/// Plans a study.
///
/// # Errors
/// A workload that resolving has accepted does not compile with the study's seed. It is also an
/// error if cassay cannot parse a statement, or if a statement requires trust. Finally, Accord
/// tables may not support a consistency level, or a restart may switch Accord off.
pub fn plan(study: &Study) -> Result<Plan, PlanError> {
    let inputs = Inputs::recorded(&study.inputs).with_recordings(&study.recordings);
    let compile = |variant: &Variant| {
        compile_workload::compile(&variant.settings, study.seed, &inputs)
            .map_err(|why| format!("variant {}: {why}", variant.name))
    };
    let works = study
        .variants
        .iter()
        .map(compile)
        .collect::<Result<Vec<_>, _>>()
        .map_err(PlanError::Compile)?;
    only_data(study, &works)?;
    only_levels_taken(study, &works)?;
    accord_stays(study, &works)?;
    let trials = turns(study, &works, &outlooks(study));
    let estimate = estimate::run_estimate(study, &works, &trials);
    let mut warnings = estimate::warnings(study, &works);
    let programs: Vec<Arc<Program>> = works.iter().map(|w| Arc::clone(&w.program)).collect();
    warnings.extend(storage_warnings::warnings(study, &programs));
    warnings.extend(client_warnings::warnings(study));
    warnings.extend(guardrail_warnings::warnings(study));
    warnings.extend(upgrade_warnings::warnings(study));
    warnings.extend(fault_warnings::warnings(study));
    Ok(Plan {
        trials,
        works,
        estimate,
        warnings,
    })
}

fn turns(study: &Study, works: &[Work], outlooks: &[ProcedureEstimate]) -> Vec<Turn> {
    let order = order(study, outlooks);
    let cells_per_block = outlooks.iter().map(|outlook| outlook.turns_max).max();
    // The number of digits in a trial's name depends only on the planned trials, so the names stay
    // the same when blocks are added.
    let planned = order.iter().filter(|cell| cell.block.0 < study.repeat.blocks);
    let digits = planned.count().saturating_sub(1).to_string().len().max(2);
    let mut stage = PlannedState::default();
    let mut trials = Vec::new();
    for (index, cell) in order.into_iter().enumerate() {
        let settings = &study.variant(cell.variant).settings;
        let work = &works[cell.variant.0];
        let program = &work.program;
        let outlook = &outlooks[cell.variant.0];
        let point = outlook.points.get(cell.rung).copied();
        let role = settings.procedure.role(cell.rung);
        let cell_number = cell.block.0 * cells_per_block.unwrap_or(1) + cell.rung;
        trials.push(Trial {
            index,
            slug: slug(study, cell, (point, role), &format!("{index:0digits$}")),
            variant: cell.variant,
            point,
            role,
            certain: cell.rung < outlook.certain && study.repeat.is_certain(cell.block),
            block: cell.block,
            first_operation: match &work.step {
                Some(step) => step.first_operation,
                // Every trial replays the recording from its start, so all trials have the same
                // first operation.
                None if settings.workload.recorded.is_some() => 0,
                None => cell_number as u64 * OPERATIONS_PER_CELL,
            },
            phases: stage.phases(settings, program, work.step.as_ref(), (point, role)),
        });
    }
    trials
}

fn slug(study: &Study, cell: Cell, (point, role): (Option<Point>, Role), number: &str) -> String {
    let mut slug = number.to_owned();
    if let Some(variant) = study.variant(cell.variant).name.name() {
        slug += &format!("-{variant}");
    }
    slug += &match point {
        Some(point) => format!("-{}-{}", point.axis(), point.value()),
        None => format!("-step-{}", cell.rung + 1),
    };
    if role != Role::Probe {
        slug += &format!("-{}", role.name());
    }
    if study.repeat.blocks > 1 {
        slug += &format!("-block-{}", cell.block.number());
    }
    slug
}

/// Simulated state of the target during the trials of a plan. It determines the phases that prepare
/// the target for each trial.
#[derive(Default)]
struct PlannedState<'a> {
    standing: DataState,
    /// Current configuration of the nodes.
    target: Option<&'a Target>,
    phases: Vec<Phase>,
}

impl<'a> PlannedState<'a> {
    fn phases(
        &mut self,
        settings: &'a Settings,
        program: &Arc<Program>,
        step: Option<&ImportStep>,
        (point, role): (Option<Point>, Role),
    ) -> Vec<Phase> {
        let change = self.target.map(|there| settings.target.change_from(there));
        let is_new = change.is_none_or(|change| change == Change::Start);
        if is_new {
            self.standing = DataState::default();
            self.target = None;
        }
        match step {
            Some(step) => self.step(settings, step, point),
            None => {
                self.data(settings, program);
                self.offer(settings, program, (point, role));
            }
        }
        std::mem::take(&mut self.phases)
    }

    fn add(&mut self, kind: PhaseKind, settings: &Settings, what: String) {
        let seconds = estimate::phase_seconds(kind, settings);
        self.phases.push(Phase {
            kind,
            work: PhaseWork::Said(what),
            seconds,
        });
    }

    /// Adds the phase that starts a target, or that changes the configuration of its nodes. Adds no
    /// phase if the target already has the required configuration.
    fn configure(&mut self, settings: &'a Settings, target: &'a Target) {
        match self.target {
            None => self.add(PhaseKind::Target, settings, target_words(target)),
            Some(there) if there != target => {
                let what = target_differences::difference_words(
                    there,
                    target,
                    target_differences::restarts(settings),
                );
                self.add(PhaseKind::Restart, settings, what);
            }
            Some(_) => {}
        }
        self.target = Some(target);
    }

    /// Adds the phases that prepare the data for a trial, as the engine does in a run.
    fn data(&mut self, settings: &'a Settings, program: &Program) {
        let preparation = self.standing.preparation(settings, program);
        let data = &settings.data;
        if preparation.fills() {
            self.configure(settings, settings.load_target());
            self.add(
                PhaseKind::Schema,
                settings,
                schema_words(settings, preparation, program),
            );
            if data.load != Load::None {
                self.add(PhaseKind::Load, settings, load_words(settings));
                self.settle(settings);
            }
            self.standing.prepared(settings, program, data.rows);
            if data.reset == Reset::Snapshot {
                let what = "keep the loaded data as hard links".to_owned();
                self.add(PhaseKind::Snapshot, settings, what);
                self.standing.kept(settings, program, String::new());
            }
        }
        let restarts = self.target.is_some_and(|there| *there != settings.target);
        let is_loaded = preparation.fills() && data.load != Load::None;
        self.configure(settings, &settings.target);
        if data.reset == Reset::Snapshot {
            self.add(PhaseKind::Restore, settings, restore_words(settings));
        } else if restarts || !is_loaded {
            // The data settles before every trial, because the writes of the previous trial also
            // cause compactions.
            self.settle(settings);
        }
    }

    fn settle(&mut self, settings: &Settings) {
        if settings.data.settle != Settle::None {
            // On an attached cluster, only Jolokia agents can flush tables. Without an agent, the
            // trial only waits.
            let what = match &settings.target {
                Target::Attach(spec) if spec.jolokia.is_none() => "wait for compactions",
                _ => "flush, and wait for compactions",
            };
            self.add(PhaseKind::Settle, settings, what.to_owned());
        }
    }

    fn offer(
        &mut self,
        settings: &Settings,
        program: &Arc<Program>,
        (point, role): (Option<Point>, Role),
    ) {
        let offer = |length| PhaseWork::offer(point, settings, length);
        let starts = |phase: &Phase| matches!(phase.kind, PhaseKind::Target | PhaseKind::Restart);
        let warmup = settings.window.warmup_of(self.phases.iter().any(starts));
        if warmup != Warmup::Fixed(0) {
            self.phases.push(Phase {
                kind: PhaseKind::Warmup,
                work: offer(match warmup {
                    Warmup::Auto(max_ns) => OfferLength::UntilSteady(max_ns),
                    Warmup::Fixed(ns) => OfferLength::For(ns),
                }),
                seconds: estimate::warmup_seconds(warmup),
            });
        }
        let measure_ns = settings.window_ns(role);
        self.phases.push(Phase {
            kind: PhaseKind::Measure,
            work: offer(match settings.window.after_faults_ns {
                Some(after_ns) => OfferLength::UntilFaults(after_ns, measure_ns),
                None => OfferLength::For(measure_ns),
            }),
            seconds: measure_ns as f64 / 1e9,
        });
        match settings.verify.sample {
            Sample::Rows(0) => {}
            Sample::Rows(rows) => {
                let rows = units::format_count(rows);
                let compares = program.statements().iter().any(|statement| statement.verifies);
                let what = if compares {
                    format!("read {rows} rows and compare")
                } else {
                    format!("read {rows} rows")
                };
                self.add(PhaseKind::Verify, settings, what);
            }
            Sample::All => {
                let what = read_back_words(&read_back::levels(settings, program));
                self.add(PhaseKind::Verify, settings, what);
            }
        }
    }

    fn step(&mut self, settings: &'a Settings, step: &ImportStep, point: Option<Point>) {
        self.configure(settings, &settings.target);
        if !step.before.is_empty() {
            let what = format!(
                "execute {} of the schema",
                counted(step.before.len(), "statement")
            );
            self.add(PhaseKind::Schema, settings, what);
        }
        self.settle(settings);
        let offer = |length| PhaseWork::offer(point, settings, length);
        if step.warmup_operations > 0 {
            self.phases.push(Phase {
                kind: PhaseKind::Warmup,
                work: offer(OfferLength::Uncounted(step.warmup_operations)),
                seconds: estimate::operations_seconds(step.warmup_operations, settings, point),
            });
        }
        let (what, seconds) = step_words(settings, step, point);
        self.phases.push(Phase {
            kind: PhaseKind::Measure,
            work: offer(OfferLength::Step(what)),
            seconds,
        });
    }
}

#[cfg(test)]
mod tests;
