//! Numbers behind the rules. Each number has a quantity, a value, limits, and a place to which it
//! belongs.
//!
//! A rule states each number in its sentence. The values and limits equal those in the sentence, in
//! one unit for each quantity.

measure::word_enum! {
    /// Quantity that a validity rule measures. Every quantity has a fixed unit.
    pub enum Quantity {
        /// V1: share of the scheduled operations that were sent in the window. The limit is a
        /// minimum.
        SentInWindow = "sent_in_window",
        /// V1: share of the scheduled operations that were sent over 1 ms late.
        SentLate = "sent_late",
        /// V1: number of operations that waited because the limit of operations in flight was
        /// reached.
        WaitedForSlot = "waited_for_slot",
        /// V1: number of operations that were due in the window but sent after the window.
        SentAfterWindow = "sent_after_window",
        /// V1: number of operations that the client gave up before it sent them.
        GivenUp = "given_up",
        /// V1: number of operations that were due in the window but were never sent.
        NeverSent = "never_sent",
        /// V2: mean latency.
        LatencyMean = "latency_mean",
        /// V2: mean service time.
        ServiceMean = "service_mean",
        /// V3: CPU time of the workers, as a share of the available time of their cores.
        ClientCpu = "client_cpu",
        /// V3: throughput ÷ lowest ceiling.
        OfCeiling = "of_ceiling",
        /// V3: highest ceiling ÷ lowest ceiling.
        CeilingSpread = "ceiling_spread",
        /// V3: share by which a worker of this client did less than a worker of the fastest client.
        LessThanFastest = "less_than_fastest",
        /// V4: length of the longest stall of the client, or longest time without an interval.
        StallLongest = "stall_longest",
        /// V4: sum of the stalls of the client in the window.
        Stalled = "stalled",
        /// V4: share of the window for which a quota denied CPU time to the client.
        Throttled = "throttled",
        /// V5: delay with which a client learned of the start line.
        StartLate = "start_late",
        /// V5: largest error of a client's clock.
        ClockError = "clock_error",
        /// V5, V20: step of a client's clock, forwards or backwards.
        ClockStep = "clock_step",
        /// V6: number of values in the histogram of latencies.
        Latencies = "latencies",
        /// V6: number of values in the histogram of service times.
        ServiceTimes = "service_times",
        /// V6: number of values in the histogram of failed operations.
        ErrorTimes = "error_times",
        /// V6: number of operations whose latency is only known as a lower bound.
        LowerBounds = "lower_bounds",
        /// V6: number of latencies of over an hour, which the histogram counts as one hour.
        OverAnHour = "over_an_hour",
        /// V6: number of different latencies, if this number is suspiciously small.
        DifferentLatencies = "different_latencies",
        /// V7: difference between the numbers of operations that server and client counted, as a
        /// share of the client's number.
        CountDifference = "count_difference",
        /// V8: share of the ended operations that failed.
        FailedOperations = "failed_operations",
        /// V8: number of operations that the client stopped waiting for.
        ClientTimeouts = "client_timeouts",
        /// V10: mean number of pending compactions in the last third of the window. The limit is
        /// computed from the first third.
        PendingAtEnd = "pending_at_end",
        /// V11: number of nodes that ran in another process at the end of the trial.
        RestartedNodes = "restarted_nodes",
        /// V11: time from the first to the last reading that showed a node's process as stopped.
        NodeStopped = "node_stopped",
        /// V11: time from the first to the last reading that showed a node's threads as blocked.
        NodeBlocked = "node_blocked",
        /// V11: share of the CPU time that the hypervisor gave to other guests.
        StolenCpu = "stolen_cpu",
        /// V12: length of the measured window. The limit is a minimum.
        WindowLength = "window_length",
        /// V12: number of successful operations. The limit is a minimum.
        Successes = "successes",
        /// V12: change of throughput over the window, as a share of the median throughput.
        ThroughputDrift = "throughput_drift",
        /// V14: number of compared reads that did not find an existing row.
        MissingReads = "missing_reads",
        /// V14: number of compared reads that returned an earlier value.
        StaleReads = "stale_reads",
        /// V14: number of compared reads that returned a value that was never written.
        WrongReads = "wrong_reads",
        /// V14: number of compared reads that returned a deleted row.
        ResurrectedReads = "resurrected_reads",
        /// V14: share of the reads that found no row, among reads of rows that exist according to
        /// the study.
        ReadsOfNothing = "reads_of_nothing",
        /// V14: number of rows whose writes were lost, among the rows read back.
        LostRows = "lost_rows",
        /// V14: number of rows with a lost write that was acknowledged too long before a failure,
        /// among the rows read back.
        UnexplainedRows = "unexplained_rows",
        /// V14: number of rows with an earlier value, among the rows read back.
        StaleRows = "stale_rows",
        /// V14: number of rows that were deleted but exist again, among the rows read back.
        ResurrectedRows = "resurrected_rows",
        /// V14: number of rows with a value that was never written, among the rows read back.
        WrongRows = "wrong_rows",
        /// V14: number of rows whose counters are too low, among the rows read back.
        LowCounters = "low_counters",
        /// V14: number of rows whose counters are too high, among the rows read back.
        HighCounters = "high_counters",
        /// V14: number of rows that could not be read.
        UnreadRows = "unread_rows",
        /// V14: number of registers that are not linearizable.
        ViolatedRegisters = "violated_registers",
        /// V14: number of registers for which the search could not decide whether they are
        /// linearizable.
        UndecidedRegisters = "undecided_registers",
        /// V16: size of the data ÷ memory of a node.
        DataPerMemory = "data_per_memory",
        /// V17: CPU time of the probes, as a share of one core.
        ProbesCpu = "probes_cpu",
        /// V18: CPU time of other programs, as a share of the time of the CPUs that the client may
        /// use.
        OthersCpu = "others_cpu",
        /// V18: share of the window in which a worker waited for a CPU that other programs used.
        WorkersWaited = "workers_waited",
        /// V18: share of the window in which some task waited for a CPU that other programs used.
        TasksWaited = "tasks_waited",
        /// V18: share of the window in which a disk was busy for other programs.
        DiskOfOthers = "disk_of_others",
        /// V18: share of the window in which all tasks waited for memory.
        MemoryWaited = "memory_waited",
        /// V19: longest time without an answer while answers were pending.
        QuietLongest = "quiet_longest",
        /// V20: movement of the machine's wall clock against the monotonic clock.
        ClockMoved = "clock_moved",
    }
}

