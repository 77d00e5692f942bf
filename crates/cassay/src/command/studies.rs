//! `cassay studies list|copy`: lists and copies the studies and workload files in the program.
//!
//! A copy is identical to the shipped file. The command also copies the files that a study names.
//! It never overwrites an existing file.

use crate::args::{Common, CopyArgs, StudiesCommand};
use crate::exit::Exit;
use crate::terminal;
use anyhow::{Context, Result, bail};
use foreign::FileKind;
use include_dir::{Dir, File, include_dir};
use serde_json::json;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use yaml::did_you_mean;
use yaml::shell_word;

static STUDIES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../studies");
static WORKLOADS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../workloads");

/// A study or a workload file that is embedded in the binary.
struct ShippedFile {
    name: &'static str,
    kind: StudyFileKind,
    file: &'static File<'static>,
    /// Folder that contains the file and the files that it names.
    folder: Option<&'static Dir<'static>>,
    /// The question of a study, or the description in the first line of a workload.
    about: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StudyFileKind {
    Study,
    Workload,
}

impl StudyFileKind {
    fn name(self) -> &'static str {
        match self {
            StudyFileKind::Study => "study",
            StudyFileKind::Workload => "workload",
        }
    }
}

/// Runs `list` or `copy`.
pub fn run(command: &StudiesCommand, common: &Common) -> Result<Exit> {
    match command {
        StudiesCommand::List => list(common),
        StudiesCommand::Copy(args) => copy(args, common)?,
    }
    Ok(Exit::Done)
}

/// Returns every shipped study and workload, in the order of the list.
fn shipped() -> Vec<ShippedFile> {
    let below = STUDIES.dirs().map(Some);
    let folders = std::iter::once(None).chain(below);
    let mut all: Vec<ShippedFile> = folders
        .flat_map(|folder: Option<&Dir<'_>>| {
            let files = folder.unwrap_or(&STUDIES).files();
            files.filter_map(move |file| study_of(file, folder))
        })
        .collect();
    all.extend(WORKLOADS.files().filter_map(workload_of));
    all
}

/// Returns a file as a study. Returns `None` for a file without the keys `study` and `question`,
/// such as published figures.
fn study_of(
    file: &'static File<'static>,
    folder: Option<&'static Dir<'static>>,
) -> Option<ShippedFile> {
    let text = file.contents_utf8()?;
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
    value("study: ")?;
    Some(ShippedFile {
        name: file.path().file_stem()?.to_str()?,
        kind: StudyFileKind::Study,
        file,
        folder,
        about: value("question: ")?.to_owned(),
    })
}

fn workload_of(file: &'static File<'static>) -> Option<ShippedFile> {
    let first = file.contents_utf8()?.lines().next()?;
    Some(ShippedFile {
        name: file.path().file_stem()?.to_str()?,
        kind: StudyFileKind::Workload,
        file,
        folder: None,
        about: first.trim_start_matches(['#', ' ']).to_owned(),
    })
}

