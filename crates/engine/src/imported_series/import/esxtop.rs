//! Reads the output of `esxtop -b` (or `resxtop -b`) of a VMware host. The output is CSV in the
//! format of the Windows Performance Data Helper.
//!
//! The first line names the columns. It begins with `(PDH-CSV 4.0) (UTC)(0)`: the format, the zone
//! of the times, and the minutes by which UTC is ahead of that zone. Thousands of names
//! `\\host\Object(instance)\Counter` follow. Each other line begins with a time, such as
//! `05/15/2018 02:13:06`. All cells are quoted. If the tool was killed, the last line is
//! incomplete, which is not an error.
//!
//! Windows, and spreadsheets that saved such a file, may write the file in the language of the
//! user. Cells are then separated by `;` or a tab, numbers have a decimal comma, and dates are like
//! `15.05.2018` or `15/05/2018`. The format has no thousands separators, so a comma within a number
//! is always a decimal comma.

use super::{Filter, Point, Room, Series, SeriesFile, first_names, hole_note, with_hint};
use anyhow::{Context, Result, bail, ensure};
use foreign::{FileKind, Line, LineEnd, Source, TextLines};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

/// Maximum length of a line, in bytes. The names of a host with many VMs take several MB.
const LINE_BYTES_MAX: usize = 16 << 20;

/// Text at the beginning of the first line. A file may contain several recordings, one after the
/// other.
const BEGINS: &str = "(PDH-CSV";

/// Default columns: the CPU time that the VMs used or waited for, the memory, the disk adapters and
/// the network. With these columns, the import omits the many groups of the hypervisor itself.
const USUAL: [&str; 19] = [
    r"\physical cpu(_total)\% util time",
    r"\physical cpu(_total)\% processor time",
    r"\group cpu(*)\% used",
    r"\group cpu(*)\% ready",
    r"\group cpu(*)\% costop",
    r"\group cpu(*)\% co-stop",
    r"\group cpu(*)\% swap wait",
    r"\group cpu(*)\% max limited",
    r"\memory\free mbytes",
    r"\memory\swap used mbytes",
    r"\group memory(*)\swapped mbytes",
    r"\group memory(*)\memctl mbytes",
    r"\physical disk adapter(*)\average*millisec/command",
    r"\physical disk adapter(*)\reads/sec",
    r"\physical disk adapter(*)\writes/sec",
    r"\physical disk adapter(*)\mbytes",
    r"\network port(*)\mbits",
    r"\network port(*)\% outbound packets dropped",
    r"\network port(*)\% received packets dropped",
];

/// Groups of the hypervisor itself. The hypervisor also has groups for its processes, such as
/// `hostd.2098765`.
const SYSTEM_GROUPS: [&str; 8] = [
    "idle", "system", "helper", "drivers", "ft", "vmotion", "init", "host",
];

/// Minimum number of digits after the name of a hypervisor's process. ESXi numbers its worlds from
/// 32,768 on. If the name of a VM ends with a host number, an address or a version, the number has
/// fewer digits.
const WORLD_DIGITS_MIN: usize = 5;

/// Object that exists only for VMs.
const OF_VMS: &str = "Virtual Disk";

/// Object for all worlds of a group. Only the worlds of virtual CPUs show that the group is a VM.
const WORLDS: &str = "Vcpu";

#[derive(Clone, Copy, Default)]
struct TimeForm {
    /// Minutes by which UTC is ahead of the times in the file.
    ahead_minutes: i64,
    /// True if a date with slashes begins with the day.
    has_day_first: bool,
}

struct Column {
    index: usize,
    series: Series,
}

/// Reads the columns of an `esxtop -b` file that match at least one pattern in `columns`. A pattern
/// consists of pieces, separated by `*`. A name matches if it contains the pieces in the same
/// order. If `columns` is empty, reads the default columns.
///
/// # Errors
/// The file cannot be read, is not of this format, or has a line that differs from the others. It
/// is also an error if no column matches.
pub fn read_esxtop(path: &Path, columns: &[String]) -> Result<SeriesFile> {
    let file = foreign::open(FileKind::Series, path)
        .with_context(|| format!("read {}", path.display()))?;
    let found = read(file, columns).with_context(|| format!("{}", path.display()));
    found.map_err(|error| with_hint(path, error))
}

