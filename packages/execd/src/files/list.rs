//! `GET U/list`: what is in a directory, sorted, to a depth and a number. Links are listed and not followed.

use std::ffi::OsString;
use std::fs::FileType;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::errors::{Answer, system};
use crate::files::about::{json_bytes, json_fields};
use crate::files::path;
use crate::http::exchange::Exchange;
use crate::http::query;
use crate::service::Service;

const MAX_DEPTH: usize = 64;
const DEFAULT_LIMIT: usize = 1000;
const MAX_LIMIT: usize = 10_000;
/// Names of one directory that are read and sorted; of a larger one, the first of these as the file system has them.
const MAX_NAMES: usize = 100_000;

pub fn answer(service: &Arc<Service>, exchange: &mut Exchange) -> Answer<()> {
    let query = query::parse(&exchange.head.query, &["path", "depth", "limit"])?;
    let root = path(service, &query)?;
    let depth = query.number("depth", 1, MAX_DEPTH)?;
    let limit = query.number("limit", DEFAULT_LIMIT, MAX_LIMIT)?;
    let first = read_sorted(&root).map_err(|error| system(&root.display().to_string(), &error))?;
    let max_bytes = service.config.max_response_bytes;
    let is_truncated = first.is_cut;
    let mut walk = Walk { root, depth, limit, max_bytes, entries: String::new(), count: 0, is_truncated };
    walk.run(first.names);
    exchange
        .send_json(200, &format!("{{\"entries\":[{}],\"truncated\":{}}}", walk.entries, walk.is_truncated));
    Ok(())
}

struct Walk {
    root: PathBuf,
    depth: usize,
    limit: usize,
    max_bytes: u64,
    entries: String,
    count: usize,
    is_truncated: bool,
}

impl Walk {
    /// A directory's own entry comes before those in it. One list of names per level, so depth costs no stack.
    fn run(&mut self, first: Vec<(OsString, FileType)>) {
        let mut levels = vec![(PathBuf::new(), first.into_iter())];
        while let Some((folder, names)) = levels.last_mut() {
            let Some((name, kind)) = names.next() else {
                levels.pop();
                continue;
            };
            if self.count == self.limit || self.entries.len() as u64 >= self.max_bytes {
                self.is_truncated = true;
                return;
            }
            let path = folder.join(name);
            self.push(&path);
            if kind.is_dir() && levels.len() < self.depth {
                // One that may not be read, or has gone, has no entries to show.
                if let Ok(sorted) = read_sorted(&self.root.join(&path)) {
                    self.is_truncated |= sorted.is_cut;
                    levels.push((path, sorted.names.into_iter()));
                }
            }
        }
    }

    fn push(&mut self, path: &Path) {
        let whole = self.root.join(path);
        let Ok(found) = std::fs::symlink_metadata(&whole) else { return };
        let target = if found.is_symlink() { std::fs::read_link(&whole).ok() } else { None };
        if self.count > 0 {
            self.entries.push(',');
        }
        self.count += 1;
        let path = json_bytes("path", path.as_os_str().as_bytes());
        self.entries.push_str(&format!("{{{path},{}}}", json_fields(&found, target.as_deref())));
    }
}

struct Sorted {
    names: Vec<(OsString, FileType)>,
    is_cut: bool,
}

fn read_sorted(folder: &Path) -> io::Result<Sorted> {
    let mut entries = std::fs::read_dir(folder)?;
    let mut names = Vec::new();
    for entry in entries.by_ref().take(MAX_NAMES) {
        let entry = entry?;
        // One that vanished meanwhile is not there.
        if let Ok(kind) = entry.file_type() {
            names.push((entry.file_name(), kind));
        }
    }
    names.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(Sorted { names, is_cut: entries.next().is_some() })
}
