//! Starts a command under a supervisor of its own.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use crate::errors::{Answer, Code, bad_request, describe, fail};
use crate::run::environment::{candidates, folder, to_envp};
use crate::run::request::Request;
use crate::service::Service;
use crate::sys::child::{Program, StartFailure, Step};
use crate::sys::fd::{message_pair, pipe, set_nonblocking, write_some};

/// A command on its way, and our ends of its pipes.
pub struct Command {
    pub name: String,
    pub cwd: String,
    pub supervisor: i32,
    pub control: OwnedFd,
    pub stdin: Option<Input>,
    pub stdout: Option<OwnedFd>,
    pub stderr: Option<OwnedFd>,
}

/// What is still to be written to a command's standard input.
pub struct Input {
    pub pipe: OwnedFd,
    bytes: Vec<u8>,
    written: usize,
    stays_open: bool,
}

/// How far the writing of an `Input` is.
pub enum Written {
    Partly(Input),
    /// The pipe, where it stays open for more.
    Whole(Option<OwnedFd>),
}

pub fn start(service: &Arc<Service>, request: Request) -> Answer<Command> {
    let variables = service.environment.with(&request.env);
    let cwd = folder(&service.config, request.cwd.as_deref());
    let texts = |list: Vec<Vec<u8>>| list.into_iter().map(CString::new).collect::<Result<Vec<_>, _>>();
    let mut argv = vec![request.command.clone().into_bytes()];
    argv.extend(request.args.into_iter().map(String::into_bytes));
    let has_nul = |_| bad_request("NUL in an argument");
    let program = Program {
        candidates: candidates(&request.command, &variables),
        argv: texts(argv).map_err(has_nul)?,
        envp: to_envp(&variables),
        cwd: CString::new(cwd.clone().into_vec()).map_err(has_nul)?,
        run_as: service.config.run_as.as_ref().map(|user| user.identity.clone()),
        umask: service.umask,
        open_files: service.open_files,
    };
    let mut command = spawn(service, program, request.stdin, request.stdin_open)
        .map_err(|error| fail(Code::Limit, format!("no process can be started: {}", describe(&error))))?;
    command.name = request.command;
    command.cwd = cwd.to_string_lossy().into_owned();
    Ok(command)
}

fn spawn(
    service: &Arc<Service>,
    program: Program,
    stdin: Option<Vec<u8>>,
    stays_open: bool,
) -> io::Result<Command> {
    let (control, far_control) = message_pair()?;
    let (stdout, far_stdout) = pipe()?;
    let (stderr, far_stderr) = pipe()?;
    set_nonblocking(&stdout)?;
    set_nonblocking(&stderr)?;
    let (input, far_stdin) = match (stdin, &service.dev_null) {
        // /dev/null and not an empty pipe: programs such as rg search a pipe instead of the folder.
        (None, Some(null)) if !stays_open => (None, null.try_clone()?),
        (bytes, _) => {
            let (far, near) = pipe()?;
            set_nonblocking(&near)?;
            let input = Input { pipe: near, bytes: bytes.unwrap_or_default(), written: 0, stays_open };
            // A small one is in the pipe, and the pipe closed, before the command even starts.
            match stays_open {
                true => (Some(input), far),
                false => (input.advance().rest(), far),
            }
        }
    };
    let stdio = [far_stdin.as_fd(), far_stdout.as_fd(), far_stderr.as_fd()];
    let supervisor = service.reaper.start(program, &far_control, stdio)?;
    Ok(Command {
        name: String::new(),
        cwd: String::new(),
        supervisor,
        control,
        stdin: input,
        stdout: Some(stdout),
        stderr: Some(stderr),
    })
}

impl Input {
    /// Writes what fits now. When all is written or nobody reads the pipe is closed, unless it is to stay open.
    pub fn advance(mut self) -> Written {
        while self.written < self.bytes.len() {
            match write_some(self.pipe.as_raw_fd(), &self.bytes[self.written..]) {
                Ok(Some(size)) => self.written += size,
                Ok(None) => return Written::Partly(self),
                Err(_) => return Written::Whole(None),
            }
        }
        Written::Whole(self.stays_open.then_some(self.pipe))
    }
}

impl Written {
    fn rest(self) -> Option<Input> {
        match self {
            Written::Partly(input) => Some(input),
            Written::Whole(_) => None,
        }
    }
}

/// Exit code and words for a command that could not become one: what a shell would say.
pub fn explain(command: &Command, failure: StartFailure) -> Answer<(i32, String)> {
    let reason = describe(&io::Error::from_raw_os_error(failure.errno));
    match failure.step {
        Step::Cwd => Ok((126, format!("execd: cwd {}: {reason}\n", command.cwd))),
        Step::Exec if failure.errno == libc::ENOENT => {
            Ok((127, format!("execd: {}: command not found\n", command.name)))
        }
        Step::Exec => Ok((126, format!("execd: {}: {reason}\n", command.name))),
        Step::Fork => Err(fail(Code::Limit, format!("no process can be started: {reason}"))),
        Step::Identity => {
            Err(fail(Code::Internal, format!("can not become the user of EXECD_RUN_AS: {reason}")))
        }
    }
}
