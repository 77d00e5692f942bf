//! Generates the reference of a study's format, `docs/study-file.md`, from the table of keys.

use crate::check;
use crate::format::{self, Type};
use crate::units;
use std::fmt::Write;
use target_spec::fault::KINDS;

const INTRODUCTION: &str = "\
# The study file

<!-- Made from the table in crates/study/src/format/fields.rs. To change it, change the table, run
     UPDATE_EXPECT=1 cargo test -p study -->

A study is one question in one YAML file. This page lists every key. cassay refuses any
other key, with its line, its column and the most similar key. It reports all mistakes together,
before it starts a process.

Counts may have a suffix: `250`, `10k`, `2M`. Durations always have a unit: `250ms`, `10s`, `1m30s`.
Sizes and bit rates also have a unit: `512MiB`, `1GiB`, `100Mbit`, `1Gbit`. A study never contains
secrets. A password is `{secret: NAME}`, and the command line names its source:
`--secret NAME=file:PATH` or `--secret NAME=env:VARIABLE`. Or it is `{file: PATH}`, a file in the
study's folder or below it.

A study is data. It runs no program, reads no file outside its folder, and sends no environment
variable. It contacts no address except those of the target and this machine. cassay refuses JVM
options and settings of cassandra.yaml unless it knows that they are harmless. It also refuses other
files and addresses, and `{env: VARIABLE}`. The command line (`--set`) permits each of them, and
`--trust` permits all of them.

- **Variants** change some settings of the study. Mappings merge key by key. A variant replaces
  these as a whole: `keyspace.replication`, `keyspace.compaction`, `keyspace.compression`,
  `target.null.errors`, passwords, and values for each kind of operation in `workload` (`mix`,
  `consistency`, `timeout` and so on).
- A **matrix** is every combination of the values of its axes, which must not set the same key.
- **Phases** change the nodes for a part of every trial.
- **Scales** are other sizes of the same question: dotted keys with values, for `--scale NAME`.
- On the command line, `--set dotted.path=value` changes one setting. `--target null`,
  `--target local` and `--target attach:HOST[:PORT]` change the target.

Settings apply in this order: study, scale, `--target`, `--set`, variant or the axes of the matrix
one after the other, phase.

```yaml
study: first-look
question: How do throughput and latency grow with the operations in flight?
target: {local: {cassandra: 5.0.9, heap: 1GiB}}
workload: {use: standard1}
data: {load: {operations: 200k}}
variants:
  writes: {workload: {mix: {write: 1}}}
  mixed: {workload: {mix: {write: 9, read: 1}}}
procedure: {sweep: {threads: [8, 32, 128]}}
scales:
  laptop: {data.load.operations: 50k, window.measure: 5s}
```

The next study uses three hosts. It loads them once, with a periodically synced commit log, and
restores that state before each trial. It measures all four combinations of two heaps and two commit
logs:

```yaml
study: two-by-two
question: What do a larger heap and a batched commit log do to writes?
target:
  local:
    hosts: 3
    host: {memory: 3GiB, volume: 20GiB}
keyspace: {replication: {dc1: 3}}
workload: {use: standard1, mix: {write: 1}}
data: {load: {bytes_per_node: 200MB}, reset: snapshot}
phases: {load: {target: {local: {yaml: {commitlog_sync: periodic}}}}}
matrix:
  heap: {small: {target: {local: {heap: 512MiB}}}, large: {target: {local: {heap: 1GiB}}}}
  sync:
    periodic: {}
    batch: {target: {local: {yaml: {commitlog_sync: batch}}}}
procedure: {fixed: {threads: 32}}
```
";

/// Returns the whole page.
pub fn markdown() -> String {
    let mut page = INTRODUCTION.to_owned();
    let tops: Vec<_> = format::children("").collect();
    page += "\n## Keys of a study\n\n";
    table(&mut page, "");
    for (key, field) in tops {
        if format::children(key).next().is_some() {
            let _ = write!(page, "\n## `{key}`\n\n{}\n\n", field.what);
            section(&mut page, key);
        }
    }
    page += "\n## Keys that exclude each other\n\n";
    for group in format::EXCLUSIVE {
        let keys = group.keys.join("`, `");
        let how = if group.needed {
            "exactly one"
        } else {
            "at most one"
        };
        let _ = writeln!(page, "- `{}`: {how} of `{keys}`", group.path);
    }
    fault_kinds(&mut page);
    page += "\n## Workloads\n";
    for named in workload::names() {
        let _ = write!(
            page,
            "\n### `{}`\n\n{}\n\n",
            named.name,
            one_line(named.what)
        );
        let mix: Vec<_> = named.mix.iter().map(|(k, w)| format!("{k}: {w}")).collect();
        let _ = writeln!(
            page,
            "Kinds: `{}`. Default mix: `{{{}}}`. Default keyspace: `{}`.\n",
            named.kinds.join("`, `"),
            mix.join(", "),
            named.keyspace
        );
        page += "| parameter | default | meaning |\n| --- | --- | --- |\n";
        for (name, default, meaning) in named.params {
            let _ = writeln!(page, "| `{name}` | `{default}` | {} |", one_line(meaning));
        }
    }
    page
}

