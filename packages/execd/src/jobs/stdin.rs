//! `POST U/jobs/ID/stdin`: the body goes straight into the command's pipe, no faster than it is read there.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use crate::errors::{Answer, Code, Failure, fail};
use crate::http::exchange::Exchange;
use crate::jobs::job::{Job, Stdin};
use crate::service::Service;
use crate::sys::fd::{Interest, poll, write_some};

/// For the request's own bytes, or for somebody else's write.
const TURN_TIME: Duration = Duration::from_secs(60);

pub fn answer(service: &Arc<Service>, exchange: &mut Exchange, job: &Job, eof: bool) -> Answer<()> {
    let pipe = take(job)?;
    let client = exchange.wire.fd();
    let mut written = 0u64;
    let result = exchange.each_part(service.config.max_request_bytes, &mut |bytes| {
        let mut rest = bytes;
        while !rest.is_empty() {
            match write_some(pipe.as_raw_fd(), rest) {
                Ok(Some(size)) => {
                    rest = &rest[size..];
                    written += size as u64;
                }
                Ok(None) => wait(&pipe, client, service)?,
                Err(_) => return Err(closed(job, written)),
            }
        }
        Ok(())
    });
    let is_closed = result.as_ref().is_err_and(|failure| failure.code == Code::Conflict);
    job.change(|state| {
        if matches!(state.stdin, Stdin::Taken) {
            let ends = is_closed || (eof && result.is_ok());
            state.stdin = if ends { Stdin::Closed } else { Stdin::Open(pipe) };
        }
    });
    result?;
    exchange.send_json(200, &format!("{{\"written\":{written}}}"));
    Ok(())
}

fn take(job: &Job) -> Answer<OwnedFd> {
    let mut taken = Err(fail(Code::Limit, "another write to this stdin has not ended"));
    job.wait_until(TURN_TIME, |state| {
        match std::mem::replace(&mut state.stdin, Stdin::Taken) {
            Stdin::Open(pipe) => taken = Ok(pipe),
            Stdin::Closed => {
                state.stdin = Stdin::Closed;
                taken = Err(closed(job, 0));
            }
            other => {
                state.stdin = other;
                return false;
            }
        }
        true
    });
    taken
}

fn closed(job: &Job, written: u64) -> Failure {
    let after = if written > 0 { format!(" ({written} bytes were written)") } else { String::new() };
    fail(Code::Conflict, format!("the stdin of job {} is closed{after}", job.key.id))
}

fn wait(pipe: &OwnedFd, client: i32, service: &Service) -> Answer<()> {
    let mut fds = [
        Interest::write(pipe.as_raw_fd()),
        Interest::hangup(client, false),
        Interest::read(service.stop.fd()),
    ];
    let is_polled = poll(&mut fds, None).is_ok();
    match is_polled && !fds[1].is_hung_up() && !fds[2].is_ready() {
        true => Ok(()),
        false => Err(fail(Code::Limit, "the write was given up")),
    }
}
