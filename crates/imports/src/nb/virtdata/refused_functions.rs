//! Reasons why cassay does not have some of NoSQLBench's functions.

use super::parse_recipe::{Call, RecipeMistake};
use super::tables::TABLES;

/// Functions that cassay cannot provide. Each group of names has the reason.
const REFUSED: &[(&[&str], &str)] = &[
    (
        &["ThreadNum", "ThreadNumToInteger", "ThreadNumToLong"],
        "returns the thread, which is not a function of the cycle: cassay could not repeat or \
         verify the run; use Mod of the cycle",
    ),
    (
        &["Expr", "MVELExpr"],
        "is a script in another language; write the calculation with Add, Mul, Div and Mod",
    ),
    (
        &["Shuffle"],
        "uses NoSQLBench's tables of shift registers, which are not available; Hash and Mod also \
         scatter cycles, but do not return each value exactly once",
    ),
    (
        &["ToDateTime", "ToJodaDateTime", "ToJodaInstant"],
        "returns a date of a library that the driver does not bind; write ToDate() or \
         ToJavaInstant()",
    ),
    (
        &[
            "HdfFileToFloatList",
            "HdfFileToFloatArray",
            "HdfFileToInt",
            "HdfFileToIntArray",
            "HdfFileToIntList",
            "HdfFileToLongArray",
            "HdfFileToLongList",
            "FVecReader",
            "IVecReader",
            "BVecToFloatReader",
            "HdfDatasetToVectors",
            "DNN_euclidean_v",
            "BaseVectors",
            "QueryVectors",
            "NeighborIndices",
            "NeighborDistances",
        ],
        "reads a file of vectors, which cassay does not support; write \
         HashedFloatVectors(DIMENSIONS), which generates vectors, or choose a scenario without \
         this function (nb FILE SCENARIO)",
    ),
    (
        &[
            "HashedLineToStringStringMap",
            "HashedLinesToKeyValueString",
            "DirectoryLines",
        ],
        "reads files in a way that cassay does not support; write HashedLineToString or \
         HashedLineToStringList, which draw lines of a file",
    ),
];

/// Returns the reason why cassay cannot provide a function. Returns `None` for all other functions.
pub(super) fn refused(name: &str) -> Option<&'static str> {
    let found = REFUSED.iter().find(|(names, _)| names.contains(&name));
    found.map(|(_, why)| *why)
}

pub(super) fn unknown(call: &Call) -> RecipeMistake {
    let name = call.name.as_str();
    if let Some(why) = refused(name) {
        return RecipeMistake::new(format!("function {name} {why}"), call.at);
    }
    let mut fault = RecipeMistake::new(format!("function {name} is unknown"), call.at);
    // The hint only suggests similar names, because a list of all functions would not help.
    let all = TABLES.into_iter().flatten().flat_map(|row| row.names);
    fault.hint = yaml::near_name(name, all.copied());
    fault
}
