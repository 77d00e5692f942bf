//! Sentences about a scale-up: reasons for missing results, and statements about the machine.

use super::fits::{Fit, NoBest, NoFit, RIVAL_AICC_MAX, rivals};
use super::models::{Model, symbol};
use super::{MissingRatio, Of, ScaleUp};
use crate::curves::{OFF_MAX, Peak};
use measure::number::{significant, whole};

impl Of {
    /// Returns a noun phrase that describes the measurement.
    pub fn words(self) -> &'static str {
        match self {
            Of::Unit => "one unit alone",
            Of::Point => "this number of units",
            Of::Socket => "one socket with all of its units",
            Of::System => "the machine with all of its units",
            Of::Other => "this number of units in the other arm",
        }
    }
}

impl MissingRatio {
    /// Describes the reason.
    pub fn words(self) -> String {
        match self {
            MissingRatio::OneSocket => "the machine has only one socket".to_owned(),
            MissingRatio::UnitIsSocket => {
                "a socket is the unit, so a socket contains only one unit".to_owned()
            }
            MissingRatio::NotMeasured(of) => format!("the run did not measure {}", of.words()),
            MissingRatio::NotUsable(of) => {
                format!("no trial of {} is usable", of.words())
            }
            MissingRatio::NoCommonBlock => {
                "no block has a usable trial at both compared points".to_owned()
            }
        }
    }
}

impl NoFit {
    /// Describes the reason.
    pub fn words(self) -> String {
        match self {
            NoFit::FewPoints { points: 1, needed } => {
                format!("only 1 point is usable, but the curve needs {needed}")
            }
            NoFit::FewPoints { points, needed } => {
                format!("only {points} points are usable, but the curve needs {needed}")
            }
            NoFit::OneLevelOfSockets => "no two points are on different numbers of sockets".into(),
            NoFit::OneLevelOfUnits => {
                "no two points have different numbers of units on a socket".into()
            }
            NoFit::OffCurve(off) => format!(
                "the points deviate from the best such curve by {} %, but the limit is {:.0} %",
                significant(off * 100.0, 2),
                OFF_MAX * 100.0
            ),
        }
    }
}

impl NoBest {
    /// Describes the reason.
    pub fn words(self) -> &'static str {
        match self {
            NoBest::NoCurve => "the report has no curve to choose from",
            NoBest::OnlyOne => "the report has only one curve, so no comparison is possible",
            NoBest::FewTrials => {
                "no comparison of curves is possible: AICc is undefined for this small number of \
                 trials"
            }
            NoBest::BeyondNoise => {
                "the points deviate from the curve with the lowest AICc by more than their noise, \
                 so the trials do not show which curve is better"
            }
        }
    }
}

impl ScaleUp {
    /// Returns sentences on what the points can and cannot show about the machine.
    pub fn sentences(&self) -> Vec<String> {
        let mut said = Vec::new();
        said.extend(self.machine_sentences());
        said.extend(self.point_sentences());
        said.extend(self.curve_sentences());
        said
    }

    fn machine_sentences(&self) -> Vec<String> {
        let mut said = Vec::new();
        let why = |of: Result<_, MissingRatio>| of.err();
        let named = [
            ("within a socket", why(self.socket)),
            ("of the whole machine", why(self.system)),
            ("across sockets", why(self.cross)),
        ];
        if self.machine.sockets < 2 {
            said.push(
                "This machine has only one socket, so the gain of a second socket is unknown."
                    .to_owned(),
            );
        }
        for (what, why) in named {
            match why {
                None | Some(MissingRatio::OneSocket) => {}
                Some(why) => said.push(format!(
                    "The efficiency {what} is unknown: {}.",
                    why.words()
                )),
            }
        }
        said
    }

    fn point_sentences(&self) -> Vec<String> {
        let mut said = Vec::new();
        let usable = self.points.iter().filter(|point| point.blocks > 0);
        let most = usable.clone().map(|point| point.blocks).max();
        if most == Some(1) {
            said.push("Each point has one block, so no ratio has an interval.".to_owned());
        }
        let uneven = usable.filter(|point| point.split.is_none()).count();
        if uneven > 0 {
            said.push(format!(
                "The units of {uneven} of {} points do not divide evenly among the sockets, and \
                 the division is unknown. So no curve includes these points.",
                self.points.len()
            ));
        }
        let above = |of: &super::PointResults| {
            let [low, _] = of.efficiency.ok()?.ci95?;
            (low > 1.0).then_some(of.units)
        };
        let above: Vec<String> =
            self.points.iter().filter_map(above).map(|units| units.to_string()).collect();
        if !above.is_empty() {
            said.push(format!(
                "With {} units, throughput is higher than in proportion to the throughput of one \
                 unit. The reason is unknown. Another resource may have limited the single unit.",
                above.join(", ")
            ));
        }
        said
    }

