//! What of `cassandra.yaml` cannot be set on nodes of ours, and why.

mod renamed;

use self::renamed::renamed;
use serde_json::Value;

/// Settings that cassay owns, and why somebody else may not set them.
const OWNED: [(&[&str], &str); 5] = [
    (
        &[
            "cluster_name",
            "seed_provider",
            "auto_bootstrap",
            "initial_token",
            "partitioner",
        ],
        "the ring is made by cassay, with tokens spread evenly",
    ),
    (
        &[
            "listen_address",
            "listen_interface",
            "broadcast_address",
            "rpc_address",
            "rpc_interface",
            "broadcast_rpc_address",
        ],
        "every node has an address of its own, chosen by cassay",
    ),
    (
        &[
            "storage_port",
            "ssl_storage_port",
            "native_transport_port",
            "native_transport_port_ssl",
            "start_native_transport",
        ],
        "ports are chosen by cassay, where they are free",
    ),
    (
        &[
            "data_file_directories",
            "local_system_data_file_directory",
            "commitlog_directory",
            "hints_directory",
            "saved_caches_directory",
            "cdc_raw_directory",
        ],
        "a node's files are where cassay can remove them",
    ),
    (
        &[
            "endpoint_snitch",
            "authenticator",
            "authorizer",
            "client_encryption_options",
        ],
        "racks are set with `racks`, a password is asked for with `authentication`, and there is \
         no TLS",
    ),
];

/// More tokens than anybody ever used (256 was the default until 4.0), and few enough to list.
const TOKENS_COUNT_MAX: u64 = 1024;

/// Why a key of `cassandra.yaml` cannot have a value: because cassay owns it, because it has
/// another name now, or because it makes no ring. None: the server will say itself what it thinks
/// of it.
pub fn yaml_refusal(key: &str, value: &Value) -> Option<YamlRefusal> {
    let refusal = |why: String, hint: &str| YamlRefusal {
        why,
        hint: hint.to_owned(),
    };
    if let Some((_, why)) = OWNED.iter().find(|(keys, _)| keys.contains(&key)) {
        let why = format!("{key} of cassandra.yaml cannot be set: {why}");
        return Some(refusal(why, "remove it"));
    }
    if let Some((new, value)) = renamed(key, value) {
        let now = value.map_or_else(|| new.to_owned(), |value| format!("{new}: {value}"));
        let why = format!("{key} is the name that {new} of cassandra.yaml had before 4.1");
        return Some(refusal(why, &format!("write {now}")));
    }
    let is_ring = |count: &Value| {
        let count = count.as_u64();
        count.is_some_and(|count| (1..=TOKENS_COUNT_MAX).contains(&count))
    };
    (key == "num_tokens" && !is_ring(value)).then(|| {
        let why = format!("num_tokens must be 1 to {TOKENS_COUNT_MAX}, not {value}");
        refusal(why, "remove it, or write such a number")
    })
}

/// Why a setting of `cassandra.yaml` is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlRefusal {
    /// What is wrong, with the key.
    pub why: String,
    /// What to do.
    pub hint: String,
}
