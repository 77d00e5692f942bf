//! Checks, before a run changes anything, that the user may create or break pods in the Kubernetes
//! clusters of a study.

use anyhow::{Context, Result};
use kubernetes::Kubectl;
use kubernetes::access::Purpose;
use study::settings::{Settings, Study};
use target_spec::fault::{FaultKind, FaultName, Means};
use target_spec::{AttachSpec, Target};

/// Returns the permissions that the user lacks in the Kubernetes clusters in which a study uses
/// pods.
pub(super) fn refused(study: &Study) -> Result<Vec<String>> {
    let mut refused = Vec::new();
    let mut seen: Vec<(Kubectl, Purpose)> = Vec::new();
    for variant in &study.variants {
        for (kubectl, purpose, path) in wanted(&variant.settings)? {
            let asked = (kubectl, purpose);
            if seen.contains(&asked) {
                continue;
            }
            let missing = kubernetes::access::missing(&asked.0, &[purpose])
                .with_context(|| format!("check the permissions for `{path}`"))?;
            let namespace = asked.0.namespace_or_default()?;
            refused.extend(missing.iter().map(|missing| {
                format!(
                    "you {missing}, which `{path}` requires; `cassay kubernetes rbac --for {} \
                     --namespace {namespace}` prints the whole role",
                    purpose.name()
                )
            }));
            seen.push(asked);
        }
    }
    Ok(refused)
}

/// Returns the pods that a variant needs or may break. Each row has the `kubectl` for their context
/// and namespace, the purpose, and the section of the study.
fn wanted(settings: &Settings) -> Result<Vec<(Kubectl, Purpose, &'static str)>> {
    let mut all = Vec::new();
    if let Some(pods) = &settings.client.kubernetes {
        let kubectl = Kubectl::new(pods.context.as_deref(), pods.namespace.as_deref())?;
        all.push((kubectl, Purpose::Clients, "client.kubernetes"));
    }
    let hosts = settings.target.local().and_then(|local| local.hosts.as_ref());
    if let Some(pods) = hosts.and_then(|hosts| hosts.pods.as_ref()) {
        let kubectl = Kubectl::new(pods.context.as_deref(), pods.namespace.as_deref())?;
        all.push((kubectl.clone(), Purpose::Nodes, "target.local.pods"));
        all.extend(broken(settings, &kubectl));
    }
    if let Target::Attach(AttachSpec {
        kubernetes: Some(there),
        ..
    }) = &settings.target
    {
        let kubectl = Kubectl::new(there.context.as_deref(), there.namespace.as_deref())?;
        all.extend(broken(settings, &kubectl));
    }
    Ok(all)
}

/// Returns the permissions that the faults of a variant need if its nodes are pods.
fn broken(
    settings: &Settings,
    kubectl: &Kubectl,
) -> impl Iterator<Item = (Kubectl, Purpose, &'static str)> {
    let kinds = || settings.faults.iter().map(|fault| &fault.kind);
    let has = |name| kinds().any(|kind| kind.means == Means::BuiltIn(name));
    let is_operated = matches!(&settings.target, Target::Attach(spec) if spec.is_operated());
    let restarts = has(FaultName::OperatorRestart);
    let purposes = [
        (Purpose::PodFaults, kinds().any(FaultKind::ends_pods)),
        (Purpose::Cordons, has(FaultName::PodEvict)),
        (Purpose::Policies, has(FaultName::NetPolicy)),
        (Purpose::Tasks, restarts && is_operated),
        (Purpose::Rollouts, restarts && !is_operated),
    ];
    let wanted = purposes.into_iter().filter(|(_, is_needed)| *is_needed);
    let kubectl = kubectl.clone();
    wanted.map(move |(purpose, _)| (kubectl.clone(), purpose, "faults"))
}
