pub mod get;
pub mod list;
pub mod put;
pub mod remove;
pub mod stat;
