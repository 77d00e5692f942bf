//! Tests that the lexer finds the ends of comments, names and texts.

use super::*;

fn read(cql: &str) -> String {
    let read = tokens(cql).map(|all| {
        let words = all.into_iter().map(|token| match token.kind {
            TokenKind::Text => format!("'{}'", token.text),
            TokenKind::Quoted => format!("\"{}\"", token.text),
            TokenKind::Word | TokenKind::Symbol => token.text,
        });
        words.collect::<Vec<_>>().join(" ")
    });
    read.unwrap_or_else(|fault| {
        let said = fault.describe(cql);
        said.split(": ")
            .next()
            .expect("a place")
            .replace("line ", "")
            .replace(", column ", ":")
    })
}

#[test]
fn comments_and_texts_end_where_the_server_ends_them() {
    for (cql, expected) in [
        ("a -- b\nc", "a c"),
        ("a // b\nc", "a c"),
        ("a -- b\r\nc", "a c"),
        ("a -- b\r", "a"),
        ("a -- b\r \t\r\nc", "a c"),
        ("a -- b", "a"),
        ("a --", "a"),
        ("a /* b \r c */ d", "a d"),
        ("a /* b /* c */ d", "a d"),
        ("a /*/ b */ c", "a c"),
        ("a / / b", "a / / b"),
        ("a - - b", "a - - b"),
        ("a---1\nb", "a b"),
        ("a '-- b' c", "a '-- b' c"),
        ("a '/*' c", "a '/*' c"),
        ("a 'b''c'", "a 'b'c'"),
        ("a \"b\"\"c\" D", "a \"b\"c\" d"),
        ("a \"\" b", "a \"\" b"),
        ("a $$b'; -- \"$$ c", "a 'b'; -- \"' c"),
        ("a $$b$c$$", "a 'b$c'"),
        ("a '\u{2028}é' b", "a '\u{2028}é' b"),
        // Some programs end a line at a carriage return and others do not, so `tokens` must refuse
        // the text.
        ("a -- b\rc", "1:7"),
        ("a\nb // c\r\rd", "2:7"),
        ("-- a\rSELECT 1 /*\nb -- */\n", "1:5"),
        ("-- a\u{2028}b\nc", "1:5"),
        ("/* a\u{202e}b */", "1:5"),
        // In these texts, a token is not closed, or a character is not part of CQL.
        ("a 'b''c", "1:3"),
        ("a\n\"b", "2:1"),
        ("a $$b$", "1:3"),
        ("é", "1:1"),
        ("a /* b", "1:3"),
        // Cassandra does not treat these characters as blanks or as letters.
        ("a\u{a0}b", "1:2"),
        ("a\u{c}b", "1:2"),
        ("SELECT \u{212a}", "1:8"),
    ] {
        assert_eq!(read(cql), expected, "{cql:?}");
    }
}

#[test]
fn a_text_is_sent_without_its_comments_and_otherwise_as_it_is() {
    for (cql, expected) in [
        ("SELECT  1\n", "SELECT  1\n"),
        ("SELECT/* a */1 -- b", "SELECT 1  "),
        ("-- a\r\nSELECT '-- b'", " \r\nSELECT '-- b'"),
    ] {
        assert_eq!(without_comments(cql).as_deref(), Ok(expected), "{cql:?}");
        let mut out = Vec::new();
        append_statement_text(&mut out, cql).expect("it can be read");
        assert_eq!(out[..4], (expected.len() as i32).to_be_bytes());
        assert_eq!(&out[4..], expected.as_bytes());
    }
}

#[test]
fn a_schema_has_no_remarks_on_its_elements() {
    let schema = "CREATE TABLE k.t (a int PRIMARY KEY) WITH comment = 'x; y';\nCOMMENT ON TABLE \
        k.t IS 'x; y';\nCOMMENT ON COLUMN k.t.a IS 'z';\nSECURITY LABEL ON TABLE k.t IS 'w';\n\
        ALTER TABLE k.t DROP b;";
    let statements: Vec<&str> = definitions(schema)
        .expect("it is CQL")
        .into_iter()
        .map(|(_, cql)| cql)
        .collect();
    assert_eq!(
        statements,
        [
            "CREATE TABLE k.t (a int PRIMARY KEY) WITH comment = 'x; y'",
            "ALTER TABLE k.t DROP b"
        ]
    );
}

#[test]
fn statements_are_split_at_semicolons_that_are_not_quoted() {
    let text = "-- one; two\nSELECT ';' /* ; */ ;; \"a;\" -- end\n; $$;$$";
    let all: Vec<_> = split(text).expect("it can be read").into_iter().collect();
    let texts: Vec<_> = all.iter().map(|(_, text)| *text).collect();
    assert_eq!(texts, ["SELECT ';'", "\"a;\"", "$$;$$"]);
    assert!(all.iter().all(|(at, statement)| text[*at..].starts_with(statement)));
}

#[test]
fn a_table_of_accord_is_told_by_its_definition() {
    let mode = |options: &str| {
        transactional_mode(&format!(
            "CREATE TABLE k.t (a int PRIMARY KEY) WITH {options}"
        ))
    };
    let full = mode("transactional_mode = 'full' AND comment = ''");
    assert_eq!(full.as_deref(), Some("full"));
    let mixed = mode("comment = '' AND transactional_mode = 'mixed_reads'");
    assert_eq!(mixed.as_deref(), Some("mixed_reads"));
    assert_eq!(mode("transactional_mode = 'off'"), None);
    assert_eq!(mode("comment = 'transactional_mode = full'"), None);
}
