//! Formats the clients and hosts of a run for the full screen, as one table of clients and one
//! table of hosts. If not all machines fit, the worst come first. If not even a table fits, one
//! line shows the worst client or the worst host.

use super::run_state::RunState;
use crate::terminal::{Line, Tone, shortened_name};
use engine::{HostCpu, HostNow};
use fleet::ClientNow;
use measure::number::{count, significant, whole};
use std::cmp::Reverse;

/// Number of columns of the label to the left of a section.
const NAMED: usize = 8;
/// Number of columns of a client's figures. [`HOST_FIGURES`] also has room for the names of a few
/// nodes.
const CLIENT_FIGURES: usize = 44;
const HOST_FIGURES: usize = 50;
const NAME_MOST: usize = 40;
const NAME_IN_SENTENCE: usize = 18;
/// Minimum number of lines of a table: a header, one row, and a line with the number of other rows.
const TABLE_LEAST: usize = 3;
/// Time after which a client counts as silent, in seconds. A client reports its clock twice a
/// second, and its load once a second.
const SILENT_S: f64 = 2.0;

/// Returns clients and hosts in at most `rows` lines.
pub fn machines(state: &RunState, columns: usize, rows: usize) -> Vec<Line> {
    let needed = |count: usize| if count == 0 { 0 } else { count + 1 };
    let (clients, hosts) = (needed(state.clients.len()), needed(state.hosts.len()));
    let for_clients = clients.min(rows.saturating_sub(hosts).max(rows.div_ceil(2)));
    let for_hosts = hosts.min(rows - for_clients);
    let is_away = |host: &HostNow| host.nodes.iter().any(|name| state.is_away(name));
    let mut lines = Section {
        word: "Clients",
        all: &state.clients,
        head: client_head(columns),
        row: &|client| client_row(client, columns),
        sentence: &client_sentence,
    }
    .lines(for_clients, badness_of_client);
    let hosts = Section {
        word: "Hosts",
        all: &state.hosts,
        head: host_head(columns),
        row: &|host| host_row(host, state, columns),
        sentence: &|host| host_sentence(host, state),
    };
    lines.extend(hosts.lines(for_hosts, |host| badness_of_host(host, is_away(host))));
    lines
}

struct Section<'m, T> {
    word: &'static str,
    all: &'m [T],
    head: Line,
    row: &'m dyn Fn(&T) -> Line,
    sentence: &'m dyn Fn(&T) -> Line,
}

impl<T> Section<'_, T> {
    /// Returns all machines in order if they fit. Otherwise the worst machines come first.
    fn lines<B: Ord>(self, rows: usize, badness: impl Fn(&T) -> B) -> Vec<Line> {
        let mut sorted: Vec<&T> = self.all.iter().collect();
        let room = rows.saturating_sub(1);
        if sorted.len() > room {
            sorted.sort_by_cached_key(|one| Reverse(badness(one)));
        }
        let more = |shown: usize| format!("and {} more", count((sorted.len() - shown) as u64));
        let Some(worst) = sorted.first().filter(|_| rows > 0) else {
            return Vec::new();
        };
        if sorted.len() > room && rows < TABLE_LEAST {
            let word = Line::default().with(Tone::Faint, &format!("{:<NAMED$}", self.word));
            let line = word.then((self.sentence)(worst));
            return vec![match sorted.len() {
                1 => line,
                _ => line.with(Tone::Faint, &format!(" · {}", more(1))),
            }];
        }
        let shown = if sorted.len() > room {
            room - 1
        } else {
            sorted.len()
        };
        let mut lines = vec![self.head];
        lines.extend(sorted[..shown].iter().map(|one| (self.row)(one)));
        if shown < sorted.len() {
            let text = format!("{:NAMED$}{}", "", more(shown));
            lines.push(Line::default().with(Tone::Faint, &text));
        }
        lines
    }
}

/// Returns a measure of the problems of a client. From the most to the least serious, the problems
/// are a lost client, a silent client, late or failed operations, and a high p99. A higher value
/// means more problems.
fn badness_of_client(client: &ClientNow) -> (bool, bool, u64, u64) {
    let second = client.second.unwrap_or_default();
    let p99_us = (second.p99_ms * 1e3) as u64;
    let is_silent = client.silent_s >= SILENT_S;
    (
        client.is_lost,
        is_silent,
        second.late + second.errors,
        p99_us,
    )
}

/// Returns a measure of the problems of a host. From the most to the least serious, the problems
/// are nodes that are down, a busy disk and busy CPUs. A higher value means more problems.
fn badness_of_host(host: &HostNow, has_away: bool) -> (bool, u64, u64) {
    let cpu = match host.cpu {
        Some(HostCpu::OfMachine(percent)) => percent,
        Some(HostCpu::Cores(cores)) => cores * 100.0,
        None => 0.0,
    };
    (has_away, host.disk_busy.unwrap_or(0.0) as u64, cpu as u64)
}

fn name_columns(columns: usize, figures: usize) -> usize {
    columns.saturating_sub(NAMED + figures).clamp(1, NAME_MOST)
}

