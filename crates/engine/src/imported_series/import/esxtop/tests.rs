//! Tests files in the formats that the tool, Windows and spreadsheets write.

use super::*;

const HEADER: &str = concat!(
    r#""(PDH-CSV 4.0) (UTC)(0)","\\esx1\Memory\Free MBytes","#,
    r#""\\esx1\Group Cpu(28868:cassandra-1)\% Ready","#,
    r#""\\esx1\Group Cpu(2098:hostd.2098765)\% Ready","#,
    r#""\\esx1\Group Cpu(1:system)\% Ready","#,
    r#""\\esx1\Physical Disk Adapter(vmhba0)\Average Driver MilliSec/Command","#,
    r#""\\esx1\Network Port(vSwitch0:33554433:Management)\MBits Received/sec","#,
    r#""\\esx1\Vcpu(28868:cassandra-1:28869:vmx)\% Used""#,
    "\n"
);

fn imported(text: &str, wanted: &[&str]) -> Result<Vec<Series>> {
    let wanted: Vec<String> = wanted.iter().map(|one| one.to_string()).collect();
    Ok(read(text.as_bytes(), &wanted)?.series)
}

const ONE: &str = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\h\\Group Cpu(1:db1)\\% Used\"\n";

fn row(second: u32, value: &str) -> String {
    format!("\"05/15/2018 02:13:{second:02}\",\"{value}\"\n")
}

/// An earlier version took the value 12 of a truncated cell, and read on behind a missing quote to
/// the next quote.
#[test]
fn a_truncated_row_is_left_out_and_said() {
    let good = row(1, "1") + &row(2, "2");
    let zeros = "\0".repeat(999);
    let cut = row(3, "12").trim_end_matches("\"\n").to_owned();
    for (rows, points, notes) in [
        (good.clone(), 2, 0),
        (good.trim_end().to_owned(), 2, 0),
        (good.clone() + &cut, 2, 1),
        (good.clone() + "\"05/15", 2, 1),
        (format!("{good}{cut}{zeros}\n{good}"), 4, 1),
        (good.replace("2\"\n", "2\n") + &row(3, "3"), 3, 0),
        (format!("{good}{ONE}{good}"), 4, 0),
        (format!("{good}\"05/15\n{ONE}{good}"), 4, 0),
        (good.replace('\n', "\r"), 2, 0),
    ] {
        let read = read(format!("{ONE}{rows}").as_bytes(), &[]).unwrap();
        assert_eq!(read.series[0].points.len(), points, "{rows:?}");
        assert_eq!(read.notes.len(), notes, "{rows:?}: {:?}", read.notes);
    }
    let other = ONE.replace("db1", "db2");
    let error = imported(&format!("{ONE}{good}{other}{good}"), &[]).unwrap_err().to_string();
    assert!(
        error.contains("line 4 begins a second recording"),
        "{error}"
    );
}

/// A quote that is missing in a large file must not join its rows in memory.
#[test]
fn a_line_without_an_end_is_refused() {
    let text = format!("{ONE}\"{}", "x".repeat(LINE_BYTES_MAX));
    let error = format!("{:#}", imported(&text, &[]).unwrap_err());
    assert!(error.contains("line 2 is longer than"), "{error}");
}

/// An earlier version did not say which groups it left out, and mistook a process with several
/// worlds for a VM.
#[test]
fn groups_left_out_are_named_and_worlds_are_no_vms() {
    let names = [
        "Group Cpu(1:db1)",
        "Group Cpu(2:db.20261202)",
        "Group Cpu(3:hostd.2098765)",
        "Vcpu(3:hostd.2098765:2098770:hostd-worker)",
        "Group Cpu(4:vm.12345)",
        "Vcpu(4:vm.12345:2098771:vmx-vcpu-0:vm.12345)",
        "Group Cpu(5:idle)",
    ];
    let mut text = "\"(PDH-CSV 4.0) (UTC)(0)\"".to_owned();
    names.iter().for_each(|name| text += &format!(",\"\\\\h\\{name}\\% Used\""));
    text += "\n\"05/15/2018 02:13:06\"";
    text += &",\"1\"".repeat(names.len());
    let read = read(format!("{text}\n").as_bytes(), &[]).unwrap();
    let places: Vec<&str> = read.series.iter().map(|one| one.place.as_str()).collect();
    assert_eq!(places, ["h/1:db1", "h/4:vm.12345"]);
    let note = &read.notes[0];
    assert!(
        note.contains("left out 2 groups") && note.contains(": db.20261202, hostd.2098765; "),
        "{note}"
    );
}

