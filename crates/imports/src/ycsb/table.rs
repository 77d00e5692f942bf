//! Reads the properties of the table, of its records, and of the distribution of the records.

use super::RECORDS_MAX;
use super::command::{Command, Phase};
use super::histogram::{self, LengthLimits};
use super::key_distribution::{Chooser, Records, Zipfian};
use super::operations::{INSERT, KINDS, Length, MODIFY, READ, SCAN, Statements, Table, UPDATE};
use super::properties::Properties;
use crate::import_result::ReadFile;
use workload::mix::Mix;
use workload::random::lane;

/// Maximum size of a row, in bytes. Cassandra's commit log with its default segment size accepts
/// slightly more.
const ROW_BYTES_MAX: u64 = 16_000_000;
const SCAN_ROWS_MAX: u64 = i32::MAX as u64;
/// Number of the random stream from which the kinds of operations are drawn.
const MIX: u64 = 31;

/// Returns the table without its statements. The caller adds the statements later.
pub(super) fn table(
    command: &Command,
    properties: &mut Properties,
    fields: usize,
    prefix: &str,
    (seed, read): (u64, ReadFile),
) -> Table {
    let records = properties.count("recordcount", 0, 0..=RECORDS_MAX);
    let first = properties.count("insertstart", 0, 0..=RECORDS_MAX);
    let loaded = properties.count(
        "insertcount",
        records.saturating_sub(first),
        1..=RECORDS_MAX,
    );
    if records == 0 && (command.phase == Phase::Run || properties.text("insertcount").is_none()) {
        if properties.text("recordcount").is_none_or(|text| text == "0") {
            let hint = "-p recordcount=1000000, or -P and a file that sets it".to_owned();
            let message = "recordcount, the number of records in the table, is missing".to_owned();
            properties.wrong("recordcount", message, Some(hint));
        }
    } else if loaded == 0 || (command.phase == Phase::Run && records < first + loaded) {
        let message = format!(
            "recordcount is {records}, but insertstart is {first} and insertcount {loaded}: the \
             table needs at least one record, and no record after recordcount"
        );
        properties.wrong("recordcount", message, None);
    }
    let operations = properties.count("operationcount", 1000, 0..=RECORDS_MAX);
    let weights = weights(command.phase, properties);
    let (field_length, field_lengths) = field_lengths(properties, fields, read);
    let integrity = integrity(properties, &field_length).then(|| prefix.to_owned());
    let (scan_length, scan_lengths) = scan_lengths(properties);
    let loaded = loaded.max(1);
    let of_table = Records {
        first,
        loaded,
        last: records.max(first + loaded) - 1,
    };
    let chooser = chooser(properties, of_table, operations, weights[INSERT]);
    let mut by_name: Vec<usize> = (0..fields).collect();
    by_name.sort_by_key(|field| format!("{prefix}{field}").to_lowercase());
    Table {
        seed,
        hashed: properties.text("insertorder").is_none_or(|order| order == "hashed"),
        padding: properties.count("zeropadding", 1, 0..=1000) as usize,
        fields,
        field_lengths,
        field_length,
        scan_lengths,
        scan_length,
        first,
        loaded,
        records: records.max(first + loaded),
        mix: Mix::new(&weights, lane(seed, MIX)),
        chooser,
        statements: Statements::default(),
        binds: Vec::new(),
        integrity,
        by_name,
        ranges: None,
    }
}

/// Returns the weights of the mix. A load only inserts, so a command line for a load is valid even
/// if it sets all parts of the mix to 0.
fn weights(phase: Phase, properties: &mut Properties) -> [f64; KINDS] {
    let mut weights = [0.0; KINDS];
    for (kind, key, default) in [
        (READ, "readproportion", 0.95),
        (UPDATE, "updateproportion", 0.05),
        (INSERT, "insertproportion", 0.0),
        (SCAN, "scanproportion", 0.0),
        (MODIFY, "readmodifywriteproportion", 0.0),
    ] {
        weights[kind] = properties.number(key, default, 0.0..=1e9);
    }
    if weights.iter().sum::<f64>() <= 0.0 {
        weights[READ] = 1.0;
        if phase == Phase::Load {
            return weights;
        }
        let message = "no kind of operation has a proportion above 0".to_owned();
        properties.wrong("readproportion", message, None);
    }
    weights
}

fn chooser(properties: &mut Properties, records: Records, operations: u64, insert: f64) -> Chooser {
    let words = [
        "uniform",
        "zipfian",
        "latest",
        "sequential",
        "exponential",
        "hotspot",
    ];
    match properties.word("requestdistribution", &words) {
        "uniform" => Chooser::Uniform,
        "sequential" => Chooser::Sequential,
        "latest" => Chooser::Latest(Zipfian::new(records.last)),
        "zipfian" => {
            let added = (operations as f64 * insert * 2.0) as u64;
            Chooser::scrambled(records.loaded.saturating_add(added).saturating_add(1))
        }
        "exponential" => {
            let percentile = properties.number("exponential.percentile", 95.0, 0.001..=99.999);
            let share = properties.number("exponential.frac", 0.857_142_857_1, 1e-9..=1.0);
            // YCSB spreads the draws over `recordcount`, regardless of the number of this client's
            // first record.
            let range = (records.last + 1) as f64 * share;
            let gamma = -libm::log(1.0 - percentile / 100.0) / range;
            Chooser::Exponential { gamma }
        }
        _ => Chooser::Hotspot {
            records: (records.loaded as f64
                * properties.number("hotspotdatafraction", 0.2, 0.0..=1.0))
                as u64,
            share: properties.number("hotspotopnfraction", 0.8, 0.0..=1.0),
        },
    }
}

/// Returns true if values are those of `dataintegrity`. This setting requires that all fields have
/// the same length.
fn integrity(properties: &mut Properties, length: &Length) -> bool {
    let asked = properties.flag("dataintegrity", false);
    if asked && !matches!(length, Length::Constant) {
        let message = "dataintegrity requires fieldlengthdistribution=constant".to_owned();
        properties.wrong("dataintegrity", message, None);
    }
    asked
}

fn field_lengths(
    properties: &mut Properties,
    fields: usize,
    read: ReadFile,
) -> (Length, LengthLimits) {
    let most = ROW_BYTES_MAX / fields as u64;
    let length = properties.count("fieldlength", 100, 1..=most);
    let least = properties.count("minfieldlength", 1, 1..=length);
    let up_to = |least: u64| LengthLimits {
        least,
        most: length,
    };
    let words = ["constant", "uniform", "zipfian", "histogram"];
    match properties.word("fieldlengthdistribution", &words) {
        "constant" => (Length::Constant, up_to(length)),
        "uniform" => (Length::Uniform, up_to(least)),
        "histogram" => match histogram::read(properties, most, read) {
            Some(buckets) => {
                let limits = buckets.limits();
                (Length::Histogram(buckets.into()), limits)
            }
            None => (Length::Constant, up_to(length)),
        },
        _ => {
            let zipfian = Zipfian::new(length - least + 1);
            (Length::Zipfian(zipfian), up_to(least))
        }
    }
}

fn scan_lengths(properties: &mut Properties) -> (Length, LengthLimits) {
    let most = properties.count("maxscanlength", 1000, 1..=SCAN_ROWS_MAX);
    let least = properties.count("minscanlength", 1, 1..=most);
    let length = match properties.word("scanlengthdistribution", &["uniform", "zipfian"]) {
        "uniform" => Length::Uniform,
        _ => Length::Zipfian(Zipfian::new(most - least + 1)),
    };
    (length, LengthLimits { least, most })
}
