//! Determines whether a release is available under its name, for a plan.

use crate::failure::Failure;
use crate::home;
use crate::repository::{chosen, named_by_environment};
use crate::settings::Settings;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use versions::{Home, Release};

/// Known answers by version, because the rules ask again for each variant of a study.
static ANSWERS: Mutex<BTreeMap<String, Option<bool>>> = Mutex::new(BTreeMap::new());

/// Returns true if a release is in the repository or in Maven's cache, or is the distribution that
/// the environment specifies. Returns `None` if this is unknown. Sends at most one request, for a
/// file of a few kilobytes.
pub fn is_published(release: &Release) -> Option<bool> {
    let mut answers = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    let ask = || query_published(release, &Settings::here());
    *answers.entry(release.version().to_owned()).or_insert_with(ask)
}

fn query_published(release: &Release, settings: &Settings) -> Option<bool> {
    // The start of nodes reports an invalid distribution, or one of another release.
    let own = home().ok().flatten().and_then(|home| Home::read(&home).ok());
    if own.is_some_and(|own| own.release == *release) {
        return Some(true);
    }
    let folder = format!("org/apache/cassandra/cassandra-all/{release}");
    let pom = format!("{folder}/cassandra-all-{release}.pom");
    if settings.local_folder().is_some_and(|cache| cache.join(&pom).is_file()) {
        return Some(true);
    }
    let named = named_by_environment();
    let repository = chosen(named.as_deref(), settings.mirror.as_deref()).ok()?;
    match repository.get(&pom, 0) {
        Ok(_) => Some(true),
        Err(Failure::NotThere { .. }) => Some(false),
        Err(_) => None,
    }
}
