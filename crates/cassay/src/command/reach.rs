//! A target for who has no study: its way in is written as in one, and read by the same rules.

use std::path::PathBuf;
use study::resolve;
use study::settings::{Folder, Granted, Overrides};
use target::{SecretSource, Target};
use yaml::Diagnostics;

/// The target that the command line names, with its settings and where their secrets are.
///
/// # Errors
/// Mistakes in them.
pub(super) fn named(
    target: &str,
    set: &[String],
    secrets: &[(String, SecretSource)],
) -> Result<Target, Diagnostics> {
    let overrides = Overrides {
        target: Some(target.to_owned()),
        set: set.to_vec(),
        granted: Granted {
            secrets: secrets.iter().cloned().collect(),
            ..Granted::default()
        },
        // What the command line names is the user's own.
        files: Some(Folder {
            path: PathBuf::new(),
            open: true,
        }),
        ..Overrides::default()
    };
    self::target("{null: {}}", &overrides)
}

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
