//! Draws faults on a timeline for a terminal. The drawing has a row for each affected node and
//! host, with numbered bars, and a legend.
//!
//! Every fault of a trial is drawn at its time and with its planned length, with an accuracy of one
//! column. A line can be wider than requested only if it contains a single long word.
//!
//! Long because its tests compare whole drawings.

use crate::settings::{PlannedHit, Settings, Study, StudyFault, Variant, Warmup};
use crate::units;
use measure::number::about_duration;
use std::collections::BTreeMap;
use target_spec::fault::{Hit, Length};

/// Minimum width of a drawing, in columns.
const WIDTH_MIN: usize = 60;
/// Width of the labels before a row, in columns.
const LEFT: usize = 13;
/// Minimum distance between two labels of the timeline, in columns.
const TICK_MIN: usize = 9;
/// Maximum number of faults with a number and a line in the legend. In a drawing with more faults,
/// faults have no numbers, because readers could not easily find a number.
const NUMBERED_MAX: usize = 60;
const STEPS_S: [u64; 21] = [
    1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1_200, 1_800, 3_600, 7_200, 10_800, 21_600,
    43_200, 86_400, 604_800,
];

/// Returns the lines of a study's drawings. Returns no lines if the study has no faults. Variants
/// with the same faults share a drawing.
pub fn lines(study: &Study, width: usize) -> Vec<String> {
    let mut shared: Vec<(Vec<&str>, &Settings)> = Vec::new();
    for Variant { name, settings, .. } in &study.variants {
        let same = |other: &Settings| {
            (&other.faults, &other.window) == (&settings.faults, &settings.window)
        };
        match shared.iter_mut().find(|(_, other)| same(other)) {
            Some((names, _)) => names.push(name.as_str()),
            None => shared.push((vec![name.as_str()], settings)),
        }
    }
    if shared.iter().all(|(_, settings)| settings.faults.is_empty()) {
        return Vec::new();
    }
    let alone = shared.len() == 1;
    let mut lines = Vec::new();
    for (names, settings) in &shared {
        let of = if alone {
            String::new()
        } else {
            format!("{}: ", names.join(", "))
        };
        let drawing = Drawing::new(settings, width.max(WIDTH_MIN) - LEFT);
        lines.extend(drawing.lines(&of));
    }
    lines
}

struct Drawing<'a> {
    faults: &'a [StudyFault],
    warmup_ns: u64,
    /// True if the warm-up may be shorter than planned.
    at_most: bool,
    /// Length of the window, in ns. If the window ends after a number of operations, this is the
    /// time until the end of the last fault.
    window_ns: u64,
    /// True if the window ends after a number of operations. The time of the end is then unknown.
    is_counted: bool,
    columns: usize,
}

/// A part of a row, from its first column to its end column. The end column is exclusive.
struct Bar {
    from: usize,
    text: String,
}

