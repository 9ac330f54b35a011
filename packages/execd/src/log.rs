//! Lines on stderr, as many as `EXECD_LOG` allows. Never a command's arguments, environment or output.

use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};

static LEVEL: AtomicU8 = AtomicU8::new(Level::Error as u8);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Off = 0,
    Error = 1,
    Info = 2,
}

pub fn set_level(level: Level) {
    LEVEL.store(level as u8, Ordering::Relaxed);
}

pub fn error(text: &str) {
    write(Level::Error, text);
}

pub fn info(text: &str) {
    write(Level::Info, text);
}

fn write(level: Level, text: &str) {
    if level as u8 <= LEVEL.load(Ordering::Relaxed) {
        always(text);
    }
}

/// Why execd does not start.
pub fn always(text: &str) {
    line(&format!("execd: {text}"));
}

/// `eprintln!` would end the program where nobody reads stderr.
pub fn line(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
