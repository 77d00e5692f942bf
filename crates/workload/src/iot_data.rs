//! Sensor names and prose for `cql-iot`. cassay uses its own texts, which have the same number of
//! names and characters as NoSQLBench's files.
//!
//! Studies that must reproduce NoSQLBench's bytes configure the workload with the original files
//! instead.

use crate::random::Draws;

/// Length of NoSQLBench's text, in characters. cassay's text has the same length, so that the
/// positions and lengths of extracts are the same.
pub const TEXT_CHARACTERS: usize = 92_818;

/// Ten objects, which are combined with ten quantities. The number of combinations is the number of
/// names in NoSQLBench's list.
const THINGS: [&str; 10] = [
    "boiler", "burner", "chiller", "conveyor", "fan", "mixer", "motor", "pump", "silo", "valve",
];
const QUANTITIES: [&str; 10] = [
    "current",
    "flow",
    "humidity",
    "level",
    "load",
    "position",
    "pressure",
    "speed",
    "temperature",
    "vibration",
];

/// Latin words of which the text consists.
const LATIN: [&str; 40] = [
    "aqua", "ignis", "terra", "ventus", "rota", "ferrum", "aurum", "lux", "nox", "dies", "hora",
    "annus", "machina", "labor", "opus", "manus", "oculus", "vox", "verbum", "numerus", "pondus",
    "mensura", "via", "porta", "turris", "pons", "navis", "mare", "mons", "silva", "currit",
    "movet", "portat", "servat", "numerat", "aperit", "claudit", "et", "in", "cum",
];

/// Seed of the text. It does not depend on the study's seed, because NoSQLBench's text does not
/// change either.
const TEXT_SEED: u64 = 0x10F7;
/// Minimum number of words of a sentence. A sentence has up to nine further words.
const SENTENCE_WORDS_MIN: u64 = 5;

/// Returns the sensor names of `cql-iot`.
pub fn words() -> Vec<Box<str>> {
    let name = |thing: &str, quantity: &&str| format!("{thing}_{quantity}").into_boxed_str();
    THINGS
        .iter()
        .flat_map(|thing| QUANTITIES.iter().map(move |q| name(thing, q)))
        .collect()
}

/// Returns the text from which extracts are taken, in prose.
pub fn text() -> String {
    let mut text = String::with_capacity(TEXT_CHARACTERS + 200);
    let mut draws = Draws::new(TEXT_SEED, 0);
    while text.len() < TEXT_CHARACTERS {
        let words = SENTENCE_WORDS_MIN + draws.below(10);
        for index in 0..words {
            let word = LATIN[draws.below(LATIN.len() as u64) as usize];
            if index == 0 {
                text.push_str(&word[..1].to_uppercase());
                text.push_str(&word[1..]);
            } else {
                text.push(' ');
                text.push_str(word);
            }
        }
        text.push_str(". ");
    }
    text.truncate(TEXT_CHARACTERS);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_a_hundred_different_names() {
        let mut words = words();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 100);
    }

    #[test]
    fn the_text_is_ascii_prose_of_the_stated_length() {
        let text = text();
        assert_eq!(text.len(), TEXT_CHARACTERS);
        assert!(text.is_ascii());
        assert!(text.matches(". ").count() > 1000);
    }
}
