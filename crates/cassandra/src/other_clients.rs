//! Connections of other clients to a cluster, and table sizes. Both show whether cassay can safely
//! offer load.

use crate::node::Node;
use crate::session::{QueryResult, Session};
use anyhow::{Context, Result};
use cql::Value;
use std::collections::BTreeMap;

/// Connections of other clients. Cassandra lists connections since 4.0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OtherClients(pub Vec<OtherConnection>);

/// Client connection that does not belong to this process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OtherConnection {
    /// Name of the connected node.
    pub node: String,
    /// Client address, such as `10.0.0.7:41234`.
    pub from: String,
    /// Name that the driver reports. Empty if the driver reports no name.
    pub driver: String,
    /// Number of requests on the connection so far.
    pub requests: u64,
}

impl OtherClients {
    /// Returns the number of requests per second since the earlier snapshot, which is `seconds`
    /// old. Counts only connections in both snapshots.
    pub fn requests_per_s(&self, earlier: &OtherClients, seconds: f64) -> f64 {
        let earlier: BTreeMap<(&str, &str), u64> =
            earlier.0.iter().map(|one| (one.place(), one.requests)).collect();
        let sent = self.0.iter().filter_map(|now| {
            let before = earlier.get(&now.place())?;
            Some(now.requests.saturating_sub(*before))
        });
        sent.sum::<u64>() as f64 / seconds
    }

    pub fn drivers(&self) -> BTreeMap<&str, usize> {
        let mut drivers = BTreeMap::new();
        for one in &self.0 {
            *drivers.entry(one.driver.as_str()).or_default() += 1;
        }
        drivers
    }
}

impl OtherConnection {
    /// Returns both endpoints, which identify the connection in several snapshots.
    fn place(&self) -> (&str, &str) {
        (&self.node, &self.from)
    }
}

/// Estimated size of a table. Cassandra refreshes its estimates every few minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Number of partitions, each counted once regardless of its replicas.
    pub partitions: u64,
    /// Uncompressed size, in bytes.
    pub bytes: u64,
}

impl Node<'_> {
    /// Returns the connections of other clients to this node. Returns `None` if the node is older
    /// than Cassandra 4.0, or does not show this user its connections.
    ///
    /// # Errors
    /// The node cannot be queried.
    pub fn other_clients(&self) -> Result<Option<Vec<OtherConnection>>> {
        let mut session = self.session()?;
        let found = session.query_if_shown("SELECT * FROM system_views.clients");
        let Some(found) = found.with_context(|| ask(self.name(), "the list of clients"))? else {
            return Ok(None);
        };
        other_connections(self.name(), &found, &session).map(Some)
    }

    /// Returns the estimated size of each table's data on this node. Returns `None` if the node
    /// does not show this user its estimates.
    ///
    /// # Errors
    /// The node cannot be queried.
    pub fn estimates(&self, keyspace: &str) -> Result<Option<BTreeMap<String, Estimate>>> {
        let named = cql::tokens::literal(keyspace);
        let found = self.session()?.query_if_shown(&format!(
            "SELECT table_name, partitions_count, mean_partition_size FROM \
             system.size_estimates WHERE keyspace_name = {named}"
        ));
        let Some(found) = found.with_context(|| ask(self.name(), "the table estimates"))? else {
            return Ok(None);
        };
        let mut all: BTreeMap<String, Estimate> = BTreeMap::new();
        for row in &found.rows {
            let [Value::Text(table), count, mean] = &row[..] else {
                continue;
            };
            let whole = |cell: &Value| cell.as_i64().and_then(|n| u64::try_from(n).ok());
            let (count, mean) = (whole(count).unwrap_or(0), whole(mean).unwrap_or(0));
            let bytes = count.saturating_mul(mean);
            all.entry(table.clone()).or_default().add(Estimate {
                partitions: count,
                bytes,
            });
        }
        Ok(Some(all))
    }
}

impl Estimate {
    pub fn add(&mut self, other: Estimate) {
        self.partitions += other.partitions;
        self.bytes += other.bytes;
    }
}

fn ask(node: &str, what: &str) -> String {
    format!("request {what} from {node}")
}

/// Returns the connections of other clients. Omits all connections of cassay processes on the
/// machine that runs cassay.
fn other_connections(
    node: &str,
    found: &QueryResult,
    session: &Session,
) -> Result<Vec<OtherConnection>> {
    let here = session.local_address()?;
    let at = |name| found.column(name);
    let (address, port) = (at("address")?, at("port")?);
    let (driver, requests) = (at("driver_name")?, at("request_count")?);
    let rows = found.rows.iter().filter_map(|row| {
        let (from, driver) = (row[address].to_string(), row[driver].as_str());
        let is_ours = driver == Some(cql::request::DRIVER_NAME) && from == here.ip().to_string();
        (!is_ours).then(|| OtherConnection {
            node: node.to_owned(),
            from: format!("{from}:{}", row[port]),
            driver: driver.unwrap_or_default().to_owned(),
            requests: row[requests].as_i64().map_or(0, |n| n.max(0) as u64),
        })
    });
    Ok(rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_on_connections_present_in_both_readings() {
        let look = |all: &[(&str, &str, u64)]| {
            let one = |(node, from, requests): &(&str, &str, u64)| OtherConnection {
                node: (*node).to_owned(),
                from: (*from).to_owned(),
                driver: String::new(),
                requests: *requests,
            };
            OtherClients(all.iter().map(one).collect())
        };
        let before = look(&[("a", "x:1", 10), ("b", "x:1", 5), ("a", "gone:1", 7)]);
        let now = look(&[("a", "x:1", 30), ("b", "x:1", 5), ("a", "new:1", 1000)]);
        assert_eq!(
            now.requests_per_s(&before, 2.0).to_bits(),
            10.0_f64.to_bits()
        );
    }
}
