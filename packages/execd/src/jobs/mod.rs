//! `U/jobs` and `U/scopes`: commands that may outlive whoever started them.

pub mod follow;
pub mod job;
pub mod notify;
pub mod output;
pub mod registry;
pub mod spill;
mod stdin;

use std::sync::Arc;
use std::time::Duration;

use crate::errors::{Answer, bad_request};
use crate::http::exchange::Exchange;
use crate::http::query::{self, Query};
use crate::jobs::job::{Job, Key};
use crate::run::request::{is_id, is_scope, parse_patch};
use crate::service::Service;

const MAX_PATCH_BYTES: u64 = 64 * 1024;
const MAX_WAIT_MS: u64 = 24 * 3600 * 1000;

/// A call below `jobs/`; the path is what follows.
pub fn is_call(method: &str, path: &str) -> bool {
    let what = path.split_once('/').map(|(_, what)| what);
    matches!(
        (method, what),
        ("GET" | "PATCH" | "DELETE", None) | ("GET", Some("output")) | ("POST", Some("stdin"))
    )
}

pub fn answer(service: &Arc<Service>, exchange: &mut Exchange, path: &str) -> Answer<()> {
    let (id, what) = path.split_once('/').unwrap_or((path, ""));
    let known: &[&str] = match what {
        "output" => &["scope", "stdout", "stderr", "wait_ms"],
        "stdin" => &["scope", "eof"],
        _ => &["scope"],
    };
    let query = query::parse(&exchange.head.query, known)?;
    let key = Key { scope: scope_of(&query)?, id: id_of(id)? };
    let job = service.jobs.find(&key)?;
    match (exchange.head.method.as_str(), what) {
        (_, "output") => send_output(exchange, &job, &query),
        (_, "stdin") => {
            let eof = query.is_set("eof")?;
            stdin::answer(service, exchange, &job, eof)
        }
        ("PATCH", _) => {
            let body = exchange.read_body(MAX_PATCH_BYTES)?;
            service.jobs.keep(&job, parse_patch(&body)?)?;
            exchange.send_json(200, &job.state_json());
            Ok(())
        }
        ("DELETE", _) => {
            service.jobs.kill(std::slice::from_ref(&job))?;
            exchange.send_json(200, &job.state_json());
            Ok(())
        }
        _ => {
            exchange.send_json(200, &job.state_json());
            Ok(())
        }
    }
}

fn send_output(exchange: &mut Exchange, job: &Arc<Job>, query: &Query) -> Answer<()> {
    let offset = |name| Ok(query.whole(name, u64::MAX)?.unwrap_or(0));
    let offsets = [offset("stdout")?, offset("stderr")?];
    let time = query.whole("wait_ms", MAX_WAIT_MS)?.map(Duration::from_millis);
    follow::begin(exchange, job, offsets, time)
}

pub fn list(service: &Arc<Service>, exchange: &mut Exchange) -> Answer<()> {
    let query = query::parse(&exchange.head.query, &["scope"])?;
    let jobs = service.jobs.list(&scope_of(&query)?);
    let states: Vec<_> = jobs.iter().map(|job| job.state_json()).collect();
    exchange.send_json(200, &format!("{{\"jobs\":[{}]}}", states.join(",")));
    Ok(())
}

/// `DELETE U/scopes/S`
pub fn end_scope(service: &Arc<Service>, exchange: &mut Exchange, path: &str) -> Answer<()> {
    let scope = query::decode_path(path)?;
    if !is_scope(&scope) {
        return Err(bad_request("scope is not 1 to 128 printable ASCII characters without spaces"));
    }
    let jobs = service.jobs.list(&scope);
    let running = jobs.iter().filter(|job| !job.lock().phase.is_over()).count();
    service.jobs.kill(&jobs)?;
    let forgotten = service.jobs.forget_scope(&scope);
    exchange.send_json(200, &format!("{{\"killed\":{running},\"forgotten\":{forgotten}}}"));
    Ok(())
}

/// Streamed commands that were given no job have none.
fn scope_of(query: &Query) -> Answer<String> {
    let bytes = query.bytes("scope").unwrap_or_default();
    match std::str::from_utf8(bytes) {
        Ok(scope) if scope.is_empty() || is_scope(scope) => Ok(scope.to_owned()),
        _ => Err(bad_request("scope is not 1 to 128 printable ASCII characters without spaces")),
    }
}

fn id_of(part: &str) -> Answer<String> {
    let id = query::decode_path(part)?;
    match is_id(&id) {
        true => Ok(id),
        false => Err(bad_request("a job's id is 1 to 128 of A-Z a-z 0-9 . _ -")),
    }
}
