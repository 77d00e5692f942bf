//! Limits of the validity rules. Beyond a limit, a result needs care or must not be used.

/// Limits of the validity rules. A share of 1 is 100 %.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// V1: limits of the share of operations that started over 1 ms late. The rule warns at the
    /// first limit and fails at the second. The latencies include the lateness, so they are
    /// correct. Above the second limit, however, the schedule is not the requested schedule.
    pub late_share: [f64; 2],
    /// V1: minimum share of the offered operations that the client must send in time.
    pub achieved_share: f64,
    /// V3: maximum CPU use of the workers' cores in an open loop, as a share.
    pub client_cpu_share: f64,
    /// V3: limits of the CPU use of the workers' cores, in a closed loop on cores that no node
    /// uses. The rule warns at the first limit and fails at the second. A worker that never sleeps
    /// is the limit, regardless of its ceiling. Interrupts and the observing threads take a few
    /// percent of the time.
    pub client_full_share: [f64; 2],
    /// V3: limits of throughput ÷ ceiling. The rule warns at the first limit and fails at the
    /// second. At half the ceiling, the client's own work takes as long as the work of the target.
    /// At nine tenths, the trial measured the client.
    pub ceiling_share: [f64; 2],
    /// V3: maximum of the highest ÷ the lowest ceiling. Above this ratio, neither ceiling is
    /// reliable.
    pub ceiling_spread: f64,
    /// V4: limits of the share of the window in which the client was stalled. The rule warns at the
    /// first limit and fails at the second. At 1 %, stalls affect the p99 of the operations that
    /// are due during the stalls. At 5 %, stalls affect throughput.
    pub silence_share: [f64; 2],
    /// V4: lowest value that each of the two limits on stall time can have, in seconds. Desktops
    /// have stalls of tens of milliseconds, which must not fail a window of a few seconds.
    pub silence_s_least: [f64; 2],
    /// V4: highest value that each of the two limits on a single stall can have, in seconds,
    /// however long the window is.
    pub silence_s_most: [f64; 2],
    /// V3: share by which a worker of one client may do less than a worker of another client in a
    /// closed loop.
    pub clients_spread: f64,
    /// V5: limits of the delay with which a client learns of the start line, in seconds. The rule
    /// warns at the first limit and fails at the second. A client that is late by one interval does
    /// not offer any load in that interval.
    pub start_late_s: [f64; 2],
    /// V5: maximum uncertainty of a client's clock, in seconds. The intervals of the client may be
    /// shifted by this time.
    pub clock_bound_s: f64,
    /// V7: limits of the relative difference between the numbers of operations that server and
    /// client counted. The rule warns at the first limit and fails at the second.
    pub counts_share: [f64; 2],
    /// V8: maximum share of the ended operations that may have failed.
    pub errors_share: f64,
    /// V8: true if one client timeout fails the trial.
    pub timeout_fails: bool,
    /// V11: maximum share of the CPU time that the hypervisor may give to other guests.
    pub steal_share: f64,
    /// V12: length of the shortest acceptable window, in seconds.
    pub window_s: f64,
    /// V12: maximum drift of throughput over the window, as a share.
    pub drift_share: f64,
    /// V17: maximum CPU use of the probes, as a share of one core.
    pub probes_cpu_share: f64,
    /// V18: limit at which the rule warns of the CPU time of programs other than the nodes and the
    /// client. It is a share of the time of the CPUs that the client may use. A browser on a laptop
    /// with few cores uses about a tenth.
    pub others_cpu_share: f64,
    /// V18: limits of the share of the time in which a worker waited for a CPU that other programs
    /// used. The rule warns at the first limit and fails at the second.
    pub others_wait_share: [f64; 2],
    /// V18: limits of the share of the time in which some task waited for a CPU that other programs
    /// used. The rule warns at the first limit and fails at the second. Every task of the machine
    /// counts, so this time is longer than the wait of one worker.
    pub others_pressure_share: [f64; 2],
    /// V18: maximum share of the time in which a disk was busy for other programs.
    pub others_disk_share: f64,
    /// V18: maximum share of the time in which all tasks waited for memory.
    pub memory_pressure_share: f64,
    /// V4, V18: true if the machine is declared as shared. In this case, these rules warn instead
    /// of failing.
    pub shared_machine: bool,
    /// V19: maximum length of a silence of the target, as a share of the window.
    pub quiet_share: f64,
    /// V19: lowest and highest value that the limit on silence can have, in seconds. A garbage
    /// collection pause of 0.2 s is common. A pause of one second is rare, however long the window
    /// is.
    pub quiet_s: [f64; 2],
    /// V20: allowed movement of the clock in seconds, followed by the additional movement allowed
    /// for each second.
    pub clock_moved: [f64; 2],
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            late_share: [0.01, 0.10],
            achieved_share: 0.99,
            client_cpu_share: 0.70,
            client_full_share: [0.85, 0.95],
            ceiling_share: [0.50, 0.90],
            ceiling_spread: 1.5,
            silence_share: [0.01, 0.05],
            silence_s_least: [0.10, 0.25],
            silence_s_most: [0.50, 2.0],
            clients_spread: 0.20,
            start_late_s: [0.05, 1.0],
            clock_bound_s: 0.005,
            counts_share: [0.001, 0.01],
            errors_share: 0.01,
            timeout_fails: true,
            steal_share: 0.02,
            window_s: 5.0,
            drift_share: 0.10,
            probes_cpu_share: 0.05,
            others_cpu_share: 0.10,
            others_wait_share: [0.05, 0.20],
            others_pressure_share: [0.20, 0.60],
            others_disk_share: 0.10,
            memory_pressure_share: 0.05,
            shared_machine: false,
            quiet_share: 0.02,
            quiet_s: [0.20, 1.0],
            clock_moved: [0.05, 0.001],
        }
    }
}
