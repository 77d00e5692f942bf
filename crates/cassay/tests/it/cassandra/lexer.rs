//! Compares cassay's CQL tokens with the tokens of the lexer in the jar of each Cassandra line. A
//! comment, a name or a text must end at the same position for both lexers.
//!
//! A text that cassay accepts means the same to the server. cassay refuses a text that a server
//! accepts only if the text is ambiguous. The tests execute no statement.

use super::{dirs_with, line};
use cql::tokens::{tokens, without_comments};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;
use versions::{LINES, Release};

/// Number of texts for each lexer.
const TEXTS_COUNT: usize = 6_000;

/// Parts of read-only statements, and all texts that begin or end a comment, a name or a text.
const PIECES: [&str; 34] = [
    "SELECT v FROM a",
    "SELECT",
    "v",
    "x",
    "E",
    "P",
    "--",
    "//",
    "/*",
    "*/",
    "-",
    "/",
    "*",
    "'",
    "''",
    "'a'",
    "\"",
    "\"\"",
    "\"b\"",
    "$",
    "$$",
    ";",
    ".",
    "0",
    "17",
    "1e",
    "0x",
    ":k",
    "?",
    " ",
    "\t",
    "\n",
    "\r",
    "\r\n",
];

/// Characters that only quoted texts and comments may contain.
const RARE: [&str; 6] = ["é", "\u{a0}", "\u{2028}", "\u{c}", "\u{1f600}", "_"];

/// Returns a text of one to nine random pieces. The same number always gives the same text.
fn text(number: u64) -> String {
    let mut state = number;
    let mut next = |below: usize| {
        // The algorithm is SplitMix64.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % below as u64) as usize
    };
    let pieces = 1 + next(9);
    let mut made = String::new();
    for _ in 0..pieces {
        let rare = next(25) == 0;
        made.push_str(if rare {
            RARE[next(RARE.len())]
        } else {
            PIECES[next(PIECES.len())]
        });
    }
    if next(2) == 0 {
        made.push('\n');
    }
    made
}

/// Returns the answers of a release's lexer, one for each text. An answer contains the positions of
/// all characters that belong to tokens, in UTF-16 units. An answer is `None` if the lexer refuses
/// the text.
fn cut_by_server(release: &Release, texts: &[String]) -> Vec<Option<Vec<usize>>> {
    let cache = dirs_with(std::path::Path::new("unused")).cache;
    let said = answered(&cache, release, "Tokens.java", texts);
    let answers: Vec<_> = said.lines().map(places).collect();
    assert_eq!(answers.len(), texts.len());
    answers
}

/// Runs a Java program of this folder with the jars of a release. Returns its answers to the texts.
pub(in crate::cassandra) fn answered(
    cache: &std::path::Path,
    release: &Release,
    program: &str,
    texts: &[String],
) -> String {
    let supply = supply::resolve(cache, (release, &target_spec::Origin::Maven), &mut |_| ());
    let source = format!(
        "{}/tests/it/cassandra/{program}",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut command = crate::program::command("java");
    command.args(["-cp", &supply.expect("jars").classpath, &source]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut java = command.spawn().expect("java");
    let mut input = String::new();
    for text in texts {
        text.bytes().for_each(|byte| write!(input, "{byte:02x}").expect("memory"));
        input.push('\n');
    }
    let mut stdin = java.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = java.wait_with_output().expect("Java ends");
    writer.join().expect("a thread").expect("Java reads");
    assert!(output.status.success(), "java: {}", output.status);
    String::from_utf8(output.stdout).expect("text")
}

fn places(line: &str) -> Option<Vec<usize>> {
    let number = |text: &str| text.parse::<usize>().expect("a number");
    let places = |token: &str| {
        let (start, stop) = token.split_once('-').expect("two numbers");
        number(start)..=number(stop)
    };
    (line != "refused").then(|| line.split_whitespace().flat_map(places).collect())
}

/// Returns the positions, in UTF-16 units, of all characters that belong to cassay's tokens. The
/// test compares positions, because cassay's lexer splits numbers more finely than Cassandra's
/// lexer.
fn ours(text: &str) -> Option<Vec<usize>> {
    let tokens = tokens(text).ok()?.into_iter();
    let units = |at: usize| text[..at].encode_utf16().count();
    Some(tokens.flat_map(|token| units(token.at)..units(token.end)).collect())
}

/// Returns true if cassay deliberately refuses a text that the server accepts.
fn is_refused_on_purpose(text: &str) -> bool {
    let fault = tokens(text).expect_err("it is refused");
    fault.message.contains("for other programs") || fault.message.contains("some programs")
}

fn compare(release: &Release) {
    let texts: Vec<String> = (0..TEXTS_COUNT as u64).map(text).collect();
    let (mut same, mut on_purpose) = (0, 0);
    for (text, theirs) in texts.iter().zip(cut_by_server(release, &texts)) {
        match (ours(text), theirs) {
            (Some(ours), Some(theirs)) => {
                assert_eq!(ours, theirs, "{release}: {text:?}");
                same += 1;
            }
            (None, Some(_)) => {
                assert!(is_refused_on_purpose(text), "{release}: {text:?}");
                on_purpose += 1;
            }
            (_, None) => {}
        }
    }
    assert!(
        same > TEXTS_COUNT / 10,
        "{release}: only {same} texts say something"
    );
    assert!(
        on_purpose > 10,
        "{release}: {on_purpose} texts that can be read in two ways"
    );
    let read = |text: &String| without_comments(text).ok().map(|sent| sent.into_owned());
    let sent: Vec<String> = texts.iter().filter_map(read).collect();
    for (text, theirs) in sent.iter().zip(cut_by_server(release, &sent)) {
        let Some(theirs) = theirs else { continue };
        assert_eq!(ours(text), Some(theirs.clone()), "{release}: {text:?}");
        // Outside of tokens, the text contains only blanks, because a comment would have a
        // different meaning here.
        let units: Vec<u16> = text.encode_utf16().collect();
        let mut outside = (0..units.len()).filter(|at| theirs.binary_search(at).is_err());
        assert!(
            outside.all(|at| matches!(units[at], 9 | 10 | 13 | 32)),
            "{text:?}"
        );
    }
}

#[test]
#[ignore = "needs Java and the jars of Cassandra"]
fn comments_names_and_texts_end_as_in_the_servers_lexer() {
    let release = line().unwrap_or_else(|| versions::DEFAULT.pinned.to_owned());
    compare(&Release::parse(&release).expect("a release"));
}

mod long {
    use super::*;

    #[test]
    #[ignore = "fetches the jars of every line"]
    fn the_lexers_of_all_lines_agree() {
        for line in LINES {
            compare(&Release::parse(line.pinned).expect("a release"));
        }
    }
}
