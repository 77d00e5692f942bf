//! Known error messages by the program that prints them, and their meanings.

/// Words of a message, and their meaning. `DEST` represents the destination, `LINE` the line that
/// contains the words, and `THERE` the start of a command that runs at the destination.
pub(super) struct Row {
    pub(super) words: &'static [&'static str],
    pub(super) cause: &'static str,
    pub(super) hint: &'static str,
}

/// Messages of `ssh`. The first match counts, because an error of a jump host causes further
/// errors.
pub(super) const BY_SSH_ITSELF: [Row; 12] = [
    Row {
        words: &["REMOTE HOST IDENTIFICATION HAS CHANGED"],
        cause: "its host key differs from the key that this machine knows",
        hint: "if someone reinstalled the machine, run FORGET and then `ssh DEST` once; otherwise, \
             another machine may be answering",
    },
    Row {
        words: &["Host key verification failed"],
        cause: "its host key is unknown on this machine",
        hint: "run `ssh DEST` once, and compare the key that it shows with the machine's own",
    },
    Row {
        words: &["Too many authentication failures"],
        cause: "ssh offered more keys than the machine accepts (LINE)",
        hint: "name the right one in ~/.ssh/config: IdentityFile, with `IdentitiesOnly yes`",
    },
    Row {
        words: &[": Permission denied ("],
        cause: "it accepts none of your keys, or has no such user (LINE)",
        hint: "see `ssh-add -l` for your keys, and name another user as USER@HOST; `ssh-copy-id \
             DEST` copies a key there",
    },
    Row {
        words: &["Could not resolve hostname"],
        cause: "its name is unknown on this machine (LINE)",
        hint: "check the name, or set its address in ~/.ssh/config: HostName",
    },
    Row {
        words: &["open failed:"],
        cause: "its jump host cannot reach it (LINE)",
        hint: "try `ssh -v DEST`, and check the messages of the jump host about that address and \
               port",
    },
    Row {
        words: &["Connection refused"],
        cause: "no sshd listens there (LINE)",
        hint: "check address and port, and that sshd runs there",
    },
    Row {
        words: &["No route to host"],
        cause: "this machine has no route to it (LINE)",
        hint: "check that the machine runs, and the address",
    },
    Row {
        words: &["Network is unreachable"],
        cause: "this machine has no route to it (LINE)",
        hint: "check the address, and the network of this machine",
    },
    Row {
        words: &["timed out"],
        cause: "it does not answer (LINE)",
        hint: "check that the machine runs, and that no firewall is in between: `ssh -v DEST`",
    },
    Row {
        words: &["no matching", "found"],
        cause: "it supports only algorithms that this machine's ssh no longer supports (LINE)",
        hint: "allow them for this machine in ~/.ssh/config, or update its sshd",
    },
    Row {
        words: &["onfiguration option"],
        cause: "ssh cannot parse its configuration on this machine (LINE)",
        hint: "see `ssh -G DEST`",
    },
];

/// Messages of `kubectl`, and messages of the API server and the container runtime that `kubectl`
/// passes on.
pub(super) const BY_KUBECTL: [Row; 12] = [
    Row {
        words: &["locate context"],
        cause: "kubectl has no such context (LINE)",
        hint: "see `kubectl config get-contexts`",
    },
    Row {
        words: &["must be logged in"],
        cause: "the cluster does not recognize the user (LINE)",
        hint: "log in to it as its provider requires, until `kubectl auth whoami` answers",
    },
    Row {
        words: &["is forbidden", "pods/exec"],
        cause: "the user may not start programs in its pods (LINE)",
        hint: "`cassay kubernetes rbac` prints the required role",
    },
    Row {
        words: &["(Forbidden)"],
        cause: "the user may not do that in the cluster (LINE)",
        hint: "`cassay kubernetes rbac` prints the required role",
    },
    Row {
        words: &["(NotFound)"],
        cause: "it no longer exists (LINE)",
        hint: "`kubectl get events` may show the reason for its deletion or eviction",
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
        hint: "name an image that has `sh`, `head` and `chmod`, such as an image of Cassandra",
    },
    Row {
        words: &["connection to the server", "refused"],
        cause: "the cluster's API server does not answer (LINE)",
        hint: "check the server of that context: `kubectl cluster-info`",
    },
    Row {
        words: &["Unable to connect to the server"],
        cause: "kubectl cannot reach the cluster's API server (LINE)",
        hint: "check the server of that context: `kubectl cluster-info`",
    },
    Row {
        words: &["certificate"],
        cause: "the cluster or kubectl does not accept a certificate (LINE)",
        hint: "update the configuration of kubectl, as the cluster's provider describes",
    },
    Row {
        words: &["error dialing backend"],
        cause: "the API server cannot reach its node (LINE)",
        hint: "see `kubectl get nodes`, and check that the kubelet there answers",
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
        cause: "sudo requires a password there, and cassay enters none (LINE)",
        hint: "remove `sudo`; or let its user run the program without a password: NOPASSWD in its \
             sudoers",
    },
    Row {
        words: &["sudo: ", "a terminal is required"],
        cause: "sudo requires a password there, and cassay enters none (LINE)",
        hint: "remove `sudo`; or let its user run the program without a password: NOPASSWD in its \
             sudoers",
    },
    Row {
        words: &["sudo: ", "must have a tty"],
        cause: "sudo requires a terminal there, which cassay does not provide (LINE)",
        hint: "remove `requiretty` from its sudoers, or remove `sudo`",
    },
    Row {
        words: &["sudo", "not found"],
        cause: "the machine has no sudo (LINE)",
        hint: "name root as its user, root@HOST, or remove `sudo`",
    },
    Row {
        words: &["not allowed to execute"],
        cause: "sudo does not let its user run the program (LINE)",
        hint: "remove `sudo`, or allow it in its sudoers",
    },
    Row {
        words: &["not in the sudoers"],
        cause: "sudo does not let its user run the program (LINE)",
        hint: "remove `sudo`, or allow it in its sudoers",
    },
    Row {
        words: &["xec format error"],
        cause: "its kernel does not run the program (LINE)",
        hint: "released programs are for 64 bits: see `THERE getconf LONG_BIT`",
    },
    Row {
        words: &["GLIBC"],
        cause: "its C library is older than the C library of this program's build (LINE)",
        hint: "use the static program of a release, which needs no C library; from source, `cargo \
             xtask dist` builds it",
    },
];
