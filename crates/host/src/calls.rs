//! Calls to an agent, in the form that controller and agent share. The crate `agent` implements the
//! calls.

use crate::process::Identity;
use anyhow::{Context, Result};
use linux::cgroup::CgroupDir;
use linux::cpu_affinity::Confinement;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use target_spec::{CapabilityStatus, HostSpec, LinkSpec};

/// First message to an agent.
#[derive(Debug, Serialize, Deserialize)]
pub struct Begin {
    /// Role of the agent.
    pub role: Role,
    /// Folder for the agent's own files.
    pub folder: PathBuf,
    /// Folder that the agent removes when it ends. `None` if the agent must not remove a folder.
    pub tree: Option<PathBuf>,
    /// Folders whose files the agent may access.
    pub files: Vec<PathBuf>,
    /// Time without contact to the controller after which the agent ends, in seconds.
    pub lease_s: u64,
}

/// Role of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Agent of the machine itself.
    Machine,
    /// Agent of the switch between simulated hosts, in a separate network namespace.
    Switch,
    /// Agent of a simulated host, in separate network and mount namespaces.
    StandIn,
    /// Agent of a machine that hosts nodes. It has a separate mount namespace, if the machine
    /// permits that.
    Host,
    /// Relay to the kept agent that listens in the folder that the first message names.
    Relay,
}

/// Declares calls with their names and the types of their answers.
macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident = $word:literal -> $answer:ty;)*) => {
        $(impl remote::Call for $name {
            const NAME: &'static str = $word;
            type Answer = $answer;
        })*
    };
}

pub(crate) use calls;

calls! {
    MakeBridge = "make-the-bridge" -> ();
    RaiseUplink = "bring-its-uplink-up" -> ();
    ConnectToSwitch = "plug-a-host-in" -> ();
    LimitPort = "limit-the-link-to-a-host" -> ();
    PortLimits = "read-the-limits-of-a-link" -> LinkSpec;
    MakeHost = "make-its-groups-and-its-volume" -> NewHost;
    Address = "take-an-address" -> ();
    Limit = "limit-itself" -> ();
    Limits = "read-its-limits" -> HostLimits;
    DropPageCache = "drop-its-page-cache" -> ();
    StartProcess = "start-a-process" -> Identity;
    EndProcess = "end-a-process" -> bool;
    Capabilities = "say-what-it-can-do" -> Vec<CapabilityStatus>;
    VolumeCapabilities = "say-what-it-can-break-of-a-volume" -> Vec<CapabilityStatus>;
    MachineCapabilities = "say-what-it-can-break-of-its-own-network" -> Vec<CapabilityStatus>;
    Processes = "list-its-processes" -> Vec<(Identity, Option<i32>)>;
    Keep = "stay" -> ();
}

/// Makes the switch create its bridge.
#[derive(Serialize, Deserialize)]
pub struct MakeBridge;

/// Makes the switch bring up its end of the link between the machine and the switch, and add it to
/// the bridge.
#[derive(Serialize, Deserialize)]
pub struct RaiseUplink;

/// Makes the switch create a link into the network namespace of a simulated host on the same
/// machine.
#[derive(Serialize, Deserialize)]
pub struct ConnectToSwitch {
    /// Number of the host, counted from 1.
    pub number: usize,
    /// Process of the host's agent, whose network namespace gets the link.
    pub process: Identity,
}

/// Makes the switch limit the traffic that it sends to a host.
#[derive(Serialize, Deserialize)]
pub struct LimitPort {
    /// Number of the host, counted from 1.
    pub number: usize,
    pub link: LinkSpec,
}

/// Requests the limits that the switch applies to a host's link.
#[derive(Serialize, Deserialize)]
pub struct PortLimits {
    /// Number of the host, counted from 1.
    pub number: usize,
}

/// Makes a simulated host create its control groups and its data folder.
#[derive(Serialize, Deserialize)]
pub struct MakeHost {
    /// Control groups of the host.
    pub places: Vec<CgroupDir>,
    /// Mount point of the host's volume, or the host's folder if it has no volume.
    pub folder: PathBuf,
    /// Size of the host's volume in bytes. `None` if the host has no volume.
    pub volume_bytes: Option<u64>,
}

