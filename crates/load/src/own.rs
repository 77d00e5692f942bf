//! What a thread of the client asks of the system: a CPU of its own, timers that are in time, and
//! its turn before others.

/// Pins the calling thread, asks for timers without slack and, if that is wanted, to go before
/// others. All are wishes: in a container that forbids them the run goes on, and its release lag
/// tells. Whether it goes before others.
pub(crate) fn own(cpu: Option<usize>, realtime: bool) -> bool {
    if let Some(cpu) = cpu {
        let mut set = rustix::thread::CpuSet::new();
        set.set(cpu);
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    realtime && go_before_others()
}

/// Real-time priority of the thread that puts parts together: the least there is, before all that
/// have none and behind all that have one.
const MERGER: libc::c_int = 1;

/// That of workers, which do not wait for it. A worker without an answer sleeps; one that never
/// does is held to 95 % of a CPU by the system.
const WORKER: libc::c_int = 2;

fn go_before_others() -> bool {
    schedule(0, libc::SCHED_RR, WORKER)
}

fn schedule(thread: libc::pid_t, policy: libc::c_int, priority: libc::c_int) -> bool {
    // musl's function of this name refuses: for POSIX it would be of all threads of a process. All
    // that is in the kernel's `sched_param` is the priority.
    let call = libc::SYS_sched_setscheduler;
    // SAFETY: the call reads `priority`, which outlives it, and acts on one thread alone.
    unsafe { libc::syscall(call, thread, policy, &raw const priority) == 0 }
}

/// The turn of the thread that puts the workers' parts together: before programs that have no
/// priority, behind the workers. A loaded node on the same CPUs was seen to keep it waiting for
/// three seconds. What it starts meanwhile has no part in it, and it ends with this.
#[derive(Debug)]
pub(crate) struct Turn(Option<libc::pid_t>);

impl Turn {
    /// The calling thread's, if it is wanted and may be had.
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
