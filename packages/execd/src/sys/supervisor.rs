//! The supervisor: one small process per command, which adopts the command's orphans, reaps them, and on a word from
//! execd (or when execd is gone) ends the whole tree. It is a fork of execd that never runs anything else.

use std::mem::MaybeUninit;

use libc::{c_int, pid_t};

use super::child::{self, Prepared, Step};
use super::proc_scan;

/// Between SIGTERM and SIGKILL, when a command is to be ended.
pub const GRACE_MS: i64 = 2000;
/// The same for what a command left behind when it ended by itself: its answer waits for this.
pub const SWEEP_GRACE_MS: i64 = 200;
/// Between two looks at who is new or stopped in a tree that was told to end.
const MIN_PAUSE_MS: i64 = 5;
const MAX_PAUSE_MS: i64 = 160;
const KILL_AGAIN_MS: i64 = 10; // what forks faster than it is killed is met again
const CONTROL: c_int = 3;

/// From execd: one byte.
pub const ORDER_KILL: u8 = b'K';
pub const ORDER_SWEEP: u8 = b'S';

/// To execd: one message of four integers, the first of which says which it is.
pub type Message = [i32; 4];
pub const STARTED: i32 = 1; // pid
pub const START_FAILED: i32 = 2; // pid or 0, step, errno
pub const EXITED: i32 = 3; // wait status, 1 when no descendant is left (the supervisor ends too then)
pub const EMPTY: i32 = 4; // no descendant is left

/// # Safety
/// Only in the child of a fork: it takes over descriptors 0 to 3, closes all others and never returns.
pub(super) unsafe fn run(prepared: &Prepared, control: c_int, stdio: [c_int; 3]) -> ! {
    // SAFETY: the caller's promise; from here on only system calls, no allocation and no lock.
    unsafe {
        for (number, fd) in stdio.into_iter().enumerate() {
            libc::dup2(fd, number as c_int);
        }
        if control != CONTROL {
            libc::dup3(control, CONTROL, libc::O_CLOEXEC);
        }
        // Without this a supervisor would hold other commands' pipes and other callers' connections open.
        close_from(CONTROL + 1);
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        let wait_mask = watch_children();
        let (pid, failure) = child::start(prepared);
        for fd in 0..3 {
            libc::close(fd);
        }
        if let Some(failure) = failure {
            if let Some(pid) = pid {
                libc::waitpid(pid, std::ptr::null_mut(), 0);
            }
            let step = match failure.step {
                Step::Fork => 0,
                Step::Identity => 1,
                Step::Cwd => 2,
                Step::Exec => 3,
            };
            tell([START_FAILED, pid.unwrap_or(0), step, failure.errno]);
            libc::_exit(0)
        }
        let command = pid.unwrap_or(0);
        tell([STARTED, command, 0, 0]);
        watch(command, &wait_mask)
    }
}

/// # Safety
/// As `run`.
unsafe fn watch(command: pid_t, wait_mask: &libc::sigset_t) -> ! {
    // SAFETY: as `run`.
    unsafe {
        loop {
            pass_on_ends(command);
            match wait(true, -1, wait_mask) {
                Word::None => {}
                Word::Order(ORDER_SWEEP) => end_tree(command, SWEEP_GRACE_MS, true, wait_mask),
                Word::Order(_) => end_tree(command, GRACE_MS, true, wait_mask),
                Word::Gone => end_tree(command, GRACE_MS, false, wait_mask),
            }
        }
    }
}

/// SIGTERM to the whole tree, and after its grace SIGKILL, until nothing is left.
///
/// # Safety
/// As `run`.
unsafe fn end_tree(command: pid_t, grace_ms: i64, mut has_control: bool, mask: &libc::sigset_t) -> ! {
    // SAFETY: as `run`; all pointers lead to locals.
    unsafe {
        let own_pid = libc::getpid();
        let mut told = Told::new();
        let mut until_ms = now_ms() + grace_ms;
        let mut pause_ms = MIN_PAUSE_MS;
        told.tell_descendants(own_pid);
        loop {
            pass_on_ends(command);
            let left_ms = until_ms - now_ms();
            let timeout_ms = if left_ms > 0 {
                // Whoever was being born while the others were told is an orphan by now. A child of one that was told may
                // be what it cleans up with, and is left to it.
                told.tell_new_orphans(own_pid);
                // One that stopped itself, or was stopped, after it was told does not know it yet.
                proc_scan::signal_descendants(own_pid, &[libc::SIGCONT]);
                pause_ms = (pause_ms * 2).min(MAX_PAUSE_MS);
                left_ms.min(pause_ms)
            } else {
                if !proc_scan::signal_descendants(own_pid, &[libc::SIGKILL]) {
                    // Without /proc the group is all that can be named.
                    libc::kill(-command, libc::SIGKILL);
                }
                KILL_AGAIN_MS
            };
            match wait(has_control, timeout_ms, mask) {
                Word::None => {}
                Word::Order(ORDER_SWEEP) => until_ms = until_ms.min(now_ms() + SWEEP_GRACE_MS),
                Word::Order(_) => {}
                Word::Gone => has_control = false,
            }
        }
    }
}

