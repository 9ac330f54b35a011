//! What a call says: tool, exact argv, folder, and whether there is input for it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::tool_client::frames::MAX_REQUEST_BYTES;

const MAX_ARGS: usize = 4096;

/// The payload of `request`, or what is wrong with the call.
pub fn payload(
    tool: &OsStr,
    args: &[OsString],
    cwd: Option<&OsStr>,
    has_stdin: bool,
) -> Result<Vec<u8>, String> {
    if args.len() > MAX_ARGS {
        return Err(format!("{} arguments, and {MAX_ARGS} are allowed", args.len()));
    }
    let tool = tool.to_str().ok_or("its name is not UTF-8")?;
    let mut request = json!({ "tool": tool, "stdin": has_stdin });
    let texts: Option<Vec<&str>> = args.iter().map(|arg| arg.to_str()).collect();
    match texts {
        Some(texts) => request["args"] = Value::from(texts),
        None => {
            let encoded = args.iter().map(|arg| STANDARD.encode(arg.as_bytes()));
            request["args_b64"] = Value::from_iter(encoded);
        }
    }
    // A folder whose name is no text has no name here; the tool starts in its default one.
    if let Some(cwd) = cwd.and_then(OsStr::to_str) {
        request["cwd"] = Value::from(cwd);
    }
    let bytes = request.to_string().into_bytes();
    match bytes.len() + 5 > MAX_REQUEST_BYTES {
        true => Err(format!("arguments of {} bytes, and {MAX_REQUEST_BYTES} are allowed", bytes.len())),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn parsed(args: &[OsString]) -> Value {
        let bytes = payload(OsStr::new("git"), args, Some(OsStr::new("/w")), true).expect("a request");
        serde_json::from_slice(&bytes).expect("json")
    }

    #[test]
    fn argv_is_exact() {
        let args = ["a b".into(), "\"'\n".into(), "".into()];
        assert_eq!(
            parsed(&args),
            json!({ "tool": "git", "args": ["a b", "\"'\n", ""], "cwd": "/w", "stdin": true })
        );
    }

    #[test]
    fn argv_that_is_no_text_is_sent_as_base64_alone() {
        let request = parsed(&["a".into(), OsString::from_vec(vec![0xff])]);
        assert_eq!(request["args_b64"], json!(["YQ==", "/w=="]));
        assert_eq!(request.get("args"), None);
    }

    #[test]
    fn too_much_is_refused_here() {
        let many = vec![OsString::from("a"); MAX_ARGS + 1];
        assert!(payload(OsStr::new("git"), &many, None, false).is_err());
        let long = [OsString::from("a".repeat(MAX_REQUEST_BYTES))];
        assert!(payload(OsStr::new("git"), &long, None, false).is_err());
    }
}
