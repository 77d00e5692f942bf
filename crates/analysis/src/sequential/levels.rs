//! Table of the nominal level of each look, for an overall level of all looks together.
//!
//! The table comes from a simulation of 24 million paths of standard normal differences. For each
//! path, the simulation takes the least p value of Student's t over the looks, with one look per
//! block. The relative error is at most 0.5 % for levels of 1 % and more, and at most 2 % for
//! levels of 0.1 %. The test `the_levels_are_those_of_a_simulation` repeats the simulation.

/// Minimum number of blocks before the first look. The interval of two blocks is far too wide.
pub const BLOCKS_LEAST: usize = 3;
/// Maximum number of blocks at the last look. If a comparison needs more blocks, the machine is too
/// noisy.
pub const BLOCKS_MOST: usize = MAX[MAX.len() - 1];

/// Overall levels, in the order of the table.
const OVERALL: [f64; 6] = [0.3, 0.1, 0.05, 0.03, 0.01, 0.001];
/// Numbers of blocks at the first look, one for each row. Any other number uses the row of the next
/// lower number, which is stricter.
const MIN: [usize; 5] = [3, 4, 5, 6, 8];
/// Numbers of blocks at the last look, one for each column. Any other number uses the column of the
/// next higher number, which is stricter.
const MAX: [usize; 8] = [6, 8, 10, 12, 16, 20, 30, 50];
/// Slope of ln(nominal) over ln(overall) below the smallest overall level of the table. Between the
/// two smallest levels of the table, the slope is 1.03 to 1.11, so this value errs on the strict
/// side.
const SLOPE_BELOW: f64 = 1.2;

/// Nominal levels, by overall level, first look and last look. With a single look, the nominal
/// level equals the overall level.
const NOMINAL: [[[f64; 8]; 5]; 6] = [
    // 0.3
    [
        [
            0.1492, 0.1204, 0.1039, 0.093_08, 0.079_42, 0.071, 0.059_06, 0.0482,
        ],
        [
            0.1863, 0.1446, 0.1222, 0.1079, 0.090_45, 0.079_94, 0.065_43, 0.052_58,
        ],
        [
            0.2318, 0.171, 0.141, 0.1228, 0.1011, 0.0884, 0.071_27, 0.056_49,
        ],
        [
            0.3, 0.2017, 0.1614, 0.1382, 0.1117, 0.096_67, 0.076_81, 0.060_14,
        ],
        [0.3, 0.3, 0.2118, 0.1731, 0.134, 0.1134, 0.087_52, 0.066_91],
    ],
    // 0.1
    [
        [
            0.041_09, 0.031_98, 0.027_02, 0.023_85, 0.019_99, 0.017_66, 0.014_46, 0.011_63,
        ],
        [
            0.054_02, 0.039_71, 0.032_53, 0.028_18, 0.023_07, 0.020_08, 0.016_11, 0.012_72,
        ],
        [
            0.071_45, 0.048_71, 0.038_58, 0.032_75, 0.026_18, 0.022_47, 0.017_68, 0.013_73,
        ],
        [
            0.1, 0.059_96, 0.045_48, 0.037_72, 0.029_39, 0.024_89, 0.019_22, 0.014_69,
        ],
        [
            0.1, 0.1, 0.063_86, 0.049_63, 0.036_43, 0.029_92, 0.022_28, 0.016_53,
        ],
    ],
    // 0.05
    [
        [
            0.018_76, 0.014_37, 0.012_04, 0.010_57, 0.008_79, 0.007_734, 0.006_284, 0.005_028,
        ],
        [
            0.025_12, 0.018_02, 0.014_57, 0.012_51, 0.010_14, 0.008_786, 0.006_99, 0.005_481,
        ],
        [
            0.034_19, 0.022_47, 0.017_46, 0.014_64, 0.011_55, 0.009_855, 0.007_685, 0.005_918,
        ],
        [
            0.05, 0.028_21, 0.020_85, 0.017_03, 0.013_05, 0.010_96, 0.008_372, 0.006_336,
        ],
        [
            0.05, 0.05, 0.030_27, 0.022_95, 0.016_42, 0.013_32, 0.009_755, 0.007_148,
        ],
    ],
    // 0.03
    [
        [
            0.010_65, 0.008_088, 0.006_74, 0.005_886, 0.004_868, 0.004_274, 0.003_461, 0.002_758,
        ],
        [
            0.0144, 0.010_16, 0.008_165, 0.006_977, 0.005_609, 0.004_841, 0.003_836, 0.003,
        ],
        [
            0.019_95, 0.012_78, 0.009_833, 0.008_198, 0.006_405, 0.005_436, 0.004_216, 0.003_236,
        ],
        [
            0.03, 0.016_24, 0.011_83, 0.009_577, 0.007_264, 0.006_053, 0.004_594, 0.003_466,
        ],
        [
            0.03, 0.03, 0.017_54, 0.013_08, 0.009_215, 0.007_408, 0.005_366, 0.003_908,
        ],
    ],
    // 0.01
    [
        [
            0.003_244, 0.002_42, 0.001_994, 0.001_728, 0.001_419, 0.001_237, 0.000_994, 0.000_786,
        ],
        [
            0.004_423, 0.003_047, 0.002_408, 0.002_04, 0.001_626, 0.001_396, 0.001_096, 0.000_849,
        ],
        [
            0.006_302, 0.003_876, 0.002_921, 0.002_399, 0.001_853, 0.001_565, 0.0012, 0.000_911,
        ],
        [
            0.01, 0.005_03, 0.003_554, 0.002_83, 0.002_107, 0.001_744, 0.001_307, 0.000_975,
        ],
        [
            0.01, 0.01, 0.005_461, 0.003_956, 0.002_701, 0.002_143, 0.001_53, 0.001_099,
        ],
    ],
    // 0.001
    [
        [
            0.000_289, 0.000_209, 0.000_169, 0.000_145, 0.000_117, 0.000_101, 0.000_08, 0.000_063,
        ],
        [
            0.000_396, 0.000_261, 0.000_202, 0.000_169, 0.000_133, 0.000_113, 0.000_088, 0.000_067,
        ],
        [
            0.000_583, 0.000_333, 0.000_245, 0.000_199, 0.000_15, 0.000_126, 0.000_095, 0.000_072,
        ],
        [
            0.001, 0.000_442, 0.0003, 0.000_235, 0.000_17, 0.000_139, 0.000_104, 0.000_076,
        ],
        [
            0.001, 0.001, 0.000_484, 0.000_336, 0.000_22, 0.000_171, 0.000_121, 0.000_086,
        ],
    ],
];

