//! Tells whoever asked for it that a job has ended: again and again until it is heard, or the job's time is over. On
//! threads of its own, which are there only while somebody is to be told; nothing waits for them.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::errors::describe;
use crate::jobs::job::Key;
use crate::log;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);
const MAX_PENDING: usize = 2048;
const MAX_THREADS: usize = 4; // so that a receiver who does not answer holds up the others for a while at most
const ATTEMPT_TIME: Duration = Duration::from_secs(10);
const STACK_BYTES: usize = 256 * 1024;
const MAX_URL_BYTES: usize = 2048;
const MAX_TOKEN_BYTES: usize = 4096;

/// Where to and with which token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receiver {
    host: String,
    port: u16,
    target: String,
    token: String,
}

impl Receiver {
    /// What is wrong begins with the field's name.
    pub fn new(url: &str, token: String) -> Result<Receiver, String> {
        let is_text = |text: &str, max: usize| {
            (1..=max).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
        };
        if !is_text(url, MAX_URL_BYTES) {
            return Err("url is not a URL of printable ASCII".into());
        }
        if !is_text(&token, MAX_TOKEN_BYTES) {
            return Err("token is not printable ASCII without spaces".into());
        }
        let rest = url
            .get(..7)
            .filter(|scheme| scheme.eq_ignore_ascii_case("http://"))
            .map(|_| &url[7..])
            .ok_or("url: only http:// is spoken here; a local relay may speak https")?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        let target = target.split('#').next().unwrap_or_default();
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                (host, port.parse().map_err(|_| "url: its port is not a number")?)
            }
            _ => (authority, 80),
        };
        if host.is_empty() || host.contains('@') || (host.contains(':') && !host.starts_with('[')) {
            return Err("url has no plain host".into());
        }
        let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
        Ok(Receiver { host: host.to_owned(), port, target, token })
    }

    /// The status of its answer.
    fn tell(&self, body: &str) -> io::Result<u16> {
        let until = Instant::now() + ATTEMPT_TIME;
        let left = || until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in (self.host.trim_matches(['[', ']']), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, left()) {
                Ok(stream) => return self.send(stream, body, until),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn send(&self, mut stream: TcpStream, body: &str, until: Instant) -> io::Result<u16> {
        let left = || match until.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(io::Error::from(io::ErrorKind::TimedOut)),
            left => Ok(Some(left)),
        };
        stream.set_write_timeout(left()?)?;
        let request = format!(
            concat!(
                "POST {} HTTP/1.1\r\nHost: {}:{}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n",
                "Content-Length: {}\r\nConnection: close\r\n\r\n{}"
            ),
            self.target,
            self.host,
            self.port,
            self.token,
            body.len(),
            body,
        );
        stream.write_all(request.as_bytes())?;
        let (mut answer, mut size) = ([0u8; 256], 0);
        while size < answer.len() && !answer[..size].contains(&b'\n') {
            stream.set_read_timeout(left()?)?;
            match stream.read(&mut answer[size..])? {
                0 => break,
                more => size += more,
            }
        }
        parse_status(&answer[..size]).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }
}

