//! Converts intervals to text and back: histograms as their buckets, and counters as numbers.
//!
//! Invariant: reading returns exactly the written counts. Writer and reader are the same build, so
//! counters have no names. This module lists all counters, so that the compiler detects a missing
//! one.

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use measure::interval::{CensoredCounts, CheckCounts, Early, Hiccups};
use measure::outcome::{OUTCOMES, OutcomeCounts};
use measure::{ClientCount, KindCount};
use measure::{ClientCounts, ClientInterval, Histogram, KindCounts, KindInterval, Outcome};

/// Visits all fields of a value in a fixed order. A writer writes the fields, and a reader adds
/// written values to the fields.
trait Visit {
    fn histogram(&mut self, histogram: &mut Histogram) -> Option<()>;
    fn number(&mut self, number: &mut u64) -> Option<()>;
    fn signed(&mut self, number: &mut i64) -> Option<()>;
    fn flag(&mut self, flag: &mut bool) -> Option<()>;

    /// Returns true if an optional value is present. A writer returns `here`.
    fn is_there(&mut self, here: bool) -> Option<bool>;
}

struct Writer(Vec<u8>);

impl Visit for Writer {
    fn histogram(&mut self, histogram: &mut Histogram) -> Option<()> {
        histogram.write_bytes(&mut self.0);
        Some(())
    }

    fn number(&mut self, number: &mut u64) -> Option<()> {
        self.0.extend_from_slice(&number.to_le_bytes());
        Some(())
    }

    fn signed(&mut self, number: &mut i64) -> Option<()> {
        self.0.extend_from_slice(&number.to_le_bytes());
        Some(())
    }

    fn flag(&mut self, flag: &mut bool) -> Option<()> {
        self.0.push(u8::from(*flag));
        Some(())
    }

    fn is_there(&mut self, here: bool) -> Option<bool> {
        self.0.push(u8::from(here));
        Some(here)
    }
}

/// Reader that adds values to existing ones, so that the results of a client can be added to an
/// interval.
struct Reader<'b>(&'b [u8]);

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }
}

impl Visit for Reader<'_> {
    fn histogram(&mut self, histogram: &mut Histogram) -> Option<()> {
        histogram.add_bytes(&mut self.0)
    }

    fn number(&mut self, number: &mut u64) -> Option<()> {
        *number = number.checked_add(u64::from_le_bytes(self.bytes()?))?;
        Some(())
    }

    fn signed(&mut self, number: &mut i64) -> Option<()> {
        *number = number.checked_add(i64::from_le_bytes(self.bytes()?))?;
        Some(())
    }

    fn flag(&mut self, flag: &mut bool) -> Option<()> {
        let [byte] = self.bytes()?;
        *flag |= byte > 0;
        Some(())
    }

    fn is_there(&mut self, _here: bool) -> Option<bool> {
        let [byte] = self.bytes()?;
        Some(byte > 0)
    }
}

fn outcomes(visit: &mut impl Visit, counts: &mut OutcomeCounts) -> Option<()> {
    let mut each = OUTCOMES.into_iter();
    each.try_for_each(|outcome: Outcome| visit.number(&mut counts[outcome]))
}

fn kind(visit: &mut impl Visit, kind: &mut KindInterval) -> Option<()> {
    let KindInterval {
        is_part,
        latency,
        service,
        errors,
        censored,
        early,
        outcomes: ended,
        counts,
        extra_reads,
        extra_writes,
        extra_uncertain,
        checks,
    } = kind;
    let CensoredCounts {
        latency: censored_latency,
        service: censored_service,
    } = censored;
    let Early {
        latency: early_latency,
        service: early_service,
        errors: early_errors,
        outcomes: early_ended,
    } = early;
    visit.flag(is_part)?;
    for histogram in [
        latency,
        service,
        errors,
        censored_latency,
        censored_service,
        early_latency,
        early_service,
        early_errors,
    ] {
        visit.histogram(histogram)?;
    }
    outcomes(visit, ended)?;
    outcomes(visit, early_ended)?;
    kind_counts(visit, counts)?;
    visit.signed(extra_reads)?;
    visit.signed(extra_writes)?;
    visit.number(extra_uncertain)?;
    check_counts(visit, checks)
}