fn list(common: &Common) {
    let all = shipped();
    if common.json {
        let of = |one: &ShippedFile| {
            json!({
                "name": one.name,
                "kind": one.kind.name(),
                "file": written_as(one),
                "about": one.about,
            })
        };
        terminal::json(&all.iter().map(of).collect());
        return;
    }
    let row = |one: &ShippedFile| {
        vec![
            one.name.to_owned(),
            one.kind.name().to_owned(),
            one.about.clone(),
        ]
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    terminal::data(&terminal::table(&rows, &[false, false, false]));
    terminal::say("next: cassay studies copy first-look");
}

fn written_as(one: &ShippedFile) -> PathBuf {
    one.file.path().to_owned()
}

fn copy(args: &CopyArgs, common: &Common) -> Result<()> {
    let copied = written(args)?;
    tell(&copied, common);
    Ok(())
}

struct CopiedFiles {
    kind: StudyFileKind,
    path: PathBuf,
    /// Paths of the study or workload itself, and of the files that it names.
    files: Vec<PathBuf>,
}

/// Checks all files before it writes the first one. So an existing file with other content prevents
/// all writes.
fn written(args: &CopyArgs) -> Result<CopiedFiles> {
    let all = shipped();
    let of_folder = |one: &&ShippedFile| {
        let folder = one.folder.and_then(|folder| folder.path().to_str());
        folder == Some(args.name.as_str())
    };
    let found = all.iter().find(|one| one.name == args.name).or(all.iter().find(of_folder));
    let Some(found) = found else {
        let hint = did_you_mean(&args.name, all.iter().map(|one| one.name)).unwrap_or_default();
        bail!(
            "no study or workload file has the name {}\nhint: {hint}; `cassay studies list` shows \
             all",
            args.name
        );
    };
    let files: Vec<&File<'_>> = match found.folder {
        Some(folder) => folder.files().collect(),
        None => vec![found.file],
    };
    let mut written = Vec::new();
    // Without a folder, the paths are relative to the current folder.
    let to = args.to.as_deref().unwrap_or(Path::new(""));
    for file in &files {
        let path = to.join(file.path());
        refuse_other(&path, file.contents())?;
    }
    for file in files {
        let path = to.join(file.path());
        place(&path, file.contents())?;
        written.push(path);
    }
    Ok(CopiedFiles {
        kind: found.kind,
        path: to.join(found.file.path()),
        files: written,
    })
}

fn tell(copied: &CopiedFiles, common: &Common) {
    let CopiedFiles { kind, path, files } = copied;
    let file = shell_word(&path.display().to_string());
    let next = match kind {
        StudyFileKind::Study => vec![format!("cassay plan {file}"), format!("cassay run {file}")],
        StudyFileKind::Workload => vec![format!("cassay workload check {file}")],
    };
    if common.json {
        terminal::json(&json!({"file": path, "files": files, "next": next}));
    } else {
        let lines = files.iter().map(|path| format!("{}\n", path.display()));
        terminal::data(&lines.collect::<String>());
    }
    terminal::say(&format!("next: {}", next.join("\n      ")));
}

fn refuse_other(path: &Path, contents: &[u8]) -> Result<()> {
    match foreign::read(FileKind::Study, path) {
        Ok(there) if there == contents => Ok(()),
        Ok(_) => bail!(
            "{} already exists and differs from the file that cassay includes, so cassay does not \
             overwrite it\nhint: use --to with another folder",
            path.display()
        ),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("look at {}", path.display())),
    }
}

/// Writes a file, or keeps an existing file.
fn place(path: &Path, contents: &[u8]) -> Result<()> {
    let what = || format!("write {}", path.display());
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).with_context(what)?;
    }
    match std::fs::File::create_new(path) {
        Ok(mut file) => std::io::Write::write_all(&mut file, contents).with_context(what),
        // The caller has checked that the existing file has the same content.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => bail!(
            "{}: {error}\nhint: run the command in a folder that you can write to",
            what()
        ),
        Err(error) => Err(error).with_context(what),
    }
}

/// Returns a hint for a study that does not exist as a file, but is shipped under that name.
pub fn hint(path: &Path) -> Option<String> {
    let name = path.file_stem()?.to_str()?;
    let found = shipped()
        .into_iter()
        .find(|one| one.kind == StudyFileKind::Study && one.name == name)?;
    let file = written_as(&found);
    Some(format!(
        "cassay includes this study: `cassay studies copy {name}` writes {}",
        file.display()
    ))
}

