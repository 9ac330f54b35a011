//! `DELETE U/files`: a file, a link (never what it leads to) or an empty directory.

use std::sync::Arc;

use crate::errors::{Answer, system};
use crate::files::path;
use crate::http::exchange::Exchange;
use crate::http::query;
use crate::service::Service;

pub fn answer(service: &Arc<Service>, exchange: &mut Exchange) -> Answer<()> {
    let path = path(service, &query::parse(&exchange.head.query, &["path"])?)?;
    let failed = |error| system(&path.display().to_string(), &error);
    match std::fs::symlink_metadata(&path).map_err(failed)?.is_dir() {
        true => std::fs::remove_dir(&path).map_err(failed)?,
        false => std::fs::remove_file(&path).map_err(failed)?,
    }
    exchange.start(204, &[], None);
    Ok(())
}
