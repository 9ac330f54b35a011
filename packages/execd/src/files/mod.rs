//! File calls: bytes raw in both directions, paths as percent-encoded bytes. Under `EXECD_RUN_AS` the thread that runs
//! them has the user's rights on files, so each of these can be written as if nobody else existed.

pub mod about;
pub mod get;
pub mod list;
pub mod put;
pub mod remove;
pub mod stat;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::errors::{Answer, bad_request};
use crate::http::query::Query;
use crate::service::Service;

/// The call's `path`, beneath the root when it is relative.
fn path(service: &Service, query: &Query) -> Answer<PathBuf> {
    match query.bytes("path") {
        None | Some(b"") => Err(bad_request("path is missing")),
        Some(bytes) => Ok(service.config.root.join(OsStr::from_bytes(bytes))),
    }
}
