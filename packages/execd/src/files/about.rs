//! What is known about a file without opening it.

use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::errors::{Answer, bad_request};

pub fn kind(about: &Metadata) -> &'static str {
    let kind = about.file_type();
    match () {
        _ if kind.is_file() => "file",
        _ if kind.is_dir() => "directory",
        _ if kind.is_symlink() => "symlink",
        _ if kind.is_fifo() => "fifo",
        _ if kind.is_socket() => "socket",
        _ => "device",
    }
}

/// Anything else is named and not opened: a fifo would wait for its other end, a device may act.
pub fn require_file(path: &Path, about: &Metadata) -> Answer<()> {
    match kind(about) {
        "file" => Ok(()),
        other => Err(bad_request(format!("{} is a {other} and not a file", path.display()))),
    }
}

/// Size, time and inode: another file in the same place has another one even when its time is the same.
pub fn etag(about: &Metadata) -> String {
    let mtime_ns = i128::from(about.mtime()) * 1_000_000_000 + i128::from(about.mtime_nsec());
    format!("\"{}-{mtime_ns}-{}\"", about.len(), about.ino())
}

/// Permission bits, without the kind.
pub fn mode(about: &Metadata) -> u32 {
    about.mode() & 0o7777
}

/// The fields of a stat answer and of a list's entry. `target` is where a symbolic link leads, in its own words.
pub fn json_fields(about: &Metadata, target: Option<&Path>) -> String {
    let mtime_ms = i128::from(about.mtime()) * 1000 + i128::from(about.mtime_nsec() / 1_000_000);
    let mut fields = format!(
        "\"kind\":\"{}\",\"size\":{},\"mtime_ms\":{mtime_ms},\"mode\":{}",
        kind(about),
        about.len(),
        mode(about)
    );
    if let Some(target) = target {
        fields.push(',');
        fields.push_str(&json_bytes("target", target.as_os_str().as_bytes()));
    }
    fields
}

/// `"name":"text"`, or `"name_b64":"…"` where the bytes are no text.
pub fn json_bytes(name: &str, bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => format!("\"{name}\":{}", serde_json::Value::from(text)),
        Err(_) => format!("\"{name}_b64\":\"{}\"", STANDARD.encode(bytes)),
    }
}
