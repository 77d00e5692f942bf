//! Recorded traffic as the workload of a study.

use crate::inputs::Inputs;
use crate::settings::{Data, Load, Recorded, Sample, Settings, Warmup, Window};
use ::recorded::{Recording, left_out};
use analysis::procedure::{Fixed, Point};
use measure::clock::SECOND_NS;
use target::Target;
use workload::{Problem, Program};

/// The program of recorded traffic.
pub(super) fn program(recorded: &Recorded, inputs: &Inputs<'_>) -> Result<Program, Problem> {
    let problem = |key: &str, message: String| Problem {
        path: vec!["recorded".to_owned(), key.to_owned()],
        message,
        hint: None,
    };
    let recording = inputs.recording(recorded).map_err(|why| problem("files", why))?;
    let mut schema = Vec::new();
    if let Some(name) = &recorded.schema {
        let text = inputs.read(name).map_err(|why| problem("schema", why))?;
        let statements = cql::text::split(&text)
            .map_err(|fault| problem("schema", format!("{name}, {}", fault.said(&text))))?;
        schema.extend(statements.into_iter().map(|(_, cql)| cql.to_owned()));
    }
    Ok(::recorded::program(&recording, &recorded.name(), &schema))
}

/// Changes the settings by what a recording says of them; what is to be said of it, a sentence
/// each. What is wrong with it was said where resolving checks it.
pub(super) fn apply(
    settings: &mut Settings,
    recorded: &Recorded,
    inputs: &Inputs<'_>,
) -> Vec<String> {
    let Ok(recording) = inputs.recording(recorded) else {
        return Vec::new();
    };
    if recorded.schema.is_none() && matches!(settings.target, Target::Attach(_)) {
        // Its tables are taken as they are.
        settings.data = Data {
            load: Load::None,
            ..Data::present(0)
        };
    }
    // Nobody has recorded what was answered.
    settings.verify.every_nth = None;
    settings.verify.sample = Sample::Rows(0);
    if let Some(speed) = recorded.speed {
        let rate = (recording.ops_per_s() * speed).floor().max(1.0);
        settings.procedure = Fixed(Point::Rate(rate as u64)).into();
        settings.poisson = false;
        let seconds = (recording.seconds() / speed).floor().max(1.0);
        settings.window = Window {
            warmup: Warmup::Fixed(0),
            measure_ns: seconds as u64 * SECOND_NS,
        };
    }
    notes(&recording, settings)
}

/// What is to be said of a recording: a sentence each.
fn notes(recording: &Recording, settings: &Settings) -> Vec<String> {
    let mut notes = vec![format!(
        "recorded traffic: {} operations of {} kinds in {:.1} s, {:.1} op/s on average; what was \
         answered then is not in a log, so that no read is compared",
        recording.operations(),
        recording.kinds.len(),
        recording.seconds(),
        recording.ops_per_s()
    )];
    let left = recording.left_out.iter();
    notes.extend(left.map(|(why, count)| format!("recorded traffic: {}", left_out(*why, *count))));
    if recording.without_level > 0 && settings.workload.tunings.is_empty() {
        notes.push(
            "recorded traffic: an audit log has no consistency levels; LOCAL_ONE is asked for, \
             unless `workload.consistency` says another"
                .to_owned(),
        );
    }
    let of_logs = recording.logs.iter().flat_map(|log| &log.notes);
    notes.extend(of_logs.map(|note| format!("recorded traffic: {note}")));
    notes
}
