//! Between a command and whoever asked for it: bytes both ways, its time, its end, and the end of all it started.
//! One loop around one poll, whatever becomes of the output.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::run::command::{Command, Written};
use crate::service::Service;
use crate::sys::child::StartFailure;
use crate::sys::fd::{Interest, poll, read_some, widen_pipe};
use crate::sys::process::{Exit, GRACE_MS, ORDER_KILL, ORDER_SWEEP, Report, give_order, next_report};

/// From the command's end to the last look at its pipes: a process that it left behind may hold them for ever.
const DRAIN: Duration = Duration::from_millis(250);
/// A supervisor that has not done as it was told by then is killed, and its children come to us.
const PATIENCE: Duration = Duration::from_millis(GRACE_MS as u64 + 3000);
/// Of a command that has not yet filled it; a large one is mapped anew for each command.
const FIRST_READ_BYTES: usize = 4 * 1024;
const READ_BYTES: usize = 128 * 1024;
/// A read of so much means that more comes.
const MUCH_BYTES: usize = 32 * 1024;
/// How long a command that writes much is left to fill its pipe: each look at it, and each frame, has its price.
const FILL: Duration = Duration::from_micros(300);
const MAX_PIPE_BYTES: usize = 1024 * 1024; // the kernel's own bound (fs.pipe-max-size)

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    Stdout = 0,
    Stderr = 1,
}

/// Where a command's output goes.
pub trait Sink {
    fn started(&mut self, pid: i32);
    /// `false` when this is more than it may hold: the command is ended.
    fn take(&mut self, from: Output, bytes: &[u8]) -> bool;
    /// Without room the command waits.
    fn has_room(&self) -> bool {
        true
    }
    /// Whether bytes wait for the client.
    fn has_pending(&self) -> bool {
        false
    }
    /// Sends what goes at once; `false` when the client is gone.
    fn flush(&mut self) -> bool {
        true
    }
    /// When it wants to say something although nothing happened.
    fn next_tick(&self) -> Option<Instant> {
        None
    }
    fn tick(&mut self, _now: Instant) {}
    /// Readable when there is something to heed.
    fn wake_fd(&self) -> RawFd {
        -1
    }
    /// Forgets that it was woken.
    fn heed(&mut self) {}
    /// Whether somebody wants it ended.
    fn is_killed(&self) -> bool {
        false
    }
    /// Whether the command goes on without its client.
    fn goes_on_alone(&mut self) -> bool {
        false
    }
    /// The request's own input is written: what follows comes from elsewhere, or the pipe is closed.
    fn take_stdin(&mut self, _pipe: Option<OwnedFd>) {}
}

/// Why a command was ended from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    TimedOut,
    ClientGone,
    TooMuch,
    Killed,
    Stopping,
}

pub enum End {
    Exit(Exit),
    NotStarted(StartFailure),
}

pub struct Ended {
    pub end: End,
    pub cause: Option<Cause>,
    pub held_pipes: bool,
}

struct Relay<'a> {
    service: &'a Arc<Service>,
    command: &'a mut Command,
    sink: &'a mut dyn Sink,
    /// None, as a negative number, when the command goes on alone.
    client: RawFd,
    /// Output that came before is read after, or a frame would precede `start`.
    is_started: bool,
    end: Option<End>,
    cause: Option<Cause>,
    held_pipes: bool,
    /// No descendant is left.
    is_empty: bool,
    drain_until: Option<Instant>,
    ordered_at: Option<Instant>,
    has_ordered_sweep: bool,
    has_wide_pipes: bool,
    /// Something was read, and then the pipe was empty.
    is_filling: bool,
}

/// Returns when the command and all its descendants have ended and the sink has passed everything on.
pub fn relay(
    service: &Arc<Service>,
    command: &mut Command,
    timeout: Option<Duration>,
    client: RawFd,
    sink: &mut dyn Sink,
) -> Ended {
    let deadline = timeout.and_then(|time| Instant::now().checked_add(time));
    let mut relay = Relay {
        service,
        command,
        sink,
        client,
        is_started: false,
        end: None,
        cause: None,
        held_pipes: false,
        is_empty: false,
        drain_until: None,
        ordered_at: None,
        has_ordered_sweep: false,
        has_wide_pipes: false,
        is_filling: false,
    };
    let mut buffer = vec![0u8; FIRST_READ_BYTES];
    loop {
        let now = Instant::now();
        relay.hear_supervisor(now);
        relay.pass_on_output(&mut buffer);
        if relay.cause.is_none() && relay.sink.is_killed() {
            relay.stop(Cause::Killed, now);
        }
        if relay.end.is_none() && deadline.is_some_and(|deadline| now >= deadline) {
            relay.stop(Cause::TimedOut, now);
        }
        relay.close_drained(now);
        let ended = relay.take_ended();
        // What is left at the end leaves with the end.
        let has_reader = relay.client >= 0 && relay.cause != Some(Cause::ClientGone);
        if ended.is_none() && has_reader && !relay.sink.flush() {
            relay.lose_client(now);
        }
        if let Some(ended) = ended {
            if ended.cause.is_some() || relay.has_ordered_sweep {
                // Whoever had it killed may count what is left.
                service.reaper.wait_reaped(relay.command.supervisor);
            }
            return ended;
        }
        relay.wait(deadline);
    }
}

