//! Chooses the record of an operation by YCSB's request distributions. The draws depend on the seed
//! and the operation's number, whereas YCSB has random numbers per thread.
//!
//! The zipfian formula is that of Gray et al., "Quickly generating billion-record synthetic
//! databases", SIGMOD 1994, which YCSB uses. Record numbers have 64 bits in cassay. YCSB converts
//! its numbers to an int, so they end at 2^31.

use workload::random::Draws;

/// Skew constant of YCSB's zipfian distributions.
const THETA: f64 = 0.99;
/// Number of ranks that `zipfian` scatters over the records.
const SCRAMBLED_ITEMS: u64 = 10_000_000_000;
const SCRAMBLED_ZETA: f64 = 26.469_028_201_783_02;
/// Number of terms of zeta that are summed one by one. The Euler–Maclaurin formula approximates the
/// rest, with an error below 1e-12.
const TERMS_EXACT: u64 = 1_000_000;

/// Returns the 64-bit FNV-1a hash of the eight bytes of `number` as a positive number. The lowest
/// byte comes first.
pub(super) fn fnv(mut number: u64) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325u64; // offset basis
    for _ in 0..8 {
        hash = (hash ^ (number & 0xFF)).wrapping_mul(1_099_511_628_211); // prime
        number >>= 8;
    }
    (hash as i64).unsigned_abs()
}

/// Zipf's law over a number of items that may grow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zipfian {
    items: u64,
    zeta_items: u64,
    zeta: f64,
}

impl Zipfian {
    pub(super) fn new(items: u64) -> Zipfian {
        let items = items.max(1);
        Zipfian {
            items,
            zeta_items: items,
            zeta: zeta(items),
        }
    }

    fn scrambled() -> Zipfian {
        Zipfian {
            items: SCRAMBLED_ITEMS + 1,
            zeta_items: SCRAMBLED_ITEMS + 1,
            zeta: SCRAMBLED_ZETA,
        }
    }

    /// Draws a rank below `items`. Rank 0 is the most popular rank.
    pub(super) fn draw(&mut self, items: u64, draws: &mut Draws) -> u64 {
        let items = items.max(1);
        if items > self.zeta_items && items - self.zeta_items < TERMS_EXACT {
            for item in self.zeta_items + 1..=items {
                self.zeta += libm::pow(item as f64, -THETA);
            }
            self.zeta_items = items;
        } else if items != self.zeta_items {
            self.zeta = zeta(items);
            self.zeta_items = items;
        }
        let two = 1.0 + libm::pow(0.5, THETA);
        let u = draws.unit();
        let scaled = u * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < two {
            return 1.min(items - 1);
        }
        let eta = (1.0 - libm::pow(2.0 / self.items as f64, 1.0 - THETA)) / (1.0 - two / self.zeta);
        let share = libm::pow(eta * u - eta + 1.0, 1.0 / (1.0 - THETA));
        ((items as f64 * share) as u64).min(items - 1)
    }
}

/// Returns the sum of `i^-θ` for i from 1 to `items`.
fn zeta(items: u64) -> f64 {
    let exact = items.min(TERMS_EXACT);
    let mut sum: f64 = (1..=exact).map(|i| libm::pow(i as f64, -THETA)).sum();
    if items > exact {
        let (a, b) = (exact as f64, items as f64);
        let power = |x: f64| libm::pow(x, -THETA);
        let integral = (libm::pow(b, 1.0 - THETA) - libm::pow(a, 1.0 - THETA)) / (1.0 - THETA);
        let slope = THETA * (power(a) / a - power(b) / b) / 12.0;
        sum += integral + (power(b) - power(a)) / 2.0 + slope;
    }
    sum
}

/// Records of a table, by number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Records {
    pub first: u64,
    /// Number of records that the load phase has written.
    pub loaded: u64,
    pub last: u64,
}

/// A request distribution with its parameters, from `requestdistribution`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Chooser {
    Uniform,
    /// Zipf's law over the records. The records include those that the run will probably add.
    Zipfian {
        zipfian: Zipfian,
        span: u64,
    },
    Latest(Zipfian),
    Sequential,
    /// An exponential distribution with this rate. The drawn number is the distance back from the
    /// last record.
    Exponential {
        gamma: f64,
    },
    /// A hotspot distribution. This share of the operations uses the first `records` records.
    Hotspot {
        records: u64,
        share: f64,
    },
}

