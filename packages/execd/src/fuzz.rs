//! A fuzzer for every parser of outside bytes: mutated examples in, no panic out. It prints its start number, with which
//! a failure is replayed: `EXECD_FUZZ_START=<n> EXECD_FUZZ_COUNT=1 cargo test fuzz`.

use crate::files::get;
use crate::forward;
use crate::http::{head, query};
use crate::jobs::notify;
use crate::names;
use crate::run::request;
use crate::tool_client::fuzzed as tool_client;

const EXAMPLES: [&[u8]; 12] = [
    b"POST /files?path=%2Fa&parents=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\nConnection: close\r\n\r\n",
    b"PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    br#"{"command":"c","args":["a"],"cwd":"d","env":{"A":"1","B":null},"stdin":"aGk\/","timeout_ms":5,"stream":true}"#,
    b"path=%ff%00&limit=10&depth=+3",
    b"bytes=0-99",
    b"bytes=-18446744073709551615",
    b"\x00\x00\x00\x0a\x13\x00\x00\x00\x01hello\x00\x00\x00\x05\x17\x00\x00\x00\x01",
    br#"{"exit_code":3,"signal":"SIGKILL","timed_out":false,"error":{"code":"denied","message":"no"}}"#,
    b"root:x:0:0:root:/root:/bin/sh\nagent:x:1000:1001::/home/agent:/bin/sh\n",
    br#"{"command":"c","stdin_open":true,"job":{"id":"a","scope":"s","keep":true,"ttl_s":5,"notify":{"url":"http://h:1/p","token":"t"}}}"#,
    b"http://[::1]:80/p?q",
    b"127.0.0.1:3128=/a/b.sock,[::1]:80=/c",
];

/// xorshift64: repeatable, and good enough to pick places and bytes.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

fn mutated(random: &mut Random) -> Vec<u8> {
    let mut bytes = EXAMPLES[random.below(EXAMPLES.len())].to_vec();
    for _ in 0..random.below(8) {
        let at = random.below(bytes.len());
        match random.below(5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, random.below(256) as u8),
            2 if !bytes.is_empty() => bytes[at] = random.below(256) as u8,
            3 => bytes.extend_from_within(at..),
            _ => bytes.extend_from_slice(EXAMPLES[random.below(EXAMPLES.len())]),
        }
    }
    bytes
}

fn parse_everything(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = head::parse(bytes);
    let _ = query::parse(&text, &["path", "limit", "depth"]).map(|query| query.number("limit", 1, 10));
    let _ = request::parse(bytes);
    let _ = request::parse_patch(bytes);
    notify::fuzzed(bytes);
    let _ = forward::parse(&text);
    let _ = names::find_user("agent", &text, &text);
    get::fuzzed(bytes);
    tool_client::parse(bytes);
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn no_input_panics_a_parser() {
    let start = variable("EXECD_FUZZ_START").unwrap_or_else(|| std::process::id().into());
    let count = variable("EXECD_FUZZ_COUNT").unwrap_or(20_000);
    println!("start {start}, count {count}");
    for number in start..start + count {
        let bytes = mutated(&mut Random(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1));
        let result = std::panic::catch_unwind(|| parse_everything(&bytes));
        assert!(result.is_ok(), "EXECD_FUZZ_START={number} EXECD_FUZZ_COUNT=1: {}", bytes.escape_ascii());
    }
}
