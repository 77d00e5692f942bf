//! Derives the kinds of cores if a source states only the speed of each CPU.

use std::collections::BTreeMap;

use crate::cpuset::CpuSet;

/// Largest ratio of two neighbouring speeds of one kind, in tenths. Cores of one kind differ by up
/// to about 5 %. Chips have a few favoured cores that may run faster, and the kernel accounts for
/// this. For example, an ARM server with ten fast and ten slow cores states capacities of 718, 731,
/// 997, 1017 and 1024. Different kinds differ by a quarter or more.
const TENTHS_OF_ONE_KIND: u64 = 11;

/// Returns the CPUs of each kind, with the highest speed in that kind. Speeds may be in any unit.
/// The result is empty unless the speed of each CPU in `all` is known.
pub(crate) fn by_speed(
    speeds: impl IntoIterator<Item = (u32, u64)>,
    all: &CpuSet,
) -> Vec<(CpuSet, u64)> {
    let mut known = CpuSet::default();
    let mut by_speed: BTreeMap<u64, CpuSet> = BTreeMap::new();
    for (cpu, speed) in speeds {
        known.insert(cpu);
        by_speed.entry(speed).or_default().insert(cpu);
    }
    let mut kinds: Vec<(CpuSet, u64)> = Vec::new();
    for (speed, cpus) in by_speed {
        match kinds.last_mut() {
            Some((set, last)) if speed * 10 <= *last * TENTHS_OF_ONE_KIND => {
                cpus.iter().for_each(|cpu| _ = set.insert(cpu));
                *last = speed;
            }
            _ => kinds.push((cpus, speed)),
        }
    }
    if all.is_subset(&known) {
        kinds
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> CpuSet {
        CpuSet::parse_list(text).unwrap()
    }

    #[test]
    fn favoured_cores_are_of_the_kind_of_their_sisters() {
        let arm = |cpu: u32| match cpu {
            0..=4 => 718,
            5..=9 => 997,
            10..=14 => 731,
            15..=18 => 1017,
            _ => 1024,
        };
        let speeds = (0..20).map(|cpu| (cpu, arm(cpu)));
        let kinds = vec![(list("0-4,10-14"), 731), (list("5-9,15-19"), 1024)];
        assert_eq!(by_speed(speeds.clone(), &list("0-19")), kinds);
        // The speed of CPU 20 is unknown, so the function derives no kinds.
        assert_eq!(by_speed(speeds, &list("0-20")), []);
        // These are turbo frequencies of a server: 4.8 and 5.0 GHz.
        let turbo = [(0, 4_800_000), (1, 5_000_000)];
        assert_eq!(by_speed(turbo, &list("0-1")), [(list("0-1"), 5_000_000)]);
        assert_eq!(by_speed([(0, 0), (1, 0)], &list("0-1")), [(list("0-1"), 0)]);
        assert_eq!(by_speed([(0, 0), (1, 7)], &list("0-1")).len(), 2);
    }
}
