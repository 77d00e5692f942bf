//! Reads field lengths from a file, for `fieldlengthdistribution=histogram`.
//!
//! The file's first line consists of `BlockSize`, a tab and a number of bytes. Each further line
//! consists of the number of a bucket, counted from 0, a tab and the number of fields in the
//! bucket. Draws follow YCSB's code exactly. Bucket i represents (i + 1) blocks, but the last
//! bucket represents as many blocks as the bucket before it. Each bucket also includes the first
//! draw of the next bucket.

use super::properties::Properties;
use crate::import_result::ReadFile;

/// Maximum number of buckets. A row can have at most this number of different lengths in bytes.
const BUCKETS_MAX: usize = 1 << 20;

/// Numbers of fields, by bucket of field length.
#[derive(Debug)]
pub(super) struct Buckets {
    /// Difference in length between two neighbouring buckets, in bytes.
    block: u64,
    /// Cumulative number of fields, by bucket.
    sums: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LengthLimits {
    pub(super) least: u64,
    pub(super) most: u64,
}

impl Buckets {
    /// Returns the total number of fields, at least 1.
    pub(super) fn area(&self) -> u64 {
        self.sums.last().copied().unwrap_or(1)
    }

    /// Returns the length that belongs to a draw, which must be below [`Buckets::area`].
    pub(super) fn length(&self, draw: u64) -> u64 {
        let last = self.sums.len() - 1;
        // The search finds the first bucket whose sum is not below the draw.
        let bucket = self.sums[..last].partition_point(|sum| *sum < draw);
        self.block * (bucket as u64 + 1).min(last as u64)
    }

    /// Returns the minimum and the maximum length that can be drawn.
    pub(super) fn limits(&self) -> LengthLimits {
        LengthLimits {
            least: self.length(0),
            most: self.block * (self.sums.len() as u64 - 1),
        }
    }

    /// Returns the mean of all lengths that can be drawn, in bytes.
    pub(super) fn mean(&self) -> u64 {
        let mut before = 0;
        let mut bytes = 0u128;
        for bucket in 0..self.sums.len() {
            let end = (self.sums[bucket] + 1).min(self.area());
            let end = if bucket + 1 == self.sums.len() {
                self.area()
            } else {
                end
            };
            bytes += u128::from(end.saturating_sub(before)) * u128::from(self.length_of(bucket));
            before = end.max(before);
        }
        (bytes / u128::from(self.area())) as u64
    }

    /// Returns the length that a bucket represents, in bytes.
    fn length_of(&self, bucket: usize) -> u64 {
        self.block * (bucket as u64 + 1).min(self.sums.len() as u64 - 1)
    }
}

/// Reads the file that the properties name. Reports mistakes in the file and then returns `None`.
/// Limits all lengths to `most` bytes.
pub(super) fn read(properties: &mut Properties, most: u64, read: ReadFile) -> Option<Buckets> {
    const KEY: &str = "fieldlengthhistogram";
    let name = properties.text(KEY).unwrap_or("hist.txt").to_owned();
    let text = match read(&name) {
        Ok(text) => text,
        Err(message) => {
            properties.wrong(KEY, format!("{KEY}: {message}"), None);
            return None;
        }
    };
    match buckets(&text, most) {
        Ok(buckets) => Some(buckets),
        Err((span, message)) => {
            properties.wrong_in(&name, &text, span, message);
            None
        }
    }
}

/// Position and message of a mistake.
type Mistake = (core::ops::Range<usize>, String);

fn buckets(text: &str, most: u64) -> Result<Buckets, Mistake> {
    let mut at = 0;
    let mut lines = text.split('\n').map(|line| {
        let span = at..at + line.len();
        at = span.end + 1;
        (span, line.trim_end_matches('\r'))
    });
    let (span, head) = lines.next().unwrap_or((0..0, ""));
    let block = head.strip_prefix("BlockSize\t").and_then(number);
    let block = block.filter(|block| (1..=most).contains(block));
    let Some(block) = block else {
        let message =
            format!("the first line must be BlockSize, a tab and a number from 1 to {most}");
        return Err((span, message));
    };
    let mut buckets = Buckets {
        block,
        sums: Vec::new(),
    };
    let mut sum = 0u64;
    for (span, line) in lines {
        if line.is_empty() {
            continue;
        }
        let place = buckets.sums.len();
        let counted =
            line.split_once('\t').filter(|(bucket, _)| number(bucket) == Some(place as u64));
        let Some(count) = counted.and_then(|(_, count)| number(count)) else {
            return Err((span, format!("the line must be {place}, a tab and a count")));
        };
        sum += count;
        buckets.sums.push(sum);
        if block * place as u64 > most || place >= BUCKETS_MAX {
            return Err((
                span,
                format!("the histogram has fields longer than {most} bytes, the maximum"),
            ));
        }
    }
    if sum == 0 || sum > i32::MAX as u64 {
        let message = format!(
            "the histogram counts {sum} fields; the number must be from 1 to {}",
            i32::MAX
        );
        return Err((span, message));
    }
    Ok(buckets)
}

/// Parses a number that fits into an int, as YCSB uses it.
fn number(text: &str) -> Option<u64> {
    let number = text.trim().parse::<u64>().ok()?;
    (number <= i32::MAX as u64).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_that_ycsb_draws() {
        let buckets = buckets("BlockSize\t10\n0\t2\n1\t0\n2\t3\n3\t1\n", 1000).expect("right");
        assert_eq!(buckets.area(), 6);
        let lengths: Vec<u64> = (0..6).map(|draw| buckets.length(draw)).collect();
        // YCSB subtracts the numbers of fields from the draw until the result is not positive. 0 -
        // 2 <= 0, 1 - 2 and 2 - 2 lead to one block, and 3 - 2 - 0 - 3 <= 0 leads to three. The
        // last bucket also represents three blocks.
        assert_eq!(lengths, [10, 10, 10, 30, 30, 30]);
        let limits = buckets.limits();
        assert_eq!((limits.least, limits.most, buckets.mean()), (10, 30, 20));
    }

    #[test]
    fn mistakes_are_found_in_their_line() {
        for (text, line) in [
            ("", 0),
            ("BlockSize 10\n0\t1\n", 0),
            ("BlockSize\t10\n1\t1\n", 1),
            ("BlockSize\t10\n0\tmany\n", 1),
            ("BlockSize\t10\n0\t0\n", 0),
            ("BlockSize\t2000\n0\t1\n", 0),
        ] {
            let (span, _) = buckets(text, 1000).expect_err(text);
            assert_eq!(text[..span.start].matches('\n').count(), line, "{text:?}");
        }
    }
}
