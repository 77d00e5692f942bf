//! One connection of a worker. It is a non-blocking socket with a buffer in each direction.
//!
//! The control plane opens connections in `connect.rs`, which blocks during TCP, TLS,
//! authentication and PREPARE. This module never blocks. It allocates only if a response is larger
//! than the input buffer.

use crate::segment_stream::Wrapping;
use crate::socket::{Socket, TimedReader};
use cql::frame::{self, HEADER_BYTES, Header};
use cql::{SegmentError, Segments, Version};
use rustls::ClientConnection;
use std::io::{self, Read, Write};

/// Sizes of a connection's buffers, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffers {
    pub input: usize,
    /// Size of the buffer for requests of new operations.
    pub output: usize,
    /// Additional room in the output buffer for follow-up requests (another page, another attempt)
    /// while the socket accepts no data.
    pub follow_ups: usize,
}

/// Memory of a connection. After the connection has closed, the next connection reuses its memory.
#[derive(Debug)]
pub(crate) struct Memory {
    version: Version,
    wrapping: Option<Box<Wrapping>>,
    input: Vec<u8>,
    output: Vec<u8>,
    output_max: usize,
}

impl Buffers {
    /// Default sizes. The input buffer is larger than the data that a socket delivers at once, so
    /// that one call empties the socket. The output buffer has room for about 800 writes of 300
    /// bytes between two calls.
    pub const USUAL: Buffers = Buffers {
        input: 256 << 10,
        output: 256 << 10,
        follow_ups: 256 << 10,
    };
}

/// Maximum size of a response that the client accepts for any request, in bytes. Even a request
/// without a result may have such a response. Examples are an error with a long message, and the
/// row of a conditional write.
pub(crate) const ANSWER_BYTES_USUAL: u32 = 1 << 20;

