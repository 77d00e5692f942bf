//! Tests nodes that restart at another address during the load, as pods do.

use crate::program::{kind, program, statement};
use crate::server::{ReceivedRequest, Response, Server};
use crate::{config, run};
use cql::{CqlType, Value};
use load::{Config, Endpoint, Limit};
use measure::Outcome;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use workload::Policy;

/// Tokens of the two nodes.
const TOKENS: [i64; 2] = [-100, 100];

fn tokens(token: i64) -> Value {
    Value::Set(vec![Value::Text(token.to_string())])
}

/// Returns the response of a node with the token `own` to a query of the system tables. `other` is
/// the address and the token of the other node. Returns `None` for any other request.
fn tells(
    asked: &ReceivedRequest,
    own: i64,
    other: &OnceLock<(SocketAddr, i64)>,
) -> Option<Response> {
    let set = || CqlType::Set(Box::new(CqlType::Text));
    if asked.cql[0].ends_with("system.local") {
        return Some(Response::Says(
            vec![("tokens", set())],
            vec![vec![tokens(own)]],
        ));
    }
    if !asked.cql[0].ends_with("system.peers_v2") {
        return None;
    }
    let columns = vec![
        ("native_address", CqlType::Inet),
        ("native_port", CqlType::Int),
        ("tokens", set()),
    ];
    let (at, token) = other.get().unwrap();
    let row = vec![
        Value::Inet(at.ip()),
        Value::Int(at.port().into()),
        tokens(*token),
    ];
    Some(Response::Says(columns, vec![row]))
}

/// A node has moved, and the other node now answers at the old address. The load must follow the
/// node to its new address, and count the requests there for the same node.
#[test]
fn a_node_that_has_moved_is_followed_by_its_tokens() {
    let (at_first, at_last) = (Arc::new(OnceLock::new()), Arc::new(OnceLock::new()));
    let other = Arc::clone(&at_last);
    let stays = Server::start(move |asked| {
        tells(asked, TOKENS[0], &other).unwrap_or(Response::Acknowledges)
    });
    at_first.set((stays.address, TOKENS[0])).unwrap();
    let is_gone = AtomicBool::new(false);
    let knows = Arc::clone(&at_first);
    // This server answers queries of the system tables like the other node, as if that node had
    // taken over the address of this server. It acknowledges only the first write, and closes the
    // connection at each later write.
    let goes = Server::start(move |asked| match tells(asked, TOKENS[0], &knows) {
        Some(says) => says,
        None if is_gone.swap(true, Ordering::Relaxed) => Response::Closes,
        None => Response::Acknowledges,
    });
    let comes = Server::start(move |asked| {
        tells(asked, TOKENS[1], &at_first).unwrap_or(Response::Acknowledges)
    });
    at_last.set((comes.address, TOKENS[1])).unwrap();
    let insert = statement("INSERT INTO t (k) VALUES (?)", 0);
    let program = program(vec![kind("write", Policy::default())], vec![insert], &[0]);
    let node = |name: &str, server: &Server, token| Endpoint {
        name: name.to_owned(),
        tokens: vec![token],
        ..Endpoint::from_address(server.address)
    };
    let ran = run(&Config {
        nodes: vec![
            node("stays", &stays, TOKENS[0]),
            node("goes", &goes, TOKENS[1]),
        ],
        limit: Limit::Duration(Duration::from_secs(2)),
        ..config(&[], program, 0)
    });
    let is_write = |asked: &ReceivedRequest| asked.cql[0].starts_with("INSERT");
    let writes = |server: &Server| server.requests().iter().filter(|one| is_write(one)).count();
    let (before, after) = (writes(&goes), writes(&comes));
    assert!(before < 10 && after > 100, "{before} and then {after}");
    let acknowledged = ran.kinds[0].outcomes.get(Outcome::Ok);
    assert!(acknowledged > after as u64, "{acknowledged}");
}
