//! Converts between days and dates of the proleptic Gregorian calendar, and creates UUIDs that
//! contain a time.

/// Number of days between 0000-03-01 and 1970-01-01. The calculations begin years in March, so that
/// the leap day is the last day of a year. The month then follows from the day of the year by one
/// division (30.6 days per month).
const DAYS_TO_1970: i64 = 719_468;
/// Number of milliseconds from 1582-10-15, the epoch of version 1 UUIDs, to 1970.
const GREGORIAN_TO_1970_MS: i64 = 12_219_292_800_000;
/// Largest year that the conversions accept. The year is far beyond any year that a date format can
/// write.
const YEAR_MAX: i64 = 999_999;

/// Returns the year, month and day for a number of days since 1970.
pub fn civil(days_since_1970: i64) -> (i64, i64, i64) {
    let days = days_since_1970 + DAYS_TO_1970;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = 400 * era + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

/// Returns the number of days from 1970 to a date. Returns `None` if the calendar does not have
/// this date.
pub fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    if year.abs() > YEAR_MAX || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let from_march = year - i64::from(month <= 2);
    let leap_days =
        from_march.div_euclid(4) - from_march.div_euclid(100) + from_march.div_euclid(400);
    // From March on, the lengths of months repeat the pattern of 31, 30, 31, 30 and 31 days.
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = from_march * 365 + leap_days + day_of_year - DAYS_TO_1970;
    (civil(days) == (year, month, day)).then_some(days)
}

/// Returns the time in a version 1 UUID, in steps of 100 ns, for a time in ms since 1970.
pub fn uuid_ticks(ms: i64) -> u64 {
    ms.wrapping_add(GREGORIAN_TO_1970_MS).wrapping_mul(10_000) as u64
}

/// Returns a version 1 UUID with the time `ticks` and the low half `low`, which contains the
/// variant, the clock sequence and the node.
pub fn time_uuid(ticks: u64, low: u64) -> [u8; 16] {
    let high = ticks << 32 | (ticks >> 16 & 0xFFFF_0000) | (ticks >> 48 & 0x0FFF) | 0x1000;
    (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar_in_both_directions() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (59, (1970, 3, 1)),
            (11_016, (2000, 2, 29)),
            (17_563, (2018, 2, 1)),
            (-141_427, (1582, 10, 15)),
            (-719_162, (1, 1, 1)),
            (-719_528, (0, 1, 1)),
        ] {
            let (year, month, day) = date;
            assert_eq!(civil(days), date);
            assert_eq!(days_since_1970(year, month, day), Some(days), "{date:?}");
        }
        let wrong = [
            (2000, 2, 30),
            (2001, 2, 29),
            (1900, 2, 29),
            (2000, 13, 1),
            (2000, 4, 31),
        ];
        for (year, month, day) in wrong.into_iter().chain([(i64::MAX, 1, 1), (2000, 1, 0)]) {
            assert_eq!(
                days_since_1970(year, month, day),
                None,
                "{year}-{month}-{day}"
            );
        }
    }

    /// RFC 4122 gives 1997-02-03 17:43:12.216875 UTC as an example.
    #[test]
    fn a_time_lies_in_a_uuid_as_the_standard_has_it() {
        let ticks = uuid_ticks(854_991_792_216) + 8_750;
        assert_eq!(ticks, 0x01D0_7DEC_F81D_4FAE);
        let uuid = time_uuid(ticks, 0xA765_00A0_C91E_6BF6);
        let expected = 0xF81D_4FAE_7DEC_11D0_A765_00A0_C91E_6BF6_u128;
        assert_eq!(u128::from_be_bytes(uuid), expected);
    }
}
