//! A pod is deleted without a grace period, so the process of its node is killed. All else is as in
//! [`super::pod_delete`].

use super::pod_delete;
use crate::behaviour::Fault;
use cassandra::Deletion;
use target_spec::fault::{Hit, Options};

/// Returns the implementation of this kind of fault.
pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    pod_delete::deleting(hit, Deletion::AtOnce)
}
