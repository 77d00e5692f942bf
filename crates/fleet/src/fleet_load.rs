//! A running load of one or several clients, which appears to the caller as one load.

mod steering;

use crate::client_figures::{ClientEnd, ClientNow, ClientSecond, ClockReading};
use crate::client_messages::{ClientCourse, Merging};
use crate::client_requests::{Disarm, EndNote, Note, their_time};
use crate::clients::{Client, ClientClock, LIMIT, SILENCE_S};
use anyhow::{Context, Result, bail};
use load::failures::NodeFailures;
use load::{
    ClientRecords, Config, FirstError, Flow, KeptRecords, Load, SlowOperation, Summary, Window,
};
use measure::{Interval, clock};
use remote::Link;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Interval between two checks for silent clients.
const LOOK_EVERY_NS: u64 = 100 * clock::MILLISECOND_NS;

#[derive(Debug)]
pub enum Next {
    Interval(Arc<Interval>),
    /// A client is lost, for this reason. The other clients are told to stop.
    Lost(String),
    /// The time limit of the wait has been reached.
    Time,
    /// All clients have ended, and every interval has been returned.
    Over,
}

#[derive(Debug)]
pub struct FleetSummary {
    /// Summary of all clients together.
    pub all: Summary,
    /// Results of each client. Empty if this process has generated the load itself.
    pub clients: Vec<ClientEnd>,
    /// Estimates of the clients' clocks during the load.
    pub clocks: Vec<ClockReading>,
}

/// Running load. Dropping this value ends the load.
pub enum Fleet {
    /// A load that this process generates.
    Alone(Box<Load>),
    /// A load that clients generate.
    Together(Box<FleetLoad>),
}

impl Fleet {
    /// Returns the time of the start line on the local monotonic clock.
    pub fn start_ns(&self) -> u64 {
        match self {
            Fleet::Alone(load) => load.start_ns(),
            Fleet::Together(together) => together.merging.start_ns,
        }
    }

    /// Waits for the next interval, at most until `until_ns` of the monotonic clock.
    pub fn next(&mut self, until_ns: u64) -> Next {
        match self {
            Fleet::Alone(load) => match load.next(until_ns) {
                load::Next::Interval(interval) => Next::Interval(interval),
                load::Next::Time => Next::Time,
                load::Next::Over => Next::Over,
            },
            Fleet::Together(together) => together.next(until_ns),
        }
    }

    pub fn steer(&mut self, flow: Flow) {
        match self {
            Fleet::Alone(load) => load.steer(flow),
            Fleet::Together(together) => together.steer(flow),
        }
    }

    /// Returns the names and places of the load's clients in order. Empty if this process generates
    /// the load.
    pub fn clients(&self) -> impl Iterator<Item = (&str, &str)> {
        let said = match self {
            Fleet::Alone(_) => &[][..],
            Fleet::Together(together) => &together.said,
        };
        said.iter().map(|said| (said.end.name.as_str(), said.end.place.as_str()))
    }

    /// Returns the states of the load's clients in order. Empty if this process generates the load.
    pub fn now(&self) -> Vec<ClientNow> {
        match self {
            Fleet::Alone(_) => Vec::new(),
            Fleet::Together(together) => together.now(),
        }
    }

    /// Returns the clients' intervals since the last call. Empty if this process generates the
    /// load.
    pub fn take_seconds(&mut self) -> Vec<ClientSecond> {
        match self {
            Fleet::Alone(_) => Vec::new(),
            Fleet::Together(together) => std::mem::take(&mut together.merging.seconds),
        }
    }

    /// Waits until all workers have ended, and adds up their results.
    ///
    /// # Errors
    /// A worker could not wait for responses, or has panicked. A lost client is not an error.
    pub fn end(self) -> Result<FleetSummary> {
        match self {
            Fleet::Alone(load) => Ok(FleetSummary {
                all: load.end()?,
                clients: Vec::new(),
                clocks: Vec::new(),
            }),
            Fleet::Together(together) => together.end(),
        }
    }
}

/// Event from a listening thread, with the number of the client.
type Heard = (usize, Word);

