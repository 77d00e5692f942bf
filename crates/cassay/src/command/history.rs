//! `cassay history`: shows the results of a study over its runs. Also shows the runs at which a
//! result changed, and the other changes at these runs.

use crate::args::{Common, HistoryArgs};
use crate::command::page_file;
use crate::exit::Exit;
use crate::terminal;
use anyhow::{Context, Result, bail};
use report::History;
use std::path::Path;

/// Shows the history of a study.
pub fn run(args: &HistoryArgs, common: &Common) -> Result<Exit> {
    let past = store::past(&common.out, &args.study)?;
    if past.is_empty() {
        bail!(
            "{1} has no run of a study with the name {0:?}\nhint: `cassay list` lists the runs as \
             study/stamp",
            args.study,
            common.out.display()
        );
    }
    let mut history = History::new(&args.study, past);
    history.link(|run| page_file::way(args.to.as_deref(), run));
    let page = report::history(&history);
    if let Some(to) = &args.to {
        page_file::write(to, &page, common)?;
    } else if common.json {
        terminal::data(&report::json(&page));
    } else {
        terminal::data(&report::text(&page));
    }
    match args.export.as_deref() {
        Some([format, folder]) if format == "otava" => export(&history, Path::new(folder))?,
        Some(words) => bail!(
            "--export {}: write `--export otava FOLDER`",
            words.join(" ")
        ),
        None => {}
    }
    let worse = if args.fail_on_regression {
        history.regressions(args.since.as_deref().unwrap_or_default())
    } else {
        Vec::new()
    };
    for sentence in &worse {
        terminal::say(&format!("a regression: {sentence}"));
    }
    Ok(if worse.is_empty() {
        Exit::Done
    } else {
        Exit::Missed
    })
}

fn export(history: &History, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let files = report::otava(history, &folder.display().to_string());
    for (name, text) in &files {
        store::write_output(&folder.join(name), text.as_bytes())?;
    }
    // Each file except the configuration is named after its test.
    let tests: Vec<&str> = files.keys().filter_map(|name| name.strip_suffix(".csv")).collect();
    terminal::say(&format!(
        "for Apache Otava: otava analyze --config-file {} {}",
        folder.join("otava.yaml").display(),
        tests.join(" ")
    ));
    Ok(())
}
