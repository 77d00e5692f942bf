//! A connection of a client, with its buffers. It receives requests and sends answers.

use super::answer_request::Peer;
use super::delayed_answers::{ConnectionId, ReleasedData};
use rustix::event::epoll::EventFlags;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

/// Initial capacity for answers, in bytes. It is enough for 5,000 acknowledgements or 300 rows of
/// standard1, which is more than an ordinary batch of requests needs. If the buffer had to grow
/// during a run, the null target would add latency to the results.
const OUTPUT_BYTES: usize = 64 << 10;

/// Initial size of the buffer for received bytes. The buffer holds 800 EXECUTE frames of 300 bytes,
/// which is more than a client has in flight on a connection by default. The buffer still fits into
/// the L2 cache of a core. It grows only for a longer frame.
const INPUT_BYTES: usize = 256 * 1024;
/// Maximum number of unsent bytes. If a connection has more unsent bytes, the server stops reading
/// from it.
const OUTPUT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Maximum number of answers of a connection in the heap of delayed answers. If a connection has
/// more, the server stops reading from it. A client that follows the protocol cannot have more than
/// 32768 requests in flight on a connection.
const HELD_ANSWERS_MAX: usize = 65_536;
/// Generation of a connection that is ending. The server no longer sends waiting answers on it.
pub const ENDED: u32 = 0;

/// A connection of an event loop.
pub struct Connection {
    /// The non-blocking socket.
    pub socket: OwnedFd,
    /// Id with which the server finds the connection of a waiting answer.
    pub id: ConnectionId,
    pub peer: Peer,
    /// Buffer for received bytes. The requests in `input[..filled]` have not been answered yet.
    /// These bytes begin with a header.
    pub input: Vec<u8>,
    /// Number of bytes that have been received into `input`.
    pub filled: usize,
    /// Buffer for answers. `output[sent..releasable]` may be sent, and the rest must wait.
    pub output: Vec<u8>,
    pub sent: usize,
    pub releasable: usize,
    /// Number of answers of this connection in the heap.
    pub held_answers: usize,
    /// Events for which epoll currently watches the connection.
    pub interest: EventFlags,
    /// True if the connection ends as soon as all releasable bytes have been sent.
    pub closing: bool,
    /// True if the event loop must flush the connection at the end of the wake-up.
    pub touched: bool,
}

/// Error for a connection that cannot continue.
pub struct GoneNode;

impl Connection {
    /// Returns a connection that has not received any bytes yet.
    pub fn new(socket: OwnedFd, id: ConnectionId) -> Connection {
        Connection {
            socket,
            id,
            peer: Peer::default(),
            // The buffer does not use memory yet, because the kernel provides zeroed pages only
            // when they are first accessed.
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

    /// Receives bytes with one system call, and returns their number. Returns 0 if no bytes have
    /// arrived.
    ///
    /// # Errors
    /// The client has closed the connection, or the connection is broken.
    pub fn receive(&mut self) -> Result<usize, GoneNode> {
        match recv(
            &self.socket,
            &mut self.input[self.filled..],
            RecvFlags::empty(),
        ) {
            Ok((_, 0)) => Err(GoneNode),
            Ok((_, count)) => {
                self.filled += count;
                Ok(count)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(_) => Err(GoneNode),
        }
    }

    /// Sends the releasable bytes with one system call. Returns the number of bytes sent.
    ///
    /// # Errors
    /// The connection is broken, or it was ending and has sent all its bytes.
    pub fn flush(&mut self) -> Result<usize, GoneNode> {
        let ready = &self.output[self.sent..self.releasable];
        if ready.is_empty() {
            return if self.closing { Err(GoneNode) } else { Ok(0) };
        }
        let count = match send(&self.socket, ready, SendFlags::NOSIGNAL) {
            Ok(count) => count,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(_) => return Err(GoneNode),
        };
        self.sent += count;
        if self.closing && self.sent == self.releasable {
            return Err(GoneNode);
        }
        self.forget_sent();
        Ok(count)
    }

    /// Makes bytes that wait in the output releasable, or appends an answer from the heap to the
    /// output.
    pub fn release(&mut self, released: ReleasedData<'_>) {
        match released {
            ReleasedData::Held { bytes } => self.releasable += bytes,
            ReleasedData::Answer(answer) => {
                self.output.extend_from_slice(answer);
                self.releasable = self.output.len();
                self.held_answers -= 1;
            }
        }
    }

    /// Limits the size of the output buffer. Drops the sent bytes when they are more than half of
    /// the buffer.
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

    /// Ends the connection once all of the output has been sent. Bytes that still wait are sent
    /// without further delay, before the error message with the reason. Answers in the heap are
    /// lost.
    pub fn end(&mut self) {
        self.closing = true;
        self.releasable = self.output.len();
        self.id.generation = ENDED;
    }

    /// Returns the events to watch for. They include writability while bytes can be sent. They
    /// include readability unless the connection is ending, or too many bytes or answers wait.
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
