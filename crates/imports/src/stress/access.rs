//! Connection settings of a command line, and the files that the command line names for them.

use super::options::Connect;
use crate::import_result::{Connection, ReadFile, Secret};
use yaml::{Diagnostics, Place};

/// Maximum number of nodes in a file. A file with more lines is probably not a list of nodes.
const NODES_MAX: usize = 10_000;

pub(super) fn connection(connect: &Connect, read: ReadFile, d: &mut Diagnostics) -> Connection {
    let nodes = match &connect.nodes_file {
        Some((file, place)) => nodes(file, place, read, d),
        None => connect.nodes.clone(),
    };
    let (mut username, mut password) = (connect.user.clone(), connect.password.clone());
    if let Some((file, place)) = &connect.credentials_file {
        match read(file) {
            Ok(text) => {
                // As in the tool, the user name and password of separate options have priority over
                // those in the file.
                username = username.or_else(|| property(&text, "cql.username"));
                let from_file = property(&text, "cql.password").map(Secret::new);
                password = password.or(from_file);
            }
            Err(problem) => {
                let message = format!("cassay cannot read the credentials in {file}: {problem}");
                d.add(place, message, Some("check the path".to_owned()));
            }
        }
    }
    Connection {
        nodes,
        port: connect.port,
        username,
        password,
        password_file: None,
        tls: connect.tls.then_some(true),
        compression: connect.compression,
        connections_per_node: connect.connections_per_node,
        datacenter: connect.datacenter.clone(),
    }
}

/// Returns the nodes that a file lists, one per line.
fn nodes(file: &str, place: &Place, read: ReadFile, d: &mut Diagnostics) -> Vec<String> {
    let text = match read(file) {
        Ok(text) => text,
        Err(problem) => {
            let message = format!("cassay cannot read the nodes in {file}: {problem}");
            d.add(place, message, Some("check the path".to_owned()));
            return Vec::new();
        }
    };
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let nodes: Vec<String> = lines.map(str::to_owned).collect();
    if nodes.is_empty() || nodes.len() > NODES_MAX {
        let count = nodes.len();
        let message =
            format!("{file} names {count} nodes; the number must be from 1 to {NODES_MAX}");
        d.add(place, message, Some("write one node per line".to_owned()));
    }
    if let Some(line) = nodes.iter().position(|node| node.contains(char::is_whitespace)) {
        let message = format!("line {} of {file} is not a node", line + 1);
        d.add(
            place,
            message,
            Some("write one host name or address per line".to_owned()),
        );
    }
    nodes
}

/// Returns the value of a key in a properties file. Returns `None` if the file lacks the key. If
/// the file states the key several times, the last value applies, as in Java.
fn property(text: &str, key: &str) -> Option<String> {
    let entries = yaml::java_properties(text).into_iter();
    let mut values = entries.filter(|entry| entry.key == key).map(|entry| entry.value);
    values.next_back()
}
