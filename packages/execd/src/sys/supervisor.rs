//! The supervisor: one small process per command, which adopts the command's orphans, reaps them, and on a word from
//! execd (or when execd is gone) ends the whole tree. It never runs anything but this: a process of its own, with its own
//! descriptors and signals, but in execd's memory, so that to start one copies no page tables and no pages.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use libc::{c_int, pid_t};

use super::child::{self, Prepared, Step};
use super::proc_scan;
use super::raw::{self, call};

/// Between SIGTERM and SIGKILL, when a command is to be ended.
pub const GRACE_MS: i64 = 2000;
/// The same for what a command left behind when it ended by itself: its answer waits for this.
pub const SWEEP_GRACE_MS: i64 = 200;
/// Between two looks at who is new or stopped in a tree that was told to end.
const MIN_PAUSE_MS: i64 = 5;
const MAX_PAUSE_MS: i64 = 160;
const KILL_AGAIN_MS: i64 = 10; // what forks faster than it is killed is met again
/// A command that ends within this time is told of once, with its end: most do, and each word wakes somebody.
const TELL_START_AFTER_MS: i64 = 2;
const CONTROL: c_int = 3;

/// From execd: one byte.
pub const ORDER_KILL: u8 = b'K';
pub const ORDER_SWEEP: u8 = b'S';

/// To execd: one message of four integers, the first of which says which it is.
pub type Message = [i32; 4];
pub const STARTED: i32 = 1; // pid
pub const START_FAILED: i32 = 2; // pid or 0, step, errno
pub const EXITED: i32 = 3; // wait status, 1 when no descendant is left (the supervisor ends too then), pid
pub const EMPTY: i32 = 4; // no descendant is left

/// What a supervisor is given. It stays where it is until the supervisor and its command have left this memory.
pub struct Orders {
    pub prepared: Prepared,
    pub control: c_int,
    pub stdio: [c_int; 3],
}

struct Supervisor {
    command: pid_t,
    has_told_start: bool,
    has_control: bool,
}

/// The whole life of a supervisor, as `raw::clone` starts it: `orders` leads to its `Orders`. It takes over descriptors
/// 0 to 3 and closes all others. All signals are blocked. From here on there are only system calls that leave `errno`
/// alone, no allocation and no lock.
pub(super) extern "C" fn run(orders: *mut c_void) -> ! {
    // SAFETY: whoever clones keeps `orders` alive and unchanged for as long as we are.
    let orders = unsafe { &*orders.cast::<Orders>() };
    for (number, fd) in orders.stdio.into_iter().enumerate() {
        duplicate(fd, number as c_int, 0);
    }
    if orders.control != CONTROL {
        duplicate(orders.control, CONTROL, libc::O_CLOEXEC);
    }
    // Without this a supervisor would hold other commands' pipes and other callers' connections open.
    close_from(CONTROL + 1);
    // SAFETY: a number and a flag.
    unsafe { call(libc::SYS_prctl, [libc::PR_SET_CHILD_SUBREAPER as usize, 1, 0, 0, 0]) };
    // SAFETY: this process has one thread, and `clone` was called with all signals blocked.
    let (pid, failure) = unsafe { child::start(&orders.prepared) };
    (0..3).for_each(raw::close);
    if let Some(failure) = failure {
        if let Some(pid) = pid {
            wait_for(pid, 0, &mut 0);
        }
        let step = match failure.step {
            Step::Fork => 0,
            Step::Identity => 1,
            Step::Cwd => 2,
            Step::Exec => 3,
        };
        tell([START_FAILED, pid.unwrap_or(0), step, failure.errno]);
        raw::exit(0)
    }
    Supervisor { command: pid.unwrap_or(0), has_told_start: false, has_control: true }.watch()
}

enum Word {
    None,
    Order(u8),
    Gone,
}

impl Supervisor {
    fn watch(mut self) -> ! {
        let mut timeout_ms = TELL_START_AFTER_MS;
        loop {
            self.pass_on_ends();
            match self.wait(timeout_ms) {
                Word::None if !self.has_told_start => self.tell_start(),
                Word::None => {}
                Word::Order(ORDER_SWEEP) => self.end_tree(SWEEP_GRACE_MS),
                Word::Order(_) => self.end_tree(GRACE_MS),
                Word::Gone => self.end_tree(GRACE_MS),
            }
            timeout_ms = -1;
        }
    }

