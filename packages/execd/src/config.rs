//! The environment variables, checked once at start. A bad value is an error that names its variable.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::forward::{self, Route};
use crate::log::Level;
use crate::names::{self, User};
use crate::sys::identity;

const MAX_TOKEN_BYTES: u64 = 4096;

#[derive(Debug)]
pub struct Config {
    pub listen: Listen,
    /// Refuse peers of execd's own pid namespace.
    pub only_outside_peers: bool,
    pub forward: Vec<Route>,
    pub root: PathBuf,
    pub home: Option<OsString>,
    pub run_as: Option<User>,
    pub token: Option<Vec<u8>>,
    pub max_response_bytes: u64,
    pub max_request_bytes: u64,
    pub max_jobs: u64,
    pub max_job_output_bytes: u64,
    pub idle_exit: Option<Duration>,
    pub log: Level,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Listen {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// "EXECD_X: what is wrong with it".
pub type BadValue = String;

pub fn from_environment() -> Result<Config, BadValue> {
    read(&|name| std::env::var_os(name).filter(|value| !value.is_empty()))
}

fn read(variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Config, BadValue> {
    let text = |name: &str| -> Result<Option<String>, BadValue> {
        variable(name)
            .map(|value| value.into_string().map_err(|_| format!("{name}: is not UTF-8")))
            .transpose()
    };
    let number = |name: &str, default: u64, range: std::ops::RangeInclusive<u64>| match text(name)? {
        None => Ok(default),
        Some(value) => match value.parse() {
            Ok(number) if range.contains(&number) => Ok(number),
            _ => Err(format!(
                "{name}: {value:?} is not a whole number from {} to {}",
                range.start(),
                range.end()
            )),
        },
    };
    let listen = match variable("EXECD_LISTEN") {
        None => Listen::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 8080))),
        Some(value) => parse_listen(value)?,
    };
    let only_outside_peers = match text("EXECD_PEERS")?.as_deref() {
        None => identity::is_pid_1(),
        Some("any") => false,
        Some("outside") => true,
        Some(other) => return Err(format!("EXECD_PEERS: {other:?} is neither any nor outside")),
    };
    let token = variable("EXECD_BEARER_FILE").map(|path| read_token(Path::new(&path))).transpose()?;
    if let (Listen::Tcp(address), None) = (&listen, &token)
        && !address.ip().is_loopback()
    {
        return Err(format!(
            "EXECD_LISTEN: {address} is not a loopback address; set EXECD_BEARER_FILE first"
        ));
    }
    let root = match variable("EXECD_ROOT").map(PathBuf::from) {
        None if Path::new("/workspace").is_dir() => PathBuf::from("/workspace"),
        None => PathBuf::from("/"),
        Some(path) if path.is_absolute() => path,
        Some(path) => return Err(format!("EXECD_ROOT: {path:?} is not an absolute path")),
    };
    let run_as = text("EXECD_RUN_AS")?.map(|name| find_run_as(&name)).transpose()?;
    let log = match text("EXECD_LOG")?.as_deref() {
        None | Some("error") => Level::Error,
        Some("off") => Level::Off,
        Some("info") => Level::Info,
        Some(other) => return Err(format!("EXECD_LOG: {other:?} is none of off, error and info")),
    };
    let forward = text("EXECD_FORWARD")?.map(|routes| forward::parse(&routes)).transpose();
    let forward = forward.map_err(|wrong| format!("EXECD_FORWARD: {wrong}"))?.unwrap_or_default();
    let idle_exit_s = number("EXECD_IDLE_EXIT_S", 0, 0..=31_536_000)?;
    const MAX: u64 = 1 << 40;
    Ok(Config {
        listen,
        only_outside_peers,
        forward,
        root,
        home: variable("EXECD_HOME"),
        run_as,
        token,
        max_response_bytes: number("EXECD_MAX_RESPONSE_BYTES", 16_777_216, 1024..=MAX)?,
        max_request_bytes: number("EXECD_MAX_REQUEST_BYTES", 67_108_864, 1024..=MAX)?,
        max_jobs: number("EXECD_MAX_JOBS", 256, 1..=4096)?,
        max_job_output_bytes: number("EXECD_JOB_OUTPUT_BYTES", 268_435_456, 0..=MAX)?,
        idle_exit: (idle_exit_s > 0).then(|| Duration::from_secs(idle_exit_s)),
        log,
    })
}

