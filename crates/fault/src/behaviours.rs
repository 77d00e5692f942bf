//! Maps each kind of fault to its implementation.

mod command;
mod data_corrupt;
mod data_lost;
mod disk_errors;
mod disk_full;
mod disk_read_only;
mod disk_removed;
mod disk_slow;
mod disk_stalled;
mod host_power_off;
mod net_client_cut;
mod net_delay;
mod net_down;
mod net_loss;
mod net_one_way;
mod net_partition;
mod net_policy;
mod net_reset;
mod net_slow;
mod node_add;
mod node_clock_ahead;
mod node_clock_behind;
mod node_compact;
mod node_decommission;
mod node_descriptors;
mod node_kill;
mod node_pause;
mod node_remove;
mod node_repair;
mod node_restart;
mod node_slow;
mod node_snapshot;
mod node_stop;
mod node_stutter;
mod operator_restart;
mod pod_delete;
mod pod_evict;
mod pod_kill;
mod rolling_change;
mod rolling_restart;
mod rolling_upgrade;

use crate::behaviour::Fault;
use target_spec::fault::{FaultKind, FaultName, Hit, Means, Options};

pub(crate) fn build(kind: &FaultKind, hit: &Hit, options: &Options) -> Box<dyn Fault> {
    let name = match &kind.means {
        Means::BuiltIn(name) => name,
        Means::Programs(commands) => return command::behaviour(hit, commands),
    };
    match name {
        FaultName::NodePause => node_pause::behaviour(hit, options),
        FaultName::NodeStutter => node_stutter::behaviour(hit, options),
        FaultName::NodeKill => node_kill::behaviour(hit, options),
        FaultName::NodeStop => node_stop::behaviour(hit, options),
        FaultName::NodeRestart => node_restart::behaviour(hit, options),
        FaultName::PodDelete => pod_delete::behaviour(hit, options),
        FaultName::PodKill => pod_kill::behaviour(hit, options),
        FaultName::PodEvict => pod_evict::behaviour(hit, options),
        FaultName::NodeSlow => node_slow::behaviour(hit, options),
        FaultName::NodeDescriptors => node_descriptors::behaviour(hit, options),
        FaultName::NodeClockAhead => node_clock_ahead::behaviour(hit, options),
        FaultName::NodeClockBehind => node_clock_behind::behaviour(hit, options),
        FaultName::NodeRepair => node_repair::behaviour(hit, options),
        FaultName::NodeCompact => node_compact::behaviour(hit, options),
        FaultName::NodeSnapshot => node_snapshot::behaviour(hit, options),
        FaultName::RollingRestart => rolling_restart::behaviour(hit, options),
        FaultName::RollingUpgrade => rolling_upgrade::behaviour(hit, options),
        FaultName::RollingChange => rolling_change::behaviour(hit, options),
        FaultName::OperatorRestart => operator_restart::behaviour(hit, options),
        FaultName::HostPowerOff => host_power_off::behaviour(hit, options),
        FaultName::DiskSlow => disk_slow::behaviour(hit, options),
        FaultName::DiskStalled => disk_stalled::behaviour(hit, options),
        FaultName::DiskFull => disk_full::behaviour(hit, options),
        FaultName::DiskReadOnly => disk_read_only::behaviour(hit, options),
        FaultName::DiskRemoved => disk_removed::behaviour(hit, options),
        FaultName::DiskErrors => disk_errors::behaviour(hit, options),
        FaultName::DataCorrupt => data_corrupt::behaviour(hit, options),
        FaultName::DataLost => data_lost::behaviour(hit, options),
        FaultName::NodeAdd => node_add::behaviour(hit, options),
        FaultName::NodeDecommission => node_decommission::behaviour(hit, options),
        FaultName::NodeRemove => node_remove::behaviour(hit, options),
        FaultName::NetPartition => net_partition::behaviour(hit, options),
        FaultName::NetOneWay => net_one_way::behaviour(hit, options),
        FaultName::NetClientCut => net_client_cut::behaviour(hit, options),
        FaultName::NetDown => net_down::behaviour(hit, options),
        FaultName::NetLoss => net_loss::behaviour(hit, options),
        FaultName::NetSlow => net_slow::behaviour(hit, options),
        FaultName::NetDelay => net_delay::behaviour(hit, options),
        FaultName::NetPolicy => net_policy::behaviour(hit, options),
        FaultName::NetReset => net_reset::behaviour(hit, options),
    }
}
