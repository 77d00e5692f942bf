//! Limits beyond which a result needs care, or must not be used.

/// The limits of the rules. A share of 1 is 100 %.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// V1: share of operations that started over 1 ms late, to warn and to fail. Latency includes
    /// the lateness, so nothing is hidden. Above the second limit, however, the schedule is not the
    /// requested one.
    pub late_share: [f64; 2],
    /// V1: minimum of achieved ÷ offered operations.
    pub achieved_share: f64,
    /// V3: CPU use of the workers' cores, in an open loop.
    pub client_cpu_share: f64,
    /// V3: CPU use of the workers' cores in a closed loop, on cores that no node uses, to warn and
    /// to fail. A worker that never sleeps is the limit, regardless of its ceiling. A few percent
    /// of the time go to interrupts and to the observing threads.
    pub client_full_share: [f64; 2],
    /// V3: achieved ÷ ceiling, to warn and to fail. At half the ceiling, the client's own work
    /// takes as long as the work of the target. At nine tenths, the trial measured the client.
    pub ceiling_share: [f64; 2],
    /// V3: highest ÷ lowest ceiling, above which neither ceiling is trusted.
    pub ceiling_spread: f64,
    /// V4: time in which the client was stalled ÷ the window, to warn and to fail. At 1 %, stalls
    /// affect the p99 of the operations that are due meanwhile; at 5 %, they affect throughput.
    pub silence_share: [f64; 2],
    /// V4: minimum of the limits on stall time, s. Desktops have stalls of tens of milliseconds,
    /// which must not fail a window of a few seconds.
    pub silence_s_least: [f64; 2],
    /// V4: maximum of the limits on a single stall, s, for a window of any length.
    pub silence_s_most: [f64; 2],
    /// V3: share by which a worker of one client may do less than a worker of another, in a closed
    /// loop.
    pub clients_spread: f64,
    /// V5: delay with which a client may learn of the start line, s, to warn and to fail. A client
    /// that is late by one interval offers nothing in that interval.
    pub start_late_s: [f64; 2],
    /// V5: maximum uncertainty of a client's clock, s. The intervals of the client may be shifted
    /// by this time.
    pub clock_bound_s: f64,
    /// V7: relative difference of the counts, to warn and to fail.
    pub counts_share: [f64; 2],
    /// V8: failed operations ÷ ended operations, above which the trial fails.
    pub errors_share: f64,
    /// V8: true if one client timeout fails the trial.
    pub timeout_fails: bool,
    /// V11: share of CPU time stolen by the hypervisor.
    pub steal_share: f64,
    /// V12: length of the shortest acceptable window, s.
    pub window_s: f64,
    /// V12: maximum drift of throughput over the window, as a share.
    pub drift_share: f64,
    /// V17: CPU use of the probes, as a share of one core.
    pub probes_cpu_share: f64,
    /// V18: CPU time used by neither nodes nor client, as a share of the CPUs that the client may
    /// use, to warn. A browser on a laptop with few cores uses about a tenth.
    pub others_cpu_share: f64,
    /// V18: share of the time in which a worker waited for a CPU that other programs used, to warn
    /// and to fail.
    pub others_wait_share: [f64; 2],
    /// V18: share of the time in which some task waited for a CPU that other programs used, to warn
    /// and to fail. The time includes every task of the machine, so it is longer than the wait of
    /// one worker.
    pub others_pressure_share: [f64; 2],
    /// V18: share of the time in which a disk was busy for other programs.
    pub others_disk_share: f64,
    /// V18: share of the time in which all tasks waited for memory.
    pub memory_pressure_share: f64,
    /// V4, V18: true if the machine is declared as shared. The rules then only warn.
    pub shared_machine: bool,
    /// V19: longest silence of the target ÷ the window.
    pub quiet_share: f64,
    /// V19: minimum and maximum of the limit on silence, s. A garbage collection pause of 0.2 s is
    /// common. A pause of one second is rare, in a window of any length.
    pub quiet_s: [f64; 2],
    /// V20: allowed movement of the clock, in seconds, and the additional movement allowed in each
    /// second.
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
