//! Names and number of the links of a switch and of its hosts, and the links of the machine.

use std::path::Path;

/// Maximum number of hosts for which a network has addresses. The last address of the network
/// belongs to the machine.
pub const HOSTS_COUNT_MAX: usize = 253;

// The network needs an address for each node, because in the worst case each node has a separate
// host.
const _: () = assert!(target_spec::NODES_COUNT_MAX <= HOSTS_COUNT_MAX);

/// Name of the bridge, which is in a separate namespace.
pub const BRIDGE: &str = "switch";

/// Name of the switch's end of the link to the machine.
pub const UPLINK: &str = "uplink";

/// Name of the host's end of its link to the switch.
pub const HOST_LINK: &str = "eth0";

/// Returns the name of the switch's end of the link to a host. Hosts are numbered from 1.
pub fn port(number: usize) -> String {
    format!("port{number}")
}

/// A link from the machine to other machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineLink {
    /// Name of the link in the kernel, such as `eth0`.
    pub name: String,
    /// Speed of the link in each direction, in bit/s.
    pub bits_per_s: u64,
}

/// Returns the machine's fastest link whose driver reports its speed. The link is a network card,
/// or several bonded cards. Other virtual links do not connect the machine to other machines,
/// regardless of the speed that they report. Returns `None` if the machine has no such link, or if
/// drivers do not report the speed, as in virtual machines.
pub fn fastest() -> Option<MachineLink> {
    let entries = std::fs::read_dir(NET).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let has = |name: &str, file: &str| Path::new(NET).join(name).join(file).exists();
    fastest_of(names, has, speed)
}

/// Returns the speed of a link of the machine in bit/s, if its driver reports the speed.
pub(crate) fn speed(name: &str) -> Option<f64> {
    let text = std::fs::read_to_string(Path::new(NET).join(name).join("speed")).ok()?;
    // The value is −1 if the link is not connected.
    let megabits: f64 = text.trim().parse().ok()?;
    (megabits > 0.0).then_some(megabits * 1e6)
}

const NET: &str = "/sys/class/net";

/// Returns the fastest of the links with these names. `has` returns true if a file exists in the
/// directory of a link. `speed` returns the speed that the driver reports, in bit/s.
fn fastest_of(
    names: impl Iterator<Item = String>,
    has: impl Fn(&str, &str) -> bool,
    speed: impl Fn(&str) -> Option<f64>,
) -> Option<MachineLink> {
    let leads_away = |name: &String| has(name, "device") || has(name, "bonding");
    let links = names.filter(leads_away).filter_map(|name| {
        let bits_per_s = speed(&name)? as u64;
        Some(MachineLink { name, bits_per_s })
    });
    links.max_by_key(|link| link.bits_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_link_of_hardware_is_taken_and_no_virtual_one() {
        let speeds = [
            ("lo", None),
            ("veth0", Some(1e11)),
            ("eth0", Some(1e9)),
            ("eth1", Some(25e9)),
            ("eth2", None),
        ];
        let found = |without: &str| {
            let names = speeds.iter().map(|(name, _)| (*name).to_owned());
            let speed = |name: &str| speeds.iter().find(|one| one.0 == name)?.1;
            let has = |name: &str, file: &str| name.starts_with("eth") && file == "device";
            fastest_of(names.filter(|name| name != without), has, speed)
        };
        let link = |name: &str, bits_per_s| {
            Some(MachineLink {
                name: name.to_owned(),
                bits_per_s,
            })
        };
        assert_eq!(found(""), link("eth1", 25_000_000_000));
        assert_eq!(found("eth1"), link("eth0", 1_000_000_000));
        let bond = fastest_of(
            ["bond0".to_owned()].into_iter(),
            |_, file| file == "bonding",
            |_| Some(2e10),
        );
        assert_eq!(bond, link("bond0", 20_000_000_000));
    }
}
