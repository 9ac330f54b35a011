//! What all connections share, and the count of what runs.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::config::{Config, Listen};
use crate::errors::{Answer, Code, fail};
use crate::fence::Fences;
use crate::guests::Guests;
use crate::jobs::registry::Jobs;
use crate::random;
use crate::reaper::Reaper;
use crate::run::environment::Environment;
use crate::sys::fd::Flag;
use crate::sys::identity::OpenFiles;

pub struct Service {
    pub config: Config,
    /// 128 random bits of this start.
    pub instance: String,
    pub environment: Environment,
    pub fences: Fences,
    pub reaper: Reaper,
    pub jobs: Jobs,
    pub guests: Guests,
    /// Raised once, when execd is to end: every connection watches it.
    pub stop: Arc<Flag>,
    pub umask: u32,
    pub open_files: OpenFiles,
    /// The standard input of a command that was given none. Absent where a sandbox has no /dev/null.
    pub dev_null: Option<OwnedFd>,
    /// Held from the last look at a file's ETag to the rename that relies on it.
    pub rename: Mutex<()>,
    running: Mutex<u64>,
    all_ended: Condvar,
    pub connections: AtomicUsize,
    last_active: Mutex<Instant>,
}

/// The longest that the end of execd waits for its commands' ends: their grace, and some for the kernel.
pub const STOP_TIME: Duration = Duration::from_secs(6);

impl Service {
    pub fn new(
        config: Config,
        umask: u32,
        open_files: OpenFiles,
        stop: Arc<Flag>,
        next_expiry_changed: Flag,
    ) -> Service {
        Service {
            jobs: Jobs::new(&config, next_expiry_changed),
            instance: random::name(),
            environment: Environment::of_this_process(&config),
            fences: Fences::default(),
            reaper: Reaper::default(),
            guests: Guests::default(),
            stop,
            umask,
            open_files,
            dev_null: File::open("/dev/null").ok().map(OwnedFd::from),
            rename: Mutex::default(),
            running: Mutex::default(),
            all_ended: Condvar::new(),
            connections: AtomicUsize::new(0),
            last_active: Mutex::new(Instant::now()),
            config,
        }
    }

    pub fn health(&self) -> String {
        let config = &self.config;
        format!(
            concat!(
                r#"{{"protocol":"exec/2","version":"{}","instance":"{}","features":["stream","jobs","notify","files","fence"],"#,
                r#""limits":{{"max_request_bytes":{},"max_response_bytes":{},"max_jobs":{},"max_job_output_bytes":{}}}}}"#
            ),
            env!("CARGO_PKG_VERSION"),
            self.instance,
            config.max_request_bytes,
            config.max_response_bytes,
            config.max_jobs,
            config.max_job_output_bytes,
        )
    }

    pub fn is_tcp(&self) -> bool {
        matches!(self.config.listen, Listen::Tcp(_))
    }

    /// Counts a command as running until the value is dropped.
    pub fn enter_running(self: &Arc<Self>) -> Answer<Running> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if self.stop.is_raised() {
            return Err(fail(Code::Limit, "execd is stopping"));
        }
        if *running >= self.config.max_jobs {
            return Err(fail(Code::Limit, format!("{} commands are running, which is the most", *running)));
        }
        *running += 1;
        Ok(Running(self.clone()))
    }

    pub fn running(&self) -> u64 {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends every command and waits until they have ended.
    pub fn stop_commands(&self) {
        self.stop.raise();
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.all_ended.wait_timeout_while(running, STOP_TIME, |running| *running > 0);
    }

    pub fn note_activity(&self) {
        *self.last_active.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// How long nobody has been connected and nothing ran.
    pub fn idle_time(&self) -> Duration {
        match self.connections.load(Ordering::SeqCst) as u64 + self.running() {
            0 => self.last_active.lock().unwrap_or_else(PoisonError::into_inner).elapsed(),
            _ => Duration::ZERO,
        }
    }
}

pub struct Running(Arc<Service>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.note_activity();
        let mut running = self.0.running.lock().unwrap_or_else(PoisonError::into_inner);
        *running -= 1;
        let is_last = *running == 0;
        drop(running);
        self.0.all_ended.notify_all();
        if is_last {
            // The main loop counts idle time from here on, and a job that nobody waited for may have been large.
            self.0.jobs.next_expiry_changed.raise();
        }
    }
}
