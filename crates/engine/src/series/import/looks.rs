//! Guesses the format of a file that cannot be read as a series, and says how to get a readable
//! one.

use foreign::FileKind;
use std::io::Read;
use std::path::Path;

/// Number of bytes to look at.
const HEAD_BYTES: u64 = 4096;

/// Formats that cassay reads.
const READ: &str = "cassay reads `esxtop -b`, and Prometheus's text format with times \
                    (`name{label=\"x\"} value milliseconds`) or a folder of scrapes \
                    (`curl -s HOST:9100/metrics > 1.prom`)";

/// Returns a hint for an error. `None` if the format is unknown.
pub(super) fn hint(path: &Path) -> Option<String> {
    let mut head = Vec::new();
    let opened = foreign::open(FileKind::Series, path).ok()?;
    opened.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    let what = like(&head)?;
    Some(format!("it looks like {what}; {READ}"))
}

/// Names the format by the first bytes.
fn like(head: &[u8]) -> Option<&'static str> {
    if head.starts_with(&[0x1f, 0x8b]) {
        return Some("a gzip archive (`gunzip` unpacks it)");
    }
    if head.starts_with(b"PK\x03\x04") {
        return Some("a zip archive (`unzip` unpacks it)");
    }
    if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return Some("a Zstandard archive (`unzstd` unpacks it)");
    }
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
        return Some("UTF-16, as Windows writes it (save it as UTF-8)");
    }
    let all = String::from_utf8_lossy(head);
    let text = all.trim_start_matches('\u{feff}').trim_start();
    let first = text.lines().next().unwrap_or_default();
    if text.starts_with(['{', '[']) {
        return Some(if text.contains("\"resultType\"") {
            "an answer of Prometheus's HTTP API, in JSON"
        } else if text.contains("\"__name__\"") {
            "an export of samples in JSON lines, as VictoriaMetrics has it"
        } else if text.contains("\"datapoints\"") {
            "Graphite's JSON"
        } else {
            "JSON"
        });
    }
    if text.starts_with('<') {
        return Some(if text.to_ascii_lowercase().contains("<html") {
            "a web page"
        } else {
            "XML"
        });
    }
    let begins = |word: &str| first.starts_with(word);
    let is_line = first.split(' ').nth(1).is_some_and(|fields| fields.contains('='));
    let cells = first.split([',', ';', '\t']).count();
    if first.contains("(PDH-CSV") {
        None
    } else if begins("AAA,") {
        Some("a file of nmon")
    } else if begins("Linux ") && first.contains("CPU)") {
        Some("a report of sar, iostat, mpstat or pidstat")
    } else if begins("procs ") {
        Some("the output of vmstat")
    } else if begins("\"Dstat") || begins("\"pcp-dstat") {
        Some("CSV of dstat")
    } else if begins("#") && first.contains("Collectl") {
        Some("the output of collectl")
    } else if is_line && first.split(' ').next().is_some_and(|name| !name.contains('{')) {
        Some("InfluxDB's line protocol")
    } else if cells > 1 && !first.contains('{') {
        Some("a table of another tool (CSV)")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_tools_are_recognised_by_how_they_begin() {
        for (head, part) in [
            ("cpu,host=a usage=3.2 1700000000000000000\n", "InfluxDB"),
            (
                "Linux 6.1.0 (db1) \t11/29/2026 \t_x86_64_\t(8 CPU)\n",
                "sar",
            ),
            ("procs -----------memory----------\n", "vmstat"),
            ("AAA,progname,nmon\n", "nmon"),
            (
                "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\"}}",
                "HTTP API",
            ),
            (
                "{\"metric\":{\"__name__\":\"up\"},\"values\":[1]}",
                "VictoriaMetrics",
            ),
            (
                "[{\"target\":\"a.b\",\"datapoints\":[[1,1700000000]]}]",
                "Graphite",
            ),
            ("<!doctype html><html>", "web page"),
            ("time;cpu\n1700000000;3\n", "CSV"),
            ("\u{feff}time,cpu\n", "CSV"),
        ] {
            let what = like(head.as_bytes()).unwrap_or_default();
            assert!(what.contains(part), "{head}: {what}");
        }
        assert!(like(&[0x1f, 0x8b, 8]).is_some_and(|what| what.contains("gzip")));
        for own in [
            "up{a=\"b\"} 1 1700000000000\n",
            "# HELP up x\n",
            "up 1\n",
            "\"(PDH-CSV 4.0) (UTC)(0)\",\"a\"\n",
            "",
        ] {
            assert_eq!(like(own.as_bytes()), None, "{own}");
        }
    }
}
