//! A client's connection: its buffers, and what is received into them and sent from them.

use super::control::Peer;
use super::queue::{ConnectionId, Released};
use rustix::event::epoll::EventFlags;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

/// Room for answers that no ordinary batch exceeds: 5 000 acknowledgements, or 300 rows of
/// standard1. Growing in the middle of a run would be the null target's latency, not the client's.
const OUTPUT_BYTES: usize = 64 << 10;

/// What one `recv` can take: 800 EXECUTE frames of 300 bytes, more than a client has in flight on
/// a connection by default; and it still fits a core's second-level cache.
const INPUT_BYTES: usize = 256 * 1024;
/// Reading from a connection pauses while this much waits to be sent on it.
const OUTPUT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Reading pauses while this many answers are held in the heap; a client that keeps to the
/// protocol cannot have more than 32768 requests in flight on a connection.
const HELD_ANSWERS_MAX: usize = 65_536;
/// The generation of a connection that is ending: held answers no longer find it.
pub const ENDED: u32 = 0;

/// A connection of an event loop.
pub struct Connection {
    /// The socket, which does not block.
    pub socket: OwnedFd,
    /// How held answers find it.
    pub id: ConnectionId,
    /// What the engine remembers of it.
    pub peer: Peer,
    /// Received and not yet answered: `input[..filled]`, which begins with a header.
    pub input: Vec<u8>,
    /// Bytes received into `input`.
    pub filled: usize,
    /// `output[sent..releasable]` may be sent; what follows is held back.
    pub output: Vec<u8>,
    /// Bytes of `output` that have left.
    pub sent: usize,
    /// Bytes of `output` that may leave.
    pub releasable: usize,
    /// Answers of this connection in the heap.
    pub held_answers: usize,
    /// What epoll was last told to watch for.
    pub interest: EventFlags,
    /// It ends as soon as what is releasable has been sent.
    pub closing: bool,
    /// It is among those to be flushed at the end of the wake-up.
    pub touched: bool,
}

/// A connection that cannot go on.
pub struct Gone;

impl Connection {
    pub fn new(socket: OwnedFd, id: ConnectionId) -> Connection {
        Connection {
            socket,
            id,
            peer: Peer::default(),
            // Zeroed pages come from the kernel when they are first touched.
            input: vec![0; INPUT_BYTES],
            filled: 0,
            output: Vec::with_capacity(OUTPUT_BYTES),
            sent: 0,
            releasable: 0,
            held_answers: 0,
            interest: EventFlags::IN,
            closing: false,
            touched: false,
        }
    }

    /// Receives once. Ok(0): nothing had come.
    pub fn receive(&mut self) -> Result<usize, Gone> {
        match recv(
            &self.socket,
            &mut self.input[self.filled..],
            RecvFlags::empty(),
        ) {
            Ok((_, 0)) => Err(Gone),
            Ok((_, count)) => {
                self.filled += count;
                Ok(count)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(_) => Err(Gone),
        }
    }

    /// Sends what may leave, with one system call. Returns how many bytes went.
    pub fn flush(&mut self) -> Result<usize, Gone> {
        let ready = &self.output[self.sent..self.releasable];
        if ready.is_empty() {
            return if self.closing { Err(Gone) } else { Ok(0) };
        }
        let count = match send(&self.socket, ready, SendFlags::NOSIGNAL) {
            Ok(count) => count,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(_) => return Err(Gone),
        };
        self.sent += count;
        if self.closing && self.sent == self.releasable {
            return Err(Gone);
        }
        self.forget_sent();
        Ok(count)
    }

    /// Lets go of what was held.
    pub fn release(&mut self, released: Released<'_>) {
        match released {
            Released::Held { bytes } => self.releasable += bytes,
            Released::Answer(answer) => {
                self.output.extend_from_slice(answer);
                self.releasable = self.output.len();
                self.held_answers -= 1;
            }
        }
    }

    /// Keeps the output buffer from growing: what was sent is dropped once it is the larger part.
    fn forget_sent(&mut self) {
        if self.sent == self.output.len() {
            self.output.clear();
        } else if self.sent > self.output.len() / 2 {
            self.output.drain(..self.sent);
        } else {
            return;
        }
        self.releasable -= self.sent;
        self.sent = 0;
    }

    /// Ends the connection once everything in the output has been sent. What is still held for
    /// later leaves now, ahead of the error that says why; what is in the heap is lost.
    pub fn end(&mut self) {
        self.closing = true;
        self.releasable = self.output.len();
        self.id.generation = ENDED;
    }

    /// What to watch for: room to send while something waits, requests unless too much does.
    pub fn wanted(&self) -> EventFlags {
        let mut flags = EventFlags::empty();
        if self.releasable > self.sent {
            flags |= EventFlags::OUT;
        }
        let crowded = self.output.len() - self.sent > OUTPUT_BYTES_MAX
            || self.held_answers > HELD_ANSWERS_MAX;
        if !crowded && !self.closing {
            flags |= EventFlags::IN;
        }
        flags
    }
}
