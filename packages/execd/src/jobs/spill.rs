//! Where output goes that is too much for memory: one file without a name, beside the socket or in TMPDIR, in slots of
//! one block each. What is freed is given back to the disk.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::errors::describe;
use crate::log;
use crate::random;
use crate::sys::disk::{give_back, truncate};

/// Output held as one piece, in memory or in a slot.
pub const BLOCK_BYTES: usize = 128 * 1024;

pub struct Spill {
    folders: Vec<PathBuf>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    file: Option<std::sync::Arc<File>>,
    free: Vec<u32>,
    slots: u32,
    has_failed: bool,
}

/// A block on disk. Not `Copy`: whoever has it gives it back.
#[derive(Debug, PartialEq, Eq)]
pub struct Slot(u32);

impl Slot {
    fn offset(&self) -> u64 {
        u64::from(self.0) * BLOCK_BYTES as u64
    }
}

impl Spill {
    /// The first folder that takes a file is used, when one is needed.
    pub fn new(folders: Vec<PathBuf>) -> Spill {
        Spill { folders, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` when no disk takes it.
    pub fn put(&self, bytes: &[u8]) -> Option<Slot> {
        let (file, slot) = {
            let mut state = self.lock();
            if state.file.is_none() {
                state.file = self.open(&mut state.has_failed).map(std::sync::Arc::new);
            }
            let file = state.file.clone()?;
            let slot = state.free.pop().unwrap_or_else(|| {
                state.slots += 1;
                state.slots - 1
            });
            (file, Slot(slot))
        };
        match file.write_all_at(bytes, slot.offset()) {
            Ok(()) => Some(slot),
            Err(error) => {
                self.complain(&mut self.lock().has_failed, &error);
                self.free(slot);
                None
            }
        }
    }

    /// Fills `bytes` from a place in the block; `false` when the disk has lost it.
    pub fn get(&self, slot: &Slot, at: usize, bytes: &mut [u8]) -> bool {
        let file = self.lock().file.clone();
        file.is_some_and(|file| file.read_exact_at(bytes, slot.offset() + at as u64).is_ok())
    }

    pub fn free(&self, slot: Slot) {
        let mut state = self.lock();
        if let Some(file) = &state.file {
            give_back(file, slot.offset(), BLOCK_BYTES as u64);
        }
        state.free.push(slot.0);
        if state.free.len() == state.slots as usize {
            if let Some(file) = &state.file {
                truncate(file);
            }
            state.free = Vec::new();
            state.slots = 0;
        }
    }

    fn open(&self, has_failed: &mut bool) -> Option<File> {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for folder in &self.folders {
            match open_nameless(folder) {
                Ok(file) => return Some(file),
                Err(error) => last = error,
            }
        }
        self.complain(has_failed, &last);
        None
    }

    /// Once: it would be said for every block.
    fn complain(&self, has_failed: &mut bool, error: &io::Error) {
        if !std::mem::replace(has_failed, true) {
            log::error(&format!("output that is too much for memory is dropped: {}", describe(error)));
        }
    }
}

fn open_nameless(folder: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    match options.clone().custom_flags(libc::O_TMPFILE).open(folder) {
        // Some file systems have none without a name: this one is without it a moment later.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR)) => {
            let path = folder.join(format!(".execd-{}", random::name()));
            let file = options.create_new(true).open(&path)?;
            std::fs::remove_file(&path)?;
            Ok(file)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_used_again_and_hold_what_was_put() {
        let spill = Spill::new(vec!["/nonexistent".into(), std::env::temp_dir()]);
        let (first, second) = (spill.put(b"first").expect("put"), spill.put(&[7; BLOCK_BYTES]).expect("put"));
        let mut bytes = [0; 3];
        assert!(spill.get(&first, 2, &mut bytes));
        assert_eq!(&bytes, b"rst");
        spill.free(first);
        let third = spill.put(b"third").expect("put");
        assert_eq!(third, Slot(0));
        assert!(spill.get(&second, BLOCK_BYTES - 3, &mut bytes));
        assert_eq!(bytes, [7; 3]);
        assert!(!spill.get(&second, BLOCK_BYTES, &mut [0; BLOCK_BYTES]));
    }

    #[test]
    fn without_a_place_nothing_is_taken() {
        assert_eq!(Spill::new(vec!["/nonexistent".into()]).put(b"x"), None);
    }
}
