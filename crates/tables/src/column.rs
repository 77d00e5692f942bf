//! A table as data: its columns, each with what it says and where its value comes from.

use std::borrow::Cow;

measure::word_enum! {
    /// What the values of a column are.
    pub enum Kind {
        /// Text, in UTF-8.
        Text = "text",
        /// Whole numbers, of 64 bits.
        Whole = "whole number",
        /// Numbers, as 64-bit floats.
        Number = "number",
        /// `true` or `false`.
        Truth = "true or false",
        /// A moment in UTC, to the microsecond.
        Time = "time (UTC)",
    }
}

/// A value, or none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    /// Not known, or nothing of the sort.
    Absent,
    Text(Cow<'a, str>),
    Whole(i64),
    Number(f64),
    Truth(bool),
    /// Microseconds since 1970.
    Time(i64),
}

/// Where the value of a column comes from.
type Of<'r, R> = Box<dyn for<'a> Fn(&'a R) -> Cell<'a> + 'r>;

struct Column<'r, R> {
    words: ColumnWords,
    of: Of<'r, R>,
}

/// What a column is.
#[derive(Clone, Debug)]
pub struct ColumnWords {
    /// Its name, with the unit.
    pub name: Cow<'static, str>,
    /// What its values are.
    pub kind: Kind,
    /// Their unit; empty where they have none.
    pub unit: &'static str,
    /// What it says.
    pub says: Cow<'static, str>,
}

/// What a table is.
#[derive(Clone, Debug)]
pub struct TableWords {
    /// Its name, and that of its files.
    pub name: &'static str,
    /// What a row is.
    pub row: &'static str,
    /// Its columns, in order.
    pub columns: Vec<ColumnWords>,
}

/// A table whose rows are made of `R`.
pub(crate) struct Table<'r, R> {
    name: &'static str,
    row: &'static str,
    columns: Vec<Column<'r, R>>,
}

/// A number that is one.
fn number<'a>(value: Option<f64>) -> Cell<'a> {
    value.filter(|value| value.is_finite()).map_or(Cell::Absent, Cell::Number)
}

impl<'r, R: 'r> Table<'r, R> {
    /// One without columns.
    pub(crate) fn new(name: &'static str, row: &'static str) -> Table<'r, R> {
        Table {
            name,
            row,
            columns: Vec::new(),
        }
    }

    fn with(
        mut self,
        name: impl Into<Cow<'static, str>>,
        kind: Kind,
        unit: &'static str,
        says: impl Into<Cow<'static, str>>,
        of: impl for<'a> Fn(&'a R) -> Cell<'a> + 'r,
    ) -> Self {
        let words = ColumnWords {
            name: name.into(),
            kind,
            unit,
            says: says.into(),
        };
        self.columns.push(Column {
            words,
            of: Box::new(of),
        });
        self
    }

    /// A column of text; an empty one is none.
    pub(crate) fn text(
        self,
        name: &'static str,
        says: &'static str,
        of: impl for<'a> Fn(&'a R) -> Option<&'a str> + 'r,
    ) -> Self {
        self.with(name, Kind::Text, "", says, move |row| match of(row) {
            Some(text) if !text.is_empty() => Cell::Text(text.into()),
            _ => Cell::Absent,
        })
    }

    /// The same, of text that is made.
    pub(crate) fn words(
        self,
        name: &'static str,
        says: &'static str,
        of: impl Fn(&R) -> String + 'r,
    ) -> Self {
        self.with(name, Kind::Text, "", says, move |row| {
            let text = of(row);
            if text.is_empty() {
                Cell::Absent
            } else {
                Cell::Text(text.into())
            }
        })
    }

    /// A column of whole numbers.
    pub(crate) fn whole(
        self,
        name: &'static str,
        unit: &'static str,
        says: &'static str,
        of: impl Fn(&R) -> Option<u64> + 'r,
    ) -> Self {
        self.with(name, Kind::Whole, unit, says, move |row| {
            let value = of(row).and_then(|value| i64::try_from(value).ok());
            value.map_or(Cell::Absent, Cell::Whole)
        })
    }

    /// A column of numbers.
    pub(crate) fn number(
        self,
        name: impl Into<Cow<'static, str>>,
        unit: &'static str,
        says: impl Into<Cow<'static, str>>,
        of: impl Fn(&R) -> Option<f64> + 'r,
    ) -> Self {
        self.with(name, Kind::Number, unit, says, move |row| number(of(row)))
    }

    /// Two columns: the ends of a 95 % confidence interval.
    pub(crate) fn interval(
        self,
        name: &str,
        unit: &'static str,
        of: impl Fn(&R) -> Option<[f64; 2]> + Copy + 'r,
    ) -> Self {
        let says = |end: &str| format!("{end} end of its 95 % confidence interval.");
        self.number(
            format!("{name}_ci95_low"),
            unit,
            says("Lower"),
            move |row| of(row).map(|ends| ends[0]),
        )
        .number(
            format!("{name}_ci95_high"),
            unit,
            says("Upper"),
            move |row| of(row).map(|ends| ends[1]),
        )
    }

    /// A column of truths.
    pub(crate) fn truth(
        self,
        name: &'static str,
        says: &'static str,
        of: impl Fn(&R) -> Option<bool> + 'r,
    ) -> Self {
        self.with(name, Kind::Truth, "", says, move |row| {
            of(row).map_or(Cell::Absent, Cell::Truth)
        })
    }

    /// A column of moments, in microseconds since 1970.
    pub(crate) fn time(
        self,
        name: &'static str,
        says: &'static str,
        of: impl Fn(&R) -> Option<i64> + 'r,
    ) -> Self {
        self.with(name, Kind::Time, "", says, move |row| {
            of(row).map_or(Cell::Absent, Cell::Time)
        })
    }

    /// What it is.
    pub(crate) fn described(&self) -> TableWords {
        TableWords {
            name: self.name,
            row: self.row,
            columns: self.columns.iter().map(|column| column.words.clone()).collect(),
        }
    }

    /// The values of a row, in the order of the columns.
    pub(crate) fn cells<'a>(&self, row: &'a R) -> impl Iterator<Item = Cell<'a>> {
        self.columns.iter().map(move |column| (column.of)(row))
    }
}
