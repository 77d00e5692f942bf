//! Tests of hosts without power. When the nodes run again, on this or another host, their synced
//! data must exist, and their unsynced data must be lost.

use crate::endings::kill;
use crate::hosts::{LIMIT, assert_gone, link_of, start, wait_until};
use crate::volumes::{hosts, is_whole, mounted, run, tried};
use host::{Attempt, Broken, DiskWork, FileStep, Host, Injection, Query, Restartable};
use std::time::Duration;

const SOON: Duration = Duration::from_millis(200);

/// Script that writes, syncs and reports numbers, and writes much data without syncing it.
const LINES: &str = "
    number=0
    while :; do
        number=$((number + 1))
        echo $number > next && sync next && mv next synced && sync . && echo $number > told
        head -c 65536 /dev/zero >> unsynced
    done";

/// Maximum number of power losses until one of them loses data. The kernel may already have written
/// all data.
const ROUNDS: usize = 10;

fn off(host: &Host, processes: Vec<Restartable>, within: Duration) -> Broken {
    let what = Injection::PowerOff { processes };
    host.agent().inject(what, within).unwrap()
}

/// Starts a process that counts. Returns the process, with the command that restarts it.
fn counts(host: &Host) -> Restartable {
    run(host, &format!("cd {}; {LINES}", host.folder().display()))
}

fn bytes(host: &Host, name: &str) -> u64 {
    let all = host.agent().list(host.folder(), None).unwrap().unwrap();
    let found = all.iter().find(|entry| entry.name == name);
    found.map_or(0, |entry| entry.bytes)
}

/// Reads a number from a file. Returns 0 if the file contains no number.
fn number(host: &Host, name: &str) -> u64 {
    let text = host.agent().read(&host.folder().join(name)).unwrap_or_default();
    String::from_utf8_lossy(&text).trim().parse().unwrap_or(0)
}

#[test]
fn a_power_loss_keeps_synced_data_and_loses_the_rest() {
    let Some((_root, hosts)) = hosts("power", 1) else {
        return;
    };
    let (state, link) = (hosts.state(), link_of(&hosts.state()));
    let host = &hosts.all()[0];
    let is_lost = |_| {
        let one = counts(host);
        // The child of `other` is in the host's control groups, but is not a direct child of the
        // agent.
        let (other, _) = start(host, "sleep 600 & sleep 600");
        wait_until("much is written", || bytes(host, "unsynced") > 4 << 20);
        let (told, before) = (number(host, "told"), bytes(host, "unsynced"));
        let broken = off(host, vec![one.clone()], LIMIT);
        assert!(!one.process.alive() && !other.alive());
        assert_eq!(mounted(host), None);
        let healed = host.agent().heal(broken).unwrap();
        assert!(healed.processes[0].alive() && !healed.by_itself);
        assert!(mounted(host).is_some() && is_whole(host));
        assert!(number(host, "synced") >= told, "what was synced is there");
        let after = bytes(host, "unsynced");
        host.agent().end_process(healed.processes[0], Duration::ZERO).unwrap();
        let step = FileStep::Remove(host.folder().join("unsynced"));
        host.agent().change(vec![step]).unwrap();
        after < before
    };
    assert!((0..ROUNDS).any(is_lost), "nothing was ever lost");
    hosts.end().unwrap();
    assert_gone(&state, link);
}

#[test]
fn files_of_a_host_without_power_cannot_be_reached() {
    let Some((_root, hosts)) = hosts("off", 1) else {
        return;
    };
    let host = &hosts.all()[0];
    let one = counts(host);
    let file = host.folder().join("file");
    let broken = off(host, vec![one.clone()], LIMIT);
    let write = || host.agent().change(vec![FileStep::write(file.clone(), "x")]);
    let said = format!("{:#}", write().unwrap_err());
    assert!(said.contains("is not mounted"), "{said}");
    assert!(host.agent().read(&file).is_err() && host.usage().is_err());
    let folder = host.folder().to_owned();
    let (work, limit) = (DiskWork::default(), LIMIT);
    let tried = host.agent().see(Query::TryDisk {
        folder,
        work,
        limit,
    });
    assert!(
        tried.is_err(),
        "the disk below it is not the host's: {tried:?}"
    );
    let folder = host.folder().to_owned();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "below it");
    host.agent().heal(broken).unwrap();
    write().unwrap();

    let one = counts(host);
    let broken = off(host, vec![one], SOON);
    wait_until("it is back by itself", || mounted(host).is_some());
    let healed = host.agent().heal(broken).unwrap();
    assert!(healed.by_itself && healed.processes[0].alive());

    // A volume can have only one fault at a time, because a process that waits for a stalled disk
    // cannot be killed.
    let stalled = host.agent().inject(Injection::DiskStalled, LIMIT).unwrap();
    let what = Injection::PowerOff {
        processes: Vec::new(),
    };
    let said = format!("{:#}", host.agent().inject(what, LIMIT).unwrap_err());
    assert!(said.contains("one at a time"), "{said}");
    assert!(healed.processes[0].alive());
    host.agent().heal(stalled).unwrap();
    assert!(is_whole(host));
}

