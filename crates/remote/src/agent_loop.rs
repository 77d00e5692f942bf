//! The agent's part of a conversation with its controller.

use crate::call::{FromAgent, Row, ToAgent};
use crate::{Hello, frame};
use anyhow::{Context, Result, anyhow};
use measure::clock::{self, Deadline};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Way in which a conversation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The controller requested that the agent end all its processes and undo all its changes.
    Told,
    Left,
    /// The connection ended without a farewell, because the controller has ended, the network
    /// failed, or a message was invalid.
    HungUp,
    /// The controller was silent for longer than the lease.
    Silent,
}

/// Time limit for writing messages after the conversation has ended. Otherwise an agent with a full
/// pipe to a dead connection would never end.
const LAST_MESSAGE_LIMIT: Duration = Duration::from_secs(2);
/// Interval at which a blocked write checks whether the conversation has ended.
const WRITE_POLL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};
/// Maximum size of one write, in bytes. A write of this size does not block if `poll` reports the
/// pipe or socket as writable (PIPE_BUF in pipe(7)).
const WRITE_BYTES: usize = 4096;

/// Channel for an agent's messages to its current controller.
#[derive(Clone, Default)]
pub struct Outbox(Arc<Mutex<Option<Box<dyn Write + Send>>>>);

impl Outbox {
    /// Sends an unrequested message to the controller, if one is connected.
    pub fn note(&self, note: &impl Serialize) {
        if let Ok(note) = serde_json::to_value(note) {
            self.say(&FromAgent::Note(note));
        }
    }

    fn say(&self, message: &FromAgent) {
        let bytes = match (frame::encode(message), message) {
            (Ok(bytes), _) => bytes,
            (Err(error), FromAgent::Answer { id, cpu_ns, .. }) => {
                let answer = FromAgent::Answer {
                    id: *id,
                    answer: Err(format!("{error:#}")),
                    cpu_ns: *cpu_ns,
                };
                return self.say(&answer);
            }
            // The controller does not wait for other messages.
            (Err(_), _) => return,
        };
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // If the controller has ended, the reading thread detects it. After a failed write, the
        // agent sends no further message, because the controller may have received only a part of
        // this one.
        if writer.as_mut().is_some_and(|writer| frame::send(writer, &bytes).is_err()) {
            *writer = None;
        }
    }

    /// Sends the agent's last message: whether it could end all its processes and undo all its
    /// changes.
    pub fn end(&self, ended: &Result<()>) {
        let ended = ended.as_ref().copied();
        self.say(&FromAgent::Ended(
            ended.map_err(|error| format!("{error:#}")),
        ));
    }

    /// Drops the connection to a controller that has left.
    pub fn disconnect(&self) {
        self.turn_to(None);
    }

    fn turn_to(&self, writer: Option<Box<dyn Write + Send>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = writer;
    }
}

/// Connection to a controller. A write outlasts the conversation by at most [`LAST_MESSAGE_LIMIT`],
/// even if the controller reads nothing.
struct ConversationWriter<W> {
    writer: W,
    end: Arc<OnceLock<Deadline>>,
}

impl<W: Write + AsFd> Write for ConversationWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        loop {
            let mut polled = [PollFd::new(&self.writer, PollFlags::OUT)];
            match poll(&mut polled, Some(&WRITE_POLL)) {
                Ok(0) if self.end.get().is_some_and(|end| end.passed()) => {
                    return Err(std::io::Error::new(
                        std::io::ErrorKind::TimedOut,
                        "the controller read nothing within the time limit",
                    ));
                }
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return self.writer.write(&bytes[..bytes.len().min(WRITE_BYTES)]),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.writer.flush()
    }
}

/// Returns duplicates of the agent's standard input and output, and redirects the originals to
/// `/dev/null`, so that other code cannot read or write messages by accident.
///
/// # Errors
/// The descriptors cannot be duplicated.
pub fn pipes() -> Result<(File, File)> {
    let copy = |fd| rustix::io::fcntl_dupfd_cloexec(fd, 3).context("copy a pipe");
    let reader = File::from(copy(rustix::stdio::stdin())?);
    let writer = File::from(copy(rustix::stdio::stdout())?);
    let nothing = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .context("open /dev/null")?;
    rustix::stdio::dup2_stdin(&nothing).context("stop using the input")?;
    rustix::stdio::dup2_stdout(&nothing).context("stop using the output")?;
    Ok((reader, writer))
}

/// Reads the first message of a conversation before threads are started. The lease has not begun
/// yet, so the message must arrive within `limit`.
///
/// # Errors
/// The message does not arrive in time, or cannot be parsed.
pub fn first<T: DeserializeOwned>(reader: &mut (impl Read + AsFd), limit: Duration) -> Result<T> {
    let deadline = Deadline::after(limit);
    let mut reader = Until { reader, deadline };
    frame::read(&mut reader)?.ok_or_else(|| anyhow!("the controller sent no request"))
}

