//! Reads the state of a run from another server, for `cassay watch http://…`.

use anyhow::{Context, Result, bail};
use std::time::Duration;
use store::live::LiveRun;

/// Time in which the server must answer.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// Maximum size of a state. A state of 1,000 trials and 1,200 seconds has 0.4 MB.
const STATE_BYTES_MAX: u64 = 16 << 20;

/// A run on another server.
pub struct RemoteRun {
    address: String,
    token: Option<String>,
    agent: ureq::Agent,
}

impl RemoteRun {
    /// Returns the run at an address: the address of its page, or the address of the server, which
    /// means its newest running run.
    pub fn new(address: &str, token: Option<String>) -> RemoteRun {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(ANSWER_TIME))
            .http_status_as_error(false)
            .max_redirects(0)
            .build();
        RemoteRun {
            address: state_address(address),
            token,
            agent: config.into(),
        }
    }

    /// Returns the present state of the run.
    ///
    /// # Errors
    /// The server does not answer, refuses the token, or does not know the run. The message does
    /// not contain the token.
    pub fn state(&self) -> Result<LiveRun> {
        let mut request = self.agent.get(&self.address);
        if let Some(token) = &self.token {
            request = request.header("Authorization", &format!("Bearer {token}"));
        }
        let asked = || format!("read {}", self.address);
        let mut response = request.call().with_context(asked)?;
        match response.status().as_u16() {
            200 => {}
            401 => bail!(
                "{}: the server needs another token\nhint: name its source: --token file:PATH or \
                 --token env:VARIABLE",
                self.address
            ),
            404 => bail!("{}: the server does not know this run", self.address),
            status => bail!(
                "{}: the server answered with the status {status}",
                self.address
            ),
        }
        let body = response.body_mut().with_config().limit(STATE_BYTES_MAX);
        let text = body.read_to_string().with_context(asked)?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} is not a server of this version", self.address))
    }
}

/// Returns the address of a run's state from the address of its page or of the server.
fn state_address(address: &str) -> String {
    let plain = address.split(['?', '#']).next().unwrap_or_default();
    let pages = ["report.html", "so-far.html", "state.json", "events"];
    let page = pages.iter().find_map(|page| plain.strip_suffix(page));
    let folder = page.unwrap_or(plain).trim_end_matches('/');
    let path = folder.split_once("://").map_or(folder, |(_, rest)| rest);
    if path.contains("/run/") || path.ends_with("/latest") {
        format!("{folder}/state.json")
    } else {
        format!("{folder}/latest/state.json")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_a_page_or_a_server_leads_to_a_state() {
        for (address, expected) in [
            ("http://h:1", "http://h:1/latest/state.json"),
            ("http://h:1/", "http://h:1/latest/state.json"),
            ("http://h:1/latest", "http://h:1/latest/state.json"),
            ("http://h:1/run/a/1", "http://h:1/run/a/1/state.json"),
            (
                "http://h:1/run/a/1/report.html?token=x#trials",
                "http://h:1/run/a/1/state.json",
            ),
        ] {
            assert_eq!(state_address(address), expected, "{address}");
        }
    }
}
