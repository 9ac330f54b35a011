//! The command itself, from `clone` to `exec`. It shares the supervisor's memory until `exec` (as vfork does, which
//! spares copying page tables), so a failure is simply written down where the supervisor then reads it.

use std::ffi::{CString, c_void};

use libc::{c_char, pid_t};

use super::identity::{Identity, OpenFiles};
use super::raw::{self, call};

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
pub struct Prepared {
    pub program: Program,
    argv: Vec<*const c_char>,
    envp: Vec<*const c_char>,
}

impl Prepared {
    pub fn new(program: Program) -> Prepared {
        let pointers = |list: &[CString]| {
            list.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect::<Vec<_>>()
        };
        Prepared { argv: pointers(&program.argv), envp: pointers(&program.envp), program }
    }
}

struct Start<'a> {
    prepared: &'a Prepared,
    failure: Option<StartFailure>,
}

/// Starts the command with descriptors 0, 1 and 2 of the caller. Returns when it has replaced its image, or failed
/// to; a failed one is still to be waited for when it has a pid.
///
/// # Safety
/// Only in a process with a single thread, all of whose signals are blocked.
pub(super) unsafe fn start(prepared: &Prepared) -> (Option<pid_t>, Option<StartFailure>) {
    let mut start = Start { prepared, failure: None };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: CLONE_VFORK suspends us until the child has left this memory, so the stack and `start` outlive its use of
    // them, and nobody else runs in it meanwhile.
    let pid = unsafe { raw::clone(flags as usize, 0, become_command, (&raw mut start).cast()) };
    if pid < 0 {
        return (None, Some(StartFailure { step: Step::Fork, errno: -pid as i32 }));
    }
    // SAFETY: written through a pointer by the child, which the compiler can not see.
    (Some(pid as pid_t), unsafe { std::ptr::read_volatile(&raw const start.failure) })
}

extern "C" fn become_command(start: *mut c_void) -> ! {
    // SAFETY: `start` is the live `Start` of the suspended parent, and only system calls follow.
    unsafe {
        let start = &mut *start.cast::<Start>();
        let failure = replace_image(start.prepared);
        std::ptr::write_volatile(&raw mut start.failure, Some(failure));
        raw::exit(127)
    }
}

/// # Safety
/// In the child alone: it changes who the caller is.
unsafe fn replace_image(prepared: &Prepared) -> StartFailure {
    let program = &prepared.program;
    let failed = |step: Step, result: isize| StartFailure { step, errno: -result as i32 };
    // SAFETY: all pointers lead into `prepared`, which lives in the suspended parent, and to live locals.
    unsafe {
        call(libc::SYS_setsid, []);
        if let Some(user) = &program.run_as {
            let (uid, gid) = (user.uid as usize, user.gid as usize);
            for (number, args) in [
                (libc::SYS_setgroups, [user.groups.len(), user.groups.as_ptr() as usize, 0]),
                (libc::SYS_setresgid, [gid, gid, gid]),
                (libc::SYS_setresuid, [uid, uid, uid]),
            ] {
                let result = call(number, args);
                if result < 0 {
                    return failed(Step::Identity, result);
                }
            }
        }
        call(libc::SYS_umask, [program.umask as usize]);
        let limit = (&raw const program.open_files.0) as usize;
        call(libc::SYS_prlimit64, [0, libc::RLIMIT_NOFILE as usize, limit, 0]);
        let result = call(libc::SYS_chdir, [program.cwd.as_ptr() as usize]);
        if result < 0 {
            return failed(Step::Cwd, result);
        }
        // The kernel's own struct of 64-bit fields, all zero: the default action. execd ignores SIGPIPE.
        let default_action = [0u64; 4];
        let action = (&raw const default_action) as usize;
        call(libc::SYS_rt_sigaction, [libc::SIGPIPE as usize, action, 0, size_of::<u64>()]);
        let none = 0u64;
        let set = [libc::SIG_SETMASK as usize, (&raw const none) as usize, 0, size_of::<u64>()];
        call(libc::SYS_rt_sigprocmask, set);
        let mut worst = -(libc::ENOENT as isize);
        for path in &program.candidates {
            let (argv, envp) = (prepared.argv.as_ptr() as usize, prepared.envp.as_ptr() as usize);
            match call(libc::SYS_execve, [path.as_ptr() as usize, argv, envp]) {
                result if result == -(libc::ENOENT as isize) || result == -(libc::ENOTDIR as isize) => {}
                // As execvp does: another directory may have one that we may run.
                result if result == -(libc::EACCES as isize) => worst = result,
                other => return failed(Step::Exec, other),
            }
        }
        failed(Step::Exec, worst)
    }
}