    /// SIGTERM to the whole tree, and after its grace SIGKILL, until nothing is left.
    fn end_tree(mut self, grace_ms: i64) -> ! {
        self.tell_start();
        let own_pid = own_pid();
        let mut told = Told::new();
        let mut until_ms = raw::now_ms() + grace_ms;
        let mut pause_ms = MIN_PAUSE_MS;
        told.tell_descendants(own_pid);
        loop {
            self.pass_on_ends();
            let left_ms = until_ms - raw::now_ms();
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
                    raw::kill(-self.command, libc::SIGKILL);
                }
                KILL_AGAIN_MS
            };
            match self.wait(timeout_ms) {
                Word::None => {}
                Word::Order(ORDER_SWEEP) => until_ms = until_ms.min(raw::now_ms() + SWEEP_GRACE_MS),
                Word::Order(_) | Word::Gone => {}
            }
        }
    }

    fn tell_start(&mut self) {
        if !self.has_told_start {
            self.has_told_start = true;
            tell([STARTED, self.command, 0, 0]);
        }
    }

    /// Reaps what has ended and reports it; ends with the last descendant.
    fn pass_on_ends(&mut self) {
        let (is_empty, exit_status) = self.reap();
        if let Some(status) = exit_status {
            self.has_told_start = true;
            tell([EXITED, status, is_empty as i32, self.command]);
        } else if is_empty {
            tell([EMPTY, 0, 0, 0]);
        }
        if is_empty {
            raw::exit(0)
        }
    }

    /// Whether no child is left, and the command's wait status if it was among those that ended.
    fn reap(&self) -> (bool, Option<c_int>) {
        let mut exit_status = None;
        loop {
            let mut status = 0;
            match wait_for(-1, libc::WNOHANG, &mut status) {
                0 => return (false, exit_status),
                pid if pid == self.command as isize => exit_status = Some(status),
                pid if pid > 0 => {}
                _ => return (true, exit_status),
            }
        }
    }

    /// Sleeps until a child ends, execd says something, or the time is over.
    fn wait(&mut self, timeout_ms: i64) -> Word {
        let control = if self.has_control { CONTROL } else { -1 };
        let mut control = libc::pollfd { fd: control, events: libc::POLLIN, revents: 0 };
        let time = libc::timespec { tv_sec: timeout_ms / 1000, tv_nsec: timeout_ms % 1000 * 1_000_000 };
        let time = if timeout_ms < 0 { std::ptr::null() } else { &raw const time };
        // SIGCHLD, for which execd has a handler that does nothing, is let in only here, so one that came since `reap` ends
        // this wait at once.
        let mask = !(1u64 << (libc::SIGCHLD - 1));
        let mut order = [0u8; 1];
        let (fds, mask) = ((&raw mut control) as usize, (&raw const mask) as usize);
        // SAFETY: all pointers lead to live locals.
        let received = unsafe {
            let ready = call(libc::SYS_ppoll, [fds, 1, time as usize, mask, size_of::<u64>()]);
            if ready <= 0 || control.revents == 0 {
                return Word::None;
            }
            call(
                libc::SYS_recvfrom,
                [CONTROL as usize, order.as_mut_ptr() as usize, 1, libc::MSG_DONTWAIT as usize, 0, 0],
            )
        };
        match received {
            1 => Word::Order(order[0]),
            // 0 is its end, as with any failure but these.
            failed if failed == -(libc::EAGAIN as isize) || failed == -(libc::EINTR as isize) => Word::None,
            _ => {
                self.has_control = false;
                Word::Gone
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
        raw::kill(pid, libc::SIGTERM);
        // So that a stopped one gets to hear of it.
        raw::kill(pid, libc::SIGCONT);
    }
}

fn wait_for(pid: pid_t, options: c_int, status: &mut c_int) -> isize {
    let status: *mut c_int = status;
    // SAFETY: `status` is live.
    unsafe { call(libc::SYS_wait4, [pid as usize, status as usize, options as usize, 0]) }
}

fn own_pid() -> pid_t {
    // SAFETY: no pointers.
    unsafe { call(libc::SYS_getpid, []) as pid_t }
}

fn duplicate(fd: c_int, number: c_int, flags: c_int) {
    // SAFETY: no pointers.
    let result = unsafe { call(libc::SYS_dup3, [fd as usize, number as usize, flags as usize]) };
    if result == -(libc::EINVAL as isize) {
        // It is there already, and is not to be closed on exec.
        // SAFETY: as above.
        unsafe { call(libc::SYS_fcntl, [fd as usize, libc::F_SETFD as usize, 0]) };
    }
}

fn close_from(first: c_int) {
    // SAFETY: numbers, and a pointer to a live struct.
    unsafe {
        if call(libc::SYS_close_range, [first as usize, u32::MAX as usize, 0]) != 0 {
            let mut limit = libc::rlimit { rlim_cur: 65_536, rlim_max: 0 };
            let place = (&raw mut limit) as usize;
            call(libc::SYS_prlimit64, [0, libc::RLIMIT_NOFILE as usize, 0, place]);
            (first..limit.rlim_cur.min(65_536) as c_int).for_each(raw::close);
        }
    }
}

/// Fails only when execd is gone, which `wait` notices.
fn tell(message: Message) {
    let flags = libc::MSG_NOSIGNAL as usize;
    let message = (&raw const message) as usize;
    // SAFETY: pointer and length describe the live message.
    unsafe { call(libc::SYS_sendto, [CONTROL as usize, message, size_of::<Message>(), flags, 0, 0]) };
}
