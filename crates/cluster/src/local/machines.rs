//! Remote machines as hosts of managed nodes: their capabilities, and the programs of their nodes.
//! cassay uploads each jar once, under a name that depends on its content, and leaves the jar on
//! the machine for later clusters.

use super::assign_hosts;
use super::program::{Classes, Program};
use crate::attach::pods;
use crate::capability::Answer;
use anyhow::{Context, Result, ensure};
use foreign::FileKind;
use host::files::PIECE_BYTES;
use host::remote_host::supply_folder;
use host::{Agent, Bytes, FileStep, Host, Hosts, at_once};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use supply::java::Java;
use target_spec::{Capability, JavaWanted, LocalSpec};

/// Reason why links do not change. Other programs also use the links of remote machines.
const LINKS: &str = "the hosts are separate machines, whose links cassay does not change";

const OF_LINKS: [Capability; 2] = [Capability::LinkRate, Capability::LinkDelay];

pub(super) fn expected(spec: &LocalSpec) -> BTreeMap<Capability, Answer> {
    let asked = "cassay checks this capability after it has connected to the machines";
    let answers = Capability::ALL.into_iter().map(|capability| (capability, Ok(asked.to_owned())));
    let mut all = with_own(spec, answers.collect());
    all.extend(claimed(spec, &[]));
    all
}

/// Returns the capabilities that all machines have.
pub(super) fn answers(spec: &LocalSpec, hosts: &Hosts) -> BTreeMap<Capability, Answer> {
    let mut all: BTreeMap<Capability, Answer> = BTreeMap::new();
    for host in hosts.all() {
        let mut capabilities = host.agent().capabilities().unwrap_or_default();
        // These answers replace earlier ones that assume a simulated switch.
        capabilities.extend(host.agent().machine_capabilities().unwrap_or_default());
        if host.has_volume() {
            capabilities.extend(host.agent().volume_capabilities().unwrap_or_default());
        }
        for (capability, answer) in assign_hosts::answers(&capabilities) {
            let answer = answer.map_err(|why| format!("{}: {why}", host.agent().name()));
            let known = all.entry(capability).or_insert_with(|| answer.clone());
            if known.is_ok() {
                *known = answer;
            }
        }
    }
    let mut all = with_own(spec, all);
    all.extend(claimed(spec, hosts.all()));
    all
}

/// Returns the answer about separate volumes of pods. It is positive if the pods claimed volumes,
/// and none of them is much larger than its claim.
fn claimed(spec: &LocalSpec, hosts: &[Host]) -> Option<(Capability, Answer)> {
    let pods = spec.hosts.as_ref()?.pods.as_ref()?;
    let answer = match pods.volume_bytes {
        None => Err("the pods have no volumes (`pods: {volume: 20GiB}`)".to_owned()),
        Some(bytes) => {
            let shared = hosts.iter().find_map(|host| {
                let total_bytes = host.usage().ok()?.total_bytes;
                (total_bytes > bytes + bytes / 4 + OVER_BYTES).then_some((host, total_bytes))
            });
            match shared {
                None => Ok("each pod has claimed a separate volume".to_owned()),
                Some((host, total_bytes)) => Err(format!(
                    "the volume of {} is a folder on a disk of {} MiB, which other programs also \
                     use",
                    host.name(),
                    total_bytes >> 20
                )),
            }
        }
    };
    Some((Capability::Volume, answer))
}

/// Number of bytes by which a volume may exceed 1.25 times its claimed size, because provisioners
/// round up.
const OVER_BYTES: u64 = 1 << 30;

