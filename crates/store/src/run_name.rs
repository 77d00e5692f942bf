//! Names of run folders (stamps), such as `20260820T101530Z`. A stamp is the UTC second in which
//! the run began.
//!
//! Stamps sort by time. The second run in the same second has the suffix `-2`, the third `-3`, and
//! so on. [`order_key`] sorts `-10` after `-9`.

use anyhow::Result;

/// Returns the stamp for a time in ns since 1970.
pub(crate) fn from_unix_ns(unix_ns: u64) -> Result<String> {
    let time = jiff::Timestamp::from_nanosecond(i128::from(unix_ns))?;
    Ok(time.strftime("%Y%m%dT%H%M%SZ").to_string())
}

/// Returns the sort key of a stamp, which consists of the second and the number of the run within
/// that second.
pub(crate) fn order_key(stamp: &str) -> (String, u32) {
    match stamp.split_once('-') {
        Some((second, number)) => (second.to_owned(), number.parse().unwrap_or(u32::MAX)),
        None => (stamp.to_owned(), 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_sort_by_time_also_within_a_second() {
        let second = from_unix_ns(1_766_000_000_999_999_999).unwrap();
        assert_eq!(second, "20251217T193320Z");
        let mut stamps = [
            "20251217T193321Z",
            "a-10",
            "20251217T193320Z-10",
            "20251217T193320Z-9",
        ];
        stamps.sort_by_key(|s| order_key(s));
        assert_eq!(
            stamps[..3],
            [
                "20251217T193320Z-9",
                "20251217T193320Z-10",
                "20251217T193321Z"
            ]
        );
    }
}
