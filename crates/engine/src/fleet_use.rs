//! Sets up clients on several machines for a study's load. Chooses the clients, and defines the
//! messages from which they build the load.
//!
//! A client resolves the study again from the recorded text and files, and compiles the program of
//! the variant. The run adds information that only the run has: the loaded rows, the reads that
//! cannot be judged, and the access to the cluster.

use crate::ceiling;
use crate::load_run::Offer;
use crate::plan_record;
use crate::running_target::Running;
use crate::trial_record_check;
use anyhow::{Context, Result};
use cassandra::TlsMaterial;
use cluster::Dirs;
use fleet::{Clients, CompiledSources, Maker, Seat};
use host::Destination;
use kubernetes::{ClientJob, Kubectl};
use measure::number::counted;
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::record::{ClientMachineRecord, OverridesRecord};
use study::compile_workload;
use study::inputs::Inputs;
use study::plan::VariantIndex;
use study::resolve::resolve;
use study::settings::{
    Client, ClientMachine, ClientPods, GrantedPermissions, Overrides, Recordings, Study,
};
use target_spec::SecretSource;
use workload::{Program, Stage};

/// Clients of a run. They remain connected as long as the trials of the run need the same clients.
#[derive(Debug)]
pub struct FleetUse {
    /// Clients that are connected.
    pub clients: Clients,
    /// Settings of the client section with which these clients were connected.
    asked: Client,
    /// Pods of the clients, if the clients run in pods. The run removes the pods after the clients
    /// have ended.
    _pods: Option<ClientJob>,
    /// True once the run has reported its clients.
    pub is_told: bool,
}

impl FleetUse {
    /// Connects in parallel to all clients that a trial needs. Returns `None` if this process
    /// applies the load.
    ///
    /// # Errors
    /// A client is not available. The message lists all such clients, each with the reason.
    pub fn open(client: &Client, say: &mut dyn FnMut(&str)) -> Result<Option<FleetUse>> {
        if client.machines.is_empty() {
            return Ok(None);
        }
        let (clients, pods) = match &client.kubernetes {
            Some(wanted) => {
                let (clients, pods) =
                    in_pods(wanted, say).context("start clients in pods (`client.kubernetes`)")?;
                (clients, Some(pods))
            }
            None => {
                let clients = Clients::open(&seats(client)?);
                (
                    clients.context("reach the machines of `client.machines`")?,
                    None,
                )
            }
        };
        Ok(Some(FleetUse {
            clients,
            asked: client.clone(),
            _pods: pods,
            is_told: false,
        }))
    }

    /// Connects to all clients that the trials of a study need, before the run starts processes or
    /// creates files. The clients of the first variant remain connected.
    ///
    /// # Errors
    /// A client is not available. The message lists all such clients, each with the reason.
    pub fn first_of(study: &Study, say: &mut dyn FnMut(&str)) -> Result<Option<FleetUse>> {
        let mut first = None;
        let mut reached: Vec<&Client> = Vec::new();
        for variant in &study.variants {
            let client = &variant.settings.client;
            if reached.iter().any(|other| are_seated_alike(other, client)) {
                continue;
            }
            let opened = FleetUse::open(client, say)?;
            if reached.is_empty() {
                first = opened;
            }
            reached.push(client);
        }
        Ok(first)
    }

    /// Returns true if a trial with these client settings needs the same clients, and all of them
    /// are still connected.
    pub fn serves(&self, client: &Client) -> bool {
        are_seated_alike(&self.asked, client) && self.clients.lost().is_none()
    }

    /// Returns the name, place, CPUs and machine of each client, for the records of a run.
    pub fn records(&self) -> Vec<ClientMachineRecord> {
        let clients = self.clients.all().iter();
        let record = |client: &fleet::Client| ClientMachineRecord {
            name: client.name.clone(),
            place: client.seat.place(),
            cpus: client.cpus,
            machine: serde_json::from_value(client.machine.clone()).unwrap_or_default(),
        };
        clients.map(record).collect()
    }

    /// Returns a sentence for the user that names the clients.
    pub fn words(&self) -> String {
        let all = self.clients.all();
        let names: Vec<String> = all.iter().map(fleet::Client::words).collect();
        format!(
            "{} apply the load together: {}",
            counted(all.len(), "client"),
            names.join(", ")
        )
    }