/// Adds the answers that are the same for all machines.
fn with_own(
    spec: &LocalSpec,
    mut all: BTreeMap<Capability, Answer>,
) -> BTreeMap<Capability, Answer> {
    all.insert(Capability::Hosts, Ok("separate machines".to_owned()));
    for capability in OF_LINKS {
        all.insert(capability, Err(LINKS.to_owned()));
    }
    let are_pods = spec.hosts.as_ref().is_some_and(|hosts| hosts.pods.is_some());
    let policies = if are_pods {
        Ok(pods::BY_CLUSTER.to_owned())
    } else {
        Err(pods::NO_PODS.to_owned())
    };
    all.insert(Capability::NetworkPolicy, policies);
    assign_hosts::add_of_volumes(spec, &mut all);
    all
}

/// Returns each machine's program: a Java installation on the machine, and the jars of `program`.
/// Uploads missing jars.
///
/// # Errors
/// A machine has no Java, or cassay cannot write jars to it.
pub(super) fn programs(
    hosts: &Hosts,
    (program, java): (&Program, &JavaWanted),
    say: &mut dyn FnMut(&str),
) -> Result<Vec<Program>> {
    let jars = jars(program)?;
    let answers = at_once(hosts.all(), |host| {
        let (agent, folder) = (host.agent(), host.folder());
        let there = || -> Result<(Program, usize)> {
            let java = agent.find_java(java)?;
            let above = folder.ancestors().nth(2).context("find the folder of a machine")?;
            let (placed, sent) = send(agent, &supply_folder(above), &jars)?;
            Ok((there(program, java_of(java), &placed), sent))
        };
        there().with_context(|| format!("{} ({})", agent.name(), host.address()))
    })?;
    let mut programs = Vec::new();
    for (host, (program, sent)) in hosts.all().iter().zip(answers) {
        if let Some(why) = &program.java.passed_over {
            say(&format!("note: {}: {why}", host.agent().name()));
        }
        if sent > 0 {
            say(&format!(
                "{}: cassay copied {sent} jars to the machine",
                host.agent().name()
            ));
        }
        programs.push(program);
    }
    Ok(programs)
}

/// Checks that the nodes, which must not run yet, fit on their machines.
///
/// # Errors
/// Machines have too little memory or disk space. The error lists all of them.
pub(super) fn check_room(hosts: &Hosts, spec: &LocalSpec) -> Result<()> {
    let seated: Vec<(&host::Host, usize)> = hosts.all().iter().zip(spec.nodes_of_hosts()).collect();
    let fits = |&(host, each): &(&host::Host, usize)| {
        let (agent, folder) = (host.agent(), host.folder());
        let there = || {
            let (memory, disk) = (
                agent.available_memory()?,
                agent.space(folder)?.available_bytes,
            );
            super::memory_and_disk::fits(each, spec.heap_bytes, memory, (disk, folder))
        };
        there().with_context(|| format!("{} ({})", agent.name(), host.address()))
    };
    at_once(&seated, fits).map(drop)
}

fn java_of(found: host::remote_host::FoundJava) -> Java {
    Java {
        program: found.program,
        version: found.version,
        build: found.build,
        passed_over: found.passed_over,
    }
}

/// File of the nodes' program, and its name on every machine.
struct Jar {
    file: PathBuf,
    name: String,
    crc: u32,
    bytes: u64,
}

fn jars(program: &Program) -> Result<Vec<Jar>> {
    let supply = &program.supply;
    let mut files: BTreeSet<PathBuf> = supply.classpath.split(':').map(PathBuf::from).collect();
    files.insert(supply.jamm.clone());
    files.extend(supply.jolokia.clone());
    files.extend(supply.compiler_hints.clone());
    files.extend(supply.profiler.clone());
    files.into_iter().map(Jar::read).collect()
}

impl Jar {
    /// Reads a jar. Its name depends on its content, so that versions of a jar can coexist.
    fn read(file: PathBuf) -> Result<Jar> {
        let digest =
            supply::digest_of(&file).with_context(|| format!("read {}", file.display()))?;
        let name = file
            .file_name()
            .and_then(|name| name.to_str())
            .with_context(|| format!("{} has no file name in UTF-8", file.display()))?;
        let (mut crc, mut bytes) = (crc32fast::Hasher::new(), 0);
        parts(&file, |part| {
            crc.update(part);
            bytes += part.len() as u64;
            Ok(())
        })?;
        Ok(Jar {
            name: format!("{}-{name}", &digest[..16]),
            crc: crc.finalize(),
            file,
            bytes,
        })
    }
}

