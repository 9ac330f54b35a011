//! The one error type of a request: thrown anywhere, rendered once by the connection.

use std::io;

/// The closed list of the protocol, each with its HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    Unauthorized,
    BadRequest,
    NotFound,
    Conflict,
    Gone,
    TooLarge,
    Limit,
    Internal,
}

#[derive(Clone, Debug)]
pub struct Failure {
    pub code: Code,
    pub status: u16,
    pub message: String,
}

impl Failure {
    /// `{"error":{"code","message"}}`
    pub fn json(&self) -> String {
        let message = serde_json::Value::from(self.message.as_str());
        format!(r#"{{"error":{{"code":"{}","message":{message}}}}}"#, self.code.name())
    }
}

pub type Answer<T> = Result<T, Failure>;

impl Code {
    pub fn name(self) -> &'static str {
        match self {
            Code::Unauthorized => "unauthorized",
            Code::BadRequest => "bad_request",
            Code::NotFound => "not_found",
            Code::Conflict => "conflict",
            Code::Gone => "gone",
            Code::TooLarge => "too_large",
            Code::Limit => "limit",
            Code::Internal => "internal",
        }
    }

    fn status(self) -> u16 {
        match self {
            Code::Unauthorized => 401,
            Code::BadRequest => 400,
            Code::NotFound => 404,
            Code::Conflict => 409,
            Code::Gone => 410,
            Code::TooLarge => 413,
            Code::Limit => 429,
            Code::Internal => 500,
        }
    }
}

pub fn fail(code: Code, message: impl Into<String>) -> Failure {
    Failure { code, status: code.status(), message: message.into() }
}

pub fn bad_request(message: impl Into<String>) -> Failure {
    fail(Code::BadRequest, message)
}

/// An error of the system while `doing` something for a caller. What the caller can mend has a code of its own.
pub fn system(doing: &str, error: &io::Error) -> Failure {
    let message = format!("{doing}: {}", describe(error));
    let (code, status) = match error.raw_os_error().unwrap_or(0) {
        libc::ENOENT | libc::ENOTDIR => (Code::NotFound, 404),
        libc::EACCES | libc::EPERM | libc::EROFS | libc::ETXTBSY => (Code::BadRequest, 403),
        libc::EISDIR | libc::ENAMETOOLONG | libc::ELOOP | libc::EINVAL | libc::ENXIO => {
            (Code::BadRequest, 400)
        }
        libc::ENOTEMPTY | libc::EEXIST | libc::EBUSY => (Code::Conflict, 409),
        libc::EFBIG => (Code::TooLarge, 413),
        libc::ENOSPC | libc::EDQUOT => (Code::Limit, 507),
        libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EAGAIN => (Code::Limit, 429),
        _ => (Code::Internal, 500),
    };
    Failure { code, status, message }
}

/// The system's words without Rust's "(os error 2)".
pub fn describe(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
