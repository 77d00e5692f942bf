//! Tests hierarchies of control groups of both versions, and limits in version 2 with plain files.
//! Tests with whole hosts check limits in the kernel.

use super::hierarchy::{Hierarchy, handing_down, parse};
use super::*;
use target_spec::DiskSpec;

const VERSION_1: &str = "\
22 1 0:20 / /proc rw - proc proc rw
30 29 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
31 29 0:27 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory
32 29 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
33 29 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";

#[test]
fn each_hierarchy_is_found_with_our_own_group_in_it() {
    const CPU: &str = "/sys/fs/cgroup/cpu";
    const MEMORY: &str = "/sys/fs/cgroup/memory";
    const UNIFIED: &str = "/sys/fs/cgroup/unified";
    let own = "4:memory:/process_api/7\n3:pids:/\n2:cpu:/\n0::/\n";
    let hierarchy = |parent: &str, top: &str, unified, controllers: &[&str]| Hierarchy {
        parent: PathBuf::from(parent),
        top: PathBuf::from(top),
        unified,
        controllers: controllers.iter().map(|name| name.to_string()).collect(),
    };
    let expected = vec![
        hierarchy(CPU, CPU, false, &["cpu"]),
        hierarchy(
            &format!("{MEMORY}/process_api/7"),
            MEMORY,
            false,
            &["memory"],
        ),
        hierarchy(UNIFIED, UNIFIED, true, &[]),
    ];
    assert_eq!(parse(VERSION_1, own), expected);
}

#[test]
fn a_hierarchy_of_a_container_begins_at_its_own_root() {
    let mountinfo = "30 29 0:26 /docker/1 /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                     31 29 0:26 /docker/1 /elsewhere rw - cgroup cgroup rw,cpu,cpuacct\n";
    let found = parse(mountinfo, "2:cpu,cpuacct:/docker/1/task\n");
    assert_eq!(found.len(), 1, "one hierarchy, mounted twice: {found:?}");
    assert_eq!(found[0].parent, Path::new("/cg/cpu/task"));
    assert_eq!(places(&found, "x")[0].dir, Path::new("/cg/cpu/task/x"));
}

#[test]
fn in_version_2_our_group_is_where_to_begin_to_look() {
    let parent = |own: &str| parse(VERSION_1, own).pop().map(|found| found.parent);
    let scope = "/sys/fs/cgroup/unified/user.slice/session-1.scope";
    assert_eq!(
        parent("0::/user.slice/session-1.scope\n"),
        Some(PathBuf::from(scope))
    );
    // This group is outside of the test's namespace.
    let top = Some(PathBuf::from("/sys/fs/cgroup/unified"));
    assert_eq!(parent("0::/../elsewhere\n"), top);
}

/// In version 2, cassay once created its groups in the root, next to the groups of the whole
/// machine.
#[test]
fn groups_go_into_a_delegated_or_the_nearest_empty_ancestor() {
    let root = tempfile::tempdir().unwrap();
    let top = root.path();
    let scope = top.join("user.slice/session-1.scope");
    std::fs::create_dir_all(&scope).unwrap();
    let hold = |dir: &Path, pids: &str| std::fs::write(dir.join("cgroup.procs"), pids).unwrap();
    hold(top, "1\n");
    hold(&scope, &format!("{}\n", std::process::id()));
    assert_eq!(handing_down(&scope, top, |_| true), scope);
    assert_eq!(handing_down(&scope, top, |_| false), top.join("user.slice"));
    // The group also contains a shell, which must not be moved.
    hold(&scope, &format!("1\n{}\n", std::process::id()));
    assert_eq!(handing_down(&scope, top, |_| true), top.join("user.slice"));
    hold(&top.join("user.slice"), "1\n");
    assert_eq!(handing_down(&scope, top, |_| true), top);
    assert_eq!(handing_down(top, top, |_| false), top);
}

/// Files that cassay writes in version 2.
const FILES_2: [&str; 6] = [
    "cpuset.cpus",
    "cpu.max",
    "cpu.weight",
    "memory.max",
    "memory.swap.max",
    "io.max",
];