/// Reader that fails at a deadline.
struct Until<'r, R> {
    reader: &'r mut R,
    deadline: Deadline,
}

impl<R: Read + AsFd> Read for Until<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let left = Timespec::try_from(self.deadline.left()).map_err(std::io::Error::other)?;
        let mut polled = [PollFd::new(&*self.reader, PollFlags::IN)];
        match poll(&mut polled, Some(&left))? {
            0 => Err(std::io::Error::new(
                std::io::ErrorKind::TimedOut,
                "the controller sent no request within the time limit",
            )),
            _ => self.reader.read(into),
        }
    }
}

/// Sends the reason why the agent refuses the conversation.
pub fn refuse(writer: &mut impl Write, why: &anyhow::Error) {
    // A controller that has hung up does not need the reason.
    let _ = frame::write(writer, &FromAgent::Refusal(format!("{why:#}")));
}

/// Answers calls until the controller ends the conversation, has ended, or is silent for longer
/// than `lease`. Each call has a separate thread, and this function waits for calls in progress.
/// The connection remains open for [`Outbox::end`].
pub fn serve<S: Sync>(
    rows: &[Row<S>],
    state: &S,
    outbox: &Outbox,
    reader: Box<dyn Read + Send>,
    writer: impl Write + AsFd + Send + 'static,
    lease: Duration,
) -> Ending {
    let end = Arc::new(OnceLock::new());
    outbox.turn_to(Some(Box::new(ConversationWriter {
        writer,
        end: Arc::clone(&end),
    })));
    outbox.say(&FromAgent::Hello(Hello::own()));
    let messages = listen(reader);
    std::thread::scope(|scope| {
        let ending = loop {
            match messages.recv_timeout(lease) {
                Ok(ToAgent::Alive) => {}
                Ok(ToAgent::Bye { end: true }) => break Ending::Told,
                Ok(ToAgent::Bye { end: false }) => break Ending::Left,
                Ok(ToAgent::Call { id, name, value }) => {
                    scope.spawn(move || {
                        let answer =
                            answer(rows, state, &name, value).map_err(|error| format!("{error:#}"));
                        let cpu_ns = clock::thread_cpu_ns();
                        outbox.say(&FromAgent::Answer { id, answer, cpu_ns });
                    });
                }
                Err(RecvTimeoutError::Timeout) => break Ending::Silent,
                Err(RecvTimeoutError::Disconnected) => break Ending::HungUp,
            }
        };
        // Calls in progress may be blocked in a write, which this deadline ends.
        let _ = end.set(Deadline::after(LAST_MESSAGE_LIMIT));
        ending
    })
}

fn answer<S>(
    rows: &[Row<S>],
    state: &S,
    name: &str,
    value: serde_json::Value,
) -> Result<serde_json::Value> {
    let row = rows
        .iter()
        .find(|row| row.name == name)
        .ok_or_else(|| anyhow!("this agent has no call {name:?}"))?;
    (row.run)(state, value)
}