impl<'a> Drawing<'a> {
    fn new(settings: &'a Settings, columns: usize) -> Drawing<'a> {
        let (warmup_ns, at_most) = match settings.window.warmup {
            Warmup::Auto(ns) => (ns, true),
            Warmup::Fixed(ns) => (ns, false),
        };
        let is_counted = settings.window.measure_ns == 0;
        Drawing {
            faults: &settings.faults,
            is_counted,
            warmup_ns,
            at_most,
            window_ns: if is_counted {
                settings.faults.iter().map(StudyFault::end_ns).max().unwrap_or(0)
            } else {
                settings.window.measure_ns
            },
            columns,
        }
    }

    fn lines(&self, of: &str) -> Vec<String> {
        let line = |label: &str, text: &str| {
            let line = format!("  {label:<10} {text}");
            line.trim_end().to_owned()
        };
        if self.faults.is_empty() {
            return vec![line("faults", &format!("{of}none"))];
        }
        let mut lines = Vec::new();
        for head in wrapped(&format!("{of}{}", self.head()), self.columns) {
            let label = if lines.is_empty() { "faults" } else { "" };
            lines.push(line(label, &head));
        }
        lines.extend(self.ruler().iter().map(|text| line("", text)));
        for (label, hits) in self.rows() {
            let lanes = self.lanes(&hits);
            let mut label = label.as_str();
            for lane in lanes {
                lines.push(line(label, &self.drawn(&lane)));
                label = "";
            }
        }
        lines.extend(self.legend().iter().map(|text| line("", text)));
        lines
    }

    fn head(&self) -> String {
        let time = units::format_duration_ns;
        let before = match (self.warmup_ns, self.at_most) {
            (0, _) => String::new(),
            (ns, true) => format!(" after at most {} of warm-up (~)", time(ns)),
            (ns, false) => format!(" after {} of warm-up (~)", time(ns)),
        };
        let column = about_duration(self.all_ns() as f64 / 1e9 / self.columns as f64);
        let (count, window) = (self.faults.len(), time(self.window_ns));
        if self.is_counted {
            format!("{count} while operations are counted, {column} a column")
        } else {
            format!("{count} in a window of {window}{before}, {column} a column")
        }
    }

    fn all_ns(&self) -> u64 {
        self.warmup_ns.saturating_add(self.window_ns).max(1)
    }

    /// Returns the column for a time in the window. The end of the window is in the column after
    /// the last column.
    fn column(&self, at_ns: u64) -> usize {
        let from_begin = u128::from(self.warmup_ns) + u128::from(at_ns.min(self.window_ns));
        (from_begin * self.columns as u128 / u128::from(self.all_ns())) as usize
    }

    /// Returns the line of labels, and the line below it. The second line shows the warm-up and the
    /// window, with a mark at each label.
    fn ruler(&self) -> [String; 2] {
        let begin = self.column(0);
        let mut marks: Vec<char> =
            (0..self.columns).map(|at| if at < begin { '~' } else { '-' }).collect();
        let mut labels = String::new();
        let window_s = self.window_ns / 1_000_000_000;
        let column_s = self.all_ns() as f64 / 1e9 / self.columns as f64;
        let fits = |step_s: &&u64| **step_s as f64 >= column_s * TICK_MIN as f64;
        let step_s = STEPS_S.iter().find(fits).copied().unwrap_or(u64::MAX).max(1);
        for tick in 0..=window_s / step_s {
            let at_ns = tick * step_s * 1_000_000_000;
            let label = match tick {
                0 => "0".to_owned(),
                _ => units::format_duration_ns(at_ns),
            };
            let column = self.column(at_ns);
            if column < self.columns && column + label.len() <= self.columns {
                marks[column] = '+';
                labels += &" ".repeat(column.saturating_sub(labels.len()));
                labels += &label;
            }
        }
        [labels, marks.into_iter().collect()]
    }

    /// Returns the targets, ordered by kind and number. Each target comes with the indexes of the
    /// faults that affect it.
    fn rows(&self) -> Vec<(String, Vec<usize>)> {
        let mut rows: BTreeMap<(&str, usize), Vec<usize>> = BTreeMap::new();
        for (number, fault) in self.faults.iter().enumerate() {
            let hit: Vec<(&str, usize)> = match &fault.hit {
                PlannedHit::Known(Hit::Node(node)) | PlannedHit::HostOf(node) => {
                    vec![("node", node.number())]
                }
                PlannedHit::Known(Hit::Host(host)) => vec![("host", host.number())],
                PlannedHit::Known(Hit::Split(split)) => {
                    split.of.iter().map(|host| ("host", host.number())).collect()
                }
                PlannedHit::Known(Hit::Nodes(nodes)) => {
                    nodes.iter().map(|node| ("node", node.number())).collect()
                }
                PlannedHit::Known(Hit::Cluster) => vec![("all nodes", 0)],
                // cassay knows this target only when the cluster runs, so the row has a general
                // name.
                PlannedHit::HottestReplica | PlannedHit::HostOfHottestReplica => {
                    vec![("hottest", 0)]
                }
            };
            for what in hit {
                rows.entry(what).or_default().push(number);
            }
        }
        let rows = rows.into_iter();
        let name = |what: &str, number: usize| match number {
            0 => what.to_owned(),
            _ => format!("{what}{number}"),
        };
        rows.map(|((what, number), hits)| (name(what, number), hits)).collect()
    }

    /// Returns the bars of a row. Uses as many lines as necessary, so that bars do not touch each
    /// other.
    fn lanes(&self, hits: &[usize]) -> Vec<Vec<Bar>> {
        let mut bars: Vec<Bar> = hits.iter().map(|number| self.bar(*number)).collect();
        bars.sort_by_key(|bar| bar.from);
        let mut lanes: Vec<Vec<Bar>> = Vec::new();
        for bar in bars {
            let is_free = |lane: &&mut Vec<Bar>| {
                let last = lane.last();
                last.is_none_or(|last| last.from + last.text.len() < bar.from)
            };
            // Readers cannot distinguish bars without numbers, so such bars may touch.
            match lanes.iter_mut().find(|lane| !self.is_numbered() || is_free(lane)) {
                Some(lane) => lane.push(bar),
                None => lanes.push(vec![bar]),
            }
        }
        lanes
    }

    fn is_numbered(&self) -> bool {
        self.faults.len() <= NUMBERED_MAX
    }

    /// Returns the bar of a fault, with `=` for its duration. In a numbered drawing, the bar begins
    /// with the number of the fault, and with its kind if there is space.
    fn bar(&self, number: usize) -> Bar {
        let fault = &self.faults[number];
        let from = self.column(fault.at_ns).min(self.columns - 1);
        let to = match fault.kind.length {
            Length::Stated | Length::Task | Length::Staged => self.column(fault.end_ns()),
            Length::Moment => from + 1,
        };
        let length = to.max(from + 1) - from;
        let number = if self.is_numbered() {
            (number + 1).to_string()
        } else {
            String::new()
        };
        let named = format!("{number} {} ", fault.kind.name);
        let text = if length > named.len() && self.is_numbered() {
            named
        } else {
            number
        };
        let text = format!("{text:=<length$}");
        Bar {
            from: from.min(self.columns.saturating_sub(text.len())),
            text,
        }
    }

    /// Draws one line of bars, with dots at times without faults.
    fn drawn(&self, bars: &[Bar]) -> String {
        let begin = self.column(0);
        let mut line: Vec<char> =
            (0..self.columns).map(|at| if at < begin { ' ' } else { '.' }).collect();
        for bar in bars {
            for (at, c) in (bar.from..).zip(bar.text.chars()) {
                if let Some(place) = line.get_mut(at) {
                    *place = c;
                }
            }
        }
        line.into_iter().collect()
    }

    /// Returns the legend. For each number, it contains the time, the length and the description of
    /// the fault. For a drawing without numbers, returns the shorter legend of `counted`.
    fn legend(&self) -> Vec<String> {
        if !self.is_numbered() {
            return self.counted();
        }
        let time = units::format_duration_ns;
        let faults = self.faults.iter();
        let rows: Vec<[String; 4]> = faults
            .enumerate()
            .map(|(number, fault)| {
                let length = match fault.kind.length {
                    Length::Stated => format!("for {}", time(fault.for_ns)),
                    Length::Staged => format!("for {} once in effect", time(fault.for_ns)),
                    Length::Task => format!("for at most {}", time(fault.for_ns)),
                    Length::Moment => "at once".to_owned(),
                };
                [
                    (number + 1).to_string(),
                    time(fault.at_ns),
                    length,
                    fault.words(),
                ]
            })
            .collect();
        let longest = |at: usize| rows.iter().map(|row| row[at].len()).max().unwrap_or(0);
        let [number, at, length] = [0, 1, 2].map(|at: usize| longest(at));
        let before = format!("{:>number$}  at {:>at$} {:<length$}  ", "", "", "").len();
        let mut lines = Vec::new();
        for [own, begin, lasts, words] in &rows {
            let mut head = format!("{own:>number$}  at {begin:>at$} {lasts:<length$}  ");
            for part in wrapped(words, self.columns.saturating_sub(before)) {
                lines.push(head + &part);
                head = " ".repeat(before);
            }
        }
        lines
    }

    /// Returns a legend for a drawing with many faults. It states how often each kind of fault
    /// affects each target.
    fn counted(&self) -> Vec<String> {
        let mut kinds: BTreeMap<&str, BTreeMap<String, usize>> = BTreeMap::new();
        for fault in self.faults {
            let of = kinds.entry(&*fault.kind.name).or_default();
            *of.entry(fault.place()).or_default() += 1;
        }
        let said = kinds.iter().flat_map(|(kind, places)| {
            let places: Vec<String> =
                places.iter().map(|(place, count)| format!("{place} {count} times")).collect();
            wrapped(&format!("{kind}: {}", places.join(", ")), self.columns)
        });
        let mut lines: Vec<String> = said.collect();
        lines.push("`--json` lists each fault with its time".to_owned());
        lines
    }
}

/// Wraps a text between words, so that lines have at most `columns` columns.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::resolve;
    use crate::settings::Overrides;
    use expect_test::{Expect, expect};

