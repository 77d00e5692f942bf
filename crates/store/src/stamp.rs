//! Names of run folders: `20260820T101530Z`, the UTC second in which the run began.
//!
//! Stamps sort by time. A second run of the same second gets `-2`, the next `-3`; [`order_key`]
//! sorts `-10` after `-9`.

use anyhow::{Result, bail};

/// The stamp of a point in time given in nanoseconds since 1970.
pub(crate) fn of_unix_ns(unix_ns: u64) -> Result<String> {
    let time = jiff::Timestamp::from_nanosecond(i128::from(unix_ns))?;
    Ok(time.strftime("%Y%m%dT%H%M%SZ").to_string())
}

/// What stamps are sorted by: the second, then the number within the second.
pub(crate) fn order_key(stamp: &str) -> (String, u32) {
    match stamp.split_once('-') {
        Some((second, number)) => (second.to_owned(), number.parse().unwrap_or(u32::MAX)),
        None => (stamp.to_owned(), 1),
    }
}

/// Refuses a name that is not one plain folder name: it becomes part of a path.
pub(crate) fn check_folder_name(what: &str, name: &str) -> Result<()> {
    let plain = |c: char| c.is_alphanumeric() || "-_.+=".contains(c);
    if name.is_empty() || name.len() > 200 || name.starts_with('.') || !name.chars().all(plain) {
        bail!(
            "{what} {name:?} cannot be a folder name: use 1 to 200 letters, digits, '-', '_', '.', \
             not beginning with '.'"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_sort_by_time_also_within_a_second() {
        let second = of_unix_ns(1_766_000_000_999_999_999).unwrap();
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

    #[test]
    fn a_name_that_would_leave_the_folder_is_refused() {
        for bad in ["", ".", "..", "a/b", "../a", ".hidden", "a b", "a\0"] {
            assert!(check_folder_name("study", bad).is_err(), "{bad:?}");
        }
        assert!(check_folder_name("study", "vtopology-2.0_x").is_ok());
    }
}
