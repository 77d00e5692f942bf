//! Hosts that outlive the command that made them: killed, or asked to keep them.

use super::*;

/// A child of this test program reads its part here.
const PART: &str = "CASSAY_TEST_PART";

/// This test program again, in one part of a test, as a command that will end or be killed.
fn another(test: &str, part: &str, folder: &Path) -> std::process::Child {
    let mut command = process::command(&std::env::current_exe().unwrap());
    // The harness calls a test by its path without the crate.
    let (_, module) = module_path!().split_once("::").unwrap();
    command
        .args(["--exact", &format!("{module}::{test}"), "--nocapture"])
        .env(PART, part)
        .current_dir(folder)
        .stdout(Stdio::null());
    process::spawn(command, Life::Ours).unwrap()
}

/// Which part of a test this program is to do, in the folder that it was started in.
fn part() -> Option<PathBuf> {
    std::env::var_os(PART)?;
    Some(std::env::current_dir().unwrap())
}

fn volume_spec() -> HostsSpec {
    let host = HostSpec {
        volume_bytes: Some(128 << 20),
        ..HostSpec::default()
    };
    spec(2, host)
}

/// Writes in one step, as a reader waits for it.
fn save(state: &HostsState, folder: &Path, name: &str) {
    let part = folder.join("part");
    std::fs::write(&part, serde_json::to_vec(state).unwrap()).unwrap();
    std::fs::rename(&part, folder.join(name)).unwrap();
}

fn load(folder: &Path, name: &str) -> HostsState {
    serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap()
}

#[test]
fn what_a_killed_command_leaves_is_cleared_by_its_state() {
    if let Some(folder) = part() {
        let spec = volume_spec();
        let id = id("killed");
        let before = HostsState::before(&id, &spec, &folder).unwrap();
        save(&before, &folder, "before");
        let hosts = Hosts::make(&id, &spec, &folder, &mut |_| ()).unwrap();
        let host = &hosts.all()[0];
        let work = format!("cd {}; sleep 600 & wait", host.folder().display());
        let mut child = start(host, &work, Stdio::null());
        wait_until("both processes are there", || {
            let dir = &hosts.state.hosts[0].places[0].dir;
            let text = std::fs::read_to_string(dir.join("cgroup.procs")).unwrap();
            text.lines().count() == 2
        });
        save(&hosts.state(), &folder, "made");
        // It is killed before this comes back.
        child.wait().unwrap();
        return;
    }
    if !able(&[HostAbility::Network, HostAbility::Volume]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let test = "what_a_killed_command_leaves_is_cleared_by_its_state";
    let mut child = another(test, "make", folder);
    wait_until("the hosts are made", || folder.join("made").exists());
    let (before, made) = (load(folder, "before"), load(folder, "made"));
    let link = link_of(&made);
    let there = |state: &HostsState| state.hosts[1].places.iter().all(|place| place.dir.exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(there(&before), "directories outlive it");
    // What was written before anything was made is enough. The grandchild, which no signal has
    // reached, is killed with its group.
    Hosts::clear(&before).unwrap();
    assert_gone(&made, link);
    Hosts::clear(&before).unwrap();
}

#[test]
fn kept_hosts_are_reached_by_another_command_and_taken_down() {
    if let Some(folder) = part() {
        let hosts = Hosts::make(&id("kept"), &volume_spec(), &folder, &mut |_| ()).unwrap();
        std::fs::write(hosts.all()[0].folder().join("file"), "kept").unwrap();
        save(&hosts.keep().unwrap(), &folder, "kept");
        return;
    }
    if !able(&[HostAbility::Network, HostAbility::Volume]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let test = "kept_hosts_are_reached_by_another_command_and_taken_down";
    let mut child = another(test, "make", folder);
    assert!(child.wait().unwrap().success());
    let state = load(folder, "kept");
    let before = link_of(&state);
    assert!(!folder.join("host1/file").exists(), "not in our mounts");

    let mut hosts = Hosts::reach(&state).unwrap();
    let [one, two] = hosts.all() else {
        panic!("two were kept")
    };
    let inside = one.folder_inside().join("file");
    assert_eq!(std::fs::read(one.folder().join("file")).unwrap(), b"kept");
    let seen = shell(one, &format!("cat {}", inside.display()));
    assert_eq!(text(&seen), "kept");
    let mut command = process::command(Path::new("/bin/pwd"));
    command
        .current_dir(two.folder_inside())
        .stdout(Stdio::piped());
    two.enter(&mut command).unwrap();
    let child = process::spawn(command, Life::Ours).unwrap();
    let place = child.wait_with_output().unwrap();
    assert_eq!(text(&place), two.folder_inside().display().to_string());
    assert!(carries(&listener(two), connect));
    let total = one.usage().unwrap().total_bytes;
    assert!(total < 128 << 20, "of the volume: {total}");
    if able(&[HostAbility::LinkRate]) {
        let limits = HostSpec {
            volume_bytes: Some(128 << 20),
            link: LinkSpec {
                rate_bits_per_s: Some(1_000_000_000),
                delay: None,
            },
            ..HostSpec::default()
        };
        let host = &mut hosts.all_mut()[1];
        host.set_limits(&limits).unwrap();
        assert_eq!(host.limits().unwrap()["link_rate"], "1000000000");
    }
    drop(hosts);
    let mut hosts = Hosts::reach(&state).expect("a drop leaves kept hosts");
    hosts.end().unwrap();
    assert_gone(&state, before);
    let error = format!("{:#}", Hosts::reach(&state).unwrap_err());
    assert!(error.contains("has ended"), "{error}");
}