/// Addresses by number: a static program has no resolver, and a name that resolves elsewhere is no loopback.
fn parse_listen(value: OsString) -> Result<Listen, BadValue> {
    let bytes = value.into_vec();
    if let Some(path) = bytes.strip_prefix(b"unix:") {
        let path = PathBuf::from(OsString::from_vec(path.to_vec()));
        return match path.is_absolute() {
            true => Ok(Listen::Unix(path)),
            false => Err(format!("EXECD_LISTEN: {path:?} is not an absolute path")),
        };
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let local = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
    let address = match local {
        Some(port) => Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)),
        None => text.parse().ok(),
    };
    address
        .map(Listen::Tcp)
        .ok_or_else(|| format!("EXECD_LISTEN: {text:?} is neither address:port nor unix:/path"))
}

fn find_run_as(name: &str) -> Result<User, BadValue> {
    let user = names::look_up(name).ok_or_else(|| format!("EXECD_RUN_AS: there is no user {name:?}"))?;
    match user.identity.uid {
        0 => Err("EXECD_RUN_AS: commands do not run as root".into()),
        _ if identity::own_uid() != 0 => Err("EXECD_RUN_AS: needs root".into()),
        _ => Ok(user),
    }
}

fn read_token(path: &Path) -> Result<Vec<u8>, BadValue> {
    let bad = |what: &str| format!("EXECD_BEARER_FILE: {path:?} {what}");
    let about = std::fs::metadata(path).map_err(|error| bad(&format!("can not be read: {error}")))?;
    if !about.is_file() || about.len() > MAX_TOKEN_BYTES {
        return Err(bad("is not a small file"));
    }
    if about.mode() & 0o077 != 0 || (about.uid() != identity::own_uid() && about.uid() != 0) {
        return Err(bad("must belong to execd's user and be readable by nobody else (chmod 600)"));
    }
    let bytes = std::fs::read(path).map_err(|error| bad(&format!("can not be read: {error}")))?;
    let token = bytes.trim_ascii();
    match token.is_empty() || !token.iter().all(|byte| byte.is_ascii_graphic()) {
        true => Err(bad("holds no token (printable ASCII without spaces)")),
        false => Ok(token.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &'static str) -> Result<Config, BadValue> {
        read(&|asked| (asked == name).then(|| OsString::from(value)))
    }

    #[test]
    fn defaults_are_those_of_the_page() {
        let config = with("", "").expect("no bad value");
        assert_eq!(config.listen, Listen::Tcp("127.0.0.1:8080".parse().expect("an address")));
        assert_eq!((config.max_jobs, config.max_response_bytes), (256, 16_777_216));
        assert!(config.idle_exit.is_none() && config.token.is_none());
    }

    #[test]
    fn a_bad_value_names_its_variable() {
        for (name, value) in [
            ("EXECD_LISTEN", "example.com:80"),
            ("EXECD_LISTEN", "unix:relative"),
            ("EXECD_LISTEN", "0.0.0.0:8080"),
            ("EXECD_PEERS", "inside"),
            ("EXECD_FORWARD", "0.0.0.0:1=/a"),
            ("EXECD_ROOT", "relative"),
            ("EXECD_RUN_AS", "no-such-user-at-all"),
            ("EXECD_BEARER_FILE", "/nonexistent"),
            ("EXECD_MAX_JOBS", "many"),
            ("EXECD_MAX_RESPONSE_BYTES", "-1"),
            ("EXECD_IDLE_EXIT_S", "1.5"),
            ("EXECD_LOG", "loud"),
        ] {
            let error = with(name, value).expect_err(value);
            assert!(error.starts_with(&format!("{name}: ")), "{error}");
        }
    }
}
