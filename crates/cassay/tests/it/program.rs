//! Runs the program under test with separate folders. Everything that a test starts ends with the
//! test.
//!
//! A [`Lab`] is a folder with the studies, results and clusters of one test. Only the jars come
//! from the user's cache, where they are read and never changed.

#[path = "../../../linux/src/skip_report.rs"]
mod skip_report;

use measure::clock::{self, Deadline};
use serde_json::Value;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use store::Run;

pub use skip_report::missing as skip;

/// Time limit for tests that would otherwise hang. No test asserts how fast a machine is.
pub const HANG_LIMIT: Duration = Duration::from_secs(600);

/// Rules that also judge the machine. On a busy machine they may fail regardless of the program.
const OF_THE_MACHINE: [&str; 5] = ["V1", "V3", "V4", "V18", "V19"];

/// Environment variable with the Cassandra line that `cargo xtask cassandra --line` tests.
const LINE: &str = "CASSAY_TEST_LINE";

/// Returns the Cassandra line that local nodes use. `None` for the program's default.
pub fn line() -> Option<String> {
    std::env::var(LINE).ok().filter(|line| !line.is_empty())
}

/// Returns true if the tested line is `oldest` or newer. Otherwise, reports the test as skipped.
pub fn is_of_line(oldest: &str) -> bool {
    let is_of = is_line_since(oldest);
    if let Some(line) = line().filter(|_| !is_of) {
        skip(&format!(
            "Cassandra {line} has not what is tested, which is there since {oldest}"
        ));
    }
    is_of
}

/// Returns a type that contains several numbers. It is a vector if the tested Cassandra line has
/// vectors.
pub fn vector() -> &'static str {
    if is_line_since("5.0") {
        "vector<float, 3>"
    } else {
        "frozen<list<float>>"
    }
}

/// Returns true if the tested line is `oldest` or newer. Without a tested line, compares the
/// program's default line.
pub fn is_line_since(oldest: &str) -> bool {
    let age = |name: &str| versions::Line::find(name).expect("a line").age();
    let tested = line().unwrap_or_else(|| versions::DEFAULT.name.to_owned());
    age(&tested) >= age(oldest)
}

/// Interval between two checks of a condition.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Returns a command for `program`. The caller waits for the end of the command, or a [`Started`]
/// ends it.
#[expect(
    clippy::disallowed_methods,
    reason = "the program under test is started by its test, which waits for it or ends it"
)]
pub fn command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}

/// The folders of one test.
pub struct Lab {
    path: PathBuf,
    /// Temporary folder, which is removed when the lab is dropped. `None` for a folder that is
    /// kept.
    _folder: Option<tempfile::TempDir>,
}

/// Stops the clusters that a failed test has kept, because their folder is removed with the lab.
impl Drop for Lab {
    fn drop(&mut self) {
        if std::thread::panicking() && self.path.join("data/clusters").is_dir() {
            // The result of this call does not matter, because the test has already failed.
            let _ = self.command(&["target", "down"]).output();
        }
    }
}

impl Lab {
    /// Creates empty folders for a test.
    pub fn new() -> Lab {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Lab {
            path: folder.path().to_owned(),
            _folder: Some(folder),
        }
    }

    /// Creates folders with a study called `study.yaml`.
    pub fn with(study: &str) -> Lab {
        let lab = Lab::new();
        lab.write("study.yaml", study);
        lab
    }

