//! The near side of a conversation with an agent.

use crate::call::{Call, FromAgent, ToAgent};
use crate::far::Fate;
use crate::frame;
use crate::hello::{Hello, build};
use crate::last_words::{self, LastWords};
use crate::process::{self, Life};
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

/// How often an agent hears that we are there.
const ALIVE_EVERY: Duration = Duration::from_secs(1);

/// How long an agent may take to say who it is: it is a program that starts.
const HELLO_LIMIT: Duration = Duration::from_secs(60);

/// How long the end of a child is waited for that has closed its output.
pub(crate) const STATUS_LIMIT: Duration = Duration::from_secs(5);

/// The argument that makes this program an agent.
pub const ARGUMENT: &str = "agent";

/// How the names of agents begin that offer load and do nothing else.
pub const CLIENT: &str = "client";

/// The program that we are, also after its file was replaced by a newer one.
pub(crate) const OURSELVES: &str = "/proc/self/exe";

/// A conversation with one agent. Dropping it is a farewell without a word: an agent that is not
/// kept ends what it began.
#[derive(Debug)]
pub struct Link {
    /// Who is there, for messages: `host1`.
    name: String,
    hello: Hello,
    shared: Arc<Shared>,
    reached_at: Option<IpAddr>,
}

/// What we say goes here. Ending it says that we hang up, also where somebody still listens.
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
            // One that is closed already has been hung up on.
            let _ = socket.shutdown(Shutdown::Write);
        }
    }
}

struct Shared {
    writer: Mutex<Option<Writer>>,
    heard: Mutex<Heard>,
    news: Condvar,
}

/// A process of ours that leads to an agent.
pub(crate) struct Way {
    pub(crate) child: Child,
    /// What it says when it ends; none of an agent that is our child itself.
    pub(crate) last_words: Option<Arc<LastWords>>,
    /// Who knows what has become of the place that it leads to.
    pub(crate) fate: Option<Fate>,
}

/// Why a conversation has not begun.
#[derive(Debug)]
pub(crate) struct NoHello {
    pub(crate) why: anyhow::Error,
    /// Somebody is there, of another build than we are.
    pub(crate) is_other_build: bool,
    /// How the process ended that leads there.
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

/// An answer, and the CPU time that it took there.
type Answer = (Result<serde_json::Value, String>, u64);

thread_local! {
    static CPU_THERE_NS: Cell<u64> = const { Cell::new(0) };
}

/// CPU time that agents have used to answer the calls of this thread, in nanoseconds.
pub fn cpu_there_ns() -> u64 {
    CPU_THERE_NS.get()
}

/// Hears what an agent says by itself, and at last, by `None`, that nothing more will be heard.
pub type Listener = Box<dyn FnMut(Option<serde_json::Value>) + Send>;

#[derive(Default)]
struct Heard {
    last_id: u64,
    waiting: HashMap<u64, Sender<Answer>>,
    notes: Vec<serde_json::Value>,
    /// Who hears them in place of the list.
    listener: Option<Listener>,
    /// How ending what it began went.
    ended: Option<Result<(), String>>,
    /// Why nothing more will be heard.
    lost: Option<String>,
    /// Whether a process leads there whose end has not been seen.
    is_way_open: bool,
    /// How that process ended.
    status: Option<ExitStatus>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

impl Link {
    /// Starts an agent as a process of its own, which outlives us as long as its lease says.
    /// `begin` is the first that it hears; `mark` is a variable of its environment.
    ///
    /// # Errors
    /// It cannot be started, or does not say who it is.
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
        // One that has ended already is seen below.
        let sent = frame::write(&mut writer, begin);
        let way = Way {
            child,
            last_words: None,
            fate: None,
        };
        let link = Link::of(name, Writer::Pipe(writer), Box::new(reader), Some(way))
            .map_err(|no| no.why.context(format!("the agent of {name}")))?;
        sent.with_context(|| format!("tell the agent of {name} what it is"))?;
        Ok(link)
    }

    /// With an agent that `way` leads to, and that has heard its first message.
    pub(crate) fn of_pipes(
        name: &str,
        writer: ChildStdin,
        reader: ChildStdout,
        way: Way,
    ) -> Result<Link, NoHello> {
        Link::of(name, Writer::Pipe(writer), Box::new(reader), Some(way))
    }

    /// Takes up the conversation with a kept agent that listens at `socket`.
    ///
    /// # Errors
    /// Nobody listens there, or it is an agent of another build.
    pub fn connect(name: &str, socket: &Path) -> Result<Link> {
        let connect = || -> std::io::Result<_> {
            let reader = UnixStream::connect(socket)?;
            Ok((reader.try_clone()?, reader))
        };
        let (writer, reader) =
            connect().with_context(|| format!("the agent of {name} does not answer"))?;
        Link::of(name, Writer::Socket(writer), Box::new(reader), None)
            .map_err(|no| no.why.context(format!("the agent of {name}")))
    }