/// Result of [`MakeHost`].
#[derive(Serialize, Deserialize)]
pub struct NewHost {
    /// Device name of the host's volume. `None` if the host has no volume.
    pub device: Option<String>,
    /// True if writes to the host's volume bypass the page cache of the machine.
    pub is_direct: bool,
}

/// Adds an address to the link of a simulated host, unless the link already has the address. Brings
/// the link up.
#[derive(Serialize, Deserialize)]
pub struct Address(pub Ipv4Addr);

/// Makes a host set the limits of its control groups, and of the traffic that it sends.
#[derive(Serialize, Deserialize)]
pub struct Limit(pub HostSpec);

/// Requests the limits of a simulated host.
#[derive(Serialize, Deserialize)]
pub struct Limits;

/// The limits of a simulated host.
#[derive(Serialize, Deserialize)]
pub struct HostLimits {
    /// Limits of the host's control groups, as text by name. See [`linux::cgroup::Group::limits`].
    pub groups: BTreeMap<String, String>,
    /// Limits of the traffic that the host sends.
    pub link: LinkSpec,
}

/// Makes a simulated host sync its volume, and then drop the page cache that is charged to the
/// host.
#[derive(Serialize, Deserialize)]
pub struct DropPageCache;

/// Starts a process, which ends with the agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StartProcess {
    /// Program that is executed.
    pub program: PathBuf,
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// Environment variables to set. A value of `None` removes the variable.
    pub environment: Vec<(String, Option<String>)>,
    /// Changes to the environment that apply from the second restart on, after the first restart
    /// has failed.
    pub forgiving: Vec<(String, Option<String>)>,
    /// Address at which the process accepts connections when it is up. `None` if the agent need not
    /// check after healing that the process is up.
    pub serves: Option<SocketAddr>,
    /// Working directory of the process.
    pub folder: PathBuf,
    /// File to which the output of the process is appended. The agent must be permitted to access
    /// this file.
    pub output: PathBuf,
    /// CPUs and memory to which the process is confined. `None` means all CPUs and memory of the
    /// host.
    #[serde(default)]
    pub confinement: Option<Box<Confinement>>,
}

impl StartProcess {
    /// Builds the call that starts `command`, with its output to the file `output`.
    pub fn from_command(command: &Command, output: &Path) -> Result<StartProcess> {
        let text = |text: &OsStr| {
            let text = text.to_str().map(str::to_owned);
            text.context("read an argument: it is not Unicode")
        };
        let pair = |(name, value): (&OsStr, Option<&OsStr>)| {
            Ok((text(name)?, value.map(text).transpose()?))
        };
        Ok(StartProcess {
            program: command.get_program().into(),
            arguments: command.get_args().map(text).collect::<Result<_>>()?,
            environment: command.get_envs().map(pair).collect::<Result<_>>()?,
            forgiving: Vec::new(),
            serves: None,
            folder: command.get_current_dir().unwrap_or(Path::new("/")).into(),
            output: output.to_owned(),
            confinement: None,
        })
    }
}

/// Tells a process to end, and kills it if it does not end in time. The answer is true if the
/// process ended by itself.
#[derive(Serialize, Deserialize)]
pub struct EndProcess {
    pub process: Identity,
    /// Time that the process may take to end, before it is killed, in ms.
    pub grace_ms: u64,
}

/// Requests the capabilities of the machine. See [`linux::capability::capabilities`].
#[derive(Serialize, Deserialize)]
pub struct Capabilities;

/// Requests the capabilities for volume faults. See [`linux::capability::volume_capabilities`].
#[derive(Serialize, Deserialize)]
pub struct VolumeCapabilities;

/// Requests the capabilities for faults of the machine's own network. See
/// [`linux::capability::machine_capabilities`].
#[derive(Serialize, Deserialize)]
pub struct MachineCapabilities;

/// Requests a list of all processes that the agent has started, with the exit status of those that
/// have ended.
#[derive(Serialize, Deserialize)]
pub struct Processes;

/// Makes the agent outlive its controller, and listen for another controller.
#[derive(Serialize, Deserialize)]
pub struct Keep;

/// Message that an agent sends without a request.
#[derive(Serialize, Deserialize)]
pub enum Note {
    /// A process has ended, with its status.
    Ended(Identity, i32),
}
