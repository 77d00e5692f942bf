//! Tests a study by an unknown author: the actions that cassay permits and refuses, and the ways in
//! which a user can permit more.

use super::*;
use std::path::PathBuf;
use target_spec::SecretSource;

const REST: &str = "study: s\nquestion: q\nworkload: {use: standard1, mix: {write: 1}}\n\
                    procedure: {fixed: {threads: 1}}\n";

fn given(change: impl FnOnce(&mut Overrides)) -> Overrides {
    let mut overrides = Overrides {
        files: Some(Folder {
            path: "/studies".into(),
            open: false,
        }),
        ..Overrides::default()
    };
    change(&mut overrides);
    overrides
}

fn resolved(text: &str, overrides: &Overrides) -> Result<Study, Diagnostics> {
    resolve("s", &format!("{REST}{text}\n"), overrides)
}

/// Settings that cassay refuses in a study by an unknown author, each with words of the message.
const HOSTILE: &[(&str, &str)] = &[
    (
        "target: {local: {jvm: ['-XX:OnOutOfMemoryError=touch /tmp/x']}}",
        "cassay does not consider `-XX:OnOutOfMemoryError`",
    ),
    (
        "target: {local: {jvm: '-javaagent:x.jar'}}",
        "cassay does not consider `-javaagent:x.jar`",
    ),
    (
        "target: {local: {yaml: {audit_logging_options: {archive_command: sh}}}}",
        "the value of `audit_logging_options.archive_command` is neither",
    ),
    (
        "target: {local: {}}\nphases: {measure: {target: {local: {jvm: [-Xrunjdwp]}}}}",
        "cassay does not consider `-Xrunjdwp`",
    ),
    (
        "target: {local: {}}\nvariants: {a: {}, b: {target: {local: {jvm: ['@args']}}}}",
        "cassay does not consider `@args`",
    ),
    (
        "target: {local: {}}\nscales: {big: {target.local.yaml: {role_manager: x.Y}}}",
        "the value of `role_manager`",
    ),
    (
        "target: {local: {}}\nfaults:\n  \
         - {at: 1s, kind: rolling-change, for: 5s, yaml: {role_manager: x.Y}}",
        "`faults.yaml`: the value of `role_manager`",
    ),
    (
        "target: {local: {}}\nkeyspace: {compaction: {class: evil.Strategy}}",
        "`keyspace.compaction.class`: evil.Strategy is not one of Cassandra's own",
    ),
    (
        "target: {local: {}}\nkeyspace: {options: {caching: {class: 'a.b.C'}}}",
        "`keyspace.options.caching`: a.b.C is not one of",
    ),
    (
        "target: {attach: {contact_points: h, user: u, password: {file: /etc/shadow}}}",
        "/etc/shadow is outside the study's folder",
    ),
    (
        "target: {attach: {contact_points: h, user: u, password: {file: ../x}}}",
        "../x is outside the study's folder",
    ),
    (
        "target: {attach: {contact_points: h, user: u, password: {env: AWS_SECRET}}}",
        "your environment variable AWS_SECRET",
    ),
    (
        "target: {attach: {contact_points: h, jolokia: {user: u, password: {env: A}}}}",
        "`target.attach.jolokia.password` reads your environment variable A",
    ),
    (
        "target: {attach: {contact_points: h, tls: {ca: /etc/passwd}}}",
        "/etc/passwd is outside the study's folder",
    ),
    (
        "target: {attach: {secure_connect_bundle: /tmp/scb.zip}}",
        "/tmp/scb.zip is outside the study's folder",
    ),
    (
        "target: {attach: {contact_points: h, tls: {cert: c.pem, key: /etc/ssl/private/me.key}}}",
        "/etc/ssl/private/me.key is outside the study's folder",
    ),
    (
        "target: {attach: {contact_points: h, jolokia: {tls: {cert: ../c.pem, key: k.pem}}}}",
        "../c.pem is outside the study's folder",
    ),
    (
        "target: {attach: {contact_points: h}}\n\
         probes: {import: [{prometheus: 'http://169.254.169.254/latest'}]}",
        "the study makes cassay contact 169.254.169.254, which is neither",
    ),
    (
        "target: {attach: {contact_points: h}}\n\
         probes: {import: [{prometheus: 'http://127.0.0.1@evil/'}]}",
        "the study makes cassay contact 127.0.0.1@evil, which is neither",
    ),
];

