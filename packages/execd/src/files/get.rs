//! `GET U/files`: a file's bytes, or a range of them.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use crate::errors::{Answer, Failure, bad_request, system};
use crate::files::{about, path};
use crate::http::exchange::Exchange;
use crate::http::query;
use crate::service::Service;

const READ_BYTES: usize = 64 * 1024;

pub fn answer(service: &Arc<Service>, exchange: &mut Exchange) -> Answer<()> {
    let path = path(service, &query::parse(&exchange.head.query, &["path"])?)?;
    let mut file = open(&path)?;
    let found = file.metadata().map_err(|error| system(&path.display().to_string(), &error))?;
    about::require_file(&path, &found)?;
    let size = found.len();
    let (etag, mode) = (about::etag(&found), format!("{:04o}", about::mode(&found)));
    let mut headers = vec![
        ("Content-Type", "application/octet-stream"),
        ("Accept-Ranges", "bytes"),
        ("ETag", etag.as_str()),
        ("X-File-Kind", "file"),
        ("X-File-Mode", mode.as_str()),
    ];
    let range = exchange.head.header("range").and_then(parse_range);
    let Some(range) = range else {
        // Files such as those of /proc have bytes, but say that their size is 0.
        if size == 0 {
            return send_unsized(exchange, &mut file, &headers);
        }
        exchange.start(200, &headers, Some(size));
        send_exactly(exchange, &mut file, size);
        return Ok(());
    };
    let Some((first, last)) = within(range, size) else {
        let content_range = format!("bytes */{size}");
        let failure = Failure { status: 416, ..bad_request(format!("the file has {size} bytes")) };
        // Who asked for a part behind the end, or for one of an empty file, learns the rest all the same.
        let known = [&headers[1..], &[("Content-Range", content_range.as_str())]].concat();
        exchange.send_failure_with(&failure, &known);
        return Ok(());
    };
    let content_range = format!("bytes {first}-{last}/{size}");
    headers.push(("Content-Range", &content_range));
    file.seek(SeekFrom::Start(first)).map_err(|error| system(&path.display().to_string(), &error))?;
    exchange.start(206, &headers, Some(last - first + 1));
    send_exactly(exchange, &mut file, last - first + 1);
    Ok(())
}

/// The kind is looked at first. Should another thing take the file's place meanwhile, O_NONBLOCK keeps its opening from
/// waiting, and the caller looks again.
fn open(path: &Path) -> Answer<File> {
    let failed = |error| system(&path.display().to_string(), &error);
    about::require_file(path, &std::fs::metadata(path).map_err(failed)?)?;
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(failed)
}

fn send_exactly(exchange: &mut Exchange, file: &mut File, mut left: u64) {
    let mut buffer = vec![0u8; READ_BYTES];
    while left > 0 && !exchange.is_broken() {
        let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        match file.read(&mut buffer[..wanted]) {
            // It shrank, or can not be read: the promised length can not be kept, and a short body says so.
            Ok(0) | Err(_) => {
                exchange.flush();
                return exchange.give_up();
            }
            Ok(size) => {
                exchange.send(&buffer[..size]);
                left -= size as u64;
            }
        }
    }
}

fn send_unsized(exchange: &mut Exchange, file: &mut File, headers: &[(&str, &str)]) -> Answer<()> {
    let mut buffer = vec![0u8; READ_BYTES];
    let mut size = file.read(&mut buffer).map_err(|error| system("read", &error))?;
    exchange.start(200, headers, (size == 0).then_some(0));
    if size == 0 {
        return Ok(());
    }
    while size > 0 && !exchange.is_broken() {
        exchange.send_chunk(&buffer[..size]);
        size = match file.read(&mut buffer) {
            Ok(size) => size,
            Err(_) => {
                exchange.give_up();
                return Ok(());
            }
        };
    }
    exchange.send(b"0\r\n\r\n");
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
enum Range {
    /// First byte, and last one where it is said.
    From(u64, Option<u64>),
    Last(u64),
}

/// One range. What is malformed or more than one is answered with the whole file, as HTTP has it.
fn parse_range(header: &[u8]) -> Option<Range> {
    let text = std::str::from_utf8(header).ok()?.strip_prefix("bytes=")?;
    let (first, last) = text.split_once('-')?;
    let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse::<u64>().ok(),
        false => None,
    };
    match (first, last) {
        ("", last) => Some(Range::Last(number(last)?)),
        (first, "") => Some(Range::From(number(first)?, None)),
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some(Range::From(first, Some(last)))
        }
    }
}

/// First and last byte, or `None` when the file has none of them.
fn within(range: Range, size: u64) -> Option<(u64, u64)> {
    let end = size.checked_sub(1)?;
    match range {
        Range::From(first, last) => (first <= end).then(|| (first, last.unwrap_or(end).min(end))),
        Range::Last(count) => (count > 0).then(|| (size.saturating_sub(count), end)),
    }
}

#[cfg(test)]
pub fn fuzzed(header: &[u8]) {
    for size in [0, 1, 10, u64::MAX] {
        if let Some((first, last)) = parse_range(header).and_then(|range| within(range, size)) {
            assert!(first <= last && last < size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_to_the_file() {
        let cut = |header: &str, size| within(parse_range(header.as_bytes()).expect("a range"), size);
        assert_eq!(cut("bytes=0-3", 10), Some((0, 3)));
        assert_eq!(cut("bytes=4-", 10), Some((4, 9)));
        assert_eq!(cut("bytes=-3", 10), Some((7, 9)));
        assert_eq!(cut("bytes=-30", 10), Some((0, 9)));
        assert_eq!(cut("bytes=5-99", 10), Some((5, 9)));
        for header in ["bytes=10-", "bytes=-0", "bytes=10-20"] {
            assert_eq!(cut(header, 10), None, "{header}");
        }
        assert_eq!(cut("bytes=0-", 0), None);
    }

    #[test]
    fn what_is_not_one_range_is_none() {
        for header in
            ["bytes=3-1", "bytes=a-b", "bytes=0-1,3-4", "lines=1-2", "bytes=-", "bytes=--1", "bytes=+1-2"]
        {
            assert_eq!(parse_range(header.as_bytes()), None, "{header}");
        }
    }
}
