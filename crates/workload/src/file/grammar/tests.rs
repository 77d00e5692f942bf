//! Tests valid CQL, and the positions at which typing errors are reported.

use super::*;
use crate::schema::tokens;

fn read(cql: &str) -> Result<Clauses, GrammarMistake> {
    let tokens = tokens(cql).expect(cql);
    let verb = match tokens[0].text.as_str() {
        "select" => Verb::Select,
        "insert" => Verb::Insert,
        "update" => Verb::Update,
        _ => Verb::Delete,
    };
    clauses(&tokens, verb)
}

#[test]
fn every_clause_of_the_language_is_read() {
    for cql in [
        "SELECT * FROM t",
        "SELECT DISTINCT a, \"B\" AS c, count(*), ttl(v), m['x'], CAST(a AS text) FROM k.t;",
        "SELECT JSON a FROM t WHERE a = 1.5 AND b IN (1, 2) AND c IN :c AND d >= -5 LIMIT 3",
        "SELECT a FROM t WHERE token(a, b) > token(:a, 'x') AND (c, d) > (1, :d)",
        "SELECT a FROM t WHERE a = 550e8400-e29b-41d4-a716-446655440000 AND l CONTAINS KEY :k \
         AND v LIKE 'a%' AND m['k'] = :x AND b BETWEEN 1 AND :y GROUP BY a, b \
         ORDER BY c DESC, d PER PARTITION LIMIT 2 LIMIT :n ALLOW FILTERING",
        "SELECT a FROM t ORDER BY v ANN OF [1.0, 2.5e-3] LIMIT 5",
        "INSERT INTO t (a, b) VALUES (:a, {1: 'x'}) IF NOT EXISTS USING TTL 5 AND TIMESTAMP :t",
        "INSERT INTO t JSON :j DEFAULT UNSET USING TTL 5",
        "UPDATE k.t USING TTL :t SET a = a + :x, l[2] = 0x0A, u.f = (int) 5, s += {1}, \
         p = [:x] + p, d = now() WHERE k = :k AND c IN (1) IF EXISTS",
        "UPDATE t SET a = 1 WHERE k = 1 IF a != 2 AND b IN (1, 2) AND l[1] = 5 AND u.x = 1",
        "DELETE FROM t USING TIMESTAMP 5 WHERE k = :k AND c > 5",
        "DELETE a, m['x'], u.f FROM t WHERE k = :k IF a = null;",
    ] {
        let read = read(cql);
        assert!(read.is_ok(), "{cql}: {read:?}");
    }
}

#[test]
fn a_slip_is_found_where_it_stands() {
    for (cql, word, hint) in [
        ("SELECT a FROM t WEHRE a = 1", "WEHRE", "WHERE"),
        ("SELECT a FROM t WHERE a = 1 ADN b = 2", "ADN", "AND"),
        ("SELECT a FROM t WHERE a = 1 LIMTI 5", "LIMTI", "LIMIT"),
        ("SELECT a FROM t LIMIT 5 WHERE a = 1", "WHERE", ""),
        ("SELECT a FROM t ALLOW FILTERNG", "FILTERNG", "FILTERING"),
        ("SELECT a FROM t ORDRE BY a", "ORDRE", "ORDER"),
        ("SELECT a FROM t WHERE a CONTANIS 5", "CONTANIS", "CONTAINS"),
        ("SELECT a FROM t WHERE a = AND b = 2", "AND", ""),
        ("INSERT INTO t (a) VALUES (1) USNIG TTL 5", "USNIG", "USING"),
        ("INSERT INTO t (a) VALUES (1) USING TTTL 5", "TTTL", "TTL"),
        ("INSERT INTO t (a) VALEUS (1)", "VALEUS", "VALUES"),
        (
            "INSERT INTO t (a) VALUES (1) IF NOT EXSITS",
            "EXSITS",
            "EXISTS",
        ),
        ("UPDATE t STE a = 1 WHERE k = 1", "STE", "SET"),
        ("UPDATE t SET a = 1 b = 2 WHERE k = 1", "b", ""),
        ("UPDATE t SET a = 1", "1", ""),
        ("DELETE FROM t", "t", ""),
        ("DELETE FROM t WHERE k = 1 extra", "extra", ""),
    ] {
        let (at, message, found) = read(cql).expect_err(cql);
        assert_eq!(&cql[at..at + word.len()], word, "{cql}: {message}");
        assert!(found.unwrap_or_default().contains(hint), "{cql}: {message}");
    }
}

#[test]
fn columns_are_told_from_everything_else() {
    let found = read(
        "UPDATE t USING TTL 5 SET a = now(), b = b + :x WHERE k = :k AND c IN (x) AND d > 5 \
         IF e = 1",
    )
    .expect("a statement");
    let names: Vec<&str> = found.columns.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a", "b", "k", "c", "d", "e"]);
    assert_eq!(
        (found.set.join(""), found.fixed.join("")),
        ("ab".into(), "kc".into())
    );
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(
        text in "(SELECT|INSERT|UPDATE|X)( |INTO|FROM|SET|WHERE|IN|IF|BY|t|:a|[a(){}=,.;-]){0,30}"
    ) {
        if let Ok(tokens) = tokens(&text) {
            for verb in [Verb::Select, Verb::Insert, Verb::Update, Verb::Delete] {
                let _ = clauses(&tokens, verb);
            }
        }
    }
}