    /// Returns true if any efficiency compares more than one unit with one unit.
    fn has_efficiency(&self) -> bool {
        let mut more = self.points.iter().filter(|point| point.units > 1);
        more.any(|point| point.efficiency.is_ok())
    }

    fn curve_sentences(&self) -> Vec<String> {
        let fitted = || self.fits.iter().filter_map(|(_, fit)| fit.as_ref().ok());
        let usable = self.points.iter().filter(|point| point.blocks > 0).count();
        if fitted().next().is_none() {
            return match self.fits.first() {
                Some((_, Err(NoFit::FewPoints { .. }))) if usable > 1 => vec![format!(
                    "{usable} points determine {}: throughput between and beyond them is unknown.",
                    if self.has_efficiency() {
                        "an efficiency and no curve"
                    } else {
                        "no curve"
                    }
                )],
                _ => vec!["No curve fits these points.".to_owned()],
            };
        }
        let mut said = Vec::new();
        match self.best {
            Ok(best) => said.push(self.chosen(best)),
            Err(NoBest::OnlyOne) => said.extend(fitted().next().map(|fit| self.only(fit.model))),
            Err(why) => said.push(format!("No curve is best: {}.", why.words())),
        }
        let beyond: Vec<&str> =
            fitted().filter(|fit| fit.beyond_noise).map(|fit| fit.model.title()).collect();
        if !beyond.is_empty() {
            said.push(format!(
                "The points deviate from {} by more than their noise, and more blocks would not \
                 change that.",
                beyond.join(" and ")
            ));
        }
        fitted().for_each(|fit| said.extend(fit_sentences(fit)));
        said
    }

    /// Explains why the other curves are missing if only the curve of `model` was fitted.
    fn only(&self, model: Model) -> String {
        let title = model.title();
        let others = || self.fits.iter().filter(|(_, fit)| fit.is_err());
        let is_off =
            |(_, fit): &(Model, Result<Fit, NoFit>)| matches!(fit, Err(NoFit::OffCurve(_)));
        if others().all(is_off) {
            return format!(
                "{} is the only curve that goes through these points.",
                capital(title)
            );
        }
        let why = |(other, fit): &(Model, Result<Fit, NoFit>)| {
            let other = other.title();
            Some(match fit.as_ref().err()? {
                NoFit::FewPoints { .. } => format!("{other} needs more points"),
                NoFit::OneLevelOfSockets => format!("{other} needs points on more sockets"),
                NoFit::OneLevelOfUnits => {
                    format!("{other} needs more numbers of units on a socket")
                }
                NoFit::OffCurve(_) => format!("the points deviate from {other}"),
            })
        };
        let whys: Vec<String> = others().filter_map(why).collect();
        format!(
            "Only {title} fits the number of points: {}.",
            whys.join(", and ")
        )
    }

    fn chosen(&self, best: Model) -> String {
        let near: Vec<&str> = rivals(&self.fits, best).into_iter().map(Model::title).collect();
        let title = capital(best.title());
        if near.is_empty() {
            format!("{title} explains most with the fewest coefficients (AICc).")
        } else {
            format!(
                "{title} has the lowest AICc, but these points do not distinguish it from {}, \
                 which is within {RIVAL_AICC_MAX:.0} of it.",
                near.join(" nor from ")
            )
        }
    }
}

/// Returns sentences on the coefficients that a curve does not determine, and on the peak of the
/// curve.
fn fit_sentences(fit: &Fit) -> Vec<String> {
    let mut said = Vec::new();
    let title = fit.model.title();
    for held in fit.coefficients.iter().filter(|of| of.is_held) {
        said.push(format!(
            "In {title}, {} is fixed at 0: separating it from the other coefficients requires \
             three numbers of units on a socket, and five points.",
            symbol(held.name)
        ));
    }
    let inconclusive = fit.coefficients.iter().filter(|of| of.ci95.is_some() && !of.is_told());
    for of in inconclusive {
        said.push(format!(
            "{} of {title} does not differ significantly from 0.",
            symbol(of.name)
        ));
    }
    match fit.peak {
        Some(Peak::At {
            threads: units,
            threads_ci95: [low, high],
            ops_per_s,
        }) => {
            let most = if high.is_finite() {
                format!("{} to {}", whole(low), whole(high))
            } else {
                format!("{} or more", whole(low))
            };
            said.push(format!(
                "According to {title}, the highest throughput is {} op/s at {} units (95 %: \
                 {most}), and falls with more units.",
                whole(ops_per_s),
                whole(units)
            ));
        }
        Some(Peak::First { threads: units }) => said.push(format!(
            "According to {title}, throughput falls from the first number of units, {}. The run \
             did not measure the number with the highest throughput.",
            whole(units)
        )),
        Some(Peak::Beyond) => said.push(format!(
            "The peak of {title} would be beyond twice the last number of units, where the curve \
             is unreliable."
        )),
        Some(Peak::Inconclusive) => said.push(format!("So {title} predicts no peak.")),
        None => {}
    }
    said
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
