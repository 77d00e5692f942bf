//! Table of all calls that an agent answers. Only the agent's main loop imports it.

use crate::state::AgentState;
use host::attached_nodes::{
    FindService, GrantReadOnly, OwnAddresses, ReadWallClock, StartService, UndoLeftovers,
};
use host::calls::{
    Abilities, Address, ConnectToSwitch, DropPageCache, EndProcess, Keep, Limit, LimitPort, Limits,
    MachineAbilities, MakeBridge, MakeHost, PortLimits, Processes, RaiseUplink, StartProcess,
    VolumeAbilities,
};
use host::faults::{Heal, Inject, Renew, Started};
use host::files::{Change, DeviceBytes, EvictTree, Get, List, Space, Sum};
use host::inspect::{CleanFolder, Inspect};
use host::machine::{FindProcess, ReadMachine, ReadSettings};
use host::queries::{Receive, RunQuery};
use host::remote_host::{AvailableMemory, ClearCluster, FindJava, FindMarked, Settle, TakenPort};
use host::watch::{BeginWatch, TakeReadings};
use remote::{ReadClock, Row};

/// All calls that an agent answers for its host.
pub(crate) const CALLS: &[Row<AgentState>] = &[
    Row::of::<MakeBridge>(),
    Row::of::<RaiseUplink>(),
    Row::of::<ConnectToSwitch>(),
    Row::of::<LimitPort>(),
    Row::of::<PortLimits>(),
    Row::of::<MakeHost>(),
    Row::of::<Address>(),
    Row::of::<Limit>(),
    Row::of::<Limits>(),
    Row::of::<DropPageCache>(),
    Row::of::<StartProcess>(),
    Row::of::<EndProcess>(),
    Row::of::<Abilities>(),
    Row::of::<VolumeAbilities>(),
    Row::of::<MachineAbilities>(),
    Row::of::<Processes>(),
    Row::of::<Keep>(),
    Row::of::<Change>(),
    Row::of::<List>(),
    Row::of::<Get>(),
    Row::of::<Sum>(),
    Row::of::<Space>(),
    Row::of::<DeviceBytes>(),
    Row::of::<EvictTree>(),
    Row::of::<BeginWatch>(),
    Row::of::<TakeReadings>(),
    Row::of::<ReadClock>(),
    Row::of::<Inject>(),
    Row::of::<Heal>(),
    Row::of::<Renew>(),
    Row::of::<Started>(),
    Row::of::<RunQuery>(),
    Row::of::<Receive>(),
    Row::of::<ReadSettings>(),
    Row::of::<ReadMachine>(),
    Row::of::<FindProcess>(),
    Row::of::<Settle>(),
    Row::of::<FindJava>(),
    Row::of::<TakenPort>(),
    Row::of::<AvailableMemory>(),
    Row::of::<ClearCluster>(),
    Row::of::<FindMarked>(),
    Row::of::<Inspect>(),
    Row::of::<CleanFolder>(),
    Row::of::<OwnAddresses>(),
    Row::of::<GrantReadOnly>(),
    Row::of::<FindService>(),
    Row::of::<StartService>(),
    Row::of::<ReadWallClock>(),
    Row::of::<UndoLeftovers>(),
];
