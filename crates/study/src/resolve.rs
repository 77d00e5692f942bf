//! Converts text and command line to a [`Study`], or reports all mistakes together.
//! 1. Parse the text.
//! 2. Merge the scale, `--target`, `--set` and `--seed` into the text, in this order.
//! 3. For each variant, merge its settings and then each phase, check the result, and read its
//!    settings.
//! 4. Do the same with every other scale, so that mistakes in those scales are found now.

mod notes;
mod required;
mod without_faults;

use crate::check;
use crate::checked_tree::Tree;
use crate::compile_workload::{self, Steps};
use crate::format;
use crate::grid;
use crate::inputs::Inputs;
use crate::machines;
use crate::matrix::{self, Side};
use crate::merge::{merge, nested};
use crate::rules::{self, Subject};
use crate::scale_up;
use crate::screening;
use crate::settings::Axis;
use crate::settings::PublishedFile;
use crate::settings::{
    Draft, Folder, Load, Overrides, PageCache, Phase, Probes, Recordings, Reset, Sample, Settings,
    Settle, Study, Variant, Warmup,
};
use crate::sizes;
use analysis::VariantName;
use analysis::procedure::ProcedureEstimate;
use analysis::screening::Design;
use measure::clock::SECOND_NS;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use target_spec::Target;
use yaml::{Diagnostics, Place, SourceText, did_you_mean};
use yaml::{Node, Raw};

/// Reason why a study could not be read.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// cassay could not read the file.
    #[error("cannot read the study {path}: {answer}")]
    Unreadable {
        /// Path of the file.
        path: String,
        /// Error that the operating system reported.
        answer: std::io::Error,
    },
    #[error("{0}")]
    Mistakes(Diagnostics),
}

/// Reads and resolves the study in a file.
pub fn read(path: &Path, overrides: &Overrides) -> Result<Study, StudyError> {
    let name = path.display().to_string();
    match foreign::text(foreign::FileKind::Study, path) {
        Ok(text) => {
            let mut overrides = overrides.clone();
            overrides.files.get_or_insert_with(|| Folder {
                path: folder_of(path),
                open: false,
            });
            resolve(&name, &text, &overrides).map_err(StudyError::Mistakes)
        }
        Err(answer) => Err(StudyError::Unreadable { path: name, answer }),
    }
}

/// Returns the folder of a file. For a name without a folder, returns the current folder.
fn folder_of(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|path| !path.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_owned()
}

/// Resolves a study from `text`. Messages refer to the text as `name`.
pub fn resolve(name: &str, text: &str, overrides: &Overrides) -> Result<Study, Diagnostics> {
    let mut out = Diagnostics::new(vec![SourceText {
        name: name.to_owned(),
        text: text.to_owned(),
    }]);
    let Some(mut root) = yaml::parse(0, text, yaml::Limits::STUDY, &mut out) else {
        return Err(out);
    };
    format::rename_former_keys(&mut root);
    if !sizes::are_bounded(&root, &mut out) {
        return Err(out);
    }
    let from_flags = flags(overrides, &mut out);
    let inputs = Inputs::new(overrides);
    let resolver = Resolver {
        root: &root,
        overrides,
        flags: &from_flags,
        inputs: &inputs,
    };
    let resolved = resolver.wanted_scale(&mut out);
    primary(&root, &resolved, &mut out);
    let is_whole = overrides.scale.is_none() && resolved.has_all_of(&root);
    let sides = (&resolved.variants[..], is_whole);
    let published = PublishedFile::for_study(&root, &resolved.tree, sides, &inputs, &mut out);
    required::check(&root, &resolved.variants, &mut out);
    let blocks = resolved.tree.find("repeat.blocks").or(resolved.tree.find("repeat.max"));
    sizes::trials(
        &root,
        &resolved.variants,
        blocks.and_then(Tree::count),
        &mut out,
    );
    resolver.other_scales(&mut out);
    out.clone().into_result()?;
    // Whenever a test resolves a study, this call checks that editors also accept the study.
    #[cfg(test)]
    crate::schema::tests::must_accept(&root, overrides);
    Ok(Study {
        published,
        recordings: inputs.recordings(),
        inputs: inputs.into_read(),
        ..study(&out.sources[0], overrides, resolved)
    })
}

