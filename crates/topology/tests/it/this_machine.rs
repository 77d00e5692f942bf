//! Tests with the machine on which they run. The reader must read the machine completely, and a
//! plan must remain within its nodes. `cargo xtask guest` also runs these tests in guests with
//! several nodes.

use std::path::Path;
use topology::{CpuSet, Machine, PlacementRequest};

#[test]
fn this_machine_is_read_as_the_scheduler_has_it() {
    let machine = Machine::read(Path::new("/")).expect("this machine is read");
    // The number from the standard library may be lower, because it takes a CPU quota into account,
    // and cassay's reader does not.
    let usable = std::thread::available_parallelism().map_or(1, usize::from);
    assert!(machine.allowed_cpus().len() >= usable, "{machine:?}");
    let cores: Vec<usize> = (0..machine.cores.len()).collect();
    assert_eq!(machine.cpus_of(&cores), machine.cpus());
    for parts in [
        machine.packages.iter().map(|part| &part.cores).collect::<Vec<_>>(),
        machine.nodes.iter().map(|part| &part.cores).collect(),
        machine.l3.iter().map(|part| &part.cores).collect(),
    ] {
        let sum: usize = parts.iter().map(|cores| cores.len()).sum();
        assert_eq!(sum, machine.cores.len(), "each core is in one part");
    }
}

#[test]
fn a_one_cpu_instance_on_this_machine_is_on_one_node_with_it() {
    let machine = Machine::read(Path::new("/")).expect("this machine is read");
    let plan =
        topology::plan(&machine, &PlacementRequest::new(1, 1)).expect("one CPU is always there");
    let cpus: CpuSet = plan.instances[0].cpus.iter().copied().collect();
    assert!(cpus.is_subset(&machine.allowed_cpus()));
    let homes = machine.nodes.iter().filter(|node| {
        let own = machine.cpus_of(&node.cores);
        cpus.is_subset(&own) && plan.instances[0].nodes == [node.os]
    });
    assert_eq!(homes.count(), 1);
}
