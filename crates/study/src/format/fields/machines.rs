//! Study keys for the machines on which local hosts run, as rows of the table of keys.

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
        "Machines to use as hosts, over ssh, which requires `--trust` in a study. cassay uses the \
         first `hosts` machines, or all if `hosts` is absent. The value is a list, or a file with \
         such a list under the key `machines`. The file is in the study's folder, or the command \
         line names it. The file's key `clients` may also name the `client.machines`. Default: \
         hosts are simulated.",
    ),
    required(
        "target.local.machines.ssh",
        Type::Text(|d, text| d.host().ssh = text.into()),
        "Destination for ssh: HOST, USER@HOST, ssh://USER@HOST:PORT, or a name in your \
         `~/.ssh/config`.",
    ),
    required(
        "target.local.machines.folder",
        Type::Text(|d, text| d.host().folder = Some(text.into())),
        "Folder on the machine for all of cassay's files: this program, jars, and the nodes with \
         their data.",
    ),
    optional(
        "target.local.machines.type",
        Type::Text(|d, text| d.host().machine_type = Some(text.into())),
        "Machine type, by the provider's name, such as `i4i.2xlarge`. For display only.",
    ),
    optional(
        "target.local.machines.price_per_hour",
        Type::Number(1e-6, 1e9, |d, n| d.price_of_host(n)),
        "Price of the machine per hour. If all used machines have a price, the sum of the prices \
         is the price of the target, unless `price_per_hour` is set.",
    ),
    optional(
        "target.local.machines.nodes",
        Type::Count(1, LOCAL_NODES_MAX, |d, n| d.host().nodes = Some(n as usize)),
        "Number of nodes on this machine, if the machines should run different numbers of nodes. \
         Default: `target.local.nodes_per_host`.",
    ),
    with(
        "target.local.machines.sudo",
        Type::Bool(|d, is| d.host().sudo = is),
        "false",
        "Become root on the machine with `sudo -n`. Limits, volumes and most faults require root.",
    ),
    optional(
        "target.local.machines.address",
        Type::Text(|d, text| d.host().address = text.parse().ok()),
        "IPv4 address at which clients and the other machines reach the nodes of the machine. \
         Default: the address of the machine's sshd.",
    ),
];
