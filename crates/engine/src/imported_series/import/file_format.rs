//! Guesses the format of a file that cannot be read as a series, and returns a hint that explains
//! how to get a readable file.

use foreign::FileKind;
use std::io::Read;
use std::path::Path;

const HEAD_BYTES: u64 = 4096;

const READ: &str = "cassay reads `esxtop -b`, and Prometheus's text format with times \
                    (`name{label=\"x\"} value milliseconds`) or a folder of scrapes \
                    (`curl -s HOST:9100/metrics > 1.prom`)";

const MACHINE: &str = "cassay records CPU, memory, disks and network of the nodes' machines itself \
                       (`probes.hosts`). For other values, write scrapes of node_exporter during a \
                       run: `mkdir scrapes; while sleep 1; do curl -s HOST:9100/metrics > \
                       scrapes/$(date +%s).prom; done`";

/// Command that turns a table with times in its first column into samples. Numbers may have decimal
/// commas if commas do not separate cells.
macro_rules! table_command {
    ($separator:literal) => {
        concat!(
            "if its first column has seconds since 1970, this command creates a file that cassay \
             can import: `awk -F'",
            $separator,
            "' '{gsub(/\"/, \"\")} NR==1 {split($0, name, FS); next} {for (i=2; i<=NF; i++) \
             {sub(/,/, \".\", $i); gsub(/[^A-Za-z0-9_]/, \"_\", name[i]); printf \"table_%s %s \
             %.0f\\n\", name[i], $i, $1*1000}}' FILE > samples.prom`"
        )
    };
}

/// Command that turns an answer of the Prometheus HTTP API into samples.
const PROMETHEUS: &str = "this command creates a file that cassay can import: `jq -r \
     '.data.result[] | (.metric.__name__ // \"query\") as $n | (.metric | del(.__name__) | \
     to_entries | map(.key + \"=\" + (.value | @json)) | join(\",\")) as $l | .values[] | \
     \"\\($n){\\($l)} \\(.[1]) \\(.[0] * 1000 | floor)\"' FILE > samples.prom`";

/// Command that turns an export of VictoriaMetrics into samples.
const VICTORIA: &str = "this command creates a file that cassay can import: `jq -r \
     '(.metric.__name__ // \"query\") as $n | (.metric | del(.__name__) | to_entries | map(.key + \
     \"=\" + (.value | @json)) | join(\",\")) as $l | [.values, .timestamps] | transpose[] | \
     \"\\($n){\\($l)} \\(.[0]) \\(.[1])\"' FILE > samples.prom`";

/// Command that turns the JSON of Graphite into samples.
const GRAPHITE: &str = "this command creates a file that cassay can import: `jq -r '.[] | \
     (.target | gsub(\"[^A-Za-z0-9_]\"; \"_\")) as $n | .datapoints[] | select(.[0] != null) | \
     \"graphite_\\($n) \\(.[0]) \\(.[1] * 1000)\"' FILE > samples.prom`";

struct Format {
    is: fn(&Head<'_>) -> bool,
    called: &'static str,
    /// Sentence that explains how to get a file that cassay can read. The word `FILE` in the
    /// sentence represents the path.
    way: &'static str,
}

/// First bytes of a file, also as text, and the first line of that text.
struct Head<'a> {
    bytes: &'a [u8],
    text: &'a str,
    first: &'a str,
}

impl Head<'_> {
    fn begins(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.first.starts_with(word))
    }

    fn has(&self, part: &str) -> bool {
        self.text.contains(part)
    }

    fn is_json(&self) -> bool {
        self.text.starts_with(['{', '['])
    }

    /// Returns true if the first line contains cells separated by commas, semicolons or tabs.
    fn has_cells(&self) -> bool {
        self.first.contains([',', ';', '\t']) && !self.first.contains('{')
    }
}

