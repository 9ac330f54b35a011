//! The system calls that no command of ours may make: ways into rarely tested parts of the kernel (keys, bpf, io_uring,
//! user namespaces, odd socket families) that node, python, git, cargo and deno do without. One filter, installed in
//! execd before its first thread and inherited by all it starts, so a command pays nothing for it.

use std::io;

use super::fd::check;

const NAMESPACES: u32 = 0x7E02_0000; // CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET
const NEW_TIME_NAMESPACE: u32 = 0x80;
const FAMILIES: [libc::c_int; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

#[cfg(target_arch = "x86_64")]
const ARCH: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCH: u32 = 0xC000_00B7;
// The libc crate has no name for it on every target.
#[cfg(target_arch = "x86_64")]
const KEXEC_FILE_LOAD: libc::c_long = 320;
#[cfg(target_arch = "aarch64")]
const KEXEC_FILE_LOAD: libc::c_long = 294;

/// Answered with EPERM: known calls that are not for a sandbox.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_pidfd_getfd,
    libc::SYS_fanotify_init,
    libc::SYS_kexec_load,
    KEXEC_FILE_LOAD,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ustat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_sysfs,
];

/// Answered with ENOSYS, upon which callers take the older way. clone3 hides its flags from a filter.
const ABSENT: &[libc::c_long] =
    &[libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const NUMBER_AT: u32 = 0; // offsets in struct seccomp_data
const ARCH_AT: u32 = 4;
const ARG_0_AT: u32 = 16; // low halves; both machines are little-endian
const ARG_1_AT: u32 = 24;

struct Filter(Vec<libc::sock_filter>);

impl Filter {
    fn push(&mut self, code: u32, jump_true: u8, jump_false: u8, value: u32) {
        self.0.push(libc::sock_filter { code: code as u16, jt: jump_true, jf: jump_false, k: value });
    }
    fn load(&mut self, offset: u32) {
        self.push(LOAD, 0, 0, offset);
    }
    fn answer(&mut self, verdict: u32) {
        self.push(libc::BPF_RET | libc::BPF_K, 0, 0, verdict);
    }
    /// Skips `count` instructions where the loaded value is not `value`.
    fn skip_unless(&mut self, value: u32, count: u8) {
        self.push(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, count, value);
    }
    fn refuse_if(&mut self, value: u32, errno: i32) {
        self.skip_unless(value, 1);
        self.answer(error(errno));
    }
    /// The call `number` is refused where argument 0 has one of `bits`.
    fn refuse_flags(&mut self, number: libc::c_long, bits: u32) {
        self.skip_unless(number as u32, 4);
        self.load(ARG_0_AT);
        self.push(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, 0, 1, bits);
        self.answer(error(libc::EPERM));
        self.answer(libc::SECCOMP_RET_ALLOW);
    }
}

fn error(errno: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno as u32
}

fn build() -> Vec<libc::sock_filter> {
    let mut filter = Filter(Vec::new());
    filter.load(ARCH_AT);
    filter.skip_unless(ARCH, 1);
    filter.push(libc::BPF_JMP | libc::BPF_JA, 0, 0, 1);
    filter.answer(error(libc::ENOSYS)); // another machine's table, such as 32-bit code has
    filter.load(NUMBER_AT);
    if cfg!(target_arch = "x86_64") {
        filter.push(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, 0x4000_0000); // the x32 table
        filter.answer(error(libc::ENOSYS));
    }
    for number in REFUSED {
        filter.refuse_if(*number as u32, libc::EPERM);
    }
    for number in ABSENT {
        filter.refuse_if(*number as u32, libc::ENOSYS);
    }
    filter.refuse_flags(libc::SYS_clone, NAMESPACES);
    filter.refuse_flags(libc::SYS_unshare, NAMESPACES | NEW_TIME_NAMESPACE);

    filter.skip_unless(libc::SYS_socket as u32, FAMILIES.len() as u8 * 2 + 2);
    filter.load(ARG_0_AT);
    for family in FAMILIES {
        filter.skip_unless(family as u32, 1);
        filter.answer(libc::SECCOMP_RET_ALLOW);
    }
    filter.answer(error(libc::EAFNOSUPPORT));

    // Characters pushed into a terminal's input are somebody else's commands.
    filter.skip_unless(libc::SYS_ioctl as u32, 5);
    filter.load(ARG_1_AT);
    filter.refuse_if(libc::TIOCSTI as u32, libc::EPERM);
    filter.refuse_if(libc::TIOCLINUX as u32, libc::EPERM);
    filter.answer(libc::SECCOMP_RET_ALLOW);
    filter.0
}

/// For this process and all that come from it, for ever. Needs no-new-privileges, and no second thread yet.
pub fn install() -> io::Result<()> {
    let mut filter = build();
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: `program` describes the live filter; the kernel checks and copies it.
    unsafe { check(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program, 0, 0))? };
    Ok(())
}
