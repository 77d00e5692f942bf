//! Class data archives on remote machines. If a machine lacks an archive for its Java and jars,
//! cassay starts a node there that dumps an archive. cassay uses the archive while its checksum
//! matches.

use super::class_archive::{self, HEAP_BYTES, WRITE_LIMIT};
use super::nodes::Nodes;
use super::program::{Classes, Program};
use anyhow::{Context, Result, bail, ensure};
use host::remote_host::supply_folder;
use host::{Agent, Entry, FileStep, at_once};
use measure::clock;
use std::path::{Path, PathBuf};
use target_spec::{HostsSpec, LocalSpec, RemoteHost};

impl Nodes {
    /// Enables or disables class sharing for future starts, as the spec requests.
    ///
    /// # Errors
    /// An archive cannot be dumped. The message contains the output of the node.
    pub(super) fn share_classes_there(
        &mut self,
        spec: &LocalSpec,
        say: &mut dyn FnMut(&str),
    ) -> Result<()> {
        if !spec.class_sharing {
            self.programs.iter_mut().for_each(|program| program.classes = Classes::Loaded);
            return Ok(());
        }
        let mut archives = self.archives()?;
        let missing: Vec<usize> =
            (0..archives.len()).filter(|at| !archives[*at].is_whole).collect();
        if !missing.is_empty() {
            self.make_archives(&missing, &archives, say)?;
            archives = self.archives()?;
        }
        for (program, archive) in self.programs.iter_mut().zip(archives) {
            ensure!(
                archive.is_whole,
                "another program changed {} after cassay created the file",
                archive.path.display()
            );
            program.classes = Classes::Mapped(archive.path);
        }
        Ok(())
    }

    /// Returns the archive of each machine, which may not exist yet.
    fn archives(&self) -> Result<Vec<Archive>> {
        let hosts = self.hosts().context("the cluster has no hosts")?.all();
        let of_host = |(host, program): (&host::Host, &Program)| {
            let above = host
                .folder()
                .ancestors()
                .nth(2)
                .context("find the parent of a machine's folder")?;
            Archive::for_program(host.agent(), &supply_folder(above), program)
        };
        hosts.iter().zip(&self.programs).map(of_host).collect()
    }

    fn make_archives(
        &self,
        missing: &[usize],
        archives: &[Archive],
        say: &mut dyn FnMut(&str),
    ) -> Result<()> {
        say(
            "cassay creates archives of the server's classes, once for each machine's Java and \
             jars",
        );
        let begun_ns = clock::now_ns();
        let clusters = self.folder.parent().context("find the folder of clusters")?;
        let machines = self.spec.machines();
        at_once(missing.iter().copied(), |at| {
            let (machine, archive) = (&machines[at], &archives[at]);
            let made = archive.make(machine, &self.program, clusters);
            made.with_context(|| {
                format!("{}: create an archive of the server's classes", machine.ssh)
            })
        })?;
        let seconds = (clock::now_ns() - begun_ns) as f64 / clock::SECOND_NS as f64;
        say(&format!(
            "cassay created the class archives in {seconds:.1} s"
        ));
        Ok(())
    }
}

struct Archive {
    path: PathBuf,
    /// True if the archive exists with the bytes that were dumped.
    is_whole: bool,
}

impl Archive {
    /// Finds the archive of a program in `folder`, and verifies its checksum.
    fn for_program(agent: &Agent, folder: &Path, program: &Program) -> Result<Archive> {
        let entries = agent.list(folder, Some(STAMP))?.unwrap_or_default();
        let name = name(program, &entries);
        let is_there = entries.iter().any(|entry| entry.name == name);
        let stamp = entries.iter().find(|entry| entry.name == format!("{name}{STAMP}"));
        let told = stamp.and_then(|stamp| stamp.text.clone());
        let is_whole = match told.filter(|_| is_there) {
            Some(told) => {
                let sums = agent.sums(folder, std::slice::from_ref(&name))?;
                sums.first().map(u32::to_string).as_deref() == Some(told.trim())
            }
            None => false,
        };
        Ok(Archive {
            path: folder.join(name),
            is_whole,
        })
    }

    /// Starts a node that dumps the archive when it ends.
    fn make(&self, machine: &RemoteHost, program: &Program, clusters: &Path) -> Result<()> {
        let mut program = program.clone();
        // The JVM considers archives that were dumped with agents to be for tests only.
        program.supply.jolokia = None;
        let spec = LocalSpec {
            release: program.supply.release.clone(),
            heap_bytes: HEAP_BYTES,
            hosts: Some(HostsSpec {
                count: 1,
                machines: vec![machine.clone()],
                ..HostsSpec::default()
            }),
            ..LocalSpec::default()
        };
        let wanted = spec.hosts.as_ref();
        let mut nodes = Nodes::new(&spec, clusters, program, wanted, &mut |_| ())?;
        let part = PathBuf::from(format!("{}.{}.part", self.path.display(), nodes.state.id));
        let first = nodes.programs.first_mut().context("a machine has a program")?;
        first.classes = Classes::Archived(part.clone());
        nodes.settle()?;
        nodes.bring_up(&mut |_| ())?;
        nodes.end_node(0, WRITE_LIMIT)?;
        let agent = &nodes.node(0).host;
        let (folder, name) = (part.parent().unwrap_or(Path::new("/")), part.file_name());
        let name = name
            .and_then(|name| name.to_str())
            .context("the archive's path has no name")?
            .to_owned();
        let entries = agent.list(folder, None)?.unwrap_or_default();
        if !entries.iter().any(|entry| entry.name == name) {
            bail!(
                "the JVM wrote no class archive; the output of the JVM:\n{}",
                nodes.node(0).log_tail()
            );
        }
        let sum = agent
            .sums(folder, &[name])?
            .first()
            .copied()
            .context("compute the checksum of a file")?;
        let stamp = PathBuf::from(format!("{}{STAMP}", self.path.display()));
        agent.change(vec![
            FileStep::Rename {
                from: part,
                to: self.path.clone(),
            },
            FileStep::write(stamp, sum.to_string()),
        ])?;
        nodes.stop()
    }
}

const STAMP: &str = ".crc";

/// Returns the archive's name, which depends on the Java build, the jars and their dates. A JVM
/// refuses an archive of jars with another date.
fn name(program: &Program, entries: &[Entry]) -> String {
    let mut text = format!("{}\n{}\n", program.java.build, program.supply.release);
    for jar in program.supply.classpath.split(':') {
        let name = Path::new(jar).file_name().and_then(|name| name.to_str());
        let known = entries.iter().find(|entry| Some(entry.name.as_str()) == name);
        let changed_ns = known.map_or(0, |entry| entry.id.changed_ns);
        text.push_str(&format!("{jar} {changed_ns}\n"));
    }
    class_archive::file_name(&text)
}
