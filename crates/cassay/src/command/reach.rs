//! A target for who has no study: its way in is written as in one, and read by the same rules.

use study::resolve;
use study::settings::Overrides;
use target::Target;
use yaml::Diagnostics;

/// The target of `{attach: …}` and the like, with what the command line lays over it.
///
/// # Errors
/// Mistakes in either.
pub(super) fn target(written: &str, overrides: &Overrides) -> Result<Target, Diagnostics> {
    let study = format!(
        "study: reach\nquestion: What does the target say?\ntarget: {written}\n\
         workload: {{use: kv}}\ndata: {{load: {{operations: 1}}}}\n\
         procedure: {{fixed: {{threads: 1}}}}\n"
    );
    let study = resolve::resolve("target", &study, overrides)?;
    let mut variants = study.variants.into_iter();
    let target = variants.next().map(|variant| variant.settings.target);
    Ok(target.expect("a study has a variant"))
}
