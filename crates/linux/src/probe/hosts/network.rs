//! Network interfaces in the terms of `sar -n DEV,EDEV`, from `net/dev` in `/proc`, and the TCP
//! counters of `netstat -s`, from `net/snmp` and `net/netstat`.
//!
//! A simulated host has separate files, which are visible through any process that runs in it.

use crate::probe::Out;
use crate::probe::kernel_file::{KernelFile, Last, grown};
use anyhow::{Context, Result};
use std::collections::HashMap;

/// Columns of an interface: eight for received data, and eight for sent data.
type Columns = [u64; 16];

/// Index of a column, name of the rate that sar derives from it, divisor, and unit. Bytes become
/// kilobytes of 1,024 bytes.
const RATES: [(usize, &str, f64, &str); 16] = [
    (1, "sar.rxpck/s", 1.0, "/s"),
    (9, "sar.txpck/s", 1.0, "/s"),
    (0, "sar.rxkB/s", 1024.0, "kB/s"),
    (8, "sar.txkB/s", 1024.0, "kB/s"),
    (6, "sar.rxcmp/s", 1.0, "/s"),
    (15, "sar.txcmp/s", 1.0, "/s"),
    (7, "sar.rxmcst/s", 1.0, "/s"),
    (2, "sar.rxerr/s", 1.0, "/s"),
    (10, "sar.txerr/s", 1.0, "/s"),
    (13, "sar.coll/s", 1.0, "/s"),
    (3, "sar.rxdrop/s", 1.0, "/s"),
    (11, "sar.txdrop/s", 1.0, "/s"),
    (14, "sar.txcarr/s", 1.0, "/s"),
    (5, "sar.rxfram/s", 1.0, "/s"),
    (4, "sar.rxfifo/s", 1.0, "/s"),
    (12, "sar.txfifo/s", 1.0, "/s"),
];

const RX_BYTES: usize = 0;
const TX_BYTES: usize = 8;

/// Counters of `netstat -s`. Each entry has the line and the column in `/proc/net/snmp` or
/// `/proc/net/netstat`, and the name of the reading.
const TCP: [(&str, &str, &str); 18] = [
    ("Tcp", "ActiveOpens", "netstat.active_opens"),
    ("Tcp", "PassiveOpens", "netstat.passive_opens"),
    ("Tcp", "AttemptFails", "netstat.failed_attempts"),
    ("Tcp", "EstabResets", "netstat.resets_received"),
    ("Tcp", "OutRsts", "netstat.resets_sent"),
    ("Tcp", "InSegs", "netstat.segments_received"),
    ("Tcp", "OutSegs", "netstat.segments_sent"),
    ("Tcp", "RetransSegs", "netstat.retransmitted"),
    ("Tcp", "InErrs", "netstat.bad_segments"),
    ("TcpExt", "ListenOverflows", "netstat.listen_overflows"),
    ("TcpExt", "ListenDrops", "netstat.listen_drops"),
    ("TcpExt", "TCPTimeouts", "netstat.timeouts"),
    ("TcpExt", "TCPLostRetransmit", "netstat.lost_retransmits"),
    ("TcpExt", "TCPSynRetrans", "netstat.syn_retransmits"),
    ("TcpExt", "TCPBacklogDrop", "netstat.backlog_drops"),
    ("TcpExt", "TCPRcvQDrop", "netstat.receive_queue_drops"),
    ("TcpExt", "PruneCalled", "netstat.prunes"),
    ("TcpExt", "TCPAbortOnTimeout", "netstat.aborts_on_timeout"),
];

/// Function that returns the speed of an interface in bit/s.
type SpeedOf = Box<dyn Fn(&str) -> Option<f64> + Send>;

/// Probe of one network namespace.
pub(crate) struct Network {
    place: String,
    dev: KernelFile,
    tcp: [KernelFile; 2],
    last: Last<Counters>,
    /// Speed of each interface in bit/s, if it is known.
    speeds: HashMap<String, Option<f64>>,
    speed_of: SpeedOf,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Counters {
    interfaces: HashMap<String, Columns>,
    tcp: [Option<u64>; TCP.len()],
}

impl Network {
    /// Opens the files. `open` opens a file in `/proc/net`. `speed_of` is called once for each
    /// interface.
    pub fn open(
        place: &str,
        open: impl Fn(&str) -> Result<KernelFile>,
        speed_of: SpeedOf,
    ) -> Result<Network> {
        Ok(Network {
            place: place.to_string(),
            dev: open("dev")?,
            tcp: [open("snmp")?, open("netstat")?],
            last: Last::none(),
            speeds: HashMap::new(),
            speed_of,
        })
    }

