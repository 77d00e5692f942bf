//! Draws weighted values by the alias method, in which two values share each slot of a table.

use std::sync::Arc;

use super::chain::Env;
use super::functions::{Argument, Flavours, Row, Transformation, asking, cycle, row};
use super::java_value::{Ty, Val};
use super::parse_recipe::{Call, RecipeMistake};
use workload::virtdata::hash;

/// The largest input as a floating-point number. For intervals, NoSQLBench uses a slightly larger
/// number.
const UNIT: f64 = 9_223_372_036_854_775_807.0;
const INTERVAL_UNIT: f64 = UNIT + 1026.0;

/// A slot: the position at which the second value begins, and the indexes of both values.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slot {
    divider: f64,
    bottom: usize,
    top: usize,
}

pub(super) const ROWS: &[Row] = &[
    row(&["WeightedInts"], |given| match given {
        [Argument::Text(spec)] => ints(spec, true),
        [Argument::Text(spec), Argument::Text(mode)] if mode == "map" => ints(spec, false),
        _ => None,
    }),
    asking(&["CSVFrequencySampler"], |call, given, env| {
        let [Argument::Text(file), Argument::Text(column)] = given else {
            return Ok(None);
        };
        let rows = csv(file, &[column], call, env)?;
        let values: Vec<String> = rows.into_iter().flatten().collect();
        let ordered = set_order(&values);
        let count = |value: &String| values.iter().filter(|known| *known == value).count();
        let weights: Vec<(usize, f64)> =
            ordered.iter().map(|value| count(value) as f64).enumerate().collect();
        texts(call, ordered, &weights, true)
    }),
    asking(&["WeightedStringsFromCSV"], |call, given, env| {
        let [Argument::Text(value), Argument::Text(weight), files @ ..] = given else {
            return Ok(None);
        };
        let mut names: Vec<&str> = files.iter().filter_map(Argument::text).collect();
        let is_hashed = names.first() != Some(&"map");
        names.retain(|name| !["map", "hash"].contains(name));
        let (mut values, mut weights) = (Vec::new(), Vec::new());
        for file in names {
            for row in csv(file, &[value, weight], call, env)? {
                if let Ok(number) = row[1].trim().parse::<f64>() {
                    weights.push((values.len(), number));
                }
                values.push(row[0].clone());
            }
        }
        texts(call, values, &weights, is_hashed)
    }),
];

struct Alias {
    slots: Arc<[Slot]>,
    values: Arc<[Val<'static>]>,
    is_hashed: bool,
    unit: f64,
}

impl Alias {
    fn drawn(self, ty: Ty) -> Flavours {
        cycle(
            ty,
            Transformation::with(self, |alias, value| alias.value(value.long())),
        )
    }

    fn value(&self, input: i64) -> Val<'_> {
        let input = if self.is_hashed {
            hash(input as u64) as i64
        } else {
            input
        };
        let point = input as f64 / self.unit * self.slots.len() as f64;
        let slot = self.slots[(point as usize).min(self.slots.len() - 1)];
        let index = if point > slot.divider {
            slot.top
        } else {
            slot.bottom
        };
        self.values[index].clone()
    }
}

/// Builds the slots for these weights. Each weight has the index of its value.
fn slots(weights: &[(usize, f64)]) -> Option<Arc<[Slot]>> {
    use std::collections::VecDeque;
    let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let count = weights.len() as f64;
    if weights.is_empty() || sum <= 0.0 || !sum.is_finite() {
        return None;
    }
    let scaled = weights.iter().map(|(index, w)| (*index, w / sum * count));
    let (mut small, mut large): (VecDeque<_>, VecDeque<_>) = scaled.partition(|(_, w)| *w < 1.0);
    let mut slots = Vec::with_capacity(weights.len());
    let mut slot = |divider: f64, bottom, top| {
        let divider = slots.len() as f64 + divider;
        slots.push(Slot {
            divider,
            bottom,
            top,
        });
    };
    while let (Some((low, weight)), Some((high, room))) = (small.front(), large.front()) {
        let (low, weight, high, room) = (*low, *weight, *high, *room);
        small.pop_front();
        large.pop_front();
        slot(weight, low, high);
        let rest = room + weight - 1.0;
        let queue = if rest < 1.0 { &mut small } else { &mut large };
        queue.push_back((high, rest));
    }
    for (index, _) in large.into_iter().chain(small) {
        slot(1.0, index, index);
    }
    Some(slots.into())
}

fn texts(
    call: &Call,
    values: Vec<String>,
    weights: &[(usize, f64)],
    is_hashed: bool,
) -> Result<Flavours, RecipeMistake> {
    let Some(slots) = slots(weights) else {
        let message = format!("{} finds no value with a weight above 0", call.name);
        return Err(RecipeMistake::new(message, call.at));
    };
    let values = values.into_iter().map(|text| Val::Text(text.into()));
    let alias = Alias {
        slots,
        values: values.collect(),
        is_hashed,
        unit: UNIT,
    };
    Ok(alias.drawn(Ty::Text))
}

