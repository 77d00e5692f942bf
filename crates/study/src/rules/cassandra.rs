//! Determines the Cassandra and Java versions of local nodes. The Cassandra version is that of a
//! named release or of the user's own build. The rules read the build, so that its version is known
//! before nodes start.

use super::harmless::{HINT, is_own_word};
use super::preset;
use super::rule_input::Subject;
use crate::settings::{Draft, Overrides, Settings};
use ::yaml::{Diagnostics, Node, Raw};
use foreign::FileKind;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use target_spec::{
    BuildIdentity, JavaChoice, LocalSpec, Origin, Target, java_in_release, java_major, java_majors,
    java_unsupported,
};
use versions::{Home, LACKED_CLASS_HINT, Release, digest_of, release_in_tarball};

const CASSANDRA: &str = "target.local.cassandra";
const JAVA: &str = "target.local.java";

const NO_TARBALL_HINT: &str = "use a binary distribution, such as \
                               apache-cassandra-5.0.9-bin.tar.gz";

struct Mistake {
    path: &'static str,
    why: String,
    hint: String,
}

impl Mistake {
    fn new(path: &'static str, why: impl ToString, hint: &str) -> Mistake {
        Mistake {
            path,
            why: why.to_string(),
            hint: hint.to_owned(),
        }
    }
}

/// Reports settings with which nodes cannot start.
pub fn check(subject: &Subject<'_>, out: &mut Diagnostics) {
    if !subject.has("target.local") {
        return;
    }
    let draft = Draft::from_tree(subject.tree);
    let mut mistakes = Vec::new();
    let has_digest = subject.has(&format!("{CASSANDRA}.sha256"));
    if subject.has(&format!("{CASSANDRA}.tarball")) && !has_digest {
        let hint = "add `sha256: DIGEST`, which `sha256sum FILE` prints";
        mistakes.push(Mistake::new(
            CASSANDRA,
            "a tarball needs its `sha256`",
            hint,
        ));
    }
    let mut local = draft.local();
    if local.origin == Origin::Maven {
        let none = subject.overrides.registry.refusal(&local.release);
        mistakes.extend(none.map(|none| Mistake::new(CASSANDRA, none.why, &none.hint)));
        classes(&local.release, subject, out);
    }
    let settled = settled(&mut local, subject.node, subject.overrides);
    // The digest is checked before the archive. An incomplete download is also an invalid archive,
    // but the message about the digest explains more.
    mistakes.extend(compared(&local.origin).and(settled).err());
    for Mistake { path, why, hint } in mistakes {
        let message = format!("`{path}`: {why}");
        subject.say(path, message, Some(&hint), out);
    }
    trust(subject, out);
}

/// Compares the digest of a distribution that is a single file. The comparison reads the whole
/// file, so it is done once and not in every rule that needs the release.
fn compared(origin: &Origin) -> Result<(), Mistake> {
    let Origin::Tarball { file, sha256 } = origin else {
        return Ok(());
    };
    let found = digest_of(file).map_err(|answer| {
        let why = format!("{}: {answer}", file.display());
        Mistake::new(CASSANDRA, why, NO_TARBALL_HINT)
    })?;
    if sha256.is_empty() || found.eq_ignore_ascii_case(sha256) {
        return Ok(());
    }
    let why = format!("the SHA-256 of {} is {found}, not {sha256}", file.display());
    Err(Mistake::new(
        CASSANDRA,
        why,
        "download the tarball again, or correct `sha256`",
    ))
}

fn classes(release: &Release, subject: &Subject<'_>, out: &mut Diagnostics) {
    for path in ["keyspace.compaction.class", "keyspace.compression.class"] {
        let named = subject.node.find(path).and_then(Node::text);
        if let Some(why) = named.and_then(|name| release.line().lacks_class(name)) {
            let message = format!("`{path}`: {why}");
            subject.say(path, message, Some(LACKED_CLASS_HINT), out);
        }
    }
}

/// Checks trust. If a program belongs to the user, the study must be trusted with `--trust`, or the
/// command line must name the program.
fn trust(subject: &Subject<'_>, out: &mut Diagnostics) {
    let own = subject.node.find(CASSANDRA).filter(|node| matches!(node.raw, Raw::Map(_)));
    let java = subject
        .node
        .find(JAVA)
        .filter(|node| node.text().is_some_and(|text| text.parse::<u32>().is_err()));
    for (path, node) in own
        .map(|node| (CASSANDRA, node))
        .into_iter()
        .chain(java.map(|node| (JAVA, node)))
    {
        let is_trusted = match &node.raw {
            Raw::Map(entries) => {
                entries.iter().all(|entry| is_own_word(subject.overrides, &entry.value))
            }
            _ => is_own_word(subject.overrides, node),
        };
        if !is_trusted {
            let message = format!("`{path}` names programs that would run on this machine");
            out.add(&node.place, message, Some(HINT.to_owned()));
        }
    }
}

/// Returns the path of a file. A path in a study is relative to the folder of the study. A path on
/// the command line is relative to the current folder.
fn located(path: &Path, node: &Node, key: &str, overrides: &Overrides) -> PathBuf {
    let stands_in_study = node.find(key).is_some_and(|node| node.place.source == 0);
    match overrides.files.as_ref().filter(|_| stands_in_study) {
        Some(folder) => folder.path.join(path),
        None => path.to_owned(),
    }
}

