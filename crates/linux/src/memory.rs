//! The memory of this machine.

use anyhow::{Context, Result};

/// Returns the number of bytes that the kernel reports as usable without swapping, or fewer if a
/// control group allows fewer.
///
/// # Errors
/// `/proc/meminfo` cannot be read, or does not contain `MemAvailable`.
pub fn available_bytes() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").context("read /proc/meminfo")?;
    let of_machine = parse_available(&text).context("find MemAvailable in /proc/meminfo")?;
    let number = |file: &str| -> Option<u64> {
        std::fs::read_to_string(format!("/sys/fs/cgroup/{file}"))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    // "max" and a missing file mean that the group has no limit.
    match (number("memory.max"), number("memory.current")) {
        (Some(limit), Some(used)) => Ok(of_machine.min(limit.saturating_sub(used))),
        _ => Ok(of_machine),
    }
}

fn parse_available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read_in_bytes() {
        let text = "MemTotal:  2 kB\nMemAvailable:     1024 kB\nBuffers: 3 kB\n";
        assert_eq!(parse_available(text), Some(1 << 20));
        assert_eq!(parse_available("MemTotal: 2 kB\n"), None);
    }
}
