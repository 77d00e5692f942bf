//! The studies with which cassay does the same work as the other tools.

use super::tools::LATTE_KEYSPACE;
use super::{Case, IN_FLIGHT, Load, PeerServer, ROWS};

/// Returns the study of a case. The study has one point, and loads no data. It does not read rows
/// back for verification, because the peers do not do this either.
pub fn of_case(case: Case, quantum: &str, seconds: u64) -> String {
    let kind = if case.is_read { "read" } else { "write" };
    let point = match case.load {
        Load::Closed(in_flight) => format!("threads: {in_flight}"),
        Load::Rate(rate) => format!("rate: {rate}"),
    };
    // On a real Cassandra, the rows are those of `populate`. If the study loaded rows immediately
    // before the run, the run would measure the compactions that follow. The null target answers
    // reads of any row, but a study with reads must state the rows that exist.
    let data = if case.is_read || case.place == PeerServer::Cassandra {
        format!("{{present: {ROWS}, settle: none}}")
    } else {
        "{settle: none}".to_owned()
    };
    let client = match case.place {
        PeerServer::Null => "workers: 1, cpus: [0]",
        PeerServer::Cassandra => "workers: 1",
    };
    format!(
        "study: peers\n\
         question: What does an operation cost?\n\
         target: {{null: {{}}}}\n\
         workload: {{use: standard1, mix: {{{kind}: 1}}, consistency: LOCAL_ONE}}\n\
         data: {data}\n\
         procedure: {{fixed: {{{point}}}}}\n\
         window: {{warmup: 3s, measure: {seconds}s}}\n\
         client: {{{client}, release_quantum: {quantum}}}\n\
         verify: {{reads: none, sample: 0}}\n"
    )
}

/// Returns the study that reads the rows of latte. The study reads the keys from the table.
pub fn of_latte_table(seconds: u64) -> String {
    format!(
        "study: peers\n\
         question: What does a read of another tool's row cost?\n\
         target: {{null: {{}}}}\n\
         workload:\n  \
           table: {LATTE_KEYSPACE}.standard1\n  \
           keys: {{count: 100k, rate: 20k}}\n  \
           consistency: LOCAL_ONE\n\
         procedure: {{fixed: {{threads: {IN_FLIGHT}}}}}\n\
         window: {{warmup: 3s, measure: {seconds}s}}\n\
         client: {{workers: 1}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_says_what_the_case_is() {
        let case = Case {
            place: PeerServer::Null,
            is_read: true,
            load: Load::Rate(50_000),
        };
        let study = of_case(case, "50us", 20);
        for part in [
            "mix: {read: 1}",
            "fixed: {rate: 50000}",
            "measure: 20s",
            "cpus: [0]",
            // cassay refuses to read rows unless the study states that they exist.
            "data: {present: 200000, settle: none}",
        ] {
            assert!(study.contains(part), "{part} is not in\n{study}");
        }
    }
}
