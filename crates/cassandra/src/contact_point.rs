//! Resolves contact points, which the user gives for an attached cluster.

use anyhow::{Result, anyhow};
use std::net::SocketAddr;
use target_spec::ContactPoint;

/// Returns the host name of a contact point, and the addresses of the host.
///
/// # Errors
/// The text is not a contact point, or its host has no address.
pub fn addresses_of(point: &str) -> Result<(String, Vec<SocketAddr>)> {
    let ContactPoint { host, port } =
        point.parse().map_err(|why| anyhow!("the contact point {point:?} {why}"))?;
    let addresses = host::host_names::addresses_of(&host, port)?;
    Ok((host, addresses))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contact_point_with_a_mistake_is_named_with_its_mistake() {
        let error = addresses_of("db1:70000").unwrap_err().to_string();
        assert!(
            error.contains("the contact point \"db1:70000\" has no port"),
            "{error}"
        );
    }
}
