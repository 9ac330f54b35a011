//! The body of `POST U`. A field that is unknown, or that this build can not honour, is refused: ignored, it would be a
//! limit that does not hold or a job that runs twice.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;

use crate::errors::{Answer, bad_request};
use crate::jobs::notify::Receiver;

#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    pub command: String,
    pub args: Vec<String>,
    pub cwd: Option<String>,
    /// `None` removes a variable.
    pub env: BTreeMap<String, Option<String>>,
    pub stdin: Option<Vec<u8>>,
    pub stdin_open: bool,
    pub timeout_ms: Option<u64>,
    pub stream: bool,
    pub job: Option<JobWanted>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct JobWanted {
    pub id: String,
    pub scope: String,
    pub instance: Option<String>,
    pub keep: bool,
    pub notify: Option<Receiver>,
    pub ttl: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire<'a> {
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, Option<String>>,
    /// Borrowed, since it may be most of the request.
    #[serde(default, borrow)]
    stdin: Option<&'a serde_json::value::RawValue>,
    #[serde(default)]
    stdin_open: bool,
    #[serde(default)]
    timeout_ms: Option<u64>,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    job: Option<WireJob>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireJob {
    id: String,
    scope: String,
    #[serde(default)]
    instance: Option<String>,
    #[serde(default)]
    keep: bool,
    #[serde(default)]
    notify: Option<WireNotify>,
    #[serde(default)]
    ttl_s: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireNotify {
    url: String,
    token: String,
}

/// The body of PATCH.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WirePatch {
    keep: bool,
    #[serde(default)]
    notify: Option<WireNotify>,
}

const MAX_TIMEOUT_MS: u64 = 2_147_483_647;
pub const DEFAULT_TTL: Duration = Duration::from_secs(3600);
const MAX_TTL: Duration = Duration::from_secs(30 * 24 * 3600);
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub fn parse(body: &[u8]) -> Answer<Request> {
    let wire: Wire =
        serde_json::from_slice(body).map_err(|error| bad_request(format!("malformed request: {error}")))?;
    if wire.stdin_open && !wire.stream && wire.job.is_none() {
        return Err(bad_request("stdin_open: without stream or job nobody could write to it"));
    }
    if wire.command.is_empty() {
        return Err(bad_request("command is empty"));
    }
    if wire.args.iter().chain([&wire.command]).chain(&wire.cwd).any(|text| text.contains('\0')) {
        return Err(bad_request("command, args and cwd can not contain NUL"));
    }
    for (name, value) in &wire.env {
        if name.is_empty()
            || name.contains(['=', '\0'])
            || value.as_ref().is_some_and(|value| value.contains('\0'))
        {
            return Err(bad_request(format!(
                "env: {name:?} is not a variable's name, or its value contains NUL"
            )));
        }
    }
    if wire.timeout_ms.is_some_and(|time| !(1..=MAX_TIMEOUT_MS).contains(&time)) {
        return Err(bad_request(format!("timeout_ms is not from 1 to {MAX_TIMEOUT_MS}")));
    }
    Ok(Request {
        command: wire.command,
        args: wire.args,
        cwd: wire.cwd,
        env: wire.env,
        stdin: wire.stdin.map(|raw| decode(raw.get())).transpose()?,
        stdin_open: wire.stdin_open,
        timeout_ms: wire.timeout_ms,
        stream: wire.stream,
        job: wire.job.map(check_job).transpose()?,
    })
}

/// Whom to tell at the end of a job that is kept from now on.
pub fn parse_patch(body: &[u8]) -> Answer<Option<Receiver>> {
    let wire: WirePatch =
        serde_json::from_slice(body).map_err(|error| bad_request(format!("malformed request: {error}")))?;
    match wire.keep {
        true => wire.notify.map(check_notify).transpose(),
        false => Err(bad_request("keep can only become true; DELETE ends a job")),
    }
}

fn check_job(wire: WireJob) -> Answer<JobWanted> {
    if !is_id(&wire.id) {
        return Err(bad_request("job.id is not 1 to 128 of A-Z a-z 0-9 . _ -"));
    }
    if !is_scope(&wire.scope) {
        return Err(bad_request("job.scope is not 1 to 128 printable ASCII characters without spaces"));
    }
    let ttl = wire.ttl_s.map_or(DEFAULT_TTL, Duration::from_secs);
    if ttl.is_zero() || ttl > MAX_TTL {
        return Err(bad_request(format!("job.ttl_s is not from 1 to {}", MAX_TTL.as_secs())));
    }
    Ok(JobWanted {
        id: wire.id,
        scope: wire.scope,
        instance: wire.instance,
        keep: wire.keep,
        notify: wire.notify.map(check_notify).transpose()?,
        ttl,
    })
}

fn check_notify(wire: WireNotify) -> Answer<Receiver> {
    Receiver::new(&wire.url, wire.token).map_err(|wrong| bad_request(format!("notify.{wrong}")))
}

pub fn is_id(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

pub fn is_scope(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// From a JSON string, which may write `/` as `\/`.
fn decode(json: &str) -> Answer<Vec<u8>> {
    let not_base64 = || bad_request("stdin is not base64");
    let text = json.strip_prefix('"').and_then(|text| text.strip_suffix('"')).ok_or_else(not_base64)?;
    let decoded = match text.contains('\\') {
        false => BASE64.decode(text),
        true => BASE64.decode(serde_json::from_str::<String>(json).map_err(|_| not_base64())?),
    };
    decoded.map_err(|_| not_base64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_fields_are_read() {
        let request = parse(
            br#"{"command":"c","args":["a b","\"\n",""],"cwd":"d","env":{"A":"1","B":null},"stdin":"aGk\/","timeout_ms":5,"stream":true}"#,
        )
        .expect("well-formed");
        assert_eq!(request.args, ["a b", "\"\n", ""]);
        assert_eq!(request.env.get("B"), Some(&None));
        assert_eq!(request.stdin.as_deref(), Some(&b"hi?"[..]));
        assert_eq!((request.timeout_ms, request.stream), (Some(5), true));
    }

    #[test]
    fn a_job_is_read() {
        let request = parse(
            br#"{"command":"c","stdin_open":true,"job":{"id":"a.B_9-","scope":"s:1/x","keep":true,"instance":"i","ttl_s":7}}"#,
        )
        .expect("well-formed");
        let job = request.job.expect("a job");
        assert_eq!((job.id.as_str(), job.scope.as_str(), job.keep), ("a.B_9-", "s:1/x", true));
        assert_eq!((job.instance.as_deref(), job.ttl.as_secs()), (Some("i"), 7));
        assert!(request.stdin_open && job.notify.is_none());
        assert!(parse_patch(br#"{"keep":true}"#).expect("a patch").is_none());
        assert!(parse_patch(br#"{"keep":false}"#).is_err() && parse_patch(b"{}").is_err());
    }

    #[test]
    fn what_can_not_be_honoured_is_refused() {
        for body in [
            "",
            "{",
            "[]",
            "null",
            "{}",
            r#"{"command":""}"#,
            r#"{"command":1}"#,
            r#"{"command":"a\u0000"}"#,
            r#"{"command":"a","args":"b"}"#,
            r#"{"command":"a","args":[1]}"#,
            r#"{"command":"a","timeout":5}"#,
            r#"{"command":"a","timeout_ms":0}"#,
            r#"{"command":"a","timeout_ms":2147483648}"#,
            r#"{"command":"a","timeout_ms":1.5}"#,
            r#"{"command":"a","env":{"A=B":"c"}}"#,
            r#"{"command":"a","env":{"":"c"}}"#,
            r#"{"command":"a","stdin":"*"}"#,
            r#"{"command":"a","stdin":5}"#,
            r#"{"command":"a","command":"b"}"#,
            r#"{"command":"a"} x"#,
            r#"{"command":"\ud800"}"#,
            r#"{"command":"a","stdin_open":true}"#,
            r#"{"command":"a","job":{"id":"x"}}"#,
            r#"{"command":"a","job":{"scope":"s"}}"#,
            r#"{"command":"a","job":{"id":"","scope":"s"}}"#,
            r#"{"command":"a","job":{"id":"a/b","scope":"s"}}"#,
            r#"{"command":"a","job":{"id":"a","scope":"a b"}}"#,
            r#"{"command":"a","job":{"id":"a","scope":"s","kept":true}}"#,
            r#"{"command":"a","job":{"id":"a","scope":"s","ttl_s":0}}"#,
            r#"{"command":"a","job":{"id":"a","scope":"s","ttl_s":9999999999}}"#,
            r#"{"command":"a","job":{"id":"a","scope":"s","notify":{"url":"http://h/"}}}"#,
            r#"{"command":"a","job":{"id":"a","scope":"s","notify":{"url":"ftp://h/","token":"t"}}}"#,
        ] {
            assert!(parse(body.as_bytes()).is_err(), "{body}");
        }
        let deep = format!(r#"{{"command":"a","job":{}}}"#, "[".repeat(100_000));
        assert!(parse(deep.as_bytes()).is_err());
        assert!(parse(b"{\"command\":\"\xff\"}").is_err());
    }
}
