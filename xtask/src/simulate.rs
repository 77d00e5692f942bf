//! Runs the simulation of the load worker. The simulation runs with more seeds than in the gate, or
//! with planted defects that it must find.

use crate::ci;
use crate::process::{self, cargo};
use crate::tree::{self, Tree};
use anyhow::{Context, Result, bail, ensure};
use std::path::Path;

/// Options of `cargo xtask simulate`.
#[derive(clap::Args)]
pub struct Options {
    /// First seed
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Number of seeds; a single one runs alone
    #[arg(long, default_value_t = 1_000_000)]
    seeds: u64,
    /// Print the events on the wire of a single seed
    #[arg(long)]
    tell: bool,
    /// Plant defects in copies of the worker, one at a time, and check that each is found
    #[arg(long, conflicts_with = "tell")]
    planted: bool,
}

/// A defect to plant: its name, its file, the original code and the defective code.
struct Defect {
    name: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

impl Defect {
    /// Checks that the text of the file contains the original code exactly once.
    ///
    /// # Errors
    /// The file has changed, so the defect in this program must be changed too.
    fn check(&self, text: &str) -> Result<()> {
        let places = text.matches(self.from).count();
        ensure!(
            places == 1,
            "{} contains {:?} {places} times, but must contain it once; change \
             xtask/src/simulate.rs",
            self.file,
            self.from
        );
        Ok(())
    }
}

const SIMULATION: &str = "sim::records_equal_the_wire_for_every_simulated_problem";

const DEFECTS: [Defect; 8] = [
    Defect {
        name: "an operation is counted twice",
        file: "recorder.rs",
        from: "repeat.count += 1;",
        to: "repeat.count += 2;",
    },
    Defect {
        name: "operations on a lost connection are forgotten, except the first",
        file: "worker/timeouts.rs",
        from: "            next = id + 1;\n",
        to: "            next = id + 1;\n            if id > 0 { continue; }\n",
    },
    Defect {
        name: "latencies are a nanosecond too long",
        file: "worker/receive.rs",
        from: "let latency_ns = self.sockets.arrived_ns.saturating_sub(slot.intended_ns);",
        to: "let latency_ns = self.sockets.arrived_ns.saturating_sub(slot.intended_ns) + 1;",
    },
    Defect {
        name: "service time begins with the last try",
        file: "worker/multi_step.rs",
        from: "let sent_ns = self.courses[usize::from(id)].first_sent_ns;",
        to: "let sent_ns = slot.sent_ns;",
    },
    Defect {
        name: "an operation that is due at the stop is sent",
        file: "worker/release.rs",
        from: "due_ns >= self.control.stop_ns()",
        to: "due_ns > self.control.stop_ns()",
    },
    Defect {
        name: "a late answer frees the stream of another operation",
        file: "inflight.rs",
        from: "slot.state != State::Free && slot.connection == connection",
        to: "slot.state != State::Free && slot.connection <= connection",
    },
    Defect {
        name: "a retry more than the limit allows",
        file: "worker/retries.rs",
        from: ".retries >= retries_max",
        to: ".retries > retries_max",
    },
    Defect {
        name: "the worker allocates memory when a connection is lost",
        file: "worker/timeouts.rs",
        from: "        let mut next = 0;\n",
        to: "        std::hint::black_box(Box::new(index));\n        let mut next = 0;\n",
    },
];

/// Runs the simulation.
pub fn run(options: &Options) -> Result<()> {
    if options.planted {
        return find_planted();
    }
    let seeds = match options.seeds {
        1 => options.from.to_string(),
        count => format!("{}..{}", options.from, options.from.saturating_add(count)),
    };
    let mut variables = vec![("CASSAY_SIMULATE", seeds)];
    if options.tell {
        variables.push(("CASSAY_SIMULATE_TELLS", "1".to_owned()));
    }
    let test = ["test", "--package", "load", "--lib", "--", SIMULATION];
    process::run_with(
        &cargo(),
        &[&test[..], &["--nocapture"]].concat(),
        &variables,
    )
}

/// Copies the tree, plants one defect at a time, and runs the simulation on the copy.
fn find_planted() -> Result<()> {
    let copy = ci::target().join("xtask/planted");
    for file in Tree::read()?.files {
        write_if_other(&copy.join(&file.path), &tree::root().join(&file.path))?;
    }
    let manifest = copy.join("Cargo.toml").to_string_lossy().into_owned();
    let folder = copy.join("target").to_string_lossy().into_owned();
    let variables = [
        ("CARGO_TARGET_DIR", folder),
        ("CASSAY_SIMULATE", "0..20000".to_owned()),
        ("RUST_BACKTRACE", "0".to_owned()),
    ];
    let cargo_test = |last: &[&str]| {
        let test = ["test", "--quiet", "--package", "load", "--lib"];
        let place = ["--manifest-path", &manifest];
        let arguments = [&test[..], &place[..], last].concat();
        process::output_with(&cargo(), &arguments, &variables)
    };
    let simulate = ["--", SIMULATION];
    cargo_test(&simulate).context("run the simulation without a defect")?;
    println!("no defect: the simulation found none, as expected");
    for defect in DEFECTS {
        let path = copy.join("crates/load/src").join(defect.file);
        let text = read(&path)?;
        defect.check(&text)?;
        write(&path, &text.replace(defect.from, defect.to))?;
        cargo_test(&["--no-run"]).with_context(|| format!("build with: {}", defect.name))?;
        let found = cargo_test(&simulate).is_err();
        write(&path, &text)?;
        if !found {
            bail!("not found: {}", defect.name);
        }
        println!("found: {}", defect.name);
    }
    Ok(())
}

/// Copies a file, unless the copy is already equal, so that cargo does not build it again.
fn write_if_other(copy: &Path, original: &Path) -> Result<()> {
    let bytes = std::fs::read(original).with_context(|| format!("read {}", original.display()))?;
    if std::fs::read(copy).is_ok_and(|known| known == bytes) {
        return Ok(());
    }
    let folder = copy.parent().context("a folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    std::fs::write(copy, bytes).with_context(|| format!("write {}", copy.display()))
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_planted_defect_fits_the_source() {
        for defect in DEFECTS {
            let path = crate::tree::root().join("crates/load/src").join(defect.file);
            defect.check(&read(&path).unwrap()).unwrap();
        }
    }

    /// The name of the simulation must be that of a test, because a filter that matches no test
    /// would pass without running one.
    #[test]
    fn the_simulation_is_a_test_of_the_source() {
        let (_, name) = SIMULATION.rsplit_once("::").unwrap();
        let source = read(&crate::tree::root().join("crates/load/src/sim.rs")).unwrap();
        assert!(source.contains(&format!("#[test]\nfn {name}()")), "{name}");
    }
}
