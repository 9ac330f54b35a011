//! What an idle execd holds: next to nothing.

use std::ffi::c_void;

/// One heap for all threads, given back to the kernel when it empties: connections come and go, and each would
/// otherwise leave an arena behind. musl's allocator is so by itself, and has nothing to tune.
pub fn tune_allocator() {
    #[cfg(target_env = "gnu")]
    // SAFETY: integers only, before the first thread starts.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 128 * 1024);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 64 * 1024);
    }
}

unsafe extern "C" {
    // From the linker: the first byte of the program and the byte behind its code.
    static __executable_start: u8;
    static etext: u8;
}

/// Gives back free heap, and the pages of the program itself that happen to be mapped: the kernel maps whole
/// neighbourhoods, and has them at hand when they are needed again.
pub fn release() {
    // SAFETY: from its start to the end of its code a program is mapped read-only from its file, so dropping those
    // pages loses nothing; both addresses are inside one mapping that is there as long as we are.
    unsafe {
        #[cfg(target_env = "gnu")]
        libc::malloc_trim(0);
        let page = 4096;
        let start = (&raw const __executable_start as usize).next_multiple_of(page);
        let end = (&raw const etext as usize) / page * page;
        if end > start {
            libc::madvise(start as *mut c_void, end - start, libc::MADV_DONTNEED);
        }
    }
}
