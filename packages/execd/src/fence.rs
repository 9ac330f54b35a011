//! `X-Exec-Fence: <scope> <n>`: the highest n of each scope is kept, and a lower one is refused, so that an owner which
//! was paused past its takeover does nothing more here.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::errors::{Answer, Code, bad_request, fail};

/// Scopes held; forgetting one would let an old owner back in, so the next new one is refused instead.
const MAX_SCOPES: usize = 16_384;
const MAX_SCOPE_BYTES: usize = 128;

#[derive(Default)]
pub struct Fences(Mutex<HashMap<String, u64>>);

impl Fences {
    /// Checks and remembers the header's value.
    pub fn pass(&self, header: &[u8]) -> Answer<()> {
        let (scope, number) =
            parse(header).ok_or_else(|| bad_request("X-Exec-Fence is not \"<scope> <n>\""))?;
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = held.len() >= MAX_SCOPES;
        match held.get_mut(scope) {
            Some(highest) if number < *highest => {
                Err(fail(Code::Conflict, format!("scope {scope} has been taken over by owner {highest}")))
            }
            Some(highest) => {
                *highest = number;
                Ok(())
            }
            None if is_full => Err(fail(Code::Limit, "too many fenced scopes")),
            None => {
                held.insert(scope.to_owned(), number);
                Ok(())
            }
        }
    }
}

fn parse(header: &[u8]) -> Option<(&str, u64)> {
    let (scope, number) = std::str::from_utf8(header).ok()?.split_once(' ')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_scope =
        (1..=MAX_SCOPE_BYTES).contains(&scope.len()) && scope.bytes().all(|byte| byte.is_ascii_graphic());
    if is_number && is_scope { Some((scope, number.parse().ok()?)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_number_of_the_same_scope_is_refused() {
        let fences = Fences::default();
        assert!(fences.pass(b"s1 5").is_ok());
        assert!(fences.pass(b"s1 5").is_ok());
        assert!(fences.pass(b"s2 1").is_ok());
        assert_eq!(fences.pass(b"s1 4").expect_err("lower").code, Code::Conflict);
        assert!(fences.pass(b"s1 6").is_ok());
        assert!(fences.pass(b"s1 5").is_err());
    }

    #[test]
    fn anything_else_is_a_bad_request() {
        for header in
            [&b"s1"[..], b"s1 ", b" 1", b"s1 -1", b"s1 1 2", b"s1 x", b"\xff 1", b"s1 99999999999999999999"]
        {
            assert_eq!(Fences::default().pass(header).expect_err("bad").code, Code::BadRequest);
        }
    }
}
