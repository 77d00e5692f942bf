//! Known error messages and their meanings, grouped by the program that prints them.

/// Words of a message, and their meaning. `DEST` is the destination, `LINE` the line with the
/// words, `THERE` the start of a command that runs at the destination, and `FORGET` the command
/// that removes a changed host key.
pub(super) struct Row {
    pub(super) words: &'static [&'static str],
    pub(super) cause: &'static str,
    pub(super) hint: &'static str,
}

/// Messages of `ssh`. The first matching row applies, because an error of a jump host causes
/// further errors.
pub(super) const BY_SSH_ITSELF: [Row; 12] = [
    Row {
        words: &["REMOTE HOST IDENTIFICATION HAS CHANGED"],
        cause: "the host key of the machine differs from the key in this machine's known_hosts",
        hint: "if someone reinstalled the machine, run FORGET and then `ssh DEST` once; otherwise, \
             another machine may be answering",
    },
    Row {
        words: &["Host key verification failed"],
        cause: "this machine's known_hosts does not contain the host key of the machine",
        hint: "run `ssh DEST` once, and compare the key that ssh shows with the host key of the \
               machine",
    },
    Row {
        words: &["Too many authentication failures"],
        cause: "ssh offered more keys than the machine accepts (LINE)",
        hint: "name the right key in ~/.ssh/config, by IdentityFile and `IdentitiesOnly yes`",
    },
    Row {
        words: &[": Permission denied ("],
        cause: "the machine accepts none of your keys, or has no such user (LINE)",
        hint: "see `ssh-add -l` for your keys, and name another user as USER@HOST; `ssh-copy-id \
             DEST` copies a key there",
    },
    Row {
        words: &["Could not resolve hostname"],
        cause: "name resolution does not find the name of the machine (LINE)",
        hint: "check the name, or set the machine's address in ~/.ssh/config (HostName)",
    },
    Row {
        words: &["open failed:"],
        cause: "the jump host cannot reach the machine (LINE)",
        hint: "try `ssh -v DEST`, and check the messages of the jump host about that address and \
               port",
    },
    Row {
        words: &["Connection refused"],
        cause: "no sshd listens at that address and port (LINE)",
        hint: "check the address and port, and that sshd runs on the machine",
    },
    Row {
        words: &["No route to host"],
        cause: "this machine has no route to that machine (LINE)",
        hint: "check the address, and that the machine runs",
    },
    Row {
        words: &["Network is unreachable"],
        cause: "this machine has no route to that machine (LINE)",
        hint: "check the address, and the network of this machine",
    },
    Row {
        words: &["timed out"],
        cause: "the machine does not answer (LINE)",
        hint: "check that the machine is running, and that no firewall drops the packets: `ssh -v \
               DEST`",
    },
    Row {
        words: &["no matching", "found"],
        cause: "the machine supports only algorithms that the ssh of this machine no longer \
                supports (LINE)",
        hint: "allow these algorithms for that machine in ~/.ssh/config, or update its sshd",
    },
    Row {
        words: &["onfiguration option"],
        cause: "ssh cannot parse its configuration on this machine (LINE)",
        hint: "see `ssh -G DEST`",
    },
];

