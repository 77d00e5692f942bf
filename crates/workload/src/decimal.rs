//! Formats numbers as decimal text without an allocation. The keys of NoSQLBench's tables are such
//! texts.

/// Maximum number of characters, including the sign.
const DIGITS_MAX: usize = 20;

/// The text of one number.
#[derive(Clone, Copy, Debug)]
pub struct Decimal {
    digits: [u8; DIGITS_MAX],
    start: usize,
}

impl Decimal {
    /// Returns the digits of `value`.
    #[inline]
    pub fn new(value: u64) -> Decimal {
        let mut digits = [0; DIGITS_MAX];
        let mut start = DIGITS_MAX;
        let mut rest = value;
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        Decimal { digits, start }
    }

    /// Returns the digits of `value`, with a minus sign if it is negative.
    #[inline]
    pub fn signed(value: i64) -> Decimal {
        let mut text = Decimal::new(value.unsigned_abs());
        if value < 0 {
            text.start -= 1;
            text.digits[text.start] = b'-';
        }
        text
    }

    /// Returns the digits in ASCII, with a sign if there is one.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.digits[self.start..]
    }
}

/// Parses a text that [`Decimal::new`] has formatted. Returns `None` for any other text.
pub fn parse(text: &[u8]) -> Option<u64> {
    let canonical = text == b"0" || text.first().is_some_and(|digit| *digit != b'0');
    if !canonical || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_the_standard_library_and_are_read_back() {
        for value in [0, 7, 10, 1_234_567_890, u64::MAX] {
            let text = Decimal::new(value);
            assert_eq!(text.bytes(), value.to_string().as_bytes());
            assert_eq!(parse(text.bytes()), Some(value));
        }
        for value in [0, -1, i64::MAX, i64::MIN] {
            assert_eq!(Decimal::signed(value).bytes(), value.to_string().as_bytes());
        }
    }

    #[test]
    fn no_other_text_is_a_number() {
        for text in ["", "01", "+1", "-1", "1 ", "x", "18446744073709551616", "é"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
