//! What `std` has no name for about a file's space.

use std::fs::File;
use std::os::fd::AsRawFd;

/// Frees the disk below a range that nobody reads again. A file system that can not do it keeps it.
pub fn give_back(file: &File, offset: u64, size: u64) {
    let flags = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: no pointers.
    unsafe { libc::fallocate(file.as_raw_fd(), flags, offset as libc::off_t, size as libc::off_t) };
}

pub fn truncate(file: &File) {
    let _ = file.set_len(0);
}
