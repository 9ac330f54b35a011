//! A job's output as frames, one JSON line each, as far as one reader takes them. Nothing is held here beyond a bound.

use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::errors::Failure;
use crate::http::wire::Wire;
use crate::jobs::output::{Cursor, Held};
use crate::jobs::spill::Spill;
use crate::run::relay::Output;

/// Of frames that the reader has not taken; then no more are made.
const MAX_PENDING_BYTES: usize = 64 * 1024;
const PIECE_BYTES: usize = 96 * 1024;
/// Of what the reader has taken; then the rest moves to the front. One who never takes all of it would make it grow.
const MAX_SENT_BYTES: usize = 64 * 1024;
const HEARTBEAT: Duration = Duration::from_secs(10);

pub struct Frames {
    pub cursor: Cursor,
    /// What a frame is made of, kept for the next one.
    piece: Vec<u8>,
    pending: Vec<u8>,
    sent: usize,
    last_frame: Instant,
}

impl Frames {
    pub fn from(offsets: [u64; 2]) -> Frames {
        let cursor = Cursor::from(offsets);
        Frames { cursor, piece: Vec::new(), pending: Vec::new(), sent: 0, last_frame: Instant::now() }
    }

    /// What goes before the first frame.
    pub fn begin(&mut self, head: Vec<u8>) {
        self.pending = head;
    }

    /// Each frame is a chunk of its own.
    fn push(&mut self, frame: &str) {
        self.pending.extend_from_slice(format!("{:x}\r\n{frame}\n\r\n", frame.len() + 1).as_bytes());
        self.last_frame = Instant::now();
    }

    pub fn start(&mut self, job: &str, pid: i32) {
        self.push(&format!("{{\"type\":\"start\",\"job\":\"{job}\",\"pid\":{pid}}}"));
    }

    pub fn exit(&mut self, end: &str) {
        self.push(&format!("{{\"type\":\"exit\",{end}}}"));
    }

    pub fn error(&mut self, failure: &Failure) {
        // As the body of an error answer has it, with a type before.
        self.push(&failure.json().replacen('{', "{\"type\":\"error\",", 1));
    }

    /// The end of the answer's body.
    pub fn finish(&mut self) {
        self.pending.extend_from_slice(b"0\r\n\r\n");
    }

    /// Makes frames of what the reader has not seen; true when there is no more of it.
    pub fn pull(&mut self, held: &Held, spill: &Spill) -> bool {
        while self.pending.len() - self.sent < MAX_PENDING_BYTES {
            match held.next(&mut self.cursor, PIECE_BYTES, spill, &mut self.piece) {
                Some((from, offset)) => self.push_piece(from, offset),
                None => return true,
            }
        }
        false
    }

    /// Written in place: at the rate of a fast command each copy and each fresh buffer shows.
    fn push_piece(&mut self, from: Output, offset: u64) {
        let name = match from {
            Output::Stdout => "stdout",
            Output::Stderr => "stderr",
        };
        let (start, end) = (format!("{{\"type\":\"{name}\",\"offset\":{offset},\"data\":\""), "\"}\n");
        let encoded = self.piece.len().div_ceil(3) * 4;
        let length = start.len() + encoded + end.len();
        self.pending.extend_from_slice(format!("{length:x}\r\n{start}").as_bytes());
        let at = self.pending.len();
        self.pending.resize(at + encoded, 0);
        // It fits: that is how long base64 is.
        let _ = STANDARD.encode_slice(&self.piece, &mut self.pending[at..]);
        self.pending.extend_from_slice(end.as_bytes());
        self.pending.extend_from_slice(b"\r\n");
        self.last_frame = Instant::now();
    }

    pub fn has_pending(&self) -> bool {
        self.sent < self.pending.len()
    }

    /// Sends what goes at once; `false` when the reader is gone.
    pub fn flush(&mut self, wire: &mut Wire) -> bool {
        while self.sent < self.pending.len() {
            match wire.write_now(&self.pending[self.sent..]) {
                Ok(0) => {
                    if self.sent > MAX_SENT_BYTES {
                        self.pending.drain(..self.sent);
                        self.sent = 0;
                    }
                    return true;
                }
                Ok(size) => self.sent += size,
                Err(_) => return false,
            }
        }
        self.pending.clear();
        self.sent = 0;
        true
    }

    /// When it is silent for too long. Not behind a reader who takes nothing: it would pile up.
    pub fn next_heartbeat(&self) -> Option<Instant> {
        (!self.has_pending()).then(|| self.last_frame + HEARTBEAT)
    }

    pub fn heartbeat(&mut self) {
        self.push(r#"{"type":"heartbeat"}"#);
    }
}
