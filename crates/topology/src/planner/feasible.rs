//! Checks a request, and explains which resources are missing and which requests would fit.

use crate::core_choice::Pool;
use crate::machine::Machine;
use crate::plan::Infeasible;
use crate::planner::{fits, fits_as_wished};
use crate::request::{Collector, PlacementRequest};

/// Maximum number of instances. No machine has space for more instances, and each instance makes
/// every search longer.
const INSTANCES_MAX: u32 = 4096;
/// Maximum number of sizes that the search for a hint tries. If none of these sizes fits, the hint
/// suggests no size.
const TRIES_MAX: u32 = 96;

/// Refuses requests that no machine could fulfil.
pub(super) fn check(machine: &Machine, wish: &PlacementRequest) -> Result<(), Infeasible> {
    let refuse = |what: String, hint: &str| {
        Err(Infeasible {
            what,
            hint: hint.to_owned(),
            vcpus_max: None,
            instances_max: None,
            overcommit: None,
        })
    };
    if wish.instances == 0 || wish.vcpus == 0 {
        return refuse(
            format!("{} instances of {} vCPUs", wish.instances, wish.vcpus),
            "request at least one instance with at least one vCPU",
        );
    }
    if wish.instances > INSTANCES_MAX {
        return refuse(
            format!(
                "the request has {} instances; the maximum is {INSTANCES_MAX}",
                wish.instances
            ),
            "request fewer instances",
        );
    }
    if !(1.0..=64.0).contains(&wish.overcommit) {
        return refuse(
            format!("an overcommit of {} is not possible", wish.overcommit),
            "overcommit is the number of vCPUs that may share a CPU: from 1, which means no \
             sharing, to 64",
        );
    }
    if wish.collector == Collector::Cms && wish.jdk >= 14 {
        return refuse(
            format!(
                "CMS is not available on JDK {}: JDK 14 removed this collector",
                wish.jdk
            ),
            "use g1, or a JDK before 14",
        );
    }
    if machine.allowed_cpus().is_empty() {
        return refuse(
            "no CPU is available".to_owned(),
            "run cassay outside of this control group, or plan from a file that describes the \
             whole machine",
        );
    }
    Ok(())
}

pub(super) fn explain(machine: &Machine, wish: &PlacementRequest) -> Infeasible {
    let threads = Pool::select(machine, wish.smt, false, |_| true).threads();
    let asked = u64::from(wish.instances) * u64::from(wish.vcpus);
    let room = (f64::from(threads) * wish.overcommit) as u64;
    let memory = wish.memory_bytes.zip(machine.memory_bytes());
    let lacks_memory = memory
        .is_some_and(|(each, all)| u128::from(each) * u128::from(wish.instances) > u128::from(all));
    let mut what = format!(
        "{} instances with {} vCPUs need {asked} CPUs (available: {room})",
        wish.instances, wish.vcpus
    );
    if let Some((each, all)) = memory.filter(|_| lacks_memory) {
        let gib = |bytes: u128| bytes >> 30;
        let wanted = gib(u128::from(each) * u128::from(wish.instances));
        what += &format!(
            ", and {wanted} GiB of memory (available: {} GiB)",
            gib(u128::from(all))
        );
    } else if asked <= room {
        what += ", but do not fit: the CPUs outside housekeeping, the complete cores, or the \
                 memory of the NUMA nodes are insufficient";
    }
    let vcpus_max = vcpus_max(
        machine,
        wish,
        (room / u64::from(wish.instances)) as u32,
        fits,
    );
    let instances_max = instances_max(machine, wish, (room / u64::from(wish.vcpus)) as u32);
    let ratio = asked as f64 / f64::from(threads.max(1));
    let overcommit = (asked > room).then(|| (ratio * 100.0).ceil() / 100.0);
    let mut hints = Vec::new();
    hints.extend(vcpus_max.map(|vcpus| format!("{} instances of {vcpus} vCPUs", wish.instances)));
    hints.extend(instances_max.map(|count| format!("{count} instances of {} vCPUs", wish.vcpus)));
    hints.extend(overcommit.filter(|_| !lacks_memory).map(|o| format!("an overcommit of {o:.2}")));
    let hint = if hints.is_empty() {
        "no such request fits; request less memory or less housekeeping".to_owned()
    } else {
        format!("what fits: {}", hints.join(", or "))
    };
    Infeasible {
        what,
        hint,
        vcpus_max,
        instances_max,
        overcommit,
    }
}

/// Returns the largest number of vCPUs, up to `from`, with which this number of instances fits.
/// Returns `None` if none of the tried numbers fits.
pub(super) fn vcpus_max(
    machine: &Machine,
    wish: &PlacementRequest,
    from: u32,
    fits: fn(&Machine, &PlacementRequest) -> bool,
) -> Option<u32> {
    let sizes = (1..=from).rev().take(TRIES_MAX as usize);
    sizes.into_iter().find(|&vcpus| {
        fits(
            machine,
            &PlacementRequest {
                vcpus,
                ..wish.clone()
            },
        )
    })
}

/// Returns the largest number of vCPUs with which the request fits on whole cores and with its
/// housekeeping. Returns `None` if none of the tried numbers fits.
pub(super) fn vcpus_with_housekeeping(machine: &Machine, wish: &PlacementRequest) -> Option<u32> {
    vcpus_max(machine, wish, wish.vcpus.saturating_sub(1), fits_as_wished)
}

fn instances_max(machine: &Machine, wish: &PlacementRequest, from: u32) -> Option<u32> {
    let (mut low, mut high) = (0, from.min(INSTANCES_MAX));
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(
            machine,
            &PlacementRequest {
                instances: middle,
                ..wish.clone()
            },
        ) {
            low = middle
        } else {
            high = middle - 1
        }
    }
    (low > 0).then_some(low)
}
