//! Subjects of `cassay new compare`. Each subject has the targets that support it, and the default
//! values, names and settings of the two sides, which are the variants of the study.

use super::template_target::TargetChoice;
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use study::settings::Study;
use versions::DEFAULT;
use yaml::near_name;

/// Key of the question about the subject. The template has a gap for the answer.
pub const SUBJECT_KEY: &str = "compare";
const SIDES: [&str; 2] = ["baseline", "contender"];

/// A setting that can differ between two sides.
struct Subject {
    /// The answer that names the setting.
    word: &'static str,
    /// The targets that have the setting.
    places: &'static [&'static str],
    /// Default values of the two sides.
    usual: [&'static str; 2],
    /// The text before and the text after the value, in the settings of a side.
    sets: [&'static str; 2],
    /// Prefix of the value in the side's name.
    prefix: &'static str,
    /// The text before and the text after the names of the sides, in the question about the sides.
    question: [&'static str; 2],
}

const OF_NODES: [&str; 2] = ["What does ", " change compared with "];

const SUBJECTS: [Subject; 5] = [
    Subject {
        word: "compressor",
        places: &["local", "attach"],
        usual: ["LZ4Compressor", "ZstdCompressor"],
        sets: ["{keyspace: {compression: {class: ", "}}}"],
        prefix: "",
        question: ["What does ", " save and cost compared with "],
    },
    Subject {
        word: "collector",
        places: &["local"],
        usual: ["g1", "zgc"],
        sets: ["{target: {local: {gc: ", "}}}"],
        prefix: "",
        question: OF_NODES,
    },
    Subject {
        word: "heap",
        places: &["local"],
        usual: ["1GiB", "2GiB"],
        sets: ["{target: {local: {heap: ", "}}}"],
        prefix: "heap-",
        question: OF_NODES,
    },
    Subject {
        word: "version",
        places: &["local"],
        usual: ["4.1", "5.0"],
        sets: ["{target: {local: {cassandra: '", "'}}}"],
        prefix: "cassandra-",
        question: OF_NODES,
    },
    // Two null targets with a known difference. They show the output of a study to users who have
    // no cluster yet.
    Subject {
        word: "latency",
        places: &["null"],
        usual: ["200us", "220us"],
        sets: ["{target: {null: {latency: ", "}}}"],
        prefix: "",
        question: OF_NODES,
    },
];

/// Returns the question, with all subjects of a target.
pub fn asks(place: &TargetChoice) -> String {
    let has = |one: &&Subject| one.places.contains(&place.word());
    let words: Vec<&str> = SUBJECTS.iter().filter(has).map(|one| one.word).collect();
    let key = if *place == TargetChoice::Local {
        ", or a key of cassandra.yaml"
    } else {
        ""
    };
    format!("Which setting? {}{key}", words.join(", "))
}

/// Returns the default answer to one of the questions about sides. Empty if the question has no
/// default answer.
pub fn default(
    key: &str,
    place: &TargetChoice,
    answers: &BTreeMap<&'static str, String>,
) -> String {
    if key == SUBJECT_KEY {
        let has = |one: &&Subject| one.places.contains(&place.word());
        return SUBJECTS.iter().find(has).map(|one| one.word.to_owned()).unwrap_or_default();
    }
    let subject = answers.get(SUBJECT_KEY).and_then(|word| subject(word));
    let usual = SIDES.iter().position(|side| *side == key).zip(subject);
    usual.map(|(at, subject)| subject.usual[at].to_owned()).unwrap_or_default()
}

/// Refuses subjects that a target does not support, a side without a value, and equal values.
///
/// # Errors
/// The subject is unknown, or the target does not support it. A side has no value, or both sides
/// have the same value.
pub fn check(place: &TargetChoice, answers: &BTreeMap<&'static str, String>) -> Result<()> {
    let word = answers.get(SUBJECT_KEY).map(String::as_str).unwrap_or_default();
    let is_key = DEFAULT.has_setting(word);
    match subject(word) {
        Some(subject) if subject.places.contains(&place.word()) => {}
        None if is_key && *place == TargetChoice::Local => {}
        Some(subject) => bail!(
            "cassay cannot compare `{word}` on {}\nhint: add --target {}",
            place.word(),
            subject.places[0]
        ),
        None if is_key => bail!(
            "cassay can compare `{word}` of cassandra.yaml only on nodes that it starts\nhint: \
             add --target local"
        ),
        None => {
            let all = SUBJECTS.iter().map(|one| one.word).chain(DEFAULT.names());
            // Without a similar name, the hint lists only the subjects, because a list of all
            // settings has hundreds of names.
            let hint = near_name(word, all).unwrap_or_else(|| asks(place));
            bail!("cassay cannot compare `{word}`\nhint: {hint}");
        }
    }
    let [one, other] = SIDES.map(|side| answers.get(side).map(String::as_str).unwrap_or_default());
    if one.is_empty() || other.is_empty() {
        bail!(
            "the comparison needs two values of `{word}`\nhint: add --set {}=VALUE --set {}=VALUE",
            SIDES[0],
            SIDES[1]
        );
    }
    if one == other {
        bail!("both variants have the value {one} of `{word}`\nhint: use two different values");
    }
    Ok(())
}

/// Refuses two values that result in the same settings. For example, a line and its pinned release
/// name the same version.
///
/// # Errors
/// The two sides have the same settings.
pub fn check_sides(study: &Study, answers: &BTreeMap<&'static str, String>) -> Result<()> {
    let mut sides = study.variants.iter().map(|variant| &variant.settings);
    let first = sides.next();
    if sides.len() > 0 && sides.all(|side| Some(side) == first) {
        let value = |key: &str| answers.get(key).map(String::as_str).unwrap_or_default();
        bail!(
            "{} and {} are the same value of `{}`\nhint: use two different values",
            value(SIDES[0]),
            value(SIDES[1]),
            value(SUBJECT_KEY)
        );
    }
    Ok(())
}

/// Returns the values of the template's gaps that follow from the answers.
pub fn derived(answers: &BTreeMap<&'static str, String>) -> Vec<(&'static str, String)> {
    let (Some(word), [Some(one), Some(other)]) = (
        answers.get(SUBJECT_KEY),
        SIDES.map(|side| answers.get(side)),
    ) else {
        return Vec::new();
    };
    let names = [one, other].map(|value| name(word, value));
    let line = |at: usize, value: &str| format!("{}: {}", names[at], sets(word, value));
    let [before, between] = subject(word).map_or(OF_NODES, |subject| subject.question);
    let is_stored = word == "compressor";
    let params = if is_stored {
        ", params: {compressible: 0.7}"
    } else {
        ""
    };
    let local = if is_stored {
        "    # Without this setting, Cassandra flushes with LZ4, regardless of the table's \
         compressor.\n    yaml: {flush_compression: table}\n"
    } else {
        ""
    };
    vec![
        (
            "question",
            format!("{before}{}{between}{}?", names[1], names[0]),
        ),
        ("side.baseline", line(0, one)),
        ("side.contender", line(1, other)),
        ("params", params.to_owned()),
        ("target.local", local.to_owned()),
    ]
}

fn subject(word: &str) -> Option<&'static Subject> {
    SUBJECTS.iter().find(|one| one.word == word)
}

fn sets(word: &str, value: &str) -> String {
    match subject(word) {
        Some(Subject {
            sets: [before, after],
            ..
        }) => format!("{before}{value}{after}"),
        None => format!("{{target: {{local: {{yaml: {{{word}: {value}}}}}}}}}"),
    }
}

fn name(word: &str, value: &str) -> String {
    let plain = |c: char| match c {
        'a'..='z' | '0'..='9' | '.' | '_' | '-' => c,
        _ => '-',
    };
    let short = value.strip_suffix("Compressor").unwrap_or(value).to_ascii_lowercase();
    let letters: String = short.chars().map(plain).collect();
    let value = letters.trim_matches('-');
    match subject(word) {
        Some(subject) => format!("{}{value}", subject.prefix),
        None => format!("{word}-{value}"),
    }
}
