//! The body of `POST U`. A field that is unknown, or that this build can not honour, is refused: ignored, it would be a
//! limit that does not hold or a job that runs twice.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;

use crate::errors::{Answer, bad_request};

#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    pub command: String,
    pub args: Vec<String>,
    pub cwd: Option<String>,
    /// `None` removes a variable.
    pub env: BTreeMap<String, Option<String>>,
    pub stdin: Option<Vec<u8>>,
    pub timeout_ms: Option<u64>,
    pub stream: bool,
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
    job: Option<serde::de::IgnoredAny>,
}

const MAX_TIMEOUT_MS: u64 = 2_147_483_647;
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub fn parse(body: &[u8]) -> Answer<Request> {
    let wire: Wire =
        serde_json::from_slice(body).map_err(|error| bad_request(format!("malformed request: {error}")))?;
    if wire.job.is_some() {
        return Err(bad_request("job: this endpoint has no jobs (see features of /health)"));
    }
    if wire.stdin_open {
        return Err(bad_request("stdin_open: this endpoint has no jobs (see features of /health)"));
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
        timeout_ms: wire.timeout_ms,
        stream: wire.stream,
    })
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
            r#"{"command":"a","job":{"id":"x","keep":true}}"#,
            r#"{"command":"a","stdin_open":true}"#,
        ] {
            assert!(parse(body.as_bytes()).is_err(), "{body}");
        }
        let deep = format!(r#"{{"command":"a","job":{}}}"#, "[".repeat(100_000));
        assert!(parse(deep.as_bytes()).is_err());
        assert!(parse(b"{\"command\":\"\xff\"}").is_err());
    }
}
