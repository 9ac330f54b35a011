//! Processes as execd sees them: it starts supervisors, waits for its children and kills what is left to it.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use libc::pid_t;

use super::child::{Prepared, Program, StartFailure, Step};
use super::fd::{receive_some, send_some};
use super::proc_scan::each_process;
use super::raw;
use super::supervisor::{self, Message, Orders};

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
        pid: i32,
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

/// What a supervisor runs on: its stack and its orders, in execd's memory. Dropped when neither it nor a command that has
/// not replaced its image yet can be there.
pub struct Footing {
    stack: Stack,
    _orders: Box<Orders>,
}

// SAFETY: the pointers in it lead into the `Program` that it owns.
unsafe impl Send for Footing {}

/// Address space; the kernel makes pages of what is touched, which is little until a tree is to be ended.
pub struct Stack(NonNull<c_void>);

// SAFETY: a mapping belongs to the process, not to a thread.
unsafe impl Send for Stack {}

const STACK_BYTES: usize = 256 * 1024;

impl Stack {
    fn new() -> io::Result<Stack> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, wherever there is room.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), STACK_BYTES, access, kind, -1, 0) };
        match NonNull::new(start) {
            Some(start) if start.as_ptr() != libc::MAP_FAILED => Ok(Stack(start)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, and nobody is on it any more.
        unsafe { libc::munmap(self.0.as_ptr(), STACK_BYTES) };
    }
}

impl Footing {
    /// Leaves a stack that the next one can have.
    pub fn into_stack(self) -> Stack {
        self.stack
    }
}

/// Starts a supervisor that runs `program`; `control` is its end of the pair that reports come from. What it runs on is to
/// be kept for as long as `Footing` says.
pub fn start_supervisor(
    program: Program,
    control: &OwnedFd,
    stdio: [BorrowedFd; 3],
    stack: Option<Stack>,
) -> io::Result<(pid_t, Footing)> {
    // Whoever becomes another user must not be in our memory by then: such a supervisor has a copy.
    let mut flags = if program.run_as.is_some() { 0 } else { libc::CLONE_VM };
    let stack = stack.map_or_else(Stack::new, Ok)?;
    let stdio = stdio.map(|fd| fd.as_raw_fd());
    let orders = Orders { prepared: Prepared::new(program), control: control.as_raw_fd(), stdio };
    let mut orders = Box::new(orders);
    let top = stack.0.as_ptr() as usize + STACK_BYTES;
    let (all, mut before) = (u64::MAX, 0u64);
    let mask = |new: &u64, old: *mut u64| {
        let args = [libc::SIG_SETMASK as usize, new as *const u64 as usize, old as usize, size_of::<u64>()];
        // SAFETY: both pointers are live, or null. The kernel's call, since a supervisor blocks the C library's own too.
        unsafe { raw::call(libc::SYS_rt_sigprocmask, args) };
    };
    mask(&all, &raw mut before);
    let pid = loop {
        let argument = (&raw mut *orders).cast();
        // SAFETY: `run` makes system calls only, on a stack and with orders that `Footing` keeps.
        let pid = unsafe { raw::clone((flags | libc::SIGCHLD) as usize, top, supervisor::run, argument) };
        if pid != -(libc::EINVAL as isize) || flags == 0 {
            break pid;
        }
        flags = 0; // an emulator that knows threads and forks alone
    };
    mask(&before, std::ptr::null_mut());
    match pid {
        failed if failed < 0 => Err(io::Error::from_raw_os_error(-failed as i32)),
        pid => Ok((pid as pid_t, Footing { stack, _orders: orders })),
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
        supervisor::EXITED => {
            Report::Exited { pid: number(3), status: decode(number(1)), is_empty: number(2) == 1 }
        }
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
