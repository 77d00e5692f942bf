//! Command line of a node's JVM.
//!
//! The options are those of Apache's scripts for a server, for the same performance. They are the
//! same for all Cassandra lines, so that only the lines differ. Each Java version gets the module
//! options that it needs (`java_options`). cassay's own options come first and a study's last, so
//! that the study's options win. cassay omits the preloading of jemalloc, which only some machines
//! have, and JMX over RMI, which it does not use. The collector is G1 with the options for Java 11
//! and 17, on every Java version. Apache's options for 21 use ZGC, which a study selects by
//! `collector`.

use super::java_options::{G1, JavaOptions};
use super::node_process::gc_log_name;
use super::program::{Classes, Program};
use super::settings::{self, NodeLayout};
use anyhow::{Result, bail};
use cassandra::RestartMode;
use cassandra::process_tags::{mark, mark_of_node};
use std::process::Command;
use target_spec::{Collector, LocalSpec};

/// Memory and thread options of Apache's file for Java 17.
const TUNING: [&str; 12] = [
    "-XX:+AlwaysPreTouch",
    "-XX:+UseThreadPriorities",
    "-XX:+UseTLAB",
    "-XX:+ResizeTLAB",
    "-XX:+UseNUMA",
    "-XX:+PerfDisableSharedMem",
    "-Xss256k",
    "-ea",
    "-da:net.openhft...",
    // If memory runs out, the node exits, and cassay detects that. There is no heap dump, because
    // it would fill the disk.
    "-XX:+ExitOnOutOfMemoryError",
    "-Dio.netty.allocator.useCacheForAllThreads=true",
    "-Dio.netty.allocator.maxOrder=11",
];

/// System properties of the server.
const PROPERTIES: [&str; 6] = [
    "-Djdk.attach.allowAttachSelf=true",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Djava.net.preferIPv4Stack=true",
    "-Dcassandra-foreground=yes",
    // A new ring needs no information from gossip, and waiting until gossip settles would take 8 s.
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    // Applies to the HTTP server of the Jolokia agent. Without it, every answer on a kept
    // connection waits 40 ms for the peer's delayed acknowledgement.
    "-Dsun.net.httpserver.nodelay=true",
];

/// Gossip quarantine of a node that has left the ring, in ms: twice the ring delay, which is the
/// server's default. cassay sets it explicitly, because a seed's ring delay is short. Half of it
/// passes before the ring forgets a node of which it has heard only once.
const QUARANTINE_MS: u32 = 20_000;

/// Time between announcing a join and streaming, in ms. By then, all nodes accept gossip of a node
/// that left the ring and returns at once, so they send it concurrent writes.
const JOINING_DELAY_MS: u32 = QUARANTINE_MS + 5_000;

/// Environment variable with JVM options that are added to the command line.
pub(super) const OPTIONS_VARIABLE: &str = "JDK_JAVA_OPTIONS";

/// Lets a node start despite unreadable commit log segments or SSTables. After a power loss, an
/// SSTable of the last half minute may have an empty TOC component, which Cassandra does not sync.
pub(super) const SKIP_UNREADABLE: &str = "-Dcassandra.commitlog.ignorereplayerrors=true \
    -Dcassandra.config.allow_system_properties=true \
    -Dcassandra.settings.disk_failure_policy=best_effort";

/// Refuses two garbage collectors.
///
/// # Errors
/// The spec names one, and its options another.
pub(super) fn check_collector(spec: &LocalSpec) -> Result<()> {
    let Some(collector) = spec.collector else {
        return Ok(());
    };
    let option = collector.option();
    let other = spec.jvm_options.iter().find(|one| is_collector(one) && **one != option);
    match other {
        Some(other) => bail!(
            "the collector is {}, but the JVM option {other} chooses another collector: remove one \
             of the two settings",
            collector.name()
        ),
        None => Ok(()),
    }
}

/// Returns true if an option selects a garbage collector. The JVM accepts only one.
pub(super) fn is_collector(option: &str) -> bool {
    let name = option.strip_prefix("-XX:+Use");
    name.is_some_and(|name| name.ends_with("GC") && name != "AdaptiveSizePolicyWithSystemGC")
}

