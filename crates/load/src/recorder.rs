//! Where a worker writes down what it saw: one part of an interval, handed over when it ends.
//!
//! A worker owns one part and swaps it for an empty one at the interval's end; nobody waits for
//! anybody. If the collector is late and no empty part has come back, the interval simply goes on:
//! nothing is lost, only the slice is longer. At the begin and the end of the measured window alone
//! an empty part is waited for, since no slice may hold both sides.

use crate::world::World;
use measure::interval::{ClientInterval, KindInterval};
use measure::{ClientCount, Histogram, Outcome};
use workload::Kind;

/// One worker's part of one interval.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub worker: usize,
    pub index: u64,
    pub start_ns: u64,
    pub end_ns: u64,
    pub draining: bool,
    /// Whether the worker has nothing more to tell.
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

/// An empty interval of each kind.
pub(crate) fn kinds_of(kinds: &[Kind]) -> Vec<KindInterval> {
    kinds
        .iter()
        .map(|kind| KindInterval {
            is_part: kind.part,
            ..KindInterval::default()
        })
        .collect()
}

/// Parts in circulation per worker: one being written, one being merged, one in between.
pub(crate) const PARTS_PER_WORKER: usize = 3;

/// Equal results one after the other: all answers of one receive share their end, and those to
/// one send share their beginning, so that a run is often long and one record serves it whole.
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
    /// What was due before is early.
    window_from_ns: u64,
    interval_ns: u64,
    /// Since when no answer has come although one is waited for.
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

    /// The start line: the first interval begins.
    pub fn start(&mut self, start_ns: u64) {
        self.line_ns = start_ns;
        self.part.index = 0;
        self.part.start_ns = start_ns;
        self.part.end_ns = start_ns + self.interval_ns;
        self.quiet_since_ns = start_ns;
    }

    /// Nothing is waited for: what is sent at `now_ns` or later begins to be.
    #[inline]
    pub fn nothing_awaited(&mut self, now_ns: u64) {
        self.quiet_since_ns = now_ns;
    }

    /// Something was received.
    #[inline]
    pub fn heard(&mut self, now_ns: u64) {
        let quiet_ns = now_ns.saturating_sub(self.quiet_since_ns);
        self.part.client.quiet_ns = self.part.client.quiet_ns.max(quiet_ns);
        self.quiet_since_ns = now_ns;
    }

    /// When the running interval ends.
    #[inline]
    pub fn end_ns(&self) -> u64 {
        self.part.end_ns
    }

    /// When the measured window begins, as far as that is known. To be told before anything is
    /// recorded that was due after. A slice that a late collector made longer ends there.
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

    /// An operation that was due at `intended_ns` ended well; a part of one has its own latency.
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

    /// An operation that was due at `intended_ns` failed, or a part of one: how long after it was
    /// due, and after it was sent if it was.
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

    /// `count` operations of the window will not be sent, which have waited for so long.
    pub fn leave_unsent(&mut self, kind: u8, latency_ns: u64, count: u64) {
        self.part.client.counts[ClientCount::DueNeverSent] += count;
        self.part.kinds[usize::from(kind)].leave_unsent(latency_ns, count);
    }

    /// When the window begins; not before the end of time if that is not known yet.
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

    /// Ends the running interval at its planned end, if an empty part is there to go on with.
    /// `now_ns` may be several intervals later: the slice is then that much longer, but never
    /// holds the begin of the measured window inside.
    pub fn cut(&mut self, world: &mut impl World, now_ns: u64, draining_next: bool) {
        // At the window's begin an empty part is worth waiting for: a slice is of the window or it
        // is not.
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
        // By the clock, so that all workers call the same time by the same number, whatever they
        // had to leave out.
        self.part.index = (end_ns - self.line_ns).div_ceil(self.interval_ns);
        self.part.start_ns = end_ns;
        self.part.end_ns = end_ns + self.interval_ns;
        self.part.draining = draining_next;
    }

    /// Ends the running interval early, at `end_ns`; what comes after is the drain.
    pub fn cut_for_drain(&mut self, world: &mut impl World, end_ns: u64) {
        // A worker that comes late ends the intervals as those did that were in time.
        while self.part.end_ns < end_ns {
            self.cut(world, end_ns - 1, false);
        }
        // Whoever stops read the clock before the interval began, if it has begun just now.
        let end_ns = end_ns.max(self.part.start_ns);
        self.part.end_ns = end_ns;
        // Here an empty part is worth waiting for: what was measured must not mix with the drain.
        if let Some(empty) = world.empty_part(true) {
            self.cut_with(world, empty, end_ns, true);
        }
    }

    /// Hands over the last part, which ends at `end_ns`, or at the begin of the window if that
    /// comes between its last operation and its end.
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

    /// What the worker used of its core since the last time, and how long it waited for it.
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
    use crate::world::{OwnTime, Ready, Watch};
    use std::io;

    const INTERVAL_NS: u64 = 1000;

    /// A world of nothing but so many empty parts, one of them only for who waits.
    struct Collector {
        empty_count: usize,
        slices: Vec<(u64, u64)>,
    }

    impl World for Collector {
        type Stream = io::Empty;

        fn now_ns(&self) -> u64 {
            unreachable!()
        }
        fn own_time(&mut self) -> OwnTime {
            OwnTime::default()
        }
        fn wait(&mut self, _: u64) -> io::Result<usize> {
            unreachable!()
        }
        fn ready(&self, _: usize) -> Ready {
            unreachable!()
        }
        fn watch(&mut self, _: &io::Empty, _: u16, _: Watch) -> io::Result<()> {
            unreachable!()
        }
        fn reopen(&mut self, _: u16) {
            unreachable!()
        }
        fn reopened(&mut self) -> Option<(u16, Link<io::Empty>)> {
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

    /// A recorder on the line 0.
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
    fn an_interval_that_has_begun_when_a_stop_before_it_is_heard_is_empty() {
        let (mut recorder, mut world) = recorder(3);
        recorder.cut(&mut world, 1010, false);
        recorder.cut_for_drain(&mut world, 990);
        recorder.finish(&mut world, 1020);
        assert_eq!(world.slices, [(0, 1000), (1000, 1000), (1000, 1020)]);
    }

    #[test]
    fn a_late_collector_makes_a_slice_longer_but_never_over_the_windows_begin() {
        let (mut recorder, mut world) = recorder(1);
        recorder.cut(&mut world, 1000, false);
        recorder.cut(&mut world, 2000, false);
        // Known only now that the slice goes on for too long.
        recorder.set_window_from_ns(2500);
        assert_eq!(recorder.end_ns(), 2500);
        recorder.cut(&mut world, 2600, false);
        assert_eq!(world.slices, [(0, 2500)]);
        assert_eq!(recorder.part.start_ns, 2500);
    }
}