const FORMATS: &[Format] = &[
    Format {
        is: |head| head.bytes.starts_with(&[0x1F, 0x8B]),
        called: "a gzip archive",
        way: "`gunzip -k FILE` unpacks it",
    },
    Format {
        is: |head| head.bytes.starts_with(b"PK\x03\x04"),
        called: "a zip archive, or a file of a spreadsheet",
        way: "`unzip FILE` unpacks it; a spreadsheet saves its table as CSV",
    },
    Format {
        is: |head| head.bytes.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]),
        called: "a Zstandard archive",
        way: "`unzstd FILE` unpacks it",
    },
    Format {
        is: |head| head.bytes.starts_with(b"\xFD7zXZ") || head.bytes.starts_with(b"BZh"),
        called: "an archive of xz or bzip2",
        way: "`unxz -k FILE` or `bunzip2 -k FILE` unpacks it",
    },
    Format {
        is: |head| matches!(head.bytes, [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]),
        called: "UTF-16 text, as Windows writes it",
        way: "`iconv -f UTF-16 -t UTF-8 FILE > utf8.csv` converts it to UTF-8",
    },
    Format {
        is: |head| matches!(head.bytes, [0x96, 0xD5, ..] | [0xD5, 0x96, ..]),
        called: "a binary file of sar",
        way: "`LC_ALL=C sadf -d -U FILE -- -u` writes it as a table with seconds since 1970",
    },
    Format {
        is: |head| head.is_json() && head.has("\"resultType\":\"vector\""),
        called: "a response of Prometheus's HTTP API with a single point in time",
        way: "request a range: `curl -sG HOST:9090/api/v1/query_range -d query=up -d start=BEGIN \
             -d end=END -d step=5`, with times in seconds since 1970",
    },
    Format {
        is: |head| head.is_json() && head.has("\"resultType\""),
        called: "a JSON response of Prometheus's HTTP API",
        way: PROMETHEUS,
    },
    Format {
        is: |head| head.is_json() && head.has("\"__name__\""),
        called: "an export of samples as JSON lines, as VictoriaMetrics writes it",
        way: VICTORIA,
    },
    Format {
        is: |head| head.is_json() && head.has("\"datapoints\""),
        called: "Graphite's JSON",
        way: GRAPHITE,
    },
    Format {
        is: |head| head.is_json() && head.has("\"sysstat\""),
        called: "JSON of sar, iostat or mpstat",
        way: MACHINE,
    },
    Format {
        is: |head| head.is_json(),
        called: "JSON",
        way: "",
    },
    Format {
        is: |head| head.text.starts_with('<') && head.text.to_ascii_lowercase().contains("<html"),
        called: "a web page",
        way: "",
    },
    Format {
        is: |head| head.text.starts_with('<'),
        called: "XML",
        way: "",
    },
    Format {
        is: |head| head.begins(&["\"(PDH-TSV", "(PDH-TSV"]),
        called: "a table of Windows performance counters, separated by tabs",
        way: "`relog FILE -f CSV -o counters.csv`, on Windows, creates a file that cassay can \
             import",
    },
    Format {
        is: |head| head.begins(&["AAA,", "ZZZZ,"]),
        called: "a file of nmon",
        way: MACHINE,
    },
    Format {
        // The other words of this first line depend on the language of the user.
        is: |head| head.begins(&["Linux "]) && head.first.contains(" ("),
        called: "a report of sar, iostat, mpstat or pidstat",
        way: MACHINE,
    },
    Format {
        is: |head| {
            let second = head.text.lines().nth(1).unwrap_or_default();
            let names: Vec<&str> = second.split_whitespace().take(3).collect();
            head.first.contains("----") && matches!(names.as_slice(), ["r", "b", _])
        },
        called: "the output of vmstat",
        way: MACHINE,
    },
    Format {
        is: |head| {
            head.begins(&[
                "\"Dstat",
                "\"pcp-dstat",
                "\"pcp dstat",
                "\"dool",
                "----total-",
                "--total-",
            ]) || head.begins(&["You did not select any stats"])
        },
        called: "the output of dstat",
        way: MACHINE,
    },
    Format {
        is: |head| {
            head.begins(&["#"]) && (head.first.contains("Collectl") || head.has("#Date Time "))
                || head.begins(&["waiting for ", "#<---"])
        },
        called: "the output of collectl",
        way: MACHINE,
    },
    Format {
        is: |head| head.begins(&["top - ", "ATOP - "]),
        called: "screens of top or atop",
        way: MACHINE,
    },
    Format {
        is: |head| head.begins(&["# hostname;interval;timestamp"]),
        called: "a table of `sadf -d`",
        way: "if `-U` wrote the times (seconds since 1970), this command creates a file that \
             cassay can import: `awk -F';' '/^#/ {split($0, name, FS); next} {for (i=4; i<=NF; \
             i++) {sub(/,/, \".\", $i); if ($i ~ /^[0-9.]+$/) {n = name[i]; gsub(/[^A-Za-z0-9_]/, \
             \"_\", n); printf \"sar_%s %s %.0f\\n\", n, $i, $3*1000}}}' FILE > samples.prom`",
    },
    Format {
        is: |head| {
            let mut words = head.first.split(' ');
            let is_name = words.next().is_some_and(|name| !name.contains('{'));
            is_name && words.next().is_some_and(|fields| fields.contains('='))
        },
        called: "InfluxDB's line protocol",
        way: "",
    },
    Format {
        is: |head| head.has_cells() && head.first.contains([';', '\t']),
        called: "a table of another tool (CSV)",
        way: table_command!("[;\\t]"),
    },
    Format {
        is: |head| head.has_cells(),
        called: "a table of another tool (CSV)",
        way: table_command!(","),
    },
];

