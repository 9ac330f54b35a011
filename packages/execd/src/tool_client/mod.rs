pub fn main(_: &std::ffi::OsStr) -> u8 { 125 }
