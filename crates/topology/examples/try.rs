//! scratch
fn main() {
    for path in std::env::args().skip(1) {
        match topology::Machine::read(path.as_ref()) {
            Ok(m) => println!(
                "{path}: {} pkg {} die {} nodes ({} cpu) {} l3 {} cores {} pus {} off; dist {} dev {} kinds {:?}\n    {}",
                m.packages.len(),
                m.dies.len(),
                m.nodes.len(),
                m.cpu_nodes().count(),
                m.l3.len(),
                m.cores.len(),
                m.pus.len(),
                m.offline.len(),
                m.distances.is_some(),
                m.devices.len(),
                m.cores[0].kind,
                m.notes.join("\n    ")
            ),
            Err(e) => println!("{path}: FAIL {e}"),
        }
    }
}
