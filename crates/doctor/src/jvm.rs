//! The settings of a node's JVM, and the CPUs that the JVM can use. The settings come from the
//! report of the JVM or from its command line.

use cassandra::NodeConfiguration;
use host::settings::{FactResult, ProcessSettings};
use std::collections::BTreeMap;
use target_spec::java_major;
use topology::CpuSet;
use versions::Release;

/// JVM arguments that the rules use. If an argument has a value, the value is a number.
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

/// Garbage collectors that compute the number of their threads by [`parallel_threads`].
const RECKONING_COLLECTORS: [&str; 3] = ["UseG1GC", "UseParallelGC", "UseConcMarkSweepGC"];
const OTHER_COLLECTORS: [&str; 3] = ["UseZGC", "UseShenandoahGC", "UseSerialGC"];

pub(super) struct Jvm<'a> {
    pub process: &'a ProcessSettings,
    flags: BTreeMap<String, String>,
    /// Number of CPUs that the JVM reports.
    processors: Option<usize>,
    /// Release of Cassandra that the JVM runs, and the major version of Java.
    runs: Option<(Release, u32)>,
}

/// Returns the number of stop-the-world GC threads that the JVM chooses for `cpus` CPUs.
pub(super) fn parallel_threads(cpus: usize) -> usize {
    topology::parallel_gc_threads(cpus as u32) as usize
}

/// Returns the number of concurrent GC threads that the JVM chooses if it has `parallel` parallel
/// GC threads.
pub(super) fn concurrent_threads(parallel: usize) -> usize {
    topology::conc_gc_threads(parallel as u32) as usize
}

impl<'a> Jvm<'a> {
    /// Returns the JVM of a process. `told` contains the reports of the nodes, which override the
    /// arguments.
    pub fn read(process: &'a ProcessSettings, told: &[NodeConfiguration]) -> Jvm<'a> {
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

    /// Returns the release of Cassandra that the JVM runs, and the major version of Java, if both
    /// are known.
    pub fn runs(&self) -> Option<(&Release, u32)> {
        self.runs.as_ref().map(|(release, java)| (release, *java))
    }

    pub fn name(&self) -> String {
        self.process.name.clone()
    }

    pub fn is_on(&self, flag: &str) -> bool {
        self.flags.get(flag).is_some_and(|value| value == "true")
    }

    /// Returns the value of a flag, which is a number or a size in bytes. `None` if the flag is not
    /// set, or is not a number.
    pub fn number(&self, flag: &str) -> Option<u64> {
        size(self.flags.get(flag)?)
    }

    pub fn count(&self, flag: &str) -> Option<usize> {
        usize::try_from(self.number(flag)?).ok()
    }

    /// Returns the number of CPUs that the kernel permits the JVM to use, limited by the quota of
    /// CPU time. `None` if the CPUs are unknown.
    pub fn allowed(&self) -> Option<usize> {
        let cpus = self.cpus()?.len();
        let quota = self.process.cpu_quota.map(|quota| quota.ceil().max(1.0) as usize);
        Some(cpus.min(quota.unwrap_or(usize::MAX)))
    }

    pub fn cpus(&self) -> Option<CpuSet> {
        list(&self.process.cpus)
    }

    /// Returns the number of CPUs from which the JVM derives its settings.
    pub fn reckons_with(&self) -> Option<usize> {
        let told = self.count("ActiveProcessorCount").filter(|count| *count > 0);
        told.or(self.processors).or_else(|| self.allowed())
    }

    /// Returns the number of CPUs from which the settings of the garbage collector should be
    /// derived. This is the number of CPUs that the JVM may use, or a smaller number that the user
    /// has set. Another rule judges the user's number.
    pub fn counted(&self) -> Option<usize> {
        let allowed = self.allowed()?;
        let told = self.count("ActiveProcessorCount").filter(|count| (1..allowed).contains(count));
        Some(told.unwrap_or(allowed))
    }

    /// Returns true if the garbage collector derives the number of its threads from the number of
    /// CPUs. The default collector of Java 17 does so.
    pub fn reckons(&self) -> bool {
        RECKONING_COLLECTORS.iter().any(|one| self.is_on(one))
            || !OTHER_COLLECTORS.iter().any(|one| self.is_on(one))
    }

    /// Returns the number of stop-the-world GC threads, if known.
    pub fn parallel(&self) -> Option<usize> {
        let reckoned = || {
            Some(parallel_threads(
                self.reckons_with().filter(|_| self.reckons())?,
            ))
        };
        self.count("ParallelGCThreads").or_else(reckoned)
    }
}

/// Returns the set of numbers in a list that the host reported. Returns `None` if the list is
/// missing or empty.
pub(super) fn list(told: &FactResult<String>) -> Option<CpuSet> {
    let set = CpuSet::parse_list(told.as_ref().ok()?).ok()?;
    Some(set).filter(|set| !set.is_empty())
}

/// Returns the flag that an argument sets, and its value. `-Xmx` and `-Xms` set the flags of the
/// heap size. `None` for other arguments.
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

/// Parses a number, optionally followed by one of the JVM's unit letters.
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
