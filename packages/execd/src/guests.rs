//! Connections that were accepted and have no thread yet.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::service::Service;
use crate::sys::memory;

pub struct Guest {
    pub socket: OwnedFd,
    pub guard: Connected,
}

/// Counts a connection for as long as it is open.
pub struct Connected(pub Arc<Service>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.note_activity();
        if self.0.connections.fetch_sub(1, Ordering::SeqCst) == 1 {
            memory::release();
        }
    }
}

#[derive(Default)]
pub struct Guests {
    state: Mutex<State>,
    called: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Guest>,
    /// Of those that wait, so many have no thread of their own.
    called: usize,
}

impl Guests {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn push(&self, guest: Guest) {
        self.lock().waiting.push_back(guest);
    }

    /// For the thread that was started for one of them.
    pub fn pop(&self) -> Option<Guest> {
        self.lock().waiting.pop_front()
    }

    /// For one that got no thread.
    pub fn call_spare(&self) {
        self.lock().called += 1;
        self.called.notify_one();
    }

    /// Whether one waits for a spare thread.
    pub fn are_calling(&self) -> bool {
        self.lock().called > 0
    }

    /// It got a thread of its own after all.
    pub fn call_off(&self) {
        let mut state = self.lock();
        state.called = state.called.saturating_sub(1);
    }

    /// For a spare thread: waits until it is needed.
    pub fn wait(&self) -> Guest {
        let mut state = self.lock();
        loop {
            if state.called > 0
                && let Some(guest) = state.waiting.pop_front()
            {
                state.called -= 1;
                return guest;
            }
            state = self.called.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
