//! Nodes that have joined the ring, as one node reports them: addresses, racks, tokens and
//! versions.

use crate::address_map::Proxy;
use crate::node_info::NodeInfo;
use crate::session::{QueryResult, ServerError, Session};
use anyhow::{Context, Result, bail};
use cql::value::Value;
use std::net::{IpAddr, SocketAddr};
use target_spec::CQL_PORT;

/// Returns the nodes that have joined the ring according to the queried node, which comes first.
///
/// # Errors
/// The node does not answer, or the answer lacks addresses or tokens.
pub fn joined_nodes(session: &mut Session) -> Result<Vec<NodeInfo>> {
    if let Some(proxy) = session.moves().proxy().cloned() {
        return nodes_behind(session, &proxy);
    }
    let own = session.node();
    let local = session
        .query("SELECT data_center, rack, tokens, release_version FROM system.local")
        .context("query the node's own row")?;
    let mut nodes = nodes_of(&local, |_| Ok(own))?;
    let columns = "data_center, rack, tokens, release_version";
    let native = format!("SELECT native_address, native_port, {columns} FROM system.peers_v2");
    let peers = match session.query(&native) {
        Ok(peers) => nodes_of(&peers, |row| {
            let port = row.get(1).and_then(Value::as_i64);
            let port = port.and_then(|port| u16::try_from(port).ok()).unwrap_or(own.port());
            Ok(session.first_address(SocketAddr::new(ip_of(row.first())?, port)))
        })?,
        // Nodes before 4.0 do not have `peers_v2`. All nodes of such a cluster use the same port.
        Err(error) if error.downcast_ref::<ServerError>().is_some() => {
            let peers = session
                .query(&format!("SELECT rpc_address, {columns} FROM system.peers"))
                .context("query the rows of the other nodes")?;
            nodes_of(&peers, |row| {
                Ok(session.first_address(SocketAddr::new(ip_of(row.first())?, own.port())))
            })?
        }
        Err(error) => return Err(error.context("query the rows of the other nodes")),
    };
    nodes.extend(peers);
    Ok(nodes)
}

/// Returns the nodes that have joined the ring, beginning with the queried node. A node's name is
/// its host id, by which the proxy selects the node.
fn nodes_behind(session: &mut Session, proxy: &Proxy) -> Result<Vec<NodeInfo>> {
    let columns = "host_id, data_center, rack, tokens, release_version";
    let mut all = Vec::new();
    for (address, table) in [("broadcast_address", "local"), ("peer", "peers")] {
        let found = session
            .query(&format!("SELECT {address}, {columns} FROM system.{table}"))
            .context("request the nodes")?;
        all.extend(nodes_of(&found, |row| {
            let at = SocketAddr::new(ip_of(row.first())?, CQL_PORT);
            match row.get(1) {
                Some(id @ Value::Uuid(_)) => proxy.note(at, &id.to_string()),
                other => {
                    bail!(
                        "the server returned no host id for the node {at}, which cassay needs to \
                         contact it: {other:?}"
                    )
                }
            }
            Ok(session.first_address(at))
        })?);
    }
    Ok(all)
}

fn ip_of(value: Option<&Value>) -> Result<IpAddr> {
    match value {
        Some(Value::Inet(address)) => Ok(*address),
        other => bail!("the server returned no address for a node: {other:?}"),
    }
}

/// Parses the rows of a result with the columns data_center, rack, tokens and release_version.
/// Omits peers without tokens, because these peers are still joining.
fn nodes_of(
    result: &QueryResult,
    address_of: impl Fn(&[Value]) -> Result<SocketAddr>,
) -> Result<Vec<NodeInfo>> {
    let columns = ["data_center", "rack", "tokens", "release_version"].map(|n| result.column(n));
    let [datacenter, rack, tokens, version] = columns;
    let (datacenter, rack, tokens, version) = (datacenter?, rack?, tokens?, version?);
    let text = |row: &[Value], index: usize| row[index].as_str().unwrap_or_default().to_string();
    let mut nodes = Vec::new();
    for row in &result.rows {
        let tokens = tokens_of(&row[tokens])?;
        if tokens.is_empty() {
            continue;
        }
        let address = address_of(row)?;
        nodes.push(NodeInfo {
            name: address.ip().to_string(),
            host: address.ip().to_string(),
            address,
            datacenter: text(row, datacenter),
            rack: text(row, rack),
            tokens,
            pid: None,
            version: text(row, version),
        });
    }
    Ok(nodes)
}

/// Parses a set of tokens. Only the Murmur3 partitioner is supported, whose tokens are 64-bit
/// integers.
fn tokens_of(value: &Value) -> Result<Vec<i64>> {
    let items = match value {
        Value::Set(items) | Value::List(items) => items.as_slice(),
        _ => &[],
    };
    let token = |item: &Value| -> Result<i64> {
        let text = item.as_str().unwrap_or_default();
        text.parse().with_context(|| {
            format!(
                "the token {text:?} does not belong to Murmur3Partitioner, the only partitioner \
                 that cassay supports"
            )
        })
    };
    let mut tokens = items.iter().map(token).collect::<Result<Vec<i64>>>()?;
    tokens.sort_unstable();
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_numbers_in_order() {
        let text = |token: &str| Value::Text(token.to_string());
        let set = Value::Set(vec![text("7"), text("-9223372036854775807")]);
        assert_eq!(
            tokens_of(&set).unwrap(),
            vec![-9_223_372_036_854_775_807, 7]
        );
        assert_eq!(tokens_of(&Value::Null).unwrap(), Vec::<i64>::new());
        let other = Value::Set(vec![text("ff00ab")]);
        assert!(tokens_of(&other).unwrap_err().to_string().contains("ff00ab"));
    }
}