/// Builds the command for start number `start` of `node`, counted from 1, with the options of its
/// placement. With `anew`, the node has no data and streams it from the others.
pub(crate) fn command(
    program: &Program,
    cluster: &str,
    (node, placed): (&NodeLayout, &[String]),
    spec: &LocalSpec,
    (start, anew): (usize, Option<RestartMode>),
) -> Command {
    let mut command = host::process::command(&program.java.program);
    command.arg(mark(cluster));
    command.arg(mark_of_node(&node.name));
    let heap = spec.heap_bytes;
    command.args([format!("-Xms{heap}"), format!("-Xmx{heap}")]);
    let java = JavaOptions::for_major(program.java.major());
    match spec.collector {
        Some(Collector::Z) => command.args(java.zgc),
        Some(Collector::G1) => command.args(G1),
        Some(collector) => command.arg(collector.option()),
        None if spec.jvm_options.iter().any(|option| is_collector(option)) => &mut command,
        None => command.args(G1),
    };
    command.args(TUNING);
    let modules = [("--add-exports", java.exports), ("--add-opens", java.opens)];
    for (option, packages) in modules {
        for package in packages {
            command.arg(option).arg(format!("{package}=ALL-UNNAMED"));
        }
    }
    command.args(java.others);
    command.args(PROPERTIES);
    // Ring delay: time that a node waits for gossip before it joins. If all nodes start anew, the
    // seed is alone, so its delay is short. A node that has not found another node in this time
    // exits. It retries only every 5 s, and the first connection may take that long on a busy
    // machine.
    let ring_delay_ms = match anew {
        Some(RestartMode::Joining) => JOINING_DELAY_MS,
        None if node.is_seed() => 1000,
        Some(RestartMode::Replacing) | None => 10_000,
    };
    command.arg(format!("-Dcassandra.ring_delay_ms={ring_delay_ms}"));
    command.arg(format!(
        "-Dcassandra.gossip_quarantine_delay_ms={QUARANTINE_MS}"
    ));
    if anew == Some(RestartMode::Replacing) {
        command.arg(replacing(node));
    }
    command.args(super::roles::options(spec));
    let config = anew.map_or(settings::CONFIG, |_| settings::JOINING);
    add_files(&mut command, program, node, config);
    // Logs all pauses of any collector, and all safepoints. Each start has its own file, because
    // the JVM overwrites existing files.
    command.arg(format!(
        "-Xlog:gc*,safepoint:file={}:time,uptime,level,tags:filecount=0",
        node.folder.join("logs").join(gc_log_name(start)).display()
    ));
    command.args(placed).args(&spec.jvm_options);
    // Only jars, because class data sharing refuses folders in the class path.
    command.args(["-cp", &program.supply.classpath]);
    command.arg("org.apache.cassandra.service.CassandraDaemon");
    command.current_dir(&node.folder);
    // Apache's scripts do the same: more arenas only fragment native memory.
    command.env("MALLOC_ARENA_MAX", "4");
    // Options from the environment would be missing in plan and report.
    for name in ["JAVA_TOOL_OPTIONS", OPTIONS_VARIABLE, "_JAVA_OPTIONS"] {
        command.env_remove(name);
    }
    command
}

/// Returns the option by which a node takes over the place of its own address in the ring.
pub(super) fn replacing(node: &NodeLayout) -> String {
    format!("-Dcassandra.replace_address_first_boot={}", node.storage())
}

/// Adds the options that name files of the node and of its Java agents.
fn add_files(command: &mut Command, program: &Program, node: &NodeLayout, config: &str) {
    let supply = &program.supply;
    let (folder, conf) = (node.folder.display(), node.conf());
    let conf = conf.display();
    if let Some(hints) = &supply.compiler_hints {
        // Otherwise the JVM prints every hint to its output, where cassay looks for errors.
        command.arg("-XX:CompileCommand=quiet");
        command.arg(format!("-XX:CompileCommandFile={}", hints.display()));
    }
    command.args([
        format!("-Dcassandra.config=file://{conf}/{config}"),
        format!("-Dcassandra-rackdc.properties=file://{conf}/cassandra-rackdc.properties"),
        format!("-Dcassandra.storagedir={folder}"),
        format!("-Dcassandra.logdir={folder}/logs"),
        format!("-Dlogback.configurationFile={conf}/logback.xml"),
        // The JVM unpacks native libraries here, and they disappear with the node.
        format!("-Djava.io.tmpdir={folder}/tmp"),
        format!("-XX:ErrorFile={folder}/logs/hs_err_pid%p.log"),
    ]);
    let line = supply.release.line();
    command.args(program.classes.options(line));
    if program.classes.take_jamm(line) {
        command.arg(format!("-javaagent:{}", supply.jamm.display()));
    }
    // The JVM considers archives dumped with agents to be for tests only.
    let is_archived = matches!(program.classes, Classes::Archived(_));
    if let Some(jolokia) = supply.jolokia.as_ref().filter(|_| !is_archived) {
        // The password is in a file, because `ps` would show it on the command line.
        let config = format!("config={conf}/jolokia.properties");
        command.arg(format!("-javaagent:{}={config}", jolokia.display()));
    }
}
