//! The only crate that executes the calls to an agent, another process of this program on a host,
//! with a lease and a guard.
//!
//! An agent begins with a message that gives its role, and then answers calls. It ends the
//! processes that it started when its controller requests that, disconnects or is silent for too
//! long. A kept agent waits for the next controller instead. Invariant: if the controller, the
//! agent or the guard is killed, all started processes still end, because the kernel ends processes
//! with the agent. The agent undoes all other changes, or the guard does so if the agent was
//! killed.

mod attached_nodes;
mod calls;
mod children;
mod descriptors;
mod disk_check;
mod faults;
mod files;
mod folders;
mod guard;
mod host_state;
mod inspect;
mod probe_calls;
mod queries;
mod remote_host;
mod simulated_host;
mod small_calls;
mod ssh_relay;
mod systemd_scope;
mod thread;
mod undo_list;

use anyhow::{Context, Result};
use calls::CALLS;
use guard::Guard;
use host::calls::{Begin, Role};
use host::undo::Undo;
use host_state::AgentState;
use remote::agent_loop::{self, Ending, Outbox};
use std::fs::{DirBuilder, File};
use std::io::{IsTerminal, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use undo_list::UndoList;

#[doc(hidden)]
pub use thread::in_thread;

/// Time limit for the first message of the controller, which sends the message as soon as the agent
/// has started. The network may be slow.
const BEGIN_LIMIT: Duration = Duration::from_secs(60);

/// Sets the build id. If this program was started as an agent, a guard or a disk test, runs in that
/// role and returns the exit code. The caller must call this function before it starts a thread.
pub fn answer() -> Option<u8> {
    remote::name_build(env!("CASSAY_BUILD"));
    let words: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        // Another crate handles agents that only generate load.
        [_, remote::ARGUMENT, name] if name.starts_with(remote::CLIENT) => return None,
        [_, remote::ARGUMENT, name] if is_asked_by_a_program() => run(name),
        [_, remote::ARGUMENT, _, guard::ARGUMENT] if is_asked_by_a_program() => guard::run(),
        [
            _,
            remote::ARGUMENT,
            _,
            disk_check::ARGUMENT,
            folder,
            requests,
            bytes,
        ] if is_asked_by_a_program() => disk_check::run(Path::new(folder), requests, bytes),
        [_, remote::ARGUMENT, ..] => Err(anyhow::anyhow!(
            "cassay itself starts one agent on each host, so users need not start agents"
        )),
        _ => return None,
    };
    let Err(error) = done else {
        return Some(0);
    };
    // An agent's stderr is its log.
    let _ = writeln!(std::io::stderr(), "error: {error:#}");
    Some(2)
}

fn is_asked_by_a_program() -> bool {
    !std::io::stdin().is_terminal()
}

fn run(name: &str) -> Result<()> {
    // SAFETY: no handler is installed, and no other thread runs yet.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    let (mut input, output) = agent_loop::pipes()?;
    let begun = agent_loop::first::<Begin>(&mut input, BEGIN_LIMIT);
    if let Ok(asked) = &begun
        && asked.role == Role::Relay
    {
        let led = ssh_relay::lead(&asked.folder, input, &output);
        if let Err(error) = &led {
            agent_loop::refuse(&mut &output, error);
        }
        return led;
    }
    let begun = begun.and_then(|asked| begin(name, asked));
    let mut reader: Box<dyn Read + Send> = Box::new(input);
    let mut writer = output;
    let (here, guard, lease, outbox) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            agent_loop::refuse(&mut writer, &error);
            return Err(error);
        }
    };
    loop {
        let ending = agent_loop::serve(CALLS, &here, &outbox, reader, writer, lease);
        // A controller without a socket is connected by pipes. If it hangs up, it has ended,
        // because no network can break a pipe.
        match (ending, here.door()) {
            (Ending::Left | Ending::HungUp | Ending::Silent, Some(door)) => {
                outbox.disconnect();
                here.leave();
                let (stream, _) = door.accept().context("wait for another command")?;
                let other = stream.try_clone().context("answer another command")?;
                (reader, writer) = (Box::new(stream), File::from(OwnedFd::from(other)));
            }
            _ => break,
        }
    }
    let ended = here.end();
    guard.dismiss();
    outbox.end(&ended);
    ended
}

type AgentParts = (Arc<AgentState>, Arc<Guard>, Duration, Outbox);

fn begin(name: &str, begin: Begin) -> Result<AgentParts> {
    let lacking = simulated_host::enter(begin.role, name)?;
    let guard = Guard::start(name)?;
    let telling = Arc::clone(&guard);
    let undo = UndoList::new(Box::new(move |all| telling.tell(all)));
    let owns = begin.tree.is_some();
    if let Some(tree) = begin.tree {
        undo.add(Undo::Tree(tree))?;
    }
    // Otherwise the owner may be removing the tree at the same time.
    let mut private = DirBuilder::new();
    let made = private.recursive(owns).mode(0o700).create(&begin.folder);
    made.with_context(|| format!("make {}", begin.folder.display()))?;
    let log = File::create(begin.folder.join("agent.log")).context("create the agent's log")?;
    rustix::stdio::dup2_stderr(&log).context("write the agent's log")?;
    if let Some(lacking) = lacking {
        let _ = writeln!(std::io::stderr(), "{lacking}");
    }
    let outbox = Outbox::default();
    let here = AgentState::new(begin.folder, begin.files, undo, outbox.clone());
    Ok((here, guard, Duration::from_secs(begin.lease_s), outbox))
}
