//! Study keys for the machines of an attached cluster, as rows of the table of keys.

use super::row::{SECTION, optional, required};
use crate::format::field::{Field, Type};
use target_spec::ProcessControl;

pub(super) const ADDRESSES: &[Field] = &[
    optional(
        "target.attach.secure_connect_bundle",
        Type::Text(|d, text| d.attach.secure_connect_bundle = Some(text.into())),
        "Secure connect bundle of an Astra database (a zip archive), instead of `contact_points` \
         and `tls`. Also requires `user: token` with a password, or a client id and secret.",
    ),
    optional(
        "target.attach.addresses",
        Type::Map(&Type::Text(|d, text| {
            if let (Ok(said), Ok(reached)) = (d.key.parse(), text.parse()) {
                d.attach.addresses.add(said, reached);
            }
        })),
        "Reachable addresses of nodes that have other addresses in the cluster, as in containers \
         or behind port forwards: `{10.1.0.5: '127.0.0.1:9043'}`. A key without a port applies to \
         the node at any port. A value with a port is the CQL address of the node. Other ports, \
         such as the ports of agents, stay the same unless they have their own entries. cassay \
         contacts nodes without an entry at the addresses that the cluster reports. With TLS, a \
         certificate must contain the cluster's address of the node.",
    ),
];

/// Makes the rows for one machine, or for all machines at once.
macro_rules! rows {
    ($at:literal, |$d:ident| $host:expr) => {
        [
            optional(
                concat!($at, ".folder"),
                Type::Text(|$d, text| $host.folder = Some(text.into())),
                "Folder on the machine to which cassay copies this program, and from which the \
                 program runs. The folder also contains the undo records of the program. Default: \
                 the user's cache, and `~/.local/state/cassay` (`/var/lib/cassay` as root).",
            ),
            optional(
                concat!($at, ".sudo"),
                Type::Bool(|$d, on| $host.sudo = Some(on)),
                "Become root on the machine with `sudo -n`, to inspect processes of other users, \
                 read the logs of these processes, and stop and start them. Default: `false`.",
            ),
            optional(
                concat!($at, ".control"),
                SECTION,
                "Method of stopping and starting a node on the machine. If several nodes run on \
                 one machine, `{node}` in an argument is the node's address. The command line must \
                 allow restarts with `--allow restart`.",
            ),
            optional(
                concat!($at, ".control.systemd"),
                Type::Text(|$d, text| $host.control = Some(ProcessControl::Systemd(text.into()))),
                "Name of the node's systemd unit.",
            ),
            optional(
                concat!($at, ".control.docker"),
                Type::Text(|$d, text| $host.control = Some(ProcessControl::Docker(text.into()))),
                "Name of the node's Docker container.",
            ),
            optional(
                concat!($at, ".control.command"),
                SECTION,
                "Two programs on the machine, which stop and start the node. Each is a list of the \
                 program's name and arguments. cassay runs the programs in `/`, without a shell.",
            ),
            required(
                concat!($at, ".control.command.stop"),
                Type::List(&Type::Text(|$d, text| $host.stop.push(text.into()))),
                "Program that stops the node. The program must exit with 0 within two minutes, \
                 when the node has stopped.",
            ),
            required(
                concat!($at, ".control.command.start"),
                Type::List(&Type::Text(|$d, text| $host.start.push(text.into()))),
                "Program that starts the node, and does nothing if the node runs. The program must \
                 exit with 0 within one minute, and the node must keep running.",
            ),
            optional(
                concat!($at, ".logs"),
                Type::Text(|$d, text| $host.logs = Some(text.into())),
                "Folder on the machine with the logs of the nodes. cassay only reads this folder. \
                 cassay stores the log lines that appear during the run, and reads garbage \
                 collection pauses from these lines.",
            ),
            optional(
                concat!($at, ".data"),
                Type::Text(|$d, text| $host.data = Some(text.into())),
                "Folder on the machine with the data of the nodes. cassay reads the settings of \
                 the disk of this folder.",
            ),
        ]
    };
}

pub(super) const HEAD: &[Field] = &[
    optional(
        "target.attach.hosts",
        SECTION,
        "Machines of the nodes, reached over ssh. cassay reads metrics, processes, logs and \
         settings on these machines, and restarts nodes if the command line allows it. Needs \
         `--trust` in a study. `folder`, `sudo`, `control`, `logs` and `data` here are defaults \
         for all machines. Default: only data that CQL provides.",
    ),
    required(
        "target.attach.hosts.ssh",
        Type::List(&Type::Either(
            &Type::Text(|d, text| d.attached.push(text)),
            &Type::Section(|d| d.attached.push("")),
        )),
        "List of machines. Each is HOST, USER@HOST, ssh://USER@HOST:PORT, a name in your \
         `~/.ssh/config`, or a mapping with more keys.",
    ),
    required(
        "target.attach.hosts.ssh.ssh",
        Type::Text(|d, text| d.attached.one().ssh = text.into()),
        "Destination for ssh, in the same form as in a list of machines.",
    ),
    optional(
        "target.attach.hosts.ssh.address",
        Type::List(&Type::Text(|d, text| {
            d.attached.one().addresses.push(text.into())
        })),
        "Addresses of the nodes on the machine, as the cluster reports them. Default: the \
         addresses of the machine.",
    ),
];

pub(super) const EACH: &[Field] = &rows!("target.attach.hosts.ssh", |d| d.attached.one());

pub(super) const ALL: &[Field] = &rows!("target.attach.hosts", |d| d.attached.common);