    /// Returns true if at least one client runs on a machine other than the one that runs cassay.
    /// The wall clocks of the two machines may differ.
    pub fn has_others(&self) -> bool {
        self.clients.all().iter().any(|one| one.seat.far.is_some())
    }

    /// Returns the process ids of the clients on this machine.
    pub fn pids_here(&self) -> Vec<u32> {
        let here = self.clients.all().iter().filter(|one| one.seat.far.is_none());
        here.map(fleet::Client::pid).collect()
    }
}

/// Returns true if the clients that one variant needs can also apply the load of the other variant.
fn are_seated_alike(one: &Client, other: &Client) -> bool {
    let seated = |client: &Client| {
        (
            client.machines.clone(),
            client.workers,
            client.kubernetes.clone(),
        )
    };
    seated(one) == seated(other)
}

fn seats(client: &Client) -> Result<Vec<Seat>> {
    client.machines.iter().map(|machine| seat(machine, client)).collect()
}

fn seat(machine: &ClientMachine, client: &Client) -> Result<Seat> {
    let named = |ssh: &String| Destination::new(ssh, false, machine.folder.as_deref());
    Ok(Seat {
        far: machine.ssh.as_ref().map(named).transpose()?,
        workers: machine.workers.or(client.workers),
        cpus: machine.cpus.clone(),
    })
}

/// Starts clients in pods, and connects to each client as soon as its pod runs. If this process
/// does not connect to a client, the client ends by itself.
fn in_pods(wanted: &ClientPods, say: &mut dyn FnMut(&str)) -> Result<(Clients, ClientJob)> {
    let kubectl = Kubectl::new(wanted.context.as_deref(), wanted.namespace.as_deref())?;
    let mut job = ClientJob::begin(&kubectl, &pods(wanted))?;
    let next = || {
        let pod = job.next_ready(say)?;
        let seat = Seat {
            far: Some(pod.destination),
            workers: Some(wanted.workers()),
            cpus: Vec::new(),
        };
        Ok((pod.index, seat))
    };
    let clients = Clients::as_they_come(wanted.clients, next)?;
    job.all_there()?;
    Ok((clients, job))
}

fn pods(wanted: &ClientPods) -> kubernetes::ClientPods {
    kubernetes::ClientPods {
        clients: wanted.clients,
        millicpus: wanted.millicpus,
        memory_bytes: wanted.memory_bytes,
        image: wanted.image.clone(),
        one_per_node: wanted.one_per_node,
        machine_type: wanted.machine_type.clone(),
    }
}

/// Returns true if the clients of a fleet apply this load. A read-back of the rows always runs in
/// this process.
pub fn is_shared(offer: &Offer<'_>) -> bool {
    matches!(offer.stage, Stage::Load | Stage::Main)
}

/// Inputs from which a client builds its load, as text.
#[derive(Debug, Serialize, Deserialize)]
struct Sources {
    /// Name of the study in messages.
    source: String,
    study: String,
    overrides: OverridesRecord,
    /// Names of the secrets in the study. The values of the secrets are part of the access to the
    /// cluster.
    secrets: Vec<String>,
    variant: usize,
    /// Number of loaded rows, which may become known only in the load phase.
    rows: u64,
    /// For each statement, true if the client compares the rows that the statement returns.
    judged: Vec<bool>,
    credentials: Option<(String, String)>,
    tls: Option<TlsMaterial>,
    /// Version of the native protocol that the nodes use.
    version: u8,
}

/// Sends the clients of a trial the inputs for their load. Does nothing if the clients already have
/// these inputs.
///
/// # Errors
/// A client cannot build the load, or has ended.
pub fn prepare(
    clients: &Clients,
    study: &Study,
    variant: VariantIndex,
    program: &Program,
    running: &Running,
) -> Result<()> {
    for recording in study.recordings.iter() {
        let given = clients.give(&recording.digest, |out| recording.pack(out));
        given.context("send recorded traffic to the clients")?;
    }
    clients.prepare(&sources(study, variant, program, running)?)
}

fn sources(
    study: &Study,
    variant: VariantIndex,
    program: &Program,
    running: &Running,
) -> Result<String> {
    let access = running.cluster.access();
    let sources = Sources {
        source: study.source.clone(),
        study: study.text.clone(),
        overrides: plan_record::overrides_record(&study.overrides, &study.inputs),
        secrets: study.overrides.granted.secrets.keys().cloned().collect(),
        variant: variant.0,
        rows: program.rows(),
        judged: program.statements().iter().map(|one| one.verifies).collect(),
        credentials: access.load_credentials(),
        tls: access.tls.as_ref().map(|tls| (*tls.material).clone()),
        version: access.spoken.now().number(),
    };
    serde_json::to_string(&sources).context("encode the definition of the clients' load")
}

