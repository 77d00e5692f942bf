//! Which functions there are, and why some of NoSQLBench's are not.

use super::recipe::{Call, Fault};

const NAMES: &[&str] = &[
    "Add",
    "AddHashRange",
    "AlphaNumericString",
    "ByteBufferSizedHashed",
    "CharBufImage",
    "Clamp",
    "Combinations",
    "CqlVector",
    "Div",
    "FixedValue",
    "FixedValues",
    "Hash",
    "HashInterval",
    "HashRange",
    "HashRangeScaled",
    "HashedFileExtractToString",
    "HashedFloatVectors",
    "HashedLineToString",
    "HashedLoremExtractToString",
    "Identity",
    "ListSized",
    "ListSizedHashed",
    "LongToLocalDateDays",
    "Mod",
    "Mul",
    "Normal",
    "NormalizeCqlVector",
    "Save",
    "SaveString",
    "StartingEpochMillis",
    "Template",
    "ToCqlVector",
    "ToDate",
    "ToDouble",
    "ToEpochTimeUUID",
    "ToFinestTimeUUID",
    "ToFloat",
    "ToHashedUUID",
    "ToInt",
    "ToJavaInstant",
    "ToLong",
    "ToString",
    "Uniform",
    "WeightedLongs",
    "WeightedStrings",
    "Zipf",
];

/// Functions that cannot be here, and why.
const REFUSED: &[(&[&str], &str)] = &[
    (
        &["ElapsedNanoTime", "CurrentEpochMillis", "ThreadNum"],
        "gives the clock or the thread, not a function of the cycle: no run could be repeated or \
         verified; use a function of the cycle, such as Add or StartingEpochMillis",
    ),
    (
        &[
            "Load",
            "LoadString",
            "LoadLong",
            "LoadInteger",
            "LoadDouble",
        ],
        "reads what another function saved in the thread, so that the value depends on the order \
         in which bindings are made; write the recipe of the saved value in its place",
    ),
    (
        &["Expr"],
        "is a script in a language of its own; write the calculation with Add, Mul, Div and Mod",
    ),
    (
        &[
            "HdfFileToFloatList",
            "HdfFileToIntArray",
            "FVecReader",
            "IVecReader",
            "HdfDatasetToVectors",
        ],
        "reads a file of vectors, which is not read here; HashedFloatVectors makes vectors",
    ),
];

/// An error for a function that is not here.
pub(crate) fn check(call: &Call) -> Result<(), Fault> {
    let name = call.name.as_str();
    if NAMES.contains(&name) {
        return Ok(());
    }
    let refused = REFUSED.iter().find(|(names, _)| names.contains(&name));
    let mut fault = match refused {
        Some((_, why)) => Fault::new(format!("function {name} {why}"), call.at),
        None => Fault::new(format!("function {name} is not known here"), call.at),
    };
    if refused.is_none() {
        fault.hint = yaml::did_you_mean(name, NAMES.iter().copied());
    }
    Err(fault)
}
