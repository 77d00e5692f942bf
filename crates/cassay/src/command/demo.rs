//! `cassay demo`: runs the first-look study, from an empty folder to its report.

use super::{run, studies};
use crate::args::{Common, DemoArgs, DemoTarget, RunArgs, StudyArgs, TrustArgs};
use crate::exit::Exit;
use crate::terminal;
use ::supply::java;
use anyhow::{Context, Result};
use std::path::Path;
use target_spec::{JavaWanted, LocalSpec};

const STUDY: &str = "first-look";

const NO_CASSANDRA: &str = "the null target is not Cassandra, but a server in cassay that answers \
                            immediately and stores no data. So this demo measures cassay on this \
                            machine. `cassay demo` measures Cassandra";

/// Runs the command.
///
/// 1. Fails if the demo needs Java and Java is missing. The error names an alternative.
/// 2. Writes the study as a file.
/// 3. Runs the study. The run ends by naming the report.
pub fn run(args: &DemoArgs, common: &Common) -> Result<Exit> {
    let (target, scale) = match args.target {
        DemoTarget::Local => {
            java::find(&JavaWanted::from_spec(&LocalSpec::default())).context(
                "this demo needs Java, because it starts a real Cassandra node. `cassay demo \
                 --target null` measures a server in cassay instead, and needs no Java",
            )?;
            (None, "laptop")
        }
        DemoTarget::Null => {
            terminal::say(&format!("note: {NO_CASSANDRA}"));
            (Some("null".to_owned()), "minute")
        }
    };
    let again = match args.target {
        DemoTarget::Local if is_made() => "make demo",
        DemoTarget::Local => "cassay demo",
        DemoTarget::Null => "cassay demo --target null",
    };
    let study = studies::as_file(STUDY)?;
    say_command(&study, target.as_deref(), scale);
    run::demo(
        &RunArgs {
            study: StudyArgs {
                study,
                target,
                scale: Some(scale.to_owned()),
                set: Vec::new(),
                machines: None,
                seed: None,
                trust: TrustArgs::default(),
            },
            shown: args.shown.clone(),
        },
        common,
        again,
    )
}

/// Returns true if `make` runs this command. If so, the user repeats the demo with `make`.
fn is_made() -> bool {
    std::env::var_os("MAKELEVEL").is_some()
}

fn say_command(study: &Path, target: Option<&str>, scale: &str) {
    let target = target.map(|target| format!(" --target {target}")).unwrap_or_default();
    let study = study.display();
    terminal::say(&format!(
        "this demo runs the command: cassay run {study}{target} --scale {scale}"
    ));
}
