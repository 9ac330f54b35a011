//! A connection's bytes: what has arrived and is not used yet, and writes that wait for a slow reader only so long.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sys::fd::{Flag, Interest, poll, receive_some, send_some};
use crate::sys::socket;

const READ_BYTES: usize = 16 * 1024;
/// Without a byte moving, in either direction, inside of a request.
pub const STALL: Duration = Duration::from_secs(60);
/// How long a refused request's rest is read, so that its sender gets to see the answer and not a reset.
const LINGER: Duration = Duration::from_secs(5);

pub struct Wire {
    /// None when it was closed before its thread's work is done.
    socket: Option<OwnedFd>,
    input: Vec<u8>,
    stop: Arc<Flag>,
    /// Whoever counts connections.
    guard: Option<Box<dyn Send>>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Fill {
    Data,
    End,
    /// The time is over, or execd is stopping.
    Late,
}

impl Wire {
    pub fn new(socket: OwnedFd, stop: Arc<Flag>) -> Wire {
        Wire { socket: Some(socket), input: Vec::new(), stop, guard: None }
    }

    /// `guard` is dropped when the connection is closed.
    pub fn guarded(socket: OwnedFd, stop: Arc<Flag>, guard: Box<dyn Send>) -> Wire {
        Wire { guard: Some(guard), ..Wire::new(socket, stop) }
    }

    /// A negative number when it is closed.
    pub fn fd(&self) -> RawFd {
        self.socket.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    fn socket(&self) -> io::Result<&OwnedFd> {
        self.socket.as_ref().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// While its thread still has something to do.
    pub fn close(&mut self) {
        self.socket = None;
        self.input = Vec::new();
        self.guard = None;
    }

    /// What has arrived and was not consumed.
    pub fn input(&self) -> &[u8] {
        &self.input
    }

    pub fn consume(&mut self, bytes: usize) {
        self.input.drain(..bytes.min(self.input.len()));
        if self.input.is_empty() && self.input.capacity() > READ_BYTES * 2 {
            self.input = Vec::new();
        }
    }

    /// Waits for more input.
    pub fn fill(&mut self, until: Instant) -> io::Result<Fill> {
        loop {
            // In place, and not over the stack: an ended thread's touched pages are kept.
            let filled = self.input.len();
            self.input.resize(filled + READ_BYTES, 0);
            let received = receive_some(
                self.socket.as_ref().ok_or(io::ErrorKind::NotConnected)?,
                &mut self.input[filled..],
            );
            self.input.truncate(filled + received.as_ref().ok().copied().flatten().unwrap_or(0));
            match received? {
                Some(0) => return Ok(Fill::End),
                Some(_) => return Ok(Fill::Data),
                None if filled == 0 => self.input = Vec::new(),
                None => {}
            }
            let left = until.saturating_duration_since(Instant::now());
            let mut fds = [Interest::read(self.fd()), Interest::read(self.stop.fd())];
            poll(&mut fds, Some(left))?;
            if fds[1].is_ready() || (!fds[0].is_ready() && left.is_zero()) {
                return Ok(Fill::Late);
            }
        }
    }

    /// Writes all of it, or fails when the reader takes nothing for a while.
    pub fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match send_some(self.socket()?, bytes)? {
                Some(size) => bytes = &bytes[size..],
                None => {
                    let mut fds = [Interest::write(self.fd())];
                    poll(&mut fds, Some(STALL))?;
                    if !fds[0].is_ready() {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes what goes at once, and answers how much that was.
    pub fn write_now(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send_some(self.socket()?, bytes)?.unwrap_or(0))
    }

    /// Ends a connection whose input was not read to its end.
    pub fn linger(mut self) {
        let Some(socket) = &self.socket else { return };
        socket::shutdown_write(socket);
        let until = Instant::now() + LINGER;
        while let Ok(Fill::Data) = self.fill(until) {
            self.input.clear();
            if Instant::now() > until {
                break;
            }
        }
    }
}
