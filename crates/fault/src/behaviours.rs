//! Which code carries out which kind of fault.

use crate::behaviour::Fault;
use crate::{
    command, data_corrupt, data_lost, disk_errors, disk_full, disk_read_only, disk_removed,
    disk_slow, disk_stalled, host_power_off, net_client_cut, net_delay, net_down, net_loss,
    net_one_way, net_partition, net_reset, net_slow, node_add, node_clock_ahead, node_clock_behind,
    node_compact, node_decommission, node_descriptors, node_kill, node_pause, node_remove,
    node_repair, node_restart, node_slow, node_snapshot, node_stop, rolling_change,
    rolling_restart,
};
use target::fault::{FaultName, Hit, Kind, Means, Options};

/// What carries out a fault of a kind.
pub(crate) fn of(kind: &Kind, hit: &Hit, options: &Options) -> Box<dyn Fault> {
    let name = match &kind.means {
        Means::BuiltIn(name) => name,
        Means::Programs(commands) => return command::behaviour(hit, commands),
    };
    match name {
        FaultName::NodePause => node_pause::behaviour(hit, options),
        FaultName::NodeKill => node_kill::behaviour(hit, options),
        FaultName::NodeStop => node_stop::behaviour(hit, options),
        FaultName::NodeRestart => node_restart::behaviour(hit, options),
        FaultName::NodeSlow => node_slow::behaviour(hit, options),
        FaultName::NodeDescriptors => node_descriptors::behaviour(hit, options),
        FaultName::NodeClockAhead => node_clock_ahead::behaviour(hit, options),
        FaultName::NodeClockBehind => node_clock_behind::behaviour(hit, options),
        FaultName::NodeRepair => node_repair::behaviour(hit, options),
        FaultName::NodeCompact => node_compact::behaviour(hit, options),
        FaultName::NodeSnapshot => node_snapshot::behaviour(hit, options),
        FaultName::RollingRestart => rolling_restart::behaviour(hit, options),
        FaultName::RollingChange => rolling_change::behaviour(hit, options),
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
        FaultName::NetReset => net_reset::behaviour(hit, options),
    }
}
