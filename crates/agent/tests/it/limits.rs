//! Tests of a simulated host's limits through its agent.

use crate::hosts::{able, assert_gone, link_of, make, shell, spec, start, try_make, wait_until};
use host::{Host, Hosts, ProcessEnd, capabilities};
use measure::clock;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::time::Duration;
use target_spec::{Capability, DiskSpec, HostSpec, LinkSpec};

/// Returns the directory of the host's group for a controller.
fn group(hosts: &Hosts, host: usize, controller: &str) -> PathBuf {
    let state = hosts.state();
    let mut places = state.hosts[host].places.iter();
    let has = |name: &String| name == controller;
    let place = places.find(|place| place.controllers.iter().any(has));
    place.unwrap().dir.clone()
}

fn words(limits: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = limits.iter();
    pairs.map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

/// Asserts that the host is limited to CPU 0 and to 64 MiB.
fn assert_cpus_and_memory_obeyed(hosts: &Hosts) {
    let host = &hosts.all()[0];
    let cpus = shell(host, "grep Cpus_allowed_list /proc/self/status");
    assert!(cpus.text.ends_with("\t0"), "{}", cpus.text);
    // `tail` keeps all input in memory.
    let eater = shell(host, "head -c 200000000 /dev/zero | tail -c 200000000");
    // The output is empty, or contains the message about the kill.
    assert!(eater.text.len() < 100, "{}", eater.text.len());
    let memory = group(hosts, 0, "memory");
    let kills = ["memory.oom_control", "memory.events"]
        .iter()
        .find_map(|name| std::fs::read_to_string(memory.join(name)).ok())
        .unwrap();
    assert!(kills.contains("oom_kill 1"), "{kills}");
}

#[test]
fn limits_are_set_obeyed_and_changed_while_a_host_runs() {
    let needs = [
        Capability::Hosts,
        Capability::CpuSet,
        Capability::CpuLimit,
        Capability::MemoryLimit,
        Capability::LinkRate,
    ];
    if !able(&needs) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let link = LinkSpec {
        rate_bits_per_s: Some(100_000_000),
        delay: None,
    };
    let limits = HostSpec {
        cpus: Some(vec![0]),
        cpu_quota: Some(0.2),
        memory_bytes: Some(64 << 20),
        link,
        ..HostSpec::default()
    };
    let hosts = make("limits", &spec(1, limits.clone()), folder.path());
    let state = hosts.state();
    let before = link_of(&state);
    let read = |host: &Host| host.limits().unwrap();
    let host = &hosts.all()[0];
    let expected = [
        ("cpu_quota", "0.2"),
        ("cpu_weight", "4"),
        ("cpus", "0"),
        ("link_rate", "100000000"),
        ("memory", "67108864"),
    ];
    assert_eq!(read(host), words(&expected));
    assert_cpus_and_memory_obeyed(&hosts);

    let (spinner, _) = start(host, "while :; do :; done");
    let stat = group(&hosts, 0, "cpu").join("cpu.stat");
    wait_until("the quota has throttled it", || {
        let text = std::fs::read_to_string(&stat).unwrap();
        !text.contains("nr_throttled 0\n")
    });
    let mut other = limits.clone();
    (other.cpu_quota, other.link) = (None, LinkSpec::default());
    other.memory_bytes = Some(256 << 20);
    host.set_limits(&other).unwrap();
    assert!(host.agent().how_ended(spinner).is_none(), "it runs on");
    let expected = [("cpu_weight", "4"), ("cpus", "0"), ("memory", "268435456")];
    assert_eq!(read(host), words(&expected));
    host.set_limits(&limits).unwrap();
    assert_eq!(read(host)["link_rate"], "100000000");
    host.set_limits(&HostSpec::default()).unwrap();
    assert!(read(host).into_keys().eq(["cpu_weight", "cpus"]));

    let volume = HostSpec {
        volume_bytes: Some(1 << 30),
        ..HostSpec::default()
    };
    let error = format!("{:#}", host.set_limits(&volume).unwrap_err());
    assert!(error.contains("size of a volume is fixed"), "{error}");
    // The spinning process is killed together with its host. The agent must report this before it
    // ends.
    hosts.end().unwrap();
    let Some(ProcessEnd::Status(status)) = host.agent().how_ended(spinner) else {
        panic!("its end was not told")
    };
    assert_eq!(status.signal(), Some(9));
    assert_gone(&state, before);
}

/// 100 uncached writes at 50 per second, and 100 uncached reads at 100 per second. On any machine,
/// the writes take at least about two seconds, and the reads at least about one.
#[test]
fn a_disk_does_no_more_in_a_second_than_it_may() {
    let needs = [Capability::Hosts, Capability::Volume, Capability::DiskLimit];
    if !able(&needs) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let disk = DiskSpec {
        write_iops: Some(50),
        read_iops: Some(100),
        write_bytes_per_s: Some(100 << 20),
        read_bytes_per_s: None,
    };
    let limited = HostSpec {
        volume_bytes: Some(128 << 20),
        disk,
        ..HostSpec::default()
    };
    let hosts = make("disk", &spec(1, limited.clone()), folder.path());
    let host = &hosts.all()[0];
    let found = host.limits().unwrap();
    let expected = [
        ("disk_read_iops", "100"),
        ("disk_write_iops", "50"),
        ("disk_write_rate", "104857600"),
    ];
    assert!(
        expected.iter().all(|(key, value)| found[*key] == *value),
        "{found:?}"
    );
    assert!(!found.contains_key("disk_read_rate"));
    let file = host.folder().join("file").display().to_string();
    let took_ns = |words: &str| {
        let begun_ns = clock::now_ns();
        let done = shell(host, &format!("dd bs=4k count=100 {words}"));
        assert!(done.status.success(), "{}", done.text);
        clock::now_ns() - begun_ns
    };
    let write_ns = took_ns(&format!("if=/dev/zero of={file} oflag=direct"));
    let read_ns = took_ns(&format!("if={file} of=/dev/null iflag=direct"));
    assert!(
        write_ns > 1_500_000_000 && read_ns > 700_000_000,
        "{write_ns} {read_ns}"
    );

    let free = HostSpec {
        disk: DiskSpec::default(),
        ..limited
    };
    host.set_limits(&free).unwrap();
    assert!(host.limits().unwrap().into_keys().eq(["cpu_weight", "cpus"]));
}

#[test]
fn a_delay_is_set_or_refused_with_the_kernel_option() {
    if !able(&[Capability::Hosts]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let host = HostSpec {
        link: LinkSpec {
            rate_bits_per_s: None,
            delay: Some(Duration::from_millis(1)),
        },
        ..HostSpec::default()
    };
    let made = try_make("delay", &spec(1, host), folder.path());
    let present = capabilities()
        .iter()
        .any(|able| able.capability == Capability::LinkDelay && able.present);
    match made {
        Ok(hosts) => {
            assert!(present);
            assert_eq!(hosts.all()[0].limits().unwrap()["link_delay"], "1000000");
        }
        Err(error) => {
            let error = format!("{error:#}");
            assert!(
                !present && error.contains("CONFIG_NET_SCH_NETEM"),
                "{error}"
            );
        }
    }
}

#[test]
fn the_page_cache_of_one_host_is_dropped_alone() {
    let needs = [
        Capability::Hosts,
        Capability::Volume,
        Capability::DropPageCache,
    ];
    if !able(&needs) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let host = HostSpec {
        volume_bytes: Some(128 << 20),
        ..HostSpec::default()
    };
    let hosts = make("cache", &spec(2, host), folder.path());
    let cached = |host: usize| -> u64 {
        let stat = group(&hosts, host, "memory").join("memory.stat");
        let text = std::fs::read_to_string(stat).unwrap();
        let mut lines = text.lines();
        let value = lines.find_map(|line| {
            let words = line.split_once(' ')?;
            ["cache", "file"].contains(&words.0).then_some(words.1)
        });
        value.unwrap().parse().unwrap()
    };
    for (number, host) in hosts.all().iter().enumerate() {
        let file = host.folder().join("file").display().to_string();
        let line = format!("head -c 20000000 /dev/zero > {file}");
        assert!(shell(host, &line).status.success());
        assert!(cached(number) >= 20_000_000, "{}", cached(number));
    }
    hosts.all()[0].drop_page_cache().unwrap();
    assert!(cached(0) < 2_000_000, "{}", cached(0));
    assert!(cached(1) >= 20_000_000, "{}", cached(1));
}
