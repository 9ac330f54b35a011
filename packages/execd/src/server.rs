//! The server: starts, accepts, reaps, ends. This thread waits for signals and callers and does nothing else.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::config::{self, Listen};
use crate::connection;
use crate::errors::describe;
use crate::forward::Forward;
use crate::guests::{Connected, Guest};
use crate::log;
use crate::service::{STOP_TIME, Service};
use crate::sys::fd::{Flag, Interest, poll, send_some};
use crate::sys::signals::{self, SignalFd};
use crate::sys::{identity, memory, seccomp, socket};
use crate::unix_path;

/// More than the commands that may run at once by default, so that a caller who wants to ask about them gets in.
const MAX_CONNECTIONS: usize = 512;
/// Four for each of 4096 commands, and as many more.
const MAX_OPEN_FILES: u64 = 32_768;
/// Of address space: a thread touches a few pages of it. The C library keeps 40 MiB of ended threads' stacks for the next
/// ones, which is ten of these, and would be hundreds of small ones with their pages.
const STACK_BYTES: usize = 4 * 1024 * 1024;
const SPARE_THREADS: usize = 2;
/// How soon a thread is tried again for a connection that got none.
const THREAD_AGAIN: Duration = Duration::from_millis(20);
/// For answers that are on their way when execd ends.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The exit code.
pub fn main() -> u8 {
    match start() {
        Ok(()) => 0,
        Err((code, message)) => {
            log::always(&message);
            code
        }
    }
}

fn start() -> Result<(), (u8, String)> {
    let config = config::from_environment().map_err(|message| (2, message))?;
    let failed = |doing: &'static str| move |error: io::Error| (1, format!("{doing}: {}", describe(&error)));
    log::set_level(config.log);
    memory::tune_allocator();
    identity::close_inherited_on_exec();
    signals::reset_all();
    identity::harden().map_err(failed("prctl"))?;
    if let Err(error) = seccomp::install() {
        log::error(&format!("commands run without the system call filter: {}", describe(&error)));
    }
    let signals = signals::open(&[signals::CHILD, signals::TERMINATE, signals::INTERRUPT, signals::HANGUP]);
    let signals = signals.map_err(failed("signalfd"))?;
    let open_files = identity::raise_open_files(MAX_OPEN_FILES);
    // The socket is for execd's user alone; the commands' mask is the one that execd was started with.
    let umask = identity::set_umask(0o177);
    let listener = Listener::bind(&config.listen).map_err(|error| {
        let address = std::env::var("EXECD_LISTEN").unwrap_or_default();
        (2, format!("EXECD_LISTEN: can not listen on {address:?}: {}", describe(&error)))
    })?;
    identity::set_umask(umask);
    let stop = Arc::new(Flag::new().map_err(failed("eventfd"))?);
    let forwards = config.forward.iter().map(|route| {
        let failed =
            |error| (2, format!("EXECD_FORWARD: can not listen on {}: {}", route.from, describe(&error)));
        Forward::listen(route.clone(), stop.clone()).map_err(failed)
    });
    let forwards = forwards.collect::<Result<Vec<_>, _>>()?;
    let next_expiry_changed = Flag::new().map_err(failed("eventfd"))?;
    let service = Arc::new(Service::new(config, umask, open_files, stop, next_expiry_changed));
    start_spare_threads(&service).map_err(failed("no thread can be started"))?;
    memory::release();
    log::info(&format!("listening, instance {}", service.instance));
    accept_until_stopped(&service, &listener, &forwards, &signals);
    end(&service, listener, &signals);
    Ok(())
}

fn accept_until_stopped(
    service: &Arc<Service>,
    listener: &Listener,
    forwards: &[Forward],
    signals: &SignalFd,
) {
    let (mut sweep_again, mut next_expiry): (_, Option<Instant>) = (None, None);
    loop {
        let own = [signals.fd(), listener.fd(), service.stop.fd(), service.jobs.next_expiry_changed.fd()];
        let watched = own.into_iter().chain(forwards.iter().map(Forward::fd));
        let mut fds: Vec<_> = watched.map(Interest::read).collect();
        // Without EXECD_IDLE_EXIT_S, strays and ended jobs there is no time at all, and so no wakeup.
        let idle_left = service.config.idle_exit.map(|limit| limit.saturating_sub(service.idle_time()));
        if idle_left.is_some_and(|left| left.is_zero()) {
            return log::info("nobody came back, so this ends");
        }
        let expiry_left = next_expiry.map(|at| at.saturating_duration_since(Instant::now()));
        // The spare threads may be with clients who only keep their connections.
        let thread_again = service.guests.are_calling().then_some(THREAD_AGAIN);
        let timeout = [sweep_again, idle_left, expiry_left, thread_again].into_iter().flatten().min();
        if let Err(error) = poll(&mut fds, timeout) {
            return log::error(&format!("poll: {error}"));
        }
        if fds[2].is_ready() || (fds[0].is_ready() && is_told_to_stop(signals)) {
            return;
        }
        if fds[0].is_ready() || sweep_again.is_some() {
            sweep_again = service.reaper.tend();
        }
        if fds[3].is_ready() || next_expiry.is_some_and(|at| at <= Instant::now()) {
            next_expiry = service.jobs.tend().map(|left| Instant::now() + left);
            // Not between two commands of a client: the next one would fault all of the program in again. Whoever is
            // connected sees to it when it falls silent.
            if service.connections.load(Ordering::SeqCst) == 0 {
                memory::release();
            }
        }
        if thread_again.is_some() && start_thread(service).is_ok() {
            service.guests.call_off();
        }
        if fds[1].is_ready() {
            accept(service, listener);
        }
        for (forward, fd) in forwards.iter().zip(&fds[own.len()..]) {
            if fd.is_ready() {
                forward.accept();
            }
        }
    }
}

