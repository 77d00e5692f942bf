//! Tests that the generated rows equal the rows of cassandra-stress.

use super::*;
use crate::stress::column::Spec;
use crate::stress::draw::Dist;
use cql::value::CqlType;
use data_encoding::HEXLOWER;
use std::collections::HashSet;

/// Lines of `# table seed n`. The rows of that partition follow in hexadecimal. The class
/// org.apache.cassandra.stress.generate.PartitionIterator of 3.11.4 generated the rows with these
/// columns.
const ROWS: &str = include_str!("rows.txt");

fn column(name: &str, typ: CqlType, population: &str, size: &str, cluster: &str) -> Column {
    let dist = |text: &str| (!text.is_empty()).then(|| Dist::parse(text).expect(text));
    let spec = Spec {
        size: dist(size),
        population: dist(population),
        cluster: dist(cluster),
    };
    Column::from_profile(name, &typ, spec)
}

fn example(names: &str, dates: &str, lvals: &str, size: &str) -> Columns {
    Columns::new(
        vec![
            column("name", CqlType::Text, names, "uniform(1..10)", ""),
            column("choice", CqlType::Boolean, "", "", ""),
        ],
        vec![
            column("date", CqlType::Timestamp, "", "", dates),
            column("address", CqlType::Inet, "", "", ""),
            column("dbl", CqlType::Double, "", "", ""),
            column("lval", CqlType::Bigint, "gaussian(1..1000)", "", lvals),
            column("ival", CqlType::Int, "", "", ""),
            column("uid", CqlType::Timeuuid, "", "", ""),
        ],
        vec![column("value", CqlType::Blob, "", size, "")],
    )
}

fn all_types() -> Columns {
    Columns::new(
        vec![column("k", CqlType::Uuid, "", "", "")],
        vec![
            column("a", CqlType::Int, "uniform(1..3)", "", "fixed(3)"),
            column(
                "b",
                CqlType::Text,
                "exp(1..1000)",
                "gaussian(1..20)",
                "uniform(2..6)",
            ),
        ],
        vec![
            column("c", CqlType::Varint, "seq(1..100)", "", ""),
            column("d", CqlType::Decimal, "extreme(1..1000,0.5)", "", ""),
            column("e", CqlType::Float, "gaussian(1..100,50,5)", "", ""),
            column("f", CqlType::Smallint, "", "", ""),
            column("g", CqlType::Tinyint, "~exp(1..100)", "", ""),
            column("h", CqlType::Time, "", "", ""),
            column("i", CqlType::Int, "", "", ""),
            column("j", CqlType::Double, "exp(1..1k)", "", ""),
        ],
    )
}

/// Returns the rows of a visit, in the form in which the Java program that calls the tool prints
/// them.
fn rows(columns: Columns, seed: i64, visit: Visit) -> Vec<String> {
    let mut walk = Walk::new(columns);
    walk.seek(seed);
    walk.begin(visit, Draws::new(0, 0));
    let mut rows = Vec::new();
    while walk.next_row() {
        let cells: Vec<String> =
            walk.key.iter().chain(&walk.row).map(|c| HEXLOWER.encode(c)).collect();
        rows.push(cells.join(" "));
    }
    rows
}

#[test]
fn rows_are_bit_for_bit_those_of_cassandra_stress() {
    let mut compared = 0;
    for block in ROWS.split("# ").skip(1) {
        let mut lines = block.lines();
        let title = lines.next().expect("a title");
        let words: Vec<&str> = title.split(' ').collect();
        let seed = words[2].parse().expect("a seed");
        let visits = if words[0] == "all-visits" { 3 } else { 1 };
        let write = Visit::Write {
            chance: 1.0,
            visit: 0,
            visits,
        };
        let made = match words[0] {
            "example" => rows(
                example("uniform(1..10)", "uniform(20..40)", "uniform(1..4)", ""),
                seed,
                write,
            ),
            "example-read" => rows(
                example("uniform(1..10)", "uniform(20..40)", "uniform(1..4)", ""),
                seed,
                Visit::All,
            ),
            "insanity" => rows(
                example(
                    "uniform(1..100M)",
                    "gaussian(1..20)",
                    "fixed(1)",
                    "fixed(16)",
                ),
                seed,
                write,
            ),
            _ => rows(all_types(), seed, write),
        };
        let expected: Vec<&str> = lines.take_while(|line| !line.starts_with('=')).collect();
        assert_eq!(made, expected, "{title}");
        compared += made.len();
    }
    assert!(compared > 70, "{compared} rows");
}

#[test]
fn later_visits_go_on_where_the_one_before_ended() {
    let nine = || {
        let clustering = vec![column("c", CqlType::Int, "", "", "fixed(9)")];
        Columns::new(
            vec![column("k", CqlType::Int, "", "", "")],
            clustering,
            Vec::new(),
        )
    };
    let all = rows(nine(), 1, Visit::All);
    let mut seen = Vec::new();
    for visit in 0..3 {
        let write = Visit::Write {
            chance: 1.0,
            visit,
            visits: 3,
        };
        seen.extend(rows(nine(), 1, write));
    }
    assert_eq!(seen.len(), all.len());
    assert!(all.iter().all(|row| seen.contains(row)));
}

