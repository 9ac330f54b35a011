//! HTTP/1.1, the strict subset that a server of one protocol needs: every message has one meaning, every part a bound.

pub mod body;
pub mod exchange;
pub mod head;
pub mod query;
pub mod wire;