    /// Creates a lab like `with`, but in cargo's folder for tests, where the files remain. The gate
    /// may run several processes of these tests at once, so each process has a separate folder.
    /// Removes the folders of ended processes.
    pub fn kept(name: &str, study: &str) -> Lab {
        let above = Path::new(env!("CARGO_TARGET_TMPDIR"));
        for entry in std::fs::read_dir(above).expect("cargo's folder for tests").flatten() {
            let file_name = entry.file_name();
            let process =
                file_name.to_str().and_then(|text| text.strip_prefix(name)?.strip_prefix('-'));
            if process.is_some_and(|id| !Path::new("/proc").join(id).exists()) {
                // Another process may have removed the folder already.
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
        let path = above.join(format!("{name}-{}", std::process::id()));
        let lab = Lab {
            path,
            _folder: None,
        };
        lab.write("study.yaml", study);
        lab
    }

    /// Writes a file for the program to read.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Returns the folder of the lab, which contains `results/`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder of running clusters.
    pub fn clusters(&self) -> PathBuf {
        self.path().join("data/clusters")
    }

    /// Returns a command that runs the program with arguments in the lab's folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(env!("CARGO_BIN_EXE_cassay"));
        command
            .args(arguments)
            .args(self.line_of(arguments))
            .current_dir(self.path())
            // The test has separate folders for clusters, so it neither sees nor removes the user's
            // running clusters.
            .env("CASSAY_DATA", "data")
            // Tests run in parallel, and on shared machines. With this variable, cassay applies and
            // shows rules that judge the machine, but does not exit with code 3. Tests of these
            // rules remove the variable.
            .env("CASSAY_SHARED_MACHINE", "1")
            .stdin(Stdio::null());
        command
    }

    /// Returns the settings with which local nodes use the tested line.
    fn line_of(&self, arguments: &[&str]) -> Vec<String> {
        let Some(line) = line() else {
            return Vec::new();
        };
        let says = |option: &&str| {
            option.starts_with("--cassandra") || option.contains("local.cassandra=")
        };
        let is_local = |name: &&str| {
            let text = std::fs::read_to_string(self.path().join(name)).unwrap_or_default();
            text.contains("local:") && !text.contains("cassandra:")
        };
        match arguments {
            _ if arguments.iter().any(says) => Vec::new(),
            ["target", "up", others @ ..] if !others.contains(&"--like") => {
                vec!["--cassandra".to_owned(), line]
            }
            ["run" | "plan", others @ ..] if others.iter().any(is_local) => {
                vec!["--set".to_owned(), format!("target.local.cassandra={line}")]
            }
            _ => Vec::new(),
        }
    }

    /// Runs the program to its end.
    pub fn cassay(&self, arguments: &[&str]) -> ProgramOutput {
        ProgramOutput::from_output(self.command(arguments).output().expect("the program runs"))
    }

    /// Starts the program, and reads its stderr.
    pub fn start(&self, arguments: &[&str]) -> Started {
        Started::new(self.command(arguments))
    }

    /// Returns the newest run.
    pub fn run(&self) -> Run {
        store::find(&self.path().join("results"), "latest").expect("a run")
    }

    /// Returns how often `event` occurs in the newest run's journal, for all trials or for one
    /// trial.
    pub fn journaled(&self, event: &str, trial: Option<usize>) -> usize {
        let journal = self.run().journal;
        let fits = journal
            .iter()
            .filter(|line| line.event.name() == event && (trial.is_none() || line.trial == trial));
        fits.count()
    }
}

/// Output of the program, and its exit code.
#[derive(Debug)]
pub struct ProgramOutput {
    /// Exit code. `None` if a signal ended the program.
    pub code: Option<i32>,
    /// Content of stdout, which is data.
    pub stdout: String,
    /// Content of stderr, which contains the messages.
    pub stderr: String,
}

impl ProgramOutput {
    /// Returns the output of a program that has ended.
    pub fn from_output(output: Output) -> ProgramOutput {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        ProgramOutput {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// Fails the test unless the program ended with `code`.
    #[track_caller]
    pub fn ended_with(self, code: i32) -> ProgramOutput {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Fails the test unless the newest run of `lab` has measured. The program must have ended with
    /// 0, or with 3 only because the machine was busy.
    #[track_caller]
    pub fn measured(self, lab: &Lab) -> ProgramOutput {
        if self.code == Some(0) {
            return self;
        }
        assert_eq!(self.code, Some(3), "{self}");
        let findings = lab.run().findings.expect("a run that ended with 3 is kept");
        for rule in findings.trials.iter().flat_map(|trial| &trial.rules) {
            let of_the_machine = OF_THE_MACHINE.contains(&rule.rule.as_str());
            assert!(
                rule.result != store::record::RuleOutcome::Fail || of_the_machine,
                "{rule:?}\n{self}"
            );
        }
        self
    }

    /// Parses the whole stdout as JSON, or fails the test.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    /// Fails the test unless stderr contains each of `parts`.
    #[track_caller]
    pub fn says(&self, parts: &[&str]) -> &ProgramOutput {
        for part in parts {
            assert!(
                self.stderr.contains(part),
                "{part:?} is not said in\n{self}"
            );
        }
        self
    }
}

impl std::fmt::Display for ProgramOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ProgramOutput {
            code,
            stdout,
            stderr,
        } = self;
        write!(f, "code {code:?}\nstdout: {stdout}\nstderr: {stderr}")
    }
}

/// A running program. Dropping this value kills the program, so that a failing test leaves no
/// process behind.
pub struct Started {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    said: String,
}

impl Started {
    /// Starts the program. Its stdout is read only when the program ends, so the output may not
    /// exceed the capacity of a pipe (64 KiB).
    pub fn new(mut command: Command) -> Started {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Started {
            child,
            stderr,
            said: String::new(),
        }
    }

