//! Decommissions a managed node from a helper process. The agent starts this process when the
//! controller has died, because the agent has no MBean client.

use crate::config_file::jolokia_file;
use crate::fault_handle::NodeControl;
use crate::jolokia::Jolokia;
use crate::operation::Operation;
use crate::owner_commands::OURSELVES;
use anyhow::{Context, Result, bail};
use foreign::FileKind;
use measure::clock::{self, Deadline};
use std::path::Path;
use std::time::Duration;
use target_spec::Invocation;

/// First argument of the helper process. The second argument is the path of the configuration file
/// of the node's Jolokia agent.
const ARGUMENT: &str = "leave-its-ring";

const LEAVE_LIMIT: Duration = Duration::from_secs(540);

const MEMBERS_LIMIT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(500);

pub fn program(conf: &Path) -> Invocation {
    let file = jolokia_file(conf).display().to_string();
    Invocation {
        words: vec![OURSELVES.to_owned(), ARGUMENT.to_owned(), file],
        folder: conf.to_owned(),
    }
}

/// Decommissions the node if this process was started as the helper. Otherwise returns `None`
/// without doing anything.
pub fn answer() -> Option<Result<()>> {
    let words: Vec<_> = std::env::args_os().collect();
    let [_, argument, file] = &words[..] else {
        return None;
    };
    if argument != ARGUMENT {
        return None;
    }
    Some(leave(Path::new(file)))
}

fn leave(file: &Path) -> Result<()> {
    let text =
        foreign::text(FileKind::Note, file).with_context(|| format!("read {}", file.display()))?;
    let control = control_of(&text).with_context(|| format!("read {}", file.display()))?;
    let deadline = Deadline::after(LEAVE_LIMIT);
    loop {
        let mode = control.members(MEMBERS_LIMIT)?.mode;
        match mode.as_str() {
            "NORMAL" => {
                control.perform(&Operation::Decommission, deadline.left())?;
            }
            // Another process has already started the decommission.
            "LEAVING" => clock::sleep(POLL),
            // In any other mode, the node owns no tokens that it must hand over. Gossip evicts a
            // node that failed to join, and a decommissioned node has already left the ring.
            _ => return Ok(()),
        }
        if deadline.passed() {
            bail!(
                "the node is still in the mode {mode} {} s after cassay requested its decommission",
                LEAVE_LIMIT.as_secs()
            );
        }
    }
}

fn control_of(text: &str) -> Result<NodeControl> {
    let value = |key: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once('='));
        let found = lines.find(|(name, _)| *name == key).map(|(_, value)| value);
        found.with_context(|| {
            format!("the configuration file of the Jolokia agent contains no {key}")
        })
    };
    let address = format!("{}:{}", value("host")?, value("port")?);
    let address = address.parse().with_context(|| format!("read {address}"))?;
    let agent = Jolokia::new(address, value("user")?, value("password")?);
    Ok(NodeControl(agent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_file_gives_its_place_and_missing_keys_are_named() {
        let whole = "host=10.0.0.4\nport=8778\nuser=cassay\npassword=a=b\nbacklog=4\n";
        control_of(whole).unwrap();
        for (key, text) in [
            ("password", whole.replace("password", "pass")),
            ("port", whole.replace("port", "door")),
        ] {
            let said = format!("{:#}", control_of(&text).unwrap_err());
            assert_eq!(
                said,
                format!("the configuration file of the Jolokia agent contains no {key}")
            );
        }
        let said = control_of(&whole.replace("10.0.0.4", "ten")).unwrap_err();
        assert!(format!("{said:#}").contains("ten:8778"), "{said:#}");
    }
}