    pub fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        let mut now = Counters {
            interfaces: interfaces(&self.dev.read()?).context("net/dev")?,
            ..Counters::default()
        };
        for source in &mut self.tcp {
            let text = source.read()?;
            tcp(&text, &mut now.tcp).context("net/snmp and net/netstat")?;
            if let Some(count) = connections(&text) {
                out.put("netstat.established", &self.place, "count", count);
            }
        }
        let Some((before, seconds)) = self.last.replace(now_ns, now.clone()) else {
            return Ok(());
        };
        for (index, (_, _, name)) in TCP.iter().enumerate() {
            if let (Some(before), Some(now)) = (before.tcp[index], now.tcp[index])
                && let Some(count) = grown(before, now)
            {
                out.put(name, &self.place, "/s", count / seconds);
            }
        }
        for (interface, now) in &now.interfaces {
            let Some(before) = before.interfaces.get(interface) else {
                continue;
            };
            // The probe omits interfaces that were never used.
            if now.iter().all(|count| *count == 0) {
                continue;
            }
            let speed = self.speeds.entry(interface.clone());
            let speed = *speed.or_insert_with(|| (self.speed_of)(interface));
            let place = format!("{}/{interface}", self.place);
            figures(&place, before, now, seconds, speed, out);
        }
        Ok(())
    }
}

/// Records the readings of one interface. The utilization of the link is that of its busier
/// direction, as sar computes it for full-duplex links.
fn figures(
    place: &str,
    before: &Columns,
    now: &Columns,
    seconds: f64,
    speed: Option<f64>,
    out: &mut Out,
) {
    for (column, name, divisor, unit) in RATES {
        if let Some(count) = grown(before[column], now[column]) {
            out.put(name, place, unit, count / divisor / seconds);
        }
    }
    if let (Some(speed), Some(received), Some(sent)) = (
        speed,
        grown(before[RX_BYTES], now[RX_BYTES]),
        grown(before[TX_BYTES], now[TX_BYTES]),
    ) {
        let bits_per_s = received.max(sent) * 8.0 / seconds;
        out.put("sar.%ifutil", place, "%", 100.0 * bits_per_s / speed);
    }
}

fn interfaces(text: &str) -> Result<HashMap<String, Columns>> {
    let mut found = HashMap::new();
    // The first two lines are headings.
    for line in text.lines().skip(2) {
        let Some((name, rest)) = line.rsplit_once(':') else {
            continue;
        };
        let name = name.trim();
        let mut columns = Columns::default();
        let mut words = rest.split_ascii_whitespace();
        for column in &mut columns {
            let word = words.next().with_context(|| format!("{name} has too few columns"))?;
            *column = word.parse().with_context(|| format!("{name} has {word:?}"))?;
        }
        found.insert(name.to_string(), columns);
    }
    Ok(found)
}

/// Returns the pairs of lines, which are `Tcp: names` and `Tcp: values`.
fn pairs(text: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let mut lines = text.lines();
    std::iter::from_fn(move || {
        let (title, names) = lines.next()?.split_once(':')?;
        let (_, values) = lines.next()?.split_once(':')?;
        Some((title, names, values))
    })
}

/// Sets those elements of `counters` whose values occur in `text`.
fn tcp(text: &str, counters: &mut [Option<u64>; TCP.len()]) -> Result<()> {
    for (title, names, values) in pairs(text) {
        if !title.starts_with("Tcp") {
            continue;
        }
        let values = values.split_ascii_whitespace();
        for (column, value) in names.split_ascii_whitespace().zip(values) {
            let wanted = |(line, name, _): &(&str, &str, &str)| *line == title && *name == column;
            if let Some(index) = TCP.iter().position(wanted) {
                let count = value.parse().with_context(|| format!("{column} is {value:?}"));
                counters[index] = Some(count?);
            }
        }
    }
    Ok(())
}

