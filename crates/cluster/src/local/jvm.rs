//! Command line of a node's JVM.
//!
//! The options are those of Apache's scripts, so that the performance is the same. All Cassandra
//! lines get the same tuning options, so that studies compare only the lines. Each Java version
//! gets its module options (`java_options`). A study's options come last and take precedence.
//! cassay does not preload jemalloc, which many machines lack, and does not enable JMX over RMI.
//! The default collector is G1 with the options for Java 11 and 17. Apache's options for 21 use
//! ZGC, which a study selects by `collector`.

use super::java_options::{G1, JavaOptions};
use super::node_process::gc_log_name;
use super::program::{Classes, Program};
use super::settings::{self, NodeLayout};
use anyhow::{Result, bail};
use cassandra::RestartMode;
use cassandra::process_tags::{mark, mark_of_node};
use std::process::Command;
use target_spec::{Collector, LocalSpec};

/// Memory and thread options in Apache's file for Java 17.
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
    // Without memory, the node exits, and cassay detects the exit. A heap dump would fill the disk.
    "-XX:+ExitOnOutOfMemoryError",
    "-Dio.netty.allocator.useCacheForAllThreads=true",
    "-Dio.netty.allocator.maxOrder=11",
];

const PROPERTIES: [&str; 6] = [
    "-Djdk.attach.allowAttachSelf=true",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Djava.net.preferIPv4Stack=true",
    "-Dcassandra-foreground=yes",
    // A new ring needs no information from gossip. Waiting until gossip settles would take 8 s.
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    // For the HTTP server of the Jolokia agent. Otherwise, every response on a reused connection
    // waits 40 ms for the peer's delayed acknowledgement.
    "-Dsun.net.httpserver.nodelay=true",
];

/// Gossip quarantine of a node that has left the ring, in ms. The value is Cassandra's default,
/// twice the default ring delay. cassay sets it explicitly, because cassay shortens a seed's ring
/// delay. Other nodes forget a node that has not joined after half of this time.
const QUARANTINE_MS: u32 = 20_000;

/// Delay between the announcement of a join and the start of streaming, in ms. It exceeds
/// [`QUARANTINE_MS`]. So the other nodes again accept the gossip of a node that left and returned
/// at once, and send it the writes during the streaming.
const JOINING_DELAY_MS: u32 = QUARANTINE_MS + 5_000;

/// Environment variable whose options the JVM adds to its command line.
pub(super) const OPTIONS_VARIABLE: &str = "JDK_JAVA_OPTIONS";

/// Options with which a node starts despite unreadable commit log segments or SSTables. After a
/// power loss, a recent SSTable may have an empty TOC component, which Cassandra does not sync.
pub(super) const SKIP_UNREADABLE: &str = "-Dcassandra.commitlog.ignorereplayerrors=true \
    -Dcassandra.config.allow_system_properties=true \
    -Dcassandra.settings.disk_failure_policy=best_effort";

/// Checks that the options do not select a second garbage collector.
///
/// # Errors
/// The spec sets a collector, and its options select another one.
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

pub(super) fn is_collector(option: &str) -> bool {
    let name = option.strip_prefix("-XX:+Use");
    name.is_some_and(|name| name.ends_with("GC") && name != "AdaptiveSizePolicyWithSystemGC")
}

/// Builds the command for start number `start`, counted from 1. `placed` contains the JVM options
/// of the node's placement. With `anew`, the node has no data and streams it from other nodes.
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
    // The ring delay is the time that a node waits for gossip before it joins. It is short for the
    // seed, which is alone when a new ring starts. Other nodes exit if they find no node within
    // this time. They retry only every 5 s, and on a busy machine the first connection may take
    // that long.
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
    // Logs all pauses of any collector, and all safepoints. The JVM overwrites existing files, so
    // each start has a separate file.
    command.arg(format!(
        "-Xlog:gc*,safepoint:file={}:time,uptime,level,tags:filecount=0",
        node.folder.join("logs").join(gc_log_name(start)).display()
    ));
    command.args(placed).args(&spec.jvm_options);
    // Class data sharing supports only jars in the class path, no folders.
    command.args(["-cp", &program.supply.classpath]);
    command.arg("org.apache.cassandra.service.CassandraDaemon");
    command.current_dir(&node.folder);
    // As in Apache's scripts. More arenas only fragment native memory.
    command.env("MALLOC_ARENA_MAX", "4");
    // Neither plan nor report would show options from the environment.
    for name in ["JAVA_TOOL_OPTIONS", OPTIONS_VARIABLE, "_JAVA_OPTIONS"] {
        command.env_remove(name);
    }
    command
}

/// Returns the option with which a node takes over the tokens of its own address.
pub(super) fn replacing(node: &NodeLayout) -> String {
    format!("-Dcassandra.replace_address_first_boot={}", node.storage())
}

/// Adds options with the paths of the node's files and of its Java agents.
fn add_files(command: &mut Command, program: &Program, node: &NodeLayout, config: &str) {
    let supply = &program.supply;
    let (folder, conf) = (node.folder.display(), node.conf());
    let conf = conf.display();
    if let Some(hints) = &supply.compiler_hints {
        // Otherwise the JVM would print every hint to its output, which cassay searches for errors.
        command.arg("-XX:CompileCommand=quiet");
        command.arg(format!("-XX:CompileCommandFile={}", hints.display()));
    }
    command.args([
        format!("-Dcassandra.config=file://{conf}/{config}"),
        format!("-Dcassandra-rackdc.properties=file://{conf}/cassandra-rackdc.properties"),
        format!("-Dcassandra.storagedir={folder}"),
        format!("-Dcassandra.logdir={folder}/logs"),
        format!("-Dlogback.configurationFile={conf}/logback.xml"),
        // The JVM unpacks native libraries into this folder, which is removed with the node.
        format!("-Djava.io.tmpdir={folder}/tmp"),
        format!("-XX:ErrorFile={folder}/logs/hs_err_pid%p.log"),
    ]);
    let line = supply.release.line();
    command.args(program.classes.options(line));
    if program.classes.take_jamm(line) {
        command.arg(format!("-javaagent:{}", supply.jamm.display()));
    }
    // The JVM considers archives that were dumped with agents to be for tests only.
    let is_archived = matches!(program.classes, Classes::Archived(_));
    if let Some(library) = supply.profiler.as_ref().filter(|_| !is_archived) {
        // Without arguments, the library only waits for commands. With these options, the JVM
        // attributes a sample to its exact position instead of the next safepoint.
        command.args(["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"]);
        command.arg(format!("-agentpath:{}", library.display()));
    }
    if let Some(jolokia) = supply.jolokia.as_ref().filter(|_| !is_archived) {
        // `ps` shows the command line to other users, so the password is in a file.
        let config = format!("config={conf}/jolokia.properties");
        command.arg(format!("-javaagent:{}={config}", jolokia.display()));
    }
}
