//! Tests the full screen in a separate terminal. cassay must use it during a run, and must restore
//! the terminal after every end of the run.
//!
//! `script` (util-linux) creates the terminal and a shell in it. The shell reads the keyboard
//! settings with `stty` before and after the run.

use crate::program::{Lab, command, skip, wait_until};
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

const STUDY: &str = "\
study: screen
question: Is the terminal given back?
target: {null: {}}
workload: {use: standard1, mix: {write: 1}}
procedure: {sweep: {threads: [1, 2]}}
window: {warmup: 0s, measure: 2s}
";

/// Setting for trials that are interrupted before they end.
const ENDLESS: &str = "window.measure=10m";

/// Escape sequences that take and restore the screen.
const ALTERNATE_SCREEN: &str = "\x1b[?1049h";
const GIVEN_BACK: &str = "\x1b[?1049l";

/// Shell script that survives Ctrl-C and prints how the command ended.
const SHELL: &str = r#"trap : INT
before=$(stty -g)
sh -c 'echo $$ > pid; exec "$CASSAY" run study.yaml --set "$WINDOW"'
echo "ended with $?"
[ "$before" = "$(stty -g)" ] && echo "the keyboard is as it was"
"#;

struct Terminal {
    child: Child,
    keyboard: ChildStdin,
    shown: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    /// Runs the study with this setting of the window.
    fn start(lab: &Lab, window: &str) -> Terminal {
        let mut script = command("script");
        script
            .args(["--quiet", "--flush", "--command", "sh run.sh", "/dev/null"])
            .current_dir(lab.path())
            .env("CASSAY", env!("CARGO_BIN_EXE_cassay"))
            .env("WINDOW", window)
            .env("CASSAY_DATA", "data")
            .env("CASSAY_SHARED_MACHINE", "1")
            .env("TERM", "xterm-256color")
            .env_remove("CI")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        lab.write("run.sh", SHELL);
        let mut child = script.spawn().unwrap();
        let keyboard = child.stdin.take().unwrap();
        let mut output = child.stdout.take().unwrap();
        let shown = Arc::new(Mutex::new(String::new()));
        let to = Arc::clone(&shown);
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            let mut whole = Vec::new();
            // Reading from the terminal fails after the terminal was closed, which ends the loop.
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                whole.extend_from_slice(&bytes[..count]);
                *to.lock().unwrap() = String::from_utf8_lossy(&whole).into_owned();
            }
        });
        Terminal {
            child,
            keyboard,
            shown,
            reader,
        }
    }

    fn wait_for(&self, text: &str) {
        wait_until(text, || self.shown.lock().unwrap().contains(text));
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    /// Waits for the end of the run, and checks that the terminal is restored. Returns the output
    /// after the full screen.
    fn end(mut self) -> String {
        self.wait_for("ended with");
        drop(self.keyboard);
        self.child.wait().unwrap();
        self.reader.join().unwrap();
        let shown = self.shown.lock().unwrap().clone();
        let (screen, after) = shown.rsplit_once(GIVEN_BACK).expect("the screen is given back");
        assert!(screen.contains(ALTERNATE_SCREEN), "{shown}");
        assert!(screen.ends_with("\x1b[?7h\x1b[?25h"), "{screen:?}");
        assert!(after.contains("the keyboard is as it was"), "{after}");
        after.to_owned()
    }
}

fn has_script() -> bool {
    let is_there = command("script").arg("--version").output().is_ok();
    if !is_there {
        skip("`script` of util-linux is not installed");
    }
    is_there
}

#[test]
fn ctrl_c_gives_the_terminal_back_and_says_how_to_go_on() {
    if !has_script() {
        return;
    }
    let lab = Lab::with(STUDY);
    let mut terminal = Terminal::start(&lab, ENDLESS);
    terminal.wait_for("op/s · p99");
    terminal.press("\x03");
    let after = terminal.end();
    assert!(after.contains("To continue: cassay resume"), "{after}");
    assert!(after.contains("ended with 130"), "{after}");
}

/// A client's figures appear while it offers load, and disappear afterwards.
#[test]
fn each_of_several_clients_has_a_line_while_they_offer_load() {
    if !has_script() {
        return;
    }
    let lab = Lab::with(&(STUDY.to_owned() + "client: {machines: [here, {workers: 1}]}\n"));
    let mut terminal = Terminal::start(&lab, ENDLESS);
    for text in ["clock ±", "client1 (here)", "client2 (here)"] {
        terminal.wait_for(text);
    }
    terminal.press("\x03");
    let after = terminal.end();
    assert!(after.contains("ended with 130"), "{after}");
    assert!(!after.contains("clock ±"), "{after}");
}

#[test]
fn sigterm_restores_the_terminal_the_first_and_the_second_time() {
    if !has_script() {
        return;
    }
    let lab = Lab::with(STUDY);
    let terminal = Terminal::start(&lab, ENDLESS);
    terminal.wait_for("op/s · p99");
    let pid = std::fs::read_to_string(lab.path().join("pid")).unwrap();
    let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    for _ in 0..2 {
        // The first signal may already have ended the program, so this call may fail.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
    let after = terminal.end();
    // The program ends with its own exit code (130) or by the signal (143).
    assert!(["130", "143"].iter().any(|code| after.contains(&format!("ended with {code}"))));
}

#[test]
fn a_key_leaves_the_screen_and_the_run_goes_on_to_its_end() {
    if !has_script() {
        return;
    }
    let lab = Lab::with(STUDY);
    let mut terminal = Terminal::start(&lab, "window.measure=2s");
    terminal.wait_for("Trials, 0 of 2");
    terminal.press("q");
    let after = terminal.end();
    assert_eq!(after.matches(" op/s  p50").count(), 2, "{after}");
    assert!(after.contains("report: results/screen/"), "{after}");
    assert!(lab.run().findings.is_some());
}

#[test]
fn finished_trials_and_the_answer_remain_after_the_full_screen() {
    if !has_script() {
        return;
    }
    let lab = Lab::with(STUDY);
    let after = Terminal::start(&lab, "window.measure=1s").end();
    assert_eq!(after.matches(" op/s  p50").count(), 2, "{after}");
    assert!(
        after.contains("screen: ") && after.contains("report: "),
        "{after}"
    );
}
