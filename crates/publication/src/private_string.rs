//! Kinds of private strings, and strings that are never private.

measure::word_enum! {
    /// Kind of a private string. The name of the kind is also the beginning of its replacements,
    /// such as `host1`.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum PrivateKind {
        /// A node of the target: its name, its address, or the host with the same name.
        Node = "node",
        /// Another address: IPv4, IPv6 or MAC.
        Address = "address",
        Host = "host",
        User = "user",
        Path = "path",
        Cluster = "cluster",
        /// A pod, a container, a service, or a context of kubectl.
        Pod = "pod",
        Namespace = "namespace",
        /// A UUID, or the number of a container or a machine.
        Identifier = "id",
        Keyspace = "keyspace",
        Table = "table",
        Datacenter = "datacenter",
        Rack = "rack",
        /// A string that the user added to the list.
        Text = "text",
    }
}

/// Words that occur in the place of a name, but identify no person and no machine.
const COMMON: [&str; 18] = [
    "admin",
    "all",
    "any",
    "cassandra",
    "cassay",
    "client",
    "default",
    "false",
    "here",
    "localhost",
    "nobody",
    "none",
    "null",
    "root",
    "simulated",
    "test cluster",
    "this machine",
    "true",
];

/// Names that cassay itself gives to the parts of a cluster, with a number.
const NUMBERED: [&str; 6] = ["node", "host", "client", "machine", "rack", "dc"];

/// Minimum number of characters of a private string. A shorter string occurs in any text.
const CHARS_MIN: usize = 2;

/// Returns true if a string can identify a person, a machine or an organization.
pub fn is_identifying(text: &str) -> bool {
    let lower = text.trim().to_ascii_lowercase();
    let is_numbered = NUMBERED.iter().any(|name| {
        lower
            .strip_prefix(name)
            .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
    });
    lower.chars().count() >= CHARS_MIN
        && lower.chars().any(char::is_alphabetic)
        && !is_numbered
        && !COMMON.contains(&lower.as_str())
}
