//! Computes the largest heap that a JVM addresses with compressed pointers of 4 bytes. Also decides
//! whether a JVM can map a class archive that was created with such pointers.

use crate::spec::{Collector, LocalSpec};

/// Memory that pointers of 4 bytes can address, in bytes, if objects are aligned to 8 bytes.
const REACHED_BYTES: u64 = 32 << 30;
/// Default alignment of objects in a JVM, in bytes.
const ALIGNMENT_BYTES: u64 = 8;

/// Returns the largest heap, in bytes, whose objects the JVM addresses with pointers of 4 bytes.
/// The JVM leaves the lowest addresses unused, up to the alignment of its heap. With G1 and
/// Shenandoah, the alignment is the largest size of a region (32 MiB). With the parallel collector,
/// it is 2 MiB. ZGC does not use such pointers.
///
/// Observed with Java 17.0.15: G1 uses these pointers up to -Xmx32736m, but not from -Xmx32737m on.
/// The parallel collector uses them at -Xmx32750m, but not at -Xmx32767m.
pub fn narrow_heap_max_bytes(collector: Collector, object_alignment_bytes: u64) -> u64 {
    let kept_free = match collector {
        Collector::Z => return 0,
        Collector::G1 | Collector::Shenandoah => 32 << 20,
        Collector::Parallel => 2 << 20,
    };
    let alignment = object_alignment_bytes.clamp(ALIGNMENT_BYTES, 256);
    REACHED_BYTES * (alignment / ALIGNMENT_BYTES) - kept_free
}

/// Options that turn class sharing off, or that change the layout of objects, or of pointers to
/// objects or classes. A JVM with such an option cannot map an archive that was created without the
/// option.
const OTHER_FORMS: [&str; 4] = [
    "-XX:-UseCompressedOops",
    "-XX:-UseCompressedClassPointers",
    "-XX:+UseCompactObjectHeaders",
    "-Xshare:off",
];
const OBJECT_ALIGNMENT: &str = "-XX:ObjectAlignmentInBytes=";

/// Returns the reason why the JVMs of a specification cannot map a class archive. `None` if they
/// can.
pub(crate) fn unlike_archive(spec: &LocalSpec) -> Option<String> {
    let collector = chosen(spec);
    if collector == Collector::Z {
        return Some("ZGC".to_owned());
    }
    let options = || spec.jvm_options.iter().map(String::as_str);
    if let Some(option) = options().find(|option| OTHER_FORMS.contains(option)) {
        return Some(option.to_owned());
    }
    let is_aligned_otherwise =
        |value: &str| value.parse::<u64>().is_ok_and(|bytes| bytes != ALIGNMENT_BYTES);
    let aligned = options()
        .find(|option| option.strip_prefix(OBJECT_ALIGNMENT).is_some_and(is_aligned_otherwise));
    if let Some(option) = aligned {
        return Some(option.to_owned());
    }
    let most = narrow_heap_max_bytes(collector, ALIGNMENT_BYTES);
    (spec.heap_bytes > most).then(|| format!("a heap of more than {}MiB", most >> 20))
}

/// Returns the garbage collector of a specification. It is the stated collector, or else the
/// collector that the JVM options select, or else Cassandra's default.
fn chosen(spec: &LocalSpec) -> Collector {
    let by_option = || {
        let is_on = |one: &Collector| spec.jvm_options.contains(&one.option());
        Collector::ALL.iter().copied().find(is_on)
    };
    spec.collector.or_else(by_option).unwrap_or(Collector::G1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn spec(heap_mib: u64, options: &[&str]) -> LocalSpec {
        LocalSpec {
            heap_bytes: heap_mib * MIB,
            jvm_options: options.iter().map(|one| (*one).to_owned()).collect(),
            ..LocalSpec::default()
        }
    }

    /// The expected values come from Java 17.0.15, which printed them in its list of all flags.
    #[test]
    fn the_largest_heap_with_small_pointers_is_that_of_the_jvm() {
        let is_narrow =
            |collector, mib: u64| mib * MIB <= narrow_heap_max_bytes(collector, ALIGNMENT_BYTES);
        for (collector, mib, expected) in [
            (Collector::G1, 32_736, true),
            (Collector::G1, 32_737, false),
            (Collector::Shenandoah, 32_737, false),
            (Collector::Parallel, 32_750, true),
            (Collector::Parallel, 32_767, false),
            (Collector::Z, 512, false),
        ] {
            assert_eq!(is_narrow(collector, mib), expected, "{collector:?} {mib}");
        }
        assert!(narrow_heap_max_bytes(Collector::G1, 16) > 63 << 30);
    }

    #[test]
    fn an_archive_is_refused_where_the_jvm_would_not_map_it() {
        for (heap_mib, options, expected) in [
            (32_736, &[][..], None),
            (32_737, &[], Some("a heap of more than 32736MiB")),
            (32_750, &["-XX:+UseParallelGC"], None),
            (
                32_767,
                &["-XX:+UseParallelGC"],
                Some("a heap of more than 32766MiB"),
            ),
            (512, &["-XX:+UseZGC"], Some("ZGC")),
            (
                512,
                &["-XX:-UseCompressedOops"],
                Some("-XX:-UseCompressedOops"),
            ),
            (
                512,
                &["-XX:-UseCompressedClassPointers"],
                Some("-XX:-UseCompressedClassPointers"),
            ),
            (
                512,
                &["-XX:+UseCompactObjectHeaders"],
                Some("-XX:+UseCompactObjectHeaders"),
            ),
            (512, &["-XX:ObjectAlignmentInBytes=8"], None),
            (
                512,
                &["-XX:ObjectAlignmentInBytes=16"],
                Some("-XX:ObjectAlignmentInBytes=16"),
            ),
        ] {
            let seen = unlike_archive(&spec(heap_mib, options));
            assert_eq!(seen.as_deref(), expected, "{heap_mib} {options:?}");
        }
    }
}
