//! The table of fitted curves.

use super::arm_table;
use crate::number;
use crate::page::{Cell, Table, Tone};
use crate::sections::capital;
use analysis::scale_up::models::symbol;
use store::record::{CoefficientRecord, ScaleFitRecord, ScaleUpRecord, WithoutPeak};

/// Lists every model of every arm.
pub fn table(arms: &[&ScaleUpRecord]) -> Table {
    let share = |of: Option<f64>| of.map(|of| number::small(of * 100.0));
    let least = |index: usize| {
        let fits = arms[index].fits.iter();
        fits.filter_map(|fit| fit.aicc).min_by(f64::total_cmp)
    };
    let caption = "Curves through the points, with 95 % intervals";
    arm_table(arms, caption, |arm| &arm.fits)
        .text("Curve", |(_, fit)| capital(fit.model.title()))
        .number("x1", "op/s", |(_, fit)| fit.x1.map(number::rate))
        .text("Coefficients", |(_, fit)| coefficients(&fit.coefficients))
        .number("Off the curve", "%", |(_, fit)| share(fit.off))
        .wide_number("Left out", "%", |(_, fit)| share(fit.left_out_off))
        .wide_number("AICc above the best", "", |(index, fit)| {
            Some(format!("{:.1}", fit.aicc? - least(index)?))
        })
        .text("Says", |(_, fit)| says(fit))
        .tone(|(_, fit)| match (fit.best, fit.refused.is_none()) {
            (true, _) => Tone::Strong,
            (_, true) => Tone::Plain,
            (_, false) => Tone::Muted,
        })
        .foot(
            "N units in use, n on each of s sockets. Amdahl's law: x1 N ÷ (1 + σ (N − 1)). The \
             Universal Scalability Law: with κ N (N − 1) below the line as well. Two levels: x1 s \
             n ÷ ((1 + σ₁ (n − 1) + κ₁ n (n − 1)) (1 + κ₂ (s − 1))). Omitted: the distance of a \
             point from the curve through the others. AICc weighs the fit of a curve against its \
             number of coefficients. A difference of up to 2 is not decisive.",
        )
        .build()
}

fn coefficients(all: &[CoefficientRecord]) -> String {
    if all.is_empty() {
        return number::ABSENT.to_owned();
    }
    let words = |of: &CoefficientRecord| {
        let value = format!("{} {}", symbol(&of.name), number::small(of.value));
        match of.ci95 {
            _ if of.held => format!("{value} (held)"),
            Some(ends) => format!("{value} ({})", number::small_ends(ends)),
            None => format!("{value} (no interval)"),
        }
    };
    let words: Vec<String> = all.iter().map(words).collect();
    words.join(", ")
}

fn says(fit: &ScaleFitRecord) -> Cell {
    if let Some(why) = &fit.refused {
        return Cell::new(why.as_str());
    }
    let mut said = Vec::new();
    if fit.best {
        said.push("the best".to_owned());
    }
    if fit.near_best {
        said.push("not distinguishable from the best curve".to_owned());
    }
    match (&fit.peak, fit.without_peak) {
        (Some(peak), _) => {
            let end = |end: Option<f64>| end.map_or("∞".into(), measure::number::whole);
            let [low, high] = peak.units_ci95.map(end);
            said.push(format!(
                "most at N* {} ({low} to {high}): {} op/s",
                measure::number::whole(peak.units),
                number::rate(peak.ops_per_s)
            ));
        }
        (None, Some(WithoutPeak::Inconclusive)) => said.push("no peak: κ may be 0".to_owned()),
        (None, Some(WithoutPeak::First)) => said.push("falls from the first point on".to_owned()),
        (None, Some(WithoutPeak::Beyond)) => said.push("peak beyond twice the last".to_owned()),
        _ => {}
    }
    Cell::new(if said.is_empty() {
        number::ABSENT.to_owned()
    } else {
        said.join("; ")
    })
}
