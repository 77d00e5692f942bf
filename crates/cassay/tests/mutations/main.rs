//! Mutates untrusted texts at random: studies, workload files, command lines of other tools and the
//! files they name, and every file of a run. Reading always ends with an answer or an error
//! message, and never with a panic, an endless loop, or memory exhaustion.
//!
//! The mutations are the same in every run. Input n of a kind is a function of the seed and n, so
//! that a finding can be reproduced. The number of inputs is fixed, not the time. `cargo xtask
//! mutate` tries more inputs. This is a separate test binary, because its allocator sees every
//! thread of the process.

#[path = "../../../cql/tests/it/allocator.rs"]
mod allocator;
mod amplifier;
mod corpus;
mod files;
mod mutator;
mod query_log;
#[path = "../../../../fuzz/read.rs"]
mod read;

use allocator::Telling;
use corpus::InputKind;
use foreign::FileKind;
use measure::clock;
use mutator::Mutator;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Number of inputs of each kind in the gate, before it is multiplied by the kind's weight.
const INPUTS_COUNT: u64 = 60;

/// Maximum memory for one input, in bytes. The largest file that may be read has 32 MiB, and its
/// tree is several times larger.
const MEMORY_BYTES_MAX: usize = 512 << 20;

/// Number of inputs of each kind that repeat little content many times. Each input has a quarter of
/// a MiB, or one MiB with `cargo xtask mutate`.
const AMPLIFIED_COUNT: u64 = 6;
const AMPLIFIED_BYTES: usize = 1 << 18;
const AMPLIFIED_BYTES_LONG: usize = 1 << 20;

/// Maximum memory for an amplified input, in bytes. [`AMPLIFIED_CPU`] is its maximum CPU time,
/// which is longer in this test build than in an optimised build.
const AMPLIFIED_MEMORY_MAX: usize = 256 << 20;
const AMPLIFIED_CPU: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 2 });

/// Number of inputs with the largest size of each kind of file.
const LARGEST_COUNT: u64 = 6;

/// Lock that allows only one test at a time, because all memory of the process is counted.
static ALONE: Mutex<()> = Mutex::new(());

/// Time after which an input counts as hanging. The slowest inputs take a second on a busy machine.
const HANG: Duration = Duration::from_secs(120);

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Telling = Telling {
    // The allocator only counts. If it returned a null pointer for too much memory, the process
    // would end without naming the input. Memory that is not touched costs nothing.
    given: |bytes| {
        let live = LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
        PEAK.fetch_max(live, Ordering::Relaxed);
    },
    returned: |bytes| {
        LIVE.fetch_sub(bytes, Ordering::Relaxed);
    },
};

fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name);
    text.map_or(default, |text| text.parse().expect("a number"))
}

fn kinds() -> Vec<InputKind> {
    corpus::kinds().into_iter().chain(files::kinds()).collect()
}

/// Saves an input that the program handled wrongly. Returns the path of the saved file.
fn keep(kind: &InputKind, seed: u64, input: &[u8]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("mutations");
    std::fs::create_dir_all(&folder).expect("a folder for findings");
    let path = folder.join(format!("{}-{seed}", kind.name));
    std::fs::write(&path, input).expect("the finding is written");
    path
}

/// Reads one input. Returns the failure, or `None` if the program handled the input correctly.
fn wrong(kind: &InputKind, input: &[u8], memory_bytes_max: usize) -> Option<String> {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    if catch_unwind(AssertUnwindSafe(|| (kind.read)(input))).is_err() {
        return Some("a panic".to_owned());
    }
    let most = PEAK.load(Ordering::Relaxed).saturating_sub(before);
    (most > memory_bytes_max).then(|| format!("{} MiB of memory", most >> 20))
}

