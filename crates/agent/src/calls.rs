//! Table of all calls that an agent answers. Only the agent's main loop imports this module.

use crate::host_state::AgentState;
use host::attached_nodes::{
    FindService, GrantReadOnly, OwnAddresses, ReadWallClock, StartService, UndoLeftovers,
};
use host::calls::{
    Address, Capabilities, ConnectToSwitch, DropPageCache, EndProcess, Keep, Limit, LimitPort,
    Limits, MachineCapabilities, MakeBridge, MakeHost, PortLimits, Processes, RaiseUplink,
    StartProcess, VolumeCapabilities,
};
use host::faults::{Heal, Inject, Renew, StartedProcesses};
use host::files::{Change, DeviceBytes, EvictTree, Get, List, Space, Sum};
use host::inspect::{CleanFolder, Inspect};
use host::machine::{FindProcess, ReadMachine, ReadSettings};
use host::queries::{Receive, RunQuery};
use host::remote_host::{AvailableMemory, ClearCluster, FindJava, FindMarked, Settle, TakenPort};
use host::watch::{BeginWatch, TakeReadings};
use remote::{ReadClock, Row};

pub(crate) const CALLS: &[Row<AgentState>] = &[
    Row::new::<MakeBridge>(),
    Row::new::<RaiseUplink>(),
    Row::new::<ConnectToSwitch>(),
    Row::new::<LimitPort>(),
    Row::new::<PortLimits>(),
    Row::new::<MakeHost>(),
    Row::new::<Address>(),
    Row::new::<Limit>(),
    Row::new::<Limits>(),
    Row::new::<DropPageCache>(),
    Row::new::<StartProcess>(),
    Row::new::<EndProcess>(),
    Row::new::<Capabilities>(),
    Row::new::<VolumeCapabilities>(),
    Row::new::<MachineCapabilities>(),
    Row::new::<Processes>(),
    Row::new::<Keep>(),
    Row::new::<Change>(),
    Row::new::<List>(),
    Row::new::<Get>(),
    Row::new::<Sum>(),
    Row::new::<Space>(),
    Row::new::<DeviceBytes>(),
    Row::new::<EvictTree>(),
    Row::new::<BeginWatch>(),
    Row::new::<TakeReadings>(),
    Row::new::<ReadClock>(),
    Row::new::<Inject>(),
    Row::new::<Heal>(),
    Row::new::<Renew>(),
    Row::new::<StartedProcesses>(),
    Row::new::<RunQuery>(),
    Row::new::<Receive>(),
    Row::new::<ReadSettings>(),
    Row::new::<ReadMachine>(),
    Row::new::<FindProcess>(),
    Row::new::<Settle>(),
    Row::new::<FindJava>(),
    Row::new::<TakenPort>(),
    Row::new::<AvailableMemory>(),
    Row::new::<ClearCluster>(),
    Row::new::<FindMarked>(),
    Row::new::<Inspect>(),
    Row::new::<CleanFolder>(),
    Row::new::<OwnAddresses>(),
    Row::new::<GrantReadOnly>(),
    Row::new::<FindService>(),
    Row::new::<StartService>(),
    Row::new::<ReadWallClock>(),
    Row::new::<UndoLeftovers>(),
];
