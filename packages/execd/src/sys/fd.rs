//! File descriptors: pipes, poll, and reads and writes that never block and never raise SIGPIPE.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

pub(super) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn check_size(result: libc::ssize_t) -> io::Result<Option<usize>> {
    if result >= 0 {
        return Ok(Some(result as usize));
    }
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
        _ => Err(error),
    }
}

/// A descriptor that names what is at a path, whatever it is. Not by `std`, which takes O_PATH for a mode of access where
/// musl does, and drops it.
pub fn open_place(path: &Path) -> io::Result<OwnedFd> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path is live and ends in NUL; the new descriptor is ours alone.
    unsafe { Ok(OwnedFd::from_raw_fd(check(libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC))?)) }
}

/// (read end, write end), both closed on exec.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: the array has the two places that pipe2 fills; on success both are ours alone.
    unsafe {
        check(libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC))?;
        Ok((OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])))
    }
}

/// Two ends that carry whole messages, closed on exec.
pub fn message_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: as in `pipe`.
    unsafe {
        check(libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()))?;
        Ok((OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])))
    }
}

/// A flag that every poll can watch: readable from `raise` on, until it is cleared.
pub struct Flag(OwnedFd);

impl Flag {
    pub fn new() -> io::Result<Flag> {
        // SAFETY: no pointers; the new descriptor is ours alone.
        unsafe {
            Ok(Flag(OwnedFd::from_raw_fd(check(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK))?)))
        }
    }

    pub fn raise(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: the eight bytes live through the call. It can only fail when the flag is raised already.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// For one that is raised again and again.
    pub fn clear(&self) {
        let _ = read_some(self.fd(), &mut [0; 8]);
    }

    pub fn is_raised(&self) -> bool {
        let mut fds = [Interest::read(self.fd())];
        poll(&mut fds, Some(Duration::ZERO)).is_ok() && fds[0].is_ready()
    }

    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

pub fn set_nonblocking(fd: &OwnedFd) -> io::Result<()> {
    let raw = fd.as_raw_fd();
    // SAFETY: no pointers; the flags belong to this end of the pipe, a command's end has its own.
    unsafe {
        let flags = check(libc::fcntl(raw, libc::F_GETFL))?;
        check(libc::fcntl(raw, libc::F_SETFL, flags | libc::O_NONBLOCK))?;
    }
    Ok(())
}

/// Where the user may have no more such room it stays as it is.
pub fn widen_pipe(pipe: &OwnedFd) {
    const WIDE_BYTES: libc::c_int = 256 * 1024;
    // SAFETY: no pointers.
    unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETPIPE_SZ, WIDE_BYTES) };
}

/// `Some(0)` at the end, `None` when there is nothing now.
pub fn read_some(fd: RawFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    // SAFETY: pointer and length describe one live, writable slice.
    check_size(unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) })
}

/// `None` when there is no room now.
pub fn write_some(fd: RawFd, bytes: &[u8]) -> io::Result<Option<usize>> {
    // SAFETY: pointer and length describe one live slice.
    check_size(unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) })
}

/// As `read_some`, for a socket whatever its blocking mode.
pub fn receive_some(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    let raw = socket.as_fd().as_raw_fd();
    // SAFETY: pointer and length describe one live, writable slice.
    check_size(unsafe { libc::recv(raw, buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT) })
}

/// As `write_some`, for a socket whatever its blocking mode.
pub fn send_some(socket: impl AsFd, bytes: &[u8]) -> io::Result<Option<usize>> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: pointer and length describe one live slice.
    check_size(unsafe { libc::send(socket.as_fd().as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) })
}

/// One descriptor that a poll watches; `none()` keeps a place in the list without watching anything.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Interest(libc::pollfd);

impl Interest {
    fn new(fd: RawFd, events: i16) -> Interest {
        Interest(libc::pollfd { fd, events, revents: 0 })
    }
    pub fn none() -> Interest {
        Interest::new(-1, 0)
    }
    pub fn read(fd: RawFd) -> Interest {
        Interest::new(fd, libc::POLLIN)
    }
    pub fn write(fd: RawFd) -> Interest {
        Interest::new(fd, libc::POLLOUT)
    }
    /// Wakes when the other side has closed; with `write`, also when there is room.
    pub fn hangup(fd: RawFd, write: bool) -> Interest {
        Interest::new(fd, libc::POLLRDHUP | if write { libc::POLLOUT } else { 0 })
    }
    pub fn is_ready(&self) -> bool {
        self.0.revents != 0
    }
    pub fn is_hung_up(&self) -> bool {
        self.0.revents & (libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0
    }
}

/// Waits until one is ready; `None` waits for ever. A signal ends it early, with nothing ready.
pub fn poll(interests: &mut [Interest], timeout: Option<Duration>) -> io::Result<()> {
    // Rounded up, or a deadline less than 1 ms away would spin.
    let timeout_ms = match timeout {
        None => -1,
        Some(time) => time.as_nanos().div_ceil(1_000_000).min(i32::MAX as u128) as i32,
    };
    // SAFETY: `Interest` is a transparent pollfd; pointer and length describe one live, writable slice.
    let result =
        unsafe { libc::poll(interests.as_mut_ptr().cast(), interests.len() as libc::nfds_t, timeout_ms) };
    match check(result) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            interests.iter_mut().for_each(|interest| interest.0.revents = 0);
            Ok(())
        }
        other => other.map(|_| ()),
    }
}
