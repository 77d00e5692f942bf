//! The standard normal distribution by inversion, with a relative accuracy of about 1e-16.
//!
//! The algorithm is PPND16 of M. J. Wichura, "Algorithm AS 241: The percentage points of the normal
//! distribution" (1988). It consists of three rational approximations, chosen by the distance from
//! the middle. The argument is a multiple of 2^-63, so the far tails are exact and no result is
//! ever infinite.

#![allow(
    clippy::excessive_precision,
    reason = "the coefficients are those of the paper, digit for digit"
)]

/// 2^63, the number of different arguments of [`from_bits`].
const STEPS: f64 = 9_223_372_036_854_775_808.0;

/// Returns the standard normal value at probability `(bits + 1/2) / 2^63`. Ignores the top bit. The
/// value is between -9.2 and 9.2, and the function is odd around the middle.
pub fn from_bits(bits: u64) -> f64 {
    const LAST: u64 = (1 << 63) - 1;
    let bits = bits & LAST;
    let upper = bits > LAST / 2;
    let tail = if upper { LAST - bits } else { bits };
    let value = lower_quantile((tail as f64 + 0.5) / STEPS);
    if upper { -value } else { value }
}

/// Returns the quantile of a probability `p` in (0, 1/2].
fn lower_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q >= -0.425 {
        let r = 0.425 * 0.425 - q * q;
        return q * polynomial(&MIDDLE_OVER, r) / polynomial(&MIDDLE_UNDER, r);
    }
    let r = libm::sqrt(-libm::log(p));
    if r <= 5.0 {
        -polynomial(&TAIL_OVER, r - 1.6) / polynomial(&TAIL_UNDER, r - 1.6)
    } else {
        -polynomial(&FAR_OVER, r - 5.0) / polynomial(&FAR_UNDER, r - 5.0)
    }
}

/// Evaluates a polynomial by Horner's scheme. The first coefficient is the constant term.
fn polynomial(coefficients: &[f64; 8], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

const MIDDLE_OVER: [f64; 8] = [
    3.387_132_872_796_366_608,
    1.331_416_678_917_843_774_5e2,
    1.971_590_950_306_551_442_7e3,
    1.373_169_376_550_946_112_5e4,
    4.592_195_393_154_987_145_7e4,
    6.726_577_092_700_870_085_3e4,
    3.343_057_558_358_812_810_5e4,
    2.509_080_928_730_122_672_7e3,
];
const MIDDLE_UNDER: [f64; 8] = [
    1.0,
    4.231_333_070_160_091_125_2e1,
    6.871_870_074_920_579_083e2,
    5.394_196_021_424_751_107_7e3,
    2.121_379_430_158_659_586_7e4,
    3.930_789_580_009_271_061e4,
    2.872_908_573_572_194_267_4e4,
    5.226_495_278_852_854_561e3,
];
const TAIL_OVER: [f64; 8] = [
    1.423_437_110_749_683_577_34,
    4.630_337_846_156_545_295_9,
    5.769_497_221_460_691_405_5,
    3.647_848_324_763_204_605_04,
    1.270_458_252_452_368_382_58,
    2.417_807_251_774_506_117_7e-1,
    2.272_384_498_926_918_458_33e-2,
    7.745_450_142_783_414_076_4e-4,
];
const TAIL_UNDER: [f64; 8] = [
    1.0,
    2.053_191_626_637_758_821_87,
    1.676_384_830_183_803_849_4,
    6.897_673_349_851_000_045_5e-1,
    1.481_039_764_274_800_745_9e-1,
    1.519_866_656_361_645_719_66e-2,
    5.475_938_084_995_344_946e-4,
    1.050_750_071_644_416_843_24e-9,
];
const FAR_OVER: [f64; 8] = [
    6.657_904_643_501_103_777_2,
    5.463_784_911_164_114_369_9,
    1.784_826_539_917_291_335_8,
    2.965_605_718_285_048_912_3e-1,
    2.653_218_952_657_612_309_3e-2,
    1.242_660_947_388_078_438_6e-3,
    2.711_555_568_743_487_578_15e-5,
    2.010_334_399_292_288_132_65e-7,
];
const FAR_UNDER: [f64; 8] = [
    1.0,
    5.998_322_065_558_879_376_9e-1,
    1.369_298_809_227_358_053_1e-1,
    1.487_536_129_085_061_485_25e-2,
    7.868_691_311_456_132_591e-4,
    1.846_318_317_510_054_681_8e-5,
    1.421_511_758_316_445_888_7e-7,
    2.044_263_103_389_939_785_64e-15,
];

/// Returns the cumulative standard normal distribution.
#[cfg(test)]
pub fn cumulative(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_inverts_the_cumulative_distribution_everywhere() {
        for exponent in 1..=63 {
            for step in 0..50 {
                let p = (0.5f64).powi(exponent) * (1.0 + f64::from(step) / 50.0) / 2.0;
                let back = cumulative(lower_quantile(p));
                assert!(((back - p) / p).abs() < 1e-13, "{p}: {back}");
            }
        }
    }

    #[test]
    fn known_percentage_points_come_out() {
        for (p, z) in [
            (0.5, 0.0),
            (0.25, -0.674_489_750_196_081_7),
            (1e-20, -9.262_340_089_798_408),
        ] {
            assert!((lower_quantile(p) - z).abs() < 1e-14, "{p}");
        }
    }

    #[test]
    fn no_argument_gives_an_infinite_or_an_asymmetric_value() {
        for bits in [0, 1, 1 << 40, (1 << 62) - 1] {
            let low = from_bits(bits);
            assert!(low.is_finite() && low <= 0.0 && low > -9.3, "{bits}: {low}");
            assert_eq!(low, -from_bits((1 << 63) - 1 - bits));
        }
    }
}
