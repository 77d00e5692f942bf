//! Creates machines behind a real sshd. Each machine has a port of 127.0.0.1, a mount namespace
//! with separate users, and a home below the folder of its test. The machines end with their test.

use crate::program::{Lab, ProgramOutput, command, wait_until};
use rustix::process::Signal;
use std::fs::{self, File, Permissions};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

const SSHD: &str = "/usr/sbin/sshd";

/// User ID on each machine. No user of this machine has this ID.
pub const USER: u32 = 61_001;

/// Programs that the remote script runs. The machines have no other programs.
const TOOLS: [&str; 20] = [
    "sh",
    "head",
    "gzip",
    "sha256sum",
    "wc",
    "ls",
    "expr",
    "find",
    "uname",
    "mkdir",
    "touch",
    "chmod",
    "mv",
    "rm",
    "id",
    "cat",
    "sleep",
    "getent",
    "env",
    "tr",
];

/// Returns the reason why this machine cannot host machines behind sshd, or `None` if it can.
pub fn missing() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("machines behind sshd need root".to_owned());
    }
    for program in [SSHD, "/usr/bin/ssh", "/usr/bin/ssh-keygen"] {
        if !Path::new(program).exists() {
            return Some(format!(
                "{program} is not there: apt-get install openssh-server"
            ));
        }
    }
    let unshared = command("unshare").args(["-m", "true"]).output();
    match unshared {
        Ok(output) if output.status.success() => None,
        _ => Some("this machine makes no mount namespaces (unshare -m)".to_owned()),
    }
}

/// Properties of a test machine.
pub struct TestMachine<'a> {
    pub name: &'a str,
    /// Login shell of the machine's user.
    pub shell: &'a str,
    /// Additional lines of sshd's configuration.
    pub sshd: &'a str,
    /// Script that runs in the machine's namespace before sshd, with the machine's home as `$HOME`.
    pub before: &'a str,
    /// True if the program is already installed on the machine. Copying the program takes a while.
    pub is_installed: bool,
    /// User ID of the machine's user.
    pub user: u32,
}

