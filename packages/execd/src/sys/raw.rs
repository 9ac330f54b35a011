//! System calls that write nothing but what they are told to: no `errno`, which belongs to a thread. A supervisor shares
//! execd's memory without being one of its threads, so the C library's own calls would write into a thread of execd.

use std::arch::asm;
use std::ffi::{c_long, c_void};

/// The result, or a negative `errno`.
///
/// # Safety
/// As the call `number` itself: the kernel reads and writes through what are pointers among `args`.
pub(super) unsafe fn call<const N: usize>(number: c_long, args: [usize; N]) -> isize {
    let arg = |index: usize| args.get(index).copied().unwrap_or(0);
    let result: isize;
    // SAFETY: the caller's promise; all registers that the kernel changes are named.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") arg(0), in("rsi") arg(1), in("rdx") arg(2), in("r10") arg(3), in("r8") arg(4), in("r9") arg(5),
            out("rcx") _, out("r11") _,
            options(nostack),
        );
        #[cfg(target_arch = "aarch64")]
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") arg(0) => result,
            in("x1") arg(1), in("x2") arg(2), in("x3") arg(3), in("x4") arg(4), in("x5") arg(5),
            options(nostack),
        );
    }
    result
}

/// What a new process runs. It never returns.
pub(super) type Body = extern "C" fn(*mut c_void) -> !;

/// `clone`: the new process runs `body(argument)` on the stack that ends at `stack`, a multiple of 16, or for 0 on the
/// caller's own below what is in use. Its pid, or a negative `errno`.
///
/// # Safety
/// `body` keeps to what the flags make of it. Where memory is shared, 0 needs CLONE_VFORK, and any other stack is nobody
/// else's until the process has left it.
pub(super) unsafe fn clone(flags: usize, stack: usize, body: Body, argument: *mut c_void) -> isize {
    let result: isize;
    // SAFETY: the new process comes out of the call with the registers of this one, and leaves for `body` at once. What
    // it pushes is below this frame, which `nostack` is not promised for.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call r13",
            "ud2",
            "2:",
            inlateout("rax") libc::SYS_clone as isize => result,
            in("rdi") flags, in("rsi") stack, in("rdx") 0usize, in("r10") 0usize, in("r8") 0usize,
            in("r12") argument, in("r13") body,
            out("rcx") _, out("r11") _,
        );
        #[cfg(target_arch = "aarch64")]
        asm!(
            "svc 0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x0, x20",
            "blr x21",
            "brk #1",
            "2:",
            in("x8") libc::SYS_clone,
            inlateout("x0") flags => result,
            in("x1") stack, in("x2") 0usize, in("x3") 0usize, in("x4") 0usize,
            in("x20") argument, in("x21") body,
        );
    }
    result
}

/// Ends the process at once.
pub(super) fn exit(code: usize) -> ! {
    loop {
        // SAFETY: no pointers.
        unsafe { call(libc::SYS_exit_group, [code]) };
    }
}

pub(super) fn kill(pid: libc::pid_t, signal: libc::c_int) {
    // SAFETY: no pointers.
    unsafe { call(libc::SYS_kill, [pid as usize, signal as usize]) };
}

pub(super) fn close(fd: libc::c_int) {
    // SAFETY: no pointers; whoever calls it owns the descriptor.
    unsafe { call(libc::SYS_close, [fd as usize]) };
}

pub(super) fn now_ms() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is live.
    unsafe { call(libc::SYS_clock_gettime, [libc::CLOCK_MONOTONIC as usize, (&raw mut time) as usize]) };
    time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn add_one(number: *mut c_void) -> ! {
        // SAFETY: the test's own number, which outlives this process.
        unsafe { *number.cast::<u32>() += 1 };
        exit(7)
    }

    #[test]
    fn a_process_shares_memory_or_has_a_copy() {
        let shared = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        for (flags, expected) in [(shared, 6), (libc::SIGCHLD, 5)] {
            let mut number = 5u32;
            let mut status = 0;
            // SAFETY: the first is waited for by CLONE_VFORK, the second has its own memory.
            unsafe {
                let pid = clone(flags as usize, 0, add_one, (&raw mut number).cast());
                assert!(pid > 0, "{pid}");
                libc::waitpid(pid as libc::pid_t, &mut status, 0);
                // qemu's user mode, by which these tests run for arm64, makes a fork of the first too.
                if cfg!(target_arch = "x86_64") {
                    assert_eq!(std::ptr::read_volatile(&raw const number), expected);
                }
            }
            assert_eq!(libc::WEXITSTATUS(status), 7);
        }
    }

    #[test]
    fn a_failure_is_its_number_and_errno_is_left_alone() {
        // SAFETY: no pointers.
        unsafe {
            libc::close(-1);
            assert_eq!(call(libc::SYS_kill, [0, 9999]), -(libc::EINVAL as isize));
        }
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EBADF));
    }
}
