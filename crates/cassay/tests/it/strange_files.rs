//! Tests pipes, devices and folders in place of files. A command that reads such an object reports
//! it and ends.

use crate::program::{Lab, ProgramOutput, wait_until};
use std::fs::File;
use std::path::Path;
use store::Run;

/// Folder of a run that an earlier version wrote. The run represents another user's run.
const GOLDEN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../store/golden/format-1/first-look"
);

/// An object that exists where a file is expected: its name, and the function that creates the
/// object.
type Stranger = (&'static str, fn(&Path));

const STRANGERS: [Stranger; 3] = [
    ("a named pipe", |path| {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).unwrap();
    }),
    ("a device", |path| {
        std::os::unix::fs::symlink("/dev/zero", path).unwrap();
    }),
    ("a folder", |path| std::fs::create_dir(path).unwrap()),
];

/// Runs a command, and waits until the command ends by itself.
fn ended(lab: &Lab, arguments: &[&str]) -> ProgramOutput {
    let (out, err) = (lab.path().join("out"), lab.path().join("err"));
    let mut command = lab.command(arguments);
    command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
    let mut child = command.spawn().unwrap();
    let mut code = None;
    wait_until(&format!("the end of {arguments:?}"), || {
        code = child.try_wait().unwrap();
        code.is_some()
    });
    ProgramOutput {
        code: code.unwrap().code(),
        stdout: std::fs::read_to_string(out).unwrap(),
        stderr: std::fs::read_to_string(err).unwrap(),
    }
}

fn study(target: &str, workload: &str, procedure: &str) -> String {
    format!(
        "study: s\nquestion: q?\ntarget: {target}\nworkload: {workload}\ndata: {{present: 5}}\n\
         procedure: {procedure}\nwindow: {{warmup: 0s, measure: 1s}}\n"
    )
}

/// A file, a study in the same folder, and the commands that read the file.
struct Case {
    file: &'static str,
    study: Option<String>,
    commands: Vec<Vec<&'static str>>,
}

impl Case {
    /// Creates a case. `commands` contains one command on each line.
    fn new(file: &'static str, study: Option<String>, commands: &'static str) -> Case {
        let commands = commands.lines().map(|line| line.split(' ').collect()).collect();
        Case {
            file,
            study,
            commands,
        }
    }
}

/// Returns the files that commands read, each with its study and these commands.
fn cases() -> Vec<Case> {
    let fixed = |target: &str, workload: &str| Some(study(target, workload, "{fixed: {rate: 5}}"));
    let (null, kv) = ("{null: {}}", "{use: kv, mix: {read: 1}}");
    let attach = |more: &str| format!("{{attach: {{contact_points: ['127.0.0.1:1'], {more}}}}}");
    let recorded = "study: s\nquestion: q?\ntarget: {null: {}}\nworkload: {recorded: {files: [d], \
                    speed: 1}}\n";
    vec![
        Case::new(
            "results/tags.json",
            None,
            "show before\ncompare before latest\ntag\ntag x latest",
        ),
        Case::new("given.yaml", None, "plan given.yaml\nrun given.yaml"),
        Case::new(
            "w.yaml",
            fixed(null, "{file: w.yaml}"),
            "plan study.yaml\nrun study.yaml\nworkload check w.yaml",
        ),
        Case::new(
            "d/x.cq4",
            Some(recorded.to_owned()),
            "plan study.yaml\nrun study.yaml\nworkload recorded d",
        ),
        Case::new(
            "pw",
            fixed(&attach("user: u, password: {file: pw}"), kv),
            "run study.yaml --trust",
        ),
        Case::new(
            "m.zip",
            fixed("{attach: {secure_connect_bundle: m.zip}}", kv),
            "run study.yaml --trust",
        ),
        Case::new(
            "ca.pem",
            fixed(&attach("tls: {ca: ca.pem}"), kv),
            "run study.yaml --trust",
        ),
        Case::new(
            "profile.yaml",
            None,
            "stress user profile=profile.yaml ops(insert=1) n=1 --target null",
        ),
        Case::new("nb.yaml", None, "nb nb.yaml default --target null"),
        Case::new("w", None, "ycsb run -P w --target null --compat"),
        Case::new("samples", None, "import latest samples"),
        Case::new("jars", None, "supply import jars"),
        Case::new("placement", None, "topology read systemd placement"),
    ]
}

#[test]
fn each_command_ends_and_names_a_file_of_an_unexpected_kind() {
    let mut wrong = Vec::new();
    for Case {
        file,
        study,
        commands,
    } in cases()
    {
        for (what, make) in STRANGERS {
            let lab = Lab::new();
            let stamp = "20261120T232909Z";
            copy(Path::new(GOLDEN), &lab.path().join("results/first-look"));
            let run = Path::new("first-look").join(stamp);
            std::os::unix::fs::symlink(&run, lab.path().join("results/latest")).unwrap();
            drop(Run::open(&lab.path().join("results").join(run)).unwrap());
            if let Some(study) = &study {
                lab.write("study.yaml", study);
            }
            let path = lab.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            make(&path);
            for arguments in &commands {
                let said = ended(&lab, arguments);
                let name = Path::new(file).file_name().unwrap().to_str().unwrap();
                // A folder is valid where a machine, logs or scrapes are expected, and a link may
                // point outside of the study's folder. So the command may report a different error.
                let says = |part: &str| said.stderr.contains(part);
                let is_named = (says(name) && says(&format!("this is not a file, but {what}")))
                    || says("outside the study's folder")
                    || says("d has no query log");
                let is_refused = matches!(said.code, Some(1 | 2)) && !said.stderr.contains("panic");
                if !is_refused || !(is_named || what == "a folder") {
                    wrong.push(format!("{file} is {what}, {arguments:?}: {said}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, to) = (
            entry.as_ref().unwrap().path(),
            to.join(entry.unwrap().file_name()),
        );
        if path.is_dir() {
            copy(&path, &to);
        } else {
            std::fs::copy(&path, &to).unwrap();
        }
    }
}
