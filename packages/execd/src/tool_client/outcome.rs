//! How a call ended, as an exit code and at most one line.

use serde::Deserialize;

pub const DENIED: u8 = 1;
const TIMED_OUT: u8 = 124;
pub const NO_GATEWAY: u8 = 125;
pub const NOT_SENT: u8 = 126;
const UNKNOWN_TOOL: u8 = 127;
pub const CANCELLED: u8 = 130;

#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    pub code: u8,
    pub message: Option<String>,
}

/// The payload of `exit`. Fields that we do not use may be there.
#[derive(Deserialize)]
struct Exit {
    exit_code: Option<i64>,
    signal: Option<String>,
    #[serde(default)]
    timed_out: bool,
    error: Option<ErrorBody>,
}

#[derive(Deserialize)]
struct ErrorBody {
    code: String,
    message: String,
}

pub fn of_exit(payload: &[u8]) -> Outcome {
    let Ok(exit) = serde_json::from_slice::<Exit>(payload) else {
        return no_gateway("its answer is not to be understood");
    };
    let own = exit.exit_code.map(|code| code as u8); // of a wider code a shell keeps these bits too
    let by_error = exit.error.as_ref().and_then(|error| code_of(&error.code));
    let code = by_error.or(own).or(exit.timed_out.then_some(TIMED_OUT)).unwrap_or(match exit.signal {
        Some(signal) => number_of(&signal).map_or(DENIED, |number| 128 + number),
        None => DENIED,
    });
    Outcome { code, message: exit.error.map(|error| one_line(&error.message)) }
}

/// The payload of `error`, after which the gateway closes.
pub fn of_error(payload: &[u8]) -> Outcome {
    match serde_json::from_slice::<ErrorBody>(payload) {
        Ok(error) => Outcome {
            code: code_of(&error.code).unwrap_or(NO_GATEWAY),
            message: Some(one_line(&error.message)),
        },
        Err(_) => no_gateway("its answer is not to be understood"),
    }
}

pub fn no_gateway(reason: &str) -> Outcome {
    Outcome { code: NO_GATEWAY, message: Some(format!("no gateway: {}", one_line(reason))) }
}

fn code_of(error: &str) -> Option<u8> {
    match error {
        "denied" | "identity_mismatch" => Some(DENIED),
        "unknown_tool" => Some(UNKNOWN_TOOL),
        "timed_out" => Some(TIMED_OUT),
        "cancelled" => Some(CANCELLED),
        _ => None,
    }
}

fn number_of(signal: &str) -> Option<u8> {
    (1..=64).find(|number| crate::sys::process::signal_name(*number) == signal).map(|number| number as u8)
}

/// Control characters would move somebody's cursor.
fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_own_code_is_ours() {
        let code = |json: &str| of_exit(json.as_bytes()).code;
        assert_eq!(code(r#"{"exit_code":3,"signal":null,"timed_out":false,"truncated":false}"#), 3);
        assert_eq!(code(r#"{"exit_code":null,"signal":"SIGKILL","timed_out":false}"#), 137);
        assert_eq!(code(r#"{"exit_code":null,"signal":null,"timed_out":true}"#), 124);
        assert_eq!(code("not json"), 125);
    }

    #[test]
    fn each_error_has_its_code_and_one_line() {
        for (name, expected) in
            [("denied", 1), ("unknown_tool", 127), ("timed_out", 124), ("cancelled", 130), ("other", 9)]
        {
            let json = format!(
                r#"{{"exit_code":9,"signal":null,"error":{{"code":"{name}","message":"a\nb\u001b[2J"}}}}"#
            );
            assert_eq!(of_exit(json.as_bytes()), Outcome { code: expected, message: Some("a b [2J".into()) });
        }
        assert_eq!(
            of_error(br#"{"code":"limit","message":"full"}"#),
            Outcome { code: 125, message: Some("full".into()) }
        );
    }
}