fn parse_status(answer: &[u8]) -> Option<u16> {
    let text = answer.strip_prefix(b"HTTP/1.")?.get(1..)?.strip_prefix(b" ")?.get(..3)?;
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
pub fn fuzzed(bytes: &[u8]) {
    let _ = parse_status(bytes);
    let _ = Receiver::new(&String::from_utf8_lossy(bytes), "t".into());
}

struct Pending {
    key: Key,
    receiver: Receiver,
    body: String,
    until: Instant,
    due: Instant,
    pause: Duration,
}

#[derive(Default)]
pub struct Notifier {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    pending: VecDeque<Pending>,
    threads: usize,
    busy: usize,
}

impl Notifier {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add(self: &Arc<Self>, key: &Key, receiver: Receiver, body: String, until: Instant) {
        let mut state = self.lock();
        if state.pending.len() >= MAX_PENDING
            && let Some(oldest) = state.pending.pop_front()
        {
            log::error(&format!("too many ends to tell: nobody hears of job {}", oldest.key.id));
        }
        let due = Instant::now();
        state.pending.push_back(Pending { key: key.clone(), receiver, body, until, due, pause: FIRST_PAUSE });
        if state.threads < MAX_THREADS && state.threads < state.pending.len() + state.busy {
            let notifier = self.clone();
            match std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || notifier.work()) {
                Ok(_) => state.threads += 1,
                Err(error) => log::error(&format!("no thread to tell an end: {}", describe(&error))),
            }
        }
        drop(state);
        self.changed.notify_one();
    }

    pub fn forget_scope(&self, scope: &str) {
        self.lock().pending.retain(|pending| pending.key.scope != scope);
        self.changed.notify_all();
    }

    fn work(&self) {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            state.pending.retain(|pending| pending.until > now);
            let next = state.pending.iter().enumerate().min_by_key(|(_, pending)| pending.due);
            let Some((index, due)) = next.map(|(index, pending)| (index, pending.due)) else {
                state.threads -= 1;
                return;
            };
            if due > now {
                let waited = self.changed.wait_timeout(state, due - now);
                state = waited.map_or_else(|error| error.into_inner().0, |(state, _)| state);
                continue;
            }
            let Some(mut pending) = state.pending.remove(index) else { continue };
            state.busy += 1;
            drop(state);
            let is_over = is_heard(&pending.key, pending.receiver.tell(&pending.body));
            state = self.lock();
            state.busy -= 1;
            if !is_over {
                pending.due = Instant::now() + pending.pause;
                pending.pause = (pending.pause * 2).min(MAX_PAUSE);
                state.pending.push_back(pending);
            }
        }
    }
}

/// 410 says that nobody wants to hear it any more.
fn is_heard(key: &Key, result: io::Result<u16>) -> bool {
    match result {
        Ok(200..=299 | 410) => true,
        Ok(status) => {
            log::info(&format!("the receiver of job {} answered {status}", key.id));
            false
        }
        Err(error) => {
            log::info(&format!("the receiver of job {}: {}", key.id, describe(&error)));
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(url: &str) -> Option<(String, u16, String)> {
        let receiver = Receiver::new(url, "t".into()).ok()?;
        Some((receiver.host, receiver.port, receiver.target))
    }

    #[test]
    fn a_receiver_is_a_plain_http_url() {
        let of = |host: &str, port, target: &str| Some((host.to_owned(), port, target.to_owned()));
        assert_eq!(parts("http://127.0.0.1:9/a/b?c=d#e"), of("127.0.0.1", 9, "/a/b?c=d"));
        assert_eq!(parts("HTTP://agent.local"), of("agent.local", 80, "/"));
        assert_eq!(parts("http://[::1]:8080?x"), of("[::1]", 8080, "/?x"));
        assert_eq!(parts("http://[::1]/"), of("[::1]", 80, "/"));
        for url in [
            "",
            "https://a/",
            "http://",
            "http:///a",
            "http://a:b/",
            "http://u@h/",
            "http://a b/",
            "http://a/\r\nX: y",
            "http://::1/",
            "httpé://a",
        ] {
            assert_eq!(parts(url), None, "{url}");
        }
        assert!(Receiver::new("http://a/", "a\nb".into()).is_err());
    }

    #[test]
    fn an_answer_has_a_status_or_is_none() {
        assert_eq!(parse_status(b"HTTP/1.1 204 No Content\r\n"), Some(204));
        assert_eq!(parse_status(b"HTTP/1.0 500"), Some(500));
        for answer in [&b""[..], b"HTTP/1.1 2", b"HTTP/2 200 OK", b"HTTP/1.1 abc", b"SSH-2.0"] {
            assert_eq!(parse_status(answer), None);
        }
    }
}
