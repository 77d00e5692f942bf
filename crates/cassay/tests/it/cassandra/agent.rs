//! Queries a node through its MBean agent, independently of the program under test.

use base64::Engine;
use serde_json::{Value, json};
use std::path::Path;

/// Returns the content of `jolokia.properties` of `node1` of the only cluster in a folder.
pub fn settings(clusters: &Path) -> String {
    let folders = std::fs::read_dir(clusters).expect("find the folder of clusters");
    let mut paths = folders.filter_map(Result::ok).map(|entry| entry.path());
    let cluster = paths.find(|path| path.join("node1/conf").is_dir()).expect("a cluster");
    let path = cluster.join("node1/conf/jolokia.properties");
    std::fs::read_to_string(path).expect("the agent's settings")
}

/// Returns the value after `name=` in the output of [`settings`].
pub fn setting_value(settings: &str, name: &str) -> String {
    let lines = settings.lines().filter_map(|line| line.split_once('='));
    let mut found = lines.filter(|(key, _)| *key == name);
    found.next().expect("a setting").1.to_owned()
}

/// Calls an operation of the StorageService on `node1` of the only cluster in a folder. Returns the
/// result of the operation.
pub fn call(clusters: &Path, operation: &str, arguments: &[Value]) -> Value {
    let text = settings(clusters);
    let of = |name: &str| setting_value(&text, name);
    let plain = format!("{}:{}", of("user"), of("password"));
    let token = base64::engine::general_purpose::STANDARD.encode(plain);
    let request = json!({
        "type": "exec",
        "mbean": "org.apache.cassandra.db:type=StorageService",
        "operation": operation,
        "arguments": arguments,
    });
    let url = format!("http://{}:{}/jolokia/", of("host"), of("port"));
    let config = ureq::Agent::config_builder().proxy(None).build();
    let agent: ureq::Agent = config.into();
    let sent = agent.post(&url).header("Authorization", format!("Basic {token}"));
    let mut answer = sent.send_json(&request).expect("an answer");
    let mut answer: Value = answer.body_mut().read_json().expect("JSON");
    assert_eq!(answer["status"], 200, "{operation}: {answer}");
    answer["value"].take()
}