/// Calls `take` for successive parts of a file.
fn parts(file: &Path, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let read = || format!("read {}", file.display());
    let mut reader = foreign::open(FileKind::Archive, file).with_context(read)?;
    let mut part = vec![0; PIECE_BYTES];
    loop {
        match reader.read(&mut part).with_context(read)? {
            0 => return Ok(()),
            count => take(&part[..count])?,
        }
    }
}

/// Uploads the jars that are missing or different on a machine. Returns the path of each jar, and
/// the number of uploads.
fn send(agent: &Agent, folder: &Path, jars: &[Jar]) -> Result<(BTreeMap<PathBuf, PathBuf>, usize)> {
    agent.change(vec![FileStep::Folder(folder.to_owned())])?;
    let entries = agent.list(folder, None)?.unwrap_or_default();
    let is_there =
        |jar: &&Jar| entries.iter().any(|entry| entry.name == jar.name && entry.bytes == jar.bytes);
    let there: Vec<&Jar> = jars.iter().filter(is_there).collect();
    let names: Vec<String> = there.iter().map(|jar| jar.name.clone()).collect();
    let sums = agent.sums(folder, &names)?;
    let good: BTreeSet<&str> = there
        .iter()
        .zip(sums)
        .filter(|(jar, sum)| jar.crc == *sum)
        .map(|(jar, _)| jar.name.as_str())
        .collect();
    let missing: Vec<&Jar> = jars.iter().filter(|jar| !good.contains(jar.name.as_str())).collect();
    for jar in &missing {
        put(agent, folder, jar).with_context(|| format!("put {} there", jar.file.display()))?;
    }
    let placed = jars.iter().map(|jar| (jar.file.clone(), folder.join(&jar.name)));
    Ok((placed.collect(), missing.len()))
}

/// Uploads a jar under a temporary name, because another cassay process may upload the same jar.
fn put(agent: &Agent, folder: &Path, jar: &Jar) -> Result<()> {
    let part = format!("{}.{}.part", jar.name, agent.process().pid);
    let path = folder.join(&part);
    let mut is_begun = false;
    parts(&jar.file, |bytes| {
        let step = if is_begun {
            FileStep::Append {
                path: path.clone(),
                bytes: Bytes(bytes.to_vec()),
            }
        } else {
            FileStep::write(path.clone(), bytes)
        };
        is_begun = true;
        agent.change(vec![step])
    })?;
    let sum = agent.sums(folder, &[part])?;
    ensure!(
        sum == [jar.crc],
        "the copy of the jar differs from the original"
    );
    agent.change(vec![FileStep::Rename {
        from: path,
        to: folder.join(&jar.name),
    }])
}

/// Returns a copy of the program with the paths of its files on a machine.
fn there(program: &Program, java: Java, placed: &BTreeMap<PathBuf, PathBuf>) -> Program {
    let place = |file: &Path| placed.get(file).cloned().unwrap_or_else(|| file.to_owned());
    let jar = |file: &str| place(Path::new(file)).display().to_string();
    let classpath: Vec<String> = program.supply.classpath.split(':').map(jar).collect();
    let mut there = program.clone();
    there.java = java;
    there.classes = Classes::Loaded;
    there.supply.classpath = classpath.join(":");
    there.supply.jamm = place(&program.supply.jamm);
    there.supply.jolokia = program.supply.jolokia.as_deref().map(place);
    there.supply.compiler_hints = program.supply.compiler_hints.as_deref().map(place);
    there.supply.profiler = program.supply.profiler.as_deref().map(place);
    there
}
