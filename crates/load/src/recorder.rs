//! Records the results of a worker. The recorder writes to one part of an interval, and the worker
//! passes the part on when the interval ends.
//!
//! At the end of the interval, the worker replaces the part with an empty part, without waiting. If
//! the collector is late and has not returned an empty part, the worker continues with the same
//! part. No result is lost, but the part then spans several intervals. The worker waits for an
//! empty part only at the start and the end of the measured window, because no part may span either
//! boundary.

use crate::worker_io::World;
use measure::interval::{ClientInterval, KindInterval};
use measure::{ClientCount, Histogram, Outcome};
use workload::Kind;

/// Results of one worker in one interval.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub worker: usize,
    pub index: u64,
    pub start_ns: u64,
    pub end_ns: u64,
    pub draining: bool,
    /// True if the worker will not report any further part.
    pub last: bool,
    pub kinds: Vec<KindInterval>,
    pub client: ClientInterval,
}

impl Part {
    pub fn new(worker: usize, kinds: &[Kind]) -> Part {
        let mut kinds = kinds_of(kinds);
        kinds.iter_mut().for_each(KindInterval::make_room);
        Part {
            worker,
            kinds,
            client: ClientInterval {
                lag: Histogram::with_room(),
                ..ClientInterval::default()
            },
            ..Part::default()
        }
    }

    pub fn clear(&mut self) {
        self.kinds.iter_mut().for_each(KindInterval::clear);
        self.client.clear();
        self.draining = false;
        self.last = false;
    }
}

pub(crate) fn kinds_of(kinds: &[Kind]) -> Vec<KindInterval> {
    kinds
        .iter()
        .map(|kind| KindInterval {
            is_part: kind.part,
            ..KindInterval::default()
        })
        .collect()
}

/// Number of parts in circulation per worker. The worker writes one part, the collector merges
/// another, and a third is in transit between them.
pub(crate) const PARTS_PER_WORKER: usize = 3;

/// Sequence of equal results. All responses of one receive call have the same end, and all requests
/// of one send call have the same start. Such sequences are therefore often long, and one record
/// covers a whole sequence.
#[derive(Clone, Copy, Debug, Default)]
struct Repeat {
    kind: u8,
    is_early: bool,
    latency_ns: u64,
    service_ns: u64,
    count: u64,
}

pub(crate) struct Recorder {
    pub part: Box<Part>,
    repeat: Repeat,
    line_ns: u64,
    /// Start of the measured window. Operations that were due before this time count as early.
    window_from_ns: u64,
    interval_ns: u64,
    /// Time at which the worker last received data, in ns. The time is only relevant while the
    /// worker waits for a response.
    quiet_since_ns: u64,
}

impl Recorder {
    pub fn new(part: Box<Part>, interval_ns: u64) -> Recorder {
        Recorder {
            part,
            repeat: Repeat::default(),
            line_ns: 0,
            window_from_ns: u64::MAX,
            interval_ns,
            quiet_since_ns: 0,
        }
    }

    /// Sets the start line, at which the first interval begins.
    pub fn start(&mut self, start_ns: u64) {
        self.line_ns = start_ns;
        self.part.index = 0;
        self.part.start_ns = start_ns;
        self.part.end_ns = start_ns + self.interval_ns;
        self.quiet_since_ns = start_ns;
    }

    /// Marks that the worker does not wait for any response. The next period without data begins
    /// with the next request, at `now_ns` or later.
    #[inline]
    pub fn nothing_awaited(&mut self, now_ns: u64) {
        self.quiet_since_ns = now_ns;
    }

    /// Records that the worker received data.
    #[inline]
    pub fn heard(&mut self, now_ns: u64) {
        let quiet_ns = now_ns.saturating_sub(self.quiet_since_ns);
        self.part.client.quiet_ns = self.part.client.quiet_ns.max(quiet_ns);
        self.quiet_since_ns = self.quiet_since_ns.max(now_ns);
    }

    #[inline]
    pub fn end_ns(&self) -> u64 {
        self.part.end_ns
    }

    /// Sets the start of the measured window as soon as it is known. The caller must do this before
    /// it records operations that were due after the start. If a late collector has made a part
    /// longer, the part ends at this start.
    #[inline]
    pub fn set_window_from_ns(&mut self, window_from_ns: u64) {
        self.window_from_ns = window_from_ns;
        if self.part.start_ns < window_from_ns && window_from_ns < self.part.end_ns {
            self.part.end_ns = window_from_ns;
        }
    }

