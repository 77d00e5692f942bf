//! Screens many settings at once to find those that matter.
//!
//! Each setting has two values, and each run uses one of the two values of every setting. So every
//! run contributes to the effect of every setting. The error of an effect is that of a mean over
//! all runs, not over two. The designs are the fractional factorials 2^(7−4) and 2^(8−4) (Box and
//! Hunter 1961) and the twelve runs of Plackett and Burman (1946). A design may be folded over: a
//! second set of runs has all signs inverted (Box and Wilson 1951). This separates main effects
//! from the effects of two settings together.
//!
//! No run is repeated, so the runs do not measure an error. Lenth's method (1989, "Quick and easy
//! analysis of unreplicated factorials") estimates the error from the small effects, most of which
//! are only noise. An effect is *active* if it is larger than every noise effect in 95 % of
//! screenings. It is *possible* if it is larger than 95 % of single noise effects. A screening
//! chooses settings for a confirming run, but does not confirm any effect itself.

use crate::autocorrelation;

/// Minimum and maximum number of settings. With fewer settings, running every combination takes as
/// few runs. This module does not contain a design for more settings.
pub const SETTINGS: [usize; 2] = [4, 11];
/// Maximum number of settings in one confirming run. The confirming run measures every combination
/// of the settings.
pub const CONFIRM_MAX: usize = 3;
/// Multiple of the first estimate of the deviation above which an effect is not considered noise.
const TRIM: f64 = 2.5;
/// Factor that converts the median of absolute normal values to their standard deviation. Lenth
/// rounded the exact factor, 1.4826.
const MEDIAN_TO_DEVIATION: f64 = 1.5;

measure::word_enum! {
    /// Combinations of settings that a screening runs.
    pub enum Design {
        /// 2^(7−4): eight runs, up to seven settings.
        Eight = "2^(7-4)",
        /// Plackett and Burman's design: twelve runs, up to eleven settings.
        Twelve = "Plackett-Burman 12",
        /// 2^(8−4): sixteen runs, up to eight settings, with main effects separate from effects of
        /// two settings.
        Sixteen = "2^(8-4)",
        /// The runs of [`Design::Eight`], then the same runs with all signs inverted.
        EightFolded = "2^(7-4), folded over",
        /// The runs of [`Design::Twelve`], then the same runs with all signs inverted.
        TwelveFolded = "Plackett-Burman 12, folded over",
    }
}

impl Design {
    /// Returns the smallest design for a number of settings. Returns `None` if the number is
    /// outside [`SETTINGS`]. Also returns `None` for eight settings with folding, because the
    /// design for eight settings separates main effects without folding.
    pub fn smallest(settings: usize, fold: bool) -> Option<Design> {
        match (settings, fold) {
            (4..=7, false) => Some(Design::Eight),
            (4..=7, true) => Some(Design::EightFolded),
            (8, false) => Some(Design::Sixteen),
            (9..=11, false) => Some(Design::Twelve),
            (9..=11, true) => Some(Design::TwelveFolded),
            _ => None,
        }
    }

    /// Describes the effects that the design cannot separate.
    pub fn price(self) -> &'static str {
        match self {
            Design::Eight => {
                "each effect is confounded with the interactions of up to three pairs of settings"
            }
            Design::Twelve => {
                "every other effect contains a third of each interaction of two settings"
            }
            Design::Sixteen | Design::EightFolded | Design::TwelveFolded => {
                "effects contain no interactions of two settings, but these interactions are \
                 confounded with each other"
            }
        }
    }

    /// Returns the sign of every contrast in every run. The contrasts of settings come first. The
    /// other contrasts do not belong to a setting, and show noise and interactions. Any two
    /// contrasts are orthogonal.
    pub fn signs(self) -> Vec<Vec<i8>> {
        match self {
            // The single letters and the product of all three letters come first. So with four
            // settings, no main effect is mixed with the effect of a pair of settings.
            Design::Eight => factorial(3, &[0b001, 0b010, 0b100, 0b111, 0b011, 0b101, 0b110]),
            Design::Sixteen => factorial(
                4,
                &[
                    0b0001, 0b0010, 0b0100, 0b1000, 0b1110, 0b1101, 0b0111, 0b1011, 0b0011, 0b0101,
                    0b1001, 0b0110, 0b1010, 0b1100, 0b1111,
                ],
            ),
            Design::Twelve => plackett_burman(),
            Design::EightFolded => folded(&Design::Eight.signs()),
            Design::TwelveFolded => folded(&Design::Twelve.signs()),
        }
    }
}

