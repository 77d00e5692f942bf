//! Parallel calls to many machines.

use anyhow::{Result, ensure};

/// Calls a function for all items in parallel, each on a separate thread. Returns the answers in
/// the order of the items.
///
/// # Errors
/// A call fails. The error contains one line for each failed call.
pub fn at_once<I: Send, T: Send>(
    all: impl IntoIterator<Item = I>,
    ask: impl Fn(I) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let answers: Vec<Result<T>> = std::thread::scope(|scope| {
        let ask = &ask;
        let asked: Vec<_> = all.into_iter().map(|one| scope.spawn(move || ask(one))).collect();
        let answers = asked.into_iter().map(|asked| match asked.join() {
            Ok(answer) => answer,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        answers.collect()
    });
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for answer in answers {
        match answer {
            Ok(answer) => good.push(answer),
            Err(error) => bad.push(format!("{error:#}")),
        }
    }
    ensure!(bad.is_empty(), "{}", bad.join("\n"));
    Ok(good)
}
