//! Builds the study that confirms the settings that a screening chose.

use crate::plan_record;
use anyhow::{Context, Result, anyhow, bail};
use store::Run;
use study::confirm;
use study::resolve::resolve;
use study::settings::{GrantedPermissions, Overrides, Study};

/// Returns a study that confirms the result of a screening. The new study replaces `screen` by
/// every combination of the chosen factors, in blocks. Everything else, such as scale and files,
/// comes from the study of the screening.
///
/// # Errors
/// The run is not finished, is not a screening, or found no factors to confirm. It is also an error
/// if `granted` lacks a permission that the study needs.
pub fn confirming(run: &Run, granted: GrantedPermissions) -> Result<Study> {
    let path = run.path.display();
    let Some(findings) = &run.findings else {
        bail!(
            "the run {path} is not finished, so it has not yet selected settings\nhint: continue \
             it first with `cassay resume {path}`"
        );
    };
    let Some(first) = findings.screens.first() else {
        bail!("{path} is not a screening: only a study with `screen` selects settings to confirm");
    };
    let mut screens = findings.screens.iter();
    let Some(screen) = screens.find(|screen| !screen.matrix.is_empty()) else {
        let refused = first.refused.as_deref();
        let why = refused.unwrap_or("the screening found no setting with an effect");
        bail!("{path} has no settings to confirm: {why}");
    };
    let text = confirm::confirming(&run.study_yaml()?, &screen.matrix, &screen.confirm)
        .map_err(|why| anyhow!("{path}: {why}"))?;
    let overrides = Overrides {
        command: Some(format!("cassay confirm {path}")),
        ..plan_record::overrides_of(&run.plan, granted)
    };
    resolve("study.yaml", &text, &overrides)
        .map_err(|mistakes| anyhow!("{mistakes}"))
        .with_context(|| format!("create the study that confirms the result of {path}"))
}
