//! Runs guests with several NUMA nodes under QEMU's emulation. In these guests, cassay's reader and
//! planner, and some test programs, use the /sys of a real kernel. The command compares their
//! output with the configuration of QEMU. It does not measure latencies, because emulated memory is
//! equally far from all CPUs.

mod boot;
mod cpio;
mod facts;
mod image;
mod parts;
mod placement_checks;
mod programs;
mod qemu;
mod shape;
mod steps;

use anyhow::{Context, Result, anyhow, ensure};
use facts::Facts;
use serde_json::Value;
use shape::{SHAPES, Shape};
use std::path::{Path, PathBuf};
use steps::GuestOutput;
use xtask::{process, tree};

/// Options of `cargo xtask guest`.
#[derive(clap::Args)]
pub struct Options {
    /// Only guests of these shapes; all if no shape is named
    #[arg(value_parser = names())]
    shapes: Vec<String>,
    /// List the shapes, and boot none
    #[arg(long)]
    list: bool,
    /// Program that each guest runs last, with its shared libraries; it must exit with 0
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Arguments of the program
    #[arg(last = true, requires = "program")]
    arguments: Vec<String>,
    /// Time limit of a guest, seconds
    #[arg(long, default_value_t = 600)]
    limit_s: u64,
    /// Kernel to use instead of Debian's, with NUMA and a serial console built in
    #[arg(long, value_name = "FILE")]
    kernel: Option<PathBuf>,
    /// Static busybox to use instead of Debian's
    #[arg(long, value_name = "FILE")]
    busybox: Option<PathBuf>,
}

fn names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(SHAPES.iter().map(|shape| shape.name))
}

/// Tests guests of the selected shapes. Checks that all components exist, builds the programs,
/// boots a guest of each shape, and checks the output of its steps.
///
/// # Errors
/// A component is missing, a guest does not finish, or a result differs from the expected result.
pub fn run(options: &Options) -> Result<()> {
    if options.list {
        for shape in &SHAPES {
            println!("{:12} {}", shape.name, shape.about);
        }
        return Ok(());
    }
    let folder = tree::root().join("target").join("guest");
    std::fs::create_dir_all(&folder).context("make the folder of the guests")?;
    let (kernel, busybox) = (options.kernel.as_deref(), options.busybox.as_deref());
    let parts = parts::Parts::ready(&folder, kernel, busybox)?;
    let cassay = programs::cassay()?;
    let mut others = programs::tests()?;
    if let Some(path) = &options.program {
        others.push(programs::Program::given(path, &options.arguments)?);
    }
    let content = image::Content::read(&parts, &cassay, &others, &folder)?;
    let is_asked = |shape: &&Shape| {
        let asked = &options.shapes;
        asked.is_empty() || asked.iter().any(|name| name == shape.name)
    };
    let (mut wrong, mut count) = (Vec::new(), 0);
    for shape in SHAPES.iter().filter(is_asked) {
        let guest = Guest {
            shape,
            folder: folder.join(shape.name),
            cassay: &cassay,
        };
        count += 1;
        let found = guest
            .boot(&content, &others, &parts.kernel, options.limit_s)
            .with_context(|| format!("a guest of shape {}", shape.name))?;
        wrong.extend(found.iter().map(|what| format!("{}: {what}", shape.name)));
    }
    ensure!(
        wrong.is_empty(),
        "{} values differ from the requested values:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    println!("{count} guests: all values are as requested");
    Ok(())
}

struct Guest<'a> {
    shape: &'static Shape,
    folder: PathBuf,
    cassay: &'a Path,
}