impl Chooser {
    pub(super) fn scrambled(span: u64) -> Chooser {
        Chooser::Zipfian {
            zipfian: Zipfian::scrambled(),
            span,
        }
    }

    pub(super) fn draw(&mut self, n: u64, records: Records, draws: &mut Draws) -> u64 {
        let Records {
            first,
            loaded,
            last,
        } = records;
        match self {
            Chooser::Uniform => first + draws.below(loaded),
            Chooser::Sequential => first + n % loaded,
            Chooser::Latest(zipfian) => last - zipfian.draw(last.max(1), draws).min(last),
            Chooser::Hotspot { records, share } => {
                let hot = draws.unit() < *share;
                if hot || *records == loaded {
                    first + draws.below((*records).max(1))
                } else {
                    first + *records + draws.below(loaded - *records)
                }
            }
            Chooser::Zipfian { zipfian, span } => loop {
                let record = first + fnv(zipfian.draw(SCRAMBLED_ITEMS + 1, draws)) % *span;
                // If the run has not inserted this record yet, the loop draws another record.
                if record <= last {
                    return record;
                }
            },
            Chooser::Exponential { gamma } => loop {
                let back = -libm::log(draws.unit()) / *gamma;
                if back <= last as f64 {
                    return last - back as u64;
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(n: u64) -> Draws {
        Draws::new(7, n)
    }

    #[test]
    fn hashes_are_ycsb_s() {
        for (number, hash) in [
            (0, 6_284_781_860_667_377_211),
            (1, 8_517_097_267_634_966_620),
            (2, 1_820_151_046_732_198_393),
            (3, 4_052_466_453_699_787_802),
            (4, 3_232_700_585_171_816_769),
        ] {
            assert_eq!(fnv(number), hash, "{number}");
        }
    }

    #[test]
    fn zeta_is_the_same_summed_and_integrated() {
        let items = TERMS_EXACT + 500_000;
        let summed: f64 = (1..=items).map(|i| libm::pow(i as f64, -THETA)).sum();
        assert!((zeta(items) - summed).abs() < 1e-9);
        // YCSB publishes this constant for ten billion items.
        assert!((zeta(SCRAMBLED_ITEMS) - SCRAMBLED_ZETA).abs() < 1e-6);
    }

    fn from_0(loaded: u64, last: u64) -> Records {
        Records {
            first: 0,
            loaded,
            last,
        }
    }

    #[test]
    fn the_hottest_record_of_zipfian_has_its_share() {
        let mut chooser = Chooser::scrambled(1001);
        let count = 200_000;
        let hits = (0..count)
            .filter(|n| chooser.draw(*n, from_0(1000, 999), &mut draws(*n)) == fnv(0) % 1001)
            .count();
        let share = hits as f64 / f64::from(count as u32);
        assert!((share - 1.0 / SCRAMBLED_ZETA).abs() < 0.004, "{share}");
    }

    #[test]
    fn every_distribution_stays_among_the_records_that_exist() {
        let hotspot = Chooser::Hotspot {
            records: 20,
            share: 0.8,
        };
        let choosers = [
            Chooser::Uniform,
            Chooser::scrambled(120),
            Chooser::Latest(Zipfian::new(100)),
            Chooser::Sequential,
            Chooser::Exponential { gamma: 0.1 },
            hotspot,
        ];
        for mut chooser in choosers {
            for n in 0..10_000 {
                let record = chooser.draw(n, from_0(100, 99), &mut draws(n));
                assert!(record < 100, "{chooser:?}: {record}");
            }
        }
    }

    #[test]
    fn latest_follows_the_last_record_and_a_single_record_is_enough() {
        let mut chooser = Chooser::Latest(Zipfian::new(1000));
        let newest = (0..1000)
            .filter(|n| chooser.draw(*n, from_0(1000, 1000 + n), &mut draws(*n)) == 1000 + n);
        assert!(newest.count() > 80);
        let mut one = Chooser::Latest(Zipfian::new(1));
        assert_eq!(one.draw(0, from_0(1, 0), &mut draws(0)), 0);
    }

    #[test]
    fn records_beyond_an_int_are_reached() {
        let (records, mut beyond) = (1u64 << 40, 0);
        for n in 0..100 {
            let record = Chooser::Uniform.draw(n, from_0(records, records - 1), &mut draws(n));
            beyond += u32::from(record > 1 << 31);
        }
        assert!(beyond > 90);
    }
}
