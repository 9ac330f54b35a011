//! One request and its answer on a connection.

use crate::errors::{Answer, Code, Failure, fail};
use crate::http::body::{Place, next_part};
use crate::http::head::Head;
use crate::http::wire::Wire;

pub struct Exchange<'a> {
    pub wire: &'a mut Wire,
    pub head: Head,
    place: Place,
    /// Written and not sent: head and a small body leave together.
    out: Vec<u8>,
    is_answered: bool,
    /// Nothing more may be sent: the client is gone, or an answer was cut short.
    is_broken: bool,
}

const SEND_BYTES: usize = 64 * 1024;
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

impl<'a> Exchange<'a> {
    pub fn new(wire: &'a mut Wire, head: Head) -> Exchange<'a> {
        let place = Place::start(head.body);
        Exchange { wire, head, place, out: Vec::new(), is_answered: false, is_broken: false }
    }

    /// The whole body, up to `max_bytes`.
    pub fn read_body(&mut self, max_bytes: u64) -> Answer<Vec<u8>> {
        let mut whole = Vec::new();
        self.each_part(max_bytes, &mut |bytes| {
            whole.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(whole)
    }

    /// The body in parts as they arrive, up to `max_bytes` in sum.
    pub fn each_part(&mut self, max_bytes: u64, take: &mut dyn FnMut(&[u8]) -> Answer<()>) -> Answer<()> {
        let too_large = || fail(Code::TooLarge, format!("a request may have {max_bytes} bytes"));
        if let Place::Inside { left, .. } = self.place
            && left > max_bytes
        {
            return Err(too_large());
        }
        if self.head.expects_continue && self.place != Place::Done {
            self.head.expects_continue = false;
            self.send(CONTINUE);
            self.flush();
        }
        let (mut allowed, mut part) = (max_bytes, Vec::new());
        loop {
            let bytes = match next_part(self.wire, &mut self.place, allowed, &mut part) {
                Ok([]) => return Ok(()),
                Ok(bytes) => bytes,
                Err(failure) if failure.code == Code::TooLarge => return Err(too_large()),
                Err(failure) => return Err(failure),
            };
            allowed = allowed.saturating_sub(bytes.len() as u64);
            take(bytes)?;
        }
    }

    /// Sends the head of an answer. Without a length the body follows in chunks.
    pub fn start(&mut self, status: u16, headers: &[(&str, &str)], length: Option<u64>) {
        self.is_answered = true;
        let mut text = format!("HTTP/1.1 {status} {}\r\n", reason(status));
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        match length {
            // A 204 has no body and must not say how long it is.
            _ if status == 204 => {}
            Some(length) => text.push_str(&format!("Content-Length: {length}\r\n")),
            None => text.push_str("Transfer-Encoding: chunked\r\n"),
        }
        if !self.may_go_on() {
            text.push_str("Connection: close\r\n");
        }
        text.push_str("\r\n");
        self.send(text.as_bytes());
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
        if self.out.len() >= SEND_BYTES {
            self.flush();
        }
    }

    /// Sends what is written so far.
    pub fn flush(&mut self) {
        let out = std::mem::take(&mut self.out);
        if !self.is_broken && self.wire.write_all(&out).is_err() {
            self.is_broken = true;
        }
    }

    /// For whoever sends it together with what comes next.
    pub fn take_unsent(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    pub fn send_chunk(&mut self, bytes: &[u8]) {
        self.send(format!("{:x}\r\n", bytes.len()).as_bytes());
        self.send(bytes);
        self.send(b"\r\n");
    }

    pub fn send_json(&mut self, status: u16, json: &str) {
        self.start(status, &[("Content-Type", "application/json")], Some(json.len() as u64));
        self.send(json.as_bytes());
    }

    pub fn send_failure(&mut self, failure: &Failure) {
        self.send_failure_with(failure, &[]);
    }

    pub fn send_failure_with(&mut self, failure: &Failure, headers: &[(&str, &str)]) {
        let body = failure.json();
        let headers = [&[("Content-Type", "application/json")], headers].concat();
        self.start(failure.status, &headers, Some(body.len() as u64));
        self.send(body.as_bytes());
    }

    pub fn is_answered(&self) -> bool {
        self.is_answered
    }

    /// Marks the connection as unusable; what was promised in the head can not be kept.
    pub fn give_up(&mut self) {
        self.is_broken = true;
    }

    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Whether the next request can follow on this connection.
    pub fn may_go_on(&self) -> bool {
        self.head.keep_alive && self.place == Place::Done && !self.is_broken
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        206 => "Partial Content",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        410 => "Gone",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        416 => "Range Not Satisfiable",
        429 => "Too Many Requests",
        507 => "Insufficient Storage",
        _ => "Internal Server Error",
    }
}
