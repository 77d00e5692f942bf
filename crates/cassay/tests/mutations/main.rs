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
mod corpus;
mod mutator;
#[path = "../../../../fuzz/read.rs"]
mod read;

use allocator::Telling;
use corpus::Kind;
use mutator::Mutator;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// Inputs of each kind in the gate, times what the kind weighs: 30,000 in all, which took 31 s on
/// two shared cores (Intel Xeon).
const INPUTS_COUNT: u64 = 200;

/// What one input may make of the memory: the largest file that may be read is 32 MiB, and a tree
/// of it some times that.
const MEMORY_BYTES_MAX: usize = 512 << 20;

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

/// Where an input is kept that must not have been read as it was.
fn keep(kind: &Kind, seed: u64, input: &[u8]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("mutations");
    std::fs::create_dir_all(&folder).expect("a folder for findings");
    let path = folder.join(format!("{}-{seed}", kind.name));
    std::fs::write(&path, input).expect("the finding is written");
    path
}

/// Reads one input; what is wrong with how it went.
fn wrong(kind: &Kind, input: &[u8]) -> Option<String> {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    if catch_unwind(AssertUnwindSafe(|| (kind.read)(input))).is_err() {
        return Some("a panic".to_owned());
    }
    let most = PEAK.load(Ordering::Relaxed).saturating_sub(before);
    (most > MEMORY_BYTES_MAX).then(|| format!("{} MiB of memory", most >> 20))
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
                    ..corpus::kinds().remove(0)
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
        for kind in corpus::kinds() {
            if !kind.name.contains(&only) {
                continue;
            }
            let texts = (kind.texts)();
            for (_, text) in &texts {
                assert_eq!(wrong(&kind, text), None, "{}: as it is", kind.name);
            }
            for n in 0..INPUTS_COUNT * kind.weight * times {
                let seed = first.wrapping_add(n);
                let mut mutator = Mutator::new(seed);
                let (_, text) = &texts[mutator.below(texts.len())];
                let input = mutator.mutated(text, &texts);
                now.lock().expect("no panic holds it").clone_from(&input);
                tell.send((kind.name.to_owned(), seed))
                    .expect("the watch goes on");
                if let Some(what) = wrong(&kind, &input) {
                    let path = keep(&kind, seed, &input);
                    found.push(format!("{}: {what}; kept as {}", kind.name, path.display()));
                }
            }
        }
        drop(tell);
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}
