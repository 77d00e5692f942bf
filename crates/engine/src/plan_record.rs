//! Converts the plan to its form on disk, and back.

use analysis::VariantName;
use analysis::procedure::Point;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use store::record::{
    AxisRecord, CombinationsRecord, EstimateRecord, FORMAT, MinimumPlanRecord, Order,
    OverridesRecord, PhaseRecord, PlanRecord, PlannedFaultRecord, PrimaryRecord, RepeatRecord,
    RequestRecord, ResolvedRecord, TrialRecord,
};
use study::checked_tree::Tree;
use study::plan::{Plan, Trial};
use study::rerun_command::rerun;
use study::settings::{
    Client, Folder, GrantedPermissions, Overrides, PrimaryMetric, Recordings, Registry, Study,
    StudyFault,
};
use study::units;
use workload::{Program, Statement};

/// Returns the content of `plan.json` for a plan. `cassay` is the version of cassay that made the
/// plan.
pub fn plan_record(study: &Study, plan: &Plan, cassay: &str) -> PlanRecord {
    PlanRecord {
        format: FORMAT,
        cassay: cassay.to_owned(),
        study: study.name.clone(),
        question: study.question.clone(),
        seed: study.seed,
        scale: study.overrides.scale.clone(),
        rerun: rerun(study, &[]),
        estimate: EstimateRecord {
            seconds: plan.estimate.seconds,
            disk_bytes: plan.estimate.disk_bytes,
            memory_bytes: plan.estimate.memory_bytes,
            least: least(plan),
        },
        trials: plan.trials.iter().map(|trial| trial_record(study, trial)).collect(),
        resolved: resolved(study, plan),
    }
}

fn resolved(study: &Study, plan: &Plan) -> ResolvedRecord {
    let variants = study.variants.iter();
    let order = if study.repeat.interleaved {
        Order::Interleaved
    } else {
        Order::Sequential
    };
    let metric = match study.primary.metric {
        PrimaryMetric::Auto => "auto",
        PrimaryMetric::Named(name) => name,
    };
    ResolvedRecord {
        source: study.source.clone(),
        published: study.published.as_ref().map(|(file, _)| file.clone()),
        overrides: overrides_record(&study.overrides, &study.inputs),
        repeat: RepeatRecord {
            blocks: study.repeat.blocks,
            first_look: study.repeat.first_look,
            detect: study.repeat.detect,
            order: order.to_owned(),
        },
        primary: PrimaryRecord {
            metric: metric.to_owned(),
            point: study.primary.point,
        },
        notes: study.notes.clone(),
        variants: variants
            .map(|variant| (variant.name.to_string(), settings_json(&variant.tree)))
            .collect(),
        requests: requests(study, plan),
        combinations: combinations(study),
        faults: faults(study),
        without_faults: without_faults(study),
        ..ResolvedRecord::default()
    }
}

/// Returns the variants of a matrix as combinations. Returns `None` for a study without a matrix,
/// and for steps of an import, because they are not combinations.
fn combinations(study: &Study) -> Option<CombinationsRecord> {
    let has_steps = study.variants.iter().any(|variant| variant.step.is_some());
    if study.axes.is_empty() || study.screen.is_some() || has_steps {
        return None;
    }
    let axes = study.axes.iter().map(|axis| AxisRecord {
        name: axis.name.clone(),
        values: axis.values.clone(),
    });
    let cells = study.variants.iter().filter(|one| !one.is_added);
    Some(CombinationsRecord {
        axes: axes.collect(),
        cells: cells.map(|one| (one.name.clone(), one.cell.clone())).collect(),
    })
}

fn faults(study: &Study) -> BTreeMap<VariantName, Vec<PlannedFaultRecord>> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let planned = |fault: &StudyFault| PlannedFaultRecord {
        kind: fault.kind.name.to_string(),
        place: fault.place(),
        what: fault.words(),
        at_s: seconds(fault.at_ns),
        for_s: fault.kind.length.is_said().then(|| seconds(fault.for_ns)),
    };
    let broken = study.variants.iter().filter(|variant| !variant.settings.faults.is_empty());
    let all = broken.map(|variant| {
        let faults = variant.settings.faults.iter().map(planned);
        (variant.name.clone(), faults.collect())
    });
    all.collect()
}

