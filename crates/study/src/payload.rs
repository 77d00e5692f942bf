//! Estimates the size of operations on the wire before cassay contacts a cluster. Requests are
//! exact, because this module builds the same frames as a worker. Responses are estimated from the
//! size of rows.
//!
//! The estimate ignores compression and the headers of TCP, IP and Ethernet.

use crate::compile_workload::Work;
use cql::request::QueryParams;
use cql::template::{BatchTemplate, Template};
use std::collections::BTreeMap;
use workload::{Generator, Program, Stage, Statement};

/// Number of operations whose requests are built. The identity of a program is computed from the
/// same number of operations.
const OPERATIONS: u64 = 1_000;
/// Maximum number of request bytes that are built. Rows may be large, and a plan should take only a
/// second. At this limit, the estimate stops and uses fewer operations.
const BYTES_MAX: u64 = 8 << 20;
/// Placeholder for the id of a prepared statement. An id is an MD5 digest, so it has 16 bytes.
const STATEMENT_ID: [u8; 16] = [0; 16];
/// Size in bytes of a RESULT without rows: the header of the frame and the kind of the result.
const VOID_BYTES: f64 = 9.0 + 4.0;
/// Size in bytes of a RESULT with rows, without the rows themselves: header and kind, flags, and
/// the numbers of columns and rows.
const ROWS_BYTES: f64 = 9.0 + 4.0 + 12.0;

/// Average size of an operation on the wire, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Payload {
    /// Size of the requests of one operation, in bytes.
    pub request_bytes: f64,
    /// Size of the responses to these requests, in bytes.
    pub answer_bytes: f64,
}

impl Payload {
    /// Returns the payload of a variant's measured operations. `rows` maps the name of a kind of
    /// operation to the number of rows that one operation reads. A kind that is missing in `rows`
    /// reads one row.
    pub fn for_work(work: &Work, rows: &BTreeMap<String, f64>) -> Payload {
        let step = work.step.as_ref();
        let stage = step.map_or(Stage::Main, |step| step.stage);
        let first = step.map_or(0, |step| step.first_operation);
        let program = &work.program;
        let frames: Vec<Frames> = program.statements().iter().map(Frames::from_statement).collect();
        let mut generator = program.generator(stage);
        let mut sum = Payload::default();
        let mut operations = 0.0;
        for n in first..first.saturating_add(OPERATIONS) {
            if sum.request_bytes > BYTES_MAX as f64 {
                break;
            }
            let mut operation = generator.begin(n);
            operations += 1.0;
            // In a chain of statements, the client sends each statement once.
            for _ in program.statements() {
                let at = operation.statement;
                sum.request_bytes += request_bytes(&mut generator, &frames, at);
                sum.answer_bytes += answer_bytes(program, at, rows);
                let Some(then) = program.statements()[usize::from(at)].then else {
                    break;
                };
                operation.statement = then;
                generator.seek(operation);
            }
        }
        let each = |sum: f64| sum / f64::max(operations, 1.0);
        Payload {
            request_bytes: each(sum.request_bytes),
            answer_bytes: each(sum.answer_bytes),
        }
    }
}

struct Frames {
    alone: Template,
    batch: Option<BatchTemplate>,
}

impl Frames {
    fn from_statement(statement: &Statement) -> Frames {
        let params = QueryParams {
            consistency: statement.consistency,
            page_size: statement.page_size,
            serial_consistency: statement.serial_consistency,
            timestamp_us: statement.client_timestamp.then_some(0),
            ..QueryParams::default()
        };
        let values = statement.values_count;
        let alone = if statement.prepared {
            Template::execute(&STATEMENT_ID, values, &params)
        } else {
            // A worker does not send a text that cannot be parsed, so such a text adds no bytes to
            // the estimate.
            Template::query(&statement.cql, values, &params)
                .unwrap_or_else(|_| Template::execute(&STATEMENT_ID, values, &params))
        };
        let batch = statement.batch.map(|kind| BatchTemplate::new(kind, &params));
        Frames { alone, batch }
    }
}

/// Returns the number of request bytes of the statement that the generator's current operation has
/// reached.
fn request_bytes(generator: &mut Generator, frames: &[Frames], statement: u16) -> f64 {
    let entries = generator.entries();
    let mut out = Vec::new();
    let first = &frames[usize::from(statement)];
    let fixed = match &first.batch {
        Some(batch) if entries > 1 => {
            for entry in 0..entries {
                let of = generator.entry_statement(entry);
                frames[usize::from(of)].alone.append_entry(&mut out);
                generator.append_entry_values(entry, &mut out);
            }
            batch.bytes()
        }
        _ => {
            generator.append_values(&mut out);
            first.alone.bytes()
        }
    };
    (fixed + out.len()) as f64
}

fn answer_bytes(program: &Program, statement: u16, rows: &BTreeMap<String, f64>) -> f64 {
    let statement = &program.statements()[usize::from(statement)];
    if !statement.returns_rows {
        return VOID_BYTES;
    }
    let kind = program.kinds().get(usize::from(statement.kind));
    let read = kind.and_then(|kind| rows.get(&kind.name)).copied().unwrap_or(1.0);
    ROWS_BYTES + read * program.row_bytes_estimate() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;
    use crate::resolve::resolve;
    use crate::settings::Overrides;

    fn payload(workload: &str, rows: &[(&str, f64)]) -> Payload {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {workload}\n\
             data: {{load: {{operations: 1k}}}}\nprocedure: {{fixed: {{threads: 8}}}}\n"
        );
        let study = resolve("s", &text, &Overrides::default()).unwrap();
        let rows = rows.iter().map(|(kind, rows)| ((*kind).to_owned(), *rows)).collect();
        Payload::for_work(&plan(&study).unwrap().works[0], &rows)
    }

    /// The expected size is that of the frame in [`Template`] for a write to standard1.
    #[test]
    fn requests_are_the_frames_that_a_worker_would_send() {
        let write = payload("{use: standard1, mix: {write: 1}}", &[]);
        assert_eq!((write.request_bytes, write.answer_bytes), (236.0, 13.0));
        let read = payload("{use: standard1, mix: {read: 1}}", &[]);
        assert!(read.request_bytes < 80.0, "{read:?}");
        assert_eq!(read.answer_bytes, 25.0 + 180.0);
    }

    #[test]
    fn operations_of_a_mix_count_by_weight_and_reads_by_rows() {
        let kinds = ["write", "read"].map(|kind| format!("{{use: standard1, mix: {{{kind}: 1}}}}"));
        let [write, read] = kinds.map(|workload| payload(&workload, &[]));
        let mixed = payload("{use: standard1, mix: {write: 1, read: 1}}", &[]);
        let half = f64::midpoint(write.request_bytes, read.request_bytes);
        assert!(
            (mixed.request_bytes / half - 1.0).abs() < 0.1,
            "{mixed:?} {half}"
        );
        let many = payload("{use: standard1, mix: {read: 1}}", &[("read", 10.0)]);
        assert_eq!(many.answer_bytes, 25.0 + 1_800.0);
        let few = payload(
            "{use: kv, mix: {write: 1}, params: {value_size: 1000000}}",
            &[],
        );
        assert!(
            few.request_bytes > 1e6 && few.request_bytes < 1.001e6,
            "{few:?}"
        );
    }
}