/// Builds a client's load from the sources of a study.
#[derive(Default)]
pub struct StudyMaker {
    /// Recorded traffic. A recording is too large to be part of the sources.
    recordings: Mutex<Recordings>,
}

impl StudyMaker {
    /// Returns a builder without recordings.
    pub const fn new() -> StudyMaker {
        StudyMaker {
            recordings: Mutex::new(Recordings::new()),
        }
    }

    /// Locks the recordings, even if the lock is poisoned. The recordings are still complete,
    /// because each one is added as a whole.
    fn recordings(&self) -> MutexGuard<'_, Recordings> {
        self.recordings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sources {
    fn made(&self, recordings: Recordings) -> Result<(study::settings::Settings, Arc<Program>)> {
        let named = |name: &String| (name.clone(), SecretSource::Named(name.clone()));
        let overrides = Overrides {
            // The run checked the permissions at its start, and the actions of a client need no
            // permissions.
            granted: GrantedPermissions {
                trust: true,
                secrets: self.secrets.iter().map(named).collect(),
                ..GrantedPermissions::default()
            },
            recordings,
            ..plan_record::overrides_recorded(self.overrides.clone(), GrantedPermissions::default())
        };
        let study = resolve(&self.source, &self.study, &overrides)
            .map_err(|mistakes| anyhow::anyhow!("{mistakes}"))
            .context("resolve the study again")?;
        let variant = study
            .variants
            .get(self.variant)
            .context("the study does not contain the variant of the load")?;
        let settings = variant.settings.clone();
        let inputs = Inputs::recorded(&study.inputs).with_recordings(&study.recordings);
        let compile =
            |work: Result<compile_workload::Work, String>| work.map_err(anyhow::Error::msg);
        let mut program =
            compile(compile_workload::compile(&settings, study.seed, &inputs))?.program;
        if program.rows() != self.rows {
            let with_rows =
                compile_workload::compile_with_rows(&settings, self.rows, study.seed, &inputs);
            program = compile(with_rows)?.program;
        }
        let pairs = program.statements().iter().zip(&self.judged).enumerate();
        let unjudged: Vec<usize> = pairs
            .filter(|(_, (statement, judged))| statement.verifies && !**judged)
            .map(|(at, _)| at)
            .collect();
        if !unjudged.is_empty() {
            program = Arc::new(program.without_judging(&unjudged));
        }
        Ok((settings, program))
    }
}

fn read(sources: &str) -> Result<Sources> {
    serde_json::from_str(sources).context("read the definition of a load")
}

impl Maker for StudyMaker {
    fn keep(&self, from: &mut dyn Read, bytes: u64) -> Result<()> {
        Ok(self.recordings().unpack(from, bytes)?)
    }

    fn make(&self, sources: &str) -> Result<CompiledSources> {
        let sources = read(sources)?;
        let (settings, program) = sources.made(self.recordings().clone())?;
        let tls = sources.tls.map(TlsMaterial::tls).transpose()?;
        let version = load::Version::from_number(sources.version);
        Ok(CompiledSources {
            program,
            access: load::Access {
                credentials: sources.credentials,
                tls: tls.map(|tls| load::Tls {
                    config: tls.config,
                    server_name: tls.server_name,
                }),
                version: version
                    .context("cassay does not support this version of the native protocol")?,
                compression: settings.client.compression,
            },
        })
    }

    fn ceiling(&self, sources: &str, workers: usize, cpus: &[usize]) -> Result<Option<f64>> {
        let (mut settings, program) = read(sources)?.made(self.recordings().clone())?;
        settings.client.workers = Some(workers);
        cpus.clone_into(&mut settings.client.cpus);
        // A null target does not read files.
        let dirs = Dirs {
            cache: PathBuf::new(),
            data: PathBuf::new(),
        };
        ceiling::measure(&settings, &program, &dirs)
    }

    fn machine(&self) -> serde_json::Value {
        serde_json::to_value(trial_record_check::machine()).unwrap_or_default()
    }
}
