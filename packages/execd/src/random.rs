//! Random names, from the kernel.

use crate::sys::identity::fill_random;

/// 128 bits in hex.
pub fn name() -> String {
    let mut random = [0u8; 16];
    fill_random(&mut random);
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}
