//! The tool client: a program in the sandbox whose name is a tool's, and which runs that tool at the gateway. It passes
//! argv, input and both outputs through, and ends as the tool did.

mod frames;
mod outcome;
mod request;
mod session;

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use crate::errors::describe;
use crate::log;
use crate::sys::signals;
use crate::sys::socket::is_dev_null;
use crate::unix_path;
use outcome::Outcome;

const DEFAULT_SOCKET: &str = "/beige/gateway.sock";

/// Runs the tool that is called `name` and returns the exit code.
pub fn main(name: &OsStr) -> u8 {
    let mut args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let mut tool = name.to_owned();
    if name == "tool-client" {
        if args.is_empty() {
            log::line("tool-client: which tool? Use: tool-client TOOL [ARGUMENT...]");
            return outcome::DENIED;
        }
        tool = args.remove(0);
    }
    let Outcome { code, message } = call(&tool, &args);
    if let Some(message) = message {
        log::line(&format!("{}: {message}", tool.to_string_lossy()));
    }
    code
}

fn call(tool: &OsStr, args: &[OsString]) -> Outcome {
    let has_stdin = !io::stdin().is_terminal() && !is_dev_null(io::stdin());
    let cwd = std::env::current_dir().ok();
    let request = match request::payload(tool, args, cwd.as_ref().map(|path| path.as_os_str()), has_stdin) {
        Ok(request) => request,
        Err(message) => return Outcome { code: outcome::NOT_SENT, message: Some(message) },
    };
    let path = std::env::var_os("BEIGE_GATEWAY_SOCKET").filter(|path| !path.is_empty());
    let path = path.map_or(PathBuf::from(DEFAULT_SOCKET), PathBuf::from);
    let socket = match unix_path::connect(&path) {
        Ok(socket) => socket.into(),
        Err(error) => return outcome::no_gateway(&format!("{}: {}", path.display(), describe(&error))),
    };
    // A shell's background job was told to ignore SIGINT, and goes on doing so.
    let heard =
        [signals::INTERRUPT, signals::TERMINATE].into_iter().filter(|signal| !signals::is_ignored(*signal));
    match signals::open(&heard.collect::<Vec<_>>()) {
        Ok(signals) => session::Session::start(socket, signals, &hello(), &request, has_stdin).run(),
        Err(error) => outcome::no_gateway(&describe(&error)),
    }
}

fn hello() -> Vec<u8> {
    let mut hello = serde_json::json!({ "client": concat!("execd/", env!("CARGO_PKG_VERSION")) });
    if let Some(token) = std::env::var("BEIGE_TOKEN").ok().filter(|token| !token.is_empty()) {
        hello["token"] = token.into();
    }
    hello.to_string().into_bytes()
}

#[cfg(test)]
pub mod fuzzed {
    use super::{frames, outcome};

    pub fn parse(bytes: &[u8]) {
        let mut decoder = frames::Decoder::default();
        for part in bytes.chunks(7) {
            decoder.push(part);
            while let Ok(Some(frame)) = decoder.next() {
                assert!(frame.payload.len() < frames::MAX_FRAME_BYTES);
            }
        }
        let _ = (outcome::of_exit(bytes), outcome::of_error(bytes));
    }
}