/// This test uses version 2 with plain files, since this machine may lack its controllers. It
/// checks the values that cassay writes to each file and reads back.
#[test]
fn version_2_gets_its_own_files_and_words() {
    let root = tempfile::tempdir().unwrap();
    let top = |name: &str, text: &str| std::fs::write(root.path().join(name), text).unwrap();
    top("cgroup.subtree_control", "cpu\n");
    top("cpuset.cpus.effective", "0-3\n");
    let place = CgroupDir {
        dir: root.path().join("cassay-x-h1"),
        unified: true,
        controllers: ["io", "cpuset", "cpu", "memory"].map(str::to_string).to_vec(),
    };
    hand_down(&place).unwrap();
    let on = std::fs::read_to_string(root.path().join("cgroup.subtree_control")).unwrap();
    assert!(on.contains("+memory") && !on.contains("+cpu "), "{on}");
    std::fs::create_dir(&place.dir).unwrap();
    let group = Group::existing(vec![place.clone()]);
    let file = |name: &str| place.dir.join(name);
    // The kernel handles each write as a whole. A plain file would keep the end of a longer earlier
    // value.
    let empty = || {
        for name in FILES_2 {
            std::fs::write(file(name), "").unwrap();
        }
    };
    empty();
    let spec = HostSpec {
        cpus: Some(vec![0, 2]),
        cpu_quota: Some(1.5),
        memory_bytes: Some(1 << 30),
        disk: DiskSpec {
            read_iops: Some(500),
            write_bytes_per_s: Some(1 << 20),
            ..DiskSpec::default()
        },
        ..HostSpec::default()
    };
    group.limit(&spec, Some("7:3")).unwrap();
    let text = |name: &str| std::fs::read_to_string(file(name)).unwrap();
    assert_eq!(text("cpuset.cpus"), "0,2");
    assert_eq!(text("cpu.max"), "150000 100000");
    assert_eq!(text("cpu.weight"), "800");
    assert_eq!(text("memory.max"), "1073741824");
    assert_eq!(text("memory.swap.max"), "0");
    assert_eq!(
        text("io.max"),
        "7:3 riops=500 wiops=max rbps=max wbps=1048576"
    );
    let limits = group.limits(Some("7:3")).unwrap();
    let expected = [
        ("cpu_quota", "1.5"),
        ("cpu_weight", "8"),
        ("cpus", "0,2"),
        ("disk_read_iops", "500"),
        ("disk_write_rate", "1048576"),
        ("memory", "1073741824"),
    ];
    assert!(limits.iter().map(|(key, value)| (&**key, &**value)).eq(expected));

    empty();
    group.limit(&HostSpec::default(), Some("7:3")).unwrap();
    assert_eq!(text("cpu.max"), "max 100000");
    assert_eq!(text("memory.max"), "max");
    let limits = group.limits(Some("7:3")).unwrap();
    assert_eq!(limits.len(), 2, "only CPUs and the weight");
}

/// If this test fails for root, cassay kills every process whose id is in a plain file called
/// `cgroup.procs`.
#[test]
fn a_folder_that_is_no_control_group_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = remote::process::command(Path::new("/bin/sh"));
    child.args(["-c", "read line"]).stdin(std::process::Stdio::piped());
    let mut child = remote::process::spawn(child, remote::process::Life::Ours).unwrap();
    std::fs::write(folder.path().join("cgroup.procs"), child.id().to_string()).unwrap();
    let group = Group::existing(vec![CgroupDir {
        dir: folder.path().to_owned(),
        unified: false,
        controllers: Vec::new(),
    }]);
    let error = group.end().unwrap_err().to_string();
    assert!(error.contains("is not a control group"), "{error}");
    assert!(
        child.try_wait().unwrap().is_none(),
        "an unrelated process was killed"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(folder.path().exists());
}

#[test]
fn a_disk_that_is_not_there_is_not_limited() {
    let disk = DiskSpec {
        read_iops: Some(500),
        ..DiskSpec::default()
    };
    let group = Group::existing(Vec::new());
    group.limit_disk(&DiskSpec::default(), None).unwrap();
    let error = format!("{:#}", group.limit_disk(&disk, None).unwrap_err());
    assert!(error.contains("without a volume"), "{error}");
    let error = format!("{:#}", group.limit_disk(&disk, Some("7:0")).unwrap_err());
    assert!(error.contains("no control group for disks"), "{error}");
}

#[test]
fn a_quota_that_the_kernel_refuses_is_refused_before() {
    let place = CgroupDir {
        dir: PathBuf::from("/nonexistent"),
        unified: false,
        controllers: vec!["cpu".to_string()],
    };
    let group = Group::existing(vec![place]);
    for cores in [0.0, 0.001, -1.0, f64::NAN, f64::INFINITY] {
        let error = format!("{:#}", group.limit_quota(Some(cores)).unwrap_err());
        assert!(error.contains("at least 0.01"), "{cores}: {error}");
    }
    let error = format!("{:#}", group.limit_memory(Some(1)).unwrap_err());
    assert!(error.contains("no control group for memory"), "{error}");
}

#[test]
fn an_absent_group_counts_as_removed_without_permission() {
    use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
    use rustix::thread::{UnshareFlags, unshare_unsafe};
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().to_owned();
    let ended = std::thread::spawn(move || {
        // SAFETY: from now on, this thread has separate mounts. It does not open files for other
        // threads.
        let own = unsafe { unshare_unsafe(UnshareFlags::NEWNS | UnshareFlags::FS) };
        // A user without the right to mount cannot create the read-only mount that this test needs.
        own.ok()?;
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", private).ok()?;
        mount("none", &dir, "tmpfs", MountFlags::RDONLY, None).ok()?;
        let removed = std::fs::remove_dir(dir.join("never-made")).unwrap_err();
        assert!(is(&removed, Errno::ROFS), "what the kernel says: {removed}");
        let place = CgroupDir {
            dir: dir.join("never-made"),
            unified: false,
            controllers: vec!["memory".to_owned()],
        };
        Some(Group::existing(vec![place]).end())
    });
    if let Some(ended) = ended.join().unwrap() {
        ended.unwrap();
    }
}
