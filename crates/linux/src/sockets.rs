//! TCP connections of a network namespace, read from its kernel.

use crate::net::Netlink;
use crate::rtnetlink_message::Message;
use crate::rtnetlink_message::sockets::{FAMILIES, Socket};
use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::net::netlink;

/// The TCP connections of the namespace in which this value was created.
pub struct Sockets(Netlink);

impl Sockets {
    /// Opens a socket to the kernel in the namespace of the calling thread.
    ///
    /// # Errors
    /// The kernel does not report connections, or refuses to open the socket.
    pub fn open() -> Result<Sockets> {
        let socket = Netlink::open_family(Some(netlink::SOCK_DIAG));
        let needs = "cassay cannot list connections: this kernel lacks the option CONFIG_INET_DIAG";
        socket.map(Sockets).context(needs)
    }

    /// Resets all connections with these local ports. A connection that ends by itself at the same
    /// time is not an error.
    ///
    /// # Errors
    /// The kernel cannot list or reset connections.
    pub fn reset(&mut self, ports: &[u16]) -> Result<()> {
        for socket in self.all()? {
            if ports.contains(&socket.port()) {
                self.end(&socket)?;
            }
        }
        Ok(())
    }

    /// Checks that connections can be reset, by resetting a connection that does not exist.
    ///
    /// # Errors
    /// The kernel cannot reset connections.
    pub fn try_reset(&mut self) -> Result<()> {
        self.end(&Socket::none())
    }

    fn all(&mut self) -> Result<Vec<Socket>> {
        let mut sockets = Vec::new();
        for family in FAMILIES {
            let asked = self.0.exchange(vec![Message::connections(family)], |answer| {
                sockets.extend(answer.socket());
                false
            });
            match asked {
                // The kernel returns ENOENT if it does not have IPv6.
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => return Err(error).context("list the connections"),
            }
        }
        Ok(sockets)
    }

    fn end(&mut self, socket: &Socket) -> Result<()> {
        match self.0.ask(Message::reset(socket)) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(Errno::OPNOTSUPP) => anyhow::bail!(
                "this kernel cannot reset connections (option CONFIG_INET_DIAG_DESTROY)"
            ),
            Err(error) => Err(error).context("reset a connection"),
        }
    }
}
