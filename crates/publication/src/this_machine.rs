//! Names of the machine and of the user that publish a run. They occur in records if the same
//! machine measured the run.

use crate::private_string::{PrivateKind, is_identifying};

/// Environment variables that contain the name of the user.
const USER_VARIABLES: [&str; 3] = ["USER", "LOGNAME", "SUDO_USER"];

/// Names of this machine and its user.
#[derive(Clone, Debug, Default)]
pub struct ThisMachine {
    pub host: String,
    pub users: Vec<String>,
    /// Home folder of the user. It may be empty.
    pub home: String,
}

impl ThisMachine {
    /// Reads the names from the kernel and from the environment.
    pub fn look() -> ThisMachine {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        let mut users: Vec<String> = USER_VARIABLES.iter().map(|name| variable(name)).collect();
        users.sort();
        users.dedup();
        ThisMachine {
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            users,
            home: variable("HOME"),
        }
    }

    /// Returns the names that identify the machine or the user, with their kinds.
    pub fn strings(&self) -> Vec<(PrivateKind, String)> {
        let mut found: Vec<(PrivateKind, String)> = Vec::new();
        let users = self.users.iter().map(|user| (PrivateKind::User, user.clone()));
        found.extend(users.filter(|(_, user)| is_identifying(user)));
        // A host may have its full name or its short name in a record.
        let short = self.host.split('.').next().unwrap_or_default();
        let hosts = [self.host.as_str(), short].map(|host| (PrivateKind::Host, host.to_owned()));
        found.extend(hosts.into_iter().filter(|(_, host)| is_identifying(host)));
        let home = self.home.trim_end_matches('/');
        if home.len() > 1 {
            found.push((PrivateKind::Path, home.to_owned()));
        }
        found
    }
}