#[test]
fn a_share_of_the_rows_is_a_share_of_the_rows() {
    let wide = || {
        let clustering = vec![column("c", CqlType::Int, "", "", "fixed(1000)")];
        Columns::new(
            vec![column("k", CqlType::Int, "", "", "")],
            clustering,
            Vec::new(),
        )
    };
    let all = rows(wide(), 7, Visit::All);
    assert_eq!(all.len(), 1000);
    let some = rows(wide(), 7, Visit::Some { rows: 100 });
    assert!((60..140).contains(&some.len()), "{}", some.len());
    assert!(some.iter().all(|row| all.contains(row)));
    let write = Visit::Write {
        chance: 0.5,
        visit: 0,
        visits: 1,
    };
    assert!((400..600).contains(&rows(wide(), 7, write).len()));
}

fn levels(clusters: &[(&str, &str)]) -> Columns {
    let level = |at: usize, (population, cluster): (&str, &str)| {
        column(
            &format!("c{at}"),
            CqlType::Timestamp,
            population,
            "",
            cluster,
        )
    };
    let clustering = clusters.iter().enumerate();
    Columns::new(
        vec![column("k", CqlType::Int, "", "", "")],
        clustering.map(|(at, of)| level(at, *of)).collect(),
        vec![column("v", CqlType::Double, "", "", "")],
    )
}

/// Returns the rows of many reads, and of many writes of about one row each. With several levels,
/// the tool writes all rows below a value of the first level. In this case, the function returns
/// only the first of these rows.
fn single_rows(columns: &Columns, chance: f64, seed: i64) -> Vec<Vec<Vec<u8>>> {
    let write = Visit::Write {
        chance,
        visit: 0,
        visits: 1,
    };
    let mut walk = Walk::new(columns.clone());
    let mut rows = Vec::new();
    for (n, visit) in (0..100).flat_map(|n| [(n, Visit::Some { rows: 1 }), (n, write)]) {
        walk.seek(seed);
        walk.begin(visit, Draws::new(3, n));
        assert!(walk.next_row(), "{visit:?} has no row");
        rows.push(walk.row.clone());
        while columns.clustering.len() == 1 && walk.next_row() {
            rows.push(walk.row.clone());
        }
    }
    rows
}

/// In an earlier version, a read of one row in a partition of 43,200 rows took 30 ms, because all
/// rows were generated. The partitions of this test would take days, and more memory than exists.
#[test]
fn one_row_is_chosen_without_the_others_in_any_partition() {
    for clusters in [
        &[("", "fixed(2B)")][..],
        &[("", "fixed(40k)"), ("", "fixed(40k)")],
        &[("", "fixed(3)"), ("", "fixed(500M)"), ("", "fixed(1)")],
        &[("uniform(1..1000)", "fixed(2B)")],
        &[("gaussian(1..100B)", "fixed(2B)")],
        &[("exp(1..100B)", "uniform(1B..2B)")],
    ] {
        let columns = levels(clusters);
        let rows = single_rows(&columns, 1.0 / columns.rows_max(), 5);
        assert!(
            (200..600).contains(&rows.len()),
            "{clusters:?} {}",
            rows.len()
        );
    }
}

#[test]
fn the_rows_chosen_of_a_wide_partition_are_rows_of_it() {
    for clusters in [
        &[("", "fixed(5000)")][..],
        &[("gaussian(1..100B)", "uniform(500..5000)")],
        &[("", "fixed(300)"), ("", "fixed(20)")],
        &[("", "fixed(4)"), ("seq(1..100M)", "fixed(1500)")],
        &[("uniform(1..2000)", "fixed(5000)")],
    ] {
        let columns = levels(clusters);
        let mut walk = Walk::new(columns.clone());
        walk.seek(11);
        walk.begin(Visit::All, Draws::new(0, 0));
        let mut all = HashSet::new();
        while walk.next_row() {
            all.insert(walk.row.clone());
        }
        let some = single_rows(&columns, 1.0 / columns.rows_max(), 11);
        assert!(some.iter().all(|row| all.contains(row)), "{clusters:?}");
        let distinct: HashSet<_> = some.iter().collect();
        assert!(clusters.len() > 1 || distinct.len() > 60, "{clusters:?}");
    }
}

#[test]
fn a_small_share_of_a_wide_partition_is_that_share() {
    let columns = levels(&[("", "fixed(60k)")]);
    let mut walk = Walk::new(columns);
    let mut rows = 0;
    for n in 0..100 {
        walk.seek(n);
        let write = Visit::Write {
            chance: 0.001,
            visit: 0,
            visits: 1,
        };
        walk.begin(write, Draws::new(9, n as u64));
        while walk.next_row() {
            rows += 1;
        }
    }
    // The expected number is 6,000, with a standard deviation of 77.
    assert!((5_600..6_400).contains(&rows), "{rows}");
}

