//! The answer in one piece: held until the end, never cut, never more than a bound.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::errors::{Answer, Code, Failure, fail};
use crate::http::exchange::Exchange;
use crate::jobs::follow;
use crate::jobs::job::{Job, Phase};
use crate::jobs::output::Cursor;
use crate::run::command::{Command, explain};
use crate::run::relay::{Cause, End, Ended, Output, Sink, relay};
use crate::service::{Running, Service};
use crate::sys::fd::{Interest, poll};
use crate::sys::process::{Exit, signal_name};

/// Room for everything in an answer that is not output.
const FRAME_BYTES: u64 = 256;
/// Encoded at a time; a multiple of three, so that the parts join.
const PART_BYTES: usize = 24 * 1024;

struct Held {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    max_bytes: u64,
}

impl Held {
    /// Of the answer's body, as base64 has it.
    fn encoded_bytes(&self) -> u64 {
        FRAME_BYTES + encoded_size(&self.stdout) + encoded_size(&self.stderr)
    }
}

fn encoded_size(bytes: &[u8]) -> u64 {
    bytes.len().div_ceil(3) as u64 * 4
}

impl Sink for Held {
    fn started(&mut self, _pid: i32) {}

    fn take(&mut self, from: Output, bytes: &[u8]) -> bool {
        if self.encoded_bytes() > self.max_bytes {
            return false;
        }
        match from {
            Output::Stdout => self.stdout.extend_from_slice(bytes),
            Output::Stderr => self.stderr.extend_from_slice(bytes),
        }
        self.encoded_bytes() <= self.max_bytes
    }
}

pub fn answer(
    service: &Arc<Service>,
    exchange: &mut Exchange,
    mut command: Command,
    timeout: Option<Duration>,
    running: Running,
) -> Answer<()> {
    let max_bytes = service.config.max_response_bytes;
    let mut held = Held { stdout: Vec::new(), stderr: Vec::new(), max_bytes };
    let ended = relay(service, &mut command, timeout, exchange.wire.fd(), &mut held);
    drop(running);
    if ended.cause == Some(Cause::ClientGone) {
        exchange.give_up();
        return Ok(());
    }
    if ended.cause == Some(Cause::TooMuch) {
        return Err(too_large("was ended when its output passed", max_bytes));
    }
    if let End::NotStarted(failure) = ended.end {
        held.stderr = explain(&command, failure)?.1.into_bytes();
    }
    send(exchange, &describe_end(&command, &ended)?, [&held.stdout, &held.stderr]);
    Ok(())
}

fn too_large(what: &str, max_bytes: u64) -> Failure {
    let message = format!("the command did run, and {what} what an answer may have ({max_bytes} bytes)");
    fail(Code::TooLarge, message)
}

/// The answer for a job, when it has ended; its output is held, and stays.
pub fn answer_of(service: &Arc<Service>, exchange: &mut Exchange, job: &Arc<Job>) -> Answer<()> {
    let watch = follow::watch(job)?;
    while !job.lock().phase.is_over() {
        let mut fds = [Interest::read(watch.fd()), Interest::hangup(exchange.wire.fd(), false)];
        let is_polled = poll(&mut fds, None).is_ok();
        if !is_polled || fds[1].is_hung_up() {
            exchange.give_up();
            return Ok(());
        }
        watch.clear();
    }
    let max_bytes = service.config.max_response_bytes;
    let mut streams = [Vec::new(), Vec::new()];
    let state = job.lock();
    let end = match &state.phase {
        Phase::NotStarted(failure) => return Err(failure.clone()),
        Phase::Ended { end, .. } => end.clone(),
        _ => String::new(),
    };
    let total: u64 = state.held.totals().iter().map(|total| total.div_ceil(3) * 4).sum();
    if state.held.dropped() > 0 || FRAME_BYTES + total > max_bytes {
        return Err(too_large("its output, which its job still has, is over", max_bytes));
    }
    let (mut cursor, mut bytes) = (Cursor::from([0, 0]), Vec::new());
    while let Some((from, _)) = state.held.next(&mut cursor, usize::MAX, &job.spill, &mut bytes) {
        streams[from as usize].extend_from_slice(&bytes);
    }
    drop(state);
    let [stdout, stderr] = &streams;
    send(exchange, &end, [stdout, stderr]);
    Ok(())
}

fn send(exchange: &mut Exchange, end: &str, [stdout, stderr]: [&[u8]; 2]) {
    let (start, end) = (format!("{{{end},\"stdout\":\""), "\"}");
    let middle = "\",\"stderr\":\"";
    let size = (start.len() + middle.len() + end.len()) as u64 + encoded_size(stdout) + encoded_size(stderr);
    exchange.start(200, &[("Content-Type", "application/json")], Some(size));
    exchange.send(start.as_bytes());
    send_encoded(exchange, stdout);
    exchange.send(middle.as_bytes());
    send_encoded(exchange, stderr);
    exchange.send(end.as_bytes());
}

fn send_encoded(exchange: &mut Exchange, bytes: &[u8]) {
    let mut text = String::new();
    for part in bytes.chunks(PART_BYTES) {
        text.clear();
        STANDARD.encode_string(part, &mut text);
        exchange.send(text.as_bytes());
    }
}

/// The fields that every end of a command has, in an answer and in an `exit` frame.
pub fn describe_end(command: &Command, ended: &Ended) -> Answer<String> {
    let (code, signal) = match ended.end {
        End::Exit(Exit::Code(code)) => (code.to_string(), "null".to_owned()),
        End::Exit(Exit::Signal(signal)) => ("null".to_owned(), format!("\"{}\"", signal_name(signal))),
        End::NotStarted(failure) => (explain(command, failure)?.0.to_string(), "null".to_owned()),
    };
    let timed_out = ended.cause == Some(Cause::TimedOut);
    let held_pipes = if ended.held_pipes { ",\"held_pipes\":true" } else { "" };
    Ok(format!("\"exit_code\":{code},\"signal\":{signal},\"timed_out\":{timed_out}{held_pipes}"))
}