    fn of(
        name: &str,
        writer: Writer,
        reader: Box<dyn Read + Send>,
        way: Option<Way>,
    ) -> Result<Link, NoHello> {
        let shared = Arc::new(Shared {
            writer: Mutex::new(Some(writer)),
            heard: Mutex::new(Heard::default()),
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
            Box::new(move || hear(reader, way, sender, &listening)),
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

    /// The same, which leads to a machine whose sshd has this address.
    pub(crate) fn reached_at(mut self, reached_at: Option<IpAddr>) -> Link {
        self.reached_at = reached_at;
        self
    }

    /// The address at which the sshd of its machine was reached, as that machine has it; none of an
    /// agent of this machine.
    pub fn address(&self) -> Option<IpAddr> {
        self.reached_at
    }

    /// Who is there: `host1`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it said first.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Asks, and waits for the answer at most for `limit`.
    ///
    /// # Errors
    /// The agent's own words; or it is gone, or does not answer in time.
    pub fn call<C: Call>(&self, call: &C, limit: Duration) -> Result<C::Answer> {
        let asked = || -> Result<C::Answer> {
            let value = serde_json::to_value(call).context("write a call as JSON")?;
            let answer = self.ask(C::NAME, value, limit)?;
            serde_json::from_value(answer).context("understand the answer")
        };
        asked().with_context(|| format!("ask {} to {}", self.name, C::NAME.replace('-', " ")))
    }

    /// That nobody answers any more. Whether an agent of another machine has ended, or goes on for
    /// a while, nobody here can tell.
    fn gone(&self, why: &str) -> String {
        match self.reached_at {
            Some(_) => format!("its agent is out of reach: {why}"),
            None => format!("its agent has ended: {why}"),
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
                bail!("no answer within {} s", limit.as_secs())
            }
            Err(RecvTimeoutError::Disconnected) => {
                let why = lock(&self.shared.heard).lost.clone().unwrap_or_default();
                bail!(self.gone(&why))
            }
        }
    }

    /// What the agent has said by itself since the last call.
    pub fn notes<T: DeserializeOwned>(&self) -> Vec<T> {
        let notes = std::mem::take(&mut lock(&self.shared.heard).notes);
        let read = |note| serde_json::from_value(note).ok();
        notes.into_iter().filter_map(read).collect()
    }

    /// Has `listener` hear from now on what the agent says by itself, in the thread that reads: it
    /// must not wait, nor call. What was said before, it hears first.
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

    /// Why nothing more will be heard; `None` as long as the agent is there.
    pub fn lost(&self) -> Option<String> {
        lock(&self.shared.heard).lost.clone()
    }

    /// Tells the agent to end what it began, and waits until it has.
    ///
    /// # Errors
    /// Something does not go, in the agent's words; or it is not done within `limit`.
    pub fn end(&self, limit: Duration) -> Result<()> {
        // One that is gone need not be told.
        let _ = self.shared.say(&ToAgent::Bye { end: true });
        let deadline = Deadline::after(limit);
        let mut heard = lock(&self.shared.heard);
        while heard.lost.is_none() {
            ensure!(
                !deadline.passed(),
                "the agent of {} (process {}) is not done with ending what it began after {} s",
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

    /// Leaves: a kept agent goes on, and another command may come.
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
    /// Who is there, if it is one of ours.
    fn hello(&self, hello: &Receiver<Hello>) -> Result<Hello, NoHello> {
        match hello.recv_timeout(HELLO_LIMIT) {
            Ok(hello) if hello.build == build() => Ok(hello),
            Ok(_) => Err(NoHello {
                why: anyhow!("is of another build of cassay than this command"),
                is_other_build: true,
                status: None,
            }),
            Err(RecvTimeoutError::Timeout) => {
                Err(anyhow!("said nothing for {} s", HELLO_LIMIT.as_secs()).into())
            }
            Err(RecvTimeoutError::Disconnected) => {
                let why = lock(&self.heard).lost.clone().unwrap_or_default();
                Err(NoHello {
                    why: anyhow!("ended before it said who it is: {why}"),
                    is_other_build: false,
                    status: self.status(),
                })
            }
        }
    }

    /// How the process ended that led there; none if there is none, or it has not.
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
            None => bail!("the conversation has ended"),
        }
    }

    fn hang_up(&self) {
        *lock(&self.writer) = None;
    }
}

/// Reads until the agent ends.
fn hear(mut reader: Box<dyn Read + Send>, way: Option<Way>, hello: Sender<Hello>, shared: &Shared) {
    lock(&shared.heard).is_way_open = way.is_some();
    let mut hello = Some(hello);
    let why = loop {
        match frame::read(&mut reader) {
            Ok(Some(FromAgent::Hello(said))) => {
                let _ = hello.take().map(|hello| hello.send(said));
            }
            Ok(Some(FromAgent::Answer { id, answer, cpu_ns })) => {
                let waiting = lock(&shared.heard).waiting.remove(&id);
                // Nobody waits any more for an answer that came too late.
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
                break last_words::of_way(way.as_ref().and_then(|way| way.last_words.as_deref()));
            }
            Err(error) => break format!("{error:#}"),
        }
    };
    let is_meant = lock(&shared.heard).ended.is_some();
    let fate = way.as_ref().and_then(|way| way.fate.as_ref()).filter(|_| !is_meant);
    let fate = fate.and_then(Fate::told).map_or_else(String::new, |fate| format!("; {fate}"));
    let mut heard = lock(&shared.heard);
    heard.lost = Some(why + &fate);
    heard.waiting.clear();
    heard.listener.iter_mut().for_each(|listener| listener(None));
    shared.news.notify_all();
    drop(heard);
    // Who waits for its first word need not wait for its end, which may be long in coming.
    drop(hello);
    // Its status must be taken, or it stays as a zombie. A kept one goes on, perhaps for long.
    let status = way.and_then(|mut way| way.child.wait().ok());
    let mut heard = lock(&shared.heard);
    heard.status = status;
    heard.is_way_open = false;
    shared.news.notify_all();
}

/// Says each second that we are there, until the conversation ends.
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

/// Nothing is left half-done under these locks.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
