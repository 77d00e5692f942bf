//! Adds a variant without faults for each variant with faults, if the study requests that.
//!
//! The two variants of a pair differ only in the faults. They have the same seed and take turns in
//! the blocks like all variants, so that both get the same operations.

use crate::check;
use crate::checked_tree::Tree;
use crate::settings::{Draft, Settings, Variant};
use analysis::VariantName;
use yaml::{Diagnostics, Node};

const PATH: &str = "repeat.without_faults";

/// Name of the added variant. If several variants are added, each name begins with the name of the
/// first variant with faults that needs the added variant.
const NAME: &str = "without-faults";

/// Name that the only side of a study gets when cassay adds a variant.
const WITH: &str = "with-faults";

/// Adds a variant without faults for each variant with faults, unless the study already has such a
/// variant.
pub(super) fn add(base: &Node, tree: &Tree, variants: &mut Vec<Variant>, out: &mut Diagnostics) {
    if !Draft::from_tree(tree).repeat.without_faults {
        return;
    }
    let has_faults = |variant: &Variant| variant.tree.find("faults").is_some();
    if !variants.iter().any(has_faults) {
        let message = format!("`{PATH}` has no effect: no variant has `faults`");
        let hint = "add `faults` to a variant, or remove this key".to_owned();
        out.add(&base.nearest(PATH).place, message, Some(hint));
    }
    let mut missing: Vec<(Settings, Variant)> = Vec::new();
    for variant in variants.iter().filter(|v| !v.settings.faults.is_empty()) {
        let settings = variant.settings.without_faults();
        let is_same = |other: &Variant| {
            other.settings.faults.is_empty() && other.settings.without_faults() == settings
        };
        let is_known = missing.iter().any(|(known, _)| *known == settings);
        if !is_known && !variants.iter().any(is_same) {
            let added = without(variant, settings.clone());
            missing.push((settings, added));
        }
    }
    if let ([one], true) = (&mut variants[..], !missing.is_empty())
        && one.name.is_none()
    {
        one.name = WITH.into();
    }
    let alone = missing.len() == 1;
    for (_, mut added) in missing {
        if alone {
            added.name = NAME.into();
        }
        name(base, &added.name, variants, out);
        variants.push(added);
    }
}

fn without(variant: &Variant, settings: Settings) -> Variant {
    let entries = variant.tree.entries().iter();
    let kept = entries.filter(|(key, _)| key != "faults" && key != "require");
    Variant {
        name: format!("{}-{NAME}", variant.name).into(),
        step: variant.step.clone(),
        cell: Vec::new(),
        is_added: true,
        settings,
        tree: Tree::Map(kept.cloned().collect()),
    }
}

/// Checks that the name is a valid folder name, and that no other variant has it.
fn name(base: &Node, name: &VariantName, variants: &[Variant], out: &mut Diagnostics) {
    let why = match check::name(name.as_str()) {
        Err(why) => why,
        Ok(()) if variants.iter().any(|variant| variant.name == *name) => {
            "another variant has this name".to_owned()
        }
        Ok(()) => return,
    };
    let message = format!("the variant that `{PATH}` adds would have the name `{name}`: {why}");
    let hint = "rename a variant".to_owned();
    out.add(&base.nearest(PATH).place, message, Some(hint));
}