impl Quantity {
    /// Returns the unit of the value and of the limits. The unit `share` means that 1 is 100 %.
    pub const fn unit(self) -> &'static str {
        use Quantity::*;
        match self {
            SentInWindow | SentLate | ClientCpu | OfCeiling | LessThanFastest | Throttled
            | CountDifference | FailedOperations | StolenCpu | ThroughputDrift | ReadsOfNothing
            | ProbesCpu | OthersCpu | WorkersWaited | TasksWaited | DiskOfOthers | MemoryWaited => {
                "share"
            }
            StallLongest | Stalled | StartLate | ClockError | ClockStep | NodeStopped
            | NodeBlocked | WindowLength | QuietLongest | ClockMoved => "s",
            LatencyMean | ServiceMean => "ms",
            CeilingSpread | DataPerMemory => "ratio",
            WaitedForSlot | SentAfterWindow | GivenUp | NeverSent | ClientTimeouts | Successes => {
                "operations"
            }
            Latencies | ServiceTimes | ErrorTimes | LowerBounds | OverAnHour
            | DifferentLatencies => "values",
            PendingAtEnd => "compactions",
            RestartedNodes => "nodes",
            MissingReads | StaleReads | WrongReads | ResurrectedReads => "reads",
            LostRows | UnexplainedRows | StaleRows | ResurrectedRows | WrongRows | LowCounters
            | HighCounters | UnreadRows => "rows",
            ViolatedRegisters | UndecidedRegisters => "registers",
        }
    }

    /// Returns true if the limits of the quantity are minima, and false if they are maxima.
    pub const fn has_minimum(self) -> bool {
        matches!(
            self,
            Quantity::SentInWindow | Quantity::WindowLength | Quantity::Successes
        )
    }
}

/// A measured number on which a rule is based.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Quantity that was measured.
    pub quantity: Quantity,
    /// Value, in the unit of the quantity. The limits apply to the absolute value.
    pub value: f64,
    /// Limit that the sentence states. This is the limit at which the rule warns, if any, or else
    /// the limit at which the rule fails. `None` if the rule has no limit for this value.
    pub limit: Option<f64>,
    /// Limit at which the rule fails. `None` if this value alone cannot fail the rule.
    pub fail_limit: Option<f64>,
    /// Client, node or kind of operation that the value belongs to. `None` for the whole trial.
    pub place: Option<String>,
}

impl Measurement {
    pub(super) fn new(quantity: Quantity, value: f64) -> Measurement {
        Measurement {
            quantity,
            value,
            limit: None,
            fail_limit: None,
            place: None,
        }
    }

    pub(super) fn counting(quantity: Quantity, count: u64) -> Measurement {
        Measurement::new(quantity, count as f64)
    }

    pub(super) fn within(self, [warn, fail]: [f64; 2]) -> Measurement {
        Measurement {
            limit: Some(warn),
            fail_limit: Some(fail),
            ..self
        }
    }

    pub(super) fn warning_at(self, limit: f64) -> Measurement {
        Measurement {
            limit: Some(limit),
            ..self
        }
    }

    /// Adds the limit at which the rule fails. The rule does not warn below this limit.
    pub(super) fn failing_at(self, limit: f64) -> Measurement {
        self.within([limit, limit])
    }

    pub(super) fn at(self, place: impl Into<String>) -> Measurement {
        Measurement {
            place: Some(place.into()),
            ..self
        }
    }

    /// Returns true if the value has reached the limit that the sentence states. A value of 0 never
    /// reaches a limit.
    pub fn is_beyond_limit(&self) -> bool {
        is_beyond(self.quantity, self.value, self.limit)
    }
}

/// Returns true if a value has reached its limit. A value of 0 never reaches a limit.
pub fn is_beyond(quantity: Quantity, value: f64, limit: Option<f64>) -> bool {
    let value = value.abs();
    limit.is_some_and(|limit| {
        if quantity.has_minimum() {
            value < limit
        } else {
            value >= limit && value > 0.0
        }
    })
}
