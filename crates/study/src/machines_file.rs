//! Reads a file of machines without a study. The same rules apply as for a file that a study names.

use crate::resolve::resolve;
use crate::settings::Overrides;
use target_spec::RemoteHost;
use yaml::Diagnostics;

/// Returns the machines of a file that the command line names. `text` is the content of the file.
///
/// # Errors
/// The file has mistakes. The error contains all of them.
pub fn read_machines(name: &str, text: &str) -> Result<Vec<RemoteHost>, Diagnostics> {
    const STUDY: &str = "{study: machines, question: none, workload: {use: kv, mix: {write: 1}}, \
                         procedure: {fixed: {threads: 1}}, target: {local: {machines: []}}}";
    let mut overrides = Overrides::default();
    overrides.inputs.insert(name.to_owned(), text.to_owned());
    overrides.granted.trust = true;
    let quoted = serde_json::Value::from(name).to_string();
    let study = STUDY.replace("[]", &format!("[{quoted}]"));
    let study = resolve(name, &study, &overrides)?;
    let first = study.variants.into_iter().next();
    let local = first.and_then(|one| one.settings.target.local().cloned());
    Ok(local.map(|local| local.machines().to_vec()).unwrap_or_default())
}