/// Messages of `kubectl`, and those of the API server and the container runtime that `kubectl`
/// prints.
pub(super) const BY_KUBECTL: [Row; 12] = [
    Row {
        words: &["locate context"],
        cause: "the configuration of kubectl does not contain this context (LINE)",
        hint: "see `kubectl config get-contexts`",
    },
    Row {
        words: &["must be logged in"],
        cause: "the cluster does not recognize the user (LINE)",
        hint: "log in to the cluster as its provider requires; then `kubectl auth whoami` must \
               succeed",
    },
    Row {
        words: &["is forbidden", "pods/exec"],
        cause: "the user may not start programs in the pods of the cluster (LINE)",
        hint: "`cassay kubernetes rbac` prints the required role",
    },
    Row {
        words: &["(Forbidden)"],
        cause: "the cluster does not permit this action to the user (LINE)",
        hint: "`cassay kubernetes rbac` prints the required role",
    },
    Row {
        words: &["(NotFound)"],
        cause: "the pod no longer exists (LINE)",
        hint: "`kubectl get events` may show the reason for its deletion or eviction",
    },
    Row {
        words: &["container not found"],
        cause: "the container of the pod is not running (LINE)",
        hint: "see `kubectl describe pod DEST`",
    },
    Row {
        words: &["completed pod"],
        cause: "the pod has ended (LINE)",
        hint: "see `kubectl describe pod DEST`",
    },
    Row {
        words: &["executable file not found"],
        cause: "the image of the pod has no shell (LINE)",
        hint: "name an image that has `sh`, `head` and `chmod`, such as an image of Cassandra",
    },
    Row {
        words: &["connection to the server", "refused"],
        cause: "the cluster's API server does not answer (LINE)",
        hint: "check that the API server answers: `kubectl cluster-info`",
    },
    Row {
        words: &["Unable to connect to the server"],
        cause: "kubectl cannot reach the cluster's API server (LINE)",
        hint: "check that the API server answers: `kubectl cluster-info`",
    },
    Row {
        words: &["certificate"],
        cause: "the cluster or kubectl does not accept a certificate (LINE)",
        hint: "update the configuration of kubectl, as the cluster's provider describes",
    },
    Row {
        words: &["error dialing backend"],
        cause: "the API server cannot reach the node of the pod (LINE)",
        hint: "see `kubectl get nodes`, and check that the kubelet of that node answers",
    },
];

/// Messages of a login that succeeds but permits no command.
pub(super) const BY_LOGIN: [Row; 1] = [Row {
    words: &["assword", "expired"],
    cause: "the password of the user on that machine has expired (LINE)",
    hint: "log in with `ssh DEST` and change the password",
}];

/// Messages of `ssh` when sshd closes the connection before authentication.
pub(super) const BEFORE_LOGIN: [&str; 4] = [
    "kex_exchange_identification:",
    "ssh_exchange_identification:",
    "Connection closed by",
    "Connection reset by",
];

/// Messages of a shell, a loader or `sudo` when it cannot start the program.
pub(super) const BY_OTHERS: [Row; 8] = [
    Row {
        words: &["sudo: ", "password is required"],
        cause: "sudo on that machine requires a password, which cassay does not enter (LINE)",
        hint: "remove `sudo`; or permit the user to run the program without a password: NOPASSWD \
               in sudoers",
    },
    Row {
        words: &["sudo: ", "a terminal is required"],
        cause: "sudo on that machine requires a password, which cassay does not enter (LINE)",
        hint: "remove `sudo`; or permit the user to run the program without a password: NOPASSWD \
               in sudoers",
    },
    Row {
        words: &["sudo: ", "must have a tty"],
        cause: "sudo on that machine requires a terminal, which cassay does not provide (LINE)",
        hint: "remove `requiretty` from sudoers, or remove `sudo` from the study",
    },
    Row {
        words: &["sudo", "not found"],
        cause: "the machine has no sudo (LINE)",
        hint: "log in as root, with root@HOST, or remove `sudo`",
    },
    Row {
        words: &["not allowed to execute"],
        cause: "sudo does not let the user run the program (LINE)",
        hint: "remove `sudo`, or permit the program in sudoers",
    },
    Row {
        words: &["not in the sudoers"],
        cause: "sudo does not let the user run the program (LINE)",
        hint: "remove `sudo`, or permit the program in sudoers",
    },
    Row {
        words: &["xec format error"],
        cause: "the kernel of the machine does not run the program (LINE)",
        hint: "released programs are for 64 bits: see `THERE getconf LONG_BIT`",
    },
    Row {
        words: &["GLIBC"],
        cause: "the C library of the machine is older than this program requires (LINE)",
        hint: "use the static program of a release, which needs no C library; from source, `cargo \
             xtask dist` builds it",
    },
];