/// As PID 1 it heeds those outside alone: a command may send its init a signal, but must not end it.
fn is_told_to_stop(signals: &SignalFd) -> bool {
    let mut is_told = false;
    while let Some(received) = signals.take() {
        is_told |= received.signal != signals::CHILD && (received.is_from_outside || !identity::is_pid_1());
    }
    is_told
}

fn accept(service: &Arc<Service>, listener: &Listener) {
    let socket = match listener.accept() {
        Ok(socket) => socket,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
        Err(error) => {
            log::error(&format!("accept: {}", describe(&error)));
            // Out of descriptors: the caller stays in the queue, and asking again at once would spin.
            return std::thread::sleep(Duration::from_millis(10));
        }
    };
    let is_unix = !service.is_tcp();
    if service.config.only_outside_peers && is_unix && socket::peer_pid(&socket) != Some(0) {
        turn_away(&socket, "401 Unauthorized", "unauthorized", "unauthorized");
        return;
    }
    if service.connections.fetch_add(1, Ordering::SeqCst) >= MAX_CONNECTIONS {
        service.connections.fetch_sub(1, Ordering::SeqCst);
        turn_away(&socket, "429 Too Many Requests", "limit", "too many connections");
        return;
    }
    let guest = Guest { socket, guard: Connected(service.clone()) };
    service.guests.push(guest);
    if let Err(error) = start_thread(service) {
        log::info(&format!("no thread for a connection: {}", describe(&error)));
        service.guests.call_spare();
    }
}

/// The thread finds its guest in the queue: where there can be no new thread, a spare one finds it.
fn start_thread(service: &Arc<Service>) -> io::Result<()> {
    let host = service.clone();
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        if let Some(guest) = host.guests.pop()
            && act_as_user(&host)
        {
            connection::serve(&host, guest.socket, Box::new(guest.guard));
        }
    })?;
    Ok(())
}

/// Threads that are there before a command takes all processes that there may be: its caller must still be able to end it.
fn start_spare_threads(service: &Arc<Service>) -> io::Result<()> {
    for _ in 0..SPARE_THREADS {
        let host = service.clone();
        std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
            while act_as_user(&host) {
                let guest = host.guests.wait();
                connection::serve(&host, guest.socket, Box::new(guest.guard));
            }
        })?;
    }
    Ok(())
}

fn act_as_user(service: &Service) -> bool {
    let Some(user) = &service.config.run_as else { return true };
    let result = identity::act_on_files_as(&user.identity);
    if let Err(error) = &result {
        log::error(&format!("can not act as the user of EXECD_RUN_AS: {}", describe(error)));
    }
    result.is_ok()
}

/// For one that gets no thread: its answer fits into the socket's buffer.
fn turn_away(socket: &OwnedFd, status: &str, code: &str, message: &str) {
    let body = format!(r#"{{"error":{{"code":"{code}","message":"{message}"}}}}"#);
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n");
    let _ = send_some(socket, format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
}

fn end(service: &Arc<Service>, listener: Listener, signals: &SignalFd) {
    listener.close();
    service.stop.raise();
    let stop_until = Instant::now() + STOP_TIME;
    let mut last_words_until = None;
    loop {
        // Supervisors still end, and are still reaped, while the commands are stopped.
        let again = service.reaper.tend();
        let now = Instant::now();
        if service.running() == 0 || now >= stop_until {
            let until = *last_words_until.get_or_insert(now + LAST_WORDS);
            if service.connections.load(Ordering::SeqCst) == 0 || now >= until {
                break;
            }
        }
        let mut fds = [Interest::read(signals.fd())];
        let _ = poll(&mut fds, Some(again.unwrap_or(Duration::from_millis(20))));
        while signals.take().is_some() {}
    }
    service.reaper.kill_everything();
    while let Some(time) = service.reaper.tend() {
        let _ = poll(&mut [Interest::read(signals.fd())], Some(time));
        while signals.take().is_some() {}
    }
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

impl Listener {
    fn bind(listen: &Listen) -> io::Result<Listener> {
        let listener = match listen {
            Listen::Tcp(address) => Listener::Tcp(TcpListener::bind(address)?),
            Listen::Unix(path) => Listener::Unix(unix_path::listen(path)?, path.clone()),
        };
        match &listener {
            Listener::Tcp(listener) => listener.set_nonblocking(true)?,
            Listener::Unix(listener, _) => listener.set_nonblocking(true)?,
        }
        Ok(listener)
    }

    fn fd(&self) -> i32 {
        match self {
            Listener::Tcp(listener) => listener.as_raw_fd(),
            Listener::Unix(listener, _) => listener.as_raw_fd(),
        }
    }

    fn accept(&self) -> io::Result<OwnedFd> {
        Ok(match self {
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                socket::enable_keepalive(&stream);
                stream.into()
            }
            Listener::Unix(listener, _) => listener.accept()?.0.into(),
        })
    }

    fn close(self) {
        if let Listener::Unix(listener, path) = self {
            drop(listener);
            let _ = std::fs::remove_file(path);
        }
    }
}
