//! The worker's end of a simulated connection.

use super::alloc::uncounted;
use super::world::State;
use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::rc::Rc;

/// The worker's end of a connection.
pub struct Stream {
    pub index: u16,
    pub state: Rc<RefCell<State>>,
}

impl Read for Stream {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        uncounted(|| self.state.borrow_mut().read(self.index, room))
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        uncounted(|| self.state.borrow_mut().write(self.index, bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // A run that has failed says enough.
        if !std::thread::panicking() {
            uncounted(|| self.state.borrow_mut().closed(self.index));
        }
    }
}