    fn check(rest: &str, width: usize, expect: Expect) {
        let text = format!(
            "study: s\nquestion: q\nworkload: {{use: standard1}}\n\
             target: {{local: {{hosts: 3, host: {{volume: 2GiB}}}}}}\n\
             data: {{load: {{operations: 10k}}}}\nprocedure: {{fixed: {{rate: 100}}}}\n{rest}"
        );
        let study = resolve("s", &text, &Overrides::default())
            .unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let lines = lines(&study, width);
        for line in &lines {
            assert!(line.chars().count() <= width, "{line}");
        }
        // A plan indents all lines by two spaces. The test removes these spaces.
        let lines = lines
            .iter()
            .map(|line| line.strip_prefix("  ").expect("the line begins with two spaces"));
        let text: String = lines.map(|line| format!("{line}\n")).collect();
        expect.assert_eq(&text);
    }

    const SOME: &str = "\
        window: {warmup: 10s, measure: 2m}\n\
        faults:\n\
        - {at: 20s, kind: node-pause, where: {node: 2}, for: 40s}\n\
        - {at: 70s, kind: net-reset, where: {node: 2}}\n\
        - {at: 75s, kind: net-partition, where: {hosts: [1, 3]}, until: end}\n";

    #[test]
    fn each_node_and_host_that_is_hit_has_a_row_with_bars() {
        check(
            SOME,
            80,
            expect![[r#"
                  faults     3 in a window of 2m after 10s of warm-up (~), 1.9 s a column
                                  0         20s       40s        1m        80s       100s
                             ~~~~~+---------+---------+----------+---------+---------+----------
                  host1           ......................................3 net-partition ========
                  host3           ......................................3 net-partition ========
                  node2           ..........1 node-pause ========.....2.........................
                             1  at 20s for 40s  node-pause of node2
                             2  at 70s at once  net-reset of node2
                             3  at 75s for 45s  net-partition of host1 and host3 from host2
            "#]],
        );
    }

    #[test]
    fn a_narrow_terminal_has_fewer_columns_and_longer_ones() {
        check(
            SOME,
            60,
            expect![[r#"
                  faults     3 in a window of 2m after 10s of warm-up (~),
                             2.8 s a column
                                0          30s        1m         90s
                             ~~~+----------+----------+----------+----------
                  host1         ...........................3 net-partition =
                  host3         ...........................3 net-partition =
                  node2         .......1 node-pause ==...2..................
                             1  at 20s for 40s  node-pause of node2
                             2  at 70s at once  net-reset of node2
                             3  at 75s for 45s  net-partition of host1 and
                                                host3 from host2
            "#]],
        );
    }

    #[test]
    fn random_faults_are_told_apart_by_their_numbers() {
        check(
            "window: {warmup: 10s, measure: 14m}\nfaults: [{at: 20s, every: 40s, for: 10s, \
             kind: [node-pause, disk-slow, net-loss], loss: 20%, disk: {read_iops: 20}}]\n",
            80,
            expect![[r#"
                  faults     21 in a window of 14m after 10s of warm-up (~), 13 s a column
                             0         2m       4m        6m       8m        10m      12m
                             +---------+--------+---------+--------+---------+--------+---------
                  host1      ...........4.........................12............................
                  host2      ..............5...6..7..8.....10...........14.......17.............
                  host3      ..1.....3........................11...........15...................
                  node1      .....2.............................................................
                  node2      ...........................9.......................................
                  node3      ........................................13.......16....18..19.20.21
                              1  at  20s for 10s  disk-slow of host3, disk disk_read_iops 20
                              2  at   1m for 10s  node-pause of node1
                              3  at 100s for 10s  net-loss of host3, loss 20 %
                              4  at 140s for 10s  disk-slow of host1, disk disk_read_iops 20
                              5  at   3m for 10s  net-loss of host2, loss 20 %
                              6  at 220s for 10s  net-loss of host2, loss 20 %
                              7  at 260s for 10s  disk-slow of host2, disk disk_read_iops 20
                              8  at   5m for 10s  net-loss of host2, loss 20 %
                              9  at 340s for 10s  node-pause of node2
                             10  at 380s for 10s  disk-slow of host2, disk disk_read_iops 20
                             11  at   7m for 10s  disk-slow of host3, disk disk_read_iops 20
                             12  at 460s for 10s  net-loss of host1, loss 20 %
                             13  at 500s for 10s  node-pause of node3
                             14  at   9m for 10s  disk-slow of host2, disk disk_read_iops 20
                             15  at 580s for 10s  net-loss of host3, loss 20 %
                             16  at 620s for 10s  node-pause of node3
                             17  at  11m for 10s  disk-slow of host2, disk disk_read_iops 20
                             18  at 700s for 10s  node-pause of node3
                             19  at 740s for 10s  node-pause of node3
                             20  at  13m for 10s  node-pause of node3
                             21  at 820s for 10s  node-pause of node3
            "#]],
        );
    }

    #[test]
    fn of_very_many_it_is_said_how_often_each_kind_comes() {
        check(
            "window: {warmup: 0s, measure: 8h}\nfaults: [{at: 2m, every: 5m, for: 60s, \
             kind: [node-pause, node-stop]}]\n",
            80,
            expect![[r#"
                  faults     96 in a window of 8h, 7 min 10 s a column
                             0               2h               4h               6h
                             +---------------+----------------+----------------+----------------
                  node1      =.=....=.......=...=....===.=.=....=.=.=.==....=.===..=...=.==..=..
                  node2      ...====..=.=....=..=.=.=....=....==.===.=............=..==....==..=
                  node3      ==.....==.=.===..==.=.=...==.====..=....=..====.==.==..=..===..=.=.
                             node-pause: node1 14 times, node2 11 times, node3 20 times
                             node-stop: node1 14 times, node2 17 times, node3 20 times
                             `--json` lists each fault with its time
            "#]],
        );
    }

    #[test]
    fn variants_share_a_drawing_where_their_faults_are_the_same() {
        check(
            "window: {measure: 1m}\nrepeat: {without_faults: true}\nvariants:\n  \
             a: {faults: [{at: 10s, kind: node-kill, where: {node: 1}, for: 20s}]}\n  \
             b: {workload: {consistency: ONE}, \
             faults: [{at: 10s, kind: node-kill, where: {node: 1}, for: 20s}]}\n  \
             c: {faults: [{at: 30s, kind: node-stop, where: {node: 3}, for: 20s}]}\n",
            80,
            expect![[r#"
                  faults     a, b: 1 in a window of 1m after at most 1m of warm-up (~), 1.8 s a
                             column
                                                              0          20s        40s
                             ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~+----------+----------+-----------
                  node1                                       ......1==========.................
                             1  at 10s for 20s  node-kill of node1
                  faults     c: 1 in a window of 1m after at most 1m of warm-up (~), 1.8 s a
                             column
                                                              0          20s        40s
                             ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~+----------+----------+-----------
                  node3                                       .................1==========......
                             1  at 30s for 20s  node-stop of node3
                  faults     a-without-faults, b-without-faults: none
            "#]],
        );
        check("window: {measure: 1m}\n", 80, expect![[""]]);
    }
}