    #[inline]
    pub fn is_early(&self, intended_ns: u64) -> bool {
        intended_ns < self.window_from_ns
    }

    /// Records the success of an operation that was due at `intended_ns`. Also records the success
    /// of a part of an operation, whose latency is separate.
    #[inline]
    pub fn success(&mut self, kind: u8, intended_ns: u64, latency_ns: u64, service_ns: u64) {
        let is_early = self.is_early(intended_ns);
        let repeat = &mut self.repeat;
        if repeat.latency_ns == latency_ns
            && repeat.service_ns == service_ns
            && repeat.kind == kind
            && repeat.is_early == is_early
        {
            repeat.count += 1;
            return;
        }
        self.flush();
        self.repeat = Repeat {
            kind,
            is_early,
            latency_ns,
            service_ns,
            count: 1,
        };
    }

    /// Records the failure of an operation, or of a part of an operation, that was due at
    /// `intended_ns`. The latency begins at the due time. If the request was sent, the service time
    /// begins at the send.
    pub fn error(
        &mut self,
        kind: u8,
        outcome: Outcome,
        intended_ns: u64,
        (latency_ns, service_ns): (u64, Option<u64>),
    ) {
        let is_early = self.is_early(intended_ns);
        let kind = &mut self.part.kinds[usize::from(kind)];
        kind.fail(is_early, outcome, latency_ns, service_ns);
    }

    /// Records `count` operations of the window that the worker will not send, and the time for
    /// which they have waited.
    pub fn leave_unsent(&mut self, kind: u8, latency_ns: u64, count: u64) {
        self.part.client.counts[ClientCount::DueNeverSent] += count;
        self.part.kinds[usize::from(kind)].leave_unsent(latency_ns, count);
    }

    /// Returns the start of the window. While the start is unknown, returns the largest possible
    /// time.
    pub fn window_from_ns(&self) -> u64 {
        self.window_from_ns
    }

    #[inline]
    fn flush(&mut self) {
        let Repeat {
            kind,
            is_early,
            latency_ns,
            service_ns,
            count,
        } = self.repeat;
        if count > 0 {
            let kind = &mut self.part.kinds[usize::from(kind)];
            kind.succeed(is_early, latency_ns, service_ns, count);
            self.repeat.count = 0;
        }
    }

    /// Ends the running interval at its planned end, if an empty part is available. If `now_ns` is
    /// several intervals later, the part becomes longer accordingly, but never spans the start of
    /// the measured window.
    pub fn cut(&mut self, world: &mut impl World, now_ns: u64, draining_next: bool) {
        // At the start of the window, the worker waits for an empty part, because a part must be
        // either inside or outside the window.
        match world.empty_part(self.part.end_ns == self.window_from_ns) {
            Some(empty) => self.cut_with(world, empty, now_ns, draining_next),
            None => self.part.end_ns += self.interval_ns,
        }
    }

    fn cut_with(
        &mut self,
        world: &mut impl World,
        empty: Box<Part>,
        now_ns: u64,
        draining_next: bool,
    ) {
        let holds_begin = (self.part.start_ns..=now_ns).contains(&self.window_from_ns);
        let until_ns = if holds_begin && self.part.start_ns < self.window_from_ns {
            self.window_from_ns
        } else {
            now_ns
        };
        let behind = until_ns.saturating_sub(self.part.end_ns) / self.interval_ns;
        self.part.end_ns += behind * self.interval_ns;
        let end_ns = self.part.end_ns;
        self.hand_over(world, empty);
        // The number of an interval follows from the clock, so that all workers use the same number
        // for the same time, even after skipped intervals.
        self.part.index = (end_ns - self.line_ns).div_ceil(self.interval_ns);
        self.part.start_ns = end_ns;
        self.part.end_ns = end_ns + self.interval_ns;
        self.part.draining = draining_next;
    }

    /// Ends the running interval early, at `end_ns`, because the drain follows.
    pub fn cut_for_drain(&mut self, world: &mut impl World, end_ns: u64) {
        // A late worker must end each interval at the same time as the other workers.
        while self.part.end_ns < end_ns {
            self.cut(world, end_ns - 1, false);
        }
        // The time of the stop may come from a clock reading before the start of this interval.
        let end_ns = end_ns.max(self.part.start_ns);
        self.part.end_ns = end_ns;
        // The worker waits for an empty part, because a part must not contain both measured results
        // and results of the drain.
        if let Some(empty) = world.empty_part(true) {
            self.cut_with(world, empty, end_ns, true);
        }
    }

