//! A question about how data is stored, asked of data that no compressor makes smaller.

use crate::settings::{Settings, Study, Workload};
use crate::work::{Work, names};
use std::collections::BTreeSet;
use target::Target;

/// Rows that LZ4 leaves larger than this share of their size hardly compress. Random values of 100
/// bytes are left with three quarters, for the keys compress; values of real tables with a half or
/// less.
const COMPRESSED_SHARE_MAX: f64 = 0.66;

/// Says that variants differ in how much they store, or how, while rows hardly compress; none: they
/// do not, or all rows do.
pub fn warning(study: &Study, works: &[Work]) -> Option<String> {
    let keys: Vec<String> =
        differing(study, works).into_iter().map(|key| format!("`{key}`")).collect();
    if keys.is_empty() {
        return None;
    }
    let mut variants = study.variants.iter().zip(works);
    let (workload, share) = variants.find_map(|(variant, work)| {
        // What an import writes is what its command line says; a null target stores nothing.
        let is_null = matches!(variant.settings.target, Target::Null(_));
        let is_asked = work.step.is_none() && !is_null;
        let share = is_asked.then(|| work.program.compressed_share())?;
        (share > COMPRESSED_SHARE_MAX).then_some((&variant.settings.workload, share.min(1.0)))
    })?;
    Some(format!(
        "variants differ in {}, and the rows of {} hardly compress (LZ4 leaves {:.0} % of them): \
         what is found of disk space and of compressors holds for random bytes; {}",
        keys.join(", "),
        workload.file.as_ref().unwrap_or(&workload.name),
        share * 100.0,
        remedy(workload)
    ))
}

/// Keys in which variants differ and that decide about bytes on disk.
fn differing(study: &Study, works: &[Work]) -> BTreeSet<&'static str> {
    let all = || study.variants.iter().map(|variant| &variant.settings).zip(works);
    let Some((first, first_work)) = all().next() else {
        return BTreeSet::new();
    };
    let keys = |(settings, work): (&Settings, &Work)| {
        let [one, other] = [&first.keyspace, &settings.keyspace];
        let is_same_workload = first.workload.name == settings.workload.name;
        let row_bytes = [first_work, work].map(|work| work.program.row_bytes_estimate());
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

/// What makes rows that compress.
fn remedy(workload: &Workload) -> &'static str {
    let has_parameter = |name: &str| {
        let known = names().iter().find(|named| named.name == name);
        known.is_some_and(|named| named.params.iter().any(|(param, _, _)| *param == "compressible"))
    };
    if workload.file.is_some() {
        "`compressible=0.7` in its texts and blobs leaves about a third"
    } else if has_parameter(&workload.name) {
        "`workload: {params: {compressible: 0.7}}` leaves about a third"
    } else {
        "`kv` and `standard1` have a parameter `compressible`"
    }
}
