//! Two programs in one file: under the name `execd` the server of `exec/2`, under any other name the tool client.

mod config;
mod connection;
mod errors;
mod fence;
mod files;
mod forward;
#[cfg(test)]
mod fuzz;
mod guests;
mod http;
mod jobs;
mod log;
mod names;
mod random;
mod reaper;
mod run;
mod server;
mod service;
mod sys;
mod tool_client;
mod unix_path;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let called_as = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&called_as).file_name().unwrap_or_default().to_owned();
    // The built file carries its machine in its name.
    if name.as_bytes() == b"execd" || name.as_bytes().starts_with(b"execd-linux-") {
        ExitCode::from(server::main())
    } else {
        ExitCode::from(tool_client::main(&name))
    }
}
