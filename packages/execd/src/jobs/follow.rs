//! Sends a job's frames to somebody who reads: from the offsets that were asked for, live until its end or for a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::errors::{Answer, Code, describe, fail};
use crate::http::exchange::Exchange;
use crate::jobs::job::{Job, Phase};
use crate::run::frames::Frames;
use crate::sys::fd::{Flag, Interest, poll};

/// From the first frame on.
pub fn begin(
    exchange: &mut Exchange,
    job: &Arc<Job>,
    offsets: [u64; 2],
    time: Option<Duration>,
) -> Answer<()> {
    let watch = watch(job)?;
    let pid = loop {
        let phase = job.lock().phase.clone();
        match phase {
            Phase::Running { pid } | Phase::Ended { pid, .. } => break pid,
            Phase::NotStarted(failure) => return Err(failure),
            Phase::Starting => {
                let mut fds = [Interest::read(watch.fd()), Interest::hangup(exchange.wire.fd(), false)];
                let is_polled = poll(&mut fds, None).is_ok();
                if !is_polled || fds[1].is_hung_up() {
                    exchange.give_up();
                    return Ok(());
                }
                watch.clear();
            }
        }
    };
    let mut frames = Frames::from(offsets);
    start(exchange, &mut frames, job, pid);
    go_on(exchange, job, frames, Some(&watch), time)
}

/// The answer's head and the first frame, to be sent with what follows at once.
pub fn start(exchange: &mut Exchange, frames: &mut Frames, job: &Job, pid: i32) {
    exchange.start(200, &[("Content-Type", "application/x-ndjson")], None);
    frames.begin(exchange.take_unsent());
    frames.start(&job.key.id, pid);
}

pub fn watch(job: &Arc<Job>) -> Answer<Arc<Flag>> {
    let flag = Flag::new().map_err(|error| {
        fail(Code::Limit, format!("nobody more can read of this job: {}", describe(&error)))
    })?;
    let flag = Arc::new(flag);
    job.watch(&flag);
    Ok(flag)
}

/// A job that has ended needs no `watch`.
pub fn go_on(
    exchange: &mut Exchange,
    job: &Arc<Job>,
    mut frames: Frames,
    watch: Option<&Flag>,
    time: Option<Duration>,
) -> Answer<()> {
    let until = time.and_then(|time| Instant::now().checked_add(time));
    let (mut is_done, mut is_all) = (false, false);
    // What there was when the time was over is still sent, and no more.
    let mut last_offsets = None;
    loop {
        let now = Instant::now();
        if !is_done {
            let state = job.lock();
            is_all = frames.pull(&state.held, &job.spill);
            if until.is_some_and(|until| now >= until) && last_offsets.is_none() {
                last_offsets = Some(state.held.totals());
            }
            let has_last =
                last_offsets.is_some_and(|last| (0..2).all(|at| frames.cursor.seen[at] >= last[at]));
            match &state.phase {
                Phase::Ended { end, .. } if is_all => {
                    frames.exit(end);
                    is_done = true;
                }
                Phase::NotStarted(failure) => {
                    frames.error(failure);
                    is_done = true;
                }
                _ => is_done = last_offsets.is_some() && (is_all || has_last),
            }
            if is_done {
                frames.finish();
            }
        }
        if !frames.flush(exchange.wire) {
            exchange.give_up();
            return Ok(());
        }
        if is_done && !frames.has_pending() {
            return Ok(());
        }
        if !is_all && !frames.has_pending() {
            continue;
        }
        if frames.next_heartbeat().is_some_and(|at| now >= at) {
            frames.heartbeat();
            continue;
        }
        let waits_for_job = !is_done && !frames.has_pending();
        // A job that has ended raises its flag no more: what is held is taken before anybody waits.
        if waits_for_job && !is_all {
            continue;
        }
        let mut fds = [
            Interest::hangup(exchange.wire.fd(), frames.has_pending()),
            watch.filter(|_| waits_for_job).map_or(Interest::none(), |watch| Interest::read(watch.fd())),
        ];
        let times = [frames.next_heartbeat(), until.filter(|_| last_offsets.is_none())];
        let time = times.into_iter().flatten().min().map(|at| at.saturating_duration_since(Instant::now()));
        if poll(&mut fds, time).is_err() || fds[0].is_hung_up() {
            exchange.give_up();
            return Ok(());
        }
        if let (Some(watch), true) = (watch, fds[1].is_ready()) {
            watch.clear();
        }
    }
}
