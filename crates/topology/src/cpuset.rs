//! Sets of OS numbers (of CPUs or of NUMA nodes) in the kernel's two notations: lists (`0-6,56-62`)
//! and hexadecimal maps (`00000000,0000ffff`).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Upper limit of OS numbers. Every OS number must be below this limit. The kernel itself supports
/// at most 8192 CPUs.
pub const CPU_NUMBERS_MAX: u32 = 8192;

/// Maximum number of ranges in a list. No machine has this many ranges that do not touch.
const RANGES_MAX: u32 = CPU_NUMBERS_MAX;

/// A set of OS numbers, in ascending order. In records and texts, it has the form of the kernel's
/// list.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuSet {
    /// One bit for each number. Each word has 64 bits, and the first word has the lowest numbers.
    /// The last word is never 0, so that equal sets compare equal.
    words: Vec<u64>,
}

impl CpuSet {
    /// Parses a list in the kernel's format, such as `0-6,56-62`, or `0-31:2/8` with strides. An
    /// empty text is the empty set.
    pub fn parse_list(text: &str) -> Result<CpuSet, String> {
        let mut set = CpuSet::default();
        let mut count = 0;
        for part in text.trim().split([',', ' ', '\n', '\t']) {
            let part = part.trim_matches('\0');
            if part.is_empty() {
                continue;
            }
            count += 1;
            if count > RANGES_MAX {
                return Err(format!(
                    "the list has more than {RANGES_MAX} ranges, which is more than a machine has \
                     CPUs"
                ));
            }
            let (range, stride) = match part.split_once(':') {
                Some((range, stride)) => (range, parse_stride(stride)?),
                None => (part, (1, 1)),
            };
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!("the range {part} is descending"));
            }
            match stride {
                (0, _) => {}
                (used, group) if used >= group => set.insert_range(first, last),
                (used, group) => {
                    for start in (first..=last).step_by(group as usize) {
                        set.insert_range(start, last.min(start + used - 1));
                    }
                }
            }
        }
        Ok(set)
    }

    /// Parses a hexadecimal map. The kernel writes `00000003,ffffffff` (words of 32 bits, the
    /// highest first). hwloc writes `0x00000003,0xffffffff`, in which an empty word is 0.
    pub fn parse_map(text: &str) -> Result<CpuSet, String> {
        let text = text.trim();
        if text.contains("0xf...f") {
            return Err(format!("the map {text} is infinite"));
        }
        let words: Vec<&str> = text.split(',').collect();
        if words.len() > CPU_NUMBERS_MAX as usize / 32 {
            return Err(format!(
                "the map has {} words of 32 bits; cassay reads at most {}",
                words.len(),
                CPU_NUMBERS_MAX / 32
            ));
        }
        let mut set = CpuSet::default();
        for (word_index, word) in words.iter().rev().enumerate() {
            let digits = word.trim().trim_start_matches("0x").trim_start_matches('0');
            if digits.len() > 16 || digits.len() > 8 && words.len() > 1 {
                return Err(format!("the word {word} of the map has more than 32 bits"));
            }
            let bits = match digits {
                "" => 0,
                digits => u64::from_str_radix(digits, 16)
                    .map_err(|_| format!("{word} is not a hexadecimal number"))?,
            };
            let base = word_index as u32 * 32;
            set.extend((0..64).filter(|bit| bits >> bit & 1 == 1).map(|bit| base + bit));
        }
        Ok(set)
    }

    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the number of OS numbers in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns true if the set contains the number.
    pub fn contains(&self, number: u32) -> bool {
        let word = self.words.get(number as usize / 64);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Adds a number. Returns false if the set already contained it.
    pub fn insert(&mut self, number: u32) -> bool {
        let place = number as usize / 64;
        if self.words.len() <= place {
            self.words.resize(place + 1, 0);
        }
        let is_new = !self.contains(number);
        self.words[place] |= 1 << (number % 64);
        is_new
    }

    fn insert_range(&mut self, first: u32, last: u32) {
        let (low, high) = (first as usize / 64, last as usize / 64);
        if self.words.len() <= high {
            self.words.resize(high + 1, 0);
        }
        for (place, word) in self.words.iter_mut().enumerate().take(high + 1).skip(low) {
            let from = if place == low { first % 64 } else { 0 };
            let to = if place == high { last % 64 } else { 63 };
            *word |= (u64::MAX >> (63 - to)) & (u64::MAX << from);
        }
    }

    /// Returns the numbers in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(place, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                rest &= rest.checked_sub(1)?;
                Some(place as u32 * 64 + bit)
            })
        })
    }

    /// Returns the lowest number. Returns `None` if the set is empty.
    pub fn first(&self) -> Option<u32> {
        self.iter().next()
    }

    /// Returns the numbers in both sets.
    pub fn intersection(&self, other: &CpuSet) -> CpuSet {
        let both = self.words.iter().zip(&other.words);
        CpuSet::trimmed(both.map(|(one, other)| one & other).collect())
    }

    /// Returns the numbers in this set that are not in `other`.
    pub fn difference(&self, other: &CpuSet) -> CpuSet {
        let others = other.words.iter().chain(std::iter::repeat(&0));
        let pairs = self.words.iter().zip(others);
        CpuSet::trimmed(pairs.map(|(one, other)| one & !other).collect())
    }

    /// Returns true if the sets have no number in common.
    pub fn is_disjoint(&self, other: &CpuSet) -> bool {
        self.words.iter().zip(&other.words).all(|(one, other)| one & other == 0)
    }

    /// Returns true if `other` contains all numbers of this set.
    pub fn is_subset(&self, other: &CpuSet) -> bool {
        self.difference(other).is_empty()
    }

    fn trimmed(mut words: Vec<u64>) -> CpuSet {
        let used = words.iter().rposition(|&word| word != 0);
        words.truncate(used.map_or(0, |last| last + 1));
        CpuSet { words }
    }
}

