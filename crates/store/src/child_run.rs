//! Folders of the runs that follow the trials of a run, as its findings name them.

use std::path::{Component, Path};

/// Returns `run`, the folder of a child run relative to the folder of its parent, if it is a
/// subfolder of `above`. `None` for any other path, because findings may come from an untrusted
/// source.
pub(crate) fn folder_in<'r>(above: &str, run: &'r str) -> Option<&'r str> {
    let mut parts = Path::new(run).components();
    let is_inside = parts.next() == Some(Component::Normal(above.as_ref()))
        && parts.all(|part| matches!(part, Component::Normal(_)));
    is_inside.then_some(run)
}