fn without_faults(study: &Study) -> BTreeMap<VariantName, VariantName> {
    let pairs = study.variants.iter().filter_map(|variant| {
        let without = study.without_faults(variant)?;
        Some((variant.name.clone(), without.name.clone()))
    });
    pairs.collect()
}

/// Returns the number and the total length of the trials that will certainly run. Returns `None` if
/// all trials are certain.
fn least(plan: &Plan) -> Option<MinimumPlanRecord> {
    let certain = plan.trials.iter().filter(|trial| trial.certain).count();
    let least = MinimumPlanRecord {
        trials: certain,
        seconds: plan.estimate.seconds_least,
    };
    (certain < plan.trials.len()).then_some(least)
}

/// Returns the settings for a record, without the values of secrets.
pub(crate) fn settings_json(tree: &Tree) -> Value {
    let mut settings = tree.to_json();
    target_spec::redact::hide_all(&mut settings);
    settings
}

/// Returns all statements of each variant, with all settings that determine how the client sends
/// and judges them.
fn requests(study: &Study, plan: &Plan) -> BTreeMap<VariantName, Vec<RequestRecord>> {
    let all = study.variants.iter().zip(&plan.works).map(|(variant, work)| {
        let program = &work.program;
        let one = |statement: &Statement| request(program, statement, &variant.settings.client);
        (
            variant.name.clone(),
            program.statements().iter().map(one).collect(),
        )
    });
    all.collect()
}

fn request(program: &Program, statement: &Statement, client: &Client) -> RequestRecord {
    let kind = &program.kinds()[usize::from(statement.kind)];
    let timeout = Duration::from_nanos(client.timeout_ns);
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let by = if statement.client_timestamp {
        "client"
    } else {
        "server"
    };
    let compression = client.compression.map_or("none", cql::Compression::name);
    let serial = statement.serial_consistency;
    // A read is always idempotent, even if its statement is not declared as idempotent.
    let reads = statement.returns_rows && !statement.conditional;
    RequestRecord {
        kind: kind.name.clone(),
        cql: statement.cql.clone(),
        consistency: Some(statement.consistency.to_string()),
        serial_consistency: serial.map(|level| level.to_string()),
        idempotent: Some(statement.idempotent || reads),
        prepared: Some(statement.prepared),
        batch: statement.batch.map(|batch| format!("{batch:?}").to_lowercase()),
        conditional: statement.conditional,
        returns_rows: Some(statement.returns_rows),
        page_size: statement.page_size.map(|rows| rows.max(0) as u64),
        pages_max: statement.pages_max.map(u64::from),
        timestamps: Some(by.to_owned()),
        timeout_ms: Some(ms(kind.policy.timeout.unwrap_or(timeout))),
        retries: Some(u64::from(kind.policy.retries)),
        speculate_after_ms: kind.policy.speculate_after.map(ms),
        compression: Some(compression.to_owned()),
    }
}

/// Returns the content of `trial.json` for a trial. `plan.json` contains the same record for each
/// trial, but the point may be missing there.
pub fn trial_record<P>(study: &Study, trial: &Trial<P>) -> TrialRecord
where
    P: Copy + Into<Option<Point>>,
{
    let variant = study.variant(trial.variant);
    let mut settings = settings_json(&variant.tree);
    settings["first_operation"] = json!(trial.first_operation);
    let measure_ns = variant.settings.window_ns(trial.role);
    if measure_ns != variant.settings.window.measure_ns {
        settings["window"]["measure"] = json!(units::format_duration_ns(measure_ns));
    }
    TrialRecord {
        format: FORMAT,
        index: trial.index,
        slug: trial.slug.clone(),
        variant: variant.name.clone(),
        point: trial.point.into(),
        role: trial.role,
        block: trial.block.0,
        phases: trial
            .phases
            .iter()
            .map(|phase| PhaseRecord {
                name: phase.kind.name().to_owned(),
                what: phase.work.to_string(),
                seconds: phase.seconds,
            })
            .collect(),
        settings,
    }
}

/// Returns the changes that the command line makes to the study, and the files that the study
/// names.
pub fn overrides_record(
    overrides: &Overrides,
    inputs: &BTreeMap<String, String>,
) -> OverridesRecord {
    OverridesRecord {
        target: overrides.target.clone(),
        scale: overrides.scale.clone(),
        set: overrides.set.clone(),
        seed: overrides.seed,
        inputs: inputs.clone(),
        trust: overrides.granted.trust,
        folder: overrides.files.as_ref().and_then(folder_of),
    }
}

