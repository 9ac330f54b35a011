//! One call over one connection: a single loop around one poll, which holds no more than the windows allow.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::errors::describe;
use crate::sys::fd::{Interest, poll, read_some, receive_some, send_some, write_some};
use crate::sys::signals::SignalFd;
use crate::tool_client::frames::{self, Decoder, Frame};
use crate::tool_client::outcome::{self, Outcome};

const ID: u32 = 1;
const FIRST_WINDOW_BYTES: u64 = 262_144;
/// Written by us before the gateway is told so; a frame for each write would be as many as those that came.
const GRANT_BYTES: usize = 65_536;
const WELCOME_TIME: Duration = Duration::from_secs(5);
const READ_BYTES: usize = 32 * 1024;
/// A pipe that poll calls writable takes this much without waiting (PIPE_BUF).
const WRITE_BYTES: usize = 4096;
/// A gateway that sends more than it was allowed waits.
const MAX_HELD_BYTES: usize = 1024 * 1024;
const BROKEN_PIPE: u8 = 128 + 13;

/// Bytes on their way to one of our own outputs.
struct Output {
    fd: i32,
    bytes: Vec<u8>,
    written: usize,
}

impl Output {
    fn is_empty(&self) -> bool {
        self.written == self.bytes.len()
    }

    fn interest(&self) -> Interest {
        if self.is_empty() { Interest::none() } else { Interest::write(self.fd) }
    }

    /// How many bytes went out.
    fn advance(&mut self) -> io::Result<usize> {
        let end = self.bytes.len().min(self.written + WRITE_BYTES);
        let size = write_some(self.fd, &self.bytes[self.written..end])?.unwrap_or(0);
        self.written += size;
        if self.is_empty() {
            self.discard();
        }
        Ok(size)
    }

    fn discard(&mut self) {
        self.bytes.clear();
        self.written = 0;
    }
}

pub struct Session {
    socket: OwnedFd,
    signals: SignalFd,
    /// Frames for the gateway.
    out: Output,
    stdout: Output,
    stderr: Output,
    decoder: Decoder,
    has_stdin: bool,
    /// Bytes of stdin that the gateway still takes.
    stdin_window: u64,
    /// Written to our outputs and not yet granted again.
    ungranted: usize,
    is_welcome: bool,
    is_started: bool,
    is_cancelled: bool,
    outcome: Option<Outcome>,
}

impl Session {
    /// Says who calls and what for in one go: the gateway's `welcome` needs no waiting for.
    pub fn start(
        socket: OwnedFd,
        signals: SignalFd,
        hello: &[u8],
        request: &[u8],
        has_stdin: bool,
    ) -> Session {
        let mut bytes = frames::PREAMBLE.to_vec();
        frames::encode(&mut bytes, frames::HELLO, 0, hello);
        frames::encode(&mut bytes, frames::REQUEST, ID, request);
        let output = |fd| Output { fd, bytes: Vec::new(), written: 0 };
        Session {
            out: Output { fd: socket.as_raw_fd(), bytes, written: 0 },
            socket,
            signals,
            stdout: output(1),
            stderr: output(2),
            decoder: Decoder::default(),
            has_stdin,
            stdin_window: FIRST_WINDOW_BYTES,
            ungranted: 0,
            is_welcome: false,
            is_started: false,
            is_cancelled: false,
            outcome: None,
        }
    }

    pub fn run(mut self) -> Outcome {
        match self.go_on() {
            Ok(outcome) | Err(outcome) => outcome,
        }
    }