enum Word {
    Said(serde_json::Value),
    GoneNode,
    /// Delay in ns with which the client learned of the start of its window or the end of its load.
    Late(u64),
}

pub struct FleetLoad {
    links: Vec<Arc<Link>>,
    clocks: Vec<Arc<ClientClock>>,
    said: Vec<ClientCourse>,
    heard: Receiver<Heard>,
    hearing: Sender<Heard>,
    pub(crate) merging: Merging,
    kept: KeptRecords,
    keeps: ClientRecords,
    window: Window,
    window_from_ns: u64,
    interval_ns: u64,
    shown_ns: u64,
    /// Losses of clients that the caller does not know yet.
    news: Vec<String>,
    is_over: bool,
    /// Reason why the results are invalid, if a worker has failed.
    failed: Option<String>,
}

impl FleetLoad {
    pub(crate) fn new(config: &Config, clients: &[&Client], workers: usize) -> FleetLoad {
        let (hearing, heard) = channel();
        for (number, client) in clients.iter().enumerate() {
            let hearing = hearing.clone();
            client.link.listen(Box::new(move |note| {
                // Sending fails if the receiver has already ended the load.
                let _ = hearing.send((number, note.map_or(Word::GoneNode, Word::Said)));
            }));
        }
        let keeps = ClientRecords {
            first: config.first_operation,
            workers: workers as u64,
            start_ns: 0,
            keeps: config.keeps,
        };
        FleetLoad {
            links: clients.iter().map(|client| Arc::clone(&client.link)).collect(),
            clocks: clients.iter().map(|client| Arc::clone(&client.clock)).collect(),
            said: clients
                .iter()
                .map(|one| ClientCourse::new(&one.name, &one.seat.place()))
                .collect(),
            heard,
            hearing,
            merging: Merging::new(config.program.kinds().len()),
            kept: KeptRecords::new(keeps),
            keeps,
            window: config.window,
            window_from_ns: 0,
            interval_ns: config.interval.as_nanos() as u64,
            shown_ns: 0,
            news: Vec::new(),
            is_over: false,
            failed: None,
        }
    }

    pub(crate) fn are_armed(&mut self, each: impl Iterator<Item = (usize, usize)>) {
        for (said, (workers, connections)) in self.said.iter_mut().zip(each) {
            (said.end.workers, said.end.connections) = (workers, connections);
        }
    }

    /// Sets the start line, `start_ns` on the local clock. For each client, `theirs` has the start
    /// line on the client's clock, and the time in ns by which the client learned of it too late.
    pub(crate) fn begin(&mut self, start_ns: u64, theirs: Vec<(u64, u64)>) {
        self.merging.start_ns = start_ns;
        self.keeps.start_ns = start_ns;
        self.kept = KeptRecords::new(self.keeps);
        self.window_from_ns = match self.window {
            Window::Whole => 0,
            Window::After(warmup) => start_ns + warmup.as_nanos() as u64,
            Window::WhenTold => u64::MAX,
        };
        for (said, (theirs_start_ns, late_ns)) in self.said.iter_mut().zip(theirs) {
            said.theirs_start_ns = theirs_start_ns;
            said.end.late_ns = late_ns;
            said.heard_ns = start_ns;
        }
        self.shown_ns = start_ns;
    }