/// Parses an OS number. Refuses a `+`, with which some tools mark numbers relative to the CPUs of
/// the process.
fn number(text: &str) -> Result<u32, String> {
    let digits = text.trim();
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let parsed = digits.parse::<u32>().ok().filter(|_| is_number);
    let number = parsed.ok_or_else(|| format!("{text:?} is not a CPU or node number"))?;
    if number >= CPU_NUMBERS_MAX {
        return Err(format!(
            "{number} is too high; cassay reads numbers below {CPU_NUMBERS_MAX}"
        ));
    }
    Ok(number)
}

/// Parses `used/group` in the kernel's form `first-last:used/group`.
fn parse_stride(text: &str) -> Result<(u32, u32), String> {
    let (used, group) = text
        .split_once('/')
        .ok_or_else(|| format!("{text:?} is not a stride, such as 2/8"))?;
    let (used, group) = (number(used)?, number(group)?);
    match group {
        0 => Err(format!("the stride {text:?} has groups of 0 CPUs")),
        _ => Ok((used, group)),
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> CpuSet {
        let mut set = CpuSet::default();
        set.extend(numbers);
        set
    }
}

impl Extend<u32> for CpuSet {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, numbers: I) {
        for number in numbers {
            self.insert(number);
        }
    }
}

impl TryFrom<String> for CpuSet {
    type Error = String;
    fn try_from(text: String) -> Result<CpuSet, String> {
        CpuSet::parse_list(&text)
    }
}

impl From<CpuSet> for String {
    fn from(set: CpuSet) -> String {
        set.to_string()
    }
}

impl CpuSet {
    /// Formats the set as CPU numbers for use in a sentence, such as `CPU 3` or `CPUs 0-1,4`.
    pub fn describe(&self) -> String {
        match self.len() {
            1 => format!("CPU {self}"),
            _ => format!("CPUs {self}"),
        }
    }
}

/// Formats the set as the kernel's list. The empty set becomes an empty text.
impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut numbers = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = numbers.next() {
            let mut last = first;
            while numbers.peek() == Some(&(last + 1)) {
                last += 1;
                numbers.next();
            }
            match last - first {
                0 => write!(f, "{separator}{first}")?,
                _ => write!(f, "{separator}{first}-{last}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_maps_are_the_same_sets() {
        for (list, map) in [
            ("0-6,56-62", "7f000000,0000007f"),
            ("0,2,4", "15"),
            ("", "0"),
            ("32", "0x00000001,0x0"),
            ("64", "0x1,,"),
            ("0-63", "ffffffffffffffff"),
        ] {
            let set = CpuSet::parse_list(list).unwrap();
            assert_eq!(set, CpuSet::parse_map(map).unwrap(), "{list} {map}");
            assert_eq!(set.to_string(), list);
        }
        assert_eq!(
            CpuSet::parse_list("0-7:2/4").unwrap().to_string(),
            "0-1,4-5"
        );
    }

    #[test]
    fn a_range_is_its_numbers_wherever_it_begins_and_ends() {
        let edges = [0, 1, 62, 63, 64, 65, 127, 128, 191, 8191];
        let pairs = edges.iter().flat_map(|first| edges.iter().map(move |last| (*first, *last)));
        for (first, last) in pairs.filter(|(first, last)| first <= last) {
            for (used, group) in [(1, 1), (0, 1), (1, 3), (2, 4), (5, 7), (4, 4), (64, 100)] {
                let list = format!("{first}-{last}:{used}/{group}");
                let numbers = (first..=last).filter(|cpu| (cpu - first) % group < used);
                let expected: CpuSet = numbers.collect();
                assert_eq!(CpuSet::parse_list(&list).unwrap(), expected, "{list}");
            }
        }
    }

    #[test]
    fn a_text_that_is_no_cpu_set_is_refused() {
        for list in [
            "a",
            "+0-3",
            "0-+3",
            "3-1",
            "9999",
            "1-",
            "-",
            "0-3:0/0",
            "0-3:1",
            "0-99999999999",
        ] {
            assert!(CpuSet::parse_list(list).is_err(), "{list}");
        }
        assert!(CpuSet::parse_list(&"0-8191,".repeat(8193)).is_err());
        for map in ["g", "0xf...f", "123456789,0", &"0,".repeat(300)] {
            assert!(CpuSet::parse_map(map).is_err(), "{map}");
        }
    }
}
