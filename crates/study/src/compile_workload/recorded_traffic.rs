//! Supports recorded traffic as the workload of a study.

use crate::inputs::Inputs;
use crate::settings::{Data, Load, RecordedTraffic, Sample, Settings, Warmup, Window};
use ::query_log::{Recording, left_out};
use analysis::procedure::{FixedPoint, Point};
use measure::clock::{MILLISECOND_NS, SECOND_NS};
use measure::number::counted;
use target_spec::Target;
use workload::{Problem, Program};

pub(super) fn program(recorded: &RecordedTraffic, inputs: &Inputs<'_>) -> Result<Program, Problem> {
    let problem = |key: &str, message: String| Problem {
        path: vec!["recorded".to_owned(), key.to_owned()],
        message,
        hint: None,
        is_unknown_name: false,
    };
    let recording = inputs.recording(recorded).map_err(|why| problem("files", why))?;
    let mut schema = Vec::new();
    if let Some(name) = &recorded.schema {
        let text = inputs.read(name).map_err(|why| problem("schema", why))?;
        let statements = cql::tokens::definitions(&text)
            .map_err(|fault| problem("schema", format!("{name}, {}", fault.describe(&text))))?;
        schema.extend(statements.into_iter().map(|(_, cql)| cql.to_owned()));
    }
    Ok(::query_log::program(&recording, &recorded.name(), &schema))
}

/// Applies a recording to the settings, and returns notes on the recording. Resolving has already
/// reported mistakes in the recording.
pub(super) fn apply(
    settings: &mut Settings,
    recorded: &RecordedTraffic,
    inputs: &Inputs<'_>,
) -> Vec<String> {
    let Ok(recording) = inputs.recording(recorded) else {
        return Vec::new();
    };
    if recorded.schema.is_none() && matches!(settings.target, Target::Attach(_)) {
        // cassay uses existing tables of an attached cluster unchanged.
        settings.data = Data {
            load: Load::None,
            ..Data::present(0)
        };
    }
    // Reads are not verified, because a recording does not contain the responses.
    settings.verify.every_nth = None;
    settings.verify.sample = Sample::Rows(0);
    if let Some(speed) = recorded.speed {
        let rate = (recording.ops_per_s() * speed).floor().max(1.0);
        settings.procedure = FixedPoint(Point::Rate(rate as u64)).into();
        settings.poisson = false;
        settings.window = Window {
            warmup: Warmup::Fixed(0),
            first_warmup_ns: None,
            after_faults_ns: None,
            measure_ns: window_ns(&recording, speed),
        };
    }
    let mut notes = notes(&recording, settings);
    notes.extend(recorded.speed.map(|speed| offered(&recording, speed)));
    notes
}

/// Returns the length in ns of a window that sends the whole recording once. A recording that is
/// shorter than a second repeats until the end of the second.
fn window_ns(recording: &Recording, speed: f64) -> u64 {
    let ns = |seconds: f64| (seconds * SECOND_NS as f64 / speed).floor() as u64;
    let exact = ns(recording.seconds());
    let in_ms = exact / MILLISECOND_NS * MILLISECOND_NS;
    // The length is rounded to milliseconds, which are easier to read, unless the window would then
    // end before the last operation.
    let window = if ns(recording.last_due_s()) < in_ms {
        in_ms
    } else {
        exact
    };
    window.max(SECOND_NS)
}

/// Describes the number of operations, and the time in which the run sends them.
fn offered(recording: &Recording, speed: f64) -> String {
    let window_s = window_ns(recording, speed) as f64 / SECOND_NS as f64;
    let all = counted(recording.operations(), "operation");
    if recording.seconds() / speed < 1.0 {
        return format!(
            "recorded traffic: the recorded {all} take less than a second, so cassay repeats them \
             for {window_s:.0} s"
        );
    }
    format!(
        "recorded traffic: cassay replays all {all} once, in {window_s:.2} s. The last interval of \
         the measurement is shorter than one second"
    )
}

fn notes(recording: &Recording, settings: &Settings) -> Vec<String> {
    let mut notes = vec![format!(
        "recorded traffic: {} operations of {} kinds in {:.1} s, {:.1} op/s on average. Logs \
         contain no answers, so cassay does not compare reads",
        recording.operations(),
        recording.kinds.len(),
        recording.seconds(),
        recording.ops_per_s()
    )];
    let left = recording.left_out.iter();
    notes.extend(left.map(|(why, count)| format!("recorded traffic: {}", left_out(*why, *count))));
    if recording.without_level > 0 && settings.workload.tunings.is_empty() {
        notes.push(
            "recorded traffic: the audit log contains no consistency levels, so cassay uses \
             LOCAL_ONE unless `workload.consistency` is set"
                .to_owned(),
        );
    }
    let of_logs = recording.logs.iter().flat_map(|log| &log.notes);
    notes.extend(of_logs.map(|note| format!("recorded traffic: {note}")));
    notes
}
