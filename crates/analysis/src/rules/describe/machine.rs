//! Sentences on the client's process and machine, other programs, the clock, and silence of the
//! target, for rules V3, V4, V18, V19 and V20.

use crate::rules::evidence::{ClockMove, CpuUse};
use crate::rules::limits::Limits;
use crate::rules::measurement::{Measurement, Quantity};
use crate::rules::statement::{Statement, percent};
use measure::number::counted;

/// V3: states the share of the client's cores that the client used, with the limit, if any.
pub fn client_cpu(used: Measurement, is_shared: bool) -> Statement {
    let shared = if is_shared {
        ", cores shared with nodes"
    } else {
        ""
    };
    let limit = used
        .limit
        .map_or_else(String::new, |limit| format!(" (limit {})", percent(limit)));
    let words = format!(
        "the client used {} of its cores{shared}{limit}",
        percent(used.value)
    );
    Statement::with(words, used)
}

/// Throughput and measured ceilings, in op/s.
pub struct CeilingUse {
    /// Throughput of the trial.
    pub achieved: f64,
    /// Lowest of the measured ceilings.
    pub lowest: f64,
    /// Highest of the measured ceilings.
    pub highest: f64,
    /// Number of ceilings.
    pub count: usize,
    /// True if the ceilings do not differ by more than the limit.
    pub is_steady: bool,
}

/// V3: states the throughput as a share of the lowest ceiling. `is_doubtful` is true if the result
/// depends on which of the ceilings is used.
pub fn of_ceiling(ceilings: &CeilingUse, limits: &Limits, is_doubtful: bool) -> Statement {
    let &CeilingUse {
        achieved,
        lowest,
        highest,
        count,
        is_steady,
    } = ceilings;
    let spread = highest / lowest;
    let measured = match (count, is_steady) {
        (1, _) => format!("the client's ceiling of {lowest:.0} op/s, measured once"),
        (count, true) => format!(
            "the client's ceiling of {lowest:.0} op/s, the lowest of {count} (highest: \
             {highest:.0})"
        ),
        (count, false) => format!(
            "the client's ceiling of {lowest:.0} op/s, the lowest of {count} ceilings, which \
             differ by a factor of {spread:.1} (highest: {highest:.0}; limit {:.1})",
            limits.ceiling_spread
        ),
    };
    let words = format!(
        "{achieved:.0} op/s are {} of {measured} (limit {})",
        percent(achieved / lowest),
        percent(limits.ceiling_share[0])
    );
    let share = Measurement::new(Quantity::OfCeiling, achieved / lowest);
    let mut statement = Statement::with(words, share.within(limits.ceiling_share));
    if count > 1 && !is_steady {
        let spread = Measurement::new(Quantity::CeilingSpread, spread);
        statement.measured.push(spread.warning_at(limits.ceiling_spread));
    }
    if is_doubtful {
        statement.and(": such a ceiling is unreliable, so the client may be the limit")
    } else {
        statement
    }
}

pub fn longest_stall(stall_s: f64, limits_s: [f64; 2]) -> Statement {
    let longest = Measurement::new(Quantity::StallLongest, stall_s);
    Statement::with(
        format!(
            "for at most {stall_s:.2} s at a time (limit {:.2} s)",
            limits_s[0]
        ),
        longest.within(limits_s),
    )
}

/// V4: states the sum of the stalls of the client in the window, in seconds.
pub fn all_stalls(stalled_s: f64, window_s: f64, limits_s: [f64; 2]) -> Statement {
    let stalled = Measurement::new(Quantity::Stalled, stalled_s);
    Statement::with(
        format!(
            "for {stalled_s:.2} s of {window_s:.0} s in total (limit {:.2} s)",
            limits_s[0]
        ),
        stalled.within(limits_s),
    )
}

/// V4: states how the client stalled. `stalls` describes the longest stall or all stalls. If
/// `has_timers` is false, the sentence adds that the delays of timers are unknown.
pub fn client_stalls(stalls: Statement, has_timers: bool) -> Statement {
    let looked = if has_timers {
        ""
    } else {
        "; timer delays are unknown"
    };
    Statement {
        words: format!("the load generator itself stalled {}{looked}", stalls.words),
        ..stalls
    }
}