impl Guest<'_> {
    /// Runs the guest. Returns the faults that were found in its output, as sentences.
    fn boot(
        &self,
        content: &image::Content,
        others: &[programs::Program],
        kernel: &Path,
        limit_s: u64,
    ) -> Result<Vec<String>> {
        if self.folder.exists() {
            std::fs::remove_dir_all(&self.folder)
                .context("remove the guest of the previous run")?;
        }
        std::fs::create_dir_all(&self.folder).context("make the folder of a guest")?;
        let mut steps = steps::all(self.shape);
        let further = others.iter().map(|one| steps::program(&one.name, &one.arguments));
        steps.extend(further);
        let archive = self.folder.join("initrd.cpio");
        std::fs::write(&archive, content.archive(&steps)).context("write the initramfs")?;
        let arguments = qemu::arguments(self.shape, kernel, &self.folder);
        boot::run(&arguments, &self.folder, limit_s)?;
        std::fs::remove_file(&archive).context("remove the initramfs")?;
        let text = std::fs::read(self.folder.join("steps.txt")).context("read the steps")?;
        let with_console =
            |error: anyhow::Error| anyhow!("{error:#}\n{}", boot::last_lines(&self.folder));
        let told = steps::read(&String::from_utf8_lossy(&text)).map_err(with_console)?;
        let found = self.judge(&told, others).map_err(with_console)?;
        println!(
            "{:12} {:2} CPUs, {} nodes, control groups {:?}: {} steps, ended {:.1} s after its \
             kernel began; {} differences",
            self.shape.name,
            self.shape.cores_present() * self.shape.threads,
            self.shape.nodes.len(),
            self.shape.cgroup,
            told.steps.len(),
            told.up_s,
            found.len()
        );
        Ok(found)
    }

    /// Checks the output of the guest, and returns the faults. It checks the machine that the
    /// program saw, both free and confined, and the plans of the program. It also checks that this
    /// machine gets the same results from the packed files, and checks the output of other
    /// programs.
    fn judge(&self, told: &GuestOutput, others: &[programs::Program]) -> Result<Vec<String>> {
        told.output("setup")?;
        let machine = json(told.output("machine")?)?;
        let free = Facts::expected(self.shape, None);
        let mut wrong = free.differences(&Facts::parse(&machine)?);
        wrong.extend(facts::memory_differences(self.shape, &machine)?);
        told.output("group")?;
        let node = Some(self.shape.confined_to);
        let confined = Facts::parse(&json(told.output("confined")?)?)?;
        let differences = Facts::expected(self.shape, node).differences(&confined);
        wrong.extend(differences.iter().map(|what| format!("in a control group: {what}")));
        let bound = Facts::parse(&json(told.output("bound")?)?)?;
        let differences =
            Facts::expected(self.shape, node).with_nodes_of(&free).differences(&bound);
        wrong.extend(differences.iter().map(|what| format!("bound by taskset: {what}")));
        for (index, wish) in self.shape.wishes.iter().enumerate() {
            let plan = json(told.output(&format!("plan-{index}"))?)?;
            let faults = placement_checks::faults(self.shape, wish, &plan)?;
            wrong.extend(faults.iter().map(|what| format!("plan {index}: {what}")));
        }
        told.output("files")?;
        wrong.extend(self.compare_with_files(told, &machine)?);
        for other in others {
            let said = told.output(&format!("program-{}", other.name))?;
            let last = said.trim_end().lines().next_back().unwrap_or_default();
            println!("{:12} {}: {last}", self.shape.name, other.name);
            wrong.extend(other.faults(said));
        }
        Ok(wrong)
    }

    /// Reads on this machine the files that the guest has packed. They must yield the same machine
    /// and the same plans. The synthetic description, if the shape has one, must also yield the
    /// same plans.
    fn compare_with_files(&self, told: &GuestOutput, machine: &Value) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        let files = self.folder.join(qemu::LINES[2]);
        let files = files.to_str().context("the path of the tree is not UTF-8")?;
        let (mut inside, mut outside) = (machine.clone(), self.ask("show --json", files)?);
        for one in [&mut inside, &mut outside] {
            // The source is not compared, because it is different on purpose.
            one[0]["host"].take();
            one[0]["machine"]["source"].take();
            // Devices are not compared, because the guest saw devices whose files were not packed.
            one[0]["machine"]["devices"].take();
        }
        if inside != outside {
            wrong.push(format!(
                "cassay reads {files} differently from the guest's own files"
            ));
        }
        for (index, wish) in self.shape.wishes.iter().enumerate() {
            let words = placement_checks::arguments(wish);
            let inside = json(told.output(&format!("plan-{index}"))?)?;
            if self.ask(&words, files)? != inside {
                wrong.push(format!(
                    "plan {index} for {files} differs from the guest's own plan"
                ));
            }
            let Some(synthetic) = self.shape.synthetic else {
                continue;
            };
            if placement_checks::cpus(&self.ask(&words, synthetic)?)?
                != placement_checks::cpus(&inside)?
            {
                wrong.push(format!(
                    "plan {index} for \"{synthetic}\" differs from the guest's plan"
                ));
            }
        }
        Ok(wrong)
    }

    /// Runs cassay on this machine, and returns its JSON output.
    fn ask(&self, words: &str, machine: &str) -> Result<Value> {
        let words = words.split(' ');
        let words: Vec<&str> =
            ["topology"].into_iter().chain(words).chain(["--machine", machine]).collect();
        let program = self.cassay.to_str().context("the path of the tree is not UTF-8")?;
        json(&process::output(program, &words)?)
    }
}

fn json(text: &str) -> Result<Value> {
    serde_json::from_str(text).with_context(|| format!("parse as JSON: {text:.200}"))
}