    /// Passes on the last part, which ends at `end_ns`. If the window starts between the last
    /// operation of the part and `end_ns`, the part ends at the start of the window instead.
    pub fn finish(mut self, world: &mut impl World, end_ns: u64) {
        self.flush();
        self.note_own_time(world);
        let end_ns = end_ns.max(self.part.start_ns);
        let is_before = self.part.start_ns < self.window_from_ns;
        self.part.end_ns = if is_before {
            end_ns.min(self.window_from_ns)
        } else {
            end_ns
        };
        self.part.last = true;
        world.hand_over(self.part);
    }

    fn hand_over(&mut self, world: &mut impl World, empty: Box<Part>) {
        self.flush();
        self.note_own_time(world);
        world.hand_over(std::mem::replace(&mut self.part, empty));
    }

    /// Records the CPU time that the worker has used since the last call, and the time for which
    /// the worker waited for a CPU.
    fn note_own_time(&mut self, world: &mut impl World) {
        let own = world.own_time();
        self.part.client.cpu_ns += own.cpu_ns;
        if let Some(ns) = own.wait_ns {
            *self.part.client.wait_ns.get_or_insert(0) += ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Link;
    use crate::socket::TimedReader;
    use crate::worker_io::{OwnTime, Ready, Watch};
    use std::io;

    const INTERVAL_NS: u64 = 1000;

    /// Connection type without values, because this test does not use connections.
    enum Silence {}

    impl io::Read for Silence {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            match *self {}
        }
    }

    impl io::Write for Silence {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            match *self {}
        }
        fn flush(&mut self) -> io::Result<()> {
            match *self {}
        }
    }

    impl TimedReader for Silence {
        fn is_timed(&self) -> bool {
            match *self {}
        }
        fn arrived_ns(&self) -> Option<u64> {
            match *self {}
        }
    }

    /// World that only counts empty parts. It gives its last empty part only to a caller that
    /// waits.
    struct Collector {
        empty_count: usize,
        slices: Vec<(u64, u64)>,
    }

    impl World for Collector {
        type Stream = Silence;

        fn now_ns(&self) -> u64 {
            unreachable!()
        }
        fn own_time(&mut self) -> OwnTime {
            OwnTime::default()
        }
        fn wait(&mut self, _: u64) -> io::Result<usize> {
            unreachable!()
        }
        fn rest(&mut self, _: u64) -> io::Result<usize> {
            unreachable!()
        }
        fn ready(&self, _: usize) -> Ready {
            unreachable!()
        }
        fn watch(&mut self, _: &Silence, _: u16, _: Watch) -> io::Result<()> {
            unreachable!()
        }
        fn reopen(&mut self, _: u16) {
            unreachable!()
        }
        fn reopened(&mut self) -> Option<(u16, Link<Silence>)> {
            unreachable!()
        }
        fn empty_part(&mut self, waits: bool) -> Option<Box<Part>> {
            let kept = usize::from(!waits);
            let empty = self.empty_count > kept;
            self.empty_count -= usize::from(empty);
            empty.then(|| Box::new(Part::new(0, &[])))
        }
        fn hand_over(&mut self, part: Box<Part>) {
            self.slices.push((part.start_ns, part.end_ns));
        }
    }

    /// Returns a recorder whose start line is at 0, and a collector with `empty_count` empty parts.
    fn recorder(empty_count: usize) -> (Recorder, Collector) {
        let mut recorder = Recorder::new(Box::new(Part::new(0, &[])), INTERVAL_NS);
        recorder.start(0);
        let slices = Vec::new();
        (
            recorder,
            Collector {
                empty_count,
                slices,
            },
        )
    }

    #[test]
    fn an_interval_begun_after_an_unseen_stop_is_empty() {
        let (mut recorder, mut world) = recorder(3);
        recorder.cut(&mut world, 1010, false);
        recorder.cut_for_drain(&mut world, 990);
        recorder.finish(&mut world, 1020);
        assert_eq!(world.slices, [(0, 1000), (1000, 1000), (1000, 1020)]);
    }

    #[test]
    fn a_late_collector_stretches_a_slice_up_to_the_window() {
        let (mut recorder, mut world) = recorder(1);
        recorder.cut(&mut world, 1000, false);
        recorder.cut(&mut world, 2000, false);
        // The start of the window becomes known only now, when the part is already too long.
        recorder.set_window_from_ns(2500);
        assert_eq!(recorder.end_ns(), 2500);
        recorder.cut(&mut world, 2600, false);
        assert_eq!(world.slices, [(0, 2500)]);
        assert_eq!(recorder.part.start_ns, 2500);
    }
}
