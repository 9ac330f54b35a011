//! A request's body as it arrives, by length or in chunks, never more than the caller allows.

use std::time::Instant;

use crate::errors::{Answer, Code, Failure, bad_request, fail};
use crate::http::head::Framing;
use crate::http::wire::{Fill, STALL, Wire};

const MAX_CHUNK_HEAD_BYTES: usize = 256;

/// Where in the body the next byte is.
#[derive(Debug, PartialEq, Eq)]
pub enum Place {
    /// In a body, or in a chunk, of which so much is left.
    Inside {
        left: u64,
        is_chunk: bool,
    },
    BeforeChunk,
    Done,
}

impl Place {
    pub fn start(framing: Framing) -> Place {
        match framing {
            Framing::Length(0) => Place::Done,
            Framing::Length(left) => Place::Inside { left, is_chunk: false },
            Framing::Chunked => Place::BeforeChunk,
        }
    }
}

/// The next part of the body, empty at its end. `allowed` is what may still come; more is `too_large`.
pub fn next_part<'a>(
    wire: &'a mut Wire,
    place: &mut Place,
    allowed: u64,
    part: &'a mut Vec<u8>,
) -> Answer<&'a [u8]> {
    part.clear();
    loop {
        match place {
            Place::Done => return Ok(part),
            Place::BeforeChunk => *place = read_chunk_head(wire)?,
            Place::Inside { left, .. } if *left > allowed => return Err(too_large(allowed)),
            Place::Inside { left, is_chunk } => {
                if wire.input().is_empty() {
                    fill(wire)?;
                    continue;
                }
                let size = wire.input().len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                part.extend_from_slice(&wire.input()[..size]);
                wire.consume(size);
                *left -= size as u64;
                if *left == 0 {
                    if *is_chunk {
                        expect_line_end(wire)?;
                    }
                    *place = if *is_chunk { Place::BeforeChunk } else { Place::Done };
                }
                return Ok(part);
            }
        }
    }
}

fn read_chunk_head(wire: &mut Wire) -> Answer<Place> {
    loop {
        match httparse::parse_chunk_size(wire.input()) {
            Ok(httparse::Status::Complete((size, 0))) => {
                wire.consume(size);
                // Trailers could set headers behind a proxy's back; there are none in this protocol.
                expect_line_end(wire)?;
                return Ok(Place::Done);
            }
            Ok(httparse::Status::Complete((size, left))) => {
                wire.consume(size);
                return Ok(Place::Inside { left, is_chunk: true });
            }
            Ok(httparse::Status::Partial) if wire.input().len() < MAX_CHUNK_HEAD_BYTES => fill(wire)?,
            _ => return Err(bad_request("malformed chunk")),
        }
    }
}

fn expect_line_end(wire: &mut Wire) -> Answer<()> {
    while wire.input().len() < 2 {
        fill(wire)?;
    }
    if !wire.input().starts_with(b"\r\n") {
        return Err(bad_request("malformed chunk"));
    }
    wire.consume(2);
    Ok(())
}

fn fill(wire: &mut Wire) -> Answer<()> {
    match wire.fill(Instant::now() + STALL) {
        Ok(Fill::Data) => Ok(()),
        Ok(Fill::Late) => Err(bad_request("the body stopped arriving")),
        Ok(Fill::End) | Err(_) => Err(bad_request("the body ended early")),
    }
}

fn too_large(allowed: u64) -> Failure {
    fail(Code::TooLarge, format!("the body is over the limit by more than the {allowed} bytes still allowed"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    use super::*;
    use crate::sys::fd::Flag;

    fn read(framing: Framing, sent: &[u8], max: u64) -> Answer<Vec<u8>> {
        let (mut far, near) = UnixStream::pair().expect("a pair");
        far.write_all(sent).expect("sent");
        drop(far);
        let mut wire = Wire::new(near.into(), Arc::new(Flag::new().expect("a flag")));
        let (mut place, mut whole, mut part) = (Place::start(framing), Vec::new(), Vec::new());
        loop {
            let allowed = max - whole.len() as u64;
            match next_part(&mut wire, &mut place, allowed, &mut part)? {
                [] => return Ok(whole),
                bytes => whole.extend_from_slice(bytes),
            }
        }
    }

    #[test]
    fn a_body_ends_where_it_says() {
        assert_eq!(read(Framing::Length(5), b"hello and more", 99).expect("a body"), b"hello");
        assert_eq!(
            read(Framing::Chunked, b"3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\nmore", 99).expect("a body"),
            b"hello"
        );
    }

    #[test]
    fn torn_malformed_and_large_bodies_are_refused() {
        assert!(read(Framing::Length(5), b"hell", 99).is_err());
        for sent in [
            &b"3\r\nhello\r\n0\r\n\r\n"[..],
            b"zz\r\n",
            b"3\r\nhel",
            b"0\r\nX: y\r\n\r\n",
            b"-1\r\n",
            b"fffffffffffffffff\r\n",
        ] {
            assert!(read(Framing::Chunked, sent, 99).is_err());
        }
        assert_eq!(read(Framing::Length(5), b"hello", 4).expect_err("large").code, Code::TooLarge);
        assert_eq!(
            read(Framing::Chunked, b"3\r\nhel\r\n3\r\nlo!\r\n0\r\n\r\n", 5).expect_err("large").code,
            Code::TooLarge
        );
    }
}