/// Returns the nominal level of each look, so that all looks from `min` to `max` together have the
/// `overall` level. Above [`BLOCKS_MOST`] blocks, the function uses the last column.
pub fn nominal_of(min: usize, max: usize, overall: f64) -> f64 {
    interpolated(&curve(min, max), overall)
}

/// Returns the overall level of all looks if each look has the `nominal` level. This is the inverse
/// of [`nominal_of`].
pub fn overall_of(min: usize, max: usize, nominal: f64) -> f64 {
    let swapped = curve(min, max).map(|(overall, nominal)| (nominal, overall));
    interpolated(&swapped, nominal).min(1.0)
}

/// Returns pairs of overall and nominal level in falling order, starting at (1, 1).
fn curve(min: usize, max: usize) -> [(f64, f64); OVERALL.len() + 2] {
    let row = MIN.partition_point(|first| *first <= min).saturating_sub(1);
    let column = MAX.partition_point(|last| *last < max).min(MAX.len() - 1);
    let mut curve = [(1.0, 1.0); OVERALL.len() + 2];
    for (at, overall) in OVERALL.into_iter().enumerate() {
        let nominal = if min >= max {
            overall
        } else {
            NOMINAL[at][row][column]
        };
        curve[at + 1] = (overall, nominal);
    }
    let (overall, nominal) = curve[OVERALL.len()];
    let slope = if min >= max { 1.0 } else { SLOPE_BELOW };
    let far = 1e-12_f64;
    curve[OVERALL.len() + 1] = (overall * far, nominal * far.powf(slope));
    curve
}

/// Interpolates linearly between points, on logarithmic scales.
fn interpolated(curve: &[(f64, f64)], at: f64) -> f64 {
    let after = curve.partition_point(|(x, _)| *x > at);
    let (from, to) = (after.saturating_sub(1), after.clamp(1, curve.len() - 1));
    let [(x0, y0), (x1, y1)] = [curve[from.min(to - 1)], curve[to]];
    let share = (at.max(f64::MIN_POSITIVE) / x0).ln() / (x1 / x0).ln();
    (y0.ln() + share * (y1 / y0).ln()).exp()
}
