//! JVM options of Apache Cassandra for each Java version: collectors, and access to hidden
//! packages. The options come from `conf/jvm11-server.options`, `jvm17-server.options` and
//! `jvm21-server.options`.

/// G1 options in Apache's files for Java 11 and 17.
pub(super) const G1: [&str; 7] = [
    "-XX:+UseG1GC",
    "-XX:+ParallelRefProcEnabled",
    "-XX:MaxTenuringThreshold=1",
    "-XX:G1HeapRegionSize=16m",
    "-XX:G1RSetUpdatingPauseTimePercent=5",
    "-XX:MaxGCPauseMillis=300",
    "-XX:InitiatingHeapOccupancyPercent=70",
];

pub(super) struct JavaOptions {
    /// Packages that the server uses although the module system hides them.
    pub exports: &'static [&'static str],
    /// Packages that the server accesses by reflection.
    pub opens: &'static [&'static str],
    pub zgc: &'static [&'static str],
    pub others: &'static [&'static str],
}

const EXPORTS_11: &[&str] = &[
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.util",
    "java.base/sun.nio.ch",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.sql/java.sql",
];

const OPENS_11: &[&str] = &[
    "java.base/java.lang.module",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect",
    "java.base/jdk.internal.math",
    "java.base/jdk.internal.module",
    "java.base/jdk.internal.util.jar",
    "jdk.management/com.sun.management.internal",
];

const EXPORTS_17: &[&str] = &[
    "java.base/jdk.internal.misc",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.sql/java.sql",
    "java.base/java.lang.ref",
    "jdk.unsupported/sun.misc",
    "jdk.compiler/com.sun.tools.javac.file",
    "jdk.attach/sun.tools.attach",
];

const OPENS_17: &[&str] = &[
    "java.base/java.lang.module",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect",
    "java.base/jdk.internal.math",
    "java.base/jdk.internal.module",
    "java.base/jdk.internal.util.jar",
    "jdk.management/com.sun.management.internal",
    "java.base/sun.nio.ch",
    "java.base/java.io",
    "java.base/java.lang.reflect",
    "jdk.compiler/com.sun.tools.javac",
    "java.base/java.lang",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/java.nio",
];

static JAVA_11: JavaOptions = JavaOptions {
    exports: EXPORTS_11,
    opens: OPENS_11,
    // ZGC is experimental in Java 11.
    zgc: &["-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"],
    others: &["-XX:-UseBiasedLocking"],
};

static JAVA_17: JavaOptions = JavaOptions {
    exports: EXPORTS_17,
    opens: OPENS_17,
    zgc: &["-XX:+UseZGC"],
    others: &[],
};

static JAVA_21: JavaOptions = JavaOptions {
    // Java 21 needs only some of these exports. The others have no effect.
    exports: EXPORTS_17,
    opens: OPENS_17,
    // jamm, the agent that measures object sizes, would otherwise assume compressed pointers.
    zgc: &[
        "-XX:+UseZGC",
        "-XX:+ZGenerational",
        "-XX:-UseCompressedOops",
    ],
    others: &["-Djava.security.manager=allow"],
};

impl JavaOptions {
    /// Returns the options for a major Java version. Java 17 to 20 and an unknown version use the
    /// options for 17, and older versions those for 11.
    pub(super) fn for_major(major: Option<u32>) -> &'static JavaOptions {
        match major {
            Some(..17) => &JAVA_11,
            Some(21..) => &JAVA_21,
            Some(17..) | None => &JAVA_17,
        }
    }
}
