//! Walks /proc for (pid, parent) pairs without allocating and without `errno`, so that a supervisor can use it.

use std::mem::MaybeUninit;

use libc::{c_char, c_int, pid_t};

use super::raw::{self, call};

/// Processes that one look at the tree can hold. A larger one gets SIGTERM in part and SIGKILL in full: every orphan
/// becomes a direct child, and the kill loop looks again until none is left.
pub(super) const MAX_PROCESSES: usize = 8192;
const DIRENT_NAME_OFFSET: usize = 19; // of struct linux_dirent64, behind ino, off, reclen and type

/// Calls `visit(pid, parent)` for each process that this namespace shows; `false` where /proc shows none.
pub fn each_process(visit: &mut dyn FnMut(pid_t, pid_t)) -> bool {
    let proc = open(libc::AT_FDCWD, c"/proc".as_ptr(), libc::O_DIRECTORY);
    if proc < 0 {
        return false;
    }
    let mut has_seen = false;
    let mut buffer = [0u8; 8192];
    loop {
        // SAFETY: pointer and length describe the live buffer.
        let size = unsafe {
            call(libc::SYS_getdents64, [proc as usize, buffer.as_mut_ptr() as usize, buffer.len()])
        };
        if size <= 0 {
            break;
        }
        let mut rest = buffer.get(..size as usize).unwrap_or(&[]);
        while let Some(length) = rest.get(16..18).map(|b| u16::from_ne_bytes([b[0], b[1]]) as usize) {
            if let Some(pid) = rest.get(DIRENT_NAME_OFFSET..).and_then(leading_number)
                && let Some(parent) = parent_of(proc, pid)
            {
                has_seen = true;
                visit(pid, parent);
            }
            rest = match rest.get(length..) {
                Some(next) if length > 0 => next,
                _ => break,
            };
        }
    }
    raw::close(proc);
    has_seen
}

/// Sends `signals` to every descendant of `root` that one look finds; `false` where /proc shows none.
pub fn signal_descendants(root: pid_t, signals: &[c_int]) -> bool {
    each_descendant(root, &mut |pid| {
        for signal in signals {
            raw::kill(pid, *signal);
        }
    })
}

/// Calls `visit` for every descendant of `root` that one look finds, parents first; `false` where /proc shows none.
pub fn each_descendant(root: pid_t, visit: &mut dyn FnMut(pid_t)) -> bool {
    let mut pairs = [MaybeUninit::<(pid_t, pid_t)>::uninit(); MAX_PROCESSES];
    let mut count = 0;
    let has_seen = each_process(&mut |pid, parent| {
        if let Some(place) = pairs.get_mut(count) {
            place.write((pid, parent));
            count += 1;
        }
    });
    // SAFETY: the first `count` of them were written above, and a slice of them is laid out like one of plain pairs.
    let pairs = unsafe { &mut *(&raw mut pairs[..count] as *mut [(pid_t, pid_t)]) };
    // A found process moves to the front and is looked at as a parent in its turn.
    let mut found = 0;
    let mut next = 0;
    let mut parent = root;
    loop {
        let mut index = found;
        while index < pairs.len() {
            if pairs[index].1 == parent {
                pairs.swap(index, found);
                found += 1;
            }
            index += 1;
        }
        match pairs.get(next) {
            Some(pair) if next < found => parent = pair.0,
            _ => break,
        }
        next += 1;
    }
    for (pid, _) in pairs.iter().take(found) {
        visit(*pid);
    }
    has_seen
}

/// For reading; a negative number where it can not be had. The path ends in NUL.
fn open(folder: c_int, path: *const c_char, flags: c_int) -> c_int {
    let flags = (flags | libc::O_RDONLY | libc::O_CLOEXEC) as usize;
    // SAFETY: the path is live and ends in NUL.
    unsafe { call(libc::SYS_openat, [folder as usize, path as usize, flags, 0]) as c_int }
}

fn leading_number(name: &[u8]) -> Option<pid_t> {
    let mut number: pid_t = 0;
    let mut digits = 0;
    for byte in name.iter().take_while(|byte| byte.is_ascii_digit()) {
        number = number.checked_mul(10)?.checked_add((byte - b'0') as pid_t)?;
        digits += 1;
    }
    (digits > 0).then_some(number)
}

/// From /proc/PID/stat: the second field behind the last `)`, since a program's name may contain anything.
fn parent_of(proc: c_int, pid: pid_t) -> Option<pid_t> {
    let mut path = [0u8; 24];
    write_path(&mut path, pid);
    let mut stat = [0u8; 512];
    // The path ends in NUL: the array is longer than any pid and "/stat".
    let file = open(proc, path.as_ptr().cast(), 0);
    if file < 0 {
        return None;
    }
    // SAFETY: pointer and length describe the live buffer.
    let size = unsafe { call(libc::SYS_read, [file as usize, stat.as_mut_ptr() as usize, stat.len()]) };
    raw::close(file);
    let stat = stat.get(..usize::try_from(size).ok()?)?;
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    leading_number(stat.get(end + 4..)?)
}

fn write_path(path: &mut [u8; 24], pid: pid_t) {
    let mut digits = [0u8; 10];
    let mut first = digits.len();
    let mut rest = pid;
    while first > 0 {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let text = digits[first..].iter().chain(b"/stat");
    for (place, byte) in path.iter_mut().zip(text) {
        *place = *byte;
    }
}
