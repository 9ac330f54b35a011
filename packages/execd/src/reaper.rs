//! Execd's own children. Those that run a command are supervisors and are known here; anything else that lands at us
//! was a descendant of a supervisor that is gone, belongs to no running command, and is killed.

use std::collections::HashSet;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::sys::child::Program;
use crate::sys::process::{self, Waited};

/// How soon strays are looked for again: they may fork while they are killed.
const SWEEP_AGAIN: Duration = Duration::from_millis(10);
const REAP_TIME: Duration = Duration::from_secs(1);

#[derive(Default)]
pub struct Reaper {
    state: Mutex<State>,
    calm: Condvar,
}

#[derive(Default)]
struct State {
    supervisors: HashSet<i32>,
    is_sweeping: bool,
}

impl Reaper {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forks a supervisor. Under the lock, so that no sweep sees it before it is known.
    pub fn start(&self, program: &Program, control: &OwnedFd, stdio: [BorrowedFd; 3]) -> io::Result<i32> {
        let mut state = self.lock();
        let pid = process::fork_supervisor(program, control, stdio)?;
        state.supervisors.insert(pid);
        Ok(pid)
    }

    /// Reaps what has ended; the main loop calls it on SIGCHLD, and again after the time it answers.
    pub fn tend(&self) -> Option<Duration> {
        let mut state = self.lock();
        loop {
            match process::wait_any() {
                Waited::Nothing => break,
                // A command of the same uid can stop its supervisor but not us: we take its children over.
                Waited::Stopped { pid } => process::kill_child(pid),
                Waited::Ended { pid, was_killed } => {
                    let was_supervisor = state.supervisors.remove(&pid);
                    state.is_sweeping |= was_killed || !was_supervisor;
                }
            }
        }
        if state.is_sweeping {
            let strays: Vec<_> =
                process::children().into_iter().filter(|pid| !state.supervisors.contains(pid)).collect();
            state.is_sweeping = !strays.is_empty();
            strays.into_iter().for_each(process::kill_child);
        }
        self.calm.notify_all();
        state.is_sweeping.then_some(SWEEP_AGAIN)
    }

    /// Waits until the supervisor is reaped and nothing that was below it is left.
    pub fn wait_gone(&self, supervisor: i32) {
        let mut state = self.lock();
        while state.supervisors.contains(&supervisor) || state.is_sweeping {
            state = self.calm.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until a supervisor that has said its last word is gone from the process table.
    pub fn wait_reaped(&self, supervisor: i32) {
        let state = self.lock();
        let _ =
            self.calm.wait_timeout_while(state, REAP_TIME, |state| state.supervisors.contains(&supervisor));
    }

    /// For one that does not do as it is told: its children come to us.
    pub fn kill_supervisor(&self, supervisor: i32) {
        if self.lock().supervisors.contains(&supervisor) {
            process::kill_child(supervisor);
        }
    }

    /// At the end of execd: kills whatever is still there.
    pub fn kill_everything(&self) {
        let mut state = self.lock();
        state.supervisors.clear();
        state.is_sweeping = true;
    }
}
