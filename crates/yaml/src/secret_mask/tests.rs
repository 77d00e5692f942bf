//! Tests the masks with texts that contain a planted password, and with texts that must remain
//! unchanged.

use super::*;
use proptest::prelude::*;

fn source(text: &str) -> String {
    MaskedSource::new(text).text()
}

/// Texts with `P` in place of a password. Some of them do not parse.
const PLANTED: [&str; 46] = [
    "target.attach.password=P",
    "password: P",
    "password: 'P",
    "password: 'P'",
    "password: \"P",
    "password: @P",
    "password: %P",
    "password: `P`",
    "password: *P",
    "password: P: x",
    "password: x: P",
    "password: |P",
    "password: |\n  P\nrepeat: 2",
    "password:\n  - P\n",
    "password:\n- P\n",
    "password:\n  P\n  P",
    "password: a\n  P",
    "- a: 1\n- password: P",
    "  - password:\n      P\n",
    "password: - P",
    "password: &x P",
    "target: {attach: {user: u, password: P}}",
    "target: {attach: {user: u, password: a P}}",
    "target: {attach: {user: u, password: 'P}}",
    "{jolokia: {user: u, password: [P, P]}}",
    "{\"password\": \"P\"}",
    "{credentials: {user: u, pass: P}}",
    "credentials:\n  user: u\n  pass: P",
    "tls: {key_password: P, truststore_password: P}",
    "passwort: P",
    "pass: P",
    "token: P",
    "workload: {stress: 'write n=1 -mode native cql3 user=u password=P'}",
    "write -jmx user=u password=P -node a",
    "write -mode password = P",
    "-p javax.net.ssl.trustStorePassword=P",
    "-p cassandra.passwort=P",
    "-p cassandra.password:P",
    "-p cassandra.password P",
    "run KeyValue --passwd P --Password P",
    "write -password P",
    "hosts=u:P@h,v:P@h",
    "hosts=h:9042,u:P@h",
    "attach:u:P@h",
    "http://u:P@h/metrics https://:P@h",
    "cassandra://u:P@h:9042",
];

proptest! {
    /// The words contain characters that have a meaning in YAML, in a shell or in an address.
    #[test]
    fn no_text_shows_the_planted_word(inner in "[!#$%^&+~|;a-z0-9.:*=_@?-]{0,6}") {
        let word = format!("planted{inner}word");
        for text in PLANTED {
            // The texts contain no capital `P` in a name, except in these two names.
            let text = text.replace("trustStorePassword", "\u{1}").replace("--Password", "\u{2}");
            let text = text.replace('P', &word);
            let text = text.replace('\u{1}', "trustStorePassword").replace('\u{2}', "--Password");
            let shown = source(&text);
            prop_assert!(!shown.contains("planted") && !shown.contains("word@"), "{}", shown);
            prop_assert_eq!(shown.lines().count(), text.lines().count());
        }
    }

    /// Places remain on character boundaries and in order.
    #[test]
    fn places_follow_any_text(text in "([a-z@:='\" \nµ{},-]|password|: ){0,40}") {
        let masked = MaskedSource::new(&text);
        let shown = masked.text();
        let mut before = 0;
        for (at, c) in text.char_indices() {
            let place = masked.place_of(&(at..at + c.len_utf8()));
            prop_assert!(shown.get(place.clone()).is_some(), "{:?} {:?}", shown, place);
            prop_assert!(place.start >= before);
            before = place.start;
        }
        prop_assert_eq!(masked.place_of(&(text.len()..text.len())).end, shown.len());
    }
}