fn primary(root: &Node, resolved: &ResolvedScale, out: &mut Diagnostics) {
    let Some(point) = resolved.tree.find("primary.point").and_then(Tree::count) else {
        return;
    };
    let settings = resolved.variants.iter().map(|variant| &variant.settings);
    let outlooks: Vec<ProcedureEstimate> = settings.map(|one| one.procedure.outlook()).collect();
    if outlooks.iter().any(|outlook| outlook.points.len() < outlook.turns_max) {
        // Some points are still unknown, so the primary point cannot be checked.
        return;
    }
    let points = outlooks.iter().flat_map(|outlook| &outlook.points);
    let values: BTreeSet<u64> = points.map(|at| at.value() as u64).collect();
    if !values.is_empty() && !values.contains(&point) {
        let known: Vec<String> = values.iter().map(u64::to_string).collect();
        out.add(
            &root.nearest("primary.point").place,
            format!("`primary.point` is `{point}`, which is not a measured point"),
            Some(format!("the points are {}", known.join(", "))),
        );
    }
}

/// Settings from the command line, as trees that are merged into the study.
struct Flags {
    target: Option<Node>,
    rest: Vec<Node>,
}

fn flags(overrides: &Overrides, out: &mut Diagnostics) -> Flags {
    let target = overrides.target.as_deref().and_then(|target| {
        let text = match target.split_once(':') {
            Some(("attach", address)) if !address.is_empty() => {
                format!(
                    "target: {{attach: {{contact_points: ['{}']}}}}",
                    address.replace('\'', "")
                )
            }
            None if matches!(target, "null" | "local") => format!("target: {{{target}: {{}}}}"),
            _ => {
                let place = new_source("--target", target, out);
                let hint = "write null, local, or attach:HOST[:PORT]".to_owned();
                out.add(&place, format!("`{target}` is not a target"), Some(hint));
                return None;
            }
        };
        let source = new_source("--target", &text, out).source;
        yaml::parse(source, &text, yaml::Limits::STUDY, out)
    });
    let mut rest: Vec<Node> = overrides.set.iter().filter_map(|set| set_flag(set, out)).collect();
    if let Some(seed) = overrides.seed {
        let text = format!("seed: {seed}");
        let source = new_source("--seed", &text, out).source;
        rest.extend(yaml::parse(source, &text, yaml::Limits::STUDY, out));
    }
    Flags { target, rest }
}

/// Parses an argument `dotted.path=value` to a tree. The value is YAML. The places in the tree are
/// shifted to the position of the value in the argument.
fn set_flag(set: &str, out: &mut Diagnostics) -> Option<Node> {
    let place = new_source("--set", set, out);
    let Some((path, value)) = set.split_once('=').filter(|(path, _)| !path.is_empty()) else {
        let hint = "for example --set window.measure=5s".to_owned();
        out.add(
            &place,
            format!("`{set}` does not have the form dotted.path=value"),
            Some(hint),
        );
        return None;
    };
    // Spaces in place of the path keep the value at its column.
    let padded = format!("{}{value}", " ".repeat(path.len() + 1));
    let value = match value.trim() {
        "" => Node::plain("", place.clone()),
        _ => yaml::parse(place.source, &padded, yaml::Limits::STUDY, out)?,
    };
    let key = Place {
        source: place.source,
        span: 0..path.len(),
    };
    let mut setting = nested(path, &key, value);
    format::rename_former_keys(&mut setting);
    Some(setting)
}

fn new_source(name: &str, text: &str, out: &mut Diagnostics) -> Place {
    out.sources.push(SourceText {
        name: name.to_owned(),
        text: text.to_owned(),
    });
    Place {
        source: out.sources.len() - 1,
        span: 0..text.len(),
    }
}

struct Resolver<'a> {
    root: &'a Node,
    overrides: &'a Overrides,
    flags: &'a Flags,
    inputs: &'a Inputs<'a>,
}

struct ResolvedScale {
    variants: Vec<Variant>,
    axes: Vec<Axis>,
    /// True if at least one axis comes from a grid.
    has_grid: bool,
    /// Number of settings that a screening tests. 0 if the study is not a screening.
    screened: usize,
    /// Checked tree of the first side of the comparison.
    tree: Tree,
    /// Notes on differences between the other tool and cassay, by the name of the side.
    notes: Vec<(VariantName, Vec<String>)>,
}

impl ResolvedScale {
    /// Returns true if the scale does not omit a variant of the study.
    fn has_all_of(&self, root: &Node) -> bool {
        let written = root.find("variants").and_then(Node::entries).unwrap_or_default();
        let is_there = |name: &str| {
            let mut names = self.variants.iter().filter_map(|variant| variant.name.name());
            names.any(|known| known == name || known.starts_with(&format!("{name}-")))
        };
        written.iter().all(|entry| is_there(&entry.key))
    }
}