#[test]
fn usual_columns_are_read_with_times_places_and_units() {
    let rows = "\"05/15/2018 02:13:06\",\"1000\",\"1.5\",\"9\",\"9\",\"0.25\",\" \",\"3\"\n\
                \"05/15/2018 02:13:11\",\"990\",\"2.5\",\"9\",\"9\",\"0.5\",\"8\",\"3\"\n\
                \"05/15/2018 02:13:16\",\"98";
    let series = imported(&format!("{HEADER}{rows}"), &[]).unwrap();
    let seen: Vec<_> = series
        .iter()
        .map(|one| {
            let values: Vec<f64> = one.points.iter().map(|point| point.value).collect();
            (one.name.as_str(), one.place.as_str(), one.unit, values)
        })
        .collect();
    let ready = "esxtop.Group Cpu.% Ready";
    let latency = "esxtop.Physical Disk Adapter.Average Driver MilliSec/Command";
    let port = "esx1/vSwitch0:33554433:Management";
    assert_eq!(
        seen,
        [
            (
                "esxtop.Memory.Free MBytes",
                "esx1",
                "MB",
                vec![1000.0, 990.0]
            ),
            (ready, "esx1/28868:cassandra-1", "%", vec![1.5, 2.5]),
            (latency, "esx1/vmhba0", "ms", vec![0.25, 0.5]),
            (
                "esxtop.Network Port.MBits Received/sec",
                port,
                "Mbit/s",
                vec![8.0]
            ),
        ]
    );
    // This number is the output of `date -u -d '2018-05-15 02:13:06' +%s`.
    assert_eq!(series[0].points[0].unix_ns, 1_526_350_386_000_000_000);
}

/// An earlier version mistook files in the user's language for tables of another tool, or refused
/// them because of the format of their numbers.
#[test]
fn a_file_in_another_language_has_the_same_series() {
    let own = imported(
        &format!(
            "{HEADER}\"05/04/2018 02:13:06\",\"1000\",\"1.5\",\"9\",\"9\",\"0.25\",\"8\",\"3\"\n"
        ),
        &[],
    )
    .unwrap();
    let cells = [
        "04.05.2018 02:13:06",
        "1000",
        "1,5",
        "9",
        "9",
        "0,25",
        "8",
        "3",
    ];
    for separator in [";", "\t"] {
        for quote in ["\"", ""] {
            let header = HEADER.trim_end().replace("\",\"", &format!("{quote}{separator}{quote}"));
            let header = format!("{quote}{}{quote}", header.trim_matches('"'));
            let row = cells.map(|cell| format!("{quote}{cell}{quote}")).join(separator);
            let series = imported(&format!("{header}\r\n{row}\r\n"), &[]).unwrap();
            assert_eq!(series, own, "{header}");
            if separator == ";" {
                let french = row.replace("04.05.2018", "04/05/2018");
                let series = imported(&format!("{header}\r\n{french}\r\n"), &[]).unwrap();
                assert_eq!(series, own, "{header}");
            }
        }
    }
    let quoted = cells.map(|cell| format!("\"{cell}\"")).join(",");
    assert_eq!(imported(&format!("{HEADER}{quoted}\n"), &[]).unwrap(), own);
    let german = "\"(PDH-CSV 4.0) (Mitteleuropäische Zeit)(-60)\",\
                  \"\\\\PC\\Prozessor(_Total)\\Prozessorzeit (%)\"\n\
                  \"05/15/2018 02:13:06.250\",\"12,75\"\n";
    let series = imported(german, &["prozessorzeit"]).unwrap();
    assert_eq!((series[0].unit, series[0].points[0].value), ("%", 12.75));
    let error = imported(german, &[]).unwrap_err().to_string();
    assert!(
        error.contains("in the language of the file, with --column")
            && error.contains("Prozessorzeit"),
        "{error}"
    );
    let saved = format!("{HEADER}{}\n", quoted.replace("04.05.", "15/05/"));
    let error = format!("{:#}", imported(&saved, &[]).unwrap_err());
    assert!(
        error.contains("if a spreadsheet saved this file"),
        "{error}"
    );
}

