//! Compares the requested number of connections with the number that this process can open.
//!
//! Three limits apply before the memory is full. They are the number of open files, the number of
//! local ports towards one node, and the numbers by which a worker identifies its connections. The
//! client can determine all three before it opens the first connection. Without this check, a limit
//! would appear as a system error while the client opens connections.

use crate::inflight;
use measure::number::counted;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Number of files that a run has open in addition to its connections, such as records, logs, epoll
/// and standard streams.
const OTHER_FILES: u64 = 256;

/// Maximum number of connections of one worker. The connections are numbered from 0, and the
/// highest possible number means no connection.
const PER_WORKER_MAX: u64 = inflight::NONE as u64;

/// Limits on connections that apply to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Maximum number of open files (the hard limit of `RLIMIT_NOFILE`). `None` means that the
    /// system sets no limit.
    pub files: Option<u64>,
    /// Number of local ports for connections to one address. `None` if the number is unknown.
    pub ports: Option<u64>,
}

impl Room {
    /// Returns the limits of this process.
    pub fn here() -> Room {
        let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
        Room {
            files: getrlimit(Resource::Nofile).maximum,
            ports: range.ok().and_then(|text| ports(&text)),
        }
    }
}

/// Returns the number of ports in a range. `text` contains the first and the last port.
fn ports(text: &str) -> Option<u64> {
    let mut numbers = text.split_whitespace().map(|number| number.parse::<u64>().ok());
    let (first, last) = (numbers.next()??, numbers.next()??);
    (last.checked_sub(first)?).checked_add(1)
}

/// Returns the reason why this number of workers cannot have this number of operations in flight,
/// and the remedy. Returns `None` if the stream ids of the workers are sufficient.
pub fn stream_ids_refusal(in_flight: usize, workers: usize) -> Option<String> {
    let each = inflight::SLOTS_MAX;
    let most = each.saturating_mul(workers);
    (in_flight > most).then(|| {
        format!(
            "{in_flight} operations in flight (`client.in_flight_max`, or the threads of a load) \
             exceed the {most} of {} (`client.workers`), each with {each} CQL stream ids\nhint: \
             request fewer operations in flight, or use more workers",
            counted(workers, "worker")
        )
    })
}

/// Connections that a load is to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// Number of event loops (workers), which have separate connections.
    pub workers: usize,
    /// Number of connections of each worker to each node.
    pub per_node: usize,
    /// Number of nodes that the client knows.
    pub nodes: usize,
    /// Number of files per connection. The number is two if the other end of the connection is also
    /// in this process.
    pub files_each: usize,
}

impl Connections {
    /// Returns the reason why this process cannot open these connections, and the remedy. Returns
    /// `None` if the process can open them.
    pub fn refusal(&self, room: &Room) -> Option<String> {
        let of = |count: usize| count as u64;
        let (workers, per_node, nodes) = (of(self.workers), of(self.per_node), of(self.nodes));
        let to_node = workers.saturating_mul(per_node);
        let (all, files) = (to_node.saturating_mul(nodes), self.files());
        let asked = format!(
            "{} (`client.workers`) with {} each (`client.connections_per_node`) to each of {}",
            counted(workers, "worker"),
            counted(per_node, "connection"),
            counted(nodes, "node")
        );
        let fewer = "lower `client.connections_per_node` or `client.workers`";
        if per_node.saturating_mul(nodes) > PER_WORKER_MAX {
            return Some(format!(
                "{asked} are {} connections for one worker, which supports at most \
                 {PER_WORKER_MAX}: {fewer}",
                per_node.saturating_mul(nodes)
            ));
        }
        if let Some(ports) = room.ports.filter(|ports| to_node > *ports) {
            return Some(format!(
                "{asked} are {to_node} connections to one node, but this machine has only {ports} \
                 local ports for outgoing connections: {fewer}, or widen \
                 net.ipv4.ip_local_port_range"
            ));
        }
        let most = room.files.filter(|most| files > *most)?;
        Some(format!(
            "{asked} are {all} connections in total and need {files} open files, but this process \
             may have {most} (the hard limit of RLIMIT_NOFILE): {fewer}, or raise the limit \
             (`ulimit -Hn`, or LimitNOFILE of a service)"
        ))
    }

    /// Returns the number of open files that the process needs for these connections.
    fn files(&self) -> u64 {
        [self.per_node, self.nodes, self.files_each]
            .iter()
            .fold(self.workers as u64, |all, count| {
                all.saturating_mul(*count as u64)
            })
            .saturating_add(OTHER_FILES)
    }

    /// Raises the soft limit of open files for these connections, up to the hard limit. The soft
    /// limit is often only the default of 1024.
    pub fn make_room(&self) {
        let files = self.files();
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        // The comparison uses twice the number of files, because a server in this process also
        // needs a file for each connection.
        if current.is_some_and(|soft| soft < files.saturating_mul(2)) {
            let raised = Rlimit {
                current: maximum,
                maximum,
            };
            // If the limit is still too low, the system refuses a connection, and the client
            // reports the system's message.
            let _ = setrlimit(Resource::Nofile, raised);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_refuses_what_is_beyond_it_and_nothing_else() {
        let room = Room {
            files: Some(20_000),
            ports: Some(28_232),
        };
        let refusal = |workers, per_node, nodes| {
            let asked = Connections {
                workers,
                per_node,
                nodes,
                files_each: 1,
            };
            asked.refusal(&room)
        };
        assert_eq!(refusal(4, 8, 3), None);
        assert_eq!(refusal(1, 19_744, 1), None);
        let files = refusal(1, 19_745, 1).expect("one too many");
        for part in [
            "19745 connections in total",
            "20001 open files",
            "may have 20000",
            "RLIMIT_NOFILE",
        ] {
            assert!(files.contains(part), "{files}");
        }
        let ports = refusal(32, 1024, 1).expect("too many to one node");
        for part in [
            "32 workers",
            "1024 connections",
            "32768 connections to one node",
            "28232 local ports",
        ] {
            assert!(ports.contains(part), "{ports}");
        }
        let numbers = refusal(1, 1024, 64).expect("too many for a worker");
        for part in [
            "65536 connections for one worker",
            "65535",
            "client.connections_per_node",
        ] {
            assert!(numbers.contains(part), "{numbers}");
        }
        // If the other end is also in this process, each connection needs two files, so only half
        // as many connections are possible.
        let both = Connections {
            workers: 1,
            per_node: 10_000,
            nodes: 1,
            files_each: 2,
        };
        assert!(both.refusal(&room).is_some());
        let unknown = Room {
            files: None,
            ports: None,
        };
        assert_eq!(both.refusal(&unknown), None);
        let most = usize::MAX;
        let absurd = Connections {
            workers: most,
            per_node: most,
            nodes: most,
            files_each: most,
        };
        assert!(absurd.refusal(&unknown).is_some());
    }

    #[test]
    fn the_range_of_local_ports_is_counted_with_both_ends() {
        assert_eq!(ports("32768\t60999\n"), Some(28_232));
        for bad in ["", "5", "9 5", "a b"] {
            assert_eq!(ports(bad), None, "{bad}");
        }
        let room = Room::here();
        assert!(room.ports.is_none_or(|ports| ports > 0));
    }
}
