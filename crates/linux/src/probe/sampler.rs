//! Sampling threads. Each sampling thread has a list of tasks with absolute due times.

use super::{Out, ProbeCost, Reading, SampledSource};
use anyhow::{Context, Result, ensure};
use measure::clock;
use std::borrow::Cow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Maximum number of readings that wait for the caller. This number is reached after about an hour
/// with 250 readings per second, and callers take readings far more often. Without a limit, a
/// caller that does not read would fill the memory of the machine under test.
const READINGS_COUNT_MAX: usize = 1 << 20;

/// Maximum number of different problems that a probe records. This number is enough for a
/// diagnosis.
const PROBLEMS_COUNT_MAX: usize = 16;

/// Shortest permitted period. With a shorter period, the probe itself would load the machine.
const PERIOD_MIN: Duration = Duration::from_millis(10);

/// A source that is sampled with a period.
pub struct Task {
    probe: &'static str,
    look: Box<dyn SampledSource>,
    due_ns: u64,
    cost: ProbeCost,
}

impl Task {
    /// Creates a task that samples `probe` at `place` every `period`.
    pub fn new(
        probe: &'static str,
        place: &str,
        period: Duration,
        look: Box<dyn SampledSource>,
    ) -> Task {
        Task {
            probe,
            look,
            due_ns: 0,
            cost: ProbeCost {
                probe: Cow::Borrowed(probe),
                place: place.to_owned(),
                period,
                looks: 0,
                missed: 0,
                values: 0,
                cpu_ns: 0,
                longest_ns: 0,
                clock_bound_ns: None,
                problems: Vec::new(),
            },
        }
    }

    /// Sets the next due time to the first one after `now_ns`. The skipped due times count as
    /// missed.
    fn advance(&mut self, now_ns: u64) {
        let period_ns = self.cost.period.as_nanos() as u64;
        let over = now_ns.saturating_sub(self.due_ns) / period_ns;
        self.cost.missed += over;
        self.due_ns += (over + 1) * period_ns;
    }

    /// Takes one sample, or the last one if `last` is true, and adds its readings to `out`.
    fn run(&mut self, last: bool, out: &mut Out, cpu_mark_ns: &mut u64, shared: &Shared) {
        let begun_ns = clock::now_ns();
        out.begin(self.probe, begun_ns);
        let result = if last {
            self.look.last(begun_ns, out)
        } else {
            self.look.look(begun_ns, out)
        };
        if let Err(error) = result {
            note(&mut self.cost.problems, format!("{error:#}"));
        }
        self.cost.looks += u64::from(!last);
        self.cost.values += out.readings().len() as u64;
        let dropped = shared.hand_over(out);
        if dropped {
            let problem = format!(
                "cassay dropped readings: {READINGS_COUNT_MAX} readings already waited for the \
                 reader"
            );
            note(&mut self.cost.problems, problem);
        }
        self.cost.longest_ns = self.cost.longest_ns.max(clock::now_ns() - begun_ns);
        // This includes all CPU time of the thread since the previous task, so the cost of a
        // wake-up counts for the task that caused it.
        let cpu_ns = cpu_ns();
        self.cost.cpu_ns += cpu_ns - *cpu_mark_ns;
        *cpu_mark_ns = cpu_ns;
    }
}

fn note(problems: &mut Vec<String>, problem: String) {
    if problems.len() < PROBLEMS_COUNT_MAX && !problems.contains(&problem) {
        problems.push(problem);
    }
}

/// A sampling thread that has not started yet, with its tasks.
pub struct Sampler {
    name: String,
    tasks: Vec<Task>,
}

impl Sampler {
    /// Creates a sampler without tasks. `name` is the name of the thread, of which other tools show
    /// at most 15 bytes.
    pub fn new(name: &str) -> Sampler {
        Sampler {
            name: name.to_string(),
            tasks: Vec::new(),
        }
    }

    /// Adds a task. Tasks that are due at the same time run in the order in which they were added.
    pub fn add(&mut self, task: Task) {
        self.tasks.push(task);
    }
}

/// Running probes. Dropping them stops them.
pub struct Probes {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Vec<ProbeCost>>>,
}