/// An earlier version treated VMs named after a host, an address or a version as processes of the
/// hypervisor.
#[test]
fn vms_whose_names_end_in_digits_are_not_hypervisor_processes() {
    let column = |object: &str| format!(",\"\\\\esx1\\{object}\\% Used\"");
    let groups = [
        "Group Cpu(1:db.1)",
        "Group Cpu(2:192.0.2.5)",
        "Group Cpu(3:db-5.0)",
        "Group Cpu(4:db.20261)",
        "Group Cpu(5:vpxa.2099001)",
        "Group Cpu(6:idle)",
    ];
    let mut text = "\"(PDH-CSV 4.0) (UTC)(0)\"".to_owned();
    groups.iter().for_each(|group| text += &column(group));
    text += &column("Virtual Disk(db.20261:scsi0:0)");
    text += "\n\"05/15/2018 02:13:06\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\"\n";
    let series = imported(&text, &[]).unwrap();
    let places: Vec<&str> = series.iter().map(|one| one.place.as_str()).collect();
    assert_eq!(
        places,
        [
            "esx1/1:db.1",
            "esx1/2:192.0.2.5",
            "esx1/3:db-5.0",
            "esx1/4:db.20261"
        ]
    );
}

#[test]
fn columns_that_are_asked_for_are_read_and_no_others() {
    let row = "\"05/15/2018 02:13:06.250\",\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\"\n";
    let text = format!("{HEADER}{row}");
    let series = imported(&text, &["vcpu(*cassandra", "1:SYSTEM"]).unwrap();
    let names: Vec<&str> = series.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["esxtop.Group Cpu.% Ready", "esxtop.Vcpu.% Used"]);
    assert_eq!(series[0].points[0].unix_ns % 1_000_000_000, 250_000_000);
    let error = imported(&text, &["nothing"]).unwrap_err().to_string();
    assert!(
        error.contains("none of the 7 columns of the file is called nothing"),
        "{error}"
    );
}

#[test]
fn times_of_another_zone_are_moved_to_utc() {
    assert_eq!(
        utc_ahead("(PDH-CSV 4.0) (Pacific Standard Time)(480)").unwrap(),
        480
    );
    assert_eq!(utc_ahead("\u{feff}(PDH-CSV 4.0) (UTC)(0)").unwrap(), 0);
    let form = |ahead_minutes| TimeForm {
        ahead_minutes,
        has_day_first: false,
    };
    let utc = time("05/15/2018 02:13:06", form(0)).unwrap();
    let pacific = time("05/15/2018 02:13:06", form(480)).unwrap();
    assert_eq!(pacific - utc, 8 * 3_600_000_000_000);
}

#[test]
fn a_broken_file_is_refused_with_the_line_and_the_cell() {
    let good = "\"05/15/2018 02:13:06\",\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\"\n";
    for (text, words) in [
        (String::new(), "is empty"),
        ("time,a\n".to_string(), "is not the output of `esxtop -b`"),
        (
            "\"(PDH-CSV 4.0) (UTC)\",\"x\"\n".to_string(),
            "the offset from UTC in minutes",
        ),
        (
            format!("{HEADER}\"x\"\n{good}"),
            "line 2 has 1 cells, but the first line has 8",
        ),
        (
            format!("{HEADER}{}", good.replace("05/15", "15/05")),
            "line 2: ",
        ),
        (
            format!("{HEADER}{good}{}", good.replace("\"1\"", "\"many\"")),
            "line 3: esxtop.Memory.Free MBytes of esx1 is \"many\"",
        ),
    ] {
        let error = format!("{:#}", imported(&text, &[]).unwrap_err());
        assert!(error.contains(words), "{error}");
    }
    let error = read_esxtop(Path::new("/nonexistent"), &[]).unwrap_err().to_string();
    assert!(error.contains("read /nonexistent"), "{error}");
}

proptest::proptest! {
    #[test]
    fn no_text_panics(rows in "[ -~\n]{0,200}") {
        // The reader may accept or refuse the text, but must not panic.
        let _ = imported(&rows, &[]);
        let _ = imported(&format!("{HEADER}{rows}"), &[]);
    }
}
