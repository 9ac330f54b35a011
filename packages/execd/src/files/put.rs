//! `PUT U/files`: a file's new bytes, whole or not at all. Written beside the old one, synced, and renamed over it, so a
//! reader sees the one or the other.

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use crate::errors::{Answer, Code, Failure, bad_request, fail, system};
use crate::files::{about, path};
use crate::http::exchange::Exchange;
use crate::http::query;
use crate::random;
use crate::service::Service;

const MAX_LINKS: usize = 40; // as the kernel has it

pub fn answer(service: &Arc<Service>, exchange: &mut Exchange) -> Answer<()> {
    let query = query::parse(&exchange.head.query, &["path", "parents"])?;
    let asked = path(service, &query)?;
    let mode = exchange.head.header("x-file-mode").map(parse_mode).transpose()?;
    let if_match = exchange.head.header("if-match").map(<[u8]>::to_vec);
    let failed = |error: io::Error| system(&asked.display().to_string(), &error);
    let target = follow_links(&asked).map_err(failed)?;
    let (folder, name) = match (target.parent(), target.file_name()) {
        (Some(folder), Some(name)) if !target.as_os_str().as_bytes().ends_with(b"/") => (folder, name),
        _ => return Err(bad_request(format!("{} is not a file's name", asked.display()))),
    };
    if query.is_set("parents")? {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let old = look_at(&target)?;
    check_match(if_match.as_deref(), old.as_ref())?;
    let temporary = Temporary::create(folder).map_err(failed)?;
    exchange.each_part(service.config.max_request_bytes, &mut |bytes| {
        (&temporary.file).write_all(bytes).map_err(failed)
    })?;
    temporary.dress(mode, old.as_ref(), service.umask).map_err(failed)?;
    temporary.file.sync_all().map_err(failed)?;
    let written = temporary.file.metadata().map_err(failed)?;
    {
        // Two callers with the same ETag: the second must see the first one's file.
        let _guard = service.rename.lock().unwrap_or_else(PoisonError::into_inner);
        check_match(if_match.as_deref(), look_at(&target)?.as_ref())?;
        temporary.rename(&folder.join(name)).map_err(failed)?;
    }
    sync_folder(folder).map_err(failed)?;
    let (status, etag) = (if old.is_some() { 200 } else { 201 }, about::etag(&written));
    let body = format!("{{{}}}", about::json_fields(&written, None));
    exchange.start(status, &[("Content-Type", "application/json"), ("ETag", &etag)], Some(body.len() as u64));
    exchange.send(body.as_bytes());
    Ok(())
}

/// The name, too, must survive a power cut. A folder may be one that we can write but not open, or of a kind that can not
/// be synced (EINVAL); the file is in its place then all the same.
fn sync_folder(folder: &Path) -> io::Result<()> {
    let Ok(folder) = File::open(folder) else { return Ok(()) };
    match folder.sync_all() {
        Err(error) if error.raw_os_error() != Some(libc::EINVAL) => Err(error),
        _ => Ok(()),
    }
}

/// The file to replace when `path` is a link, or a link to one; it need not exist.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match std::fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("/")).join(target),
            // Not a link (EINVAL), or nothing there yet.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
}

/// What is to be replaced, if anything.
fn look_at(path: &Path) -> Answer<Option<Metadata>> {
    match std::fs::symlink_metadata(path) {
        Ok(found) => about::require_file(path, &found).map(|()| Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(system(&path.display().to_string(), &error)),
    }
}

fn check_match(if_match: Option<&[u8]>, old: Option<&Metadata>) -> Answer<()> {
    let is_match = match (if_match, old) {
        (None, _) | (Some(b"*"), Some(_)) => true,
        (Some(wanted), Some(old)) => wanted == about::etag(old).as_bytes(),
        (Some(_), None) => false,
    };
    match is_match {
        true => Ok(()),
        false => Err(Failure {
            status: 412,
            ..fail(Code::Conflict, "the file is not the one of If-Match any more")
        }),
    }
}

fn parse_mode(header: &[u8]) -> Answer<u32> {
    let text = std::str::from_utf8(header).unwrap_or_default();
    match u32::from_str_radix(text, 8) {
        Ok(mode) if mode <= 0o7777 && !text.starts_with('+') => Ok(mode),
        _ => Err(bad_request("X-File-Mode is not an octal mode")),
    }
}

/// The new file while it has no name that counts. Removed when it never gets one.
struct Temporary {
    file: File,
    path: Option<PathBuf>,
}

impl Temporary {
    fn create(folder: &Path) -> io::Result<Temporary> {
        // A name of its own length: the file's own may be as long as a name can be.
        let path = folder.join(OsString::from(format!(".execd-{}.tmp", random::name())));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Temporary { file, path: Some(path) })
    }

    /// Mode and owner: the asked ones, else the old file's, else a new file's.
    fn dress(&self, mode: Option<u32>, old: Option<&Metadata>, umask: u32) -> io::Result<()> {
        let mut mode = mode.or(old.map(about::mode)).unwrap_or(0o666 & !umask);
        if let Some(old) = old {
            let own = self.file.metadata()?;
            let is_same = own.uid() == old.uid() && own.gid() == old.gid();
            // Before the mode, since a change of owner clears set-id bits. Where the owner can not be kept, a set-id
            // bit would mean somebody else.
            if !is_same && std::os::unix::fs::fchown(&self.file, Some(old.uid()), Some(old.gid())).is_err() {
                mode &= 0o777;
            }
        }
        self.file.set_permissions(Permissions::from_mode(mode))
    }

    fn rename(mut self, target: &Path) -> io::Result<()> {
        if let Some(path) = &self.path {
            std::fs::rename(path, target)?;
        }
        self.path = None;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }
}