impl Probes {
    /// Starts a thread for each sampler that has a task. The first samples are due at once.
    ///
    /// # Errors
    /// A period is shorter than the minimum, or a thread cannot be started.
    pub fn start(samplers: Vec<Sampler>) -> Result<Probes> {
        for cost in samplers.iter().flat_map(|sampler| &sampler.tasks) {
            let ProbeCost { probe, period, .. } = &cost.cost;
            ensure!(
                *period >= PERIOD_MIN,
                "the probe {probe} has a period of {period:?}; the minimum is {PERIOD_MIN:?}, \
                 because a shorter period would load the machine"
            );
        }
        let mut probes = Probes {
            shared: Arc::new(Shared::default()),
            threads: Vec::new(),
        };
        let start_ns = clock::now_ns();
        for mut sampler in samplers {
            if sampler.tasks.is_empty() {
                continue;
            }
            for task in &mut sampler.tasks {
                task.due_ns = start_ns;
            }
            let shared = Arc::clone(&probes.shared);
            let thread = std::thread::Builder::new()
                .name(sampler.name.clone())
                .spawn(move || sample(sampler.tasks, &shared))
                .with_context(|| format!("start the thread {}", sampler.name))?;
            probes.threads.push(thread);
        }
        Ok(probes)
    }

    /// Returns all readings since the last call, in the order in which the samples ended.
    pub fn take(&self) -> Vec<Reading> {
        std::mem::take(&mut lock(&self.shared.readings))
    }

