//! Users and groups by /etc/passwd and /etc/group. Read by ourselves: a static glibc can not load the modules that its
//! own functions for this need.

use crate::sys::identity::Identity;

#[derive(Debug, PartialEq, Eq)]
pub struct User {
    pub name: Option<String>,
    pub home: Option<String>,
    pub identity: Identity,
}

/// By name or by number. A number without an entry is a user too, of the group with the same number.
pub fn find_user(name_or_uid: &str, passwd: &str, group: &str) -> Option<User> {
    let number = name_or_uid.parse::<u32>().ok();
    let entry = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| {
        fields.len() >= 6
            && (fields[0] == name_or_uid || number.is_some_and(|uid| fields[2].parse() == Ok(uid)))
    });
    let Some(fields) = entry else {
        let uid = number?;
        return Some(User {
            name: None,
            home: None,
            identity: Identity { uid, gid: uid, groups: vec![uid] },
        });
    };
    let (uid, gid) = (fields[2].parse().ok()?, fields[3].parse().ok()?);
    let mut groups = vec![gid];
    for line in group.lines() {
        let group: Vec<_> = line.split(':').collect();
        let is_member = group.len() >= 4 && group[3].split(',').any(|member| member == fields[0]);
        match group.get(2).and_then(|text| text.parse().ok()) {
            Some(gid) if is_member && !groups.contains(&gid) => groups.push(gid),
            _ => {}
        }
    }
    let home = (!fields[5].is_empty()).then(|| fields[5].to_owned());
    Some(User { name: Some(fields[0].to_owned()), home, identity: Identity { uid, gid, groups } })
}

/// `find_user` with the files of this system.
pub fn look_up(name_or_uid: &str) -> Option<User> {
    let read = |path| {
        std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    };
    find_user(name_or_uid, &read("/etc/passwd"), &read("/etc/group"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\nagent:x:1000:1001::/home/agent:/bin/sh\nbroken\n";
    const GROUP: &str = "agent:x:1001:\ndocker:x:50:other,agent\nwheel:x:10:other\n";

    #[test]
    fn a_user_is_found_by_name_and_by_number_with_its_groups() {
        let by_name = find_user("agent", PASSWD, GROUP).expect("found");
        assert_eq!(by_name.identity, Identity { uid: 1000, gid: 1001, groups: vec![1001, 50] });
        assert_eq!(by_name.home.as_deref(), Some("/home/agent"));
        assert_eq!(find_user("1000", PASSWD, GROUP), Some(by_name));
    }

    #[test]
    fn a_number_without_an_entry_is_a_user_and_a_name_without_one_is_not() {
        let user = find_user("4242", PASSWD, GROUP).expect("found");
        assert_eq!(user.identity, Identity { uid: 4242, gid: 4242, groups: vec![4242] });
        assert_eq!(find_user("nobody-here", PASSWD, GROUP), None);
        assert_eq!(find_user("broken", PASSWD, GROUP), None);
    }
}