#[test]
fn a_stranger_s_study_runs_reads_and_asks_nothing_of_its_own() {
    for (text, words) in HOSTILE {
        let mistakes = resolved(text, &given(|_| {})).expect_err(text);
        let [mistake] = mistakes.list.as_slice() else {
            panic!("{text}: {mistakes}");
        };
        assert!(mistake.message.contains(words), "{mistakes}");
        assert!(mistake.line > 4 && mistake.column > 9, "{mistakes}");
        let hint = mistake.hint.as_deref().unwrap_or_default();
        assert!(hint.contains("--trust"), "{mistakes}");
    }
}

#[test]
fn trust_lets_it() {
    for (text, _) in HOSTILE {
        let study = resolved(text, &given(|o| o.granted.trust = true))
            .unwrap_or_else(|mistakes| panic!("{text}: {mistakes}"));
        assert!(study.overrides.granted.trust);
        crate::plan::plan(&study).expect("a plan");
    }
}

#[test]
fn all_that_needs_trust_is_said_with_the_other_mistakes() {
    let text = "target: {local: {jvm: [-Xrunjdwp, -Xss1m, '@x'], yaml: {role_manager: x}}}\n\
                windows: 3";
    let mistakes = resolved(text, &given(|_| {})).expect_err("four mistakes");
    assert_eq!(mistakes.list.len(), 4, "{mistakes}");
}

#[test]
fn a_value_that_no_node_takes_is_one_mistake() {
    for yaml in [
        "user_defined_functions_enabled: abc",
        "read_request_timeout: abc",
        "commitlog_sync: bach",
        "auto_snapshot_ttl: abc",
    ] {
        let text = format!("target: {{local: {{yaml: {{{yaml}}}}}}}");
        let mistakes = resolved(&text, &given(|_| {})).expect_err(yaml);
        assert_eq!(mistakes.list.len(), 1, "{mistakes}");
        let hint = mistakes.list[0].hint.as_deref().unwrap_or_default();
        assert!(!hint.contains("--trust"), "{mistakes}");
    }
}

/// The fault changes one of two settings. The other keeps its value from the nodes.
#[test]
fn a_fault_s_settings_must_fit_those_of_the_nodes() {
    let study = |nodes: &str, fault: &str| {
        let text = format!(
            "target: {{local: {{yaml: {{{nodes}}}}}}}\nfaults:\n  \
             - {{at: 1s, kind: rolling-change, for: 5s, yaml: {{{fault}}}}}"
        );
        resolved(&text, &given(|_| {})).map_err(|mistakes| mistakes.to_string())
    };
    let mutation = "max_mutation_size: 64MiB";
    let why = study("", mutation).expect_err("larger than a segment");
    assert!(
        why.contains("must be at most commitlog_segment_size (32MiB by default)"),
        "{why}"
    );
    study("commitlog_segment_size: 128MiB", mutation).expect("a segment has room");
}

#[test]
fn the_command_line_needs_no_trust_and_a_record_does() {
    let text = "target: {local: {}}";
    let set = |o: &mut Overrides| o.set = vec!["target.local.jvm=['-Xrunjdwp']".to_owned()];
    assert!(resolved(text, &given(set)).is_ok());
    let recorded = given(|o| {
        set(o);
        o.recorded = true;
    });
    assert!(resolved(text, &recorded).is_err());

    let text = "target: {attach: {contact_points: h, user: u}}";
    let set = "target.attach.password={env: P}".to_owned();
    assert!(resolved(text, &given(|o| o.set = vec![set])).is_ok());
}

