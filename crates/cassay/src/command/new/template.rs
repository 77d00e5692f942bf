//! The templates of studies, as data: their texts and questions.

use super::compare;
use super::template_target::TargetChoice;
use std::collections::BTreeMap;

/// A study whose text has gaps.
#[derive(Debug)]
pub struct Template {
    /// Name of the template and of the study.
    pub name: &'static str,
    /// The question that the study answers.
    pub what: &'static str,
    /// Text of the study. `<key>` represents the answer to the question about that key. A line that
    /// begins with names of targets, such as `null|` or `null,local|`, is only used for these
    /// targets.
    pub text: &'static str,
    /// Questions of the template, in addition to the question about the target.
    pub questions: &'static [Question],
}

impl Template {
    /// Returns true if the template supports a target. The template for an existing table needs an
    /// attached cluster.
    pub fn takes(&self, place: &TargetChoice) -> bool {
        !self.text.contains("table:") || matches!(place, TargetChoice::Attach(_))
    }

    /// Returns true if the study compares two sides.
    pub fn compares(&self) -> bool {
        self.text.contains("<side.baseline>")
    }

    /// Returns the default target.
    pub fn usual_place(&self) -> TargetChoice {
        if self.compares() {
            TargetChoice::Local
        } else if self.takes(&TargetChoice::Null) {
            TargetChoice::Null
        } else {
            TargetChoice::Attach("127.0.0.1:9042".to_owned())
        }
    }
}

/// A question to the user.
#[derive(Debug)]
pub struct Question {
    /// Key of the study that the answer sets.
    pub key: &'static str,
    /// Text of the question. Empty if the text depends on the target.
    asks: &'static str,
    /// Default answer. Empty if the default depends on earlier answers.
    default: &'static str,
}

impl Question {
    /// Returns the text of the question. Only the question about the compared setting depends on
    /// the target.
    pub fn question(&self, place: &TargetChoice) -> String {
        if self.key == compare::SUBJECT_KEY {
            compare::asks(place)
        } else {
            self.asks.to_owned()
        }
    }

    /// Returns the default answer, given these earlier answers.
    pub fn usual(&self, place: &TargetChoice, answers: &BTreeMap<&'static str, String>) -> String {
        if self.default.is_empty() {
            compare::default(self.key, place, answers)
        } else {
            self.default.to_owned()
        }
    }
}

const fn ask(key: &'static str, asks: &'static str, default: &'static str) -> Question {
    Question { key, asks, default }
}

const ROWS: Question = ask("data.load.operations", "How many rows?", "100k");
const MIX: Question = ask(
    "workload.mix",
    "Which ratio of writes to reads?",
    "{write: 1, read: 1}",
);

/// All templates for studies.
pub const TEMPLATES: &[Template] = &[
    Template {
        name: "peak",
        what: "the highest throughput within a latency limit",
        text: include_str!("templates/peak.yaml"),
        questions: &[
            ask(
                "procedure.peak.p99_ms",
                "Upper limit of p99 latency, in ms?",
                "10",
            ),
            MIX,
            ROWS,
        ],
    },
    Template {
        name: "compare",
        what: "a comparison of two compressors, collectors, heaps, settings or versions",
        text: include_str!("templates/compare.yaml"),
        questions: &[
            // The texts are empty, because the question and the defaults depend on the target and
            // on the first answer.
            ask(compare::SUBJECT_KEY, "", ""),
            ask("baseline", "Value of the first variant (the baseline)?", ""),
            ask("contender", "Value of the second variant?", ""),
            ask(
                "procedure.fixed.threads",
                "How many operations in flight?",
                "32",
            ),
        ],
    },
    Template {
        name: "sweep",
        what: "throughput and latency at several loads",
        text: include_str!("templates/sweep.yaml"),
        questions: &[
            ask(
                "procedure.sweep.threads",
                "How many operations in flight?",
                "[4, 16, 64]",
            ),
            MIX,
            ROWS,
            ask("repeat.blocks", "How many repetitions of each point?", "1"),
        ],
    },
    Template {
        name: "fault",
        what: "the effect of a fault on clients, and the recovery",
        text: include_str!("templates/fault.yaml"),
        questions: &[
            ask(
                "faults.kind",
                "Which fault? (`cassay fault list`)",
                "node-kill",
            ),
            ask("faults.for", "For how long?", "30s"),
            ask(
                "procedure.fixed.rate",
                "How many operations per second?",
                "1k",
            ),
            ROWS,
        ],
    },
    Template {
        name: "upgrade",
        what: "throughput and latency before and after an upgrade",
        text: include_str!("templates/upgrade.yaml"),
        questions: &[
            ask(
                "procedure.sweep.rate",
                "Which rates, in operations per second?",
                "[1k, 2k, 4k]",
            ),
            MIX,
            ROWS,
            ask("repeat.blocks", "How many repetitions of each rate?", "3"),
        ],
    },
    Template {
        name: "own-table",
        what: "reads of an existing table",
        text: include_str!("templates/own-table.yaml"),
        questions: &[
            ask(
                "workload.table",
                "Which table, as keyspace.table?",
                "shop.users",
            ),
            ask(
                "workload.keys.count",
                "How many partitions of the table should cassay sample?",
                "10k",
            ),
            ask(
                "procedure.fixed.rate",
                "How many operations per second?",
                "1k",
            ),
        ],
    },
    Template {
        name: "endurance",
        what: "drift, changes and growth of resources under one load for hours",
        text: include_str!("templates/endurance.yaml"),
        questions: &[
            ask("procedure.endurance.for", "For how long?", "1h"),
            ask(
                "procedure.endurance.rate",
                "How many operations per second?",
                "2k",
            ),
            MIX,
            ROWS,
        ],
    },
    Template {
        name: "capacity",
        what: "the number of nodes that a demand requires",
        text: include_str!("templates/capacity.yaml"),
        questions: &[
            ask(
                "capacity.ops_per_s",
                "How many operations per second must the cluster handle?",
                "50k",
            ),
            ask(
                "capacity.p99_ms",
                "Upper limit of p99 latency, in ms?",
                "20",
            ),
            ask(
                "procedure.sweep.rate",
                "Which rates, in operations per second, lowest first?",
                "[1k, 2k, 4k, 8k]",
            ),
            ROWS,
        ],
    },
];
