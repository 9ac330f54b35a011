//! The answer as frames, one JSON line each, as things happen. A slow reader slows the command; nothing is held here
//! beyond a bound.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::errors::Answer;
use crate::http::exchange::Exchange;
use crate::random;
use crate::run::command::{Command, explain};
use crate::run::one_shot::describe_end;
use crate::run::relay::{Cause, End, Output, Sink, relay};
use crate::service::Service;

/// Of frames that the client has not taken; then the command's pipes are no longer read.
const MAX_PENDING_BYTES: usize = 256 * 1024;
const HEARTBEAT: Duration = Duration::from_secs(10);

struct Frames<'a, 'b> {
    exchange: &'a mut Exchange<'b>,
    job: String,
    pending: Vec<u8>,
    sent: usize,
    offsets: [u64; 2],
    last_frame: Instant,
}

impl Frames<'_, '_> {
    /// Each frame is a chunk of its own.
    fn push(&mut self, frame: &str) {
        self.pending.extend_from_slice(format!("{:x}\r\n{frame}\n\r\n", frame.len() + 1).as_bytes());
        self.last_frame = Instant::now();
    }
}

impl Sink for Frames<'_, '_> {
    fn started(&mut self, pid: i32) {
        // Only now is it sure that this is not an error of the request.
        self.exchange.start(200, &[("Content-Type", "application/x-ndjson")], None);
        self.exchange.flush();
        let frame = format!("{{\"type\":\"start\",\"job\":\"{}\",\"pid\":{pid}}}", self.job);
        self.push(&frame);
    }

    fn take(&mut self, from: Output, bytes: &[u8]) -> bool {
        let (name, offset) = match from {
            Output::Stdout => ("stdout", &mut self.offsets[0]),
            Output::Stderr => ("stderr", &mut self.offsets[1]),
        };
        let mut frame = format!("{{\"type\":\"{name}\",\"offset\":{offset},\"data\":\"");
        *offset += bytes.len() as u64;
        STANDARD.encode_string(bytes, &mut frame);
        frame.push_str("\"}");
        self.push(&frame);
        true
    }

    fn has_room(&self) -> bool {
        self.pending.len() - self.sent < MAX_PENDING_BYTES
    }

    fn has_pending(&self) -> bool {
        self.sent < self.pending.len()
    }

    fn flush(&mut self) -> bool {
        while self.sent < self.pending.len() {
            match self.exchange.wire.write_now(&self.pending[self.sent..]) {
                Ok(0) => return true,
                Ok(size) => self.sent += size,
                Err(_) => return false,
            }
        }
        self.pending.clear();
        self.sent = 0;
        true
    }

    fn next_tick(&self) -> Option<Instant> {
        // Not before the first frame, nor behind a reader who takes nothing: it would pile up.
        (self.exchange.is_answered() && !self.has_pending()).then(|| self.last_frame + HEARTBEAT)
    }

    fn tick(&mut self, _now: Instant) {
        self.push(r#"{"type":"heartbeat"}"#);
    }
}

pub fn answer(
    service: &Arc<Service>,
    exchange: &mut Exchange,
    mut command: Command,
    timeout: Option<Duration>,
) -> Answer<()> {
    let client = exchange.wire.fd();
    let mut frames = Frames {
        exchange,
        job: format!("x-{}", random::name()),
        pending: Vec::new(),
        sent: 0,
        offsets: [0, 0],
        last_frame: Instant::now(),
    };
    let ended = relay(service, &mut command, timeout, client, &mut frames);
    if ended.cause == Some(Cause::ClientGone) {
        frames.exchange.give_up();
        return Ok(());
    }
    let last = match describe_last(&command, &ended.end, &mut frames) {
        Ok(()) => describe_end(&command, &ended).map(|end| format!("{{\"type\":\"exit\",{end}}}")),
        Err(failure) => Err(failure),
    };
    match last {
        Ok(frame) => frames.push(&frame),
        Err(failure) if frames.exchange.is_answered() => {
            // As the body of an error answer has it, with a type before.
            frames.push(&failure.json().replacen('{', "{\"type\":\"error\",", 1));
        }
        Err(failure) => return Err(failure),
    }
    let Frames { exchange, pending, sent, .. } = frames;
    exchange.send(&pending[sent..]);
    exchange.send(b"0\r\n\r\n");
    Ok(())
}

/// A command that could not be started says why on its standard error, as a shell would.
fn describe_last(command: &Command, end: &End, frames: &mut Frames) -> Answer<()> {
    if let End::NotStarted(failure) = end {
        let (_, words) = explain(command, *failure)?;
        frames.take(Output::Stderr, words.as_bytes());
    }
    Ok(())
}