pub(super) fn hint(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let opened = foreign::open(FileKind::Series, path).ok()?;
    opened.take(HEAD_BYTES).read_to_end(&mut bytes).ok()?;
    let found = like(&bytes)?;
    let file = path.display().to_string();
    let way = match found.way {
        "" => String::new(),
        way => format!("; {}", way.replace("FILE", &yaml::shell_word(&file))),
    };
    Some(format!("the file looks like {}{way}. {READ}", found.called))
}

fn like(bytes: &[u8]) -> Option<&'static Format> {
    let all = String::from_utf8_lossy(bytes);
    let text = all.trim_start_matches('\u{feff}').trim_start();
    let first = text.lines().next().unwrap_or_default();
    let head = Head { bytes, text, first };
    // The reader of `esxtop` files has already reported the error.
    if first.contains("(PDH-CSV") {
        return None;
    }
    FORMATS.iter().find(|format| (format.is)(&head))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row contains the text at the beginning of a file, and a part of the name of the
    /// expected format.
    const TEXTS: &[(&str, &str)] = &[
        ("cpu,host=a usage=3.2 1700000000000000000\n", "InfluxDB"),
        (
            "Linux 6.1.0 (db1) \t11/29/2026 \t_x86_64_\t(8 CPU)\n",
            "sar",
        ),
        (
            "Linux 6.1.0 (db1) \t29.11.2026 \t_x86_64_\t(8 CPU)\n",
            "sar",
        ),
        (
            "Linux 6.1.0 (db1) \t29/11/26 \t_x86_64_\t(8 processeurs)\n",
            "sar",
        ),
        (
            "procs -----------memory----------\n r  b   swpd   free\n",
            "vmstat",
        ),
        (
            "procs -----------Speicher---------- ---Swap--\n r  b   swpd   frei\n",
            "vmstat",
        ),
        (
            "--procs-- -----mémoire-----\n   r    b         swpd\n",
            "vmstat",
        ),
        ("AAA,progname,nmon\n", "nmon"),
        ("\"pcp-dstat 5.3.7 CSV Output\"\n", "dstat"),
        ("\"dool 1.3.2 CSV output\"\n", "dstat"),
        ("----total-usage---- -dsk/total-\nusr sys\n", "dstat"),
        (
            "################\n# Collectl:   V4.3.1-1\n#Date Time [CPU]User%\n",
            "collectl",
        ),
        (
            "#<--------CPU--------><----------Disks----------->\n",
            "collectl",
        ),
        ("top - 10:00:00 up 3 days\n", "top"),
        ("# hostname;interval;timestamp;CPU;%user\n", "sadf -d"),
        ("{\"sysstat\": {\"hosts\": []}}", "JSON of sar"),
        (
            "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\"}}",
            "a JSON response of Prometheus's HTTP API",
        ),
        (
            "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\"}}",
            "a single point in time",
        ),
        (
            "{\"metric\":{\"__name__\":\"up\"},\"values\":[1]}",
            "VictoriaMetrics",
        ),
        (
            "[{\"target\":\"a.b\",\"datapoints\":[[1,1700000000]]}]",
            "Graphite",
        ),
        ("{\"a\": 1}", "JSON"),
        ("<!doctype html><html>", "web page"),
        ("<?xml version=\"1.0\"?>", "XML"),
        ("\"(PDH-TSV 4.0)\"\t\"x\"", "performance counters"),
        ("time;cpu\n1700000000;3\n", "CSV"),
        ("\u{feff}time,cpu\n", "CSV"),
    ];

    #[test]
    fn files_of_other_tools_are_recognised_in_any_language() {
        for (head, part) in TEXTS {
            let called = like(head.as_bytes()).map_or("", |format| format.called);
            assert!(called.contains(*part), "{head}: {called}");
        }
        for (head, part) in [
            (&[0x1F, 0x8B, 8][..], "gzip"),
            (b"PK\x03\x04", "zip"),
            (&[0x28, 0xB5, 0x2F, 0xFD], "Zstandard"),
            (b"BZh9", "bzip2"),
            (b"\xFD7zXZ\0", "xz"),
            (&[0xFF, 0xFE, b'a', 0], "UTF-16"),
            (&[0x96, 0xD5, 0x75, 0x21], "sar"),
        ] {
            let called = like(head).map_or("", |format| format.called);
            assert!(called.contains(part), "{part}: {called}");
        }
        for own in [
            "up{a=\"b\"} 1 1700000000000\n",
            "# HELP up x\n",
            "up 1\n",
            "\"(PDH-CSV 4.0) (UTC)(0)\",\"a\"\n",
            "",
        ] {
            assert!(like(own.as_bytes()).is_none(), "{own}");
        }
    }

    /// The test runs the commands if the programs in them exist on this machine.
    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "the child ends at the end of its short input"
    )]
    fn the_commands_of_hints_make_files_that_can_be_imported() {
        let folder = tempfile::tempdir().unwrap();
        for (program, text, expected) in [
            (
                "jq",
                "{\"data\":{\"resultType\":\"matrix\",\"result\":[{\"metric\":\
                 {\"__name__\":\"up\",\"instance\":\"db1\"},\"values\":[[1700000000.5,\"1\"]]}]}}",
                "up{instance=\"db1\"} 1 1700000000500",
            ),
            (
                "jq",
                "{\"metric\":{\"__name__\":\"up\",\"a\":\"b\"},\"values\":[1],\
                 \"timestamps\":[1700000000000]}",
                "up{a=\"b\"} 1 1700000000000",
            ),
            (
                "jq",
                "[{\"target\":\"a.b\",\"datapoints\":[[2.5,1700000000],[null,1700000001]]}]",
                "graphite_a_b 2.5 1700000000000",
            ),
            (
                "awk",
                "time;cpu %\n1700000000;3,5\n",
                "table_cpu__ 3.5 1700000000000",
            ),
            (
                "awk",
                "\"t\",\"cpu\"\n1700000000,\"3.5\"\n",
                "table_cpu 3.5 1700000000000",
            ),
            (
                "awk",
                "# hostname;interval;timestamp;CPU;%user\n\
                 db1;1;1700000000;-1;3.25\n",
                "sar__user 3.25 1700000000000",
            ),
        ] {
            let path = folder.path().join("f");
            std::fs::write(&path, text).unwrap();
            let said = hint(&path).unwrap();
            let begin = said.find(&format!("{program} -")).unwrap();
            let end = said.find(" > samples.prom").unwrap();
            let shell = std::process::Command::new("sh").arg("-c").arg(&said[begin..end]).output();
            let output = shell.unwrap();
            if output.status.code() == Some(127) {
                continue;
            }
            let written = String::from_utf8(output.stdout).unwrap();
            let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(written.trim(), expected, "{said}\n{complaint}");
            let samples = folder.path().join("samples.prom");
            std::fs::write(&samples, &written).unwrap();
            super::super::read_prometheus(&samples, &[]).unwrap();
        }
    }
}