fn head(word: &str, columns: usize, figures: usize, text: &str) -> Line {
    let name = name_columns(columns, figures);
    Line::default().with(Tone::Faint, &format!("{word:<NAMED$}{:name$}{text}", ""))
}

fn name_line(name: &str, columns: usize, figures: usize) -> Line {
    let width = name_columns(columns, figures);
    let name = Line::from_text(&shortened_name(name, width)).fitted(width);
    Line::from_text(&" ".repeat(NAMED)).then(name)
}

fn client_head(columns: usize) -> Line {
    let text = format!(
        "{:>9}{:>9}{:>8}{:>7}{:>11}",
        "op/s", "p99 ms", "late", "CPU", "clock ±"
    );
    head("Clients", columns, CLIENT_FIGURES, &text)
}

fn name_of(client: &ClientNow) -> String {
    format!("{} ({})", client.name, client.place)
}

/// Returns the message that replaces a client's figures if the client is lost or silent, or has no
/// figures yet.
fn trouble(client: &ClientNow) -> Option<(Tone, String)> {
    if client.is_lost {
        Some((Tone::Bad, "lost".to_owned()))
    } else if client.silent_s >= SILENT_S {
        let text = format!("no message for {:.0} s", client.silent_s);
        Some((Tone::Bad, text))
    } else if client.second.is_none() {
        Some((Tone::Faint, "begins".to_owned()))
    } else {
        None
    }
}

fn client_row(client: &ClientNow, columns: usize) -> Line {
    let line = name_line(&name_of(client), columns, CLIENT_FIGURES);
    if let Some((tone, text)) = trouble(client) {
        return line.with(tone, &format!("  {text}"));
    }
    let second = client.second.unwrap_or_default();
    let (ops, p99) = (whole(second.ok_per_s), significant(second.p99_ms, 3));
    let tone = if second.late > 0 {
        Tone::Warn
    } else {
        Tone::Plain
    };
    let clock = client.clock_bound_ms.map_or("?".to_owned(), |ms| significant(ms, 2) + " ms");
    let rest = format!("{:>5.0} %{clock:>11}", second.cpu_share * 100.0);
    line.with(Tone::Plain, &format!("{ops:>9}{p99:>9}"))
        .with(tone, &format!("{:>8}", count(second.late)))
        .with(Tone::Plain, &rest)
}

fn client_sentence(client: &ClientNow) -> Line {
    let line = Line::from_text(&shortened_name(&name_of(client), NAME_IN_SENTENCE));
    if let Some((tone, text)) = trouble(client) {
        return line.with(tone, &format!(" {text}"));
    }
    let second = client.second.unwrap_or_default();
    let (ops, p99) = (whole(second.ok_per_s), significant(second.p99_ms, 3));
    let late = count(second.late);
    line.with(
        Tone::Plain,
        &format!(" {ops} op/s · p99 {p99} ms · {late} late"),
    )
}

fn host_head(columns: usize) -> Line {
    let text = format!("{:>11}{:>11}{:>7}  nodes", "CPU", "disk MB/s", "busy");
    head("Hosts", columns, HOST_FIGURES, &text)
}

/// Returns the CPU usage of a host, the throughput of its disks in MB/s, and the busy time of its
/// disks.
fn host_figures(host: &HostNow) -> [String; 3] {
    let cpu = host.cpu.map(|cpu| match cpu {
        HostCpu::OfMachine(percent) => format!("{percent:.0} %"),
        HostCpu::Cores(cores) => format!("{cores:.1} cores"),
    });
    let disk = host.disk_bytes_per_s.map(|bytes| significant(bytes / 1e6, 3));
    let busy = host.disk_busy.map(|percent| format!("{percent:.0} %"));
    [cpu, disk, busy].map(|figure| figure.unwrap_or_else(|| "?".to_owned()))
}

fn nodes_of(host: &HostNow, state: &RunState) -> (Tone, String) {
    let away: Vec<String> = host.nodes.iter().filter(|name| state.is_away(name)).cloned().collect();
    match (away.is_empty(), host.nodes.len()) {
        (false, _) => (Tone::Bad, format!("{} away", away.join(", "))),
        (true, 1..=2) => (Tone::Good, format!("{} up", host.nodes.join(", "))),
        (true, many) => (Tone::Good, format!("{many} up")),
    }
}

fn host_row(host: &HostNow, state: &RunState, columns: usize) -> Line {
    let [cpu, disk, busy] = host_figures(host);
    let (tone, nodes) = nodes_of(host, state);
    name_line(&host.name, columns, HOST_FIGURES)
        .with(Tone::Plain, &format!("{cpu:>11}{disk:>11}{busy:>7}  "))
        .with(tone, &nodes)
}

fn host_sentence(host: &HostNow, state: &RunState) -> Line {
    let [cpu, disk, busy] = host_figures(host);
    let (tone, nodes) = nodes_of(host, state);
    Line::from_text(&format!(
        "{} {cpu} · disk {disk} MB/s, busy {busy} · ",
        host.name
    ))
    .with(tone, &nodes)
}