/// Starts a thread that reads messages, so that the agent can distinguish silence from a slow
/// message.
fn listen(mut reader: Box<dyn Read + Send>) -> Receiver<ToAgent> {
    let (sender, messages) = channel();
    std::thread::spawn(move || {
        while let Ok(Some(message)) = frame::read(&mut reader) {
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    messages
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Call, Link, Serve, cpu_there_ns};
    use serde::Deserialize;
    use std::os::unix::net::{UnixListener, UnixStream};

    const LIMIT: Duration = Duration::from_secs(60);

    #[derive(Serialize, Deserialize)]
    struct Double(u64);

    impl Call for Double {
        const NAME: &'static str = "double";
        type Answer = u64;
    }

    impl Serve<Outbox> for Double {
        fn serve(self, outbox: &Outbox) -> Result<u64> {
            anyhow::ensure!(self.0 < 1000, "{} is too large", self.0);
            outbox.note(&self.0);
            Ok(2 * self.0)
        }
    }

    #[derive(Serialize, Deserialize)]
    struct Unheard;

    impl Call for Unheard {
        const NAME: &'static str = "never-heard-of";
        type Answer = ();
    }

    fn serve_at(stream: UnixStream, lease: Duration) -> Ending {
        let outbox = Outbox::default();
        let writer = stream.try_clone().unwrap();
        let reader = Box::new(stream);
        let ending = serve(
            &[Row::new::<Double>(), Row::new::<Fill>()],
            &outbox,
            &outbox,
            reader,
            writer,
            lease,
        );
        outbox.end(&Ok(()));
        ending
    }

    #[test]
    fn a_sender_that_stops_in_its_first_message_times_out() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"\x09\0\0\0{").unwrap();
        let limit = Duration::from_millis(10);
        let error = first::<u64>(&mut ours, limit).unwrap_err();
        assert!(
            format!("{error:#}").contains("no request within the time limit"),
            "{error:#}"
        );
        frame::write(&mut theirs, &7).unwrap();
    }

    /// Starts an agent in a thread that listens on a socket. The thread returns the ending of each
    /// conversation.
    fn agent(conversations: usize) -> (tempfile::TempDir, std::thread::JoinHandle<Vec<Ending>>) {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("socket")).unwrap();
        let serving = std::thread::spawn(move || {
            let streams = listener.incoming().take(conversations);
            streams.map(|stream| serve_at(stream.unwrap(), LIMIT)).collect()
        });
        (folder, serving)
    }

    #[test]
    fn calls_refusals_notices_and_farewells_are_told_apart() {
        let (folder, serving) = agent(3);
        let connect = || Link::connect("host1", &folder.path().join("socket")).unwrap();
        let link = connect();
        assert_eq!(link.hello(), &Hello::own());
        assert_eq!(cpu_there_ns(), 0);
        assert_eq!(link.call(&Double(21), LIMIT).unwrap(), 42);
        assert!(cpu_there_ns() > 0, "an answer says what it cost");
        let said = format!("{:#}", link.call(&Double(1000), LIMIT).unwrap_err());
        assert_eq!(said, "tell host1 to double: 1000 is too large");
        let said = format!("{:#}", link.call(&Unheard, LIMIT).unwrap_err());
        assert!(said.contains("has no call \"never-heard-of\""), "{said}");
        assert_eq!(link.notes::<u64>(), [21]);
        assert!(link.notes::<u64>().is_empty());
        let said = format!("{:#}", link.call(&Fill(1 << 21), LIMIT).unwrap_err());
        assert!(said.contains("a message of 2097"), "{said}");
        assert_eq!(link.notes::<String>().len(), 1);
        link.leave();
        drop(connect());
        let third = connect();
        third.end(LIMIT).unwrap();
        let endings = serving.join().unwrap();
        assert_eq!(endings, [Ending::Left, Ending::HungUp, Ending::Told]);
        assert!(third.lost().is_some());
        let said = format!("{:#}", third.call(&Double(1), LIMIT).unwrap_err());
        assert!(said.contains("the agent ended"), "{said}");
    }

    #[test]
    fn many_calls_at_once_get_their_own_answers() {
        let (folder, serving) = agent(1);
        let link = Link::connect("host1", &folder.path().join("socket")).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let link = &link;
                scope.spawn(move || {
                    for number in (thread..800).step_by(8) {
                        assert_eq!(link.call(&Double(number), LIMIT).unwrap(), 2 * number);
                    }
                });
            }
        });
        drop(link);
        assert_eq!(serving.join().unwrap(), [Ending::HungUp]);
    }

    #[test]
    fn a_silent_controller_is_gone_when_its_lease_is_over() {
        let (near, far) = UnixStream::pair().unwrap();
        assert_eq!(serve_at(far, Duration::from_millis(50)), Ending::Silent);
        drop(near);
    }

    /// Call that sends a note longer than the buffer of a socket or a pipe. Its answer has this
    /// number of bytes.
    #[derive(Serialize, Deserialize)]
    struct Fill(usize);

    impl Call for Fill {
        const NAME: &'static str = "fill";
        type Answer = String;
    }

    impl Serve<Outbox> for Fill {
        fn serve(self, outbox: &Outbox) -> Result<String> {
            outbox.note(&"n".repeat(1 << 19));
            Ok("a".repeat(self.0))
        }
    }

    /// Earlier, an agent waited forever to send its last message over a full connection.
    #[test]
    fn an_agent_ends_by_its_lease_if_nobody_reads() {
        let (mut near, far) = UnixStream::pair().unwrap();
        let call = ToAgent::Call {
            id: 1,
            name: Fill::NAME.to_owned(),
            value: serde_json::to_value(Fill(1 << 19)).unwrap(),
        };
        frame::write(&mut near, &call).unwrap();
        assert_eq!(serve_at(far, Duration::from_millis(50)), Ending::Silent);
    }

    #[test]
    fn a_controller_that_talks_nonsense_is_hung_up_on() {
        let (mut near, far) = UnixStream::pair().unwrap();
        near.write_all(b"\x02\0\0\0[]").unwrap();
        assert_eq!(serve_at(far, LIMIT), Ending::HungUp);
    }
}
