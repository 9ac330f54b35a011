//! `EXECD_FORWARD`: the bytes of a loopback port, carried to a Unix socket and back. It gives commands in a sandbox
//! without a network the few addresses (egress proxy, MCP) that somebody listens on outside.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::errors::describe;
use crate::log;
use crate::sys::fd::{Flag, Interest, poll, receive_some, send_some};
use crate::sys::socket;
use crate::unix_path;

const MAX_CONNECTIONS: usize = 256;
const BUFFER_BYTES: usize = 32 * 1024;
const STACK_BYTES: usize = 4 * 1024 * 1024; // of address space, as in the server

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub from: SocketAddr,
    pub to: PathBuf,
}

/// `127.0.0.1:3128=/path/to.sock[,…]`, or what is wrong with it.
pub fn parse(text: &str) -> Result<Vec<Route>, String> {
    text.split(',').map(parse_route).collect()
}

fn parse_route(text: &str) -> Result<Route, String> {
    let (from, to) = text.split_once('=').ok_or_else(|| format!("{text:?} is not address:port=/path"))?;
    let from: SocketAddr = from.parse().map_err(|_| format!("{from:?} is not address:port"))?;
    let to = PathBuf::from(to);
    match (from.ip().is_loopback(), to.is_absolute()) {
        (true, true) => Ok(Route { from, to }),
        (false, _) => Err(format!("{from} is not a loopback address")),
        (true, false) => Err(format!("{to:?} is not an absolute path")),
    }
}

pub struct Forward {
    route: Route,
    listener: TcpListener,
    stop: Arc<Flag>,
    open: Arc<AtomicUsize>,
}

impl Forward {
    pub fn listen(route: Route, stop: Arc<Flag>) -> io::Result<Forward> {
        let listener = TcpListener::bind(route.from)?;
        listener.set_nonblocking(true)?;
        Ok(Forward { route, listener, stop, open: Arc::default() })
    }

    pub fn fd(&self) -> i32 {
        self.listener.as_raw_fd()
    }

    /// Carries the next connection, on a thread of its own. One that can not be carried is closed.
    pub fn accept(&self) {
        let Ok((near, _)) = self.listener.accept() else { return };
        let _ = near.set_nodelay(true);
        let (path, stop) = (self.route.to.clone(), self.stop.clone());
        let open = Open(self.open.clone());
        if open.0.fetch_add(1, Ordering::SeqCst) >= MAX_CONNECTIONS {
            return log::error(&format!("{}: too many connections", self.route.from));
        }
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        let spawned = thread.spawn(move || {
            let _open = open;
            carry(near.into(), &path, &stop);
        });
        if let Err(error) = spawned {
            log::error(&format!("no thread for a forwarded connection: {}", describe(&error)));
        }
    }
}

struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn carry(near: OwnedFd, path: &Path, stop: &Flag) {
    let far: OwnedFd = match unix_path::connect(path) {
        Ok(far) => far.into(),
        Err(error) => return log::error(&format!("{}: {}", path.display(), describe(&error))),
    };
    let mut ways = [Way::new(&near, &far), Way::new(&far, &near)];
    while ways.iter().any(|way| !way.is_done) {
        let [there, back] = &ways;
        let mut fds = [
            there.read_interest(),
            there.write_interest(),
            back.read_interest(),
            back.write_interest(),
            Interest::read(stop.fd()),
        ];
        if poll(&mut fds, None).is_err() || fds[4].is_ready() {
            return;
        }
        for (way, ready) in ways.iter_mut().zip(fds.chunks(2)) {
            if ready.iter().any(Interest::is_ready) && way.advance().is_err() {
                return;
            }
        }
    }
}

/// One direction. It reads only into an empty buffer, so a slow reader slows the writer.
struct Way<'a> {
    from: &'a OwnedFd,
    to: &'a OwnedFd,
    buffer: Vec<u8>,
    written: usize,
    is_done: bool,
}

impl Way<'_> {
    fn new<'a>(from: &'a OwnedFd, to: &'a OwnedFd) -> Way<'a> {
        Way { from, to, buffer: Vec::new(), written: 0, is_done: false }
    }

    fn has_bytes(&self) -> bool {
        self.written < self.buffer.len()
    }

    fn read_interest(&self) -> Interest {
        if self.is_done || self.has_bytes() {
            Interest::none()
        } else {
            Interest::read(self.from.as_raw_fd())
        }
    }

    fn write_interest(&self) -> Interest {
        if self.has_bytes() { Interest::write(self.to.as_raw_fd()) } else { Interest::none() }
    }

    fn advance(&mut self) -> io::Result<()> {
        if !self.has_bytes() {
            self.written = 0;
            self.buffer.resize(BUFFER_BYTES, 0);
            let received = receive_some(self.from, &mut self.buffer);
            self.buffer.truncate(received.as_ref().ok().copied().flatten().unwrap_or(0));
            if received? == Some(0) {
                self.is_done = true;
                socket::shutdown_write(self.to);
            }
        }
        while self.has_bytes() {
            match send_some(self.to, &self.buffer[self.written..])? {
                Some(size) => self.written += size,
                None => break,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_lead_from_loopback_to_a_path() {
        let routes = parse("127.0.0.1:3128=/a/b.sock,[::1]:80=/c=d").expect("routes");
        assert_eq!(
            routes[0],
            Route { from: "127.0.0.1:3128".parse().expect("address"), to: "/a/b.sock".into() }
        );
        assert_eq!(routes[1].to, PathBuf::from("/c=d"));
        for text in ["", "127.0.0.1:1", "0.0.0.0:1=/a", "127.0.0.1=/a", "127.0.0.1:1=a", "127.0.0.1:1=/a,"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