fn read(file: impl Source, wanted: &[String]) -> Result<SeriesFile> {
    let mut lines = TextLines::new(file, LINE_BYTES_MAX);
    let mut table = Table::default();
    while let Some(line) = lines.next_line()? {
        if let LineEnd::Hole(hole) = &line.end {
            table.notes.push(hole_note(line.number, hole));
        }
        if !line.follows_hole && !matches!(line.end, LineEnd::Hole(_)) {
            table.line(&line, wanted)?;
        }
    }
    table.imported()
}

#[derive(Default)]
struct Table {
    /// Cells of the first line.
    names: csv::ByteRecord,
    separator: u8,
    form: TimeForm,
    columns: Vec<Column>,
    room: Room,
    /// Line number and number of cells of an incomplete line, which must be the last line of a
    /// recording.
    half: Option<(u64, usize)>,
    notes: Vec<String>,
}

impl Table {
    /// Adds the rows of a line. Each line is parsed separately, so a missing quote cannot join the
    /// rows of two lines. Old Macs end a row by a carriage return, so that one line contains all
    /// rows.
    fn line(&mut self, line: &Line<'_>, wanted: &[String]) -> Result<()> {
        if self.names.is_empty() {
            self.separator = separator(line.bytes);
        }
        let mut builder = csv::ReaderBuilder::new();
        builder.has_headers(false).flexible(true).delimiter(self.separator);
        let mut reader = builder.from_reader(line.bytes);
        let mut row = csv::ByteRecord::new();
        while reader.read_byte_record(&mut row)? {
            let is_last =
                line.end == LineEnd::File && reader.position().byte() as usize >= line.bytes.len();
            let number = line.number + row.position().map_or(0, |at| at.line() - 1);
            let begins = String::from_utf8_lossy(row.get(0).unwrap_or_default());
            if self.names.is_empty() {
                self.begin(&row, wanted)?;
            } else if begins.trim_start_matches('\u{feff}').starts_with(BEGINS) {
                ensure!(
                    row == self.names,
                    "line {number} begins a second recording with other columns; hint: write the \
                     lines from line {number} on to a separate file"
                );
                self.half = None;
            } else if is_last
                && self.half.is_none()
                && !line.bytes.ends_with(b"\"")
                && !line.bytes.ends_with(b"\r")
            {
                // The value of the last cell may be truncated.
                self.half = Some((number, row.len()));
            } else {
                self.row(&row, number)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, names: &csv::ByteRecord, wanted: &[String]) -> Result<()> {
        self.names = names.clone();
        let names: Vec<String> =
            names.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect();
        self.form = TimeForm {
            ahead_minutes: utc_ahead(names.first().map_or("", String::as_str))?,
            // Languages with this separator, such as French, never write the month first.
            has_day_first: self.separator == b';',
        };
        let (columns, left_out) = choose(&names, wanted)?;
        self.columns = columns;
        if !left_out.is_empty() {
            self.notes.push(format!(
                "cassay left out {} groups that look like processes of the hypervisor: {}; \
                 to import a VM among them, name its column (--column, or `columns` in a study)",
                left_out.len(),
                first_names(&left_out)
            ));
        }
        Ok(())
    }

    fn row(&mut self, row: &csv::ByteRecord, number: u64) -> Result<()> {
        if let Some((line, cells)) = self.half {
            bail!(
                "line {line} has {cells} cells, but the first line has {}",
                self.names.len()
            );
        }
        if row.len() < self.names.len() {
            self.half = Some((number, row.len()));
            return Ok(());
        }
        take(row, self.form, &mut self.columns, &mut self.room)
            .with_context(|| format!("line {number}"))
    }

    fn imported(mut self) -> Result<SeriesFile> {
        ensure!(!self.names.is_empty(), "is empty");
        if let Some((line, _)) = self.half {
            let note = format!("line {line} is truncated, and cassay left it out");
            self.notes.push(note);
        }
        let series = self.columns.into_iter().map(|column| column.series);
        Ok(SeriesFile {
            series: series.filter(|series| !series.points.is_empty()).collect(),
            notes: self.notes,
        })
    }
}

/// Returns the separator of cells. It is the candidate that occurs first in the first line, because
/// no candidate occurs within the first cell.
fn separator(line: &[u8]) -> u8 {
    let candidates = line.iter().filter(|byte| b",;\t".contains(byte));
    candidates.copied().next().unwrap_or(b',')
}

/// Parses a number with a decimal point or a decimal comma.
fn number(text: &str) -> Result<f64, std::num::ParseFloatError> {
    match text.split_once(',') {
        Some((whole, rest)) if !text.contains('.') => format!("{whole}.{rest}").parse(),
        _ => text.parse(),
    }
}

fn take(
    row: &csv::ByteRecord,
    form: TimeForm,
    columns: &mut [Column],
    room: &mut Room,
) -> Result<()> {
    let cell = |index: usize| String::from_utf8_lossy(row.get(index).unwrap_or_default());
    let unix_ns = time(&cell(0), form)?;
    for column in columns {
        let cell = cell(column.index);
        let text = cell.trim();
        // A counter has no value for the times when its virtual machine was off.
        if text.is_empty() {
            continue;
        }
        let value = number(text).with_context(|| {
            let Series { place, name, .. } = &column.series;
            format!("{name} of {place} is {text:?}, which is not a number")
        })?;
        if value.is_finite() {
            room.point()?;
            column.series.points.push(Point { unix_ns, value });
        }
    }
    Ok(())
}

/// Returns the minutes by which UTC is ahead of the times in the file. The first cell contains
/// them, for example `(PDH-CSV 4.0) (UTC)(0)`.
fn utc_ahead(first: &str) -> Result<i64> {
    // Some editors and shells write a byte order mark before the first line.
    let first = first.trim_start_matches('\u{feff}');
    let rest = first.strip_prefix("(PDH-CSV 4.0)").with_context(|| {
        let shown: String = first.chars().take(40).collect();
        format!(
            "is not the output of `esxtop -b`: the first line begins with {shown:?} instead of \
             \"(PDH-CSV 4.0)\""
        )
    })?;
    let minutes = rest.trim_end().rsplit_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    match minutes.map(str::parse) {
        // No time zone differs from UTC by more than a day.
        Some(Ok(minutes)) if (-1440..=1440).contains(&minutes) => Ok(minutes),
        _ => bail!("{first:?} does not end with the offset from UTC in minutes, such as `(0)`"),
    }
}

fn time(text: &str, form: TimeForm) -> Result<u64> {
    let trimmed = text.trim();
    // Dates with dots begin with the day.
    let format = if trimmed.get(..10).is_some_and(|date| date.contains('.')) {
        "%d.%m.%Y %H:%M:%S%.f"
    } else if form.has_day_first {
        "%d/%m/%Y %H:%M:%S%.f"
    } else {
        "%m/%d/%Y %H:%M:%S%.f"
    };
    let local = DateTime::strptime(format, trimmed).with_context(|| {
        format!(
            "{text:?} is not a time such as 05/15/2018 02:13:06; hint: if a spreadsheet saved this \
             file, import the file that the tool wrote"
        )
    })?;
    let at = TimeZone::UTC
        .to_timestamp(local)
        .context("the time is outside the supported range")?;
    let ns = at.as_nanosecond() + i128::from(form.ahead_minutes) * 60_000_000_000;
    u64::try_from(ns).ok().with_context(|| format!("{text:?} is before 1970"))
}

/// Returns the columns to keep, and the groups that are left out because of their names.
fn choose<'n>(names: &'n [String], wanted: &[String]) -> Result<(Vec<Column>, BTreeSet<&'n str>)> {
    let usual = wanted.is_empty();
    let filter = if usual {
        Filter::new(&USUAL)
    } else {
        Filter::new(wanted)
    };
    let parts = names.iter().filter_map(|name| Parts::parse(name));
    let of_vms = parts.filter(Parts::is_of_vm);
    let vms: HashSet<&str> = of_vms.map(|parts| parts.name()).collect();
    let (mut columns, mut left_out) = (Vec::new(), BTreeSet::new());
    for (index, name) in names.iter().enumerate().skip(1) {
        let Some(parts) = Parts::parse(name).filter(|_| filter.wants(name)) else {
            continue;
        };
        if usual && parts.is_system_group() && !vms.contains(parts.name()) {
            // The other system groups need no note, because their fixed names do not belong to VMs.
            if parts.has_world_number() {
                left_out.insert(parts.name());
            }
            continue;
        }
        columns.push(Column {
            index,
            series: parts.series(),
        });
        Room::default().series(columns.len())?;
    }
    let (required, hint) = if usual {
        let hint = "; hint: name the required columns in the language of the file, with --column \
                    '\\cpu(*)\\%' or `columns` in a study";
        ("a common one".to_owned(), hint)
    } else {
        (format!("called {}", wanted.join(" or ")), "")
    };
    ensure!(
        !columns.is_empty(),
        "none of the {} columns of the file is {required}; the first columns are {:?}{hint}",
        names.len() - 1,
        names.iter().skip(1).take(3).collect::<Vec<_>>()
    );
    Ok((columns, left_out))
}

/// The parts of a column's name, which has the form `\\host\Object(instance)\Counter`. The instance
/// may be missing.
struct Parts<'a> {
    host: &'a str,
    object: &'a str,
    instance: &'a str,
    counter: &'a str,
}