#[test]
fn values_of_secrets_are_masked_and_nothing_else_is() {
    for (text, expected) in [
        ("-Dmy.password=hunter2", "-Dmy.password=***"),
        ("-Dx.keyStorePassword=a=b", "-Dx.keyStorePassword=***"),
        (
            "-javaagent:x.jar=user=u,password=hunter2,port=1",
            "-javaagent:x.jar=user=u,password=***,port=1",
        ),
        (
            "JVM Arguments: [-Dclient_secret=x, -Xmx1g]",
            "JVM Arguments: [-Dclient_secret=***, -Xmx1g]",
        ),
        ("the password = x", "the password = ***"),
        (
            "`u:a@b@h`: a contact point has no login",
            "`u:***@h`: a contact point has no login",
        ),
        ("cannot open http://u:x@h/m", "cannot open http://u:***@h/m"),
    ] {
        assert_eq!(without_secrets(text), expected);
    }
}

#[test]
fn harmless_texts_stay_as_they_are() {
    for text in [
        "-Dcassandra.ring_delay_ms=1000",
        "-Dpassword=",
        "é=1, pässword=2",
        "num_tokens: 16",
        "initial_token: -9223372036854775808",
        "allocate_tokens_for_local_replication_factor: 3",
        "SELECT token(id), partition_token FROM t WHERE token(id) > ?",
        "StorageService: token=-9223372036854775808",
        "pass --secret db=file:/etc/cassandra/password",
        "pass --trust: the run needs it",
        "write `target.attach.password: {secret: NAME}` and pass --secret NAME=env:DB",
        "--set target.attach.password={secret: db}",
        "--set target.attach.password.file=/etc/p",
        "`user=` and `password=` belong together",
        "target: {attach: {user: u, password: {secret: db}}, x: y}",
        "password: {file: /etc/p}   # and the user",
        "password:\n  env: DB\nrepeat: 2",
        "authenticator: PasswordAuthenticator",
        "credentials_validity: 2000ms",
        "image: registry/cassandra:5.0@sha256:0011",
        "ssh://root@db1:22/x",
        "contact_points: [db1:9042, '[::1]:9042', root@db2]",
        "mailto:someone@example.org",
        "a@b: c",
        "columns: {passenger: text, compass: int}",
        "at 12:30@noon",
    ] {
        assert_eq!(source(text), text);
        assert_eq!(without_secrets(text), text);
    }
    // In a sentence, a colon and a blank do not assign a value.
    let text = "cannot read the password: no such file";
    assert_eq!(without_secrets(text), text);
}

#[test]
fn words_of_a_command_line_lose_their_secrets() {
    for (line, expected) in [
        (
            &["--passwd", "P", "--host", "h"][..],
            "--passwd *** --host h",
        ),
        (&["-password", "P"], "-password ***"),
        (&["password", "=", "P", "n=1"], "password = *** n=1"),
        (&["password=", "P"], "password= ***"),
        (&["password=a b"], "password=***"),
        (&["-p", "cassandra.password P"], "-p cassandra.password ***"),
        (
            &["-p", "cassandra.password", "P"],
            "-p cassandra.password ***",
        ),
        (&["truststore-password=a,b"], "truststore-password=***"),
        (
            &["write user=u password=P n=1"],
            "write user=u password=*** n=1",
        ),
        (&["-node", "u:P@h"], "-node u:***@h"),
        (&["--secret", "db=file:x"], "--secret db=file:x"),
        (&["kspass=***", "token=5", "n=1"], "kspass=*** token=5 n=1"),
        (&["--password", "-p", "x=1"], "--password -p x=1"),
    ] {
        let words: Vec<String> = line.iter().map(|&word| word.to_owned()).collect();
        assert_eq!(words_without_secrets(&words).join(" "), expected);
    }
}

#[test]
fn a_place_after_a_secret_moves_with_the_text() {
    let text = "{password: hunter2secret, heep: 1}";
    let masked = MaskedSource::new(text);
    let heep = text.find("heep").unwrap();
    assert_eq!(&masked.text()[masked.place_of(&(heep..heep + 4))], "heep");
    let inside = text.find("secret").unwrap();
    assert_eq!(
        &masked.text()[masked.place_of(&(inside..inside + 2))],
        "***"
    );
    assert_eq!(masked.without_quoted("not `hunter2secret`"), "not `***`");
}