/// Ends the process if the reading of an input hangs, and names the input.
fn watch(inputs: mpsc::Receiver<(String, u64)>, now: &Mutex<Vec<u8>>) {
    let mut at = None;
    loop {
        match inputs.recv_timeout(HANG) {
            Ok(input) => at = Some(input),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let kind = InputKind {
                    name: "hang",
                    ..kinds().remove(0)
                };
                let (name, seed) = at.unwrap_or_default();
                let path = keep(&kind, seed, &now.lock().expect("no panic holds it"));
                panic!(
                    "{name}, seed {seed}: it never ends; kept as {}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn foreign_input_never_makes_a_reader_panic_hang_or_fill_memory() {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (first, times) = (
        number("CASSAY_MUTATE_SEED", 1),
        number("CASSAY_MUTATE_TIMES", 1),
    );
    let only = std::env::var("CASSAY_MUTATE_ONLY").unwrap_or_default();
    let now = Mutex::new(Vec::new());
    let (tell, inputs) = mpsc::channel();
    let mut found = Vec::new();
    std::thread::scope(|scope| {
        let now = &now;
        scope.spawn(move || {
            // If only this thread panicked, the process would wait for the thread that hangs. So
            // this code ends the whole process.
            if catch_unwind(AssertUnwindSafe(|| watch(inputs, now))).is_err() {
                std::process::abort();
            }
        });
        for kind in kinds() {
            if !kind.name.contains(&only) {
                continue;
            }
            let texts = (kind.texts)();
            for (_, text) in &texts {
                assert_eq!(
                    wrong(&kind, text, MEMORY_BYTES_MAX),
                    None,
                    "{}: as it is",
                    kind.name
                );
            }
            for n in 0..INPUTS_COUNT * kind.weight * times {
                let seed = first.wrapping_add(n);
                let mut mutator = Mutator::new(seed);
                let (_, text) = &texts[mutator.below(texts.len())];
                let input = mutator.mutated(text, &texts);
                now.lock().expect("no panic holds it").clone_from(&input);
                tell.send((kind.name.to_owned(), seed)).expect("the watch goes on");
                if let Some(what) = wrong(&kind, &input, MEMORY_BYTES_MAX) {
                    let path = keep(&kind, seed, &input);
                    found.push(format!("{}: {what}; kept as {}", kind.name, path.display()));
                }
            }
        }
        drop(tell);
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
    drop(alone);
}

/// A reader must check a limit before it uses the memory or time that the limit restricts.
#[test]
fn nothing_small_that_others_write_takes_much_memory_or_time() {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (first, times) = (
        number("CASSAY_MUTATE_SEED", 1),
        number("CASSAY_MUTATE_TIMES", 1),
    );
    let bytes = if times > 1 {
        AMPLIFIED_BYTES_LONG
    } else {
        AMPLIFIED_BYTES
    };
    let only = std::env::var("CASSAY_MUTATE_ONLY").unwrap_or_default();
    let mut found = Vec::new();
    for kind in kinds() {
        let texts = (kind.texts)();
        let is_text = |text: &&(&str, Vec<u8>)| std::str::from_utf8(&text.1).is_ok();
        let texts: Vec<_> = texts.iter().filter(is_text).collect();
        if !kind.name.contains(&only) || texts.is_empty() {
            continue;
        }
        for seed in first..first + AMPLIFIED_COUNT * times {
            let mut dice = Mutator::new(seed);
            let (_, text) = texts[dice.below(texts.len())];
            let input = amplifier::amplified(&mut dice, text, bytes);
            let began_ns = clock::thread_cpu_ns();
            let what = wrong(&kind, &input, AMPLIFIED_MEMORY_MAX);
            let took = Duration::from_nanos(clock::thread_cpu_ns() - began_ns);
            let slow = (took > AMPLIFIED_CPU).then(|| format!("{took:?} of a CPU"));
            for what in what.into_iter().chain(slow) {
                let path = keep(&kind, seed, &input);
                found.push(format!("{}: {what}; kept as {}", kind.name, path.display()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    drop(alone);
}

/// Every kind of file that the program opens has inputs, according to the list of kinds.
#[test]
fn every_kind_of_file_that_is_opened_is_tried() {
    let all = kinds();
    for kind in FileKind::ALL {
        match files::tried(kind) {
            files::FileTest::As(names) => {
                assert!(!names.is_empty(), "{kind:?}");
                for name in names {
                    assert!(all.iter().any(|one| one.name == *name), "{kind:?}: {name}");
                }
            }
            files::FileTest::Not(reason) => assert!(!reason.is_empty(), "{kind:?}"),
        }
    }
}

/// If reading a file would exceed the memory limit of its kind, the program refuses the file
/// because of its size before reading it.
#[test]
fn the_largest_file_of_each_kind_that_is_held_fits_into_memory() {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let only = std::env::var("CASSAY_MUTATE_ONLY").unwrap_or_default();
    let times = number("CASSAY_MUTATE_TIMES", 1);
    let all = kinds();
    let mut found = Vec::new();
    for file in FileKind::ALL.into_iter().filter(|kind| kind.is_held()) {
        let files::FileTest::As(names) = files::tried(file) else {
            continue;
        };
        // The amplified text fills the file except for 64 KiB, which the other parts of the file
        // may need.
        let bytes = usize::try_from(file.bytes_max()).expect("it is held") - (64 << 10);
        for kind in all.iter().filter(|kind| names.contains(&kind.name)) {
            let texts = (kind.texts)();
            let is_text = |text: &&(&str, Vec<u8>)| std::str::from_utf8(&text.1).is_ok();
            let texts: Vec<_> = texts.iter().filter(is_text).collect();
            if !kind.name.contains(&only) || texts.is_empty() {
                continue;
            }
            for seed in 1..=LARGEST_COUNT * times {
                let mut dice = Mutator::new(seed);
                let (_, text) = texts[dice.below(texts.len())];
                let input = amplifier::amplified(&mut dice, text, bytes);
                if let Some(what) = wrong(kind, &input, AMPLIFIED_MEMORY_MAX) {
                    let kept = keep(kind, seed, &input).display().to_string();
                    found.push(format!("{file:?} as {}: {what}; kept as {kept}", kind.name));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    drop(alone);
}