impl<'a> Parts<'a> {
    fn parse(name: &'a str) -> Option<Parts<'a>> {
        let (host, rest) = name.strip_prefix(r"\\")?.split_once('\\')?;
        let (object, counter) = rest.rsplit_once('\\')?;
        let (object, instance) = match object.strip_suffix(')').and_then(|o| o.split_once('(')) {
            Some(parts) => parts,
            None => (object, ""),
        };
        Some(Parts {
            host,
            object,
            instance,
            counter,
        })
    }

    /// Returns the name of the group or the VM that an instance contains. `28868:cassandra-1`
    /// contains the name of a group. `28868:cassandra-1:28869:vmx` and `cassandra-1:scsi0:0`
    /// contain the name of a VM.
    fn name(&self) -> &'a str {
        let has_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let rest = match self.instance.split_once(':') {
            Some((number, rest)) if has_number(number) => rest,
            _ => self.instance,
        };
        if self.object.starts_with("Group ") {
            return rest;
        }
        rest.split_once(':').map_or(rest, |(name, _)| name)
    }

    /// Returns true if the name looks like that of a group of the hypervisor itself, such as
    /// `1:system` or `2098:hostd.2098765`.
    fn is_system_group(&self) -> bool {
        let is_named = SYSTEM_GROUPS.contains(&self.name());
        self.object.starts_with("Group ") && (is_named || self.has_world_number())
    }

