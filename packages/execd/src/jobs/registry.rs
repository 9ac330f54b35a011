//! All streamed commands and jobs by scope and id: what runs, what has ended and is still held, which ids are gone.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::config::{Config, Listen};
use crate::errors::{Answer, Code, Failure, describe, fail};
use crate::jobs::job::{Job, Key, Phase, Stdin, now_ms};
use crate::jobs::notify::{Notifier, Receiver};
use crate::jobs::output::Bounds;
use crate::jobs::spill::{BLOCK_BYTES, Spill};
use crate::random;
use crate::run::environment::folder;
use crate::run::request::Request;
use crate::service::{Running, Service};
use crate::sys::fd::Flag;

pub const MAX_FINISHED: usize = 1024;
const MAX_FINISHED_SHARES: u64 = 4; // of max_job_output_bytes
const MAX_GONE: usize = 65_536;
const MEMORY_BYTES: usize = 8 * 1024 * 1024;
const MEMORY_BLOCKS: usize = MEMORY_BYTES / BLOCK_BYTES;
/// For one that nobody has named or kept: what a reader who lets go may not have received yet.
const UNKEPT_BLOCKS: usize = 1024 * 1024 / BLOCK_BYTES;
/// Until the end of a kill is given up on: grace, patience with its supervisor, and some for the kernel.
const KILL_TIME: Duration = Duration::from_secs(12);

pub struct Jobs {
    state: Mutex<State>,
    pub spill: Arc<Spill>,
    pub notifier: Arc<Notifier>,
    /// Raised when an end comes nearer than the next that the main loop knows of.
    pub next_expiry_changed: Flag,
    hashers: [RandomState; 2],
    max_output_bytes: u64,
}

#[derive(Default)]
struct State {
    jobs: HashMap<Key, Arc<Job>>,
    /// In order of their ends.
    finished: VecDeque<Finished>,
    finished_bytes: u64,
    gone: Gone,
}

struct Finished {
    job: Arc<Job>,
    bytes: u64,
    until: Instant,
}

/// Hashes, since 65,536 ids of 256 bytes would be more than execd itself. The keys are random: none can be hit on purpose.
#[derive(Default)]
struct Gone {
    hashes: HashSet<u64>,
    order: VecDeque<u64>,
}

impl Gone {
    fn add(&mut self, hash: u64) {
        if self.hashes.insert(hash) {
            self.order.push_back(hash);
        }
        if self.order.len() > MAX_GONE
            && let Some(oldest) = self.order.pop_front()
        {
            self.hashes.remove(&oldest);
        }
    }
}

pub enum Start {
    /// Nobody has it yet: the caller runs it.
    New(Arc<Job>, Running),
    /// It runs or has ended.
    Known(Arc<Job>),
}

