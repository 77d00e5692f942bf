//! `cassay stress|nb|ycsb|easy`: runs the command line of another tool as a study.
//!
//! The command separates cassay's own options from the tool's words. It compiles the words first,
//! so that mistakes end the command here. Then it writes a study with the command line and runs it
//! like any other study. So results, reports and `resume` work as for any other study.

mod command_line_positions;
mod definition;

use super::run::run_study;
use super::say_notes;
use super::workload::{samples_json, samples_text};
use crate::args::{
    AllowArgs, Common, ImportArgs, ImportOptions, ShownArgs, SummaryArgs, ViewMode, unseen,
};
use crate::exit::Exit;
use crate::tool_output::Compat;
use crate::{study_errors, terminal};
use anyhow::{Context, Result};
use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches, Parser};
use definition::CompletedProfiles;
use engine::workers_auto;
use imports::{Connection, Import, ImportStep, Tool};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use study::inputs::Inputs;
use study::resolve;
use study::settings::{Folder, Overrides, Registry};
use workload::Sample;
use yaml::shell_word;

/// Runs a command line of `tool`.
pub fn run(tool: Tool, args: &ImportArgs, common: &Common) -> Result<Exit> {
    let (options, words) = match options(tool, &args.words) {
        Ok(split) => split,
        Err(usage) => return Ok(terminal::usage(&unseen(usage))),
    };
    let common = &Common {
        json: common.json || options.common.json,
        out: options.out(common),
    };
    let options = both(&args.options, options.options);
    let answer = match tool {
        Tool::Stress => imports::stress::answer(&words),
        Tool::Nb => imports::nb::answer(&words),
        Tool::Ycsb | Tool::Easy => None,
    };
    if let Some(text) = answer {
        terminal::data(&text);
        return Ok(Exit::Done);
    }
    let mut overrides = overrides_of(&options);
    let mut compiled = compile(tool, &words, &overrides);
    let mut defined = CompletedProfiles::default();
    if tool == Tool::Stress && compiled.0.is_err() {
        defined = definition::define_from_cluster(&words, &compiled.1, &overrides)?;
        if !defined.profiles.is_empty() {
            overrides.inputs = std::mem::take(&mut defined.profiles);
            compiled = compile(tool, &words, &overrides);
        }
    }
    let (import, inputs) = compiled;
    let import = match import {
        Ok(import) => import,
        Err(mistakes) => return Ok(study_errors::refuse(&defined.add_to(mistakes), common.json)),
    };
    if let Some(count) = options.sample {
        print_samples(&import, count, common);
        return Ok(Exit::Done);
    }
    overrides.inputs = inputs;
    let secret = Secret::for_connection(&import.connection)?;
    let shown = secret.hidden_in(tool, &words);
    let workers = workers(&overrides.set);
    let text = study_text(tool, &shown, (&import.connection, workers), &secret);
    overrides.granted.secrets = secret.given();
    overrides.granted.allow = options.allow.joined();
    overrides.command = Some(format!("cassay {} {}", tool.name(), command_line(&shown)));
    let mut study = match resolve::resolve(tool.name(), &text, &overrides) {
        Ok(study) => study,
        Err(mistakes) => {
            let mistakes = command_line_positions::in_words(&mistakes, &command_line(&shown));
            return Ok(study_errors::refuse(&mistakes, common.json));
        }
    };
    study.notes.extend(defined.notes);
    study.notes.extend(shared(&import.connection, workers));
    say_notes(&study);
    if options.check {
        return super::plan::show_words(&study, common);
    }
    let compat = if options.compat {
        Some(Compat::new(tool, &words, &import)?)
    } else {
        None
    };
    let shown = ShownArgs {
        view: options.view,
        summaries: SummaryArgs::default(),
        ..ShownArgs::default()
    };
    run_study(&study, common, compat, &shown)
}

/// Returns the overrides that cassay's options request. The tool's words may name files in any
/// folder.
fn overrides_of(options: &ImportOptions) -> Overrides {
    Overrides {
        target: options.target.clone(),
        set: options.set.clone(),
        seed: options.seed,
        files: Some(Folder {
            path: PathBuf::new(),
            open: true,
        }),
        registry: Registry(Some(::supply::is_published)),
        ..Overrides::default()
    }
}

fn print_samples(import: &Import, count: u64, common: &Common) {
    let of = |step: &ImportStep| {
        let (program, stage) = (&step.program, step.stage);
        workload::sample(program, stage, step.first_operation, count)
    };
    let all: Vec<(&str, Vec<Sample>)> =
        import.steps.iter().map(|step| (step.name.as_str(), of(step))).collect();
    if common.json {
        let one = |(name, samples): &(&str, Vec<Sample>)| {
            let operations = samples_json(samples);
            json!({"step": name, "operations": operations})
        };
        terminal::json(&all.iter().map(one).collect());
        return;
    }
    for (name, samples) in &all {
        terminal::data(&format!("{name}:\n{}", samples_text(samples)));
    }
}

