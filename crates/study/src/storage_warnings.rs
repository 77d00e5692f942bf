//! Warns of problems in studies of storage. Examples are rows that hardly compress, and a
//! compressor that flushes do not use.

use crate::settings::{Settings, Study, Workload};
use std::collections::BTreeSet;
use std::sync::Arc;
use target_spec::Target;
use workload::{Program, names};

/// Ratio of compressed size to original size with LZ4, as a share. Above this share, rows count as
/// incompressible. Rows with random values of 100 bytes compress to three quarters, because keys
/// compress. Values of real tables compress to a half or less.
const COMPRESSED_SHARE_MAX: f64 = 0.66;

/// Compressors that a flush uses only with `flush_compression`. Without this setting, Cassandra
/// flushes with LZ4, because it considers these compressors too slow while memtables wait.
const SLOW: [&str; 2] = ["ZstdCompressor", "DeflateCompressor"];

/// Returns a sentence for each problem. `programs` contains the program of each variant.
pub fn warnings(study: &Study, programs: &[Arc<Program>]) -> Vec<String> {
    let keys = differing(study, programs);
    let said = [
        incompressible(study, programs, &keys),
        flushed_otherwise(study, &keys),
    ];
    said.into_iter().flatten().collect()
}

/// Warns if a study compares compressors, but the flushes of a variant use another compressor.
fn flushed_otherwise(study: &Study, differing: &BTreeSet<&'static str>) -> Option<String> {
    if !differing.contains("keyspace.compression") {
        return None;
    }
    let slow = |settings: &Settings| {
        let local = settings.target.local()?;
        let compression = &settings.keyspace.compression;
        let (_, class) = compression.iter().find(|(key, _)| key == "class")?;
        let slow = SLOW.into_iter().find(|slow| class.ends_with(slow));
        slow.filter(|_| !local.yaml.contains_key("flush_compression"))
    };
    let class = study.variants.iter().find_map(|variant| slow(&variant.settings))?;
    Some(format!(
        "when Cassandra flushes a table with {class}, it compresses the SSTables with LZ4, and \
         uses {class} only when it compacts them. So a short run may measure LZ4. To flush with \
         {class} too, set `target: {{local: {{yaml: {{flush_compression: table}}}}}}`"
    ))
}

/// Warns if variants differ in the amount or the form of stored data although their rows hardly
/// compress. `None` if the variants do not differ, or if all rows compress.
fn incompressible(
    study: &Study,
    programs: &[Arc<Program>],
    differing: &BTreeSet<&'static str>,
) -> Option<String> {
    if differing.is_empty() {
        return None;
    }
    let mut variants = study.variants.iter().zip(programs);
    let (workload, share) = variants.find_map(|(variant, program)| {
        let workload = &variant.settings.workload;
        // Imports and null targets are skipped. An import writes the rows that its command line
        // states, and a null target stores no rows.
        let is_null = matches!(variant.settings.target, Target::Null(_));
        let is_asked = workload.import.is_none() && !is_null;
        let share = is_asked.then(|| program.compressed_share())?;
        (share > COMPRESSED_SHARE_MAX).then_some((workload, share.min(1.0)))
    })?;
    let keys: Vec<String> = differing.iter().map(|key| format!("`{key}`")).collect();
    Some(format!(
        "variants differ in {}, but the rows of {} are hardly compressible: LZ4 compresses them to \
         {:.0} % of their size. Results about disk space and compressors apply only to such data. \
         {}",
        keys.join(", "),
        workload.file.as_ref().unwrap_or(&workload.name),
        share * 100.0,
        remedy(workload)
    ))
}

/// Returns the keys that differ between variants and affect the number of bytes on disk.
fn differing(study: &Study, programs: &[Arc<Program>]) -> BTreeSet<&'static str> {
    let all = || study.variants.iter().map(|variant| &variant.settings).zip(programs);
    let Some((first, first_program)) = all().next() else {
        return BTreeSet::new();
    };
    let keys = |(settings, program): (&Settings, &Arc<Program>)| {
        let [one, other] = [&first.keyspace, &settings.keyspace];
        let is_same_workload = first.workload.name == settings.workload.name;
        let row_bytes = [first_program, program].map(|program| program.row_bytes_estimate());
        [
            ("keyspace.compression", one.compression != other.compression),
            ("keyspace.compaction", one.compaction != other.compaction),
            ("data.load", first.data.load != settings.data.load),
            (
                "workload.params",
                is_same_workload && row_bytes[0] != row_bytes[1],
            ),
        ]
    };
    all()
        .flat_map(keys)
        .filter(|(_, differs)| *differs)
        .map(|(key, _)| key)
        .collect()
}

/// Returns a hint that explains how the workload can write rows that compress.
fn remedy(workload: &Workload) -> &'static str {
    let has_parameter = |name: &str| {
        let known = names().iter().find(|named| named.name == name);
        known.is_some_and(|named| named.params.iter().any(|(param, _, _)| *param == "compressible"))
    };
    if workload.file.is_some() {
        "With `compressible=0.7` in its texts and blobs, LZ4 compresses them to about a third"
    } else if has_parameter(&workload.name) {
        "With `workload: {params: {compressible: 0.7}}`, LZ4 compresses them to about a third"
    } else {
        "The workloads `kv` and `standard1` have a parameter `compressible`"
    }
}
