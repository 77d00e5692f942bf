//! Known error messages by the program that prints them, and their meanings.

/// Words, and their meaning. `DEST` stands for the destination, `LINE` for the line that has them,
/// `THERE` for the beginning of a command that runs there.
pub(super) struct Row {
    pub(super) words: &'static [&'static str],
    pub(super) cause: &'static str,
    pub(super) hint: &'static str,
}

/// Messages of `ssh`. The first match counts: a jump host's trouble comes with others after it.
pub(super) const BY_SSH_ITSELF: [Row; 12] = [
    Row {
        words: &["REMOTE HOST IDENTIFICATION HAS CHANGED"],
        cause: "its host key is not the one that this machine knows",
        hint: "if the machine was installed again, FORGET and then `ssh DEST` once; if it was \
               not, another machine may be answering",
    },
    Row {
        words: &["Host key verification failed"],
        cause: "its host key is not known here",
        hint: "run `ssh DEST` once, and compare the key that it shows with the machine's own",
    },
    Row {
        words: &["Too many authentication failures"],
        cause: "it was offered more keys than it takes (LINE)",
        hint: "name the right one in ~/.ssh/config: IdentityFile, with `IdentitiesOnly yes`",
    },
    Row {
        words: &[": Permission denied ("],
        cause: "no key of yours opens it, or it has no such user (LINE)",
        hint: "see `ssh-add -l` for your keys, and name another user as USER@HOST; \
               `ssh-copy-id DEST` puts a key there",
    },
    Row {
        words: &["Could not resolve hostname"],
        cause: "its name is not known here (LINE)",
        hint: "check the name, or give it an address in ~/.ssh/config: HostName",
    },
    Row {
        words: &["open failed:"],
        cause: "its jump host does not get through to it (LINE)",
        hint: "try `ssh -v DEST`, and what the jump host says to that address and port",
    },
    Row {
        words: &["Connection refused"],
        cause: "nothing listens for ssh there (LINE)",
        hint: "check address and port, and that sshd runs there",
    },
    Row {
        words: &["No route to host"],
        cause: "no way leads there (LINE)",
        hint: "check that the machine runs, and the address",
    },
    Row {
        words: &["Network is unreachable"],
        cause: "no way leads there (LINE)",
        hint: "check the address, and the network of this machine",
    },
    Row {
        words: &["timed out"],
        cause: "it does not answer (LINE)",
        hint: "check that the machine runs, and that no firewall is between: `ssh -v DEST`",
    },
    Row {
        words: &["no matching", "found"],
        cause: "it speaks only what this machine's ssh does not any more (LINE)",
        hint: "allow it for this machine in ~/.ssh/config, or bring its sshd up to date",
    },
    Row {
        words: &["onfiguration option"],
        cause: "ssh does not understand its configuration here (LINE)",
        hint: "see `ssh -G DEST`",
    },
];

/// Messages of `kubectl`, and those of the API server and the container runtime that it passes on.
pub(super) const BY_KUBECTL: [Row; 12] = [
    Row {
        words: &["locate context"],
        cause: "kubectl has no such context (LINE)",
        hint: "see `kubectl config get-contexts`",
    },
    Row {
        words: &["must be logged in"],
        cause: "the cluster does not know who asks (LINE)",
        hint: "log in to it as its provider wants, until `kubectl auth whoami` answers",
    },
    Row {
        words: &["is forbidden", "pods/exec"],
        cause: "you may not start anything in its pods (LINE)",
        hint: "`cassay kubernetes rbac` prints the role that is needed",
    },
    Row {
        words: &["(Forbidden)"],
        cause: "you may not do that there (LINE)",
        hint: "`cassay kubernetes rbac` prints the role that is needed",
    },
    Row {
        words: &["(NotFound)"],
        cause: "it is not there any more (LINE)",
        hint: "`kubectl get events` may say who deleted or evicted it",
    },
    Row {
        words: &["container not found"],
        cause: "its container does not run (LINE)",
        hint: "see `kubectl describe pod DEST`",
    },
    Row {
        words: &["completed pod"],
        cause: "it has ended (LINE)",
        hint: "see `kubectl describe pod DEST`",
    },
    Row {
        words: &["executable file not found"],
        cause: "its image has no shell (LINE)",
        hint: "name an image that has `sh`, `head` and `chmod`, such as that of Cassandra",
    },
    Row {
        words: &["connection to the server", "refused"],
        cause: "the cluster's API server does not answer (LINE)",
        hint: "check the server of that context: `kubectl cluster-info`",
    },
    Row {
        words: &["Unable to connect to the server"],
        cause: "the cluster's API server is not reached (LINE)",
        hint: "check the server of that context: `kubectl cluster-info`",
    },
    Row {
        words: &["certificate"],
        cause: "the cluster's certificate is not believed, or ours is not (LINE)",
        hint: "bring the configuration of kubectl up to date, as the cluster's provider says",
    },
    Row {
        words: &["error dialing backend"],
        cause: "the API server does not get through to its node (LINE)",
        hint: "see `kubectl get nodes`, and whether the kubelet there answers",
    },
];

/// Messages of a login that succeeds but forbids any command.
pub(super) const BY_LOGIN: [Row; 1] = [Row {
    words: &["assword", "expired"],
    cause: "the password of its user has expired (LINE)",
    hint: "log in by `ssh DEST` and change it",
}];

/// Messages with which sshd hangs up before authentication.
pub(super) const BEFORE_LOGIN: [&str; 4] = [
    "kex_exchange_identification:",
    "ssh_exchange_identification:",
    "Connection closed by",
    "Connection reset by",
];

/// Messages of a shell, a loader or `sudo` when the program is started.
pub(super) const BY_OTHERS: [Row; 8] = [
    Row {
        words: &["sudo: ", "password is required"],
        cause: "sudo wants a password there, and cassay enters none (LINE)",
        hint: "do without `sudo`; or let its user run the program without a password: NOPASSWD in \
               its sudoers",
    },
    Row {
        words: &["sudo: ", "a terminal is required"],
        cause: "sudo wants a password there, and cassay enters none (LINE)",
        hint: "do without `sudo`; or let its user run the program without a password: NOPASSWD in \
               its sudoers",
    },
    Row {
        words: &["sudo: ", "must have a tty"],
        cause: "sudo wants a terminal there, and none is needed here (LINE)",
        hint: "take `requiretty` out of its sudoers, or do without `sudo`",
    },
    Row {
        words: &["sudo", "not found"],
        cause: "there is no sudo (LINE)",
        hint: "name root as its user, root@HOST, or do without `sudo`",
    },
    Row {
        words: &["not allowed to execute"],
        cause: "sudo does not let its user run the program (LINE)",
        hint: "do without `sudo`, or allow it in its sudoers",
    },
    Row {
        words: &["not in the sudoers"],
        cause: "sudo does not let its user run the program (LINE)",
        hint: "do without `sudo`, or allow it in its sudoers",
    },
    Row {
        words: &["xec format error"],
        cause: "its kernel does not run the program (LINE)",
        hint: "the programs of releases are for 64 bits: see `THERE getconf LONG_BIT`",
    },
    Row {
        words: &["GLIBC"],
        cause: "its C library is older than the one that this program was built with (LINE)",
        hint: "use the static program of a release, which needs none; of sources `cargo xtask \
               dist` makes it",
    },
];
