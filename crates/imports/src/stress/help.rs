//! Text of `help` for commands and options. The text is generated from the tables that the parser
//! also uses.

use super::options;
use super::params::KnownParam;
use super::tables::{COL, COMMON, ERRORS, INSERT, MIXED, POP, RATE, USER, VERBS};

pub(crate) fn topics() -> Vec<&'static str> {
    let verbs = VERBS
        .iter()
        .flat_map(|(verb, aliases)| [verb].into_iter().chain(aliases.iter()));
    verbs
        .copied()
        .chain(["print", "help", "version"])
        .chain(options::NAMES)
        .collect()
}

/// Returns the explanation of a command or an option. If `topic` is `None`, returns an explanation
/// of all of them.
pub fn help(topic: Option<&str>) -> String {
    let Some(topic) = topic else {
        return overview();
    };
    let aliased = VERBS.iter().find(|(_, aliases)| aliases.contains(&topic));
    let topic = aliased.map_or(topic, |(verb, _)| *verb);
    match topic {
        "-sendto" => "cassay refuses -sendto, because it has no stress daemon.\n".to_owned(),
        "-credentials-file" => "-credentials-file PATH\n\n  A properties file with cql.username \
                                and cql.password.\n"
            .to_owned(),
        "print" => "print dist=DISTRIBUTION\n\n  Shows the shape of a distribution.\n".to_owned(),
        "help" => "help [COMMAND|OPTION]\n".to_owned(),
        "version" => "version\n\n  Shows the version.\n".to_owned(),
        _ => {
            let mut text = format!("{topic} [parameter]…\n\n");
            for known in table(topic) {
                line(&mut text, &known);
            }
            text.push_str(DISTRIBUTIONS);
            text
        }
    }
}

const DISTRIBUTIONS: &str = "
  Distributions: fixed(v), uniform(a..b), gaussian(a..b[,mean,stdev]), exp(a..b),
  extreme(a..b,shape), qextreme(a..b,shape,quantas), seq(a..b); ~ before the name inverts.
";

fn overview() -> String {
    let about = [
        "reads of the predefined table, after a write has filled it",
        "writes of the predefined table",
        "several of the predefined operations, with their shares",
        "updates of the predefined counters",
        "reads of the predefined counters",
        "operations of your own profiles",
    ];
    let mut text =
        "cassay stress COMMAND [parameter]… [-option parameter…]…\n\nCommands\n".to_owned();
    for ((verb, _), about) in VERBS.iter().zip(about) {
        text.push_str(&format!("  {verb:<15} {about}\n"));
    }
    text.push_str("  print           the shape of a distribution\n");
    text.push_str("  help            this text, or the parameters of a command or an option\n");
    text.push_str("  version         the version of this program\n\nOptions\n");
    for name in options::NAMES {
        let forms: Vec<&str> = table(name).iter().map(|known| known.form).collect();
        let forms = match name {
            "-sendto" => "refused".to_owned(),
            "-credentials-file" => "PATH".to_owned(),
            _ => forms.join(" "),
        };
        text.push_str(&format!("  {name:<15} {forms}\n"));
    }
    text
}

pub(super) fn table(topic: &str) -> Vec<KnownParam> {
    match topic {
        "mixed" => COMMON.into_iter().chain(MIXED).collect(),
        "user" => COMMON.into_iter().chain(USER).collect(),
        "-pop" => POP.to_vec(),
        "-insert" => INSERT.to_vec(),
        "-col" => COL.to_vec(),
        "-rate" => RATE.to_vec(),
        "-mode" => options::MODE.to_vec(),
        "-errors" => ERRORS.to_vec(),
        "-schema" => options::SCHEMA.to_vec(),
        "-node" => options::NODE.to_vec(),
        "-log" => options::LOG.to_vec(),
        "-transport" => options::TRANSPORT.to_vec(),
        "-port" => options::PORT.to_vec(),
        "-graph" => options::GRAPH.to_vec(),
        "-tokenrange" => options::TOKEN_RANGE.to_vec(),
        "-jmx" => options::JMX.to_vec(),
        "-reporting" => options::REPORTING.to_vec(),
        "-sendto" | "-credentials-file" => Vec::new(),
        _ => COMMON.to_vec(),
    }
}

fn line(text: &mut String, known: &KnownParam) {
    let value = match known.form.chars().next_back() {
        Some('(') => "…)",
        Some('=' | '<' | '>') => "…",
        _ => "",
    };
    let form = format!("{}{value}", known.form);
    text.push_str(&format!("  {form:<28} {}", known.about));
    if !known.default.is_empty() {
        text.push_str(&format!(" (default {})", known.default));
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_has_an_explanation_with_all_its_parameters() {
        for topic in topics() {
            let text = help(Some(topic));
            for known in table(topic) {
                let listed = text.contains(known.form);
                assert!(
                    listed || !text.contains("[parameter]"),
                    "{topic}: {}",
                    known.form
                );
            }
            assert!(text.starts_with(topic) || !VERBS.iter().any(|(verb, _)| *verb == topic));
        }
        let all = help(None);
        for name in options::NAMES {
            assert!(all.contains(name), "{name}");
        }
        assert!(help(Some("counteradd")).starts_with("counter_write"));
    }
}