pub(crate) struct Link<S = Socket> {
    pub stream: S,
    pub tls: Option<Box<ClientConnection>>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadEnd {
    #[error("the node closed the connection")]
    Closed,
    #[error(transparent)]
    Failed(io::Error),
    #[error(transparent)]
    Segment(#[from] SegmentError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Done,
    /// The socket's buffer is full. The caller must try again when the socket is writable.
    Blocked,
}

pub(crate) struct Connection<S = Socket> {
    link: Link<S>,
    version: Version,
    /// Layer that wraps frames in segments, between the socket and the buffers. `None` if the
    /// protocol version has no segments.
    wrapping: Option<Box<Wrapping>>,
    input: Vec<u8>,
    input_start: usize,
    input_end: usize,
    /// Complete frames that wait to be sent.
    pub output: Vec<u8>,
    /// Maximum size of `output` up to which new operations may be added, in bytes.
    output_max: usize,
    output_sent: usize,
    /// True if the poller reports when the socket becomes writable.
    pub watches_write: bool,
}

impl Memory {
    /// Allocates memory for one connection of this protocol version. `frame_bytes_max` is the size
    /// of the largest request of the program, in bytes.
    pub fn new(buffers: Buffers, frame_bytes_max: usize, version: Version) -> Memory {
        let output_max = buffers.output.max(4 * frame_bytes_max);
        Memory {
            version,
            wrapping: None,
            input: vec![0; buffers.input],
            output: Vec::with_capacity(output_max + buffers.follow_ups),
            output_max,
        }
    }

    /// Adds a segment layer between the buffers and the socket.
    pub fn wrapped(mut self, segments: Option<Segments>) -> Memory {
        let frames_bytes = self.output.capacity();
        self.wrapping = segments.map(|segments| Box::new(Wrapping::new(segments, frames_bytes)));
        self
    }
}

impl<S: Read + Write + TimedReader> Connection<S> {
    pub fn new(link: Link<S>, mut memory: Memory) -> Connection<S> {
        memory.output.clear();
        Connection {
            link,
            version: memory.version,
            wrapping: memory.wrapping.map(Wrapping::emptied),
            input: memory.input,
            input_start: 0,
            input_end: 0,
            output: memory.output,
            output_max: memory.output_max,
            output_sent: 0,
            watches_write: false,
        }
    }

    pub fn close(self) -> Memory {
        Memory {
            version: self.version,
            wrapping: self.wrapping,
            input: self.input,
            output: self.output,
            output_max: self.output_max,
        }
    }

    pub fn stream(&self) -> &S {
        &self.link.stream
    }

    /// Returns the arrival time of the last received data, in ns of the monotonic clock. Returns
    /// `None` if the time is unknown.
    #[inline]
    pub fn arrived_ns(&self) -> Option<u64> {
        self.link.stream.arrived_ns()
    }

    /// Returns true if `output` has room for a new operation whose request has `bytes` bytes.
    #[inline]
    pub fn has_room(&self, bytes: usize) -> bool {
        self.output.len() + bytes <= self.output_max
    }

    /// Reads once from the socket. Returns `Ok(0)` if no data is available now.
    pub fn receive(&mut self) -> Result<usize, ReadEnd> {
        self.make_room();
        let room = &mut self.input[self.input_end..];
        let read = match &mut self.wrapping {
            None => self.link.read(room),
            Some(wrapping) => return self.link.read_wrapped(wrapping, room, &mut self.input_end),
        };
        match read {
            Ok(0) => Err(ReadEnd::Closed),
            Ok(bytes) => {
                self.input_end += bytes;
                Ok(bytes)
            }
            Err(error) if is_transient(&error) => Ok(0),
            Err(error) => Err(ReadEnd::Failed(error)),
        }
    }

    /// Returns true if more data may be available than the last [`Connection::receive`] returned.
    /// This is the case if that call filled the buffer, or if a lower layer may still contain data.
    pub fn may_have_more(&self) -> bool {
        let holds_back = |wrapping: &Wrapping| wrapping.may_have_more();
        self.input_end == self.input.len()
            || self.link.tls.is_some()
            || self.wrapping.as_deref().is_some_and(holds_back)
    }

    /// Returns the header and the position of the body of the next complete frame. Returns `None`
    /// if the frame is incomplete.
    #[inline]
    pub fn next_frame(&mut self) -> Result<Option<(Header, Body)>, cql::frame::FrameError> {
        let bytes = &self.input[self.input_start..self.input_end];
        let Some(header) = Header::parse_response(bytes, self.version)? else {
            return Ok(None);
        };
        let frame_bytes = HEADER_BYTES + header.length as usize;
        if bytes.len() < frame_bytes {
            let arrived = bytes.len();
            self.reserve(arrived, frame_bytes);
            return Ok(None);
        }
        let body = Body {
            start: self.input_start + HEADER_BYTES,
            end: self.input_start + frame_bytes,
        };
        self.input_start = body.end;
        Ok(Some((header, body)))
    }

    /// Returns the header of an unusually large frame of which some bytes are still missing. The
    /// caller must first call [`Connection::next_frame`] until it finds no frame.
    pub fn awaited(&self) -> Option<Header> {
        let bytes = &self.input[self.input_start..self.input_end];
        let header = Header::parse_response(bytes, self.version).ok()??;
        (header.length > ANSWER_BYTES_USUAL).then_some(header)
    }

    #[inline]
    pub fn bytes(&self, body: Body) -> &[u8] {
        &self.input[body.start..body.end]
    }

    pub fn send(&mut self) -> io::Result<Progress> {
        if self.wrapping.is_some() {
            return self.send_wrapped();
        }
        let sent = self.link.send(&self.output, &mut self.output_sent)?;
        if sent == Progress::Done {
            self.output.clear();
            self.output_sent = 0;
        }
        Ok(sent)
    }

    /// Sends the output in segments. First sends the segments of earlier output that are still
    /// waiting.
    fn send_wrapped(&mut self) -> io::Result<Progress> {
        let Some(wrapping) = &mut self.wrapping else {
            return Ok(Progress::Done);
        };
        loop {
            let sent = self.link.send(&wrapping.output, &mut wrapping.sent)?;
            if sent == Progress::Blocked || self.output.is_empty() {
                return Ok(sent);
            }
            wrapping.wrap(&self.output);
            self.output.clear();
        }
    }

    /// Moves an incomplete frame to the front of the input buffer, so that the rest of the buffer
    /// is free.
    fn make_room(&mut self) {
        if self.input_start > 0 {
            self.input.copy_within(self.input_start..self.input_end, 0);
            self.input_end -= self.input_start;
            self.input_start = 0;
        }
    }

    /// Enlarges the input buffer for a frame that does not fit into it. The buffer grows while the
    /// bytes of the frame arrive. This is the only memory that a connection allocates after the
    /// start line.
    fn reserve(&mut self, arrived: usize, frame_bytes: usize) {
        let room = frame::room_bytes(arrived, frame_bytes);
        // The buffer grows only when it is full. A half-filled buffer still has room for the next
        // bytes.
        if room > self.input.len() && arrived == self.input.len() {
            self.input.resize(room, 0);
        }
    }
}

impl<S: Read + Write> Link<S> {
    #[inline]
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.stream.read(room),
            Some(tls) => read_tls(tls, &mut self.stream, room),
        }
    }

