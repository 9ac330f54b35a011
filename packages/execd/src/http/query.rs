//! The query: percent-encoded bytes, because a path may hold any byte but NUL.

use crate::errors::{Answer, bad_request};

#[derive(Debug)]
pub struct Query(Vec<(Vec<u8>, Vec<u8>)>);

/// `known` are the names this call has; another one would be ignored in silence otherwise.
pub fn parse(query: &str, known: &[&str]) -> Answer<Query> {
    let mut pairs: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let (name, value) = (decode(name)?, decode(value)?);
        let text = String::from_utf8_lossy(&name).into_owned();
        if !known.contains(&text.as_str()) {
            return Err(bad_request(format!("unknown parameter {text:?}")));
        }
        if pairs.iter().any(|(other, _)| *other == name) {
            return Err(bad_request(format!("parameter {text:?} is sent twice")));
        }
        pairs.push((name, value));
    }
    Ok(Query(pairs))
}

impl Query {
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.0.iter().find(|(known, _)| known == name.as_bytes()).map(|(_, value)| value.as_slice())
    }

    pub fn number(&self, name: &str, default: usize, max: usize) -> Answer<usize> {
        let Some(value) = self.bytes(name) else { return Ok(default) };
        match std::str::from_utf8(value).unwrap_or_default().parse() {
            Ok(number) if (1..=max).contains(&number) => Ok(number),
            _ => Err(bad_request(format!("{name} is not a number from 1 to {max}"))),
        }
    }

    /// 0 is one too.
    pub fn whole(&self, name: &str, max: u64) -> Answer<Option<u64>> {
        let Some(value) = self.bytes(name) else { return Ok(None) };
        match std::str::from_utf8(value).unwrap_or_default().parse() {
            Ok(number) if number <= max && value[0] != b'+' => Ok(Some(number)),
            _ => Err(bad_request(format!("{name} is not a whole number up to {max}"))),
        }
    }

    pub fn is_set(&self, name: &str) -> Answer<bool> {
        match self.bytes(name) {
            None | Some(b"0") => Ok(false),
            Some(b"1") => Ok(true),
            Some(_) => Err(bad_request(format!("{name} is neither 0 nor 1"))),
        }
    }
}

/// A part of a path, where `+` is itself.
pub fn decode_path(part: &str) -> Answer<String> {
    let bytes = decode(&part.replace('+', "%2B"))?;
    String::from_utf8(bytes).map_err(|_| bad_request("the path is not UTF-8"))
}

/// `+` is a space: URLSearchParams writes it so, and both it and encodeURIComponent encode a real plus sign.
fn decode(text: &str) -> Answer<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| byte.and_then(|byte| (byte as char).to_digit(16));
                match (digit(rest.next()), digit(rest.next())) {
                    (Some(high), Some(low)) => (high * 16 + low) as u8,
                    _ => return Err(bad_request("% without two hex digits in the query")),
                }
            }
            b'+' => b' ',
            byte => byte,
        });
    }
    match bytes.contains(&0) {
        true => Err(bad_request("NUL in the query")),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_byte_but_nul_comes_through() {
        let all: String = (1..=255u8).map(|byte| format!("%{byte:02X}")).collect();
        let query = parse(&format!("path={all}&parents=1"), &["path", "parents"]).expect("well-formed");
        assert_eq!(query.bytes("path"), Some((1..=255).collect::<Vec<u8>>().as_slice()));
        assert_eq!(parse("path=a+b%2b", &["path"]).expect("well-formed").bytes("path"), Some(&b"a b+"[..]));
        assert!(query.is_set("parents").expect("a flag"));
    }

    #[test]
    fn malformed_and_unknown_parameters_are_refused() {
        for query in ["path=%", "path=%4", "path=%zz", "path=%00", "path=a&path=b", "paht=a", "path=%+1"] {
            assert!(parse(query, &["path"]).is_err(), "{query}");
        }
    }

    #[test]
    fn numbers_have_a_range() {
        let query = parse("a=5&b=0&c=x&d=11&e=", &["a", "b", "c", "d", "e"]).expect("well-formed");
        assert_eq!(query.number("a", 1, 10).expect("a number"), 5);
        assert_eq!(query.number("missing", 7, 10).expect("the default"), 7);
        for name in ["b", "c", "d", "e"] {
            assert!(query.number(name, 1, 10).is_err(), "{name}");
        }
    }
}