/// Merges cassay's options before the tool's words with cassay's options among the words.
fn both(before: &ImportOptions, among: ImportOptions) -> ImportOptions {
    ImportOptions {
        target: before.target.clone().or(among.target),
        compat: before.compat || among.compat,
        set: [before.set.clone(), among.set].concat(),
        seed: before.seed.or(among.seed),
        check: before.check || among.check,
        sample: before.sample.or(among.sample),
        view: if among.view.view == ViewMode::Auto {
            before.view
        } else {
            among.view
        },
        allow: AllowArgs {
            allow: [before.allow.allow.clone(), among.allow.allow].concat(),
        },
    }
}

/// Separates cassay's options from the words for the tool. An option with two dashes belongs to
/// cassay if cassay has an option of this name.
fn options(tool: Tool, words: &[String]) -> Result<(ImportOptionsOnly, Vec<String>), clap::Error> {
    let (mut ours, mut theirs) = (vec![tool.name().to_owned()], Vec::new());
    let command = ImportOptionsOnly::command();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let name = word.strip_prefix("--").unwrap_or_default();
        let (name, has_value) = match name.split_once('=') {
            Some((name, _)) => (name, true),
            None => (name, false),
        };
        let known = command.get_arguments().find(|a| a.get_long() == Some(name));
        match known {
            None => theirs.push(word.clone()),
            Some(argument) => {
                ours.push(word.clone());
                if !has_value && argument.get_action().takes_values() {
                    ours.extend(words.next().cloned());
                }
            }
        }
    }
    let matches = command.try_get_matches_from(ours)?;
    let mut options = ImportOptionsOnly::from_arg_matches(&matches)?;
    options.has_out = matches.value_source("out") == Some(ValueSource::CommandLine);
    Ok((options, theirs))
}

/// Parser of cassay's own options, which may be at any position.
#[derive(Debug, Parser)]
#[command(disable_help_flag = true)]
struct ImportOptionsOnly {
    #[command(flatten)]
    options: ImportOptions,
    #[command(flatten)]
    common: Common,
    /// True if the command line names the results folder.
    #[arg(skip)]
    has_out: bool,
}

impl ImportOptionsOnly {
    /// Returns the results folder. If the user names a folder both before and among the words, the
    /// folder among the words takes precedence.
    fn out(&self, common: &Common) -> PathBuf {
        if self.has_out {
            self.common.out.clone()
        } else {
            common.out.clone()
        }
    }
}

/// The import or its mistakes, and the texts of the files that the import has read.
type ImportResult = (Result<Import, yaml::Diagnostics>, BTreeMap<String, String>);

fn compile(tool: Tool, words: &[String], overrides: &Overrides) -> ImportResult {
    let inputs = Inputs::new(overrides);
    let seed = overrides.seed.unwrap_or_default();
    let import = imports::import(tool, words, seed, &|name| inputs.read(name));
    let password = import.as_ref().ok().and_then(|i| i.connection.password.as_ref());
    inputs.hide(tool, password.map_or("", |password| password.reveal()));
    (import, inputs.into_read())
}

/// The password of an imported command line. It remains in memory, because the written study
/// contains only a name for the password.
struct Secret {
    password: Option<String>,
    /// File with the password, if the user names a file instead of the password.
    named: Option<PathBuf>,
}

/// Name of the password in the written study.
const SECRET: &str = "password";

impl Secret {
    /// Returns the words without the password and without other secrets, such as the passwords of
    /// keystores.
    fn hidden_in(&self, tool: Tool, words: &[String]) -> Vec<String> {
        tool.without_secrets(words, self.password.as_deref().unwrap_or_default())
    }

    fn for_connection(connection: &Connection) -> Result<Secret> {
        let password = connection.password.as_ref().map(|p| p.reveal().to_owned());
        let named = match (&password, &connection.password_file) {
            (None, Some(name)) => {
                let path = std::path::absolute(name);
                Some(path.with_context(|| format!("find the password file {name}"))?)
            }
            _ => None,
        };
        Ok(Secret { password, named })
    }

    /// Returns the source of the password, by its name in the written study.
    fn given(&self) -> BTreeMap<String, target_spec::SecretSource> {
        let held =
            |text: &String| target_spec::SecretSource::Held(target_spec::Secret::new(text.clone()));
        let held = self.password.as_ref().map(held);
        let given = held.or_else(|| self.named.clone().map(target_spec::SecretSource::File));
        given.map(|secret| (SECRET.to_owned(), secret)).into_iter().collect()
    }
}

