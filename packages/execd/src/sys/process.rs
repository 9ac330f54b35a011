//! Processes as execd sees them: it forks supervisors, waits for its children and kills what is left to it.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use libc::pid_t;

use super::child::{Prepared, Program, StartFailure, Step};
use super::fd::{check, receive_some, send_some};
use super::proc_scan::each_process;
use super::supervisor::{self, Message};

pub use super::supervisor::{GRACE_MS, ORDER_KILL, ORDER_SWEEP};

/// What a supervisor reports.
#[derive(Debug, PartialEq, Eq)]
pub enum Report {
    Started {
        pid: i32,
    },
    StartFailed {
        pid: i32,
        failure: StartFailure,
    },
    Exited {
        status: Exit,
        is_empty: bool,
    },
    Empty,
    /// The supervisor is gone; where nothing said that its tree is empty, its children are now ours.
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

/// Forks a supervisor that runs `program`; `control` is its end of the pair that reports come from.
pub fn fork_supervisor(program: &Program, control: &OwnedFd, stdio: [BorrowedFd; 3]) -> io::Result<pid_t> {
    let prepared = Prepared::new(program);
    let stdio = stdio.map(|fd| fd.as_raw_fd());
    // SAFETY: the copy has one thread, and `run` makes system calls only, from what was prepared above.
    unsafe {
        match check(libc::fork())? {
            0 => supervisor::run(&prepared, control.as_raw_fd(), stdio),
            pid => Ok(pid),
        }
    }
}

/// The next report, or `None` when there is none yet.
pub fn next_report(control: &OwnedFd) -> Option<Report> {
    let mut bytes = [0u8; size_of::<Message>()];
    match receive_some(control, &mut bytes) {
        Ok(None) => return None,
        Ok(Some(size)) if size == bytes.len() => {}
        _ => return Some(Report::Gone),
    }
    let number = |index: usize| i32::from_ne_bytes([0, 1, 2, 3].map(|byte| bytes[index * 4 + byte]));
    Some(match number(0) {
        supervisor::STARTED => Report::Started { pid: number(1) },
        supervisor::START_FAILED => {
            let step = match number(2) {
                1 => Step::Identity,
                2 => Step::Cwd,
                3 => Step::Exec,
                _ => Step::Fork,
            };
            Report::StartFailed { pid: number(1), failure: StartFailure { step, errno: number(3) } }
        }
        supervisor::EXITED => Report::Exited { status: decode(number(1)), is_empty: number(2) == 1 },
        supervisor::EMPTY => Report::Empty,
        _ => Report::Gone,
    })
}

/// A supervisor that does not take it is gone, which its end of the pair tells.
pub fn give_order(control: &OwnedFd, order: u8) {
    let _ = send_some(control, &[order]);
}

fn decode(status: i32) -> Exit {
    if libc::WIFSIGNALED(status) {
        Exit::Signal(libc::WTERMSIG(status))
    } else {
        Exit::Code(libc::WEXITSTATUS(status))
    }
}

pub enum Waited {
    Ended { pid: pid_t, was_killed: bool },
    Stopped { pid: pid_t },
    Nothing,
}

/// Looks at one child that ended or was stopped, and reaps it if it ended.
pub fn wait_any() -> Waited {
    let mut status = 0;
    // SAFETY: `status` is live.
    let pid = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG | libc::WUNTRACED) };
    match pid {
        pid if pid <= 0 => Waited::Nothing,
        pid if libc::WIFSTOPPED(status) => Waited::Stopped { pid },
        pid => Waited::Ended { pid, was_killed: libc::WIFSIGNALED(status) },
    }
}

/// For a child of ours that is not reaped yet: its pid can not be anybody else's.
pub fn kill_child(pid: pid_t) {
    // SAFETY: no pointers.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// Our own children.
pub fn children() -> Vec<pid_t> {
    let own_pid = std::process::id() as pid_t;
    let mut found = Vec::new();
    each_process(&mut |pid, parent| {
        if parent == own_pid {
            found.push(pid);
        }
    });
    found
}

/// `SIGKILL` and the like.
pub fn signal_name(signal: i32) -> String {
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
        "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
        "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    let index = usize::try_from(signal - 1).unwrap_or(usize::MAX);
    match NAMES.get(index) {
        Some(name) => format!("SIG{name}"),
        None => format!("SIG{signal}"),
    }
}
