//! `cassay bisect`: finds the first build in a sequence that is worse than the good build.
//!
//! Each step is an ordinary run in a separate folder. It runs the study with two variants: the good
//! build and one other build. The results remain in that folder, so that the same command can
//! continue from them.

mod builds;

use self::builds::Build;
use super::{read_study, run};
use crate::args::{
    BisectArgs, Common, ResumeArgs, RunArgs, RunName, ShownArgs, StudyArgs, TrustArgs,
};
use crate::exit::Exit;
use crate::terminal;
use analysis::bisect::{ATTEMPTS, Effect, Next, SeenBuild, next};
use anyhow::{Context, Result, bail, ensure};
use foreign::FileKind;
use measure::number::counted;
use report::metric_name;
use serde_json::json;
use std::path::{Path, PathBuf};
use store::Run;
use store::record::ComparisonRecord;
use study::settings::Study;

/// File that identifies the bisection to which a folder belongs.
const FILE: &str = "bisect.json";

/// Metrics for which a higher value is better. For latencies, a lower value is better.
const HIGHER_IS_BETTER: [&str; 2] = ["ops_per_s", "peak"];

/// Number of blocks before the first evaluation of a comparison.
const BLOCKS_MIN: usize = 4;

/// Runs the command.
///
/// 1. Reads the study, which has one variant, and the builds.
/// 2. Reads the results of earlier steps.
/// 3. Compares one build after the other, until it finds the first bad build, or finds that the
///    search cannot continue.
/// 4. Prints the result.
pub fn run(args: &BisectArgs, common: &Common) -> Result<Exit> {
    let study = match read_study(&args.study, common.json) {
        Ok(study) => study,
        Err(end) => return end,
    };
    ensure!(
        study.variants.len() == 1,
        "a bisection creates two variants of a study, one for each of two builds, but {} already \
         has {}\nhint: remove `variants`, `matrix` and `procedure.grid` from the study",
        study.name,
        study.variants.len()
    );
    let builds = builds::read(&args.builds)?;
    let builds = between(builds, args.good.as_deref(), args.bad.as_deref())?;
    let folder = common.out.join(format!("bisect-{}", study.name));
    own(&folder, &question(args, &study, &builds))?;
    let bisection = Bisection {
        args,
        common,
        folder,
        builds,
        has_blocks: says_blocks(&study),
    };
    bisection.run()
}

/// Returns the builds from `good` to `bad`, including these two builds.
fn between(builds: Vec<Build>, good: Option<&str>, bad: Option<&str>) -> Result<Vec<Build>> {
    let place = |name: &str| {
        let found = builds.iter().position(|build| build.name == name);
        let names: Vec<&str> = builds.iter().map(|build| build.name.as_str()).collect();
        found.with_context(|| {
            format!(
                "no build has the name {name}; the builds are {}",
                names.join(", ")
            )
        })
    };
    let first = good.map_or(Ok(0), place)?;
    let last = bad.map_or(Ok(builds.len().saturating_sub(1)), place)?;
    ensure!(
        first < last,
        "the good build {} does not come before the bad build {} in the list of builds\nhint: \
         without --good, the first build is good; without --bad, the last build is bad",
        builds[first].name,
        builds[last].name
    );
    Ok(builds[first..=last].to_vec())
}

fn says_blocks(study: &Study) -> bool {
    let source = yaml::SourceText {
        name: study.source.clone(),
        text: study.text.clone(),
    };
    let mut out = yaml::Diagnostics::new(vec![source]);
    let root = yaml::parse(0, &study.text, yaml::Limits::STUDY, &mut out);
    root.is_some_and(|root| root.find("repeat.blocks").is_some())
}

/// Returns the data that identifies a bisection. By comparing this data, cassay never uses the
/// steps of another bisection.
fn question(args: &BisectArgs, study: &Study, builds: &[Build]) -> serde_json::Value {
    let all: Vec<_> = builds.iter().map(|build| json!([build.name, build.over])).collect();
    json!({
        "format": 1,
        "study": study.text,
        "target": args.study.target,
        "scale": args.study.scale,
        "set": args.study.set,
        "seed": study.seed,
        "builds": all,
    })
}

/// Creates the folder of the bisection. If the folder exists, checks that it belongs to the same
/// bisection.
fn own(folder: &Path, what: &serde_json::Value) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let path = folder.join(FILE);
    match foreign::text(FileKind::Bisection, &path) {
        Ok(text) => {
            let before: serde_json::Value =
                serde_json::from_str(&text).with_context(|| format!("read {}", path.display()))?;
            ensure!(
                before == *what,
                "{} contains the steps of another bisection, with another study, other settings or \
                 other builds\nhint: remove this folder, or use --out with another folder",
                folder.display()
            );
            terminal::say(&format!("continuing with {}", folder.display()));
            Ok(())
        }
        Err(_) => std::fs::write(&path, format!("{what:#}\n"))
            .with_context(|| format!("write {}", path.display())),
    }
}

