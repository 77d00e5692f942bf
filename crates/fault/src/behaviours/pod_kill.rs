//! A pod that is deleted without time to end: its node's process is killed. Else it is as
//! [`super::pod_delete`].

use super::pod_delete;
use crate::behaviour::Fault;
use cluster::Deletion;
use target::fault::{Hit, Options};

/// What carries it out.
pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    pod_delete::deleting(hit, Deletion::AtOnce)
}