/// Returns the absolute path of a study's folder. A study from a command line has no folder.
fn folder_of(folder: &Folder) -> Option<PathBuf> {
    let path = std::path::absolute(&folder.path);
    path.ok().filter(|_| !folder.open)
}

/// Returns the overrides of a recorded plan, so that its study can be resolved again. Like a study,
/// the record may come from an untrusted source. Unless `granted` contains trust, neither the
/// record nor its folder of files is trusted.
pub fn overrides_of(plan: &PlanRecord, granted: GrantedPermissions) -> Overrides {
    overrides_recorded(plan.resolved.overrides.clone(), granted)
}

/// Does the same as [`overrides_of`], but takes only the overrides instead of a plan.
pub fn overrides_recorded(recorded: OverridesRecord, granted: GrantedPermissions) -> Overrides {
    let folder = recorded.folder.filter(|_| granted.trust);
    Overrides {
        target: recorded.target,
        scale: recorded.scale,
        set: recorded.set,
        seed: recorded.seed,
        inputs: recorded.inputs,
        recordings: Recordings::default(),
        command: None,
        files: folder.map(|path| Folder { path, open: false }),
        // The record of the finished run already contains the kinds that the registry would define.
        registry: Registry::default(),
        granted,
        recorded: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::resolve::resolve;

    const STUDY: &str = "study: s\nquestion: q\ntarget: {null: {}}\nworkload: {use: standard1}\n\
                         procedure: {fixed: {threads: 1}}\n";

    #[test]
    fn a_plan_says_that_its_study_was_trusted() {
        for trust in [false, true] {
            let granted = GrantedPermissions {
                trust,
                ..GrantedPermissions::default()
            };
            let overrides = Overrides {
                granted,
                ..Overrides::default()
            };
            let study = resolve("s", STUDY, &overrides).unwrap();
            let plan = study::plan::plan(&study).unwrap();
            let record = plan_record(&study, &plan, "0.0.0");
            assert_eq!(record.resolved.overrides.trust, trust);
            assert_eq!(
                record.rerun.ends_with(" --trust"),
                trust,
                "{}",
                record.rerun
            );
            // The record itself does not grant permissions. The user must grant them again on the
            // command line.
            assert!(!overrides_of(&record, GrantedPermissions::default()).granted.trust);
        }
    }

    #[test]
    fn a_plan_has_every_fault_with_its_time_and_its_baseline() {
        let text = "study: s\nquestion: q\ntarget: {local: {nodes: 3}}\n\
                    workload: {use: standard1}\ndata: {load: {operations: 10k}}\n\
                    procedure: {fixed: {threads: 1}}\nwindow: {measure: 2m}\n\
                    repeat: {without_faults: true}\nfaults:\n\
                    - {at: 20s, every: 40s, for: 10s, kind: [node-pause, node-kill]}\n\
                    - {at: 110s, kind: node-restart, where: {node: 2}}\n";
        let study = resolve("s", text, &Overrides::default()).unwrap();
        let plan = study::plan::plan(&study).unwrap();
        let resolved = plan_record(&study, &plan, "0.0.0").resolved;
        let [(name, faults)] = &resolved.faults.iter().collect::<Vec<_>>()[..] else {
            panic!("only one variant has faults")
        };
        assert_eq!(name.as_str(), "with-faults");
        let times: Vec<(f64, Option<f64>)> =
            faults.iter().map(|one| (one.at_s, one.for_s)).collect();
        let (some, moment) = (Some(10.0), None);
        assert_eq!(
            times,
            [(20.0, some), (60.0, some), (100.0, some), (110.0, moment)]
        );
        let last = &faults[3];
        assert_eq!(
            (last.kind.as_str(), last.place.as_str()),
            ("node-restart", "node2")
        );
        assert_eq!(
            resolved.without_faults[&"with-faults".into()],
            "without-faults".into()
        );
    }

    #[test]
    fn names_refused_to_a_study_are_those_of_the_results_folder() {
        assert_eq!(study::check::RESERVED_NAMES, store::name::RESERVED);
    }
}
