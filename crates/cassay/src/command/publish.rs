//! `cassay publish`: writes the pages of runs for a static server, without private data.

use super::show::say_notes;
use crate::args::{Common, PublishArgs};
use crate::exit::Exit;
use crate::terminal;
use anyhow::{Context, Result, bail};
use foreign::FileKind;
use measure::number::counted;
use publication::{PublishedFile, Removal, Removals, Replacer, ThisMachine};
use report::{GalleryEntry, Page, RunView};
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::path::Path;

/// Input files with this extension contain data and no comments.
const DATA_FILE: &str = ".csv";

/// Names of the files in the folder of a run.
const PAGE: &str = "index.html";
const FIGURE: &str = "report.svg";
const DATA: &str = "run.json";

/// Publishes runs.
///
/// 1. Reads the runs and draws their pages, without comments and without links to other runs.
/// 2. Collects the private strings, and changes the list as the user's file states.
/// 3. Shows the list, and asks for confirmation.
/// 4. Replaces the strings, writes the files, and checks them.
pub fn run(args: &PublishArgs, common: &Common) -> Result<Exit> {
    let (views, exit) = read(args, common)?;
    let mut pages: Vec<Page> = views.iter().map(page).collect();
    let machine = ThisMachine::look();
    let mut removals = Removals::collect(&views, &mut pages, &machine, args.names);
    if let Some(path) = &args.plan {
        match foreign::text(FileKind::Removals, path) {
            Ok(text) => removals
                .apply_file(&text, &mut pages)
                .with_context(|| format!("read {}", path.display()))?,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return write_plan(path, &removals, common);
            }
            Err(error) => return Err(error).with_context(|| format!("read {}", path.display())),
        }
    }
    if !common.json {
        terminal::data(&listed(&removals));
    }
    let asks = format!("Publish to {}?", args.to.display());
    let hint = "publish the runs with the listed replacements";
    if !terminal::is_confirmed(args.yes, &asks, "cassay published nothing", hint) {
        if common.json {
            terminal::json(&json!({"removals": records(&removals), "files": []}));
        }
        return Ok(Exit::Usage);
    }
    let replacer = Replacer::new(removals.list());
    for page in &mut pages {
        page.change_texts(&mut |text| replacer.replace(text));
    }
    let names: Vec<String> = views.iter().map(|view| folder_of(&view.name, &replacer)).collect();
    let files = files(&args.to, &pages, &names);
    publication::write(
        &args.to,
        &files,
        args.force,
        &report::fixed_parts(),
        &replacer,
    )?;
    if common.json {
        let files: Vec<&String> = files.iter().map(|file| &file.name).collect();
        terminal::json(&json!({"removals": records(&removals), "files": files}));
    } else {
        let page = if is_file(&args.to) {
            args.to.clone()
        } else {
            args.to.join(PAGE)
        };
        terminal::data(&page.display().to_string());
    }
    Ok(exit)
}

fn is_file(to: &Path) -> bool {
    to.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("html"))
}

fn read(args: &PublishArgs, common: &Common) -> Result<(Vec<RunView>, Exit)> {
    if is_file(&args.to) && args.runs.len() > 1 {
        bail!(
            "{} is one file, but you name {} runs\nhint: name a folder, which gets a page for each \
             run",
            args.to.display(),
            args.runs.len()
        );
    }
    let mut views: Vec<RunView> = Vec::new();
    let mut exit = Exit::Done;
    for name in &args.runs {
        let run = store::find(&common.out, name)?;
        let stamp = format!("{}/{}", run.plan.study, run.stamp);
        if views.iter().any(|view| view.name == stamp) {
            bail!("you name the run {stamp} twice\nhint: name each run once");
        }
        let noted = say_notes(&run);
        if noted != Exit::Done {
            exit = noted;
        }
        views.push(RunView::read(&run)?);
    }
    Ok((views, exit))
}

/// Returns the page of a run, without comments of its input files and without links to other files.
fn page(view: &RunView) -> Page {
    let mut view = view.clone();
    for (name, text) in &mut view.plan.resolved.overrides.inputs {
        if !name.ends_with(DATA_FILE) {
            *text = publication::remove_comments(text);
        }
    }
    let mut page = report::page(&view);
    page.remove_links();
    page
}

fn write_plan(path: &Path, removals: &Removals, common: &Common) -> Result<Exit> {
    store::write_output(path, removals.to_file().as_bytes())?;
    if common.json {
        terminal::json(&json!({"plan": path, "removals": records(removals), "files": []}));
    } else {
        terminal::data(&path.display().to_string());
    }
    terminal::say(
        "cassay published nothing yet\nhint: look at the list, change it, and run the same command \
         again",
    );
    Ok(Exit::Done)
}

/// Returns the list of the strings that the pages contain, as a table.
fn listed(removals: &Removals) -> String {
    let shown: Vec<&Removal> = removals.list().iter().filter(|one| one.times > 0).collect();
    if shown.is_empty() {
        return "the pages contain no private strings\n".to_owned();
    }
    let heading = ["kind", "string", "times", "published as"].map(str::to_owned).to_vec();
    let row = |one: &&Removal| {
        let replacement = one.replacement.clone();
        vec![
            one.kind.to_string(),
            one.original.clone(),
            one.times.to_string(),
            replacement.unwrap_or_else(|| "(kept)".to_owned()),
        ]
    };
    let rows: Vec<Vec<String>> = std::iter::once(heading).chain(shown.iter().map(row)).collect();
    let unseen = removals.list().len() - shown.len();
    let mut text = terminal::table(&rows, &[false, false, true, false]);
    if unseen > 0 {
        text += &format!(
            "{} of the records and of this machine not in the pages\n",
            counted(unseen, "further string")
        );
    }
    text
}

fn records(removals: &Removals) -> Vec<Value> {
    let record = |one: &Removal| {
        json!({
            "kind": one.kind, "string": one.original, "times": one.times,
            "replacement": one.replacement,
        })
    };
    removals.list().iter().map(record).collect()
}

/// Returns the folder of a run in a publication of several runs, such as `peak-20261203T130000Z`.
fn folder_of(run: &str, replacer: &Replacer<'_>) -> String {
    let mut name = run.to_owned();
    replacer.replace(&mut name);
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    name.chars().map(plain).collect()
}

fn files(to: &Path, pages: &[Page], names: &[String]) -> Vec<PublishedFile> {
    if let [page] = pages {
        let mut files = run_files("", page);
        if is_file(to) {
            files.truncate(1);
        }
        return files;
    }
    let links: Vec<String> = names.iter().map(|name| format!("{name}/{PAGE}")).collect();
    let entries: Vec<GalleryEntry<'_>> = links
        .iter()
        .zip(pages)
        .map(|(link, page)| GalleryEntry { link, page })
        .collect();
    let mut files = vec![PublishedFile {
        name: PAGE.to_owned(),
        content: report::gallery(&entries),
    }];
    let each = names.iter().zip(pages);
    files.extend(each.flat_map(|(name, page)| run_files(&format!("{name}/"), page)));
    files
}

fn run_files(folder: &str, page: &Page) -> Vec<PublishedFile> {
    let file = |name: &str, content: String| PublishedFile {
        name: format!("{folder}{name}"),
        content,
    };
    let figure = report::figure_file(page).map(|svg| file(FIGURE, svg));
    std::iter::once(file(PAGE, report::html(page)))
        .chain(figure)
        .chain(std::iter::once(file(DATA, report::json(page))))
        .collect()
}
