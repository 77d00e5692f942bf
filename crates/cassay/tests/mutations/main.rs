//! Texts that come from others, changed at random: studies, workload files, command lines of other
//! tools and what they name, and every file of a run. Whatever is in them, reading ends: with an
//! answer or a sentence, not with a panic, not never, and not with all the memory there is.
//!
//! Random, and yet the same in every run: input n of a kind is a function of the seed and n, so
//! that a finding says how to be found again, and the number of inputs is fixed and takes as long
//! as it takes. `cargo xtask mutate` tries more. A binary of its own: its allocator sees every
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
use corpus::Kind;
use foreign::FileKind;
use measure::clock;
use mutator::Mutator;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Inputs of each kind in the gate, times what the kind weighs: 12,000 in all.
const INPUTS_COUNT: u64 = 60;

/// What one input may make of the memory: the largest file that may be read is 32 MiB, and a tree
/// of it some times that.
const MEMORY_BYTES_MAX: usize = 512 << 20;

/// Inputs of each kind in which little is said many times over, of a quarter of a MiB each; with
/// `cargo xtask mutate` of a whole one.
const AMPLIFIED_COUNT: u64 = 6;
const AMPLIFIED_BYTES: usize = 1 << 18;
const AMPLIFIED_BYTES_LONG: usize = 1 << 20;

/// What one of them may make of the memory, and of the time of a CPU: 2 s of a program as it is
/// shipped, of which ours here are one that nobody has optimised.
const AMPLIFIED_MEMORY_MAX: usize = 256 << 20;
const AMPLIFIED_CPU: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 2 });

/// Inputs of the largest size of each kind of file.
const LARGEST_COUNT: u64 = 6;

/// All memory of the process is counted: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// An input that takes longer never ends: the slowest take a second on a busy machine.
const HANG: Duration = Duration::from_secs(120);

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Telling = Telling {
    // Only counted: a null pointer for too much would end the process without a name for the input,
    // and memory that nobody touches costs nothing.
    given: |bytes| {
        let live = LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
        PEAK.fetch_max(live, Ordering::Relaxed);
    },
    returned: |bytes| {
        LIVE.fetch_sub(bytes, Ordering::Relaxed);
    },
};

/// A number of the environment, or what stands in the gate.
fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name);
    text.map_or(default, |text| text.parse().expect("a number"))
}

/// All kinds of input.
fn kinds() -> Vec<Kind> {
    corpus::kinds().into_iter().chain(files::kinds()).collect()
}

/// Where an input is kept that must not have been read as it was.
fn keep(kind: &Kind, seed: u64, input: &[u8]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("mutations");
    std::fs::create_dir_all(&folder).expect("a folder for findings");
    let path = folder.join(format!("{}-{seed}", kind.name));
    std::fs::write(&path, input).expect("the finding is written");
    path
}

/// Reads one input; what is wrong with how it went.
fn wrong(kind: &Kind, input: &[u8], memory_bytes_max: usize) -> Option<String> {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    if catch_unwind(AssertUnwindSafe(|| (kind.read)(input))).is_err() {
        return Some("a panic".to_owned());
    }
    let most = PEAK.load(Ordering::Relaxed).saturating_sub(before);
    (most > memory_bytes_max).then(|| format!("{} MiB of memory", most >> 20))
}

/// Ends the process, with the name of the input, when one never ends.
fn watch(inputs: mpsc::Receiver<(String, u64)>, now: &Mutex<Vec<u8>>) {
    let mut at = None;
    loop {
        match inputs.recv_timeout(HANG) {
            Ok(input) => at = Some(input),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let kind = Kind {
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
fn nothing_that_others_write_makes_reading_panic_hang_or_take_all_memory() {
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
            // A panic of this thread alone would wait for the one that hangs.
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

/// A limit has to be looked at before the memory or the time is spent that it limits.
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

/// Every kind of file that is opened has inputs, by the names of kinds that there are.
#[test]
fn every_kind_of_file_that_is_opened_is_tried() {
    let all = kinds();
    for kind in FileKind::ALL {
        match files::tried(kind) {
            files::Tried::As(names) => {
                assert!(!names.is_empty(), "{kind:?}");
                for name in names {
                    assert!(all.iter().any(|one| one.name == *name), "{kind:?}: {name}");
                }
            }
            files::Tried::Not(reason) => assert!(!reason.is_empty(), "{kind:?}"),
        }
    }
}

/// A file is refused by its size before it takes more memory than all of them may.
#[test]
fn the_largest_file_of_each_kind_that_is_held_fits_into_memory() {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let only = std::env::var("CASSAY_MUTATE_ONLY").unwrap_or_default();
    let times = number("CASSAY_MUTATE_TIMES", 1);
    let all = kinds();
    let mut found = Vec::new();
    for file in FileKind::ALL.into_iter().filter(|kind| kind.is_held()) {
        let files::Tried::As(names) = files::tried(file) else {
            continue;
        };
        // What is said of a text goes for the file: some parts of it are left to the rest.
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
