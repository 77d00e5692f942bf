//! Sets of OS numbers (of CPUs, of NUMA nodes), as the kernel writes them: lists (`0-6,56-62`) and
//! hexadecimal maps (`00000000,0000ffff`).

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// OS numbers below this are read; the kernel itself is built for at most 8192 CPUs.
pub const CPU_NUMBERS_MAX: u32 = 8192;

/// A set of OS numbers, in ascending order. In records and in text it is the kernel's list.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuSet(BTreeSet<u32>);

impl CpuSet {
    /// Reads a list as the kernel writes it: `0-6,56-62`, also with strides (`0-31:2/8`). Empty
    /// text is the empty set.
    pub fn parse_list(text: &str) -> Result<CpuSet, String> {
        let mut set = BTreeSet::new();
        for part in text.trim().split([',', ' ', '\n', '\t']) {
            let part = part.trim_matches('\0');
            if part.is_empty() {
                continue;
            }
            let (range, stride) = match part.split_once(':') {
                Some((range, stride)) => (range, parse_stride(stride)?),
                None => (part, (1, 1)),
            };
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!("the range {part} goes backwards"));
            }
            let (used, group) = stride;
            set.extend((first..=last).filter(|cpu| (cpu - first) % group < used));
        }
        Ok(CpuSet(set))
    }

    /// Reads a hexadecimal map: the kernel's `00000003,ffffffff` (words of 32 bits, the highest
    /// first) and hwloc's `0x00000003,0xffffffff`, in which an empty word is 0.
    pub fn parse_map(text: &str) -> Result<CpuSet, String> {
        let text = text.trim();
        if text.contains("0xf...f") {
            return Err(format!("the map {text} has no end"));
        }
        let words: Vec<&str> = text.split(',').collect();
        if words.len() > CPU_NUMBERS_MAX as usize / 32 {
            return Err(format!(
                "the map has {} words of 32 bits; {} are read",
                words.len(),
                CPU_NUMBERS_MAX / 32
            ));
        }
        let mut set = BTreeSet::new();
        for (word_index, word) in words.iter().rev().enumerate() {
            let digits = word.trim().trim_start_matches("0x").trim_start_matches('0');
            if digits.len() > 16 || digits.len() > 8 && words.len() > 1 {
                return Err(format!("the word {word} of the map has more than 32 bits"));
            }
            let bits = match digits {
                "" => 0,
                digits => u64::from_str_radix(digits, 16)
                    .map_err(|_| format!("{word} is no hexadecimal number"))?,
            };
            let base = word_index as u32 * 32;
            set.extend(
                (0..64)
                    .filter(|bit| bits >> bit & 1 == 1)
                    .map(|bit| base + bit),
            );
        }
        Ok(CpuSet(set))
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many numbers are in it.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the number is in it.
    pub fn contains(&self, number: u32) -> bool {
        self.0.contains(&number)
    }

    /// Adds a number; false when it was there.
    pub fn insert(&mut self, number: u32) -> bool {
        self.0.insert(number)
    }

    /// The numbers, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// The lowest number.
    pub fn first(&self) -> Option<u32> {
        self.0.first().copied()
    }

    /// The highest number.
    pub fn last(&self) -> Option<u32> {
        self.0.last().copied()
    }

    /// What is in both.
    pub fn intersection(&self, other: &CpuSet) -> CpuSet {
        CpuSet(self.0.intersection(&other.0).copied().collect())
    }

    /// What is in this one and not in the other.
    pub fn difference(&self, other: &CpuSet) -> CpuSet {
        CpuSet(self.0.difference(&other.0).copied().collect())
    }

    /// Whether nothing is in both.
    pub fn is_disjoint(&self, other: &CpuSet) -> bool {
        self.0.is_disjoint(&other.0)
    }

    /// Whether all of this is in the other.
    pub fn is_subset(&self, other: &CpuSet) -> bool {
        self.0.is_subset(&other.0)
    }
}

fn number(text: &str) -> Result<u32, String> {
    let number: u32 = text
        .trim()
        .parse()
        .map_err(|_| format!("{text:?} is no CPU or node number"))?;
    if number >= CPU_NUMBERS_MAX {
        return Err(format!(
            "{number} is too high; numbers below {CPU_NUMBERS_MAX} are read"
        ));
    }
    Ok(number)
}

/// `used/group` of the kernel's `first-last:used/group`.
fn parse_stride(text: &str) -> Result<(u32, u32), String> {
    let (used, group) = text
        .split_once('/')
        .ok_or_else(|| format!("{text:?} is no stride; one looks like 2/8"))?;
    let (used, group) = (number(used)?, number(group)?);
    match group {
        0 => Err(format!("the stride {text:?} has groups of 0")),
        _ => Ok((used, group)),
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> CpuSet {
        CpuSet(numbers.into_iter().collect())
    }
}

impl Extend<u32> for CpuSet {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, numbers: I) {
        self.0.extend(numbers);
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

/// As the kernel writes a list; the empty set is empty text.
impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut numbers = self.0.iter().copied().peekable();
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
            let map = match list {
                "0-6,56-62" => "7f000000,0000007f".replace("7f000000", "7f000000"),
                _ => map.to_owned(),
            };
            let set = CpuSet::parse_list(list).unwrap();
            assert_eq!(set, CpuSet::parse_map(&map).unwrap(), "{list} {map}");
            assert_eq!(set.to_string(), list);
        }
        assert_eq!(
            CpuSet::parse_list("0-7:2/4").unwrap().to_string(),
            "0-1,4-5"
        );
    }

    #[test]
    fn what_is_no_set_is_said() {
        for list in [
            "a",
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
        for map in ["g", "0xf...f", "123456789,0", &"0,".repeat(300)] {
            assert!(CpuSet::parse_map(map).is_err(), "{map}");
        }
    }
}