/// V18: states the CPU time of other programs, as a share of the machine's CPU time.
pub fn cpu_of_others(cpu: &CpuUse, limit: f64) -> Statement {
    let words = format!(
        "other programs used {} of this machine's {} (limit {}; the nodes used {}, and the client \
         used {})",
        percent(cpu.others),
        counted(cpu.cpus as u64, "CPU"),
        percent(limit),
        percent(cpu.nodes),
        percent(cpu.client)
    );
    let used = Measurement::new(Quantity::OthersCpu, cpu.others);
    Statement::with(words, used.warning_at(limit))
}

/// V18: states the time in which the workers waited for other programs, and the total time in which
/// the workers waited.
pub fn workers_waited(for_others: f64, waited: f64, limits: [f64; 2]) -> Statement {
    let words = format!(
        "the client's workers waited for other programs for {} of the time (limit {}; any wait for \
         a CPU: {})",
        percent(for_others),
        percent(limits[0]),
        percent(waited)
    );
    let share = Measurement::new(Quantity::WorkersWaited, for_others);
    Statement::with(words, share.within(limits))
}

/// V18: states the share of the time in which at least one task waited for a CPU because of other
/// programs. Also states the share with any wait for a CPU.
pub fn tasks_waited(for_others: f64, waited: f64, limits: [f64; 2]) -> Statement {
    let words = format!(
        "at least one task waited for other programs for {} of the time (limit {}; any wait for a \
         CPU: {})",
        percent(for_others),
        percent(limits[0]),
        percent(waited)
    );
    let share = Measurement::new(Quantity::TasksWaited, for_others);
    Statement::with(words, share.within(limits))
}

/// V18: states the time in which a disk was busy for other programs, and the time in which some
/// task waited for a disk.
pub fn disk_of_others(share: f64, waited: Option<f64>, limit: f64) -> Statement {
    let waited = waited.map_or_else(String::new, |io| {
        format!(
            " (at least one task waited for a disk for {} of the time)",
            percent(io)
        )
    });
    let words = format!(
        "a disk was busy with other programs for {} of the time (limit {}){waited}",
        percent(share),
        percent(limit)
    );
    let share = Measurement::new(Quantity::DiskOfOthers, share);
    Statement::with(words, share.warning_at(limit))
}

/// V18: states the share of the time in which all tasks waited for memory.
pub fn memory_waited(share: f64, limit: f64) -> Statement {
    let words = format!(
        "all tasks waited for memory for {} of the time (limit {})",
        percent(share),
        percent(limit)
    );
    let share = Measurement::new(Quantity::MemoryWaited, share);
    Statement::with(words, share.warning_at(limit))
}

pub fn longest_silence(quiet_s: f64, limit_s: f64) -> Statement {
    Statement::with(
        format!("the longest time without any answer was {quiet_s:.2} s (limit {limit_s:.2} s)"),
        Measurement::new(Quantity::QuietLongest, quiet_s).warning_at(limit_s),
    )
}

/// V19: states a silence of the target that is common. `seconds` is the number of seconds with a
/// silence at least half as long.
pub fn common_silence(quiet_s: f64, limit_s: f64, seconds: usize) -> Statement {
    let silence = longest_silence(quiet_s, limit_s);
    silence.and(&format!(
        ": {seconds} seconds contained a gap of at least half that length"
    ))
}

/// V19: states a rare silence of the target. All times are in seconds.
pub fn rare_silence(quiet_s: f64, limit_s: f64, times: usize) -> Statement {
    let often = match times {
        0 | 1 => "once",
        _ => "a few times",
    };
    Statement::with(
        format!(
            "the target stopped answering for up to {quiet_s:.2} s {often} (limit {limit_s:.2} s); \
             a longer window shows how often this happens"
        ),
        Measurement::new(Quantity::QuietLongest, quiet_s).warning_at(limit_s),
    )
}

/// V20: states how far the machine's wall clock moved against the monotonic clock.
pub fn clock_moved(clock: &ClockMove, limit_s: f64) -> Statement {
    let words = format!(
        "the clock of this machine moved by {:+.3} s against the monotonic clock in {:.0} s \
         (limit {limit_s:.3} s)",
        clock.moved_s, clock.over_s
    );
    let moved = Measurement::new(Quantity::ClockMoved, clock.moved_s);
    Statement::with(words, moved.warning_at(limit_s))
}
