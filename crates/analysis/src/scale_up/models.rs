//! Models of the throughput by the number of units.
//!
//! - Amdahl: X(N) = x1 N ÷ (1 + σ (N − 1)), with the serialized share σ (Amdahl 1967, "Validity of
//!   the single processor approach").
//! - The Universal Scalability Law: Amdahl's law with the additional term κ N (N − 1) in the
//!   denominator, which is the cost of coherency (see [`crate::curves`]).
//! - Two levels: X(s, n) = x1 s n ÷ ((1 + σ₁ (n − 1) + κ₁ n (n − 1)) (1 + κ₂ (s − 1))), for n units
//!   on each of s sockets. This is the Universal Scalability Law within a socket, with an
//!   additional cost of each further socket. The model was made for this project. If sockets have
//!   unequal numbers of units, each socket follows the formula with its own number of units. The
//!   cost of further sockets applies to all sockets.
//!
//! One level cannot explain both 98 % within a socket of four units and 90 % for two of these
//! sockets. By Amdahl's law, 90 % for two sockets means 95 % for one. Two levels can explain these
//! values, with σ₁ = 0.0068, κ₁ = 0 and κ₂ = 0.089.

use crate::curves::{Law, slowing};
use crate::least_squares::Curve;

measure::word_enum! {
    /// A model of the throughput.
    #[derive(Default)]
    pub enum Model {
        /// Amdahl's law over all units.
        #[default]
        Amdahl = "amdahl",
        /// The Universal Scalability Law over all units.
        Usl = "usl",
        /// The Universal Scalability Law within a socket, with an additional cost of each further
        /// socket.
        TwoLevel = "two_level",
    }
}

impl Model {
    /// Returns the name of the model in sentences.
    pub fn title(self) -> &'static str {
        match self {
            Model::Amdahl => "Amdahl's law",
            Model::Usl => "the Universal Scalability Law",
            Model::TwoLevel => "the two-level model",
        }
    }

    /// Returns the names of the coefficients in records.
    pub fn coefficients(self) -> &'static [&'static str] {
        match self {
            Model::Amdahl => &["sigma"],
            Model::Usl => &["sigma", "kappa"],
            Model::TwoLevel => &["sigma_1", "kappa_1", "kappa_2"],
        }
    }

    /// Returns the throughput in op/s with the numbers of units in `split` on the sockets. Returns
    /// `None` if the number of units is 0, or if the number of coefficients does not match the
    /// model.
    pub fn ops_per_s(self, x1: f64, coefficients: &[f64], split: &[f64]) -> Option<f64> {
        let units: f64 = split.iter().sum();
        if split.is_empty() || split.iter().any(|units| units.is_nan() || *units <= 0.0) {
            return None;
        }
        let ln = match self {
            Model::Amdahl => Amdahl::ln_relative(&units, coefficients.try_into().ok()?),
            Model::Usl => Law::ln_relative(&units, coefficients.try_into().ok()?),
            Model::TwoLevel => {
                TwoLevel::ln_relative(&split.to_vec(), coefficients.try_into().ok()?)
            }
        };
        Some(x1 * ln.exp()).filter(|ops| ops.is_finite())
    }
}

/// Returns the symbol that formulas use for the coefficient.
pub fn symbol(name: &str) -> &str {
    match name {
        "sigma" => "σ",
        "kappa" => "κ",
        "sigma_1" => "σ₁",
        "kappa_1" => "κ₁",
        "kappa_2" => "κ₂",
        other => other,
    }
}

/// Amdahl's law as a curve over the number of units, with the coefficient σ.
pub(super) enum Amdahl {}

impl Curve<1> for Amdahl {
    type At = f64;
    const BOUNDS: [[f64; 2]; 1] = [[0.0, 1.0]];
    const FAR: [f64; 1] = [1.0];
    const BEGINS: &'static [[f64; 1]] = &[[0.05], [0.5]];

    fn ln_relative(units: &f64, [sigma]: &[f64; 1]) -> f64 {
        units.ln() - slowing(*units, [*sigma, 0.0]).ln()
    }

    fn slopes(units: &f64, [sigma]: &[f64; 1]) -> [f64; 1] {
        [-(units - 1.0) / slowing(*units, [*sigma, 0.0])]
    }
}

/// The two-level model as a curve over the number of units on each socket, with the coefficients
/// σ₁, κ₁ and κ₂.
pub(super) enum TwoLevel {}

impl Curve<3> for TwoLevel {
    type At = Vec<f64>;
    const BOUNDS: [[f64; 2]; 3] = [[0.0, 1.0], [0.0, f64::INFINITY], [0.0, f64::INFINITY]];
    // With κ₂ = 1, a second socket does not add throughput. With a larger κ₂, a second socket
    // reduces throughput.
    const FAR: [f64; 3] = [1.0, 1.0, 10.0];
    const BEGINS: &'static [[f64; 3]] = &[[0.02, 1e-4, 0.05], [0.2, 1e-2, 0.5]];

    fn ln_relative(split: &Vec<f64>, [sigma, kappa, cross]: &[f64; 3]) -> f64 {
        let of = |units: &f64| units / slowing(*units, [*sigma, *kappa]);
        let sockets = split.len() as f64;
        split.iter().map(of).sum::<f64>().ln() - (1.0 + cross * (sockets - 1.0)).ln()
    }

    fn slopes(split: &Vec<f64>, [sigma, kappa, cross]: &[f64; 3]) -> [f64; 3] {
        let (mut sum, mut by_sigma, mut by_kappa) = (0.0, 0.0, 0.0);
        for units in split {
            let slow = slowing(*units, [*sigma, *kappa]);
            sum += units / slow;
            by_sigma -= units * (units - 1.0) / (slow * slow);
            by_kappa -= units * units * (units - 1.0) / (slow * slow);
        }
        let others = split.len() as f64 - 1.0;
        [
            by_sigma / sum,
            by_kappa / sum,
            -others / (1.0 + cross * others),
        ]
    }
}
