//! Messages of sock_diag, which list TCP connections and end them.
//!
//! Layouts are those of `linux/inet_diag.h`. Addresses and ports are in network byte order.

use super::{ACK, Answer, DUMP, Message};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const SOCK_DESTROY: u16 = 21;

/// Address families to query. Both are needed, because an IPv6 socket may have an IPv4 connection.
pub const FAMILIES: [u8; 2] = [2, 10];
const IPPROTO_TCP: u8 = 6;
/// Bit of `TCP_ESTABLISHED`.
const ESTABLISHED: u32 = 1 << 1;

/// Size in bytes of `struct inet_diag_sockid`, which begins with the local port.
const ID_BYTES: usize = 48;

/// Offset of the socket's id. The family, state, timer and retransmissions come before it.
const ID_AT: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Socket {
    family: u8,
    id: [u8; ID_BYTES],
}

impl Socket {
    /// Returns the local port of the connection.
    pub fn port(&self) -> u16 {
        u16::from_be_bytes([self.id[0], self.id[1]])
    }

    /// Returns a connection that cannot exist, from port 0 to port 0.
    pub fn none() -> Socket {
        Socket {
            family: FAMILIES[0],
            id: [0; ID_BYTES],
        }
    }
}

impl Message {
    pub fn connections(family: u8) -> Message {
        Message::new_socket(SOCK_DIAG_BY_FAMILY, DUMP, family, &[0; ID_BYTES])
    }

    /// Ends a connection at once. The other end receives a reset, and the local process receives an
    /// error.
    pub fn reset(socket: &Socket) -> Message {
        Message::new_socket(SOCK_DESTROY, ACK, socket.family, &socket.id)
    }

    /// Builds a message with `struct inet_diag_req_v2`.
    fn new_socket(kind: u16, flags: u16, family: u8, id: &[u8]) -> Message {
        let mut message = Message::new(kind, flags);
        message.0.extend([family, IPPROTO_TCP, 0, 0]);
        message.0.extend(ESTABLISHED.to_ne_bytes());
        message.0.extend(id);
        message
    }
}

impl Answer<'_> {
    pub fn socket(&self) -> Option<Socket> {
        if self.kind != SOCK_DIAG_BY_FAMILY {
            return None;
        }
        let id = self.body.get(ID_AT..ID_AT + ID_BYTES)?;
        Some(Socket {
            family: *self.body.first()?,
            id: id.try_into().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtnetlink_message::{HEADER_BYTES, answers};

    #[test]
    fn a_connection_is_reset_by_what_it_was_told_by() {
        let mut message = Message::new(SOCK_DIAG_BY_FAMILY, 0);
        message.0.extend([FAMILIES[1], 1, 0, 0]);
        let mut id = [0x55; ID_BYTES];
        id[..2].copy_from_slice(&9042u16.to_be_bytes());
        message.0.extend(id);
        message.0.extend([0; 20]);
        let bytes = message.finish(1);
        let socket = answers(&bytes)[0].socket().unwrap();
        assert_eq!((socket.port(), socket.family), (9042, FAMILIES[1]));
        let reset = Message::reset(&socket).finish(2);
        assert_eq!(reset[HEADER_BYTES..][..8], [10, 6, 0, 0, 2, 0, 0, 0]);
        assert_eq!(reset[HEADER_BYTES + 8..], id);
        let short = &bytes[HEADER_BYTES..HEADER_BYTES + ID_AT + ID_BYTES - 1];
        let answer = Answer {
            kind: SOCK_DIAG_BY_FAMILY,
            sequence: 1,
            body: short,
        };
        assert_eq!(answer.socket(), None);
    }
}
