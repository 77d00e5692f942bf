//! Writes the tables, which contain medians and ranges per case and tool. Each server has a table
//! between separate markers in the document, so a measurement of one server keeps the results of
//! the other server.

use super::tools::{Run, Tool};
use super::{CASES, Case, PeerServer, install};
use anyhow::{Context, Result};
use clap::ValueEnum;
use xtask::process;

/// Result of a run, with its tool and its case.
pub struct Cell {
    /// Tool that ran.
    pub tool: Tool,
    /// Case of the run.
    pub case: Case,
    pub run: Run,
}

/// Formats a run as a line of progress output.
pub fn line(tool: Tool, case: Case, run: &Run) -> String {
    format!(
        "{:?}, {}: {} {:.0} op/s, {:.2} µs CPU/op, {:.0} MB, p50 {:.3} ms, p99 {:.3} ms",
        case.place,
        case.name(),
        tool.name(),
        run.ops_per_s,
        run.cpu_us_per_op,
        run.peak_mb,
        run.p50_ms,
        run.p99_ms
    )
}

/// Returns the section between the markers of a server. The section contains the table, and
/// describes how the results were measured.
pub fn section(place: PeerServer, cells: &[Cell], seconds: u32, rounds: u32) -> String {
    let title = match place {
        PeerServer::Null => "Null target, client on one core, server on the other",
        PeerServer::Cassandra => "Apache Cassandra, one node, on the same cores as the client",
    };
    let of_place: Vec<&Cell> = cells.iter().filter(|cell| cell.case.place == place).collect();
    let mut text = format!("### {title}\n\n{}\n", rows(&of_place));
    let only = place.name();
    let version = |program: &str, arguments: &[&str]| {
        process::output(program, arguments)
            .map(|text| text.lines().next().unwrap_or_default().to_owned())
            .unwrap_or_else(|_| format!("no {program}"))
    };
    text.push_str(&format!(
        "Median of {rounds} interleaved rounds of {seconds} s, and the range from lowest to \
         highest. Made on {} by\n`cargo xtask peers --only {only} --seconds {seconds} --rounds \
         {rounds}` with latte {} and {},\nand cassandra-stress {} ({}).\nMachine: {}, {} CPUs, \
         {:.0} GB, {}.\n",
        version("date", &["-u", "+%Y-%m-%d"]),
        install::LATTE,
        install::LATTE_SCYLLA,
        install::CASSANDRA_STRESS,
        version("java", &["--version"]),
        proc_field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown CPU".to_owned()),
        version("nproc", &[]),
        proc_field("/proc/meminfo", "MemTotal")
            .and_then(|text| text.split(' ').next()?.parse::<f64>().ok())
            .unwrap_or(0.0)
            * 1024.0
            / 1e9,
        version("uname", &["-sr"]),
    ));
    text
}

/// Returns the value of `name: value` in a file of /proc. Returns `None` if the file lacks it.
fn proc_field(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn rows(cells: &[&Cell]) -> String {
    let mut text = "| work | tool | op/s | CPU µs/op | lag at the server p50 µs | p99 µs | \
                    peak MB | p50 ms | p99 ms | own lag p99 µs |\n\
                    | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for case in CASES {
        for tool in Tool::value_variants().iter().copied() {
            let runs: Vec<Run> = cells
                .iter()
                .filter(|cell| cell.case == case && cell.tool == tool)
                .map(|cell| cell.run)
                .collect();
            if !runs.is_empty() {
                text.push_str(&row(case, tool, &runs));
            }
        }
    }
    text
}

fn row(case: Case, tool: Tool, runs: &[Run]) -> String {
    let column = |of: fn(&Run) -> f64, decimals: usize| {
        let mut values: Vec<f64> = runs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        let median = (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0;
        let show = |value: f64| with_spaces(&format!("{value:.decimals$}"));
        let (low, high) = (values[0], values[values.len() - 1]);
        match runs.len() {
            1 => show(median),
            _ => format!("{} ({} to {})", show(median), show(low), show(high)),
        }
    };
    let is_known = runs.iter().all(|run| run.server_lag_us.is_some());
    let lag = |of: fn(&Run) -> f64| {
        if is_known {
            column(of, 0)
        } else {
            "–".to_owned()
        }
    };
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        case.name(),
        tool.name(),
        column(|run| run.ops_per_s, 0),
        column(|run| run.cpu_us_per_op, 2),
        lag(|run| run.server_lag_us.unwrap_or_default()[0]),
        lag(|run| run.server_lag_us.unwrap_or_default()[1]),
        column(|run| run.peak_mb, 0),
        column(|run| run.p50_ms, 3),
        column(|run| run.p99_ms, 3),
        if runs.iter().all(|run| run.lag_p99_us.is_some()) {
            column(|run| run.lag_p99_us.unwrap_or(0.0), 0)
        } else {
            "–".to_owned()
        },
    )
}

/// Groups the digits before the point by three, as in `1 234 567.8`.
fn with_spaces(number: &str) -> String {
    let (whole, rest) = number.split_at(number.find('.').unwrap_or(number.len()));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped + rest
}

/// Returns `document` with `section` between the markers of `place`.
pub fn replace(document: &str, place: PeerServer, section: &str) -> Result<String> {
    let name = place.name();
    let [begin, end] = ["begin", "end"].map(|edge| format!("<!-- peers-{name}:{edge} -->"));
    let missing = || format!("docs/performance.md must contain {begin}, and {end} after it");
    let (before, rest) = document.split_once(&begin).with_context(missing)?;
    let (_, after) = rest.split_once(&end).with_context(missing)?;
    Ok(format!(
        "{before}{begin}\n\n{}\n\n{end}{after}",
        section.trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_markers_of_its_server_is_replaced() {
        let of_null = "<!-- peers-null:begin -->\nold\n<!-- peers-null:end -->";
        let of_cassandra = of_null.replace("null", "cassandra");
        let document = format!("# T\n\n{of_null}\n\n{of_cassandra}\n\nend\n");
        let replaced = replace(&document, PeerServer::Cassandra, "new\n").unwrap();
        let expected = document.replace(
            "cassandra:begin -->\nold\n",
            "cassandra:begin -->\n\nnew\n\n",
        );
        assert_eq!(replaced, expected);
        assert_eq!(
            replace(&replaced, PeerServer::Cassandra, "new").unwrap(),
            replaced
        );
        assert!(replace(of_null, PeerServer::Cassandra, "new").is_err());
    }

    #[test]
    fn a_row_has_the_median_and_the_range_of_its_runs() {
        let run = |ops_per_s| Run {
            ops_per_s,
            cpu_us_per_op: 2.5,
            peak_mb: 12.0,
            p50_ms: 0.25,
            p99_ms: 1.0,
            lag_p99_us: None,
            server_lag_us: Some([30.4, 99.6]),
        };
        let text = row(
            CASES[0],
            Tool::Latte,
            &[run(1_300_000.0), run(999.0), run(45_000.0)],
        );
        assert!(
            text.starts_with("| writes, 128 in flight | latte 0.29 | 45 000 (999 to 1 300 000) |")
        );
        assert!(text.contains(
            "| 2.50 (2.50 to 2.50) | 30 (30 to 30) | 100 (100 to 100) | 12 (12 to 12) |"
        ));
    }
}