fn fault_kinds(page: &mut String) {
    page.push_str("\n## Kinds of faults\n\n");
    page.push_str("A value of `faults.kind`, with its effect and its options.\n\n");
    page.push_str("| kind | effect | options |\n| --- | --- | --- |\n");
    for kind in KINDS {
        let options: Vec<_> = kind.takes.iter().map(|knob| format!("`{}`", knob.name())).collect();
        let (what, options) = (one_line(&kind.what), options.join(", "));
        let _ = writeln!(page, "| `{}` | {what} | {options} |", kind.name);
    }
}

fn section(page: &mut String, path: &str) {
    table(page, path);
    for (_, field) in format::children(path) {
        if format::children(field.path).next().is_some() {
            let _ = write!(
                page,
                "\n### `{}`\n\n{}\n\n",
                field.path,
                one_line(field.what)
            );
            section(page, field.path);
        }
    }
}

fn table(page: &mut String, path: &str) {
    page.push_str("| key | value | default | meaning |\n| --- | --- | --- | --- |\n");
    for (key, field) in format::children(path) {
        let default = match field.default {
            _ if field.required => "required".to_owned(),
            Some("{}") | None => String::new(),
            Some(default) => format!("`{default}`"),
        };
        let words = match &field.typ {
            // The cell is short, because a separate table on the page lists the kinds of faults.
            Type::List(Type::Fault(_)) => {
                "a list of [kinds of faults](#kinds-of-faults)".to_owned()
            }
            typ => value_words(typ),
        };
        let what = one_line(field.what);
        let _ = writeln!(page, "| `{key}` | {words} | {default} | {what} |");
    }
}

/// Describes the values that a type allows, with their limits.
pub fn value_words(typ: &Type) -> String {
    let between = |words: &str, min: String, max: String| format!("{words}, {min} to {max}");
    match typ {
        Type::Count(0, u64::MAX, _) => "a whole number".to_owned(),
        Type::Count(min, max, _) => between(
            "a whole number",
            units::format_count(*min),
            units::format_count(*max),
        ),
        Type::Duration(min, max, _) => between(
            "a duration",
            units::format_duration_ns(*min),
            units::format_duration_ns(*max),
        ),
        Type::Bytes(min, max, _) => between(
            "a size",
            units::format_bytes(*min),
            units::format_bytes(*max),
        ),
        Type::BitRate(min, max, _) => between(
            "a bit rate",
            units::format_bit_rate(*min),
            units::format_bit_rate(*max),
        ),
        Type::Number(min, max, _) => between("a number", min.to_string(), max.to_string()),
        Type::Share(min, max, _) => between(
            "a share",
            units::format_share(*min),
            units::format_share(*max),
        ),
        Type::Choice(_) | Type::Level(..) | Type::Fault(_) => {
            format!("`{}`", typ.words().join("`, `"))
        }
        Type::List(item) => format!("a list of {}", item_words(item)),
        Type::Map(item) => format!("a mapping of names to {}", item_words(item)),
        Type::WordOr(_, other) => {
            format!("`{}`, or {}", typ.words().join("`, `"), value_words(other))
        }
        Type::Either(a, b) => format!("{}; or {}", value_words(a), value_words(b)),
        other => check::words(other),
    }
}

/// Describes the items of a list or the values of a mapping, in the plural.
fn item_words(typ: &Type) -> String {
    match typ {
        Type::Either(a, b) => format!("{} or {}", item_words(a), item_words(b)),
        typ => check::plural(&value_words(typ)),
    }
}

fn one_line(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::format;
    use expect_test::expect_file;

    #[test]
    fn the_checked_in_reference_is_the_tables() {
        expect_file!["../../../docs/study-file.md"].assert_eq(&super::markdown());
    }

    /// The page claims to contain every key. In an earlier version, the keys of `probes` were
    /// missing.
    #[test]
    fn every_key_is_in_the_page() {
        let page = super::markdown();
        for field in format::fields() {
            let (section, key) = field.path.rsplit_once('.').unwrap_or(("", field.path));
            let top = section.split('.').next().unwrap_or_default();
            let heading = match section {
                "" => "\n## Keys of a study\n".to_owned(),
                _ if section == top => format!("\n## `{section}`\n"),
                _ => format!("\n### `{section}`\n"),
            };
            let Some((_, below)) = page.split_once(&heading) else {
                panic!("{section} of {} has no section", field.path);
            };
            let table = below.split("\n#").next().unwrap_or_default();
            assert!(table.contains(&format!("\n| `{key}` |")), "{}", field.path);
        }
    }

    #[test]
    fn the_examples_are_studies() {
        let examples = super::INTRODUCTION.split("```").skip(1).step_by(2);
        let variants = examples.map(|example| {
            let text = example.strip_prefix("yaml\n").unwrap();
            let study = crate::resolve::resolve("example", text, &Default::default());
            study.unwrap_or_else(|m| panic!("{m}")).variants.len()
        });
        assert_eq!(variants.collect::<Vec<_>>(), [2, 4]);
    }
}
