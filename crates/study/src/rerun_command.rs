//! Writes the command line that repeats a run.

use crate::settings::Study;
use target_spec::SecretSource;

/// Returns the command that repeats a run. `more` contains additional settings, such as
/// `window.warmup=60s`.
pub fn rerun(study: &Study, more: &[String]) -> String {
    let overrides = &study.overrides;
    let run = || format!("cassay run {}", yaml::shell_word(&study.source));
    let mut words = vec![overrides.command.clone().unwrap_or_else(run)];
    let mut option =
        |name: &str, value: &str| words.push(format!("{name} {}", yaml::shell_word(value)));
    if let Some(target) = &overrides.target {
        option("--target", target);
    }
    if let Some(scale) = &overrides.scale {
        option("--scale", scale);
    }
    for set in overrides.set.iter().chain(more) {
        option("--set", set);
    }
    if let Some(seed) = overrides.seed {
        option("--seed", &seed.to_string());
    }
    for (name, secret) in &overrides.granted.secrets {
        match secret {
            SecretSource::File(path) => {
                option("--secret", &format!("{name}=file:{}", path.display()))
            }
            SecretSource::Env(variable) => option("--secret", &format!("{name}=env:{variable}")),
            // The user passes these secrets with the command itself, so the command has no option
            // for them.
            SecretSource::Named(_) | SecretSource::Held(_) => {}
        }
    }
    let allow = &overrides.granted.allow;
    if !allow.is_empty() {
        option("--allow", &allow.to_string());
    }
    if overrides.granted.trust {
        words.push("--trust".to_owned());
    }
    words.join(" ")
}
