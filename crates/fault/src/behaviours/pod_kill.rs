//! A pod is deleted without a grace period, so its node is killed. Otherwise the same as
//! [`super::pod_delete`].

use super::pod_delete;
use crate::behaviour::Fault;
use cassandra::Deletion;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    pod_delete::deleting(hit, Deletion::AtOnce)
}