enum BisectStep {
    /// The metric that was compared, and the effect of the build on this metric.
    Compared(String, Effect),
    /// The command ends, because the user pressed Ctrl-C or the study has mistakes.
    Ends(Exit),
}

struct Bisection<'a> {
    args: &'a BisectArgs,
    common: &'a Common,
    folder: PathBuf,
    builds: Vec<Build>,
    /// True if the study contains `repeat.blocks`. Each step then runs a fixed number of blocks,
    /// even if the comparison remains undecided. This number comes from `--blocks`.
    has_blocks: bool,
}

/// Result of a finished search: a kind for programs, and sentences for people.
struct EndWords {
    kind: &'static str,
    words: String,
}

impl Bisection<'_> {
    fn run(&self) -> Result<Exit> {
        let mut seen = vec![SeenBuild::default(); self.builds.len()];
        // The search first measures the last build, and then halves the remaining builds. So the
        // number of steps grows with the logarithm of the number of builds.
        let halvings = (self.builds.len() - 1).next_power_of_two().trailing_zeros();
        terminal::say(&format!(
            "bisect: {} builds, at most {} if each comparison is conclusive",
            self.builds.len(),
            counted(1 + halvings as usize, "step")
        ));
        let mut compared = String::new();
        loop {
            let higher_is_better = HIGHER_IS_BETTER.contains(&compared.as_str());
            let (build, before) = match next(&seen, higher_is_better) {
                Next::Compare { build, before } => (build, before),
                end => return Ok(self.end(end, &compared, &seen)),
            };
            let out = self.step_folder(build, before);
            let name = &self.builds[build].name;
            let again = match before {
                0 => String::new(),
                _ => format!(
                    ", again with twice as many blocks ({} of {ATTEMPTS})",
                    before + 1
                ),
            };
            terminal::say(&format!(
                "bisect: {name} against {}{again}",
                self.builds[0].name
            ));
            let (metric, effect) = match self.step(build, before, &out) {
                Ok(BisectStep::Compared(metric, effect)) => (metric, effect),
                Ok(BisectStep::Ends(exit)) => {
                    terminal::say("bisect: to continue from this step, run the same command again");
                    return Ok(exit);
                }
                // If the last build cannot be compared, the search ends, because its result would
                // have no meaning.
                Err(why) if build + 1 == self.builds.len() => return Err(why),
                Err(why) => {
                    terminal::say(&format!("bisect: cassay skips {name}: {why:#}"));
                    seen[build].is_skipped = true;
                    continue;
                }
            };
            terminal::say(&format!(
                "bisect: {name}: {} {effect}",
                metric_name(&metric)
            ));
            seen[build].effects.push(effect);
            compared = metric;
        }
    }

    fn step_folder(&self, build: usize, before: usize) -> PathBuf {
        let name = &self.builds[build].name;
        self.folder.join(format!("{:02}-{name}-{}", build + 1, before + 1))
    }

    /// Measures a step, or the remaining part of an interrupted step.
    ///
    /// # Errors
    /// The build cannot be compared: it cannot be built, does not start, or too few trials are
    /// usable.
    fn step(&self, build: usize, before: usize, out: &Path) -> Result<BisectStep> {
        let common = Common {
            json: false,
            out: out.to_owned(),
        };
        let shown = ShownArgs {
            view: self.args.view,
            ..ShownArgs::default()
        };
        let exit = match store::find(out, "latest") {
            Ok(run) if run.findings.is_some() => Exit::Done,
            Ok(_) => {
                let name = RunName {
                    run: "latest".to_owned(),
                };
                let rest = ResumeArgs {
                    name,
                    more: None,
                    trust: self.args.study.trust.clone(),
                    shown,
                };
                terminal::as_step(|| run::resume(&rest, &common))?
            }
            Err(_) => {
                let study = self.study_of(build, before);
                terminal::as_step(|| run::run(&RunArgs { study, shown }, &common))?
            }
        };
        if matches!(exit, Exit::Interrupted | Exit::Usage) {
            return Ok(BisectStep::Ends(exit));
        }
        // A run with a comparison can be used, even if the run missed a requirement.
        let run = store::find(out, "latest")?;
        let (metric, effect) = self.effect_of(&run, &self.builds[build].name)?;
        Ok(BisectStep::Compared(metric, effect))
    }

    fn study_of(&self, build: usize, before: usize) -> StudyArgs {
        let [good, other] = [0, build].map(|build| &self.builds[build]);
        let variants = format!("variants={{{}, {}}}", good.variant(), other.variant());
        let most = usize::from(self.args.blocks) << before;
        let repeat = if self.has_blocks {
            format!("repeat.blocks={most}")
        } else {
            format!("repeat={{until: answered, min: {BLOCKS_MIN}, max: {most}}}")
        };
        let own = &self.args.study;
        StudyArgs {
            study: own.study.clone(),
            target: own.target.clone(),
            scale: own.scale.clone(),
            set: own.set.iter().cloned().chain([variants, repeat]).collect(),
            machines: own.machines.clone(),
            seed: own.seed,
            trust: TrustArgs::clone(&own.trust),
        }
    }

    fn effect_of(&self, run: &Run, name: &str) -> Result<(String, Effect)> {
        let comparisons = run.findings.iter().flat_map(|findings| &findings.comparisons);
        let mut of_build = comparisons
            .filter(|one: &&ComparisonRecord| one.primary && one.contender.as_str() == name);
        let found = of_build.next().with_context(|| {
            format!(
                "{} has no comparison of {name}, because too few trials are usable: see the report \
                 of the run",
                run.path.display()
            )
        })?;
        let Some(ci95) = found.ci95 else {
            bail!(
                "{}: the comparison of {name} has no confidence interval, because the run has too \
                 few usable blocks: see the report of the run",
                run.path.display()
            );
        };
        let effect = Effect::new(found.ratio, ci95).with_context(|| {
            format!(
                "{}: the comparison of {name} has the ratio {} with the interval {ci95:?}, and a \
                 search needs positive, finite values: see the report of the run",
                run.path.display(),
                found.ratio
            )
        })?;
        Ok((found.metric.clone(), effect))
    }

    fn end(&self, end: Next, metric: &str, seen: &[SeenBuild]) -> Exit {
        let name = |build: usize| self.builds[build].name.as_str();
        let good = name(0);
        let of = |effect: Effect| format!("{} {effect}", metric_name(metric));
        let (kind, words, exit) = match end {
            Next::Found { build, effect } => (
                "found",
                format!(
                    "{} is the first build that is worse than {good}: {}; {} is the last build \
                     that is not worse",
                    name(build),
                    of(effect),
                    name(build - 1)
                ),
                Exit::Done,
            ),
            Next::Between { good, bad, effect } => (
                "between",
                format!(
                    "{} is worse than {}: {}. The first worse build may also be one of the builds \
                     without a comparison: {}. {} is the last build that is not worse",
                    name(bad),
                    name(0),
                    of(effect),
                    (good + 1..bad).map(name).collect::<Vec<_>>().join(", "),
                    name(good)
                ),
                Exit::Missed,
            ),
            Next::NotWorse { effect } => (
                "not_worse",
                format!(
                    "{} is not measurably worse than {good}: {}, so the bisection has nothing to \
                     find",
                    name(self.builds.len() - 1),
                    of(effect)
                ),
                Exit::Done,
            ),
            Next::Unclear {
                good: last_good,
                build,
                effect,
                bad,
            } => (
                "unclear",
                format!(
                    "the first build that is worse than {good} comes after {}, and is {} at the \
                     latest. The comparison of {}, a build between these two, is inconclusive: {} \
                     after {ATTEMPTS} attempts\nhint: use more --blocks, longer windows or a \
                     quieter machine, and --out with another folder",
                    name(last_good),
                    name(bad),
                    name(build),
                    of(effect)
                ),
                Exit::Missed,
            ),
            Next::Compare { .. } => ("open", String::new(), Exit::Done),
        };
        if self.common.json {
            self.tell(end, EndWords { kind, words }, metric, seen);
        } else {
            terminal::data(&words);
            terminal::say(&format!("its steps: {}", self.folder.display()));
        }
        exit
    }

    fn tell(&self, end: Next, words: EndWords, metric: &str, seen: &[SeenBuild]) {
        let EndWords { kind, words } = words;
        let name = |build: usize| self.builds[build].name.as_str();
        let of_builds = self.builds.iter().zip(seen);
        let all = of_builds.clone().filter_map(|(build, seen)| {
            let effect = Effect::pooled(&seen.effects)?;
            Some(json!({
                "build": build.name,
                "ratio": effect.ratio,
                "ci95": effect.ci95,
                "comparisons": seen.effects.len(),
            }))
        });
        let skipped = of_builds.filter(|(_, seen)| seen.is_skipped).map(|(build, _)| &build.name);
        let first = match end {
            Next::Found { build, .. } => Some(name(build)),
            _ => None,
        };
        terminal::json(&json!({
            "good": name(0),
            "end": kind,
            "first_worse": first,
            "words": words,
            "metric": metric,
            "builds": all.collect::<Vec<_>>(),
            "skipped": skipped.collect::<Vec<_>>(),
            "folder": self.folder,
        }));
    }
}
