//! A request's head. Anything that two programs could read in two ways (two lengths, a length and chunks, a folded
//! header, HTTP/1.0) is refused, so nothing can be smuggled past a proxy.

use crate::errors::{Answer, bad_request};

pub const MAX_HEAD_BYTES: usize = 32 * 1024; // a path of 4096 bytes is 12 KiB when every byte is encoded
const MAX_HEADERS: usize = 64;

#[derive(Debug, PartialEq, Eq)]
pub struct Head {
    pub method: String,
    pub path: String,
    /// Behind the `?`, as sent.
    pub query: String,
    pub body: Framing,
    pub keep_alive: bool,
    pub expects_continue: bool,
    headers: Vec<(String, Vec<u8>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    Length(u64),
    Chunked,
}

impl Head {
    /// In place of one that could not be read: what follows on that connection means nothing.
    pub fn unreadable() -> Head {
        Head {
            method: String::new(),
            path: String::new(),
            query: String::new(),
            body: Framing::Length(0),
            keep_alive: false,
            expects_continue: false,
            headers: Vec::new(),
        }
    }

    /// The value of a header that may be sent once, by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
    }
}

/// The head at the start of `bytes` and its size, or `None` while it is not complete.
pub fn parse(bytes: &[u8]) -> Answer<Option<(Head, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let size = match request.parse(bytes) {
        Ok(httparse::Status::Complete(size)) => size,
        Ok(httparse::Status::Partial) if bytes.len() >= MAX_HEAD_BYTES => {
            return Err(bad_request("the request's head is too long"));
        }
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(bad_request(format!("malformed request: {error}"))),
    };
    if request.version != Some(1) {
        return Err(bad_request("HTTP/1.1 only"));
    }
    let target = request.path.unwrap_or_default();
    if !target.starts_with('/') {
        return Err(bad_request("the request's target is not a path"));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut head = Head {
        method: request.method.unwrap_or_default().to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        ..Head::unreadable()
    };
    for header in request.headers.iter() {
        let name = header.name.to_ascii_lowercase();
        if !MAY_REPEAT.contains(&name.as_str()) && head.header(&name).is_some() {
            return Err(bad_request(format!("header {name} is sent twice")));
        }
        head.headers.push((name, header.value.to_vec()));
    }
    read_framing(&mut head)?;
    Ok(Some((head, size)))
}

/// Lists by their definition, none of which we read.
const MAY_REPEAT: [&str; 7] =
    ["accept", "accept-encoding", "accept-language", "cookie", "forwarded", "via", "x-forwarded-for"];

fn read_framing(head: &mut Head) -> Answer<()> {
    if head.header("host").is_none() {
        return Err(bad_request("header host is missing"));
    }
    let length = head.header("content-length").map(parse_length).transpose()?;
    let coding = head.header("transfer-encoding");
    head.body = match (length, coding) {
        (Some(_), Some(_)) => return Err(bad_request("both content-length and transfer-encoding")),
        (None, Some(coding)) if coding.eq_ignore_ascii_case(b"chunked") => Framing::Chunked,
        (None, Some(_)) => return Err(bad_request("the only transfer-encoding is chunked")),
        (length, None) => Framing::Length(length.unwrap_or(0)),
    };
    let connection = head.header("connection").unwrap_or_default().to_ascii_lowercase();
    head.keep_alive = !connection.split(|byte| *byte == b',').any(|option| option.trim_ascii() == b"close");
    head.expects_continue = match head.header("expect") {
        None => false,
        Some(value) if value.eq_ignore_ascii_case(b"100-continue") => true,
        Some(_) => return Err(bad_request("the only expectation is 100-continue")),
    };
    Ok(())
}

fn parse_length(value: &[u8]) -> Answer<u64> {
    let is_number = !value.is_empty() && value.iter().all(|byte| byte.is_ascii_digit());
    let text = std::str::from_utf8(value).unwrap_or_default();
    match text.parse() {
        Ok(length) if is_number => Ok(length),
        _ => Err(bad_request("content-length is not a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Head {
        parse(text.as_bytes()).expect("well-formed").expect("complete").0
    }

    #[test]
    fn a_plain_request_is_read() {
        let text = "POST /stat?path=%2Fa HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\nConnection: keep-alive\r\n\r\nrest";
        let (head, size) = parse(text.as_bytes()).expect("well-formed").expect("complete");
        assert_eq!(
            (head.method.as_str(), head.path.as_str(), head.query.as_str()),
            ("POST", "/stat", "path=%2Fa")
        );
        assert_eq!((head.body, head.keep_alive), (Framing::Length(12), true));
        assert_eq!(&text[size..], "rest");
    }

    #[test]
    fn every_beginning_of_a_head_is_incomplete_and_not_an_error() {
        let text = b"GET / HTTP/1.1\r\nHost: x\r\nX-Exec-Fence: a 1\r\n\r\n";
        for end in 0..text.len() {
            assert_eq!(parse(&text[..end]).expect("no error"), None, "{end}");
        }
    }

    #[test]
    fn framing_and_connection_are_read() {
        let head = parsed(
            "PUT /files HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\nExpect: 100-continue\r\nConnection: foo, Close\r\n\r\n",
        );
        assert_eq!((head.body, head.keep_alive, head.expects_continue), (Framing::Chunked, false, true));
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        for headers in [
            "Content-Length: 1\r\nContent-Length: 1",
            "Content-Length: 1\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: gzip, chunked",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "Content-Length: +1",
            "Content-Length: 1, 1",
            "Content-Length: 0x1",
            "Content-Length:",
            "Content-Length: 99999999999999999999",
            "Content-Length : 1",
            "X: a\r\n folded",
            "Expect: something",
            "Authorization: a\r\nAuthorization: b",
        ] {
            let text = format!("POST / HTTP/1.1\r\nHost: x\r\n{headers}\r\n\r\n");
            assert!(parse(text.as_bytes()).is_err(), "{headers}");
        }
        for text in [
            "GET / HTTP/1.0\r\nHost: x\r\n\r\n",
            "GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "\x16\x03\x01",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        let long = format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}", "a".repeat(MAX_HEAD_BYTES));
        assert!(parse(long.as_bytes()).is_err());
    }
}
