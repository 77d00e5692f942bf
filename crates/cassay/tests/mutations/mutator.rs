//! Mutates a text as a function of a seed. The changes are like typing errors, torn writes and
//! malicious changes.

use workload::random::Draws;

/// Words that parsers treat specially.
const WORDS: &[&str] = &[
    "-1",
    "0",
    "1e999",
    "18446744073709551616",
    "9223372036854775807",
    "4294967296",
    "1000000000",
    "NaN",
    "null",
    "true",
    "{}",
    "[]",
    "[[[[[[[[[[[[[[[[",
    "{a: {a: {a: {a: ",
    "*a",
    "&a",
    "<<: ",
    "!!binary ",
    "|",
    "\"",
    "'",
    "\\u0000",
    "\u{0}",
    "\u{1b}[2J",
    "\u{202e}",
    "é",
    "🦀",
    "..",
    "../",
    "%",
    "${",
    "(1..0)",
    "(0..18446744073709551615)",
    "fixed(0)",
    "\r\n",
    "\t",
    ":",
    ",",
    "=",
    "#",
    "---",
];

/// Draws numbers, and uses them to change texts.
pub struct Mutator {
    draws: Draws,
}

impl Mutator {
    /// Returns a mutator whose draws are a function of `seed`.
    pub fn new(seed: u64) -> Mutator {
        let draws = Draws::sequence(seed);
        Mutator { draws }
    }

    fn draw(&mut self) -> u64 {
        self.draws.bits()
    }

    /// Draws a number below `end`. Returns 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.draw() % (end.max(1) as u64)) as usize
    }

    /// Returns a text with one to four changes. Some changes take their material from the other
    /// texts.
    pub fn mutated(&mut self, text: &[u8], others: &[(&'static str, Vec<u8>)]) -> Vec<u8> {
        let mut out = text.to_vec();
        for _ in 0..=self.below(4) {
            match self.below(9) {
                0 => self.flip(&mut out),
                1 => self.remove(&mut out),
                2 => self.repeat(&mut out),
                3 | 4 => self.insert_word(&mut out),
                5 | 6 => self.replace_number(&mut out),
                7 => self.move_line(&mut out),
                _ => {
                    let other = self.below(others.len());
                    self.splice(&mut out, &others[other].1);
                }
            }
        }
        out
    }

    fn flip(&mut self, out: &mut [u8]) {
        let at = self.below(out.len());
        if let Some(byte) = out.get_mut(at) {
            *byte ^= 1 << self.below(8);
        }
    }

    /// Returns a range of up to a line's length. Sometimes the range extends to the end of the
    /// text, as after a torn write.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let from = self.below(length);
        let most = if self.below(8) == 0 { length } else { 60 };
        from..length.min(from + 1 + self.below(most))
    }

    fn remove(&mut self, out: &mut Vec<u8>) {
        let range = self.range(out.len());
        if range.end <= out.len() {
            out.drain(range);
        }
    }

    fn repeat(&mut self, out: &mut Vec<u8>) {
        let range = self.range(out.len());
        let part = out.get(range.clone()).unwrap_or_default().to_vec();
        let times = 1 + self.below(40);
        // The repeated part may be the whole text, so this limits the size.
        if part.len() * times < 1 << 20 && range.end <= out.len() {
            let many = part.repeat(times);
            out.splice(range.end..range.end, many);
        }
    }

    fn insert_word(&mut self, out: &mut Vec<u8>) {
        let at = self.below(out.len() + 1);
        let word = WORDS[self.below(WORDS.len())];
        out.splice(at..at, word.bytes());
    }

    /// Replaces a run of digits with one of the special words, because limits apply to numbers.
    fn replace_number(&mut self, out: &mut Vec<u8>) {
        let from = self.below(out.len());
        let is_digit = |at: &usize| out[*at].is_ascii_digit();
        let Some(start) = (from..out.len()).find(is_digit) else {
            return self.insert_word(out);
        };
        let end = (start..out.len()).find(|at| !is_digit(at));
        let word = WORDS[self.below(WORDS.len())];
        out.splice(start..end.unwrap_or(out.len()), word.bytes());
    }

    fn move_line(&mut self, out: &mut Vec<u8>) {
        let mut lines: Vec<&[u8]> = out.split_inclusive(|byte| *byte == b'\n').collect();
        let (from, to) = (self.below(lines.len()), self.below(lines.len()));
        if from < lines.len() {
            let line = lines.remove(from);
            lines.insert(to.min(lines.len()), line);
        }
        *out = lines.concat();
    }

    fn splice(&mut self, out: &mut Vec<u8>, other: &[u8]) {
        let (at, range) = (self.below(out.len() + 1), self.range(other.len()));
        let part = other.get(range).unwrap_or_default();
        out.splice(at..at, part.iter().copied());
    }
}
