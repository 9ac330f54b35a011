//! Who this process and its threads are, and what they may still become.

use std::io;

use super::fd::check;

/// A user that commands and file calls act as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
}

pub fn own_uid() -> u32 {
    // SAFETY: no pointers, cannot fail.
    unsafe { libc::geteuid() }
}

pub fn is_pid_1() -> bool {
    std::process::id() == 1
}

/// Makes this process one that others of the same uid can neither read (memory, environment) nor trace, that adopts
/// the orphans below it, and that can gain no privilege by `exec`. Inherited by supervisors; the last one by commands.
pub fn harden() -> io::Result<()> {
    // SAFETY: prctl with integers only.
    unsafe {
        check(libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0))?;
        check(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))?;
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
    }
    Ok(())
}

/// Lets only what we name by hand outlive an `exec`: descriptors that execd's own parent left open are marked too.
pub fn close_inherited_on_exec() {
    const CLOSE_RANGE_CLOEXEC: libc::c_uint = 4;
    // SAFETY: no pointers; flags of descriptors above 2.
    unsafe {
        if libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, CLOSE_RANGE_CLOEXEC) != 0 {
            for fd in 3..4096 {
                libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
            }
        }
    }
}

/// From now on the files that *this thread* touches are touched as that user, with none of root's file capabilities.
/// Raw system calls on purpose: glibc's would change every thread.
pub fn act_on_files_as(identity: &Identity) -> io::Result<()> {
    // SAFETY: pointer and length describe the live list of groups.
    unsafe {
        let groups = &identity.groups;
        if libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        libc::syscall(libc::SYS_setfsgid, identity.gid);
        libc::syscall(libc::SYS_setfsuid, identity.uid);
        // setfsuid has no error: asking again with an impossible id returns the one in force.
        if libc::syscall(libc::SYS_setfsuid, u32::MAX) as u32 != identity.uid {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
    }
    Ok(())
}

/// The limit of open descriptors that execd was started with, which its commands get.
#[derive(Clone, Copy)]
pub struct OpenFiles(pub(super) libc::rlimit);

/// Lets execd itself hold the pipes of all its commands and the sockets of all its callers. Not for commands: some
/// programs close every descriptor there might be.
pub fn raise_open_files(wanted: u64) -> OpenFiles {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both pointers lead to live structs.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        let raised = libc::rlimit { rlim_cur: limit.rlim_cur.max(wanted.min(limit.rlim_max)), ..limit };
        libc::setrlimit(libc::RLIMIT_NOFILE, &raised);
    }
    OpenFiles(limit)
}

/// Sets the mask of mode bits and returns the one before.
pub fn set_umask(mask: u32) -> u32 {
    // SAFETY: no pointers, cannot fail. Called before the first thread starts.
    unsafe { libc::umask(mask as libc::mode_t) as u32 }
}

/// From the kernel. Ends the program where it has none: a name that can be guessed is worse.
pub fn fill_random(bytes: &mut [u8; 16]) {
    // SAFETY: pointer and length describe the live array; up to 256 bytes come whole.
    let size = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    assert!(size == bytes.len() as isize, "the kernel has no random bytes");
}