fn connections(text: &str) -> Option<f64> {
    let (_, names, values) = pairs(text).find(|(title, _, _)| *title == "Tcp")?;
    let index = names.split_ascii_whitespace().position(|name| name == "CurrEstab")?;
    values.split_ascii_whitespace().nth(index)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEV: &str = "\
Inter-|   Receive              |  Transmit
 face |bytes    packets errs … |bytes    packets errs …
    lo: 725874258293 333013941    0    0    0     0          0         0 \
725874258293 333013941    0    0    0     0       0          0
  eth0:       0       0    0    0    0     0          0         0        0       0    0    0    0 \
     0       0          0
";

    #[test]
    fn figures_are_those_of_sar() {
        let before = interfaces(DEV).unwrap();
        let mut now = before["lo"];
        // The columns are bytes, packets, errors, drops, overruns, frame errors, compressed and
        // multicast.
        for (index, count) in [2048, 4, 2, 6, 8, 10, 12, 14].into_iter().enumerate() {
            now[index] += count;
        }
        // The columns are bytes, packets, errors, drops, overruns, collisions, carrier errors and
        // compressed.
        for (index, count) in [4096, 6, 4, 8, 16, 20, 24, 28].into_iter().enumerate() {
            now[8 + index] += count;
        }
        let mut out = Out::new();
        figures("m/lo", &before["lo"], &now, 2.0, Some(1e6), &mut out);
        let found: HashMap<&str, f64> =
            out.readings().iter().map(|reading| (&*reading.name, reading.value)).collect();
        for (name, value) in [
            ("sar.rxpck/s", 2.0),
            ("sar.txpck/s", 3.0),
            ("sar.rxkB/s", 1.0),
            ("sar.txkB/s", 2.0),
            ("sar.rxcmp/s", 6.0),
            ("sar.txcmp/s", 14.0),
            ("sar.rxmcst/s", 7.0),
            ("sar.rxerr/s", 1.0),
            ("sar.txerr/s", 2.0),
            ("sar.coll/s", 10.0),
            ("sar.rxdrop/s", 3.0),
            ("sar.txdrop/s", 4.0),
            ("sar.txcarr/s", 12.0),
            ("sar.rxfram/s", 5.0),
            ("sar.rxfifo/s", 4.0),
            ("sar.txfifo/s", 8.0),
            ("sar.%ifutil", 1.6384),
        ] {
            assert!((found[name] - value).abs() < 1e-9, "{name} {}", found[name]);
        }
    }

    #[test]
    fn counters_of_tcp_are_found_by_their_names() {
        let snmp = "\
Ip: Forwarding DefaultTTL
Ip: 2 64
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets \
CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors
Tcp: 1 200 120000 -1 33595 23553 9765 6340 17 333229714 341684025 30810 0 15979 0
";
        let netstat = "TcpExt: ListenOverflows ListenDrops New\nTcpExt: 3 4 5\n";
        let mut counters = [None; TCP.len()];
        tcp(snmp, &mut counters).unwrap();
        tcp(netstat, &mut counters).unwrap();
        let of = |name: &str| {
            let index = TCP.iter().position(|(_, _, other)| *other == name);
            counters[index.unwrap()]
        };
        assert_eq!(of("netstat.active_opens"), Some(33595));
        assert_eq!(of("netstat.resets_sent"), Some(15979));
        assert_eq!(of("netstat.retransmitted"), Some(30810));
        assert_eq!(of("netstat.listen_drops"), Some(4));
        assert_eq!(of("netstat.timeouts"), None);
        assert_eq!(connections(snmp), Some(17.0));
        assert_eq!(connections(netstat), None);
        let broken = "Tcp: ActiveOpens\nTcp: many\n";
        let error = tcp(broken, &mut counters).unwrap_err().to_string();
        assert_eq!(error, "ActiveOpens is \"many\"");
    }

    #[test]
    fn an_interface_with_a_colon_in_its_name_is_read() {
        let text = "a\nb\neth0:1: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
        assert_eq!(interfaces(text).unwrap()["eth0:1"][15], 16);
        let error = interfaces("a\nb\neth0: 1 2\n").unwrap_err().to_string();
        assert_eq!(error, "eth0 has too few columns");
    }
}
