//! Unix sockets by path. A socket's address holds 107 bytes and a path may be longer: such a one goes through a
//! descriptor and its name in /proc.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::sys::fd::open_place;

const MAX_ADDRESS_BYTES: usize = 107;

fn is_address(path: &Path) -> bool {
    path.as_os_str().as_bytes().len() <= MAX_ADDRESS_BYTES
}

pub fn connect(path: &Path) -> io::Result<UnixStream> {
    if is_address(path) {
        return UnixStream::connect(path);
    }
    let place = open_place(path)?;
    UnixStream::connect(format!("/proc/self/fd/{}", place.as_raw_fd()))
}

/// What is left of a listener that ended without a word is removed; one that answers is not.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|about| about.file_type().is_socket());
    if is_socket && connect(path).is_err() {
        std::fs::remove_file(path)?;
    }
    if is_address(path) {
        return UnixListener::bind(path);
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = File::open(folder)?;
    UnixListener::bind(PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name))
}
