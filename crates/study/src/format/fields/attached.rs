//! The rows of the machines of an attached cluster.

use super::row::{SECTION, optional, required};
use crate::format::field::{Field, Type};
use target_spec::ProcessControl;

/// Rows of the nodes' addresses.
pub(super) const ADDRESSES: &[Field] = &[
    optional(
        "target.attach.secure_connect_bundle",
        Type::Text(|d, text| d.attach.secure_connect_bundle = Some(text.into())),
        "The secure connect bundle of a database of Astra, a zip archive, in the place of \
         `contact_points` and `tls`. With it go `user: token` and a password, or a client's id and \
         secret.",
    ),
    optional(
        "target.attach.addresses",
        Type::Map(&Type::Text(|d, text| {
            if let (Ok(said), Ok(reached)) = (d.key.parse(), text.parse()) {
                d.attach.addresses.add(said, reached);
            }
        })),
        "Where nodes are reached that the cluster calls by other addresses, as in containers and \
     behind port forwards: `{10.1.0.5: '127.0.0.1:9043'}`. A key without a port is the node at any \
     port; a value with one is where its CQL is. Other ports, as those of agents, are the same at \
     the other address, unless they have a line of their own. Nodes without a line are reached by \
     their own addresses. By TLS a certificate must carry what the cluster calls the node.",
    ),
];

/// Rows for one machine, or for all machines at once.
macro_rules! rows {
    ($at:literal, |$d:ident| $host:expr) => {
        [
            optional(
                concat!($at, ".folder"),
                Type::Text(|$d, text| $host.folder = Some(text.into())),
                "The folder there into which this program is put and run from, with what is \
                 written down there to be undone. Default: the user's cache, and `~/.local/state/\
                 cassay` (`/var/lib/cassay` as root).",
            ),
            optional(
                concat!($at, ".sudo"),
                Type::Bool(|$d, on| $host.sudo = Some(on)),
                "Whether it is root there, by `sudo -n`: to look at processes of other users, to \
                 read their logs, to stop and start them. Default: `false`.",
            ),
            optional(
                concat!($at, ".control"),
                SECTION,
                "What stops and starts a node there. `{node}` in a word is the address of the \
                 node, where several run on one machine. What is done has to be allowed on the \
                 command line: `--allow restart`.",
            ),
            optional(
                concat!($at, ".control.systemd"),
                Type::Text(|$d, text| $host.control = Some(ProcessControl::Systemd(text.into()))),
                "Its unit of systemd.",
            ),
            optional(
                concat!($at, ".control.docker"),
                Type::Text(|$d, text| $host.control = Some(ProcessControl::Docker(text.into()))),
                "Its container of Docker.",
            ),
            optional(
                concat!($at, ".control.command"),
                SECTION,
                "Two programs there, each a list of itself and its arguments, run from `/` without \
                 a shell.",
            ),
            required(
                concat!($at, ".control.command.stop"),
                Type::List(&Type::Text(|$d, text| $host.stop.push(text.into()))),
                "What stops it. It ends with 0 when it has, within two minutes.",
            ),
            required(
                concat!($at, ".control.command.start"),
                Type::List(&Type::Text(|$d, text| $host.start.push(text.into()))),
                "What starts it, and does no harm where it runs. It ends with 0 within a minute, \
                 and what it has started goes on.",
            ),
            optional(
                concat!($at, ".logs"),
                Type::Text(|$d, text| $host.logs = Some(text.into())),
                "The folder with the logs of the nodes there, which is only read: what comes to \
                 them during the run is kept with it, and pauses of the collector are read from \
                 them.",
            ),
            optional(
                concat!($at, ".data"),
                Type::Text(|$d, text| $host.data = Some(text.into())),
                "The folder with the data of the nodes there: settings of its disk are looked at.",
            ),
        ]
    };
}

pub(super) const HEAD: &[Field] = &[
    optional(
        "target.attach.hosts",
        SECTION,
        "The machines of its nodes, by your own `ssh`: figures, processes, logs and settings are \
         read there, and nodes are restarted where the command line allows it. In a study it needs \
         `--trust`. What is said here of `folder`, `sudo`, `control`, `logs` and `data` holds for \
         all machines that do not say it themselves. Default: only what CQL tells.",
    ),
    required(
        "target.attach.hosts.ssh",
        Type::List(&Type::Either(
            &Type::Text(|d, text| d.attached.push(text)),
            &Type::Section(|d| d.attached.push("")),
        )),
        "HOST, USER@HOST or ssh://USER@HOST:PORT, or a name of your `~/.ssh/config`, of each \
         machine; or a mapping with more.",
    ),
    required(
        "target.attach.hosts.ssh.ssh",
        Type::Text(|d, text| d.attached.one().ssh = text.into()),
        "The same.",
    ),
    optional(
        "target.attach.hosts.ssh.address",
        Type::List(&Type::Text(|d, text| {
            d.attached.one().addresses.push(text.into())
        })),
        "The addresses of its nodes, as the cluster has them. Default: those that are its own.",
    ),
];

pub(super) const EACH: &[Field] = &rows!("target.attach.hosts.ssh", |d| d.attached.one());

pub(super) const ALL: &[Field] = &rows!("target.attach.hosts", |d| d.attached.common);