impl<'a> TestMachine<'a> {
    /// Returns a machine with default properties.
    pub fn new(name: &'a str) -> TestMachine<'a> {
        TestMachine {
            name,
            shell: "/bin/sh",
            sshd: "",
            before: "",
            is_installed: true,
            user: USER,
        }
    }

    /// Returns a machine whose user is root, with a separate folder for root's files.
    pub fn root(name: &'a str) -> TestMachine<'a> {
        TestMachine {
            user: 0,
            before: "mount -t tmpfs none /var/lib",
            ..TestMachine::new(name)
        }
    }

    /// Returns a machine without the program.
    pub fn bare(name: &'a str) -> TestMachine<'a> {
        TestMachine {
            is_installed: false,
            ..TestMachine::new(name)
        }
    }
}

/// The machines of one test, and the program under test on the machine that connects to them.
pub struct Machines {
    pub lab: Lab,
    listening: Vec<Child>,
}

impl Machines {
    /// Creates a test environment without machines.
    pub fn new() -> Machines {
        let lab = Lab::new();
        // The users of the machines must be able to enter their homes. All homes are below this
        // folder.
        fs::set_permissions(lab.path(), Permissions::from_mode(0o755)).unwrap();
        let near = lab.path().join("near");
        fs::create_dir_all(near.join("bin")).unwrap();
        let wrapper = format!("exec /usr/bin/ssh -F {0}/config \"$@\"", near.display());
        script(&near.join("bin/ssh"), &wrapper);
        keygen(&near.join("key"));
        fs::copy(near.join("key.pub"), near.join("authorized")).unwrap();
        let text = format!(
            "Host *\n User me\n IdentityFile {0}/key\n IdentitiesOnly yes\n \
             IdentityAgent none\n GlobalKnownHostsFile /dev/null\n UserKnownHostsFile {0}/known\n",
            near.display()
        );
        fs::write(near.join("config"), text).unwrap();
        fs::write(near.join("known"), "").unwrap();
        fs::copy(program(), near.join("bin/cassay")).unwrap();
        Machines {
            lab,
            listening: Vec::new(),
        }
    }

    /// Returns a test environment with one machine.
    pub fn with(machine: &TestMachine) -> Machines {
        let mut machines = Machines::new();
        machines.start(machine);
        machines
    }

    pub fn folder(&self, name: &str) -> PathBuf {
        self.lab.path().join(name)
    }

    /// Returns the home of the machine's user.
    pub fn home(&self, name: &str) -> PathBuf {
        self.folder(name).join("home")
    }

    /// Returns the folder to which programs are copied.
    pub fn cache(&self, name: &str) -> PathBuf {
        self.home(name).join(".cache/cassay/agents")
    }

    /// Returns the path of a file on the machine that connects to the other machines.
    pub fn near(&self, file: &str) -> PathBuf {
        self.lab.path().join("near").join(file)
    }

    /// Installs a program on a machine, in the PATH of its user.
    pub fn install(&self, name: &str, file: &str, text: &str) {
        script(&self.folder(name).join("bin").join(file), text);
    }

    /// Writes a file that belongs to the user of a machine.
    pub fn write(&self, name: &str, file: &str, bytes: &[u8]) {
        let path = self.home(name).join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        own(&self.home(name));
    }

    /// Creates the user and the programs of a machine, and starts its sshd.
    pub fn start(&mut self, machine: &TestMachine) {
        let folder = self.folder(machine.name);
        fs::create_dir_all(folder.join("home")).unwrap();
        fs::create_dir_all(folder.join("bin")).unwrap();
        own(&folder.join("home"));
        for tool in TOOLS {
            let found = ["/bin", "/usr/bin"].map(|bin| Path::new(bin).join(tool));
            if let Some(file) = found.iter().find(|file| file.exists()) {
                symlink(file, folder.join("bin").join(tool)).unwrap();
            }
        }
        if machine.is_installed {
            fs::hard_link(self.near("bin/cassay"), folder.join("bin/cassay")).unwrap();
        }
        let mut passwd = fs::read_to_string("/etc/passwd").unwrap();
        if !passwd.contains("\nsshd:") {
            passwd += "sshd:x:61000:65534::/run/sshd:/bin/false\n";
        }
        let home = folder.join("home");
        let (user, shell) = (machine.user, machine.shell);
        passwd += &format!("me:x:{user}:{user}::{}:{shell}\n", home.display());
        fs::write(folder.join("passwd"), passwd).unwrap();
        keygen(&folder.join("hostkey"));
        let port = self.listen(machine, &folder);
        self.know(machine.name, "hostkey.pub");
        self.name(machine.name, port);
    }

    /// Gives a port of 127.0.0.1 a name for `ssh`.
    pub fn name(&self, name: &str, port: u16) {
        let host =
            format!("Host {name}\n HostName 127.0.0.1\n Port {port}\n HostKeyAlias {name}\n");
        // ssh uses the first entry of a key, so this entry takes precedence over later entries.
        let config = fs::read_to_string(self.near("config")).unwrap();
        fs::write(self.near("config"), host + &config).unwrap();
    }

    /// Accepts the key in a file of the machine's folder as the host key of the machine.
    pub fn know(&self, name: &str, key: &str) {
        let key = fs::read_to_string(self.folder(name).join(key)).unwrap();
        let known = fs::read_to_string(self.near("known")).unwrap();
        let others = known.lines().filter(|line| line.split(' ').next() != Some(name));
        let mut text: String = others.map(|line| format!("{line}\n")).collect();
        text += &format!("{name} {key}");
        fs::write(self.near("known"), text).unwrap();
    }

    /// Returns the port on which an sshd listens for the machine.
    fn listen(&mut self, machine: &TestMachine, folder: &Path) -> u16 {
        for _ in 0..10 {
            // The port is free now. Most probably, it is still free when sshd takes it.
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let path = folder.display();
            let text = format!(
                "{}\nPort {port}\nListenAddress 127.0.0.1\nHostKey {path}/hostkey\n\
                 AuthorizedKeysFile {}\nUsePAM no\nStrictModes no\nPidFile none\n\
                 SetEnv PATH={path}/bin\n",
                machine.sshd,
                self.near("authorized").display()
            );
            fs::write(folder.join("sshd_config"), text).unwrap();
            let run = format!(
                "set -e; mount --make-rprivate /; mount --bind {path}/passwd /etc/passwd; \
                 mount -t tmpfs none /run; mkdir /run/sshd; HOME={path}/home; {}\n\
                 exec {SSHD} -D -e -f {path}/sshd_config",
                machine.before
            );
            let log = folder.join("sshd.log");
            let mut unshare = command("unshare");
            unshare
                .args(["-m", "sh", "-c", &run])
                .stdin(Stdio::null())
                .stdout(Stdio::null());
            unshare.stderr(File::create(&log).unwrap());
            let mut child = unshare.spawn().unwrap();
            let said = || fs::read_to_string(&log).unwrap();
            let mut is_ended = false;
            wait_until("sshd listens", || {
                is_ended = child.try_wait().unwrap().is_some();
                is_ended || said().contains("Server listening")
            });
            if !is_ended {
                self.listening.push(child);
                return port;
            }
            assert!(said().contains("Address already in use"), "{}", said());
        }
        panic!("no port of 127.0.0.1 stays free");
    }

    /// Returns a command that runs the program with access to these machines.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(self.near("bin/cassay"));
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .args(arguments)
            .current_dir(self.lab.path())
            .env("CASSAY_DATA", "data")
            .env("CASSAY_CACHE", self.near("cache"))
            .env("PATH", format!("{}:{path}", self.near("bin").display()))
            .stdin(Stdio::null());
        command
    }

    /// Runs `cassay topology show` with arguments. This command sends each machine a few queries.
    pub fn show(&self, arguments: &[&str]) -> ProgramOutput {
        let arguments = [&["topology", "show", "--json"], arguments].concat();
        ProgramOutput::from_output(self.command(&arguments).output().unwrap())
    }

    /// Returns the processes that run a program from the folder of a machine.
    pub fn running(&self, name: &str) -> Vec<u32> {
        let folder = self.folder(name);
        let runs = |pid: &u32| {
            let program = fs::read_link(format!("/proc/{pid}/exe"));
            program.is_ok_and(|program| program.starts_with(&folder))
        };
        let entries = fs::read_dir("/proc").unwrap().flatten();
        entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(runs)
            .collect()
    }

    /// Waits until no process runs a program of a machine, except for the programs in cassay's
    /// cache.
    pub fn wait_until_left(&self, name: &str) {
        wait_until("nothing runs there", || self.running(name).is_empty());
        let mut programs = fs::read_dir(self.cache(name)).into_iter().flatten().flatten();
        let is_there_half = programs.any(|entry| entry.path().extension().is_some());
        assert!(!is_there_half, "halves of programs stay");
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for child in &mut self.listening {
            // The child processes of the sshd end with their connections, so only the sshd itself
            // is killed here.
            let pid = rustix::process::Pid::from_child(child);
            let _ = rustix::process::kill_process(pid, Signal::TERM);
            let _ = child.wait();
        }
    }
}

/// Returns the program under test. If possible, the program is stripped of debugging data, because
/// the tests send it often.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let whole = PathBuf::from(env!("CARGO_BIN_EXE_cassay"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let bare = folder.join("cassay-stripped");
        // The gate runs most tests in separate processes. One process strips the program for all
        // other processes.
        let made_at = |path: &Path| fs::metadata(path).and_then(|meta| meta.modified()).ok();
        if made_at(&bare) > made_at(&whole) {
            return bare;
        }
        // Another run of these tests may be reading the stripped program. So `strip` writes a new
        // file, and a rename replaces the old file.
        let made = folder.join(format!("cassay-stripped-{}", std::process::id()));
        let stripped = command("strip").arg("-o").arg(&made).arg(&whole).output();
        match stripped {
            Ok(output) if output.status.success() => {
                fs::rename(&made, &bare).unwrap();
                bare
            }
            _ => whole,
        }
    })
}

/// Writes a script of `sh`.
pub fn script(file: &Path, text: &str) {
    let mut written = File::create(file).unwrap();
    write!(written, "#!/bin/sh\n{text}\n").unwrap();
    written.set_permissions(Permissions::from_mode(0o755)).unwrap();
}

pub fn keygen(file: &Path) {
    let mut keygen = command("ssh-keygen");
    keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(file);
    assert!(keygen.output().unwrap().status.success());
}

/// Makes the user of the machines the owner of a folder and its content.
fn own(path: &Path) {
    chown(path, Some(USER), Some(USER)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).unwrap().flatten() {
            own(&entry.path());
        }
    }
}