fn adopt(other: &Host, start: Vec<Restartable>) -> Injection {
    Injection::Adopt {
        device: other.device().unwrap().to_owned(),
        folder: other.folder().to_owned(),
        start,
    }
}

#[test]
fn one_host_at_a_time_mounts_the_volume_of_a_host_without_power() {
    let Some((_root, hosts)) = hosts("adopt", 2) else {
        return;
    };
    let (state, link) = (hosts.state(), link_of(&hosts.state()));
    let [one, two] = hosts.all() else {
        panic!("two were asked for")
    };
    let works = counts(one);
    wait_until("something is synced", || number(one, "told") > 0);
    let inject = |what: Injection| two.agent().inject(what, LIMIT);
    let refusal = format!("{:#}", inject(adopt(one, Vec::new())).unwrap_err());
    assert!(refusal.contains("another host has mounted"), "{refusal}");
    let own = format!("{:#}", inject(adopt(two, Vec::new())).unwrap_err());
    assert!(own.contains("own volume"), "{own}");
    let wrong = Injection::Adopt {
        device: two.device().unwrap().to_owned(),
        folder: one.folder().to_owned(),
        start: Vec::new(),
    };
    assert!(inject(wrong).is_err(), "another device than that folder's");

    let told = number(one, "told");
    let broken = off(one, vec![works.clone()], LIMIT);
    let adopted = inject(adopt(one, vec![works.clone()])).unwrap();
    let started = two.agent().started(adopted).unwrap();
    assert!(started.len() == 1 && started[0].alive());
    let synced = one.folder().join("synced");
    let text = String::from_utf8(two.agent().read(&synced).unwrap()).unwrap();
    assert!(text.trim().parse::<u64>().unwrap() >= told);
    let again = one.folder().join("again");
    wait_until("it runs there", || two.agent().read(&again).is_ok());
    two.agent().heal(adopted).unwrap();
    assert!(!started[0].alive());
    assert!(two.agent().read(&synced).is_err(), "not its own any more");
    assert!(two.agent().started(adopted).unwrap().is_empty());
    let healed = one.agent().heal(broken).unwrap();
    assert!(healed.processes[0].alive() && is_whole(one) && is_whole(two));
    assert_eq!(one.agent().read(&again).unwrap()[..6], *b"again\n");

    // If both agents heal at the same time, the agent of the volume's owner waits until the other
    // host has unmounted the volume.
    let adopt_and_heal = |within: Duration| {
        let broken = off(one, vec![works.clone()], within);
        let adopted = two.agent().inject(adopt(one, vec![works.clone()]), within);
        (broken, adopted.unwrap())
    };
    let (broken, adopted) = adopt_and_heal(Duration::from_secs(2));
    let healed = one.agent().heal(broken).unwrap();
    assert!(two.agent().heal(adopted).unwrap().by_itself);
    assert!(healed.processes[0].alive() && is_whole(one));

    // After a kill of the other host's agent, the volume is free again.
    let broken = off(one, vec![works.clone()], LIMIT);
    let adopted = inject(adopt(one, vec![works])).unwrap();
    let started = two.agent().started(adopted).unwrap();
    kill(&[two.agent().process()]);
    let healed = one.agent().heal(broken).unwrap();
    assert!(healed.processes[0].alive() && is_whole(one));
    wait_until("what ran there has ended", || !started[0].alive());
    assert!(matches!(tried(one, LIMIT), (Attempt::Took(_), _)));
    hosts.end().unwrap();
    assert_gone(&state, link);
}

/// The volume's owner ends while another host has mounted the volume.
#[test]
fn an_adopted_volume_ends_with_the_hosts() {
    let Some((_root, hosts)) = hosts("adopted", 2) else {
        return;
    };
    let (state, link) = (hosts.state(), link_of(&hosts.state()));
    let [one, two] = hosts.all() else {
        panic!("two were asked for")
    };
    let works = counts(one);
    off(one, vec![works.clone()], LIMIT);
    let what = adopt(one, vec![works]);
    let adopted = two.agent().inject(what, LIMIT).unwrap();
    let started = two.agent().started(adopted).unwrap();
    // The agent of the volume's owner is killed while the other host still uses the volume.
    kill(&[one.agent().process()]);
    wait_until("its groups have gone", || {
        !state.hosts[0].places.iter().any(|place| place.dir.exists())
    });
    hosts.end().unwrap();
    assert!(!started[0].alive());
    assert_gone(&state, link);
}
