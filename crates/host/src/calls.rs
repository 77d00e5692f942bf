//! What a host's agent can be asked, as both sides know it. What it does then is known where an
//! agent is.

use crate::process::Identity;
use anyhow::{Context, Result};
use kernel::cgroup::CgroupDir;
use kernel::confine::Confinement;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use target::{Capability, HostSpec, LinkSpec};

/// What an agent hears first.
#[derive(Debug, Serialize, Deserialize)]
pub struct Begin {
    /// What it stands for.
    pub role: Role,
    /// Its own folder.
    pub folder: PathBuf,
    /// The folder that goes when it ends; none if that is another's to remove.
    pub tree: Option<PathBuf>,
    /// The folders whose files it may touch.
    pub files: Vec<PathBuf>,
    /// How long its controller may be silent, in seconds.
    pub lease_s: u64,
}

/// What an agent stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// The machine itself, as it is.
    Machine,
    /// The switch between stand-ins: a network of its own.
    Switch,
    /// A stand-in: a network and mounts of its own.
    StandIn,
    /// A machine that hosts nodes: as it is, with mounts of its own where that is permitted.
    Host,
    /// Nothing by itself: it leads to the kept agent that listens in its folder.
    Relay,
}

/// Declares calls with their names and answers.
macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident = $word:literal -> $answer:ty;)*) => {
        $(impl reach::Call for $name {
            const NAME: &'static str = $word;
            type Answer = $answer;
        })*
    };
}

pub(crate) use calls;

calls! {
    MakeBridge = "make-the-bridge" -> ();
    RaiseUplink = "bring-its-uplink-up" -> ();
    Plug = "plug-a-host-in" -> ();
    LimitPort = "limit-the-link-to-a-host" -> ();
    PortLimits = "read-the-limits-of-a-link" -> LinkSpec;
    MakeHost = "make-its-groups-and-its-volume" -> Made;
    Address = "take-an-address" -> ();
    Limit = "limit-itself" -> ();
    Limits = "read-its-limits" -> HostLimits;
    DropPageCache = "drop-its-page-cache" -> ();
    StartProcess = "start-a-process" -> Identity;
    EndProcess = "end-a-process" -> bool;
    Abilities = "say-what-it-can-do" -> Vec<Capability>;
    VolumeAbilities = "say-what-it-can-break-of-a-volume" -> Vec<Capability>;
    MachineAbilities = "say-what-it-can-break-of-its-own-network" -> Vec<Capability>;
    Processes = "list-its-processes" -> Vec<(Identity, Option<i32>)>;
    Keep = "stay" -> ();
}

/// The switch makes its bridge.
#[derive(Serialize, Deserialize)]
pub struct MakeBridge;

/// The switch takes the link that leads to the machine.
#[derive(Serialize, Deserialize)]
pub struct RaiseUplink;

/// The switch makes a link into the network of a stand-in of the same machine.
#[derive(Serialize, Deserialize)]
pub struct Plug {
    /// The host's, counted from 1.
    pub number: usize,
    /// Its agent.
    pub process: Identity,
}

/// The switch limits what it sends to a host.
#[derive(Serialize, Deserialize)]
pub struct LimitPort {
    /// The host's, counted from 1.
    pub number: usize,
    /// To what.
    pub link: LinkSpec,
}

/// What the switch limits a host's link to.
#[derive(Serialize, Deserialize)]
pub struct PortLimits {
    /// The host's, counted from 1.
    pub number: usize,
}

/// A stand-in makes what limits it, and where its data is.
#[derive(Serialize, Deserialize)]
pub struct MakeHost {
    /// Its control groups.
    pub places: Vec<CgroupDir>,
    /// Where its volume is mounted, or its plain folder.
    pub folder: PathBuf,
    /// Size of its volume; none without one.
    pub volume_bytes: Option<u64>,
}

/// What a stand-in has made.
#[derive(Serialize, Deserialize)]
pub struct Made {
    /// The name of its volume's device; none without a volume.
    pub device: Option<String>,
    /// Whether what is written to its volume goes past the machine's page cache.
    pub is_direct: bool,
}

/// A stand-in's link gets an address, unless it has it, and is up.
#[derive(Serialize, Deserialize)]
pub struct Address(pub Ipv4Addr);

/// A stand-in limits its groups and what it sends.
#[derive(Serialize, Deserialize)]
pub struct Limit(pub HostSpec);

/// What a stand-in is limited to.
#[derive(Serialize, Deserialize)]
pub struct Limits;

/// The limits that a stand-in has.
#[derive(Serialize, Deserialize)]
pub struct HostLimits {
    /// By its groups, in words by name.
    pub groups: BTreeMap<String, String>,
    /// Of what it sends.
    pub link: LinkSpec,
}

/// Writes what is not written yet, then drops the page cache that is charged to a stand-in.
#[derive(Serialize, Deserialize)]
pub struct DropPageCache;

/// Starts a process, which ends with the agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StartProcess {
    /// What is executed.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Set, or taken away.
    pub environment: Vec<(String, Option<String>)>,
    /// What of that is otherwise when it has ended by itself in spite of a second start.
    pub forgiving: Vec<(String, Option<String>)>,
    /// Where it accepts connections when it is up, if it is to be kept up after healing.
    pub serves: Option<SocketAddr>,
    /// Where it runs.
    pub folder: PathBuf,
    /// Gets what it says, behind what stands there; one of the files that the agent may touch.
    pub output: PathBuf,
    /// What it is confined to; none: all that its host has.
    #[serde(default)]
    pub confinement: Option<Box<Confinement>>,
}

impl StartProcess {
    /// What `command` would start, with its output to the file `output`.
    pub fn of(command: &Command, output: &Path) -> Result<StartProcess> {
        let text = |text: &OsStr| {
            let text = text.to_str().map(str::to_owned);
            text.context("an argument that is no Unicode")
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

/// Asks a process to end, and kills it after a while. The answer: whether it went by itself.
#[derive(Serialize, Deserialize)]
pub struct EndProcess {
    /// The one that is to end.
    pub process: Identity,
    /// How long it may take by itself.
    pub grace_ms: u64,
}

/// What the machine permits, as [`kernel::able::abilities`] has it.
#[derive(Serialize, Deserialize)]
pub struct Abilities;

/// The same of [`kernel::able::volume_abilities`].
#[derive(Serialize, Deserialize)]
pub struct VolumeAbilities;

/// The same of [`kernel::able::machine_abilities`].
#[derive(Serialize, Deserialize)]
pub struct MachineAbilities;

/// All processes that the agent has started, those that have ended with their status.
#[derive(Serialize, Deserialize)]
pub struct Processes;

/// The agent goes on when its controller leaves, and listens for another.
#[derive(Serialize, Deserialize)]
pub struct Keep;

/// What an agent says by itself.
#[derive(Serialize, Deserialize)]
pub enum Note {
    /// A process has ended, with its status.
    Ended(Identity, i32),
}