fn kind_counts(visit: &mut impl Visit, counts: &mut KindCounts) -> Option<()> {
    KindCount::ALL.into_iter().try_for_each(|one| visit.number(&mut counts[one]))
}

fn client_counts(visit: &mut impl Visit, counts: &mut ClientCounts) -> Option<()> {
    ClientCount::ALL.into_iter().try_for_each(|one| visit.number(&mut counts[one]))
}

fn check_counts(visit: &mut impl Visit, checks: &mut CheckCounts) -> Option<()> {
    let CheckCounts {
        checked,
        missing,
        lost,
        never_written,
        stale,
        overwritten,
        wrong,
        resurrected,
        deleted,
        unconfirmed,
        too_low,
        too_high,
    } = checks;
    let all = [
        checked,
        missing,
        lost,
        never_written,
        stale,
        overwritten,
        wrong,
        resurrected,
        deleted,
        unconfirmed,
        too_low,
        too_high,
    ];
    all.into_iter().try_for_each(|count| visit.number(count))
}

fn client(visit: &mut impl Visit, client: &mut ClientInterval) -> Option<()> {
    let ClientInterval {
        lag,
        cpu_ns,
        counts,
        sends,
        receives,
        wait_ns,
        quiet_ns,
        hiccups,
    } = client;
    let Hiccups {
        late,
        stalled_ns,
        cpu_ns: looking_ns,
    } = hiccups;
    visit.histogram(lag)?;
    client_counts(visit, counts)?;
    for number in [cpu_ns, sends, receives, quiet_ns, stalled_ns, looking_ns] {
        visit.number(number)?;
    }
    if visit.is_there(wait_ns.is_some())? {
        visit.number(wait_ns.get_or_insert(0))?;
    }
    if visit.is_there(late.is_some())? {
        visit.histogram(late.get_or_insert_default())?;
    }
    Some(())
}

/// Error for packed data of another build.
const NOT_OURS: &str = "the format of an interval differs from the format of this program";

/// Packs as many kinds as fit into `bytes_max` bytes before base64 encoding, but at least one.
/// Returns the text and the number of packed kinds.
pub(crate) fn pack_kinds(kinds: &[KindInterval], bytes_max: usize) -> (String, usize) {
    let mut writer = Writer(Vec::new());
    let mut packed = 0;
    for one in kinds {
        let before = writer.0.len();
        kind(&mut writer, &mut one.clone()).expect("a write to memory cannot fail");
        if packed > 0 && writer.0.len() > bytes_max {
            writer.0.truncate(before);
            break;
        }
        packed += 1;
    }
    (BASE64.encode(writer.0), packed)
}

/// Adds the kinds in a text to the first kinds of `to`.
///
/// # Errors
/// The text was not made by [`pack_kinds`], or has more kinds than `to`.
pub(crate) fn add_kinds(text: &str, to: &mut [KindInterval]) -> Result<()> {
    let bytes = BASE64.decode(text).context(NOT_OURS)?;
    let mut reader = Reader(&bytes);
    let mut sums = to.iter_mut();
    while !reader.0.is_empty() {
        let sum = sums.next().context(NOT_OURS)?;
        kind(&mut reader, sum).context(NOT_OURS)?;
    }
    Ok(())
}

pub(crate) fn pack_client(figures: &ClientInterval) -> String {
    let mut writer = Writer(Vec::new());
    client(&mut writer, &mut figures.clone()).expect("a write to memory cannot fail");
    BASE64.encode(writer.0)
}

