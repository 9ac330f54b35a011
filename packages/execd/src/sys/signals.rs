//! Signals as data: blocked everywhere, read from one descriptor.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::fd::{check, read_some};

pub const CHILD: i32 = libc::SIGCHLD;
pub const INTERRUPT: i32 = libc::SIGINT;
pub const TERMINATE: i32 = libc::SIGTERM;
pub const HANGUP: i32 = libc::SIGHUP;

pub struct SignalFd(OwnedFd);

pub struct Received {
    pub signal: i32,
    /// Sent by `kill` from a process that has no pid in this namespace. Only the kernel can say so: a process
    /// inside may forge `si_pid` with sigqueue, but not together with `SI_USER`.
    pub is_from_outside: bool,
}

/// Gives every signal its default action, so that what a parent ignored is not ignored by commands. SIGPIPE stays
/// ignored for execd itself; a command gets its default back before `exec`. SIGCHLD has a handler that does nothing, so
/// that it ends a supervisor's wait; `exec` takes it away.
pub fn reset_all() {
    extern "C" fn ignore(_: libc::c_int) {}
    for signal in 1..=64 {
        if signal != libc::SIGPIPE {
            // SAFETY: no pointers; refused for SIGKILL, SIGSTOP and the two that glibc keeps, which is fine.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
    // SAFETY: the handler does nothing.
    unsafe { libc::signal(CHILD, ignore as extern "C" fn(libc::c_int) as libc::sighandler_t) };
}

/// Whether whoever started us wants us not to hear of it, as a shell does for jobs in its background.
pub fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: sigaction fills the struct whenever it returns 0, and only then is it read.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Blocks `signals` in this thread and all it starts later, and reads them from a descriptor instead.
pub fn open(signals: &[i32]) -> io::Result<SignalFd> {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set before anything reads it; the descriptor is ours alone.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut());
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        Ok(SignalFd(OwnedFd::from_raw_fd(check(libc::signalfd(-1, set.as_ptr(), flags))?)))
    }
}

impl SignalFd {
    pub fn fd(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// The next one that waits.
    pub fn take(&self) -> Option<Received> {
        let mut bytes = [0u8; size_of::<libc::signalfd_siginfo>()];
        match read_some(self.fd(), &mut bytes) {
            Ok(Some(size)) if size == bytes.len() => {}
            _ => return None,
        }
        // SAFETY: the kernel filled all bytes of this plain struct of integers; the read needs no alignment.
        let info = unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast::<libc::signalfd_siginfo>()) };
        let is_sent_plainly = info.ssi_code == libc::SI_USER || info.ssi_code == libc::SI_KERNEL;
        Some(Received {
            signal: info.ssi_signo as i32,
            is_from_outside: info.ssi_pid == 0 && is_sent_plainly,
        })
    }
}
