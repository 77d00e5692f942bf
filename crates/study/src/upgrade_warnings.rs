//! Warns of rolling upgrades that should rewrite SSTables, but do not change their format.

use crate::settings::Study;
use std::collections::BTreeSet;
use target_spec::Target;

/// Returns a sentence for each upgrade that should rewrite SSTables, although the new release
/// writes the same SSTable format as the old release.
pub(crate) fn warnings(study: &Study) -> Vec<String> {
    let mut warnings = BTreeSet::new();
    for settings in study.variants.iter().map(|variant| &variant.settings) {
        let Target::Local(spec) = &settings.target else {
            continue;
        };
        let before = spec.release.line().written_format(&spec.yaml);
        for options in settings.faults.iter().map(|fault| &fault.options) {
            let Some(to) = options.to.as_ref().filter(|_| options.upgrade_sstables) else {
                continue;
            };
            let mut yaml = target_spec::yaml_named(to.line(), &spec.yaml);
            yaml.extend(options.yaml.clone());
            if to.line().written_format(&yaml) == before {
                let way_out = match to.line().name {
                    "5.0" => {
                        ". With `yaml: {storage_compatibility_mode: UPGRADING}` in the fault, 5.0 \
                         writes its newer format"
                    }
                    _ => "",
                };
                warnings.insert(format!(
                    "`faults.upgrade_sstables: after` will rewrite no files: with these settings, \
                     Cassandra {to} writes the format `{before}`, as {} does{way_out}",
                    spec.release
                ));
            }
        }
    }
    warnings.into_iter().collect()
}
