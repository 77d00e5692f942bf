//! Tests the machines of an attached cluster: settings for all machines and for one machine. Also
//! tests the trust that is required to read files and run programs there.

use super::*;
use std::path::PathBuf;
use target_spec::{AttachSpec, AttachedHost, ProcessControl, Target};

const REST: &str = "study: s\nquestion: q\nworkload: {use: standard1, mix: {write: 1}}\n\
                    procedure: {fixed: {threads: 1}}\n";

fn resolved(hosts: &str, trust: bool) -> Result<Study, String> {
    let mut overrides = Overrides::default();
    overrides.granted.trust = trust;
    let target = format!("target: {{attach: {{contact_points: [a], hosts: {hosts}}}}}");
    resolve("s", &format!("{REST}{target}\n"), &overrides).map_err(|out| out.to_string())
}

fn hosts(text: &str) -> Vec<AttachedHost> {
    let study = resolved(text, true).unwrap_or_else(|said| panic!("{text}: {said}"));
    match &study.variants[0].settings.target {
        Target::Attach(spec) => spec.hosts.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_setting_of_all_hosts_holds_unless_a_host_has_its_own() {
    let all = hosts(
        "{ssh: [db1, {ssh: me@db2, address: [10.0.0.7, '::1'], sudo: false, logs: /l, \
         control: {command: {stop: [ctl, stop], start: ctl}}}], \
         sudo: true, folder: /opt/x, logs: /var/log/cassandra, control: {systemd: cassandra}}",
    );
    let [db1, db2] = &all[..] else {
        panic!("{all:?}")
    };
    assert_eq!((db1.remote.ssh.as_str(), db1.remote.sudo), ("db1", true));
    assert_eq!(
        (db2.remote.ssh.as_str(), db2.remote.sudo),
        ("me@db2", false)
    );
    let folder = Some(PathBuf::from("/opt/x"));
    assert_eq!([&db1.remote.folder, &db2.remote.folder], [&folder, &folder]);
    assert_eq!(db1.logs, Some("/var/log/cassandra".into()));
    assert_eq!(db2.logs, Some("/l".into()));
    assert_eq!(
        db1.control,
        Some(ProcessControl::Systemd("cassandra".into()))
    );
    let command = ProcessControl::Command {
        stop: vec!["ctl".into(), "stop".into()],
        start: vec!["ctl".into()],
    };
    assert_eq!(db2.control, Some(command));
    assert!(db1.addresses.is_empty());
    assert_eq!(
        db2.addresses,
        ["10.0.0.7", "::1"].map(|text| text.parse::<std::net::IpAddr>().unwrap())
    );
    assert_eq!(hosts("{ssh: db1}").len(), 1);
}

#[test]
fn whoever_runs_it_has_to_stand_behind_what_is_done_there() {
    let whole = "{ssh: [db1, {ssh: db2, control: {systemd: c}}], logs: /l, \
                 control: {command: {stop: [a], start: [b]}}}";
    let said = resolved(whole, false).unwrap_err();
    for part in [
        "runs this program on db1 as your user, and reads metrics",
        "runs this program on db2",
        "`target.attach.hosts.ssh.control.systemd` runs programs on the nodes' machines",
        "`target.attach.hosts.control.command` runs programs on the nodes' machines",
        "`target.attach.hosts.logs` makes cassay read a folder on one of your machines: /l",
        "pass --trust",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn invalid_names_addresses_and_folders_are_always_refused() {
    for (text, part) in [
        ("{ssh: '-oProxyCommand=x'}", "is not a destination for ssh"),
        (
            "{ssh: [{ssh: db1, address: 'db1:9042'}]}",
            "\"db1:9042\" is not an address",
        ),
        ("{ssh: db1, logs: logs}", "\"logs\" is not an absolute path"),
        ("{ssh: db1, data: /var/../etc}", "is not an absolute path"),
        (
            "{ssh: db1, control: {systemd: --now}}",
            "\"--now\" is not a valid name",
        ),
        (
            "{ssh: db1, control: {docker: 'a b'}}",
            "\"a b\" is not a valid name",
        ),
        (
            "{ssh: db1, control: {systemd: a, docker: b}}",
            "has both `systemd` and `docker`",
        ),
        (
            "{ssh: db1, control: {command: {stop: [a]}}}",
            "`target.attach.hosts.control.command.start` is missing",
        ),
        ("{sudo: true}", "`target.attach.hosts.ssh` is missing"),
    ] {
        let said = resolved(text, true).expect_err(text);
        assert!(said.contains(part), "{text}: {said}");
    }
    assert!(resolved("{ssh: db1, control: {systemd: 'cassandra@{node}'}}", true).is_ok());
}

fn attached(text: &str) -> Result<AttachSpec, String> {
    let target = format!("target: {{attach: {{contact_points: [a], {text}}}}}");
    let study = resolve("s", &format!("{REST}{target}\n"), &Overrides::default());
    match study.map_err(|out| out.to_string())?.variants.remove(0).settings.target {
        Target::Attach(spec) => Ok(spec),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_node_is_reached_at_its_translated_address() {
    let spec = attached(
        "addresses: {10.1.0.5: '127.0.0.1:9043', '[fd00::5]:9142': 192.0.2.5, \
         '10.1.0.5:8778': '127.0.0.1:8779'}",
    );
    let addresses = spec.unwrap().addresses;
    for (called, reached) in [
        ("10.1.0.5:9042", "127.0.0.1:9043"),
        ("[fd00::5]:9142", "192.0.2.5:9142"),
        ("10.1.0.6:9042", "10.1.0.6:9042"),
    ] {
        let reached: std::net::SocketAddr = reached.parse().unwrap();
        assert_eq!(addresses.reached(called.parse().unwrap()), reached);
    }
    for (text, part) in [
        ("{db1: '127.0.0.1:9043'}", "\"db1\" is not an address"),
        ("{10.1.0.5: localhost}", "\"localhost\" is not an address"),
        (
            "{10.1.0.5: '127.0.0.1:9043', 10.1.0.6: '127.0.0.1:9043'}",
            "127.0.0.1:9043 is duplicated",
        ),
        (
            "{'::5': '127.0.0.1:9043', 'fd00::5': '10.0.0.5', '0:0::5': '127.0.0.2'}",
            "0:0::5 is duplicated",
        ),
    ] {
        let said = attached(&format!("addresses: {text}")).expect_err(text);
        assert!(said.contains(part), "{text}: {said}");
        assert!(said.contains("{10.1.0.5: '127.0.0.1:9043'}"), "{said}");
    }
}

#[test]
fn a_contact_point_with_a_mistake_is_refused_at_its_place() {
    let at = |points: &str, overrides: &Overrides| {
        let target = format!("target: {{attach: {{contact_points: {points}}}}}");
        let mistakes = resolve("s", &format!("{REST}{target}\n"), overrides).expect_err(points);
        let [mistake] = &mistakes.list[..] else {
            panic!("{mistakes}")
        };
        let text = &mistakes.sources[mistake.place.source].text;
        let marked = text[mistake.place.span.clone()].to_owned();
        (mistake.message.clone(), marked)
    };
    for (points, marked, why) in [
        (
            "[db1, 'db2:99999']",
            "'db2:99999'",
            "has no port from 1 to 65535",
        ),
        ("'db1,db2'", "'db1,db2'", "has a host with a character"),
        ("['256.1.1.1']", "'256.1.1.1'", "is not an IPv4 address"),
    ] {
        let (message, place) = at(points, &Overrides::default());
        assert!(message.contains(why), "{points}: {message}");
        assert_eq!(place, marked);
    }
    let overrides = Overrides {
        target: Some("attach:127.0.0.1:99999".to_owned()),
        ..Overrides::default()
    };
    let (message, place) = at("[db1]", &overrides);
    assert!(message.contains("has no port from 1 to 65535"), "{message}");
    assert_eq!(place, "'127.0.0.1:99999'");
}

#[test]
fn an_address_in_place_of_the_section_is_told_how_to_write_it() {
    let text = "study: s\nquestion: q?\ntarget: {attach: 10.0.0.1}\ndefaults: {}\n";
    let study = resolve("s", text, &Overrides::default());
    let said = study.map_err(|out| out.to_string()).expect_err("two mistakes");
    for part in ["attach: {contact_points: ['10.0.0.1']}", "use `variants`"] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn a_client_s_certificate_goes_with_its_key() {
    for section in ["", "jolokia: "] {
        let with = |text: &str| {
            let tls = format!("{{tls: {{{text}}}}}");
            let tls = match section {
                "" => tls[1..tls.len() - 1].to_owned(),
                _ => format!("{section}{tls}"),
            };
            attached(&tls)
        };
        for (text, part) in [
            ("cert: c.pem", "tls.cert` is set, "),
            ("key: k.pem", "tls.key` is set, "),
        ] {
            let said = with(text).expect_err(text);
            assert!(said.contains(part) && said.contains("is missing"), "{said}");
        }
    }
}

#[test]
fn a_bundle_says_all_of_how_nodes_are_reached() {
    let with = |more: &str| {
        let target = format!("target: {{attach: {{secure_connect_bundle: s.zip{more}}}}}");
        let study = resolve("s", &format!("{REST}{target}\n"), &Overrides::default());
        study.map_err(|out| out.to_string())
    };
    for (more, part) in [
        (
            ", contact_points: [a]",
            "has both `contact_points` and `secure_connect_bundle`",
        ),
        (", tls: true", "you cannot combine `target.attach.tls` with"),
        (
            ", addresses: {10.0.0.5: 10.0.0.6}",
            "you cannot combine `target.attach.addresses` with",
        ),
        (
            ", jolokia: {}",
            "you cannot combine `target.attach.jolokia` with",
        ),
    ] {
        let said = with(more).expect_err(more);
        assert!(said.contains(part), "{more}: {said}");
    }
    // cassay refuses the file, because the study's folder is unknown.
    let said = with("").expect_err("no folder");
    assert!(said.contains("cassay does not read s.zip"), "{said}");
}
