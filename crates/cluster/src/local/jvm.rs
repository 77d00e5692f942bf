//! The command line of a node's JVM.
//!
//! The options are what Apache's scripts give a server, for the same performance: the same for all
//! lines, so that sides of different lines differ by nothing else, and for each Java what its
//! module system needs (`java_options`). Ours come first and a study's own last, so that the
//! study's win. Not taken over: preloading jemalloc where a machine happens to have it, and JMX
//! over RMI, which nobody here speaks. The collector is G1 as the options for Java 11 and 17 have
//! it, on every Java: those for 21 take ZGC, which a study asks for by `collector`.

use super::java_options::{G1, JavaOptions};
use super::marks::{mark, mark_of_node};
use super::node::gc_log_name;
use super::program::{Classes, Program};
use super::settings::{self, NodeLayout};
use crate::handle::RestartMode;
use anyhow::{Result, bail};
use std::process::Command;
use target::{Collector, LocalSpec};

/// Memory and threads as Apache's options for Java 17 have them.
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
    // A node without memory ends, and is seen to end. No heap dump: it would fill the disk.
    "-XX:+ExitOnOutOfMemoryError",
    "-Dio.netty.allocator.useCacheForAllThreads=true",
    "-Dio.netty.allocator.maxOrder=11",
];

/// How the server behaves.
const PROPERTIES: [&str; 6] = [
    "-Djdk.attach.allowAttachSelf=true",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Djava.net.preferIPv4Stack=true",
    "-Dcassandra-foreground=yes",
    // A fresh ring has nothing to learn: waiting for gossip to be quiet takes 8 s for nothing.
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    // The MBean agent's HTTP server: without it, every answer on a kept connection waits 40 ms for
    // the other side's delayed acknowledgement.
    "-Dsun.net.httpserver.nodelay=true",
];

/// For how long a node hears nothing of another one that has left the ring, in ms: twice the ring
/// delay, which is what the server takes. Said here since that of a seed is short, and who is heard
/// of for the first time is forgotten after half of this.
const QUARANTINE_MS: u32 = 20_000;

/// How long a node says that it joins before it streams, in ms: who has left the ring and comes
/// back at once is heard by all of them by then, so that they send it what is written meanwhile.
const JOINING_DELAY_MS: u32 = QUARANTINE_MS + 5_000;

/// A variable whose options the JVM takes beside those of its command line.
pub(super) const OPTIONS_VARIABLE: &str = "JDK_JAVA_OPTIONS";

/// Lets a node start though a part of its commit log or an SSTable cannot be read: after a loss of
/// power, an SSTable of its last half minute may have an empty list of its components, which
/// Cassandra does not sync.
pub(super) const SKIP_UNREADABLE: &str = "-Dcassandra.commitlog.ignorereplayerrors=true \
    -Dcassandra.config.allow_system_properties=true \
    -Dcassandra.settings.disk_failure_policy=best_effort";

/// Refuses two garbage collectors at once.
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
            "the collector is {}, and the JVM option {other} chooses another: leave one of them \
             out",
            collector.name()
        ),
        None => Ok(()),
    }
}

/// Whether an option names a garbage collector: the JVM takes only one.
pub(super) fn is_collector(option: &str) -> bool {
    let name = option.strip_prefix("-XX:+Use");
    name.is_some_and(|name| name.ends_with("GC") && name != "AdaptiveSizePolicyWithSystemGC")
}

/// The whole command that runs `node` for the `start`th time, counted from 1, with options that
/// follow from where it runs; `anew`, it has nothing, and streams its data from the others.
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
    let java = JavaOptions::of(program.java.major());
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
    // How long a node looks for others before it joins them: a seed for so long, which is alone
    // when all are started anew, others twice as long. A node that has found nobody by then ends,
    // and asks only every 5 s; the first connection may take that on a busy machine.
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
    // All pauses, whatever the collector, and what stops threads besides it. One file per start:
    // the JVM overwrites what it finds.
    command.arg(format!(
        "-Xlog:gc*,safepoint:file={}:time,uptime,level,tags:filecount=0",
        node.folder.join("logs").join(gc_log_name(start)).display()
    ));
    command.args(placed).args(&spec.jvm_options);
    // Jars only: with a folder among them there would be no archive of their classes.
    command.args(["-cp", &program.supply.classpath]);
    command.arg("org.apache.cassandra.service.CassandraDaemon");
    command.current_dir(&node.folder);
    // As Apache's scripts do: more arenas than this only fragment native memory.
    command.env("MALLOC_ARENA_MAX", "4");
    // Options that come in by the environment would be in no plan and no report.
    for name in ["JAVA_TOOL_OPTIONS", OPTIONS_VARIABLE, "_JAVA_OPTIONS"] {
        command.env_remove(name);
    }
    command
}

/// Lets a node take the place that its ring has for its address.
pub(super) fn replacing(node: &NodeLayout) -> String {
    format!("-Dcassandra.replace_address_first_boot={}", node.storage())
}

/// The options that name files: of the node, and of the agents in its JVM.
fn add_files(command: &mut Command, program: &Program, node: &NodeLayout, config: &str) {
    let supply = &program.supply;
    let (folder, conf) = (node.folder.display(), node.conf());
    let conf = conf.display();
    if let Some(hints) = &supply.compiler_hints {
        // Without this the JVM lists every hint in its output, where errors are looked for.
        command.arg("-XX:CompileCommand=quiet");
        command.arg(format!("-XX:CompileCommandFile={}", hints.display()));
    }
    command.args([
        format!("-Dcassandra.config=file://{conf}/{config}"),
        format!("-Dcassandra-rackdc.properties=file://{conf}/cassandra-rackdc.properties"),
        format!("-Dcassandra.storagedir={folder}"),
        format!("-Dcassandra.logdir={folder}/logs"),
        format!("-Dlogback.configurationFile={conf}/logback.xml"),
        // Native libraries are unpacked here, and go away with the node.
        format!("-Djava.io.tmpdir={folder}/tmp"),
        format!("-XX:ErrorFile={folder}/logs/hs_err_pid%p.log"),
    ]);
    let line = supply.release.line();
    command.args(program.classes.options(line));
    if program.classes.take_jamm(line) {
        command.arg(format!("-javaagent:{}", supply.jamm.display()));
    }
    // The JVM calls an archive that has seen agents one for tests only.
    let is_archived = matches!(program.classes, Classes::Archived(_));
    if let Some(jolokia) = supply.jolokia.as_ref().filter(|_| !is_archived) {
        // The password is in the file, not here, where `ps` would show it.
        let config = format!("config={conf}/jolokia.properties");
        command.arg(format!("-javaagent:{}={config}", jolokia.display()));
    }
}