/// Returns a shipped study as a file in the current folder: an existing file, as in a checkout, or
/// a new file.
///
/// # Errors
/// The folder contains another file with that name.
pub fn as_file(name: &str) -> Result<PathBuf> {
    let all = shipped();
    let found = all.iter().find(|one| one.name == name).context("an included study")?;
    let of_checkout = Path::new("studies").join(found.file.path());
    if foreign::read(FileKind::Study, &of_checkout)
        .is_ok_and(|there| there == found.file.contents())
    {
        return Ok(of_checkout);
    }
    let path = written_as(found);
    if foreign::read(FileKind::Study, &path).is_ok_and(|there| there != found.file.contents()) {
        bail!(
            "{} already exists and differs from the study that cassay includes, so cassay does not \
             overwrite it\nhint: run the command in an empty folder",
            path.display()
        );
    }
    place(&path, found.file.contents())?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_contains_every_study_and_workload_file() {
        for (of, folder) in [("studies", &STUDIES), ("workloads", &WORKLOADS)] {
            let mut left = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(of)];
            let root = left[0].clone();
            while let Some(path) = left.pop() {
                if path.is_dir() {
                    let entries = std::fs::read_dir(&path).unwrap();
                    left.extend(entries.map(|entry| entry.unwrap().path()));
                    continue;
                }
                let below = path.strip_prefix(&root).unwrap();
                let found = folder.get_file(below).map(File::contents);
                assert_eq!(
                    found,
                    Some(std::fs::read(&path).unwrap().as_slice()),
                    "{below:?}"
                );
            }
        }
    }

    #[test]
    fn each_has_a_name_of_its_own_and_a_line_that_says_what_it_is() {
        let all = shipped();
        let mut names: Vec<_> = all.iter().map(|one| one.name).collect();
        assert!(
            names.contains(&"first-look") && names.contains(&"orders"),
            "{names:?}"
        );
        names.sort();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for one in &all {
            assert!(one.about.len() > 20, "{}: {:?}", one.name, one.about);
        }
        let yaml = |dir: &Dir<'_>| {
            let files = dir.files().chain(dir.dirs().flat_map(Dir::files));
            let texts = files.filter_map(|file| file.contents_utf8());
            texts
                .filter(|text| text.lines().any(|line| line.starts_with("study: ")))
                .count()
        };
        let studies = all.iter().filter(|one| one.kind == StudyFileKind::Study).count();
        assert_eq!(studies, yaml(&STUDIES), "a question is one line");
    }

    #[test]
    fn a_study_is_written_with_its_files_and_never_overwrites() {
        let to = tempfile::tempdir().unwrap();
        for name in ["dse-peak", "dse-vsan", "first-look", "orders"] {
            let args = CopyArgs {
                name: name.to_owned(),
                to: Some(to.path().join("into")),
            };
            written(&args).unwrap();
        }
        let into = to.path().join("into");
        for file in [
            "dse-vsan/dse-peak.yaml",
            "dse-vsan/published-peak.yaml",
            "first-look.yaml",
            "orders.yaml",
        ] {
            assert!(into.join(file).is_file(), "{file}");
        }
        std::fs::write(into.join("dse-vsan/published-peak.yaml"), "mine").unwrap();
        std::fs::remove_file(into.join("dse-vsan/dse-cpus.yaml")).unwrap();
        let args = CopyArgs {
            name: "dse-cpus".to_owned(),
            to: Some(into.clone()),
        };
        let error = written(&args).err().unwrap().to_string();
        assert!(
            error.contains("already exists") && error.contains("hint: use --to"),
            "{error}"
        );
        assert!(
            !into.join("dse-vsan/dse-cpus.yaml").exists(),
            "the command copies all files or none"
        );
        let args = CopyArgs {
            name: "first-lok".to_owned(),
            to: Some(into),
        };
        let error = written(&args).err().unwrap().to_string();
        assert!(error.contains("first-look"), "{error}");
    }

    #[test]
    fn a_study_that_is_no_file_but_shipped_is_said_to_be_there() {
        let hint = hint(Path::new("dse-peak")).unwrap();
        assert!(
            hint.contains("`cassay studies copy dse-peak` writes dse-vsan/dse-peak.yaml"),
            "{hint}"
        );
        assert!(
            super::hint(Path::new("orders")).is_none(),
            "a workload is not a study"
        );
        assert!(super::hint(Path::new("studies/first-look.yaml")).is_some());
    }
}