/// Who has got its SIGTERM, so that nobody gets it twice: to some programs the second one means "at once".
struct Told {
    pids: [MaybeUninit<pid_t>; proc_scan::MAX_PROCESSES],
    count: usize,
}

impl Told {
    fn new() -> Told {
        Told { pids: [MaybeUninit::uninit(); proc_scan::MAX_PROCESSES], count: 0 }
    }

    fn tell_descendants(&mut self, root: pid_t) {
        proc_scan::each_descendant(root, &mut |pid| self.tell(pid));
    }

    fn tell_new_orphans(&mut self, own_pid: pid_t) {
        proc_scan::each_process(&mut |pid, parent| {
            if parent == own_pid && !self.has(pid) {
                self.tell(pid);
                self.tell_descendants(pid);
            }
        });
    }

    fn has(&self, pid: pid_t) -> bool {
        // SAFETY: `tell` has written the first `count` of them.
        self.pids[..self.count].iter().any(|told| unsafe { told.assume_init() } == pid)
    }

    fn tell(&mut self, pid: pid_t) {
        if self.has(pid) {
            return;
        }
        if let Some(place) = self.pids.get_mut(self.count) {
            place.write(pid);
            self.count += 1;
        }
        // SAFETY: no pointers. SIGCONT, so that a stopped one gets to hear of it.
        unsafe {
            libc::kill(pid, libc::SIGTERM);
            libc::kill(pid, libc::SIGCONT);
        }
    }
}

/// Reaps what has ended and reports it; ends with the last descendant.
///
/// # Safety
/// As `run`.
unsafe fn pass_on_ends(command: pid_t) {
    // SAFETY: as `run`.
    unsafe {
        let (is_empty, exit_status) = reap(command);
        if let Some(status) = exit_status {
            tell([EXITED, status, is_empty as i32, 0]);
        } else if is_empty {
            tell([EMPTY, 0, 0, 0]);
        }
        if is_empty {
            libc::_exit(0)
        }
    }
}

/// Whether no child is left, and the command's wait status if it was among those that ended.
///
/// # Safety
/// As `run`.
unsafe fn reap(command: pid_t) -> (bool, Option<c_int>) {
    let mut exit_status = None;
    loop {
        let mut status = 0;
        // SAFETY: `status` is live.
        match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
            0 => return (false, exit_status),
            pid if pid == command => exit_status = Some(status),
            pid if pid > 0 => {}
            _ => return (true, exit_status),
        }
    }
}

enum Word {
    None,
    Order(u8),
    Gone,
}

/// Sleeps until a child ends, execd says something, or the time is over.
///
/// # Safety
/// As `run`.
unsafe fn wait(has_control: bool, timeout_ms: i64, mask: &libc::sigset_t) -> Word {
    let mut control =
        libc::pollfd { fd: if has_control { CONTROL } else { -1 }, events: libc::POLLIN, revents: 0 };
    let time = libc::timespec { tv_sec: timeout_ms / 1000, tv_nsec: timeout_ms % 1000 * 1_000_000 };
    let time = if timeout_ms < 0 { std::ptr::null() } else { &raw const time };
    let mut order = [0u8; 1];
    // SAFETY: all pointers lead to live locals.
    unsafe {
        // SIGCHLD is let in only here, so one that came since `reap` ends this wait at once.
        if libc::ppoll(&mut control, 1, time, mask) <= 0 || control.revents == 0 {
            return Word::None;
        }
        match libc::recv(CONTROL, order.as_mut_ptr().cast(), 1, libc::MSG_DONTWAIT) {
            1 => Word::Order(order[0]),
            0 => Word::Gone,
            _ if child::errno() == libc::EAGAIN || child::errno() == libc::EINTR => Word::None,
            _ => Word::Gone,
        }
    }
}

/// Blocks everything, and returns the mask of a wait that SIGCHLD alone may end.
///
/// # Safety
/// As `run`.
unsafe fn watch_children() -> libc::sigset_t {
    extern "C" fn ignore(_: c_int) {}
    // SAFETY: sigfillset initialises both sets; the handler does nothing.
    unsafe {
        let mut all = std::mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        libc::signal(libc::SIGCHLD, ignore as extern "C" fn(c_int) as libc::sighandler_t);
        libc::sigdelset(&mut all, libc::SIGCHLD);
        all
    }
}

/// # Safety
/// As `run`.
unsafe fn close_from(first: c_int) {
    // SAFETY: no pointers but to a live struct.
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) != 0 {
            let mut limit = std::mem::zeroed::<libc::rlimit>();
            libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
            for fd in first..limit.rlim_cur.min(65_536) as c_int {
                libc::close(fd);
            }
        }
    }
}

fn now_ms() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is live.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}

/// Fails only when execd is gone, which `wait` notices.
///
/// # Safety
/// As `run`.
unsafe fn tell(message: Message) {
    // SAFETY: pointer and length describe the live message.
    unsafe { libc::send(CONTROL, message.as_ptr().cast(), size_of::<Message>(), libc::MSG_NOSIGNAL) };
}
