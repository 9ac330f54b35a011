//! `GET U/stat`: what is at a path, without following a link there.

use std::sync::Arc;

use crate::errors::{Answer, system};
use crate::files::{about, path};
use crate::http::exchange::Exchange;
use crate::http::query;
use crate::service::Service;

pub fn answer(service: &Arc<Service>, exchange: &mut Exchange) -> Answer<()> {
    let path = path(service, &query::parse(&exchange.head.query, &["path"])?)?;
    let failed = |error| system(&path.display().to_string(), &error);
    let found = std::fs::symlink_metadata(&path).map_err(failed)?;
    let target = match found.is_symlink() {
        true => Some(std::fs::read_link(&path).map_err(failed)?),
        false => None,
    };
    exchange.send_json(200, &format!("{{{}}}", about::json_fields(&found, target.as_deref())));
    Ok(())
}
