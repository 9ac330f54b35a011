//! The tool socket's frames: `u32` length (big-endian, of what follows), `u8` type, `u32` request id, payload.

pub const PREAMBLE: &[u8] = b"BGS2\n";
/// Of what follows the length.
pub const MAX_FRAME_BYTES: usize = 65_536;
pub const MAX_REQUEST_BYTES: usize = 1_048_576;
const HEAD_BYTES: usize = 5; // type and id

pub const HELLO: u8 = 0x01;
pub const WELCOME: u8 = 0x02;
pub const REQUEST: u8 = 0x10;
pub const STARTED: u8 = 0x11;
pub const STDIN: u8 = 0x12;
pub const STDOUT: u8 = 0x13;
pub const STDERR: u8 = 0x14;
pub const WINDOW: u8 = 0x15;
pub const CANCEL: u8 = 0x16;
pub const EXIT: u8 = 0x17;
pub const PING: u8 = 0x18;
pub const PONG: u8 = 0x19;
pub const ERROR: u8 = 0x1f;

#[derive(Debug, PartialEq, Eq)]
pub struct Frame {
    pub kind: u8,
    pub id: u32,
    pub payload: Vec<u8>,
}

/// Payloads are bounded by whoever makes them, far below what a `u32` can say.
pub fn encode(out: &mut Vec<u8>, kind: u8, id: u32, payload: &[u8]) {
    out.extend_from_slice(&((payload.len() + HEAD_BYTES) as u32).to_be_bytes());
    out.push(kind);
    out.extend_from_slice(&id.to_be_bytes());
    out.extend_from_slice(payload);
}

/// Takes bytes as they arrive, torn anywhere, and gives whole frames.
#[derive(Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    used: usize,
}

impl Decoder {
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.used);
        self.used = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// `Err` when the other side does not speak this protocol; the decoder is of no more use then.
    pub fn next(&mut self) -> Result<Option<Frame>, String> {
        let rest = &self.bytes[self.used..];
        let Some((head, rest)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*head) as usize;
        if !(HEAD_BYTES..=MAX_FRAME_BYTES).contains(&length) {
            return Err(format!("a frame of {length} bytes"));
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let id = u32::from_be_bytes([body[1], body[2], body[3], body[4]]);
        let frame = Frame { kind: body[0], id, payload: body[HEAD_BYTES..].to_vec() };
        self.used += 4 + length;
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_torn_at_every_byte_come_out_whole() {
        let mut sent = Vec::new();
        encode(&mut sent, STDOUT, 7, b"hello");
        encode(&mut sent, EXIT, 0xFFFF_FFFF, b"");
        for cut in 0..=sent.len() {
            let (mut decoder, mut got) = (Decoder::default(), Vec::new());
            for part in [&sent[..cut], &sent[cut..]] {
                decoder.push(part);
                while let Some(frame) = decoder.next().expect("well-formed") {
                    got.push(frame);
                }
            }
            assert_eq!(got[0], Frame { kind: STDOUT, id: 7, payload: b"hello".to_vec() });
            assert_eq!(got[1], Frame { kind: EXIT, id: 0xFFFF_FFFF, payload: Vec::new() });
            assert_eq!(got.len(), 2, "{cut}");
        }
    }

    #[test]
    fn a_length_that_is_not_allowed_is_refused_before_it_arrives() {
        for length in [0u32, 4, MAX_FRAME_BYTES as u32 + 1, u32::MAX] {
            let mut decoder = Decoder::default();
            decoder.push(&length.to_be_bytes());
            assert!(decoder.next().is_err(), "{length}");
        }
    }
}
