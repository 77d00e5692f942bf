//! The controller's part of a conversation with an agent.

use crate::build_identity::{Hello, build};
use crate::call::{Call, FromAgent, ToAgent};
use crate::frame;
use crate::process::{self, Life};
use crate::ssh::Fate;
use crate::stderr_tail::{self, LastWords};
use anyhow::{Context, Result, anyhow, bail, ensure};
use measure::clock::Deadline;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::Cell;
use std::collections::HashMap;
use std::io::Read;
use std::net::{IpAddr, Shutdown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Interval between two messages that show that this process is alive.
const ALIVE_EVERY: Duration = Duration::from_secs(1);

/// Time limit for an agent's first message, including the start of the program.
const HELLO_LIMIT: Duration = Duration::from_secs(60);

/// Time limit for a child process to end after it has closed its output.
pub(crate) const STATUS_LIMIT: Duration = Duration::from_secs(5);

/// Command line argument of an agent.
pub const ARGUMENT: &str = "agent";

/// Prefix of the names of agents that only generate load.
pub const CLIENT: &str = "client";

/// Path of the running program, even after a newer file has replaced it.
pub(crate) const OURSELVES: &str = "/proc/self/exe";

/// Conversation with one agent. Dropping the link ends the connection without a message. Unless the
/// agent is kept, it then ends all its processes and undoes all its changes.
#[derive(Debug)]
pub struct Link {
    /// Name of the agent in messages, such as `host1`.
    name: String,
    hello: Hello,
    shared: Arc<Shared>,
    reached_at: Option<IpAddr>,
}

/// Stream for outgoing messages. Dropping the stream ends the conversation, even if another
/// descriptor of the socket is open.
enum Writer {
    Pipe(ChildStdin),
    Socket(UnixStream),
}

impl Writer {
    fn write(&mut self, message: &impl Serialize) -> Result<()> {
        match self {
            Writer::Pipe(pipe) => frame::write(pipe, message),
            Writer::Socket(socket) => frame::write(socket, message),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Writer::Socket(socket) = self {
            // A stream that is already closed has ended the conversation before.
            let _ = socket.shutdown(Shutdown::Write);
        }
    }
}

struct Shared {
    writer: Mutex<Option<Writer>>,
    heard: Mutex<ReceivedMessages>,
    news: Condvar,
}

type Input = Box<dyn Read + Send>;

/// Child process that connects to an agent, or that is the agent.
pub(crate) struct Tunnel {
    pub(crate) child: Child,
    /// Last error output of the child. `None` if the child is the agent.
    pub(crate) last_words: Option<Arc<LastWords>>,
    /// Function that determines why the destination no longer answers.
    pub(crate) fate: Option<Fate>,
}

/// Reason why a conversation has not begun.
#[derive(Debug)]
pub(crate) struct NoHello {
    pub(crate) why: anyhow::Error,
    /// True if an agent of another build answered.
    pub(crate) is_other_build: bool,
    /// Exit status of the process that connects to the agent.
    pub(crate) status: Option<ExitStatus>,
}

impl From<anyhow::Error> for NoHello {
    fn from(why: anyhow::Error) -> NoHello {
        NoHello {
            why,
            is_other_build: false,
            status: None,
        }
    }
}

/// Answer, and the agent's CPU time for it in nanoseconds.
type Answer = (Result<serde_json::Value, String>, u64);

thread_local! {
    static CPU_THERE_NS: Cell<u64> = const { Cell::new(0) };
}

/// Returns the CPU time of agents for the calls of this thread, in nanoseconds.
pub fn cpu_there_ns() -> u64 {
    CPU_THERE_NS.get()
}

/// Function that receives an agent's unrequested messages, and `None` after the last one.
pub type Listener = Box<dyn FnMut(Option<serde_json::Value>) + Send>;

#[derive(Default)]
struct ReceivedMessages {
    last_id: u64,
    waiting: HashMap<u64, Sender<Answer>>,
    notes: Vec<serde_json::Value>,
    /// Receives unrequested messages, which are then not added to `notes`.
    listener: Option<Listener>,
    /// `Ok` if the agent could end all its processes and undo all its changes.
    ended: Option<Result<(), String>>,
    /// Reason why no more messages will come.
    lost: Option<String>,
    /// True if the process that connects to the agent may still run.
    is_way_open: bool,
    /// Exit status of the process that connects to the agent.
    status: Option<ExitStatus>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

impl Link {
    /// Starts an agent as a separate process, which outlives this process by at most its lease.
    /// `begin` is the first message to the agent. `mark` is an environment variable for the agent.
    ///
    /// # Errors
    /// The agent cannot be started, or does not send its first message.
    pub fn open(name: &str, begin: &impl Serialize, mark: (&str, &str)) -> Result<Link> {
        let mut command = process::command(Path::new(OURSELVES));
        command
            .arg0("cassay")
            .args([ARGUMENT, name])
            .env(mark.0, mark.1)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = process::spawn(command, Life::Detached)
            .with_context(|| format!("start the agent of {name}"))?;
        let (Some(mut writer), Some(reader)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("the agent of {name} has no pipes");
        };
        // The code below reports an agent that has already ended.
        let sent = frame::write(&mut writer, begin);
        let way = Tunnel {
            child,
            last_words: None,
            fate: None,
        };
        let link = Link::new(name, Writer::Pipe(writer), Box::new(reader), Some(way))
            .map_err(|no| no.why.context(format!("the agent of {name}")))?;
        sent.with_context(|| format!("send its role to the agent of {name}"))?;
        Ok(link)
    }

    /// Begins the conversation with an agent that has already received its first message.
    pub(crate) fn from_pipes(
        name: &str,
        writer: ChildStdin,
        reader: ChildStdout,
        way: Tunnel,
    ) -> Result<Link, NoHello> {
        Link::new(name, Writer::Pipe(writer), Box::new(reader), Some(way))
    }

    /// Resumes the conversation with a kept agent that listens at `socket`.
    ///
    /// # Errors
    /// No agent listens at that socket, or the agent is of another build.
    pub fn connect(name: &str, socket: &Path) -> Result<Link> {
        let connect = || -> std::io::Result<_> {
            let reader = UnixStream::connect(socket)?;
            Ok((reader.try_clone()?, reader))
        };
        let (writer, reader) =
            connect().with_context(|| format!("the agent of {name} does not answer"))?;
        Link::new(name, Writer::Socket(writer), Box::new(reader), None)
            .map_err(|no| no.why.context(format!("the agent of {name}")))
    }

    fn new(name: &str, writer: Writer, input: Input, way: Option<Tunnel>) -> Result<Link, NoHello> {
        let shared = Arc::new(Shared {
            writer: Mutex::new(Some(writer)),
            heard: Mutex::new(ReceivedMessages::default()),
            news: Condvar::new(),
        });
        let (sender, hello) = channel();
        let thread = |what: &str, run: Box<dyn FnOnce() + Send>| {
            let named = std::thread::Builder::new().name(format!("{what} {name}"));
            named.spawn(run).with_context(|| format!("start the thread {what} {name}"))
        };
        let listening = Arc::clone(&shared);
        thread(
            "hear",
            Box::new(move || hear(input, way, sender, &listening)),
        )?;
        let hello = shared.hello(&hello).inspect_err(|_| shared.hang_up())?;
        let talking = Arc::clone(&shared);
        thread("alive", Box::new(move || keep_alive(&talking)))?;
        Ok(Link {
            name: name.to_owned(),
            hello,
            shared,
            reached_at: None,
        })
    }

    /// Sets the address at which cassay reached the sshd of the agent's machine, or the address of
    /// the agent's pod.
    pub(crate) fn reached_at(mut self, reached_at: Option<IpAddr>) -> Link {
        self.reached_at = reached_at;
        self
    }

    /// Returns the address at which cassay reached the sshd of the agent's machine, according to
    /// `SSH_CONNECTION` on that machine. For an agent in a pod, returns the pod's address. Returns
    /// `None` for a local agent or an unknown address.
    pub fn address(&self) -> Option<IpAddr> {
        self.reached_at
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// # Errors
    /// The call fails (the error contains the agent's text), the agent has ended, or it does not
    /// answer within `limit`.
    pub fn call<C: Call>(&self, call: &C, limit: Duration) -> Result<C::Answer> {
        let asked = || -> Result<C::Answer> {
            let value = serde_json::to_value(call).context("write a call as JSON")?;
            let answer = self.ask(C::NAME, value, limit)?;
            serde_json::from_value(answer).context("decode the answer")
        };
        asked().with_context(|| format!("tell {} to {}", self.name, C::NAME.replace('-', " ")))
    }

    /// Describes an agent that no longer answers. An agent on another machine may run until its
    /// lease expires.
    fn gone(&self, why: &str) -> String {
        match self.reached_at {
            Some(_) => format!("cassay cannot reach the agent: {why}"),
            None => format!("the agent ended: {why}"),
        }
    }

    fn ask(
        &self,
        name: &str,
        value: serde_json::Value,
        limit: Duration,
    ) -> Result<serde_json::Value> {
        let (sender, answer) = channel();
        let id = {
            let mut heard = lock(&self.shared.heard);
            if let Some(why) = &heard.lost {
                bail!(self.gone(why));
            }
            heard.last_id += 1;
            let id = heard.last_id;
            heard.waiting.insert(id, sender);
            id
        };
        let name = name.to_owned();
        self.shared.say(&ToAgent::Call { id, name, value })?;
        match answer.recv_timeout(limit) {
            Ok((answer, cpu_ns)) => {
                CPU_THERE_NS.set(CPU_THERE_NS.get() + cpu_ns);
                answer.map_err(|words| anyhow!(words))
            }
            Err(RecvTimeoutError::Timeout) => {
                lock(&self.shared.heard).waiting.remove(&id);
                bail!("the agent did not answer within {} s", limit.as_secs())
            }
            Err(RecvTimeoutError::Disconnected) => {
                let why = lock(&self.shared.heard).lost.clone().unwrap_or_default();
                bail!(self.gone(&why))
            }
        }
    }

    /// Returns the agent's unrequested messages since the last call of this function. Drops
    /// messages that are not of the type `T`.
    pub fn notes<T: DeserializeOwned>(&self) -> Vec<T> {
        let notes = std::mem::take(&mut lock(&self.shared.heard).notes);
        let read = |note| serde_json::from_value(note).ok();
        notes.into_iter().filter_map(read).collect()
    }

    /// Passes unrequested messages to `listener`, in the thread that reads messages. So `listener`
    /// must neither wait nor make calls. Messages that have already arrived come first.
    pub fn listen(&self, mut listener: Listener) {
        let mut heard = lock(&self.shared.heard);
        std::mem::take(&mut heard.notes)
            .into_iter()
            .for_each(|note| listener(Some(note)));
        if heard.lost.is_some() {
            listener(None);
        }
        heard.listener = Some(listener);
    }

    /// Returns the reason why no more messages will come. Returns `None` while the connection is
    /// open.
    pub fn lost(&self) -> Option<String> {
        lock(&self.shared.heard).lost.clone()
    }

    /// Makes the agent end all its processes and undo all its changes, and waits for it.
    ///
    /// # Errors
    /// A step fails (the error contains the agent's text), or the agent takes longer than `limit`.
    pub fn end(&self, limit: Duration) -> Result<()> {
        // An agent that has already ended does not need the message.
        let _ = self.shared.say(&ToAgent::Bye { end: true });
        let deadline = Deadline::after(limit);
        let mut heard = lock(&self.shared.heard);
        while heard.lost.is_none() {
            ensure!(
                !deadline.passed(),
                "the agent of {} (process {}) has not stopped its processes after {} s",
                self.name,
                self.hello.process.pid,
                limit.as_secs()
            );
            let waited = self.shared.news.wait_timeout(heard, deadline.left());
            (heard, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        match &heard.ended {
            Some(Err(words)) => Err(anyhow!("{}: {words}", self.name)),
            _ => Ok(()),
        }
    }

    /// Ends the conversation. A kept agent continues, and another command may connect to it.
    pub fn leave(&self) {
        let _ = self.shared.say(&ToAgent::Bye { end: false });
        self.shared.hang_up();
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.shared.hang_up();
    }
}

impl Shared {
    /// Waits for the agent's first message, and checks its build.
    fn hello(&self, hello: &Receiver<Hello>) -> Result<Hello, NoHello> {
        match hello.recv_timeout(HELLO_LIMIT) {
            Ok(hello) if hello.build == build() => Ok(hello),
            Ok(_) => Err(NoHello {
                why: anyhow!("is from another build of cassay than this command"),
                is_other_build: true,
                status: None,
            }),
            Err(RecvTimeoutError::Timeout) => {
                Err(anyhow!("sent no message for {} s", HELLO_LIMIT.as_secs()).into())
            }
            Err(RecvTimeoutError::Disconnected) => {
                let why = lock(&self.heard).lost.clone().unwrap_or_default();
                Err(NoHello {
                    why: anyhow!("ended before it identified itself: {why}"),
                    is_other_build: false,
                    status: self.status(),
                })
            }
        }
    }

    /// Returns the exit status of the process that connected to the agent. Returns `None` if the
    /// link has no such process, or it has not ended.
    fn status(&self) -> Option<ExitStatus> {
        let deadline = Deadline::after(STATUS_LIMIT);
        let mut heard = lock(&self.heard);
        while heard.status.is_none() && heard.is_way_open && !deadline.passed() {
            let waited = self.news.wait_timeout(heard, deadline.left());
            (heard, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        heard.status
    }

    fn say(&self, message: &ToAgent) -> Result<()> {
        match &mut *lock(&self.writer) {
            Some(writer) => writer.write(message),
            None => bail!("the connection to the agent ended"),
        }
    }

    fn hang_up(&self) {
        *lock(&self.writer) = None;
    }
}

/// Reads messages until the connection ends, and passes each one to its waiting caller.
fn hear(mut reader: Input, way: Option<Tunnel>, hello: Sender<Hello>, shared: &Shared) {
    lock(&shared.heard).is_way_open = way.is_some();
    let mut hello = Some(hello);
    let why = loop {
        match frame::read(&mut reader) {
            Ok(Some(FromAgent::Hello(said))) => {
                let _ = hello.take().map(|hello| hello.send(said));
            }
            Ok(Some(FromAgent::Answer { id, answer, cpu_ns })) => {
                let waiting = lock(&shared.heard).waiting.remove(&id);
                // The caller of a late answer no longer waits.
                let _ = waiting.map(|waiting| waiting.send((answer, cpu_ns)));
            }
            Ok(Some(FromAgent::Refusal(why))) => break why,
            Ok(Some(FromAgent::Ended(ended))) => lock(&shared.heard).ended = Some(ended),
            Ok(Some(FromAgent::Note(note))) => {
                let mut heard = lock(&shared.heard);
                match &mut heard.listener {
                    Some(listener) => listener(Some(note)),
                    None => heard.notes.push(note),
                }
            }
            Ok(None) => {
                let last_words = way.as_ref().and_then(|way| way.last_words.as_deref());
                break stderr_tail::silence_reason(last_words);
            }
            Err(error) => break format!("{error:#}"),
        }
    };
    let is_meant = lock(&shared.heard).ended.is_some();
    let fate = way.as_ref().and_then(|way| way.fate.as_ref()).filter(|_| !is_meant);
    let fate = fate.and_then(Fate::reason).map_or_else(String::new, |fate| format!("; {fate}"));
    let mut heard = lock(&shared.heard);
    heard.lost = Some(why + &fate);
    heard.waiting.clear();
    heard.listener.iter_mut().for_each(|listener| listener(None));
    shared.news.notify_all();
    drop(heard);
    // Notifies a caller that still waits for the first message. The process may end much later.
    drop(hello);
    // Otherwise the child would remain a zombie. A kept agent may run for a long time.
    let status = way.and_then(|mut way| way.child.wait().ok());
    let mut heard = lock(&shared.heard);
    heard.status = status;
    heard.is_way_open = false;
    shared.news.notify_all();
}

/// Sends a message each second until the conversation ends, which shows that this process is alive.
fn keep_alive(shared: &Shared) {
    while shared.say(&ToAgent::Alive).is_ok() {
        let deadline = Deadline::after(ALIVE_EVERY);
        let mut heard = lock(&shared.heard);
        while heard.lost.is_none() && !deadline.passed() {
            let waited = shared.news.wait_timeout(heard, deadline.left());
            (heard, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        if heard.lost.is_some() {
            return;
        }
    }
}

/// Locks a mutex, even if it is poisoned. A panic cannot interrupt an update of the data.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
