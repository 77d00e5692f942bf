//! Builds the target of a command without a study. The arguments describe the access to the target
//! as a study does, and the resolver of studies parses them.

use std::path::PathBuf;
use study::resolve;
use study::settings::{Folder, GrantedPermissions, Overrides};
use target_spec::{SecretSource, Target};
use yaml::Diagnostics;

/// Returns the target that the command line names, with its settings and the sources of its
/// secrets.
///
/// # Errors
/// The target, a setting or the source of a secret is invalid.
pub(super) fn parse_target(
    target: &str,
    set: &[String],
    secrets: &[(String, SecretSource)],
) -> Result<Target, Diagnostics> {
    let overrides = Overrides {
        target: Some(target.to_owned()),
        set: set.to_vec(),
        granted: GrantedPermissions {
            secrets: secrets.iter().cloned().collect(),
            ..GrantedPermissions::default()
        },
        // The user wrote the paths on the command line, so they may be in any folder.
        files: Some(Folder {
            path: PathBuf::new(),
            open: true,
        }),
        ..Overrides::default()
    };
    self::target("{null: {}}", &overrides)
}

/// Returns the target of a target argument such as `{attach: …}`, with the overrides of the command
/// line.
///
/// # Errors
/// The argument or the overrides contain mistakes.
pub(super) fn target(written: &str, overrides: &Overrides) -> Result<Target, Diagnostics> {
    let study = format!(
        "study: reach\nquestion: Which nodes answer?\ntarget: {written}\n\
         workload: {{use: kv}}\ndata: {{load: {{operations: 1}}}}\n\
         procedure: {{fixed: {{threads: 1}}}}\n"
    );
    let study = resolve::resolve("target", &study, overrides)?;
    let mut variants = study.variants.into_iter();
    let target = variants.next().map(|variant| variant.settings.target);
    Ok(target.expect("a study has a variant"))
}
