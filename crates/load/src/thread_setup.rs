//! Requests system resources for a thread of the client: a CPU, precise timers, and priority over
//! other threads.

/// Pins the calling thread, and requests timers without slack. If `realtime` is true, also requests
/// real-time priority. The system may deny each request, as it does in some containers. The run
/// then continues, and its release lag shows the effect. Returns true if the thread has real-time
/// priority.
pub(crate) fn own(cpu: Option<usize>, realtime: bool) -> bool {
    if let Some(cpu) = cpu {
        let mut set = rustix::thread::CpuSet::new();
        set.set(cpu);
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    realtime && go_before_others()
}

/// Real-time priority of the thread that joins parts. It is the lowest real-time priority, so the
/// thread precedes only the threads without real-time priority.
const MERGER: libc::c_int = 1;

/// Real-time priority of the workers. It is higher than that of the merging thread, so that a
/// worker never waits for that thread. A worker without responses sleeps. The system limits a
/// worker that never sleeps to 95 % of a CPU.
const WORKER: libc::c_int = 2;

fn go_before_others() -> bool {
    schedule(0, libc::SCHED_RR, WORKER)
}

fn schedule(thread: libc::pid_t, policy: libc::c_int, priority: libc::c_int) -> bool {
    // The function `sched_setscheduler` of musl always fails, because POSIX defines it for all
    // threads of a process. The kernel's `sched_param` contains only the priority.
    let call = libc::SYS_sched_setscheduler;
    // SAFETY: the call only reads `priority`, which outlives the call, and affects only one thread.
    unsafe { libc::syscall(call, thread, policy, &raw const priority) == 0 }
}

/// Real-time priority of the thread that joins the workers' parts. The priority is above programs
/// without real-time priority, and below the workers. Without it, a loaded node on the same CPUs
/// delayed that thread by three seconds. Threads that the thread starts in the meantime do not
/// inherit the priority. The priority ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct Turn(Option<libc::pid_t>);

impl Turn {
    /// Sets the real-time priority of the calling thread, if `wanted` is true and the system
    /// permits it.
    pub fn take(wanted: bool) -> Turn {
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        let policy = libc::SCHED_RR | libc::SCHED_RESET_ON_FORK;
        Turn((wanted && schedule(thread, policy, MERGER)).then_some(thread))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(thread) = self.0 {
            schedule(thread, libc::SCHED_OTHER, 0);
        }
    }
}