/// Returns the signs of all contrasts in every combination of `letters` letters. A contrast is the
/// product of the letters in its mask.
fn factorial(letters: u32, masks: &[u32]) -> Vec<Vec<i8>> {
    let sign = |run: u32, mask: &u32| match (!run & mask).count_ones() % 2 {
        0 => 1,
        _ => -1,
    };
    let run = |run: u32| masks.iter().map(|mask| sign(run, mask)).collect();
    (0..1u32 << letters).map(run).collect()
}

/// Returns the eleven rotations of the first row, followed by a row that has only minus signs.
fn plackett_burman() -> Vec<Vec<i8>> {
    const ROW: [i8; 11] = [1, 1, -1, 1, 1, 1, -1, -1, -1, 1, -1];
    let rotated = |by: usize| (0..11).map(|at| ROW[(at + 11 - by) % 11]).collect();
    let mut runs: Vec<Vec<i8>> = (0..11).map(rotated).collect();
    runs.push(vec![-1; 11]);
    runs
}

/// Returns the runs, followed by the same runs with inverted signs. Each run is extended by a copy
/// of its contrasts that keeps the original signs in both halves.
fn folded(runs: &[Vec<i8>]) -> Vec<Vec<i8>> {
    let half = |sign: i8| {
        runs.iter().map(move |run| {
            let odd = run.iter().map(|s| s * sign);
            odd.chain(run.iter().copied()).collect()
        })
    };
    half(1).chain(half(-1)).collect()
}

/// Returns the effect of every contrast on ln y. It is the mean of the runs with a plus sign minus
/// the mean of the runs with a minus sign. Returns `None` unless every run has a value above 0.
pub fn effects(design: Design, values: &[f64]) -> Option<Vec<f64>> {
    let signs = design.signs();
    let is_good = |value: &f64| value.is_finite() && *value > 0.0;
    if values.len() != signs.len() || !values.iter().all(is_good) {
        return None;
    }
    let half = values.len() as f64 / 2.0;
    let of = |contrast: usize| {
        let runs = signs.iter().zip(values);
        let sum: f64 = runs.map(|(run, y)| f64::from(run[contrast]) * y.ln()).sum();
        sum / half
    };
    Some((0..signs[0].len()).map(of).collect())
}

/// Margins that effects of pure noise rarely exceed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LenthMargin {
    /// Pseudo standard error.
    pub pse: f64,
    /// Margin of error. A single noise effect exceeds this margin in 5 % of cases.
    pub me: f64,
    /// Simultaneous margin of error. In 5 % of screenings, at least one noise effect exceeds this
    /// margin.
    pub sme: f64,
}

measure::word_enum! {
    /// Judgement of a setting's effect.
    #[derive(Default)]
    pub enum Activity {
        /// The effect is larger than every noise effect in 95 % of screenings.
        Active = "active",
        /// The effect is larger than 95 % of single noise effects.
        Possible = "possible",
        /// The effect cannot be distinguished from noise.
        #[default]
        Silent = "silent",
    }
}

impl LenthMargin {
    /// Computes the margins from all effects of a design, assuming that most of them are noise.
    pub fn from_effects(effects: &[f64]) -> LenthMargin {
        let sizes: Vec<f64> = effects.iter().map(|effect| effect.abs()).collect();
        let guess = MEDIAN_TO_DEVIATION * autocorrelation::median(&sizes);
        let small: Vec<f64> = sizes.iter().copied().filter(|size| *size < TRIM * guess).collect();
        let pse = MEDIAN_TO_DEVIATION * autocorrelation::median(&small);
        let count = effects.len().max(1) as f64;
        let freedom = count / 3.0;
        let all = (1.0 + 0.95_f64.powf(1.0 / count)) / 2.0;
        LenthMargin {
            pse,
            me: autocorrelation::t_quantile(0.975, freedom) * pse,
            sme: autocorrelation::t_quantile(all, freedom) * pse,
        }
    }

