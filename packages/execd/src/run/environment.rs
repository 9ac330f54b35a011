//! What a command finds around it: variables, `PATH`, folder and user.

use std::collections::BTreeMap;
use std::ffi::{CString, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::config::Config;
use crate::names;
use crate::sys::identity;

type Variables = BTreeMap<Vec<u8>, Vec<u8>>;

const DEFAULT_PATH: &[u8] = b"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// They tell about the process that started execd and would be wrong in a command.
const NOT_PASSED_ON: [&[u8]; 4] = [b"PWD", b"OLDPWD", b"SHLVL", b"_"];

/// The sandbox's own variables, which each request changes a little.
pub struct Environment(Variables);

impl Environment {
    pub fn of_this_process(config: &Config) -> Environment {
        let own = std::env::vars_os().map(|(name, value)| (name.into_vec(), value.into_vec()));
        Environment::new(own, config)
    }

    fn new(own: impl Iterator<Item = (Vec<u8>, Vec<u8>)>, config: &Config) -> Environment {
        let mut variables: Variables = own
            .filter(|(name, _)| !name.starts_with(b"EXECD_") && !NOT_PASSED_ON.contains(&name.as_slice()))
            .collect();
        let run_as = config.run_as.as_ref();
        let home = config.home.as_ref().map(|home| home.as_bytes().to_vec());
        let users_home = run_as.map(|user| user.home.clone().unwrap_or_else(|| "/".into()).into_bytes());
        match home.or(users_home) {
            Some(home) => {
                variables.insert(b"HOME".to_vec(), home);
            }
            None => {
                variables.entry(b"HOME".to_vec()).or_insert_with(|| {
                    let user = names::look_up(&identity::own_uid().to_string());
                    user.and_then(|user| user.home).map_or(b"/".to_vec(), String::into_bytes)
                });
            }
        }
        if let Some(name) = run_as.and_then(|user| user.name.as_ref()) {
            for variable in [&b"USER"[..], b"LOGNAME"] {
                variables.insert(variable.to_vec(), name.clone().into_bytes());
            }
        }
        variables.entry(b"PATH".to_vec()).or_insert_with(|| DEFAULT_PATH.to_vec());
        Environment(variables)
    }

    /// With a request's changes; `None` removes.
    pub fn with(&self, changes: &BTreeMap<String, Option<String>>) -> Variables {
        let mut variables = self.0.clone();
        for (name, value) in changes {
            match value {
                Some(value) => variables.insert(name.clone().into_bytes(), value.clone().into_bytes()),
                None => variables.remove(name.as_bytes()),
            };
        }
        variables
    }
}

/// `NAME=value`, as `execve` wants it. Values come from requests that were checked for NUL, or from an environment,
/// which has none.
pub fn to_envp(variables: &Variables) -> Vec<CString> {
    variables
        .iter()
        .filter_map(|(name, value)| CString::new([name, &b"="[..], value].concat()).ok())
        .collect()
}

/// The paths at which a command may be: itself when it has a slash, else one for each folder of `PATH`.
pub fn candidates(command: &str, variables: &Variables) -> Vec<CString> {
    if command.contains('/') {
        return CString::new(command).into_iter().collect();
    }
    let path = variables.get(&b"PATH"[..]).map_or(DEFAULT_PATH, Vec::as_slice);
    path.split(|byte| *byte == b':')
        .map(|folder| if folder.is_empty() { b"." } else { folder })
        .filter_map(|folder| CString::new([folder, b"/", command.as_bytes()].concat()).ok())
        .collect()
}

/// A request's folder, beneath the root when it is relative.
pub fn folder(config: &Config, cwd: Option<&str>) -> OsString {
    match cwd {
        None => config.root.clone().into_os_string(),
        Some(cwd) => config.root.join(cwd).into_os_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_looked_for_on_the_path_that_it_would_have() {
        let path = |value: &[u8]| Variables::from([(b"PATH".to_vec(), value.to_vec())]);
        let names = |list: Vec<CString>| {
            list.iter().map(|text| text.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(candidates("ls", &path(b"/a:/b"))), ["/a/ls", "/b/ls"]);
        assert_eq!(names(candidates("ls", &path(b"/a:"))), ["/a/ls", "./ls"]);
        assert_eq!(names(candidates("./ls", &path(b"/a"))), ["./ls"]);
        assert_eq!(names(candidates("ls", &Variables::new())).last().map(String::as_str), Some("/bin/ls"));
    }

    #[test]
    fn changes_add_and_remove() {
        let base =
            Environment(Variables::from([(b"A".to_vec(), b"1".to_vec()), (b"B".to_vec(), b"2".to_vec())]));
        let changes = BTreeMap::from([("A".into(), None), ("C".into(), Some("x=y".into()))]);
        let envp = to_envp(&base.with(&changes));
        assert_eq!(envp, [c"B=2".to_owned(), c"C=x=y".to_owned()]);
    }
}
