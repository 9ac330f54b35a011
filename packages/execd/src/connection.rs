//! One connection, on a thread of its own: its requests one after another, each checked before anything is done.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::errors::{Answer, Code, Failure, bad_request, fail};
use crate::files;
use crate::http::exchange::Exchange;
use crate::http::head::{self, Head};
use crate::http::wire::{Fill, Wire};
use crate::jobs;
use crate::run;
use crate::service::Service;
use crate::sys::memory;

/// From the first byte of a request to the end of its head.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Between two requests.
const KEEP_ALIVE: Duration = Duration::from_secs(300);
/// How soon the next one comes while a client is at work; after that, memory is given back.
const BUSY: Duration = Duration::from_secs(1);

pub fn serve(service: &Arc<Service>, socket: OwnedFd, guard: Box<dyn Send>) {
    let mut wire = Wire::guarded(socket, service.stop.clone(), guard);
    loop {
        let head = match read_head(&mut wire) {
            Ok(Some(head)) => head,
            Ok(None) => return,
            Err(failure) => {
                let head = Head::unreadable();
                let mut exchange = Exchange::new(&mut wire, head);
                exchange.send_failure(&failure);
                exchange.flush();
                return wire.linger();
            }
        };
        let mut exchange = Exchange::new(&mut wire, head);
        if let Err(failure) = answer(service, &mut exchange) {
            match exchange.is_answered() {
                false => exchange.send_failure(&failure),
                true => exchange.give_up(),
            }
        }
        exchange.flush();
        if !exchange.may_go_on() {
            return match exchange.is_broken() {
                true => {}
                false => wire.linger(),
            };
        }
    }
}

/// `None` when the client has nothing more to ask.
fn read_head(wire: &mut Wire) -> Answer<Option<Head>> {
    if wire.input().is_empty() && matches!(wire.fill(Instant::now() + BUSY), Ok(Fill::Late)) {
        memory::release();
    }
    let mut until = Instant::now() + if wire.input().is_empty() { KEEP_ALIVE } else { HEAD_TIME };
    loop {
        if let Some((head, size)) = head::parse(wire.input())? {
            wire.consume(size);
            return Ok(Some(head));
        }
        let was_empty = wire.input().is_empty();
        match wire.fill(until) {
            Ok(Fill::Data) if was_empty => until = Instant::now() + HEAD_TIME,
            Ok(Fill::Data) => {}
            Ok(Fill::Late) if !was_empty => return Err(bad_request("the request's head stopped arriving")),
            _ => return Ok(None),
        }
    }
}

fn answer(service: &Arc<Service>, exchange: &mut Exchange) -> Answer<()> {
    check_caller(service, &exchange.head)?;
    if let Some(fence) = exchange.head.header("x-exec-fence") {
        service.fences.pass(fence)?;
    }
    let head = &exchange.head;
    // A base URL that ends in a slash gives two of them.
    let path = head.path.trim_start_matches('/').to_owned();
    let path = if path.is_empty() { "/" } else { path.as_str() };
    if let Some(below) = path.strip_prefix("jobs/").filter(|below| jobs::is_call(&head.method, below)) {
        return jobs::answer(service, exchange, below);
    }
    if let Some(scope) = path.strip_prefix("scopes/").filter(|_| head.method == "DELETE") {
        return jobs::end_scope(service, exchange, scope);
    }
    match (head.method.as_str(), path) {
        ("POST", "/") => run::answer(service, exchange),
        ("GET", "health") => {
            exchange.send_json(200, &service.health());
            Ok(())
        }
        ("GET", "files") => files::get::answer(service, exchange),
        ("PUT", "files") => files::put::answer(service, exchange),
        ("DELETE", "files") => files::remove::answer(service, exchange),
        ("GET", "stat") => files::stat::answer(service, exchange),
        ("GET", "list") => files::list::answer(service, exchange),
        ("GET", "jobs") => jobs::list(service, exchange),
        ("POST", "shutdown") => {
            service.stop_commands();
            exchange.head.keep_alive = false;
            exchange.send_json(200, r#"{"stopped":true}"#);
            Ok(())
        }
        (_, "/" | "health" | "files" | "stat" | "list" | "jobs" | "shutdown") => {
            Err(Failure { status: 405, ..bad_request(format!("{} is not for this path", head.method)) })
        }
        _ => Err(fail(Code::NotFound, "there is no such call")),
    }
}

/// The token; and without one, that no web page is asking: a browser reaches loopback ports for any page.
fn check_caller(service: &Service, head: &Head) -> Answer<()> {
    let refused = || fail(Code::Unauthorized, "unauthorized");
    match &service.config.token {
        Some(token) => {
            let given = head.header("authorization").unwrap_or_default();
            let (scheme, given) = given.split_at_checked(7).unwrap_or_default();
            match scheme.eq_ignore_ascii_case(b"bearer ") && is_equal(given.trim_ascii(), token) {
                true => Ok(()),
                false => Err(refused()),
            }
        }
        None if service.is_tcp() && (head.header("origin").is_some() || !is_local_name(head)) => {
            Err(refused())
        }
        None => Ok(()),
    }
}

/// A page whose name was made to resolve to loopback still asks for its own name.
fn is_local_name(head: &Head) -> bool {
    let host = String::from_utf8_lossy(head.header("host").unwrap_or_default()).into_owned();
    let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _port)| name);
    let bare = name.trim_matches(['[', ']']);
    name == "localhost"
        || bare.parse::<std::net::IpAddr>().is_ok()
        || host.parse::<std::net::IpAddr>().is_ok()
}

/// Takes the same time wherever the first difference is.
fn is_equal(given: &[u8], token: &[u8]) -> bool {
    let difference = given.iter().zip(token).fold(0, |sum, (a, b)| sum | (a ^ b));
    given.len() == token.len() && std::hint::black_box(difference) == 0
}