fn ints(spec: &str, is_hashed: bool) -> Flavours {
    let (mut values, mut weights) = (Vec::new(), Vec::new());
    for pair in spec.split([';', ',', ' ']).filter(|pair| !pair.is_empty()) {
        let (value, weight) = pair.split_once(':').unwrap_or((pair, "1"));
        weights.push((values.len(), weight.parse::<f64>().ok()?));
        values.push(Val::Int(value.parse().ok()?));
    }
    let alias = Alias {
        slots: slots(&weights)?,
        values: values.into(),
        is_hashed,
        unit: INTERVAL_UNIT,
    };
    alias.drawn(Ty::Int)
}

/// Returns texts in the iteration order of a `java.util.HashSet`.
fn set_order(values: &[String]) -> Vec<String> {
    let mut distinct: Vec<&String> = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    // A HashSet doubles the number of its buckets when it contains more elements than three
    // quarters of that number.
    let mut buckets = 16usize;
    while distinct.len() > buckets / 4 * 3 {
        buckets *= 2;
    }
    let bucket = |text: &str| {
        let unit = |hash: i32, c: u16| hash.wrapping_mul(31).wrapping_add(i32::from(c));
        let hash = text.encode_utf16().fold(0, unit) as u32;
        (hash ^ hash >> 16) as usize & (buckets - 1)
    };
    distinct.sort_by_key(|text| bucket(text));
    distinct.into_iter().cloned().collect()
}

/// Returns the cells of the named columns of a file that has a header line. Omits records that lack
/// one of these columns.
fn csv(
    file: &str,
    columns: &[&str],
    call: &Call,
    env: &mut Env,
) -> Result<Vec<Vec<String>>, RecipeMistake> {
    let name = if file.ends_with(".csv") {
        file.to_owned()
    } else {
        format!("{file}.csv")
    };
    let wrong = |message: String| RecipeMistake::new(message, call.at);
    let text = (env.read)(&name).map_err(|why| wrong(format!("{}: {why}", call.name)))?;
    let mut lines = records(&text).into_iter();
    let header = lines.next().unwrap_or_default();
    let mut places = Vec::new();
    for column in columns {
        let Some(place) = header.iter().position(|known| known.trim() == *column) else {
            let message = format!(
                "{name} has no column {column}; it has {}",
                header.join(", ")
            );
            return Err(wrong(message));
        };
        places.push(place);
    }
    let cells = |line: Vec<String>| {
        let cells = places.iter().map(|place| line.get(*place).cloned());
        cells.collect::<Option<Vec<String>>>()
    };
    Ok(lines.filter_map(cells).collect())
}

/// Returns the cells of each record of a CSV. A quoted cell may contain commas, line breaks and
/// doubled quotes.
fn records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                cell.push('"');
                characters.next();
            }
            '"' if quoted || cell.is_empty() => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut cell)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                record.push(std::mem::take(&mut cell));
                records.push(std::mem::take(&mut record));
            }
            c => cell.push(c),
        }
    }
    if !cell.is_empty() || !record.is_empty() {
        record.push(cell);
        records.push(record);
    }
    records.retain(|record: &Vec<String>| record.len() > 1 || !record[0].is_empty());
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_hold_what_is_less_than_its_share_below_what_is_more() {
        let slots = slots(&[(0, 1.0), (1, 3.0)]).unwrap();
        let expected = [(0.5, 0, 1), (2.0, 1, 1)].map(|(divider, bottom, top)| Slot {
            divider,
            bottom,
            top,
        });
        assert_eq!(*slots, expected);
    }

    #[test]
    fn lines_are_split_into_cells() {
        let cells = records("a,b\r\n1,\"x, \"\"y\"\"\nz\"\n\n2,\n");
        assert_eq!(
            cells,
            [vec!["a", "b"], vec!["1", "x, \"y\"\nz"], vec!["2", ""]]
        );
    }

    #[test]
    fn texts_are_ordered_as_java_orders_them() {
        let fruits = [
            "banana",
            "apple",
            "cherry",
            "date",
            "apple",
            "elderberry",
            "fig",
            "grape",
        ];
        let many: Vec<String> = (0..14).map(|n| format!("k{n}")).collect();
        // The expected order is the order in java.util.HashSet of JDK 17.
        for (texts, expected) in [
            (
                fruits.map(str::to_owned).to_vec(),
                "banana date apple cherry fig grape elderberry",
            ),
            (many, "k0 k1 k2 k3 k4 k5 k11 k6 k10 k7 k13 k8 k12 k9"),
        ] {
            assert_eq!(set_order(&texts).join(" "), expected);
        }
    }
}
