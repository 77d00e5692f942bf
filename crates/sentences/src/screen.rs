//! Describes the result of a screening of many settings.

use crate::result_place::{metric_words, point_words};
use analysis::screening::Activity;
use measure::number::{change, significant};
use store::record::{ScreenRecord, ScreenedRecord};

/// Returns the sentences for all screenings. If a tuning follows, the sentences do not propose to
/// confirm the settings.
pub fn sentences(screens: &[ScreenRecord], is_tuned: bool) -> Vec<String> {
    screens.iter().flat_map(|screen| screen_sentences(screen, is_tuned)).collect()
}

fn screen_sentences(screen: &ScreenRecord, is_tuned: bool) -> Vec<String> {
    let step = screen.step.as_ref();
    let step = step.map_or_else(String::new, |step| format!(" of “{step}”"));
    let at = format!("At {}{step}", point_words(screen.point));
    if let Some(why) = &screen.refused {
        return vec![format!("{at} the screening has no answer: {why}.")];
    }
    let settings = screen.effects.iter().filter(|e| !e.setting.is_empty());
    let count = settings.clone().count();
    let metric = metric_words(&screen.metric);
    let named = |activity: Activity| {
        let of = settings.clone().filter(|e| e.activity == activity);
        let mut of: Vec<&ScreenedRecord> = of.collect();
        of.sort_by(|a, b| b.ln_ratio.abs().total_cmp(&a.ln_ratio.abs()));
        let name = |e: &&ScreenedRecord| {
            let change = change(e.ln_ratio.exp());
            format!(
                "{} (“{}” instead of “{}” {change})",
                e.setting, e.value, e.against
            )
        };
        of.iter().map(name).collect::<Vec<String>>()
    };
    let (active, possible) = (named(Activity::Active), named(Activity::Possible));
    let mut said = Vec::new();
    let rest = |count: usize| match count {
        0 => String::new(),
        _ => format!("; the other {count} have no visible effect"),
    };
    let silent = rest(count - active.len() - possible.len());
    let parts: Vec<String> = [("changes", active), ("may change", possible)]
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(verb, names)| format!("{metric} {verb} with {}", names.join(", ")))
        .collect();
    said.push(if parts.is_empty() {
        format!(
            "{at} no effect of the {count} settings on {metric} exceeds chance (about {} %).",
            significant(screen.me.exp_m1() * 100.0, 2)
        )
    } else {
        format!("{at}, {}{silent}.", parts.join("; "))
    });
    if !screen.confirm.is_empty() && !is_tuned {
        said.push(format!(
            "A screening selects settings, but proves no effect: without repetition, effects have \
             no interval, and {}. `cassay confirm` measures every combination of {}.",
            screen.mixed,
            screen.confirm.join(", ")
        ));
    }
    said
}
