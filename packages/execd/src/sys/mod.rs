//! The only module with `unsafe`: thin, safe functions over the system calls that `std` has no name for.
//! What runs as a supervisor and up to `exec` is here too (`supervisor`, `child`, `proc_scan`, `raw`): it neither allocates
//! nor locks nor writes `errno`, because it is no thread of the memory that it shares.
#![allow(unsafe_code)]

pub mod child;
pub mod disk;
pub mod fd;
pub mod identity;
pub mod memory;
pub mod proc_scan;
pub mod process;
mod raw;
pub mod seccomp;
pub mod signals;
pub mod socket;
pub mod supervisor;