impl Relay<'_> {
    /// One read of each pipe, so that neither stream runs ahead of the other; one more behind the command's end, where
    /// it is likely to find the end of the pipe.
    fn pass_on_output(&mut self, buffer: &mut Vec<u8>) {
        for from in [Output::Stdout, Output::Stderr] {
            let is_read = self.is_started && self.sink.has_room() && self.read_once(from, buffer);
            if is_read && self.is_empty && self.sink.has_room() {
                self.read_once(from, buffer);
            }
        }
        if let Some(input) = self.command.stdin.take() {
            match input.advance() {
                Written::Partly(rest) => self.command.stdin = Some(rest),
                Written::Whole(pipe) => self.sink.take_stdin(pipe),
            }
        }
        let now = Instant::now();
        if self.sink.next_tick().is_some_and(|tick| now >= tick) {
            self.sink.tick(now);
        }
    }

    /// What is in the pipes by now: on a busy machine the time may be over before the first look.
    fn read_rest(&mut self) {
        let mut buffer = vec![0u8; READ_BYTES];
        for from in [Output::Stdout, Output::Stderr] {
            for _ in 0..MAX_PIPE_BYTES / READ_BYTES {
                if !self.read_once(from, &mut buffer) {
                    break;
                }
            }
        }
    }

    /// Whether there was anything.
    fn read_once(&mut self, from: Output, buffer: &mut Vec<u8>) -> bool {
        let pipe = match from {
            Output::Stdout => &mut self.command.stdout,
            Output::Stderr => &mut self.command.stderr,
        };
        let Some(fd) = pipe.as_ref().map(OwnedFd::as_raw_fd) else { return false };
        match read_some(fd, buffer) {
            Ok(None) => false,
            Ok(Some(0)) | Err(_) => {
                *pipe = None;
                false
            }
            Ok(Some(size)) => {
                let is_full = size == buffer.len();
                self.is_filling |= !is_full;
                if size >= MUCH_BYTES && !self.has_wide_pipes {
                    // Much comes: with more room the command and we take turns less often.
                    self.has_wide_pipes = true;
                    [&self.command.stdout, &self.command.stderr].into_iter().flatten().for_each(widen_pipe);
                }
                if !self.sink.take(from, &buffer[..size]) {
                    self.stop(Cause::TooMuch, Instant::now());
                }
                if is_full {
                    buffer.resize(READ_BYTES, 0);
                }
                true
            }
        }
    }

    fn hear_supervisor(&mut self, now: Instant) {
        while !self.is_empty {
            match next_report(&self.command.control) {
                None => break,
                Some(Report::Started { pid }) => self.note_start(pid),
                Some(Report::StartFailed { pid, failure }) => {
                    if pid > 0 {
                        self.note_start(pid);
                    }
                    self.end = Some(End::NotStarted(failure));
                    self.is_empty = true;
                }
                Some(Report::Exited { pid, status, is_empty }) => {
                    // Of one that ended at once this is the first word.
                    if !self.is_started {
                        self.note_start(pid);
                    }
                    self.end = Some(End::Exit(status));
                    self.is_empty = is_empty;
                }
                Some(Report::Empty) => self.is_empty = true,
                Some(Report::Gone) => {
                    // Killed by its own command, or by us. What it had below it is ours now, and is killed.
                    self.service.reaper.wait_gone(self.command.supervisor);
                    if !self.is_started {
                        // Before it said so. A stream has its start all the same, or its client would wait for ever.
                        self.note_start(0);
                    }
                    self.end.get_or_insert(End::Exit(Exit::Signal(libc::SIGKILL)));
                    self.is_empty = true;
                }
            }
        }
        // What is being ended may use all of its grace to say its last words.
        if self.end.is_some() && self.drain_until.is_none() && (self.cause.is_none() || self.is_empty) {
            self.drain_until = Some(now + DRAIN);
        }
    }

    fn note_start(&mut self, pid: i32) {
        self.is_started = true;
        self.sink.started(pid);
    }

    fn lose_client(&mut self, now: Instant) {
        match self.sink.goes_on_alone() {
            true => self.client = -1,
            false => self.stop(Cause::ClientGone, now),
        }
    }

    /// Ends the whole tree, for the first reason there is.
    fn stop(&mut self, cause: Cause, now: Instant) {
        if cause == Cause::ClientGone {
            // Nobody wants it any more, and a command that writes gets to know.
            self.command.stdout = None;
            self.command.stderr = None;
        }
        if self.cause.is_none() {
            self.cause = Some(cause);
            self.ordered_at = Some(now);
            give_order(&self.command.control, ORDER_KILL);
        } else if cause == Cause::ClientGone {
            self.cause = Some(cause);
        }
    }

    /// After the command's end: closes pipes that are still held, and has what is left over swept.
    fn close_drained(&mut self, now: Instant) {
        if self.end.is_none() {
            return;
        }
        self.command.stdin = None;
        if !self.sink.has_room() && self.drain_until.is_some() {
            // The time is for the pipes' holder, not for a slow reader.
            self.drain_until = Some(now + DRAIN);
        }
        let is_open = self.command.stdout.is_some() || self.command.stderr.is_some();
        if is_open && self.drain_until.is_some_and(|until| now >= until) {
            self.read_rest();
            self.command.stdout = None;
            self.command.stderr = None;
            self.held_pipes = self.cause.is_none();
        } else if is_open {
            return;
        }
        if !self.is_empty && !self.has_ordered_sweep && self.cause.is_none() {
            self.has_ordered_sweep = true;
            self.ordered_at.get_or_insert(now);
            give_order(&self.command.control, ORDER_SWEEP);
        }
    }

    fn take_ended(&mut self) -> Option<Ended> {
        let is_open = self.command.stdout.is_some() || self.command.stderr.is_some();
        if !self.is_empty || is_open {
            return None;
        }
        self.end.take().map(|end| Ended { end, cause: self.cause, held_pipes: self.held_pipes })
    }

    fn wait(&mut self, deadline: Option<Instant>) {
        if std::mem::take(&mut self.is_filling) && self.has_wide_pipes && self.end.is_none() {
            std::thread::sleep(FILL);
        }
        let has_room = self.sink.has_room();
        let pipe = |pipe: &Option<OwnedFd>| match pipe {
            Some(pipe) if has_room && self.is_started => Interest::read(pipe.as_raw_fd()),
            _ => Interest::none(),
        };
        let is_client_gone = self.cause == Some(Cause::ClientGone);
        let mut fds = [
            if self.is_empty { Interest::none() } else { Interest::read(self.command.control.as_raw_fd()) },
            pipe(&self.command.stdout),
            pipe(&self.command.stderr),
            self.command
                .stdin
                .as_ref()
                .map_or(Interest::none(), |input| Interest::write(input.pipe.as_raw_fd())),
            if is_client_gone {
                Interest::none()
            } else {
                Interest::hangup(self.client, self.sink.has_pending())
            },
            Interest::read(self.sink.wake_fd()),
            if self.cause.is_some() { Interest::none() } else { Interest::read(self.service.stop.fd()) },
        ];
        let running_until = if self.end.is_none() && self.cause.is_none() { deadline } else { None };
        let drain_until = if has_room { self.drain_until } else { None };
        let is_open = self.command.stdout.is_some() || self.command.stderr.is_some();
        let patience = if self.is_empty { None } else { self.ordered_at.map(|at| at + PATIENCE) };
        let times = [running_until, drain_until.filter(|_| is_open), patience, self.sink.next_tick()];
        let until = times.into_iter().flatten().min();
        let time = until.map(|until| until.saturating_duration_since(Instant::now()));
        if poll(&mut fds, time).is_err() {
            return;
        }
        let now = Instant::now();
        if fds[5].is_ready() {
            self.sink.heed();
        }
        if fds[4].is_hung_up() {
            self.lose_client(now);
        } else if fds[6].is_ready() {
            self.stop(Cause::Stopping, now);
        }
        if patience.is_some_and(|patience| now >= patience) {
            self.ordered_at = Some(now);
            self.service.reaper.kill_supervisor(self.command.supervisor);
        }
    }
}