impl Jobs {
    pub fn new(config: &Config, next_expiry_changed: Flag) -> Jobs {
        let beside = match &config.listen {
            Listen::Unix(path) => path.parent().map(|folder| folder.to_path_buf()),
            Listen::Tcp(_) => None,
        };
        Jobs {
            state: Mutex::default(),
            spill: Arc::new(Spill::new(beside.into_iter().chain([std::env::temp_dir()]).collect())),
            notifier: Arc::new(Notifier::default()),
            next_expiry_changed,
            hashers: [RandomState::new(), RandomState::new()],
            max_output_bytes: config.max_job_output_bytes,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.expire(&mut state, Instant::now());
        state
    }

    fn bounds(&self, is_lasting: bool) -> Bounds {
        match is_lasting {
            true => Bounds {
                memory_blocks: MEMORY_BLOCKS,
                disk_blocks: (self.max_output_bytes / BLOCK_BYTES as u64) as usize,
            },
            false => Bounds { memory_blocks: UNKEPT_BLOCKS, disk_blocks: 0 },
        }
    }

    /// Finds the job of a request or makes it: under one lock, so that two equal requests make one.
    pub fn start(&self, service: &Arc<Service>, request: &Request) -> Answer<Start> {
        let wanted = request.job.as_ref();
        if wanted.and_then(|job| job.instance.as_ref()).is_some_and(|other| *other != service.instance) {
            return Err(fail(Code::Gone, "this is another instance of the endpoint; nothing was started"));
        }
        let digest = self.hashers.each_ref().map(|hasher| {
            hasher.hash_one((&request.command, &request.args, &request.cwd, &request.env, &request.stdin))
        });
        let key = match wanted {
            Some(job) => Key { scope: job.scope.clone(), id: job.id.clone() },
            None => Key { scope: String::new(), id: format!("x-{}", random::name()) },
        };
        let mut state = self.lock();
        if let Some(job) = state.jobs.get(&key) {
            let same = job.digest == digest;
            let job = job.clone();
            drop(state);
            return match same {
                true => self.join(&job, request).map(|()| Start::Known(job)),
                false => Err(fail(Code::Conflict, format!("job {} runs or ran another command", key.id))),
            };
        }
        if state.gone.hashes.contains(&self.hashers[0].hash_one(&key)) {
            return Err(gone(&key));
        }
        let running = service.enter_running()?;
        let wake = Flag::new()
            .map_err(|error| fail(Code::Limit, format!("no job can be made: {}", describe(&error))))?;
        let cwd = folder(&service.config, request.cwd.as_deref());
        let (bounds, spill) = (self.bounds(wanted.is_some()), self.spill.clone());
        let cwd = cwd.to_string_lossy();
        let job = Job::new(key.clone(), digest, request, &cwd, bounds, spill, wake);
        let job = Arc::new(job);
        state.jobs.insert(key, job.clone());
        Ok(Start::New(job, running))
    }

    /// Whoever comes to a running job may keep it, as by PATCH.
    fn join(&self, job: &Job, request: &Request) -> Answer<()> {
        let Some(wanted) = request.job.as_ref() else { return Ok(()) };
        if wanted.keep && !job.lock().is_kept {
            // One that has ended meanwhile is held anyway.
            let _ = self.keep(job, wanted.notify.clone());
        }
        Ok(())
    }

    pub fn keep(&self, job: &Job, notify: Option<Receiver>) -> Answer<()> {
        job.change(|state| {
            if state.phase.is_over() {
                return Err(fail(Code::Conflict, format!("job {} has ended", job.key.id)));
            }
            state.is_kept = true;
            state.notify = notify.or(state.notify.take());
            state.held.set_bounds(self.bounds(true));
            state.held.set_floor(None);
            Ok(())
        })?;
        job.wake.raise();
        Ok(())
    }

    pub fn find(&self, key: &Key) -> Answer<Arc<Job>> {
        let state = self.lock();
        match state.jobs.get(key) {
            Some(job) => Ok(job.clone()),
            None if state.gone.hashes.contains(&self.hashers[0].hash_one(key)) => Err(gone(key)),
            None => Err(fail(Code::NotFound, format!("there is no job {}", key.id))),
        }
    }

    /// In the order of their starts.
    pub fn list(&self, scope: &str) -> Vec<Arc<Job>> {
        let state = self.lock();
        let mut jobs: Vec<_> = state.jobs.values().filter(|job| job.key.scope == scope).cloned().collect();
        drop(state);
        jobs.sort_by_key(|job| job.started_at_ms());
        jobs
    }

    /// Kills them and waits until nothing of them is left.
    pub fn kill(&self, jobs: &[Arc<Job>]) -> Answer<()> {
        jobs.iter().for_each(|job| {
            if !job.lock().phase.is_over() {
                job.kill();
            }
        });
        let until = Instant::now() + KILL_TIME;
        for job in jobs {
            let left = until.saturating_duration_since(Instant::now());
            if !job.wait_until(left, |state| state.phase.is_over()) {
                return Err(fail(Code::Internal, format!("job {} does not end", job.key.id)));
            }
        }
        Ok(())
    }

    /// Nothing of its tree is left.
    pub fn finish(&self, job: &Arc<Job>, pid: i32, end: String) {
        // Apart, since it may write to disk.
        job.change(|state| state.held.settle(&self.spill));
        let mut state = self.lock();
        let (is_kept, notify, bytes) = job.change(|state| {
            state.phase = Phase::Ended { pid, at_ms: now_ms(), end };
            state.stdin = Stdin::Closed;
            (state.is_kept, state.notify.take(), state.held.held_bytes())
        });
        if !is_kept && !job.is_named {
            state.jobs.remove(&job.key);
            return;
        }
        let until = Instant::now() + job.ttl;
        if let (true, Some(receiver)) = (is_kept, notify) {
            self.notifier.add(&job.key, receiver, job.state_json(), until);
        }
        let is_next = state.finished.iter().all(|other| other.until > until);
        state.finished.push_back(Finished { job: job.clone(), bytes, until });
        state.finished_bytes += bytes;
        let max_bytes = (self.max_output_bytes + MEMORY_BYTES as u64) * MAX_FINISHED_SHARES;
        while state.finished.len() > MAX_FINISHED || state.finished_bytes > max_bytes {
            let Some(oldest) = state.finished.pop_front() else { break };
            self.forget(&mut state, &oldest);
        }
        drop(state);
        if is_next {
            self.next_expiry_changed.raise();
        }
    }

    /// It never was: the same id may start again.
    pub fn abandon(&self, job: &Job, failure: Failure) {
        self.lock().jobs.remove(&job.key);
        job.change(|state| {
            state.stdin = Stdin::Closed;
            state.phase = Phase::NotStarted(failure);
        });
    }

    /// How many were forgotten.
    pub fn forget_scope(&self, scope: &str) -> usize {
        let mut state = self.lock();
        let all = std::mem::take(&mut state.finished);
        let (those, others): (VecDeque<_>, VecDeque<_>) =
            all.into_iter().partition(|finished| finished.job.key.scope == scope);
        state.finished = others;
        those.iter().for_each(|finished| self.forget(&mut state, finished));
        self.notifier.forget_scope(scope);
        those.len()
    }

    fn forget(&self, state: &mut State, finished: &Finished) {
        state.finished_bytes -= finished.bytes;
        state.jobs.remove(&finished.job.key);
        state.gone.add(self.hashers[0].hash_one(&finished.job.key));
    }

    fn expire(&self, state: &mut State, now: Instant) {
        if state.finished.iter().all(|finished| finished.until > now) {
            return;
        }
        let all = std::mem::take(&mut state.finished);
        let (over, held): (VecDeque<_>, VecDeque<_>) =
            all.into_iter().partition(|finished| finished.until <= now);
        state.finished = held;
        over.iter().for_each(|finished| self.forget(state, finished));
    }

    /// Forgets what is over, and answers when to come again.
    pub fn tend(&self) -> Option<Duration> {
        self.next_expiry_changed.clear();
        let state = self.lock();
        let next = state.finished.iter().map(|finished| finished.until).min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }
}

fn gone(key: &Key) -> Failure {
    fail(Code::Gone, format!("job {} has ended, and its end is no longer kept", key.id))
}
