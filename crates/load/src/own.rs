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

/// The least of the real-time priorities: before all that have none, behind all that have one. A
/// worker without an answer sleeps; one that never does is held to 95 % of a CPU by the system.
fn go_before_others() -> bool {
    let least = libc::sched_param { sched_priority: 1 };
    // SAFETY: the call reads `least`, which outlives it, and acts on the calling thread alone.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const least) == 0 }
}