impl Resolver<'_> {
    fn wanted_scale(&self, out: &mut Diagnostics) -> ResolvedScale {
        let scale = self.overrides.scale.as_deref().and_then(|wanted| {
            let scales = self.root.find("scales");
            let found = scales.and_then(|scales| scales.entry(wanted));
            if found.is_none() {
                let known = scales.and_then(Node::entries).unwrap_or_default();
                let hint = did_you_mean(wanted, known.iter().map(|entry| entry.key.as_str()))
                    .unwrap_or_else(|| "the study has no scales".to_owned());
                let place = new_source("--scale", wanted, out);
                let message = format!("`{wanted}` is not a scale of the study");
                out.add(&place, message, Some(hint));
            }
            found.map(|entry| &entry.value)
        });
        self.variants(scale, out)
    }

    fn other_scales(&self, out: &mut Diagnostics) {
        let scales = self.root.find("scales").and_then(Node::entries);
        for entry in scales.unwrap_or_default() {
            if self.overrides.scale.as_deref() != Some(entry.key.as_str()) {
                self.variants(Some(&entry.value), out);
            }
        }
    }

    fn variants(&self, scale: Option<&Node>, out: &mut Diagnostics) -> ResolvedScale {
        let mut base = self.root.clone();
        for entry in scale.and_then(Node::entries).unwrap_or_default() {
            merge(
                &mut base,
                &nested(&entry.key, &entry.place, entry.value.clone()),
                "",
            );
        }
        self.retarget(&mut base);
        for over in &self.flags.rest {
            merge(&mut base, over, "");
        }
        let has_grid = base.find(grid::PATH).is_some();
        scale_up::expand(&mut base, self.flags.target.is_some(), out);
        grid::expand(&mut base, self.flags.target.is_some(), out);
        let (mut variants, mut notes) = (Vec::new(), Vec::new());
        let mut first = None;
        for Side { name, overs, cell } in matrix::sides(&base, out) {
            let mut node = base.clone();
            for over in overs {
                merge(&mut node, over, "");
            }
            self.retarget(&mut node);
            machines::expand(&mut node, self.overrides, self.inputs, out);
            let loading = self.loading(&node, out);
            self.lay_phase(&mut node, "phases.measure");
            let tree = self.check(&node, out);
            compile_workload::check(&node, &tree, self.inputs, out);
            let mut settings = Draft::from_tree(&tree).settings();
            rules::harmless::settle(&mut settings.target, &node, self.overrides);
            let renamed = rules::cassandra::settle_all(&mut settings, &node, self.overrides);
            rules::harmless::settle_programs(&mut settings.faults, &node, self.overrides);
            settings.load_phase = loading.filter(|phase| phase.differs_from(&settings));
            let (steps, mut said) = self.steps(&name, settings, &tree, out.is_empty());
            said.splice(0..0, renamed);
            rules::upgrade_rollback::check(&node, &steps, self.inputs, out);
            let in_cell = |variant| Variant {
                cell: cell.clone(),
                ..variant
            };
            variants.extend(steps.into_iter().map(in_cell));
            notes.push((name, said));
            first.get_or_insert(tree);
        }
        let tree = first.unwrap_or(Tree::Null);
        without_faults::add(&base, &tree, &mut variants, out);
        ResolvedScale {
            variants,
            axes: matrix::axes(&base),
            has_grid,
            screened: screening::settings(&base).len(),
            tree,
            notes,
        }
    }

    fn check(&self, node: &Node, out: &mut Diagnostics) -> Tree {
        let tree = check::study(node, out);
        let subject = Subject {
            node,
            tree: &tree,
            target_replaced: self.flags.target.is_some(),
            overrides: self.overrides,
        };
        rules::check(&subject, out);
        tree
    }

    /// Returns the settings of the load phase, if the study has phases.
    fn loading(&self, node: &Node, out: &mut Diagnostics) -> Option<Box<Phase>> {
        node.find("phases")?;
        let mut node = node.clone();
        self.lay_phase(&mut node, "phases.load");
        let tree = self.check(&node, out);
        let mut phase = Draft::from_tree(&tree).phase();
        rules::harmless::settle(&mut phase.target, &node, self.overrides);
        // Notes on renamed settings are discarded here, because the measured phase reports the same
        // settings.
        let _ = rules::cassandra::settle(&mut phase.target, &node, self.overrides);
        Some(Box::new(phase))
    }

    /// Merges a phase into the study. If the study has no local target, leaves out the phase's
    /// settings of a local target. This happens if the command line replaced the target. In all
    /// other cases, [`rules`] refuses the phase.
    fn lay_phase(&self, node: &mut Node, path: &str) {
        let Some(mut over) = node.find(path).cloned() else {
            return;
        };
        if let Raw::Map(entries) = &mut over.raw
            && node.find("target.local").is_none()
        {
            entries.retain(|entry| entry.key != "target");
        }
        merge(node, &over, "");
    }

    fn retarget(&self, node: &mut Node) {
        if let Some(target) = &self.flags.target {
            replace_target(node, target);
        }
    }

    /// Returns one variant for each step of the variant's import, with the notes of the import. A
    /// variant without an import is returned unchanged. If the import has mistakes, the function
    /// returns no variants, because [`compile_workload::check`] has already reported the mistakes.
    fn steps(
        &self,
        name: &VariantName,
        mut settings: Settings,
        tree: &Tree,
        is_right: bool,
    ) -> (Vec<Variant>, Vec<String>) {
        let seed = tree.find("seed").and_then(Tree::count).unwrap_or_default();
        let Steps { steps, notes } = if is_right {
            compile_workload::estimate_rows(&mut settings, seed, self.inputs);
            compile_workload::take_own(&mut settings, seed, self.inputs);
            compile_workload::steps(adapt(settings), seed, self.inputs).unwrap_or_default()
        } else {
            Steps {
                steps: vec![(None, settings)],
                notes: Vec::new(),
            }
        };
        let variant = |(step, settings): (Option<String>, Settings)| Variant {
            name: match (&step, name.name()) {
                (None, _) => name.clone(),
                (Some(step), None) => step.as_str().into(),
                (Some(step), Some(name)) => format!("{name}-{step}").into(),
            },
            step,
            cell: Vec::new(),
            is_added: false,
            settings,
            tree: sections(tree),
        };
        (steps.into_iter().map(variant).collect(), notes)
    }
}