    /// Judges an effect by the margins.
    pub fn activity(&self, effect: f64) -> Activity {
        match effect.abs() {
            size if size > self.sme => Activity::Active,
            size if size > self.me => Activity::Possible,
            _ => Activity::Silent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_series::Chance;

    const ALL: [Design; 5] = [
        Design::Eight,
        Design::Twelve,
        Design::Sixteen,
        Design::EightFolded,
        Design::TwelveFolded,
    ];

    #[test]
    fn every_two_contrasts_are_orthogonal_and_balanced() {
        for (design, runs) in ALL.iter().zip([8, 12, 16, 16, 24]) {
            let signs = design.signs();
            assert_eq!(signs.len(), runs);
            let contrasts = signs[0].len();
            for one in 0..contrasts {
                assert_eq!(signs.iter().map(|run| i32::from(run[one])).sum::<i32>(), 0);
                for other in 0..one {
                    let product = |run: &Vec<i8>| i32::from(run[one]) * i32::from(run[other]);
                    assert_eq!(signs.iter().map(product).sum::<i32>(), 0, "{design:?}");
                }
            }
        }
    }

    #[test]
    fn pairs_of_settings_are_mixed_as_the_design_says() {
        let leak = |design: Design, settings: usize| {
            let signs = design.signs();
            let mut most = 0.0_f64;
            for one in 0..settings {
                for a in 0..settings {
                    for b in 0..a {
                        let product = |run: &Vec<i8>| f64::from(run[one] * run[a] * run[b]);
                        let share = signs.iter().map(product).sum::<f64>() / signs.len() as f64;
                        if one != a && one != b {
                            most = most.max(share.abs());
                        }
                    }
                }
            }
            most
        };
        assert_eq!(leak(Design::Eight, 7), 1.0);
        assert_eq!(leak(Design::Eight, 4), 0.0);
        assert!((leak(Design::Twelve, 11) - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(leak(Design::Sixteen, 8), 0.0);
        assert_eq!(leak(Design::EightFolded, 7), 0.0);
        assert_eq!(leak(Design::TwelveFolded, 11), 0.0);
    }

    #[test]
    fn lenths_margins_are_those_of_the_worked_example() {
        let effects = [
            0.113, -0.031, 0.006, -0.004, 0.009, -0.012, 0.003, 0.058, -0.007, 0.002, -0.010,
        ];
        let lenth = LenthMargin::from_effects(&effects);
        for (seen, expected) in [
            (lenth.pse, 0.01050),
            (lenth.me, 0.03023),
            (lenth.sme, 0.06475),
        ] {
            assert!((seen - expected).abs() < 1e-5, "{seen}, not {expected}");
        }
        let activity: Vec<Activity> = effects.iter().map(|e| lenth.activity(*e)).collect();
        assert_eq!(activity[0], Activity::Active);
        assert_eq!(
            (activity[1], activity[7]),
            (Activity::Possible, Activity::Possible)
        );
        assert_eq!(
            activity.iter().filter(|a| **a == Activity::Silent).count(),
            8
        );
    }

    #[test]
    fn planted_settings_are_active_and_chance_seldom_is() {
        let mut chance = Chance::new(5);
        let (runs, mut found, mut false_ones) = (200, 0, 0);
        for design in ALL {
            let signs = design.signs();
            for _ in 0..runs {
                // The second setting raises the value by about 20 %, with 2 % noise. The other
                // settings do not have an effect.
                let value = |run: &Vec<i8>| {
                    (0.1 * f64::from(run[1])).exp() * (0.02 * chance.normal()).exp()
                };
                let values: Vec<f64> = signs.iter().map(value).collect();
                let effects = effects(design, &values).unwrap();
                let lenth = LenthMargin::from_effects(&effects);
                found += u32::from(lenth.activity(effects[1]) != Activity::Silent);
                let others = effects.iter().enumerate().filter(|(at, _)| *at != 1);
                let is_active = |e: &f64| lenth.activity(*e) == Activity::Active;
                false_ones += u32::from(others.map(|(_, e)| e).any(is_active));
            }
        }
        let all = runs * ALL.len() as u32;
        assert!(found * 100 >= all * 97, "{found} of {all}");
        // The nominal rate of false results is 5 % of screenings. Depending on the number of
        // effects, Lenth's margin is slightly too strict or too loose.
        assert!(false_ones * 100 <= all * 8, "{false_ones} of {all}");
    }

    #[test]
    fn a_run_without_a_value_leaves_no_effects() {
        assert_eq!(effects(Design::Eight, &[1.0; 7]), None);
        assert_eq!(effects(Design::Eight, &[0.0; 8]), None);
        let even = effects(Design::Eight, &[2.0; 8]).unwrap();
        assert!(even.iter().all(|effect| effect.abs() < 1e-12), "{even:?}");
    }

    #[test]
    fn the_smallest_design_that_fits_is_taken() {
        let of = |settings| Design::smallest(settings, false).map(Design::name);
        assert_eq!(of(3), None);
        assert_eq!((of(4), of(7)), (Some("2^(7-4)"), Some("2^(7-4)")));
        assert_eq!(of(8), Some("2^(8-4)"));
        assert_eq!(
            (of(9), of(11)),
            (Some("Plackett-Burman 12"), Some("Plackett-Burman 12"))
        );
        assert_eq!((of(12), Design::smallest(8, true)), (None, None));
    }
}