    /// Returns true if the name ends with the number of a world, as the name of a hypervisor's
    /// process does.
    fn has_world_number(&self) -> bool {
        self.name().rsplit_once('.').is_some_and(|(_, number)| {
            number.len() >= WORLD_DIGITS_MIN && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    }

    /// Returns true if the column shows that its group is a VM: it belongs to a virtual disk, or to
    /// a world `vcpu-0` or `vmx-vcpu-0`.
    fn is_of_vm(&self) -> bool {
        let is_vcpu = |world: &str| {
            let number = world.rsplit_once("vcpu-").map(|(_, number)| number);
            number.is_some_and(|number| number.parse::<u32>().is_ok())
        };
        let is_world = self.object == WORLDS && self.instance.split(':').skip(2).any(is_vcpu);
        is_world || self.object == OF_VMS
    }

    fn series(&self) -> Series {
        let place = match self.instance {
            "" => self.host.to_string(),
            instance => format!("{}/{instance}", self.host),
        };
        Series {
            name: format!("esxtop.{}.{}", self.object, self.counter),
            place,
            unit: unit(self.counter),
            points: Vec::new(),
        }
    }
}

/// Returns the unit that the name of a counter contains, or `count` if it contains none.
fn unit(counter: &str) -> &'static str {
    let per_second = counter.ends_with("/sec");
    // In some languages, the percent sign follows the name, as in `Prozessorzeit (%)`.
    if counter.starts_with('%') || counter.ends_with("(%)") {
        "%"
    } else if counter.contains("MilliSec") {
        "ms"
    } else if counter.contains("MBytes") && per_second {
        "MB/s"
    } else if counter.contains("MBytes") {
        "MB"
    } else if counter.contains("MBits") {
        "Mbit/s"
    } else if per_second {
        "/s"
    } else {
        "count"
    }
}

#[cfg(test)]
mod tests;
