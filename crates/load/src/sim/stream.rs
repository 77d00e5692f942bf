//! The worker's end of a simulated connection.

use super::alloc::uncounted;
use super::world::State;
use crate::socket::TimedReader;
use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::rc::Rc;

pub struct Stream {
    pub index: u16,
    pub state: Rc<RefCell<State>>,
}

impl Read for Stream {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        uncounted(|| self.state.borrow_mut().read(self.index, room))
    }
}

impl TimedReader for Stream {
    fn is_timed(&self) -> bool {
        self.state.borrow().shape.times_arrivals
    }

    fn arrived_ns(&self) -> Option<u64> {
        self.state.borrow().arrived_ns(self.index)
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
        // If the run has already panicked, a second panic would add no information.
        if !std::thread::panicking() {
            uncounted(|| self.state.borrow_mut().closed(self.index));
        }
    }
}