/// Replaces the target. Keeps settings of the same kind of target, and removes settings of other
/// kinds.
fn replace_target(node: &mut Node, target: &Node) {
    let Raw::Map(entries) = &mut node.raw else {
        return;
    };
    let kind = target.find("target").and_then(Node::entries).and_then(|kinds| kinds.first());
    if let (Some(kind), Some(old)) = (kind, entries.iter_mut().find(|e| e.key == "target"))
        && let Raw::Map(kinds) = &mut old.value.raw
    {
        kinds.retain(|entry| entry.key == kind.key);
    }
    merge(node, target, "");
}

/// Length of an automatic warm-up on the null target, in ns. Connections and the client's caches
/// are warm after the first second. The null target itself has no compiler or caches to warm up.
pub(crate) const WARMUP_NULL_NS: u64 = SECOND_NS;

/// Switches off settings that the target does not support. If the study explicitly requests such a
/// setting, the rules have already refused the study.
fn adapt(mut settings: Settings) -> Settings {
    let null = matches!(settings.target, Target::Null(_));
    if null {
        settings.verify.every_nth = None;
        settings.data.settle = Settle::None;
        if settings.data.reset == Reset::Snapshot {
            settings.data.reset = Reset::None;
        }
        settings.data.page_cache = PageCache::Keep;
        if !settings.data.load.rows_are_known() {
            settings.data.load = Load::Operations(settings.data.load_rows);
        }
        settings.probes = settings.probes.and_then(Probes::imports_only);
        settings.faults.clear();
        settings.window.first_warmup_ns = None;
        if let Warmup::Auto(max) = settings.window.warmup {
            settings.window.warmup = Warmup::Fixed(max.min(WARMUP_NULL_NS));
        }
    }
    if null || !settings.data.has_rows {
        settings.verify.sample = Sample::Rows(0);
    }
    settings.verify.sample = settings.verify.sample.limited_to(settings.data.rows);
    settings
}

/// Returns the sections that a variant may change, for the record in `plan.json`.
fn sections(tree: &Tree) -> Tree {
    let entries = tree.entries().iter();
    let keep = |key: &str| crate::format::VARIANT_SECTIONS.contains(&key);
    Tree::Map(entries.filter(|(key, _)| keep(key)).cloned().collect())
}

fn study(source: &SourceText, overrides: &Overrides, resolved: ResolvedScale) -> Study {
    let draft = Draft::from_tree(&resolved.tree);
    let (repeat, primary) = draft.repetition();
    let screen = Design::smallest(resolved.screened, draft.fold);
    let notes = notes::notes(&resolved, overrides, screen);
    Study {
        name: draft.name,
        question: draft.question,
        published: None,
        seed: draft.seed,
        notes,
        variants: resolved.variants,
        axes: resolved.axes,
        scale_up: draft.scale_up.filter(|asked| asked.units.is_some()),
        capacity: draft.capacity,
        screen,
        repeat,
        why: draft.why,
        tune: draft.tune,
        added: Vec::new(),
        primary,
        source: source.name.clone(),
        text: source.text.clone(),
        overrides: overrides.clone(),
        inputs: BTreeMap::new(),
        recordings: Recordings::default(),
    }
}

#[cfg(test)]
mod tests;
