//! The only module with `unsafe`: thin, safe functions over the system calls that `std` has no name for.
//! What runs between `fork` and `exec` is here too (`supervisor`, `child`, `proc_scan`): it neither allocates
//! nor locks, because a thread that held a lock does not exist in the copy.
#![allow(unsafe_code)]

pub mod child;
pub mod disk;
pub mod fd;
pub mod identity;
pub mod memory;
pub mod proc_scan;
pub mod process;
pub mod seccomp;
pub mod signals;
pub mod socket;
pub mod supervisor;
