//! MBeans of a node over HTTP and JSON: the Jolokia agent in the node's JVM, on its loopback
//! address, behind a password that is random for every cluster.

use crate::access::Secret;
use anyhow::{Context, Result, bail};
use base64::Engine;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;

/// How long a request may take: flushing a whole memtable is one.
const LIMIT: Duration = Duration::from_secs(60);

/// The agent of one node.
#[derive(Clone, Debug)]
pub(crate) struct Jolokia {
    url: String,
    authorization: Secret,
    agent: ureq::Agent,
}

impl Jolokia {
    pub fn new(address: SocketAddr, user: &str, password: &str) -> Jolokia {
        let plain = format!("{user}:{password}");
        let encoded = base64::engine::general_purpose::STANDARD.encode(plain);
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(LIMIT))
            // Nothing on loopback goes through a proxy of the environment.
            .proxy(None)
            .build();
        Jolokia {
            url: format!("http://{address}/jolokia/"),
            authorization: Secret::new(format!("Basic {encoded}")),
            agent: config.into(),
        }
    }

    /// Values of attributes, in one request; `None` where there is no such MBean or attribute.
    ///
    /// # Errors
    /// The agent does not answer.
    pub fn read(&self, attributes: &[(&str, &str)]) -> Result<Vec<Option<Value>>> {
        let read = |(mbean, attribute): &(&str, &str)| -> Value {
            json!({ "type": "read", "mbean": mbean, "attribute": attribute })
        };
        let request = Value::Array(attributes.iter().map(read).collect());
        let Value::Array(answers) = self.post(&request)? else {
            bail!("{} answered a bulk request with something else", self.url);
        };
        if answers.len() != attributes.len() {
            bail!(
                "{} gave {} answers to {}",
                self.url,
                answers.len(),
                attributes.len()
            );
        }
        Ok(answers.into_iter().map(value_of).collect())
    }

    /// Calls an operation of an MBean.
    ///
    /// # Errors
    /// The agent does not answer, or the operation throws; the message has the exception.
    pub fn call(&self, mbean: &str, operation: &str, arguments: &[Value]) -> Result<Value> {
        let request = json!({
            "type": "exec", "mbean": mbean, "operation": operation, "arguments": arguments,
        });
        let mut answer = self.post(&request)?;
        if answer["status"] != 200 {
            bail!(
                "{operation} of {mbean} at {}: {}",
                self.url,
                answer["error"]
            );
        }
        Ok(answer["value"].take())
    }

    fn post(&self, request: &Value) -> Result<Value> {
        let context = || format!("ask the MBean agent at {}", self.url);
        let mut response = self
            .agent
            .post(&self.url)
            .header("Authorization", self.authorization.reveal())
            .send_json(request)
            .with_context(context)?;
        response.body_mut().read_json().with_context(context)
    }
}

/// The value of one answer of a bulk request.
fn value_of(mut answer: Value) -> Option<Value> {
    (answer["status"] == 200).then(|| answer["value"].take())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_success_has_no_value() {
        assert_eq!(value_of(json!({"status": 200, "value": 7})), Some(json!(7)));
        assert_eq!(value_of(json!({"status": 404, "error": "no such"})), None);
        assert_eq!(value_of(json!("nonsense")), None);
    }

    #[test]
    fn the_password_is_not_in_the_debug_text() {
        let address = SocketAddr::from(([127, 0, 0, 1], 8778));
        let text = format!("{:?}", Jolokia::new(address, "cassay", "hunter2"));
        assert!(
            !text.contains("hunter2") && !text.contains("Basic"),
            "{text}"
        );
    }
}
