//! `cassay kubernetes rbac|run`: prints the rights that runs need in a Kubernetes namespace, and
//! runs a study inside a cluster.

use crate::args::{Common, InsideArgs, KubernetesCommand, RbacArgs};
use crate::exit::Exit;
use crate::{interrupt, study_errors, terminal};
use ::kubernetes::access::{Purpose, Subject, manifests, missing};
use ::kubernetes::{BegunRun, InsideRun, Kubectl};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use study::resolve::{self, StudyError};
use study::settings::Overrides;

/// Runs `rbac` or `run`.
pub fn run(command: &KubernetesCommand, common: &Common) -> Result<Exit> {
    match command {
        KubernetesCommand::Rbac(args) => rbac(args, common),
        KubernetesCommand::Run(args) => inside(args, common),
    }
}

fn rbac(args: &RbacArgs, common: &Common) -> Result<Exit> {
    ensure!(
        !common.json,
        "cassay prints roles only as YAML, for `kubectl apply -f -`: remove --json"
    );
    let subject = match &args.user {
        Some(user) => Subject::User(user.clone()),
        None => Subject::Account(args.account.clone()),
    };
    let text = manifests(&args.purposes, &args.secret, &args.namespace, &subject);
    terminal::data(&text);
    Ok(Exit::Done)
}

/// Runs a study in a pod, and copies its results back.
fn inside(args: &InsideArgs, common: &Common) -> Result<Exit> {
    let files = match files(args) {
        Ok(files) => files,
        Err(StudyError::Mistakes(mistakes)) => {
            return Ok(study_errors::refuse(&mistakes, common.json));
        }
        Err(error @ StudyError::Unreadable { .. }) => return Err(error.into()),
    };
    ensure!(
        !files.has_recordings,
        "cassay does not copy recorded traffic into a Kubernetes cluster\nhint: run the study on \
         this machine, with clients in pods (`client.kubernetes`): cassay sends the recorded \
         operations to these clients"
    );
    host::process::heed(interrupt::flag()?);
    let kubectl = Kubectl::new(args.context.as_deref(), args.namespace.as_deref())?;
    let missing = missing(&kubectl, &[Purpose::Inside])?;
    if !missing.is_empty() {
        let told: Vec<String> = missing.iter().map(|one| format!("you {one}")).collect();
        bail!(
            "{}\nhint: `cassay kubernetes rbac --for inside` prints the required role",
            told.join("\n")
        );
    }
    let run = InsideRun {
        files: files.texts,
        arguments: args.options.clone(),
        image: args.image.clone(),
        millicpus: args.cpus,
        memory_bytes: args.memory,
        account: args.account.clone(),
        claim: args.claim.clone(),
    };
    let begun = run.begin(&kubectl, &mut |text| terminal::say(text))?;
    let code = followed(&begun).inspect_err(|_| {
        terminal::say(&format!(
            "the job {} still exists; to delete it, run `{} delete job {}`",
            begun.name(),
            kubectl.words(),
            begun.name()
        ));
    })?;
    begun
        .take_results(|archive| store::take_in(&common.out, archive))
        .context("copy the results to this machine")?;
    begun.end()?;
    terminal::say(&format!(
        "the results of the job are in {}",
        common.out.display()
    ));
    let ended = Exit::ALL.into_iter().find(|exit| i32::from(exit.code()) == code);
    Ok(ended.unwrap_or(Exit::Error))
}

/// Copies the program to the pod, and prints the output of the run until the run ends. Returns the
/// exit status of the run.
fn followed(begun: &BegunRun) -> Result<i32> {
    // cassay started this agent only to copy the program to the agent's folder. The agent can end
    // now, because the program stays in the folder.
    drop(host::Agent::to(begun.destination())?);
    begun.go()?;
    terminal::say(&format!(
        "{} runs in the pod {}",
        begun.name(),
        begun.destination().words()
    ));
    begun.follow(terminal::say)
}

struct Files {
    /// Texts of the study and of the files that it names, by name.
    texts: BTreeMap<String, String>,
    /// True if the study also names recorded traffic, which is not text.
    has_recordings: bool,
}

fn files(args: &InsideArgs) -> Result<Files, StudyError> {
    let mut overrides = Overrides::default();
    // This code does not check trust, because the run in the pod checks it.
    overrides.granted.trust = true;
    let study = resolve::read(&args.study, &overrides)?;
    let mut texts = study.inputs;
    texts.insert("study.yaml".to_owned(), study.text);
    Ok(Files {
        texts,
        has_recordings: study.recordings.iter().next().is_some(),
    })
}
