//! What `std` does not tell about a socket.

use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// The pid of the process that connected, as this namespace sees it: 0 is one outside of it.
pub fn peer_pid(socket: &OwnedFd) -> Option<i32> {
    let mut credentials = libc::ucred { pid: -1, uid: 0, gid: 0 };
    let mut size = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: pointer and size describe one live ucred.
    let result = unsafe {
        let place = (&raw mut credentials).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, place, &mut size)
    };
    (result == 0).then_some(credentials.pid)
}

/// Ends the write side, so that the other one sees the end while we still read what it sends.
pub fn shutdown_write(socket: &OwnedFd) {
    // SAFETY: no pointers.
    unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_WR) };
}

/// Lets the kernel find a peer that vanished without a word (about two minutes), at no cost to us.
pub fn enable_keepalive(socket: impl AsFd) {
    let options = [
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
        (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 60),
        (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, 15),
        (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 4),
    ];
    for (level, name, value) in options {
        let value: libc::c_int = value;
        let size = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: pointer and size describe one live int.
        unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), level, name, (&raw const value).cast(), size) };
    }
}

/// Whether a descriptor is /dev/null (character device 1:3), by its numbers and not by its name.
pub fn is_dev_null(fd: impl AsFd) -> bool {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: fstat fills the struct whenever it returns 0, and only then is it read.
    unsafe {
        if libc::fstat(fd.as_fd().as_raw_fd(), stat.as_mut_ptr()) != 0 {
            return false;
        }
        let stat = stat.assume_init();
        stat.st_mode & libc::S_IFMT == libc::S_IFCHR && stat.st_rdev == libc::makedev(1, 3)
    }
}