/// Reads the version of the distribution from which local nodes start and records it. Adds the
/// settings of a preset file, and renames settings to their names in the release line of this
/// version. Returns a sentence for the file, for each renamed setting, and for an unsupported Java.
pub fn settle(target: &mut Target, node: &Node, overrides: &Overrides) -> Vec<String> {
    let Target::Local(local) = target else {
        return Vec::new();
    };
    // An error is ignored here, because the rule has already reported it.
    let _ = settled(local, node, overrides);
    // Identifying a build reads all jars. So it is done once here, and not in every rule that needs
    // the release.
    if let Origin::Home(home) = &local.origin {
        local.build = Home::read(home).ok().and_then(|home| identified(&home));
    }
    let mut said = Vec::from_iter(preset::laid(local));
    said.extend(rename_settings(&local.release, &mut local.yaml));
    let java = match &local.java {
        None => java_majors(&local.release).first().copied(),
        Some(JavaChoice::Major(major)) => Some(*major),
        // The version of a Java in a folder is unknown until that Java runs.
        Some(JavaChoice::Home(_)) => None,
    };
    said.extend(java.and_then(|major| java_unsupported(&local.release, major)));
    said
}

/// Does the same as [`settle`] for all settings of a trial, including settings that faults change
/// on local nodes.
pub fn settle_all(settings: &mut Settings, node: &Node, overrides: &Overrides) -> Vec<String> {
    let mut renamed = settle(&mut settings.target, node, overrides);
    if let Target::Local(local) = &settings.target {
        let options = settings.faults.iter_mut().map(|fault| &mut fault.options);
        renamed.extend(options.flat_map(|options| {
            let release = options.to.as_ref().unwrap_or(&local.release);
            rename_settings(release, &mut options.yaml)
        }));
    }
    renamed
}

/// Renames settings to their names in a release. Returns a sentence for each change.
fn rename_settings(release: &Release, yaml: &mut Map<String, Value>) -> Vec<String> {
    let line = release.line();
    let renamed = target_spec::yaml_renamed(line, yaml);
    *yaml = target_spec::yaml_named(line, yaml);
    let note = |(old, (name, value)): (String, (String, Value))| {
        let own = line.name;
        format!(
            "Cassandra {own} uses the name {name} for {old} of cassandra.yaml: write {name}: \
             {value}"
        )
    };
    renamed.into_iter().map(note).collect()
}

/// Returns the specification of the local nodes, with the release from which they start.
pub(super) fn found(draft: &Draft, subject: &Subject<'_>) -> LocalSpec {
    let mut local = draft.local();
    let _ = settled(&mut local, subject.node, subject.overrides);
    let _ = preset::laid(&mut local);
    local
}

fn settled(local: &mut LocalSpec, node: &Node, overrides: &Overrides) -> Result<(), Mistake> {
    let at = |path: &Path, key: &str| located(path, node, &format!("{CASSANDRA}.{key}"), overrides);
    match &mut local.origin {
        Origin::Maven => {}
        Origin::Home(home) => {
            *home = at(home, "home");
            let found = Home::read(home).map_err(|why| {
                let hint = "use an unpacked distribution, or a built source tree";
                Mistake::new(CASSANDRA, why, hint)
            })?;
            local.release = found.release;
        }
        Origin::Tarball { file, sha256 } => {
            *file = at(file, "tarball");
            let release = release_in_tarball(file);
            local.release = release.map_err(|why| Mistake::new(CASSANDRA, why, NO_TARBALL_HINT))?;
            local.build = Some(Box::new(BuildIdentity {
                digest: sha256.to_ascii_lowercase(),
                commit: None,
            }));
        }
        Origin::Build { home, .. } => {
            *home = at(home, "build.home");
            if !home.is_dir() {
                let why = format!(
                    "the folder {}, in which cassay should build Cassandra, does not exist",
                    home.display()
                );
                return Err(Mistake::new(
                    CASSANDRA,
                    why,
                    "name the folder of the source tree",
                ));
            }
            // If the source tree has been built, the build states its release. Otherwise, the
            // source tree itself states the release.
            if let Ok(found) = Home::read(home) {
                local.release = found.release;
            } else if let Some(planned) = planned(home) {
                local.release = planned;
            }
        }
    }
    if let Some(JavaChoice::Home(home)) = &mut local.java {
        *home = located(home, node, JAVA, overrides);
        java_of(home, &local.release)?;
    }
    Ok(())
}

fn identified(home: &Home) -> Option<Box<BuildIdentity>> {
    let (digest, commit) = (home.digest().ok()?, home.commit());
    Some(Box::new(BuildIdentity { digest, commit }))
}

/// Returns the version that `build.xml` in a source tree will build.
fn planned(home: &Path) -> Option<Release> {
    let text = foreign::text(FileKind::Home, home.join("build.xml")).ok()?;
    let (_, rest) = text.split_once("name=\"base.version\"")?;
    let (_, rest) = rest.split_once("value=\"")?;
    Release::built(rest.split('"').next()?)
}

/// Refuses a Java home that does not exist, or whose `release` file names an unsuitable version.
fn java_of(home: &Path, release: &Release) -> Result<(), Mistake> {
    let shown = home.display();
    if !home.join("bin/java").is_file() {
        let why = format!("{shown} is not a Java home: it has no bin/java");
        return Err(Mistake::new(
            JAVA,
            why,
            "name a Java home, or a version such as 17",
        ));
    }
    let text = foreign::text(FileKind::Home, home.join("release")).unwrap_or_default();
    let major = java_in_release(&text).and_then(java_major);
    let fits = java_majors(release);
    match major.filter(|major| !fits.contains(major)) {
        None => Ok(()),
        Some(major) => {
            let names: Vec<String> = fits.iter().map(u32::to_string).collect();
            let why = format!(
                "{shown} is Java {major}, but Cassandra {release} needs {}",
                names.join(", ")
            );
            Err(Mistake::new(JAVA, why, "use another Java"))
        }
    }
}
