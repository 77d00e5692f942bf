//! The rows of the machines that local hosts run on.

use super::row::{optional, required, with};
use crate::format::LOCAL_NODES_MAX;
use crate::format::field::{Field, Type};
use target_spec::RemoteHost;

pub(super) const FIELDS: &[Field] = &[
    optional(
        "target.local.machines",
        Type::List(&Type::Either(
            &Type::Text(|_, _| {}),
            &Type::Section(|d| {
                d.machines.push(RemoteHost::default());
                d.machine_prices.push(None);
            }),
        )),
        "The machines that the hosts are, reached by your own `ssh`, which needs `--trust` in a \
         study: the first `hosts` of them, or all where that is left out. A list, or a file with \
         such a list below its key `machines`, beside the study or named on the command line; \
         below its key `clients` it may name the `client.machines`, too. Default: the hosts are \
         stand-ins.",
    ),
    required(
        "target.local.machines.ssh",
        Type::Text(|d, text| d.host().ssh = text.into()),
        "HOST, USER@HOST or ssh://USER@HOST:PORT, or a name of your `~/.ssh/config`.",
    ),
    required(
        "target.local.machines.folder",
        Type::Text(|d, text| d.host().folder = Some(text.into())),
        "The folder there that everything of cassay's is below: this program, jars, and the nodes \
         with their data.",
    ),
    optional(
        "target.local.machines.type",
        Type::Text(|d, text| d.host().machine_type = Some(text.into())),
        "What its provider calls its type, such as `i4i.2xlarge`: for those who read of it.",
    ),
    optional(
        "target.local.machines.price_per_hour",
        Type::Number(1e-6, 1e9, |d, n| d.price_of_host(n)),
        "What an hour of it costs. Where all machines that are used have a price, it is that of \
         the target, unless `price_per_hour` says another.",
    ),
    optional(
        "target.local.machines.nodes",
        Type::Count(1, LOCAL_NODES_MAX, |d, n| d.host().nodes = Some(n as usize)),
        "How many nodes it takes, where machines are of several kinds. Default: \
         `target.local.nodes_per_host`.",
    ),
    with(
        "target.local.machines.sudo",
        Type::Bool(|d, is| d.host().sudo = is),
        "false",
        "Whether what is done there is done as root, by `sudo -n`: limits, volumes and most faults \
         need it.",
    ),
    optional(
        "target.local.machines.address",
        Type::Text(|d, text| d.host().address = text.parse().ok()),
        "The IPv4 address by which clients and the other machines reach its nodes. Default: the \
         one at which its sshd is reached.",
    ),
];