/// Unpacks the figures that a client measures about itself.
///
/// # Errors
/// The text was not made by [`pack_client`].
pub(crate) fn unpack_client(text: &str) -> Result<ClientInterval> {
    let bytes = BASE64.decode(text).context(NOT_OURS)?;
    let mut figures = ClientInterval::default();
    client(&mut Reader(&bytes), &mut figures).context(NOT_OURS)?;
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn a_kind(values: &[(u64, u64)], n: u64) -> KindInterval {
        let mut kind = KindInterval {
            is_part: n.is_multiple_of(2),
            counts: KindCount::ALL.map(|counter| (counter, n + counter as u64)).into(),
            extra_reads: -(n as i64),
            extra_writes: n as i64,
            extra_uncertain: n,
            ..KindInterval::default()
        };
        for (latency_ns, count) in values {
            kind.succeed(
                latency_ns.is_multiple_of(3),
                *latency_ns,
                latency_ns / 2,
                *count,
            );
        }
        kind.fail(true, Outcome::Overloaded, 77, None);
        kind.fail(
            false,
            Outcome::ClientTimeout,
            5_000_000 + n,
            Some(4_000_000),
        );
        kind.leave_unsent(9, n + 1);
        kind.checks.checked = n;
        kind.checks.too_high = n + 1;
        kind
    }

    fn bytes_of(kinds: &[KindInterval]) -> String {
        pack_kinds(kinds, usize::MAX).0
    }

    proptest! {
        #[test]
        fn kinds_come_back_as_they_were_however_they_are_cut(
            values in prop::collection::vec((1u64..1 << 33, 1u64..1000), 0..40),
            count in 1usize..6,
            bytes_max in prop::sample::select(vec![1usize, 3000, 1 << 20]),
        ) {
            let kinds: Vec<KindInterval> =
                (0..count).map(|n| a_kind(&values, n as u64)).collect();
            let mut back = vec![KindInterval::default(); count];
            let mut twice = back.clone();
            let mut at = 0;
            while at < count {
                let (text, packed) = pack_kinds(&kinds[at..], bytes_max);
                add_kinds(&text, &mut back[at..]).unwrap();
                add_kinds(&text, &mut twice[at..]).unwrap();
                add_kinds(&text, &mut twice[at..]).unwrap();
                let mut fewer = vec![KindInterval::default(); packed - 1];
                prop_assert!(add_kinds(&text, &mut fewer).is_err());
                at += packed;
            }
            prop_assert!(bytes_of(&back) == bytes_of(&kinds));
            let mut sums = kinds.clone();
            sums.iter_mut().zip(&kinds).for_each(|(sum, kind)| sum.add(kind));
            prop_assert!(bytes_of(&twice) == bytes_of(&sums));
            for (back, kind) in back.iter().zip(&kinds) {
                prop_assert!(back.latency.hdr() == kind.latency.hdr());
                prop_assert!(back.early.errors.hdr() == kind.early.errors.hdr());
                prop_assert_eq!(back.extra_reads, kind.extra_reads);
                prop_assert_eq!(back.checks, kind.checks);
            }
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in "[A-Za-z0-9+/]{0,80}") {
            let _ = add_kinds(&text, &mut [KindInterval::default()]);
            let _ = unpack_client(&text);
        }
    }

    #[test]
    fn the_client_s_figures_come_back_with_what_is_there_of_them() {
        let mut figures = ClientInterval {
            cpu_ns: 1,
            counts: ClientCount::ALL.map(|counter| (counter, counter as u64)).into(),
            sends: 2,
            receives: 3,
            quiet_ns: 4,
            ..ClientInterval::default()
        };
        figures.lag.record(123_456);
        let back = unpack_client(&pack_client(&figures)).unwrap();
        assert!(pack_client(&back) == pack_client(&figures));
        assert_eq!(
            (back.wait_ns, back.quiet_ns, back.lag.count()),
            (None, 4, 1)
        );
        figures.wait_ns = Some(7);
        figures.hiccups.late.get_or_insert_default().record(5_000_000);
        (figures.hiccups.stalled_ns, figures.hiccups.cpu_ns) = (8, 9);
        let back = unpack_client(&pack_client(&figures)).unwrap();
        assert!(pack_client(&back) == pack_client(&figures));
        assert_eq!((back.wait_ns, back.hiccups.stalled_ns), (Some(7), 8));
        assert_eq!(back.hiccups.longest_ns(), figures.hiccups.longest_ns());
    }
}
