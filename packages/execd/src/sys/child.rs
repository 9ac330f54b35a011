//! The command itself, from `clone` to `exec`. It shares the supervisor's memory until `exec` (as vfork does, which
//! spares copying page tables), so a failure is simply written down where the supervisor then reads it.

use std::ffi::{CString, c_void};
use std::io;
use std::mem::MaybeUninit;

use libc::{c_char, c_int, pid_t};

use super::identity::{Identity, OpenFiles};

/// A command ready to run: everything is allocated before the fork, because nothing may be after it.
pub struct Program {
    /// Paths to try in order, as found on `PATH`.
    pub candidates: Vec<CString>,
    pub argv: Vec<CString>,
    /// `NAME=value`.
    pub envp: Vec<CString>,
    pub cwd: CString,
    pub run_as: Option<Identity>,
    pub umask: u32,
    pub open_files: OpenFiles,
}

/// Where a start failed, and the `errno`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartFailure {
    pub step: Step,
    pub errno: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Fork,
    Identity,
    Cwd,
    Exec,
}

/// `Program` with the NULL-terminated arrays that `execve` wants.
pub struct Prepared<'a> {
    program: &'a Program,
    argv: Vec<*const c_char>,
    envp: Vec<*const c_char>,
}

impl Prepared<'_> {
    pub fn new(program: &Program) -> Prepared<'_> {
        let pointers = |list: &[CString]| {
            list.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect::<Vec<_>>()
        };
        Prepared { program, argv: pointers(&program.argv), envp: pointers(&program.envp) }
    }
}

struct Start<'a> {
    prepared: &'a Prepared<'a>,
    failure: Option<StartFailure>,
}

const STACK_BYTES: usize = 32 * 1024;

#[repr(align(16))]
struct Stack(MaybeUninit<[u8; STACK_BYTES]>);

/// Starts the command with descriptors 0, 1 and 2 of the caller. Returns when it has replaced its image, or failed
/// to; a failed one is still to be waited for when it has a pid.
///
/// # Safety
/// Only in a process with a single thread.
pub(super) unsafe fn start(prepared: &Prepared) -> (Option<pid_t>, Option<StartFailure>) {
    let mut stack = Stack(MaybeUninit::uninit());
    let mut start = Start { prepared, failure: None };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: CLONE_VFORK suspends us until the child has left this memory, so `stack` and `start` outlive its use of
    // them, and nobody else runs in it meanwhile. The stack grows down from its aligned end.
    let pid = unsafe {
        let top = stack.0.as_mut_ptr().cast::<u8>().add(STACK_BYTES).cast::<c_void>();
        libc::clone(become_command, top, flags, (&raw mut start).cast())
    };
    if pid < 0 {
        return (None, Some(StartFailure { step: Step::Fork, errno: errno() }));
    }
    // SAFETY: written through a pointer by the child, which the compiler can not see.
    (Some(pid), unsafe { std::ptr::read_volatile(&raw const start.failure) })
}

extern "C" fn become_command(start: *mut c_void) -> c_int {
    // SAFETY: `start` is the live `Start` of the suspended parent, and only system calls follow.
    unsafe {
        let start = &mut *start.cast::<Start>();
        let failure = replace_image(start.prepared);
        std::ptr::write_volatile(&raw mut start.failure, Some(failure));
        libc::_exit(127)
    }
}

/// # Safety
/// In the child alone: it changes who the caller is. Raw calls for the ids, since glibc's would look for threads.
unsafe fn replace_image(prepared: &Prepared) -> StartFailure {
    let program = prepared.program;
    // SAFETY: all pointers lead into `program`, which lives in the suspended parent.
    unsafe {
        libc::setsid();
        if let Some(user) = &program.run_as {
            let is_ours = libc::syscall(libc::SYS_setgroups, user.groups.len(), user.groups.as_ptr()) == 0
                && libc::syscall(libc::SYS_setresgid, user.gid, user.gid, user.gid) == 0
                && libc::syscall(libc::SYS_setresuid, user.uid, user.uid, user.uid) == 0;
            if !is_ours {
                return StartFailure { step: Step::Identity, errno: errno() };
            }
        }
        libc::umask(program.umask as libc::mode_t);
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const program.open_files.0);
        if libc::chdir(program.cwd.as_ptr()) != 0 {
            return StartFailure { step: Step::Cwd, errno: errno() };
        }
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let mut none = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
        let mut worst = libc::ENOENT;
        for path in &program.candidates {
            libc::execve(path.as_ptr(), prepared.argv.as_ptr(), prepared.envp.as_ptr());
            match errno() {
                libc::ENOENT | libc::ENOTDIR => {}
                // As execvp does: another directory may have one that we may run.
                libc::EACCES => worst = libc::EACCES,
                other => return StartFailure { step: Step::Exec, errno: other },
            }
        }
        StartFailure { step: Step::Exec, errno: worst }
    }
}

pub(super) fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}
