//! Checks the paths of child runs, which the findings of their parent contain.

use std::path::{Component, Path};

/// Returns `run` if this path is in the folder `above`. `run` is the path of a child run relative
/// to its parent's folder. `None` for any other path, because findings may come from an untrusted
/// source.
pub(crate) fn folder_in<'r>(above: &str, run: &'r str) -> Option<&'r str> {
    let mut parts = Path::new(run).components();
    let is_inside = parts.next() == Some(Component::Normal(above.as_ref()))
        && parts.all(|part| matches!(part, Component::Normal(_)));
    is_inside.then_some(run)
}
