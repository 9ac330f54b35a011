//! Execd's own children. Those that run a command are supervisors and are known here; anything else that lands at us
//! was a descendant of a supervisor that is gone, belongs to no running command, and is killed.

use std::collections::HashMap;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::sys::child::Program;
use crate::sys::process::{self, Footing, Stack, Waited};

/// How soon strays are looked for again: they may fork while they are killed.
const SWEEP_AGAIN: Duration = Duration::from_millis(10);
const REAP_TIME: Duration = Duration::from_secs(1);
/// Stacks of ended supervisors that are kept for the next ones.
const SPARE_STACKS: usize = 2;

#[derive(Default)]
pub struct Reaper {
    state: Mutex<State>,
    calm: Condvar,
}

#[derive(Default)]
struct State {
    supervisors: HashMap<i32, Footing>,
    /// Of supervisors that were killed: a command that had not replaced its image yet may still be on them.
    unsafe_footings: Vec<Footing>,
    spare_stacks: Vec<Stack>,
    is_sweeping: bool,
}

impl Reaper {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a supervisor. Under the lock, so that no sweep sees it before it is known.
    pub fn start(&self, program: Program, control: &OwnedFd, stdio: [BorrowedFd; 3]) -> io::Result<i32> {
        let mut state = self.lock();
        let stack = state.spare_stacks.pop();
        let (pid, footing) = process::start_supervisor(program, control, stdio, stack)?;
        state.supervisors.insert(pid, footing);
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
                    let footing = state.supervisors.remove(&pid);
                    state.is_sweeping |= was_killed || footing.is_none();
                    match footing {
                        Some(footing) if was_killed => state.unsafe_footings.push(footing),
                        Some(footing) if state.spare_stacks.len() < SPARE_STACKS => {
                            state.spare_stacks.push(footing.into_stack());
                        }
                        _ => {}
                    }
                }
            }
        }
        if state.is_sweeping {
            let strays: Vec<_> =
                process::children().into_iter().filter(|pid| !state.supervisors.contains_key(pid)).collect();
            state.is_sweeping = !strays.is_empty();
            strays.into_iter().for_each(process::kill_child);
        }
        if !state.is_sweeping {
            state.unsafe_footings.clear();
        }
        self.calm.notify_all();
        state.is_sweeping.then_some(SWEEP_AGAIN)
    }

    /// Waits until the supervisor is reaped and nothing that was below it is left.
    pub fn wait_gone(&self, supervisor: i32) {
        let mut state = self.lock();
        while state.supervisors.contains_key(&supervisor) || state.is_sweeping {
            state = self.calm.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until a supervisor that has said its last word is gone from the process table.
    pub fn wait_reaped(&self, supervisor: i32) {
        let state = self.lock();
        let is_there = |state: &mut State| state.supervisors.contains_key(&supervisor);
        let _ = self.calm.wait_timeout_while(state, REAP_TIME, is_there);
    }

    /// For one that does not do as it is told: its children come to us.
    pub fn kill_supervisor(&self, supervisor: i32) {
        if self.lock().supervisors.contains_key(&supervisor) {
            process::kill_child(supervisor);
        }
    }

    /// At the end of execd: kills whatever is still there.
    pub fn kill_everything(&self) {
        let mut state = self.lock();
        let footings = std::mem::take(&mut state.supervisors);
        state.unsafe_footings.extend(footings.into_values());
        state.is_sweeping = true;
    }
}