/// Formats the `attach` section of the study: contact points, data center, login and TLS.
fn attach_text(connection: &Connection, secret: &Secret) -> String {
    let mut contact = connection.nodes.clone();
    if contact.is_empty() {
        contact.push("localhost".to_owned());
    }
    if let Some(port) = connection.port {
        let with_port = |node: &String| {
            if node.contains(':') {
                node.clone()
            } else {
                format!("{node}:{port}")
            }
        };
        contact = contact.iter().map(with_port).collect();
    }
    let contact: Vec<String> = contact.iter().map(|node| yaml_text(node)).collect();
    let mut attach = format!("contact_points: [{}]", contact.join(", "));
    if let Some(datacenter) = &connection.datacenter {
        attach += &format!(", datacenter: {}", yaml_text(datacenter));
    }
    let has_password = secret.password.is_some() || secret.named.is_some();
    if let Some(user) = connection.username.as_ref().filter(|_| has_password) {
        attach += &format!(
            ", user: {}, password: {{secret: {SECRET}}}",
            yaml_text(user)
        );
    }
    if connection.tls == Some(true) {
        attach += ", tls: {verify: true}";
    }
    attach
}

fn command_line(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
    words.join(" ")
}

fn study_text(
    tool: Tool,
    words: &[String],
    (connection, workers): (&Connection, u32),
    secret: &Secret,
) -> String {
    let command = command_line(words);
    let attach = attach_text(connection, secret);
    let mut client = Vec::new();
    if let Some(compression) = connection.compression {
        client.push(format!("compression: {}", compression.name()));
    }
    if let Some(connections) = connection.connections_per_node {
        let each = connections.div_ceil(workers);
        client.push(format!("connections_per_node: {each}"));
    }
    let client = if client.is_empty() {
        String::new()
    } else {
        format!("client: {{{}}}\n", client.join(", "))
    };
    format!(
        "# Written by `cassay {tool}`.\nstudy: {tool}\n\
         question: {}\ntarget: {{attach: {{{attach}}}}}\n\
         workload: {{{tool}: {}}}\ndata: {{settle: none}}\n{client}",
        yaml_text(&format!("What does `{} {command}` measure?", tool.name())),
        yaml_text(&command),
        tool = tool.name(),
    )
}

fn workers(set: &[String]) -> u32 {
    let said = set
        .iter()
        .rev()
        .find_map(|set| set.strip_prefix("client.workers="))
        .and_then(|number| number.trim().parse::<u32>().ok());
    said.unwrap_or_else(|| workers_auto() as u32).max(1)
}

/// Returns a note on the number of connections: the threads of a tool share connections, but
/// workers do not. `None` for a single worker, or if the command line does not set the number.
fn shared(connection: &Connection, workers: u32) -> Option<String> {
    let asked = connection.connections_per_node.filter(|_| workers > 1)?;
    let each = asked.div_ceil(workers);
    let all = each * workers;
    let more = if all > asked {
        format!(", so {all} in total instead of {asked}")
    } else {
        String::new()
    };
    Some(format!(
        "the tool shares {asked} connections to each node among all its threads, but each of \
         cassay's {workers} workers opens {each} separate connections to each node{more}"
    ))
}

fn yaml_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// cassay divides the connections among the workers. If each worker opened the full number of
    /// connections, the total would be several times the requested number.
    #[test]
    fn connections_of_the_tool_are_divided_among_workers() {
        let secret = Secret {
            password: None,
            named: None,
        };
        for (asked, workers, each, said) in [
            (8, 1, 8, None),
            (
                8,
                4,
                2,
                Some("each of cassay's 4 workers opens 2 separate connections to each node"),
            ),
            (
                3,
                2,
                2,
                Some("2 separate connections to each node, so 4 in total instead of 3"),
            ),
            (
                1,
                8,
                1,
                Some("1 separate connections to each node, so 8 in total instead of 1"),
            ),
            (
                1000,
                2,
                500,
                Some("each of cassay's 2 workers opens 500 separate connections to each node"),
            ),
        ] {
            let connection = Connection {
                connections_per_node: Some(asked),
                ..Connection::default()
            };
            let text = study_text(Tool::Stress, &[], (&connection, workers), &secret);
            assert!(
                text.contains(&format!("connections_per_node: {each}}}")),
                "{text}"
            );
            let note = shared(&connection, workers);
            let fits = |said: &str| note.as_ref().is_some_and(|note| note.ends_with(said));
            assert!(said.map_or(note.is_none(), fits), "{note:?}");
        }
        assert_eq!(shared(&Connection::default(), 4), None);
        let set =
            |words: &[&str]| workers(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        assert_eq!(set(&["client.workers=3", "client.workers=5"]), 5);
        assert!(set(&["client.workers=auto"]) >= 1 && set(&[]) >= 1);
    }
}
