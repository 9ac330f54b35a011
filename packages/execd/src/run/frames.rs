//! A job's output as frames, one JSON line each, as far as one reader takes them. Nothing is held here beyond a bound.

use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::errors::Failure;
use crate::http::wire::Wire;
use crate::jobs::output::{Cursor, Held, Piece};
use crate::jobs::spill::Spill;
use crate::run::relay::Output;

/// Of frames that the reader has not taken; then no more are made.
const MAX_PENDING_BYTES: usize = 64 * 1024;
const PIECE_BYTES: usize = 32 * 1024;
const HEARTBEAT: Duration = Duration::from_secs(10);

pub struct Frames {
    pub cursor: Cursor,
    pending: Vec<u8>,
    sent: usize,
    last_frame: Instant,
}

impl Frames {
    pub fn from(offsets: [u64; 2]) -> Frames {
        Frames { cursor: Cursor::from(offsets), pending: Vec::new(), sent: 0, last_frame: Instant::now() }
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
            match held.next(&mut self.cursor, PIECE_BYTES, spill) {
                Some(piece) => self.push_piece(&piece),
                None => return true,
            }
        }
        false
    }

    fn push_piece(&mut self, piece: &Piece) {
        let name = match piece.from {
            Output::Stdout => "stdout",
            Output::Stderr => "stderr",
        };
        let mut frame = format!("{{\"type\":\"{name}\",\"offset\":{},\"data\":\"", piece.offset);
        STANDARD.encode_string(&piece.bytes, &mut frame);
        frame.push_str("\"}");
        self.push(&frame);
    }

    pub fn has_pending(&self) -> bool {
        self.sent < self.pending.len()
    }

    /// Sends what goes at once; `false` when the reader is gone.
    pub fn flush(&mut self, wire: &mut Wire) -> bool {
        while self.sent < self.pending.len() {
            match wire.write_now(&self.pending[self.sent..]) {
                Ok(0) => return true,
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
