//! Origin of a frame: Cassandra, another library, the JDK, or native code.

measure::word_enum! {
    /// Kind of code that a frame belongs to.
    #[derive(Default)]
    pub enum FrameOrigin {
        /// A method of Cassandra.
        Cassandra = "cassandra",
        /// A method of another Java library, or of an agent.
        Library = "library",
        /// A method of the JDK.
        Jdk = "jdk",
        /// A function of the JVM, of a native library or of the kernel.
        #[default]
        Native = "native",
    }
}

const JDK: [&str; 6] = ["java/", "javax/", "jdk/", "sun/", "com/sun/", "jvmtiAgent"];
/// Marks of native symbols that contain a dot: libraries, and functions that GCC has split.
const NATIVE: [&str; 7] = ["::", "(", ".so", ".part.", ".constprop.", ".isra.", ".cold"];

impl FrameOrigin {
    /// Returns the origin of a frame by its name. A Java method is `package/Class.method`.
    pub fn from_frame(frame: &str) -> FrameOrigin {
        let is_native = NATIVE.iter().any(|mark| frame.contains(mark));
        if is_native || !frame.contains('.') {
            FrameOrigin::Native
        } else if frame.starts_with("org/apache/cassandra/") {
            FrameOrigin::Cassandra
        } else if JDK.iter().any(|package| frame.starts_with(package)) {
            FrameOrigin::Jdk
        } else {
            FrameOrigin::Library
        }
    }

    /// Returns true for code that is not part of the Java installation or the operating system.
    pub fn is_application(self) -> bool {
        matches!(self, FrameOrigin::Cassandra | FrameOrigin::Library)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_frame_shows_its_origin() {
        for (frame, origin) in [
            (
                "org/apache/cassandra/db/Memtable.put",
                FrameOrigin::Cassandra,
            ),
            (
                "io/netty/channel/epoll/Native.epollWait",
                FrameOrigin::Library,
            ),
            ("Burn.burn", FrameOrigin::Library),
            ("java/lang/Thread.run", FrameOrigin::Jdk),
            ("jdk/internal/misc/Unsafe.park", FrameOrigin::Jdk),
            ("Parker::park(bool, long)", FrameOrigin::Native),
            ("__libc_write", FrameOrigin::Native),
            ("libc.so.6", FrameOrigin::Native),
            ("tcp_sendmsg.isra.0", FrameOrigin::Native),
        ] {
            assert_eq!(FrameOrigin::from_frame(frame), origin, "{frame}");
        }
    }
}