    /// Reads the contents of segments into the buffer at `end`, and advances `end`. Begins with
    /// segments that the socket has already delivered. Returns the number of bytes read.
    fn read_wrapped(
        &mut self,
        wrapping: &mut Wrapping,
        room: &mut [u8],
        end: &mut usize,
    ) -> Result<usize, ReadEnd> {
        let mut taken = wrapping.take(room)?;
        if taken == 0 {
            match self.read(wrapping.room()) {
                Ok(0) => return Err(ReadEnd::Closed),
                Ok(bytes) => wrapping.received(bytes),
                Err(error) if is_transient(&error) => return Ok(0),
                Err(error) => return Err(ReadEnd::Failed(error)),
            }
            taken = wrapping.take(room)?;
        }
        *end += taken;
        Ok(taken)
    }

    fn send(&mut self, bytes: &[u8], bytes_sent: &mut usize) -> io::Result<Progress> {
        while *bytes_sent < bytes.len() {
            let rest = &bytes[*bytes_sent..];
            let sent = match &mut self.tls {
                None => self.stream.write(rest),
                Some(tls) => tls.writer().write(rest),
            };
            match sent {
                Ok(bytes) => *bytes_sent += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Progress::Blocked);
                }
                Err(error) => return Err(error),
            }
            if self.send_tls()? == Progress::Blocked {
                return Ok(Progress::Blocked);
            }
        }
        self.send_tls()
    }

    fn send_tls(&mut self) -> io::Result<Progress> {
        let Some(tls) = &mut self.tls else {
            return Ok(Progress::Done);
        };
        while tls.wants_write() {
            match tls.write_tls(&mut self.stream) {
                Ok(_) => {}
                Err(error) if is_transient(&error) => return Ok(Progress::Blocked),
                Err(error) => return Err(error),
            }
        }
        Ok(Progress::Done)
    }
}

/// Position of a frame's body in the input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body {
    start: usize,
    end: usize,
}

fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

fn read_tls(
    tls: &mut ClientConnection,
    stream: &mut impl Read,
    room: &mut [u8],
) -> io::Result<usize> {
    match tls.reader().read(room) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
        read => return read,
    }
    if tls.read_tls(stream)? == 0 {
        return Ok(0);
    }
    tls.process_new_packets()
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    tls.reader().read(room)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    fn pair() -> (Connection, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        let link = Link {
            stream: Socket::new(stream),
            tls: None,
        };
        let memory = Memory::new(Buffers::USUAL, 64, Version::V4);
        (Connection::new(link, memory), server)
    }

    fn header(length: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        Header {
            version: Version::V4.number() | frame::RESPONSE_BIT,
            flags: 0,
            stream: 0,
            opcode: frame::opcode::RESULT,
            length,
        }
        .append(&mut bytes);
        bytes
    }

    /// Receives until a frame is complete or the connection ends.
    fn frame_of(connection: &mut Connection) -> Option<(Header, Body)> {
        loop {
            match connection.receive() {
                Ok(0) => std::thread::yield_now(),
                Ok(_) => {}
                Err(_) => return None,
            }
            if let Some(found) = connection.next_frame().unwrap() {
                return Some(found);
            }
        }
    }

    #[test]
    fn a_header_gets_memory_for_bytes_received_not_bytes_claimed() {
        let (mut connection, mut server) = pair();
        let sent = std::thread::spawn(move || {
            server.write_all(&header(250 << 20)).unwrap();
            server.write_all(&vec![7; 3 << 20]).unwrap();
        });
        assert!(frame_of(&mut connection).is_none());
        sent.join().unwrap();
        assert!(connection.input.capacity() <= 8 << 20);
        assert_eq!(
            connection.awaited().map(|header| header.length),
            Some(250 << 20)
        );
    }

    #[test]
    fn a_frame_larger_than_the_buffer_arrives_whole() {
        let (mut connection, mut server) = pair();
        let body: Vec<u8> = (0..3_000_001_u32).map(|n| n as u8).collect();
        let expected = body.clone();
        let sent = std::thread::spawn(move || {
            server.write_all(&header(body.len() as u32)).unwrap();
            server.write_all(&body).unwrap();
            server.write_all(&header(0)).unwrap();
        });
        let (_, place) = frame_of(&mut connection).expect("the large one");
        assert!(connection.bytes(place) == expected);
        let next = connection.next_frame().unwrap();
        let (head, _) = next.or_else(|| frame_of(&mut connection)).expect("the small one");
        assert_eq!(head.length, 0);
        assert!(connection.awaited().is_none());
        sent.join().unwrap();
    }
}