    fn next(&mut self, until_ns: u64) -> Next {
        loop {
            if let Some(lost) = self.news.pop() {
                return Next::Lost(lost);
            }
            if let Some(mut interval) = self.merging.next(&self.said) {
                interval.window_from_ns = self.window_from_ns;
                self.shown_ns = interval.end_ns;
                return Next::Interval(Arc::new(interval));
            }
            if self.said.iter().all(|said| said.next.is_none()) && self.merging.is_empty() {
                self.is_over = true;
                return Next::Over;
            }
            let now_ns = clock::now_ns();
            if now_ns >= until_ns {
                return Next::Time;
            }
            let wait_ns = (until_ns - now_ns).min(LOOK_EVERY_NS);
            match self.heard.recv_timeout(Duration::from_nanos(wait_ns)) {
                Ok((number, Word::Said(note))) => self.hear(number, note),
                Ok((number, Word::Late(ns))) => self.lose(number, steering::too_late(ns)),
                Ok((number, Word::GoneNode)) => {
                    let why = self.links[number].lost().unwrap_or_default();
                    self.lose(number, format!("has ended: {why}"));
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            self.look_for_silence();
        }
    }

    fn now(&self) -> Vec<ClientNow> {
        let now_ns = clock::now_ns();
        let one = |(number, said): (usize, &ClientCourse)| {
            let bound_ns = self.clocks[number].offset().map(|offset| offset.bound_ns);
            let silent_ns = said.next.map_or(0, |_| self.silent_ns(number, now_ns));
            ClientNow {
                name: said.end.name.clone(),
                place: said.end.place.clone(),
                second: said.second,
                silent_s: silent_ns as f64 / 1e9,
                clock_bound_ms: bound_ns.map(|ns| ns as f64 / 1e6),
                is_lost: said.end.lost.is_some(),
            }
        };
        self.said.iter().enumerate().map(one).collect()
    }

    /// Returns the time since a client's last message, or since the start of the load if that is
    /// shorter.
    fn silent_ns(&self, number: usize, now_ns: u64) -> u64 {
        let heard_ns = self.said[number].heard_ns.max(self.clocks[number].heard_ns());
        now_ns.saturating_sub(heard_ns.max(self.merging.start_ns))
    }

    fn hear(&mut self, number: usize, note: serde_json::Value) {
        let now_ns = clock::now_ns();
        let said = &mut self.said[number];
        if said.next.is_none() {
            return;
        }
        said.heard_ns = now_ns;
        if let Err(error) = self.take(number, note, now_ns) {
            self.failed
                .get_or_insert_with(|| format!("{}: {error:#}", self.said[number].end.name));
            self.lose(number, format!("failed: {error:#}"));
        }
    }

    fn take(&mut self, number: usize, note: serde_json::Value, now_ns: u64) -> Result<()> {
        let note =
            serde_json::from_value::<Note>(note).context("parse the message of the client")?;
        let said = &mut self.said[number];
        if let Some(piece) = self.merging.take(number, said, note, now_ns)? {
            let offset = self.clocks[number]
                .offset()
                .context("the offset of the client's clock is unknown")?;
            self.kept
                .add(&piece, their_time(offset))
                .context("the client recorded operations that the study did not request")?;
        }
        Ok(())
    }

    /// Declares a client lost if it was silent for longer than its lease. A client with only frozen
    /// threads sends no messages. A client that waits for its CPUs still answers clock queries, so
    /// it is not silent.
    fn look_for_silence(&mut self) {
        let now_ns = clock::now_ns();
        for number in 0..self.said.len() {
            let silent_ns = self.silent_ns(number, now_ns);
            if self.said[number].next.is_some() && silent_ns > SILENCE_S * clock::SECOND_NS {
                let words = format!("has sent no message for {:.1} s", silent_ns as f64 / 1e9);
                self.lose(number, words);
            }
        }
    }

    /// Records the loss of a client, and ends all clients. The remaining load would differ from the
    /// requested one, so its results would be useless.
    fn lose(&mut self, number: usize, why: String) {
        let now_ns = clock::now_ns();
        let said = &mut self.said[number];
        if said.next.take().is_none() {
            return;
        }
        let when = when(now_ns, self.window_from_ns, self.merging.start_ns);
        let words = format!("{} ({}) {why}, {when}", said.end.name, said.end.place);
        said.end.lost = Some(words.clone());
        self.news.push(words);
        self.steer(Flow::Abandon);
    }

    fn end(mut self) -> Result<FleetSummary> {
        while !self.is_over {
            self.next(u64::MAX);
        }
        if let Some(why) = self.failed.take() {
            bail!(why);
        }
        let start_ns = self.merging.start_ns;
        let kept = std::mem::replace(
            &mut self.kept,
            KeptRecords::new(ClientRecords {
                keeps: Default::default(),
                ..self.keeps
            }),
        );
        let (ledger, history) = kept.finish();
        let mut all = Summary {
            start_ns,
            operations_sent: 0,
            operations_ended: 0,
            next_operation: self.keeps.first,
            workers: 0,
            realtime: true,
            connections: 0,
            first_errors: Vec::new(),
            missed_rows: Vec::new(),
            failures: Vec::new(),
            slowest: Vec::new(),
            ledger,
            history,
        };
        let ended = self.said.iter_mut().filter_map(|said| said.ended.take());
        ended.for_each(|note| add(&mut all, note));
        load::keep_slowest(&mut all.slowest);
        let readings = self.clocks.iter().enumerate();
        let clocks: Vec<ClockReading> =
            readings.flat_map(|(number, clock)| clock.readings(number)).collect();
        let said = std::mem::take(&mut self.said);
        let clients = said.into_iter().enumerate().map(|(number, said)| {
            let clock = &self.clocks[number];
            let noted = clocks.iter().filter(|one| one.client == number).map(|one| one.bound_ns);
            let last = clock.offset().map(|one| one.bound_ns);
            ClientEnd {
                bound_ns: noted.chain(last).max().unwrap_or(0),
                breaks: clock.breaks(),
                ..said.end
            }
        });
        Ok(FleetSummary {
            all,
            clients: clients.collect(),
            clocks,
        })
    }
}

fn add(all: &mut Summary, note: EndNote) {
    all.operations_sent += note.operations_sent;
    all.operations_ended += note.operations_ended;
    all.next_operation = all.next_operation.max(note.next_operation);
    all.workers += note.workers;
    all.realtime &= note.realtime;
    all.connections += note.connections;
    for (outcome, node, message) in note.first_errors {
        if all.first_errors.iter().all(|known| known.outcome != outcome) {
            all.first_errors.push(FirstError {
                outcome,
                node,
                message,
            });
        }
    }
    all.add_missed_rows(note.missed_rows);
    let at = |since_ns: u64| all.start_ns + since_ns;
    let slowest = note.slowest.into_iter().map(|one| SlowOperation {
        number: one.number,
        kind: one.kind,
        node: one.node,
        due_ns: at(one.due_ns),
        sent_ns: one.sent_ns.map(at),
        end_ns: at(one.end_ns),
        outcome: one.outcome,
        retries: one.retries,
        is_speculated: one.is_speculated,
    });
    all.slowest.extend(slowest);
    for (node, count, since) in note.failures {
        let [first_ns, last_ns] = since.map(|ns| all.start_ns + ns);
        match all.failures.iter_mut().find(|known| known.node == node) {
            Some(known) => {
                known.count += count;
                known.first_ns = known.first_ns.min(first_ns);
                known.last_ns = known.last_ns.max(last_ns);
            }
            None => all.failures.push(NodeFailures {
                node,
                count,
                first_ns,
                last_ns,
            }),
        }
    }
}

impl Drop for FleetLoad {
    fn drop(&mut self) {
        // Waits until the load has ended, so that all resources are free for the next load.
        let there = self.said.iter().zip(&self.links).filter(|(said, _)| said.next.is_some());
        std::thread::scope(|scope| {
            for (_, link) in there {
                scope.spawn(move || link.call(&Disarm, LIMIT));
            }
        });
    }
}

/// Returns the time of an event for messages: since the start of the window or, before the window,
/// since the start of the load.
fn when(at_ns: u64, window_from_ns: u64, load_from_ns: u64) -> String {
    let since = |from_ns: u64| at_ns.saturating_sub(from_ns) as f64 / 1e9;
    if at_ns >= window_from_ns {
        // A window that spans the whole load has no separate start.
        let from_ns = window_from_ns.max(load_from_ns);
        format!("{:.1} s after the window began", since(from_ns))
    } else {
        format!(
            "{:.1} s after the load began, before the window began",
            since(load_from_ns)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_the_time_of_the_window_once_that_has_begun() {
        const S: u64 = 1_000_000_000;
        assert_eq!(when(12 * S, 7 * S, 5 * S), "5.0 s after the window began");
        assert_eq!(when(12 * S, 0, 5 * S), "7.0 s after the window began");
        let before = "1.5 s after the load began, before the window began";
        assert_eq!(when(6 * S + S / 2, 7 * S, 5 * S), before);
        assert_eq!(when(6 * S + S / 2, u64::MAX, 5 * S), before);
    }
}