    fn go_on(&mut self) -> Result<Outcome, Outcome> {
        let welcome_until = Instant::now() + WELCOME_TIME;
        let mut buffer = vec![0u8; READ_BYTES];
        loop {
            self.send_frames()?;
            if self.stdout.is_empty()
                && self.stderr.is_empty()
                && let Some(outcome) = self.outcome.take()
            {
                return Ok(outcome);
            }
            let has_room = self.stdout.bytes.len() + self.stderr.bytes.len() < MAX_HELD_BYTES;
            let may_read = self.has_stdin && self.is_started && self.stdin_window > 0 && self.out.is_empty();
            let is_open = self.outcome.is_none();
            let mut fds = [
                if is_open && has_room { Interest::read(self.socket.as_raw_fd()) } else { Interest::none() },
                if is_open { self.out.interest() } else { Interest::none() },
                Interest::read(self.signals.fd()),
                if is_open && may_read { Interest::read(0) } else { Interest::none() },
                self.stdout.interest(),
                self.stderr.interest(),
            ];
            let time = (!self.is_welcome).then(|| welcome_until.saturating_duration_since(Instant::now()));
            poll(&mut fds, time).map_err(|error| outcome::no_gateway(&describe(&error)))?;
            if fds[2].is_ready() {
                self.hear_signals()?;
            }
            if fds[4].is_ready() {
                // Whoever read our output is gone: our end closes the connection, which cancels the call.
                let gone = |_| Outcome { code: BROKEN_PIPE, message: None };
                self.ungranted += self.stdout.advance().map_err(gone)?;
            }
            if fds[5].is_ready() {
                match self.stderr.advance() {
                    Ok(size) => self.ungranted += size,
                    Err(_) => self.stderr.discard(),
                }
            }
            if fds[0].is_ready() {
                self.receive(&mut buffer)?;
            }
            if fds[3].is_ready() {
                self.read_stdin(&mut buffer);
            }
            if !self.is_welcome && Instant::now() >= welcome_until {
                return Err(outcome::no_gateway("it does not answer"));
            }
        }
    }

    fn push(&mut self, kind: u8, id: u32, payload: &[u8]) {
        frames::encode(&mut self.out.bytes, kind, id, payload);
    }

    fn send_frames(&mut self) -> Result<(), Outcome> {
        if self.ungranted >= GRANT_BYTES {
            let grant = (self.ungranted as u32).to_be_bytes();
            self.ungranted = 0;
            self.push(frames::WINDOW, ID, &grant);
        }
        while !self.out.is_empty() && self.outcome.is_none() {
            match send_some(&self.socket, &self.out.bytes[self.out.written..]) {
                Ok(Some(size)) => self.out.written += size,
                Ok(None) => return Ok(()),
                // It may have said why before it closed.
                Err(_) => {
                    self.out.discard();
                    self.has_stdin = false;
                    return Ok(());
                }
            }
        }
        self.out.discard();
        Ok(())
    }

    fn hear_signals(&mut self) -> Result<(), Outcome> {
        while self.signals.take().is_some() {
            if self.is_cancelled {
                return Err(Outcome { code: outcome::CANCELLED, message: None });
            }
            self.is_cancelled = true;
            self.push(frames::CANCEL, ID, &[]);
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<(), Outcome> {
        match receive_some(&self.socket, buffer) {
            Ok(None) => return Ok(()),
            Ok(Some(0)) => return Err(outcome::no_gateway("it closed the connection before the call ended")),
            Err(error) => return Err(outcome::no_gateway(&describe(&error))),
            Ok(Some(size)) => self.decoder.push(&buffer[..size]),
        }
        while self.outcome.is_none() {
            match self.decoder.next().map_err(|what| outcome::no_gateway(&what))? {
                None => return Ok(()),
                Some(frame) => self.take(frame)?,
            }
        }
        Ok(())
    }

    fn take(&mut self, frame: Frame) -> Result<(), Outcome> {
        match (frame.kind, frame.id) {
            (frames::WELCOME, _) => self.is_welcome = true,
            (frames::STARTED, ID) => self.is_started = true,
            (frames::STDOUT, ID) => self.stdout.bytes.extend_from_slice(&frame.payload),
            (frames::STDERR, ID) => self.stderr.bytes.extend_from_slice(&frame.payload),
            (frames::WINDOW, ID) => {
                let grant = frame.payload.first_chunk::<4>().map_or(0, |bytes| u32::from_be_bytes(*bytes));
                self.stdin_window = self.stdin_window.saturating_add(u64::from(grant));
            }
            (frames::PING, id) => self.push(frames::PONG, id, &frame.payload),
            (frames::EXIT, ID) => self.outcome = Some(outcome::of_exit(&frame.payload)),
            (frames::ERROR, _) => return Err(outcome::of_error(&frame.payload)),
            // A later version may say more.
            _ => {}
        }
        Ok(())
    }

    fn read_stdin(&mut self, buffer: &mut [u8]) {
        let most = buffer.len().min(usize::try_from(self.stdin_window).unwrap_or(usize::MAX));
        match read_some(0, &mut buffer[..most]) {
            Ok(None) => {}
            Ok(Some(0)) | Err(_) => {
                self.has_stdin = false;
                self.push(frames::STDIN, ID, &[]);
            }
            Ok(Some(size)) => {
                self.stdin_window -= size as u64;
                frames::encode(&mut self.out.bytes, frames::STDIN, ID, &buffer[..size]);
            }
        }
    }
}
