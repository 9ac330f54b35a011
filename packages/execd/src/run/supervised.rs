//! A command that is streamed, or is a job: its output goes into its job's log, and from there to whoever started it. A
//! slow reader slows the command as long as nobody keeps it; one that is kept goes on without its reader.

use std::os::fd::{OwnedFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::errors::Answer;
use crate::http::exchange::Exchange;
use crate::jobs::follow;
use crate::jobs::job::{Job, Phase, Stdin};
use crate::run::command::{self, Command, explain};
use crate::run::frames::Frames;
use crate::run::one_shot::{answer_of, describe_end};
use crate::run::relay::{Cause, End, Output, Sink, relay};
use crate::run::request::Request;
use crate::service::{Running, Service};

/// Of output that the reader of an unkept command has not taken; then its pipes are no longer read.
const MAX_UNREAD_BYTES: u64 = 256 * 1024;

struct Supervised<'a, 'b> {
    exchange: &'a mut Exchange<'b>,
    job: &'a Arc<Job>,
    /// Of one whose starter reads along.
    frames: Option<Frames>,
    pid: i32,
    is_alone: bool,
}

impl Sink for Supervised<'_, '_> {
    fn started(&mut self, pid: i32) {
        self.pid = pid;
        self.job.change(|state| state.phase = Phase::Running { pid });
        if let Some(frames) = &mut self.frames {
            // Only now is it sure that this is not an error of the request.
            follow::start(self.exchange, frames, self.job, pid);
        }
    }

    fn take(&mut self, from: Output, bytes: &[u8]) -> bool {
        self.job.append(from, bytes);
        true
    }

    fn has_room(&self) -> bool {
        let Some(frames) = &self.frames else { return true };
        let state = self.job.lock();
        state.is_kept || state.is_killed || state.held.unread(&frames.cursor) < MAX_UNREAD_BYTES
    }

    fn has_pending(&self) -> bool {
        self.frames.as_ref().is_some_and(Frames::has_pending)
    }

    fn flush(&mut self) -> bool {
        let Some(frames) = &mut self.frames else { return true };
        loop {
            let mut state = self.job.lock();
            let is_all = frames.pull(&state.held, &self.job.spill);
            let floor = (!state.is_kept).then_some(&frames.cursor);
            state.held.set_floor(floor);
            drop(state);
            if !frames.flush(self.exchange.wire) {
                return false;
            }
            if is_all || frames.has_pending() {
                return true;
            }
        }
    }

    fn next_tick(&self) -> Option<Instant> {
        self.frames.as_ref().filter(|_| self.exchange.is_answered()).and_then(Frames::next_heartbeat)
    }

    fn tick(&mut self, _now: Instant) {
        if let Some(frames) = &mut self.frames {
            frames.heartbeat();
        }
    }

    fn wake_fd(&self) -> RawFd {
        self.job.wake.fd()
    }

    fn heed(&mut self) {
        self.job.wake.clear();
    }

    fn is_killed(&self) -> bool {
        self.job.lock().is_killed
    }

    fn goes_on_alone(&mut self) -> bool {
        if !self.job.lock().is_kept {
            return false;
        }
        self.is_alone = true;
        self.frames = None;
        self.exchange.give_up();
        self.exchange.wire.close();
        true
    }

    fn take_stdin(&mut self, pipe: Option<OwnedFd>) {
        self.job.change(|state| {
            if matches!(state.stdin, Stdin::Filling) {
                state.stdin = pipe.map_or(Stdin::Closed, Stdin::Open);
            }
        });
    }
}

pub fn answer(
    service: &Arc<Service>,
    exchange: &mut Exchange,
    job: &Arc<Job>,
    request: Request,
    running: Running,
) -> Answer<()> {
    let timeout = request.timeout_ms.map(Duration::from_millis);
    let frames = request.stream.then(|| Frames::from([0, 0]));
    let mut command = command::start(service, request).inspect_err(|failure| {
        service.jobs.abandon(job, failure.clone());
    })?;
    let client = exchange.wire.fd();
    let mut supervised = Supervised { exchange, job, frames, pid: 0, is_alone: false };
    let ended = relay(service, &mut command, timeout, client, &mut supervised);
    let Supervised { exchange, frames, pid, is_alone, .. } = supervised;
    let end = explain_start(&command, &ended.end, job).and_then(|()| describe_end(&command, &ended));
    let end = end.inspect_err(|failure| service.jobs.abandon(job, failure.clone()));
    if let Ok(end) = &end {
        service.jobs.finish(job, pid, end.clone());
    }
    drop(running);
    if is_alone || ended.cause == Some(Cause::ClientGone) {
        exchange.give_up();
        return Ok(());
    }
    match frames {
        Some(frames) if exchange.is_answered() => {
            // What the reader has not taken yet, from what is held.
            follow::go_on(exchange, job, frames, None, None)
        }
        Some(_) => end.and_then(|_| follow::begin(exchange, job, [0, 0], None)),
        None => answer_of(service, exchange, job),
    }
}

/// A command that could not be started says why on its standard error, as a shell would.
fn explain_start(command: &Command, end: &End, job: &Job) -> Answer<()> {
    if let End::NotStarted(failure) = end {
        let (_, words) = explain(command, *failure)?;
        job.append(Output::Stderr, words.as_bytes());
    }
    Ok(())
}