#[test]
fn harmless_things_need_no_trust() {
    for text in [
        "target: {local: {jvm: [-Xmn200m, '-XX:MaxGCPauseMillis=50', '-XX:+UseParallelGC'], \
         yaml: {concurrent_reads: 64, commitlog_sync: batch, column_index_size: 4KiB}}}",
        "target: {attach: {contact_points: ['db1:9042']}}\n\
         probes: {import: [{prometheus: 'http://db1:7070/metrics'}]}",
        "target: {attach: {contact_points: h}}\n\
         probes: {import: [{prometheus: 'http://[::1]:9100/metrics'}]}",
        "target: {null: {}}\nprobes: {import: [{prometheus: 'http://localhost:9100/metrics'}]}",
    ] {
        let study = resolved(text, &given(|_| {}));
        study.unwrap_or_else(|mistakes| panic!("{text}: {mistakes}"));
    }
}

#[test]
fn secrets_are_beside_the_study_or_named_on_the_command_line() {
    let password = |text: &str, overrides: &Overrides| {
        let text = format!("target: {{attach: {{contact_points: h, user: u, password: {text}}}}}");
        let study = resolved(&text, overrides).map_err(|mistakes| mistakes.to_string())?;
        match study.variants.into_iter().next().map(|v| v.settings.target) {
            Some(Target::Attach(attach)) => Ok(attach.password),
            _ => Err("another target".to_owned()),
        }
    };
    let beside = SecretSource::File(PathBuf::from("/studies/secret.txt"));
    assert_eq!(
        password("{file: secret.txt}", &given(|_| {})),
        Ok(Some(beside))
    );
    let named = SecretSource::Env("P".to_owned());
    let secrets = |o: &mut Overrides| o.granted.secrets = [("db".to_owned(), named.clone())].into();
    assert_eq!(
        password("{secret: db}", &given(secrets)),
        Ok(Some(named.clone()))
    );
    let why = password("{secret: db}", &given(|_| {})).expect_err("it is not named");
    assert!(
        why.contains("pass --secret db=file:PATH or --secret db=env:NAME"),
        "{why}"
    );
    // A resumed run has only its own record, and not the folder of the study, so cassay cannot read
    // the file.
    let why = password("{file: secret.txt}", &given(|o| o.files = None)).expect_err("no folder");
    assert!(
        why.contains("the study's folder comes from the record of the run"),
        "{why}"
    );
}

#[test]
fn a_link_beside_the_study_leads_to_no_secret_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink("/etc/hostname", folder.path().join("link")).expect("a link");
    let overrides = given(|o| {
        o.files = Some(Folder {
            path: folder.path().to_owned(),
            open: false,
        });
    });
    let text = "target: {attach: {contact_points: h, user: u, password: {file: link}}}";
    let mistakes = resolved(text, &overrides).expect_err("it leads out");
    assert!(
        mistakes.to_string().contains("a link to a file outside the study's folder"),
        "{mistakes}"
    );
}

/// cassay stores a study with its runs and shows it to readers. So cassay refuses a password in the
/// command line of another tool.
#[test]
fn a_password_in_the_words_of_an_import_is_refused() {
    let mistakes = |words: &str| {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{attach: {{contact_points: [db1]}}}}\n\
             workload: {{{words}}}\n"
        );
        let resolved = resolve("s", &text, &Overrides::default());
        resolved.err().map_or_else(String::new, |mistakes| mistakes.to_string())
    };
    for words in [
        "easy: 'run KeyValue -n 9 -U me --password tell'",
        "stress: 'write n=9 -mode native cql3 user=me password=tell'",
        "ycsb: 'run cassandra-cql -p cassandra.username=me -p cassandra.password=tell \
         -p recordcount=9 -p operationcount=9'",
    ] {
        let said = mistakes(words);
        assert!(
            said.contains("the command line contains a password"),
            "{words}: {said}"
        );
        assert!(!mistakes(&words.replace("tell", "***")).contains("contains a password"));
    }
}