    /// Returns the process id of the program.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Reads the first line of the program's stdout.
    pub fn first_line(&mut self) -> String {
        let mut line = String::new();
        let mut stdout = BufReader::new(self.child.stdout.take().expect("read once"));
        stdout.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// Waits until stderr contains `word`.
    pub fn wait_for(&mut self, word: &str) {
        while !self.said.contains(word) {
            let read = self.stderr.read_line(&mut self.said).unwrap();
            assert!(
                read > 0,
                "it ended and never said {word:?}, but\n{}",
                self.said
            );
        }
    }

    /// Waits until `is_so` is true. Fails the test if the program ends before that, or if the time
    /// limit passes.
    #[track_caller]
    pub fn wait_until(&mut self, what: &str, mut is_so: impl FnMut() -> bool) {
        wait_until(what, || {
            let so = is_so();
            let ended = self.child.try_wait().unwrap().is_some();
            assert!(so || !ended, "it ended before {what}: {}", self.rest());
            so
        });
    }

    /// Returns the stderr of the program from here to its end.
    fn rest(&mut self) -> String {
        self.stderr.read_to_string(&mut self.said).unwrap();
        self.said.clone()
    }

    /// Ends the program as Ctrl-C does.
    pub fn interrupt(&self) {
        self.signal(rustix::process::Signal::INT);
    }

    /// Sends a signal to the program.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Stops the program with all its threads, and continues it `length` after all threads have
    /// stopped. The signal stops the other threads only once one thread has had a CPU to handle the
    /// signal.
    pub fn pause(&self, length: Duration) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        let threads = format!("/proc/{}/task", self.child.id());
        wait_until("all threads stopped", || {
            let mut threads = std::fs::read_dir(&threads).unwrap().flatten();
            threads.all(|thread| {
                let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap();
                // The state comes after the name of the process. The name may contain any
                // character, so this code searches from the end.
                stat.rsplit_once(") ").unwrap().1.starts_with('T')
            })
        });
        clock::sleep(length);
        rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    }

    /// Sends kill -9, and returns when the process has ended.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for the end of the program.
    pub fn end(mut self) -> ProgramOutput {
        let mut stdout = String::new();
        self.stderr.read_to_string(&mut self.said).unwrap();
        if let Some(mut pipe) = self.child.stdout.take() {
            pipe.read_to_string(&mut stdout).unwrap();
        }
        ProgramOutput {
            code: self.child.wait().unwrap().code(),
            stdout,
            stderr: std::mem::take(&mut self.said),
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // Both calls fail if the program has already ended. This is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until `is_so` is true, and fails the test after the time limit.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Deadline::after(HANG_LIMIT);
    while !is_so() {
        assert!(!deadline.passed(), "after {HANG_LIMIT:?}: not yet {what}");
        clock::sleep(LOOK_EVERY);
    }
}
