//! One streamed command or job: what it is, what it does, what it has said, and who wants to know.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::errors::Failure;
use crate::jobs::notify::Receiver;
use crate::jobs::output::{Bounds, Held};
use crate::jobs::spill::Spill;
use crate::run::relay::Output;
use crate::run::request::{DEFAULT_TTL, Request};
use crate::sys::fd::Flag;

/// Of a command's arguments in its state; a list of jobs must not hold megabytes of them.
const MAX_SHOWN_BYTES: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub scope: String,
    pub id: String,
}

pub struct Job {
    pub key: Key,
    /// Of what it runs: the same id with another one is a conflict.
    pub digest: [u64; 2],
    /// The caller gave the id, so somebody may come back with it.
    pub is_named: bool,
    pub ttl: Duration,
    pub spill: Arc<Spill>,
    /// Raised when whoever relays for it has something to heed.
    pub wake: Flag,
    /// `"command":…,"args":…,"cwd":…`
    about: String,
    started_at_ms: u128,
    state: Mutex<State>,
    changed: Condvar,
}

pub struct State {
    pub phase: Phase,
    pub held: Held,
    pub is_kept: bool,
    pub is_killed: bool,
    pub notify: Option<Receiver>,
    pub stdin: Stdin,
    watchers: Vec<Weak<Flag>>,
}

#[derive(Clone, Debug)]
pub enum Phase {
    Starting,
    Running {
        pid: i32,
    },
    Ended {
        pid: i32,
        at_ms: u128,
        /// `"exit_code":…,"signal":…,"timed_out":…`
        end: String,
    },
    /// No process could be made for it: it never was.
    NotStarted(Failure),
}

impl Phase {
    pub fn is_over(&self) -> bool {
        matches!(self, Phase::Ended { .. } | Phase::NotStarted(_))
    }
}

#[derive(Debug)]
pub enum Stdin {
    /// The request's own bytes are being written.
    Filling,
    Open(OwnedFd),
    /// Somebody writes to it.
    Taken,
    Closed,
}

impl Job {
    pub fn new(
        key: Key,
        digest: [u64; 2],
        request: &Request,
        cwd: &str,
        bounds: Bounds,
        spill: Arc<Spill>,
        wake: Flag,
    ) -> Job {
        let job = request.job.as_ref();
        let state = State {
            phase: Phase::Starting,
            held: Held::new(bounds),
            is_kept: job.is_some_and(|job| job.keep),
            is_killed: false,
            notify: job.and_then(|job| job.notify.clone()),
            stdin: if request.stdin_open { Stdin::Filling } else { Stdin::Closed },
            watchers: Vec::new(),
        };
        Job {
            key,
            digest,
            is_named: job.is_some(),
            ttl: job.map_or(DEFAULT_TTL, |job| job.ttl),
            spill,
            wake,
            about: describe(&request.command, &request.args, cwd),
            started_at_ms: now_ms(),
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes it, and tells everybody who waits.
    pub fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let result = change(&mut state);
        state.watchers.retain(|watcher| match watcher.upgrade() {
            Some(flag) => {
                flag.raise();
                true
            }
            None => false,
        });
        drop(state);
        self.changed.notify_all();
        result
    }

    pub fn append(&self, from: Output, bytes: &[u8]) {
        self.change(|state| state.held.append(from, bytes, &self.spill));
    }

    /// `flag` is raised at each change, for as long as somebody has it.
    pub fn watch(&self, flag: &Arc<Flag>) {
        self.lock().watchers.push(Arc::downgrade(flag));
    }

    /// Waits until `is_true`; false when the time is over.
    pub fn wait_until(&self, time: Duration, mut is_true: impl FnMut(&mut State) -> bool) -> bool {
        let until = Instant::now() + time;
        let mut state = self.lock();
        loop {
            if is_true(&mut state) {
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state =
                self.changed.wait_timeout(state, left).map_or_else(|error| error.into_inner().0, |(s, _)| s);
        }
    }

    /// Has it ended, whatever it does.
    pub fn kill(&self) {
        self.change(|state| state.is_killed = true);
        self.wake.raise();
    }

    pub fn started_at_ms(&self) -> u128 {
        self.started_at_ms
    }

    pub fn state_json(&self) -> String {
        let state = self.lock();
        let text = |text: &str| Value::from(text).to_string();
        let (name, pid, ended_at, end) = match &state.phase {
            Phase::Starting | Phase::NotStarted(_) => ("running", None, None, None),
            Phase::Running { pid } => ("running", Some(*pid), None, None),
            Phase::Ended { pid, at_ms, end } => ("exited", Some(*pid), Some(*at_ms), Some(end.as_str())),
        };
        let number = |number: Option<u128>| number.map_or("null".to_owned(), |number| number.to_string());
        let [stdout, stderr] = state.held.totals();
        format!(
            concat!(
                r#"{{"id":{},"scope":{},{},"state":"{}","pid":{},"started_at":{},"ended_at":{},{},"#,
                r#""kept":{},"stdout_bytes":{},"stderr_bytes":{},"dropped_bytes":{}}}"#
            ),
            text(&self.key.id),
            text(&self.key.scope),
            self.about,
            name,
            number(pid.filter(|pid| *pid > 0).map(|pid| pid as u128)),
            self.started_at_ms,
            number(ended_at),
            end.unwrap_or(r#""exit_code":null,"signal":null,"timed_out":false"#),
            state.is_kept,
            stdout,
            stderr,
            state.held.dropped(),
        )
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // Not before the last reader has let go of it.
        let spill = self.spill.clone();
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner).held.clear(&spill);
    }
}

pub fn now_ms() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis())
}

fn describe(command: &str, args: &[String], cwd: &str) -> String {
    let mut left = MAX_SHOWN_BYTES;
    let mut is_cut = false;
    let mut shown = |text: &str| {
        let mut end = text.len().min(left);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        is_cut |= end < text.len();
        left -= end;
        Value::from(&text[..end])
    };
    let (command, cwd) = (shown(command), shown(cwd));
    let mut list = Vec::new();
    for arg in args {
        // An empty one costs space too.
        if list.len() >= MAX_SHOWN_BYTES / 16 {
            is_cut = true;
            break;
        }
        list.push(shown(arg));
    }
    let cut = if is_cut { r#","args_cut":true"# } else { "" };
    format!(r#""command":{command},"args":{},"cwd":{cwd}{cut}"#, Value::from(list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_is_shown_in_part_and_says_so() {
        assert_eq!(
            describe("sh", &["-c".into(), "a \"b\"".into()], "/w"),
            r#""command":"sh","args":["-c","a \"b\""],"cwd":"/w""#
        );
        let long = describe("sh", &["é".repeat(5000), "x".into()], "/w");
        assert!(long.len() < 5000 && long.ends_with(r#","args_cut":true"#), "{}", long.len());
        let many = describe("sh", &vec![String::new(); 100_000], "/w");
        assert!(many.len() < 5000, "{}", many.len());
    }
}
