//! Quotes words of the commands that hints suggest.

/// Quotes a word for a shell. Uses single quotes if the word has characters that a shell
/// interprets. Unlike `shlex::try_quote`, this function does not quote a word because of `=`, `,`
/// or `%`, so that `--set a=1` remains readable.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_each_word_as_it_was() {
        for (word, quoted) in [
            ("a=1", "a=1"),
            ("", "''"),
            ("my file", "'my file'"),
            ("it's", r"'it'\''s'"),
            ("$(x)", "'$(x)'"),
            ("x=[1, 2]", "'x=[1, 2]'"),
            ("studies/first-look.yaml", "studies/first-look.yaml"),
        ] {
            assert_eq!(shell_word(word), quoted);
        }
    }
}
