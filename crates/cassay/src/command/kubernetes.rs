//! `cassay kubernetes rbac`: what runs need in a namespace of a Kubernetes cluster.

use crate::args::{Common, KubernetesCommand, RbacArgs};
use crate::exit::Exit;
use crate::terminal;
use ::kubernetes::access::{Subject, manifests};
use anyhow::{Result, ensure};

/// Does the command.
pub fn run(command: &KubernetesCommand, common: &Common) -> Result<Exit> {
    match command {
        KubernetesCommand::Rbac(args) => rbac(args, common),
    }
}

fn rbac(args: &RbacArgs, common: &Common) -> Result<Exit> {
    ensure!(
        !common.json,
        "a role is printed as YAML, which `kubectl apply -f -` takes"
    );
    let subject = match &args.user {
        Some(user) => Subject::User(user.clone()),
        None => Subject::Account(args.account.clone()),
    };
    let text = manifests(&args.purposes, &args.secret, &args.namespace, &subject);
    terminal::data(&text);
    Ok(Exit::Done)
}
