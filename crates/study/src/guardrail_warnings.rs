//! Warns of guardrails in `cassandra.yaml` that do not apply to any client.

use crate::settings::Study;
use std::collections::BTreeSet;
use target_spec::{Authentication, Target};

/// Returns a sentence for each guardrail that a study sets without effect. Guardrails have no
/// effect if all clients are superusers.
pub(crate) fn warnings(study: &Study) -> Vec<String> {
    let mut names = BTreeSet::new();
    for variant in &study.variants {
        if let Target::Local(spec) = &variant.settings.target
            && spec.authentication == Authentication::None
        {
            let line = spec.release.line();
            let all = target_spec::yaml_named(line, &spec.yaml);
            names.extend(all.into_iter().map(|(name, _)| name).filter(|n| line.is_guardrail(n)));
        }
    }
    let warning = |name: String| {
        format!(
            "`{name}` is a guardrail and has no effect here: guardrails apply only to ordinary \
             users, but without authentication every client is a superuser. Add `authentication: \
             password` to `target.local`, so that the load logs in as an ordinary user"
        )
    };
    names.into_iter().map(warning).collect()
}
