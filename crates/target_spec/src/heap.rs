//! Refuses JVM options that override the setting `heap`, because plans and reports use this
//! setting.

use crate::spec::LocalSpec;

/// Options that set the maximum size of the heap, in bytes.
const MAX: [&str; 2] = ["-Xmx", "-XX:MaxHeapSize="];

/// Options that set the initial size of the heap, which may be smaller than the maximum.
const INITIAL: [&str; 3] = ["-Xms", "-XX:InitialHeapSize=", "-XX:MinHeapSize="];

/// Options with which the JVM computes the size of the heap from the memory of the machine.
const RECKONED: [&str; 8] = [
    "-XX:MaxRAMPercentage=",
    "-XX:MinRAMPercentage=",
    "-XX:InitialRAMPercentage=",
    "-XX:MaxRAMFraction=",
    "-XX:MinRAMFraction=",
    "-XX:InitialRAMFraction=",
    "-XX:MaxRAM=",
    "-XX:+AggressiveHeap",
];

/// Converts a number with a size suffix of the JVM to bytes. `None` for any other text.
pub fn jvm_size(text: &str) -> Option<u64> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 10),
        b'm' | b'M' => (&text[..text.len() - 1], 20),
        b'g' | b'G' => (&text[..text.len() - 1], 30),
        b't' | b'T' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Describes the first JVM option that conflicts with the setting `heap`. `None` if no option
/// conflicts with it.
pub(crate) fn heap_refusal(spec: &LocalSpec) -> Option<String> {
    let heap = spec.heap_bytes;
    spec.jvm_options.iter().find_map(|option| {
        let size = |prefixes: &[&str]| {
            let rest = prefixes.iter().find_map(|prefix| option.strip_prefix(prefix));
            rest.and_then(jvm_size)
        };
        let is_other = size(&MAX).is_some_and(|bytes| bytes != heap)
            || size(&INITIAL).is_some_and(|bytes| bytes > heap);
        let shown = measure::number::bytes(heap);
        if is_other {
            Some(format!("`heap` is {shown}, but `{option}` overrides it"))
        } else if RECKONED.iter().any(|prefix| option.starts_with(prefix)) {
            Some(format!("`heap` is {shown}, so `{option}` has no effect"))
        } else {
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_may_repeat_the_heap_and_not_change_it() {
        let said = |option: &str| {
            heap_refusal(&LocalSpec {
                heap_bytes: 512 << 20,
                jvm_options: vec!["-Dx=y".to_owned(), option.to_owned()],
                ..LocalSpec::default()
            })
        };
        for option in [
            "-Xmx512m",
            "-Xmx536870912",
            "-XX:MaxHeapSize=512M",
            "-Xms256m",
            "-XX:SoftMaxHeapSize=400m",
            "-Xmn100m",
            "-XX:+UseZGC",
        ] {
            assert_eq!(said(option), None, "{option}");
        }
        for option in [
            "-Xmx2G",
            "-Xmx511m",
            "-Xms1g",
            "-XX:MaxHeapSize=1g",
            "-XX:InitialHeapSize=1073741824",
            "-XX:MaxRAMPercentage=50",
            "-XX:+AggressiveHeap",
        ] {
            assert!(
                said(option).is_some_and(|why| why.contains(option)),
                "{option}"
            );
        }
    }
}
