//! Calls a function for all clients in parallel, and reports the failures.

use anyhow::{Result, anyhow};
use measure::number::counted;

/// Calls `with` for all items in parallel, with one thread each. Returns the results in the order
/// of the items.
pub(crate) fn at_once<'a, A: Sync, T: Send>(
    all: &'a [A],
    with: impl Fn(&'a A) -> Result<T> + Sync,
) -> std::vec::IntoIter<Result<T>> {
    let with = &with;
    let done: Vec<Result<T>> = std::thread::scope(|scope| {
        let each: Vec<_> = all.iter().map(|one| scope.spawn(move || with(one))).collect();
        let ended = each.into_iter().map(|thread| match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect()
    });
    done.into_iter()
}

/// Maximum number of clients in an error message about the same failure.
const NAMED_MAX: usize = 3;

/// Returns all results, or an error with each distinct failure and its clients.
pub(crate) fn all_or_failures<T>(
    done: impl Iterator<Item = (Result<T>, String)>,
) -> Result<Vec<T>> {
    let mut all = Vec::new();
    let mut failures: Vec<(String, Vec<String>)> = Vec::new();
    for (one, whose) in done {
        let why = match one {
            Ok(one) => {
                all.push(one);
                continue;
            }
            Err(error) => format!("{error:#}"),
        };
        match failures.iter_mut().find(|(told, _)| *told == why) {
            Some((_, of)) => of.push(whose),
            None => failures.push((why, vec![whose])),
        }
    }
    if failures.is_empty() {
        return Ok(all);
    }
    let told = failures.iter().map(|(why, of)| {
        let others = match of.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            others => format!(" and {}", counted(others, "other")),
        };
        let named: Vec<&str> = of.iter().take(NAMED_MAX).map(String::as_str).collect();
        format!("{}{others}: {why}", named.join(", "))
    });
    Err(anyhow!(told.collect::<Vec<_>>().join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_many_clients_is_reported_once() {
        let failed = |number: usize| -> (Result<()>, String) {
            let why = if number == 2 { "no room" } else { "no image" };
            (Err(anyhow!(why)), format!("pod{number}"))
        };
        let said = all_or_failures((1..=6).map(failed)).unwrap_err().to_string();
        assert_eq!(
            said,
            "pod1, pod3, pod4 and 2 others: no image\npod2: no room"
        );
    }
}
