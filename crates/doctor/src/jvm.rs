//! What a node's Java machine was told, by itself or by its command line, and what it makes of its
//! CPUs.

use cluster::NodeConfiguration;
use host::settings::{ProcessSettings, Reported};
use std::collections::BTreeMap;
use target::java_major;
use topology::CpuSet;
use versions::Release;

/// The arguments that matter here. What follows one can only be a number.
pub(super) const ARGUMENTS: &[&str] = &[
    "-Xms",
    "-Xmx",
    "-XX:InitialHeapSize=",
    "-XX:MaxHeapSize=",
    "-XX:ParallelGCThreads=",
    "-XX:ConcGCThreads=",
    "-XX:ActiveProcessorCount=",
    "-XX:+UseNUMA",
    "-XX:-UseNUMA",
    "-XX:+UseG1GC",
    "-XX:+UseParallelGC",
    "-XX:+UseConcMarkSweepGC",
    "-XX:+UseZGC",
    "-XX:+UseShenandoahGC",
    "-XX:+UseSerialGC",
    "-XX:+UseTransparentHugePages",
    "-XX:-UseTransparentHugePages",
    "-XX:+UseCompressedOops",
    "-XX:-UseCompressedOops",
    "-XX:ObjectAlignmentInBytes=",
    "-Dcassandra.available_processors=",
];

/// Collectors that reckon their threads by [`parallel_threads`].
const RECKONING: [&str; 3] = ["UseG1GC", "UseParallelGC", "UseConcMarkSweepGC"];
const OTHERS: [&str; 3] = ["UseZGC", "UseShenandoahGC", "UseSerialGC"];

/// A node's Java machine.
pub(super) struct Jvm<'a> {
    pub process: &'a ProcessSettings,
    flags: BTreeMap<String, String>,
    /// The CPUs that it says it has.
    processors: Option<usize>,
    /// What runs in it, and the version of Java that it is.
    runs: Option<(Release, u32)>,
}

/// How many threads stop the world together: what the JVM makes of `cpus`.
pub(super) fn parallel_threads(cpus: usize) -> usize {
    topology::parallel_gc_threads(cpus as u32) as usize
}

/// How many work beside the application, of so many that stop it.
pub(super) fn concurrent_threads(parallel: usize) -> usize {
    topology::conc_gc_threads(parallel as u32) as usize
}

impl<'a> Jvm<'a> {
    /// `told` is what nodes say of themselves; what a node says counts before its arguments.
    pub fn of(process: &'a ProcessSettings, told: &[NodeConfiguration]) -> Jvm<'a> {
        let arguments = process.arguments.as_deref().unwrap_or_default();
        let mut flags: BTreeMap<String, String> =
            arguments.iter().filter_map(|one| flag_of(one)).collect();
        let own = told.iter().find(|one| one.node == process.name);
        for (name, value) in own.iter().flat_map(|own| &own.flags) {
            let value = value.split(" (").next().unwrap_or_default();
            flags.insert(name.clone(), value.to_owned());
        }
        let processors = own.and_then(|own| own.jvm.get("processors")?.parse().ok());
        let runs = own.and_then(|own| {
            let java = java_major(own.jvm.get("java")?)?;
            Some((Release::built(&own.version)?, java))
        });
        Jvm {
            process,
            flags,
            processors,
            runs,
        }
    }

    /// The release of Cassandra that it runs, and the major version of Java that it is, where it
    /// says both.
    pub fn runs(&self) -> Option<(&Release, u32)> {
        self.runs.as_ref().map(|(release, java)| (release, *java))
    }

    /// Its node.
    pub fn name(&self) -> String {
        self.process.name.clone()
    }

    pub fn is_on(&self, flag: &str) -> bool {
        self.flags.get(flag).is_some_and(|value| value == "true")
    }

    /// A flag that is a number, or a size in bytes.
    pub fn number(&self, flag: &str) -> Option<u64> {
        size(self.flags.get(flag)?)
    }

    pub fn count(&self, flag: &str) -> Option<usize> {
        usize::try_from(self.number(flag)?).ok()
    }

    /// The CPUs that the kernel lets it use; with a quota of CPU time as many as that is worth.
    pub fn allowed(&self) -> Option<usize> {
        let cpus = self.cpus()?.len();
        let quota = self.process.cpu_quota.map(|quota| quota.ceil().max(1.0) as usize);
        Some(cpus.min(quota.unwrap_or(usize::MAX)))
    }

    /// Those CPUs.
    pub fn cpus(&self) -> Option<CpuSet> {
        list(&self.process.cpus)
    }

    /// The CPUs that it reckons with.
    pub fn reckons_with(&self) -> Option<usize> {
        let told = self.count("ActiveProcessorCount").filter(|count| *count > 0);
        told.or(self.processors).or_else(|| self.allowed())
    }

    /// The CPUs that its collector should reckon with: those that it may use, or fewer if it was
    /// told a number, which another rule judges.
    pub fn counted(&self) -> Option<usize> {
        let allowed = self.allowed()?;
        let told = self.count("ActiveProcessorCount").filter(|count| (1..allowed).contains(count));
        Some(told.unwrap_or(allowed))
    }

    /// Whether its collector reckons its threads in the usual way; that of Java 17 does.
    pub fn reckons(&self) -> bool {
        RECKONING.iter().any(|one| self.is_on(one)) || !OTHERS.iter().any(|one| self.is_on(one))
    }

    /// The threads that stop the world together, where it is known how many.
    pub fn parallel(&self) -> Option<usize> {
        let reckoned = || {
            Some(parallel_threads(
                self.reckons_with().filter(|_| self.reckons())?,
            ))
        };
        self.count("ParallelGCThreads").or_else(reckoned)
    }
}

/// The numbers of a list that was told.
pub(super) fn list(told: &Reported<String>) -> Option<CpuSet> {
    let set = CpuSet::parse_list(told.as_ref().ok()?).ok()?;
    Some(set).filter(|set| !set.is_empty())
}

/// Name and value of an argument.
fn flag_of(argument: &str) -> Option<(String, String)> {
    let pair = |name: &str, value: &str| Some((name.to_owned(), value.to_owned()));
    if let Some(value) = argument.strip_prefix("-Xmx") {
        return pair("MaxHeapSize", value);
    }
    if let Some(value) = argument.strip_prefix("-Xms") {
        return pair("InitialHeapSize", value);
    }
    let option = argument.strip_prefix("-XX:").or_else(|| argument.strip_prefix("-D"))?;
    if let Some(name) = option.strip_prefix('+') {
        return pair(name, "true");
    }
    if let Some(name) = option.strip_prefix('-') {
        return pair(name, "false");
    }
    let (name, value) = option.split_once('=')?;
    pair(name, value)
}

/// A number with the JVM's letter for its unit perhaps.
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" => 1 << 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}