    /// Stops sampling. Current samples finish, and no new sample begins. Returns the readings that
    /// have not been taken yet, and the work and cost of each probe.
    ///
    /// # Panics
    /// If a sample has panicked.
    pub fn stop(mut self) -> (Vec<Reading>, Vec<ProbeCost>) {
        self.shared.end();
        let mut costs = Vec::new();
        for thread in self.threads.drain(..) {
            match thread.join() {
                Ok(more) => costs.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        (self.take(), costs)
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        self.shared.end();
        for thread in self.threads.drain(..) {
            // The result is ignored, because a caller that needs it calls `stop`.
            let _ = thread.join();
        }
    }
}

#[derive(Default)]
struct Shared {
    readings: Mutex<Vec<Reading>>,
    ended: Mutex<bool>,
    end: Condvar,
}

impl Shared {
    /// Moves the readings of `out` to the shared list. Returns true if some were dropped.
    fn hand_over(&self, out: &mut Out) -> bool {
        let mut readings = lock(&self.readings);
        let room = READINGS_COUNT_MAX.saturating_sub(readings.len());
        let mut more = out.drain();
        readings.extend(more.by_ref().take(room));
        more.next().is_some()
    }

    /// Waits until `due_ns`. Returns false if sampling ends before that time.
    fn wait_until(&self, due_ns: u64) -> bool {
        let mut ended = lock(&self.ended);
        loop {
            if *ended {
                return false;
            }
            let left_ns = due_ns.saturating_sub(clock::now_ns());
            if left_ns == 0 {
                return true;
            }
            let left = Duration::from_nanos(left_ns);
            let waited = self.end.wait_timeout(ended, left);
            (ended, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn end(&self) {
        *lock(&self.ended) = true;
        self.end.notify_all();
    }
}

/// Locks a mutex. A poisoned lock is accepted, because a panicking sample cannot leave the data
/// inconsistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the CPU time of this thread plus that of the agents that answer this thread.
fn cpu_ns() -> u64 {
    clock::thread_cpu_ns() + remote::cpu_there_ns()
}

fn sample(mut tasks: Vec<Task>, shared: &Shared) -> Vec<ProbeCost> {
    let mut out = Out::new();
    let mut cpu_mark_ns = cpu_ns();
    while let Some(task) = tasks.iter_mut().min_by_key(|task| task.due_ns) {
        if !shared.wait_until(task.due_ns) {
            break;
        }
        task.run(false, &mut out, &mut cpu_mark_ns, shared);
        task.advance(clock::now_ns());
    }
    for task in &mut tasks {
        task.run(true, &mut out, &mut cpu_mark_ns, shared);
    }
    let mut costs = Vec::new();
    for mut task in tasks {
        let more = task.look.ended(&mut task.cost);
        costs.push(task.cost);
        costs.extend(more);
    }
    costs
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// A source that reports each sample to the test and waits for the test's answer. The answer is
    /// a value or the reason for a failure.
    struct Fake {
        asked: mpsc::Sender<u64>,
        answer: mpsc::Receiver<Result<f64, String>>,
    }

    impl SampledSource for Fake {
        fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
            self.asked.send(now_ns)?;
            let value = self.answer.recv()?.map_err(anyhow::Error::msg)?;
            out.put("fake.value", "here", "count", value);
            Ok(())
        }

        fn last(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
            out.put_at(now_ns - 1, "fake.last", "here", "ms", 1.0);
            Ok(())
        }
    }

    fn fake(period: Duration) -> (Task, mpsc::Receiver<u64>, mpsc::Sender<Result<f64, String>>) {
        let (asked, was_asked) = mpsc::channel();
        let (tell, answer) = mpsc::channel();
        let look = Box::new(Fake { asked, answer });
        (Task::new("fake", "here", period, look), was_asked, tell)
    }

    #[test]
    fn a_period_that_is_too_short_is_refused_and_not_made_longer() {
        let (task, _asked, _tell) = fake(Duration::from_micros(9_999));
        let mut sampler = Sampler::new("probe-test");
        sampler.add(task);
        let error = Probes::start(vec![sampler]).err().unwrap().to_string();
        assert!(error.contains("9.999ms; the minimum is 10ms"), "{error}");
    }

    #[test]
    fn a_look_that_fails_is_noted_once_and_the_next_ones_are_made() {
        let (task, asked, tell) = fake(Duration::from_millis(10));
        let mut sampler = Sampler::new("probe-test");
        sampler.add(task);
        let probes = Probes::start(vec![sampler, Sampler::new("probe-idle")]).unwrap();
        let answers = [Ok(1.0), Err("gone"), Err("gone"), Ok(f64::NAN), Ok(2.0)];
        let mut times = Vec::new();
        for answer in answers {
            times.push(asked.recv().unwrap());
            tell.send(answer.map_err(str::to_string)).unwrap();
        }
        // The sixth sample begins after the thread has passed on the readings of the fifth sample.
        // It ends with an error.
        asked.recv().unwrap();
        let taken = probes.take();
        tell.send(Err("gone".to_string())).unwrap();
        let (rest, costs) = probes.stop();

        let values: Vec<(u64, f64)> = taken.iter().map(|one| (one.at_ns, one.value)).collect();
        assert_eq!(values, [(times[0], 1.0), (times[4], 2.0)]);
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(&*taken[0].name, "fake.value");
        assert_eq!(rest.last().map(|one| &*one.name), Some("fake.last"));
        assert_eq!(costs.len(), 1);
        assert_eq!(costs[0].problems[0], "gone");
        assert_eq!(costs[0].values, 3);
        assert!(costs[0].looks >= 6 && costs[0].cpu_ns > 0 && costs[0].longest_ns > 0);
    }

    #[test]
    fn missed_looks_are_left_out_and_the_grid_of_due_times_stays() {
        let (mut task, _asked, _tell) = fake(Duration::from_millis(100));
        const MS: u64 = 1_000_000;
        task.due_ns = 1000 * MS;
        // Each row has the end of the sample, the next due time, and the number of missed samples
        // so far.
        for (ended_ms, due_ms, missed) in [
            (1000, 1100, 0),
            (1199, 1200, 0),
            (1200, 1300, 0),
            (1400, 1500, 1),
            (1999, 2000, 5),
        ] {
            task.advance(ended_ms * MS);
            assert_eq!((task.due_ns, task.cost.missed), (due_ms * MS, missed));
        }
    }

    #[test]
    fn readings_that_nobody_takes_are_limited() {
        let shared = Shared::default();
        let mut out = Out::new();
        out.begin("fake", 1);
        for n in 0..READINGS_COUNT_MAX {
            out.put("fake.value", "here", "count", n as f64);
        }
        assert!(!shared.hand_over(&mut out));
        out.put("fake.value", "here", "count", -1.0);
        assert!(shared.hand_over(&mut out));
        assert!(out.readings().is_empty());
        assert_eq!(lock(&shared.readings).len(), READINGS_COUNT_MAX);
    }

    #[test]
    fn probes_that_are_dropped_end_their_threads() {
        let (task, asked, tell) = fake(Duration::from_secs(3600));
        let mut sampler = Sampler::new("probe-test");
        sampler.add(task);
        let probes = Probes::start(vec![sampler]).unwrap();
        asked.recv().unwrap();
        tell.send(Ok(1.0)).unwrap();
        drop(probes);
        // The thread has dropped the source, and therefore the source's end of the channel.
        assert!(asked.recv().is_err());
    }
}