#[test]
fn a_value_drawn_twice_makes_no_second_row_in_any_partition() {
    for (population, cluster, distinct) in [
        ("uniform(1..5)", "fixed(30)", 4..=5),
        ("uniform(1..50)", "fixed(2000)", 50..=50),
        ("uniform(1..100B)", "fixed(200k)", 199_000..=200_000),
    ] {
        let columns = Columns::new(
            vec![column("k", CqlType::Int, "", "", "")],
            vec![column("c", CqlType::Bigint, population, "", cluster)],
            Vec::new(),
        );
        let count = rows(columns, 7, Visit::All).len();
        assert!(distinct.contains(&count), "{cluster}: {count}");
    }
}

#[test]
fn a_date_counts_its_days_from_the_middle_of_the_range() {
    // The class LocalDates of 3.11.4 generates the days, and the driver's codec for dates encodes
    // them in this way.
    for (days, expected) in [
        ("fixed(0)", "80000000"),
        ("fixed(5)", "80000005"),
        ("fixed(-7)", "7ffffff9"),
        ("fixed(1215752192)", "c876e800"),
    ] {
        let mut date = column("i", CqlType::Date, days, "", "");
        date.set_seed(1);
        let mut made = Vec::new();
        date.append(&mut made);
        assert_eq!(HEXLOWER.encode(&made), expected, "{days}");
        let number = Dist::parse(days).expect(days).max();
        assert_eq!(date.fold(&made, 2), 62 + number, "{days}");
    }
}

/// Randomly drawn tables. Each begins with `case name seed visits`, and then has a line for each
/// column (part, name, type, population, size, cluster; `-` means absent). The rows of each visit
/// follow, as the tool's PartitionIterator generates them for these columns. Elements of sets are
/// in the order of their bytes.
const TABLES: &str = include_str!("tables.txt");

/// Returns the elements of a set in the order of their bytes, all in hexadecimal.
fn by_bytes(set: &str) -> String {
    let (count, mut rest) = set.split_at(8);
    let mut elements = Vec::new();
    while !rest.is_empty() {
        let length = usize::from_str_radix(&rest[..8], 16).expect("a length");
        let (element, behind) = rest.split_at(8 + 2 * length);
        elements.push(element);
        rest = behind;
    }
    elements.sort_by_key(|element| &element[8..]);
    format!("{count}{}", elements.concat())
}

/// Parses the line of a column.
fn drawn_column(line: &str) -> (&str, Column) {
    let words: Vec<&str> = line.split(' ').collect();
    // The iterator treats a date as the number of its day. The driver's codec adds the offset when
    // it sends the date.
    let typ = words[2].replace("date", "int");
    let cql = format!("CREATE TABLE t (key int PRIMARY KEY, {} {typ})", words[1]);
    let Ok(workload::schema::DefinedObject::Table(table)) = workload::schema::parse(&cql, &[])
    else {
        panic!("{cql}");
    };
    let text = |at: usize| words[at].trim_matches('-');
    let typ = table.columns[1].typ.clone();
    (words[0], column(words[1], typ, text(3), text(4), text(5)))
}

#[test]
fn tables_of_any_types_and_levels_have_the_rows_of_the_tool() {
    let mut compared = 0;
    for block in TABLES.split("case ").skip(1) {
        let (head, expected) = block.split_once("rows\n").expect("rows");
        let mut lines = head.lines();
        let title = lines.next().expect("a title");
        let number = |at: usize| title.split(' ').nth(at).and_then(|word| word.parse().ok());
        let (seed, visits) = (number(1).expect("a seed"), number(2).expect("visits"));
        let (mut key, mut clustering, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (part, column) in lines.map(drawn_column) {
            match part {
                "K" => key.push(column),
                "C" => clustering.push(column),
                _ => values.push(column),
            }
        }
        let all = || key.iter().chain(&clustering).chain(&values);
        let is_set: Vec<bool> = all().map(Column::is_set).collect();
        let columns = Columns::new(key, clustering, values);
        let mut made = String::new();
        for visit in 0..visits {
            made.push_str(&format!("visit {visit}\n"));
            let write = Visit::Write {
                chance: 1.0,
                visit,
                visits,
            };
            let rows = rows(columns.clone(), seed, write);
            for row in &rows {
                let cell = |(cell, is_set): (&str, &bool)| {
                    if *is_set {
                        format!("x{}", by_bytes(cell))
                    } else {
                        format!("x{cell}")
                    }
                };
                let cells: Vec<String> = row.split(' ').zip(&is_set).map(cell).collect();
                made.push_str(&format!("{}\n", cells.join(" ")));
            }
            if rows.is_empty() {
                made.push_str("none\n");
            }
            compared += rows.len();
        }
        assert_eq!(made, expected, "{title}");
    }
    assert!(compared > 200, "{compared} rows");
}
