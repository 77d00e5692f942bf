//! A table as data. Each column has a description and a function that returns the value of the
//! column.

use std::borrow::Cow;

measure::word_enum! {
    /// Type of a column's values.
    pub enum ColumnType {
        /// Text, in UTF-8.
        Text = "text",
        /// Whole numbers of 64 bits.
        Whole = "whole number",
        /// Numbers as 64-bit floats.
        Number = "number",
        /// The truth value `true` or `false`.
        Truth = "true or false",
        /// Time in UTC, to the microsecond.
        Time = "time (UTC)",
    }
}

/// Value of a cell. The value may be absent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    /// The value is unknown, or does not apply to the row.
    Absent,
    Text(Cow<'a, str>),
    Whole(i64),
    Number(f64),
    Truth(bool),
    /// Microseconds since 1970.
    Time(i64),
}

type Of<'r, R> = Box<dyn for<'a> Fn(&'a R) -> Cell<'a> + 'r>;

struct Column<'r, R> {
    words: ColumnWords,
    of: Of<'r, R>,
}

/// Description of a column.
#[derive(Clone, Debug)]
pub struct ColumnWords {
    /// Name of the column. The name contains the unit, if any.
    pub name: Cow<'static, str>,
    /// Type of the column's values.
    pub kind: ColumnType,
    /// Unit of the column's values. Empty if the values have no unit.
    pub unit: &'static str,
    /// Meaning of the column's values.
    pub says: Cow<'static, str>,
}

/// Description of a table.
#[derive(Clone, Debug)]
pub struct TableWords {
    /// Name of the table and of its files.
    pub name: &'static str,
    /// Description of one row of the table.
    pub row: &'static str,
    /// Descriptions of the columns, in the order of the columns.
    pub columns: Vec<ColumnWords>,
}

/// Table whose rows are built from values of type `R`.
pub(crate) struct Table<'r, R> {
    name: &'static str,
    row: &'static str,
    columns: Vec<Column<'r, R>>,
}

/// Returns a cell for a number. The cell is absent if the number is not finite.
fn number<'a>(value: Option<f64>) -> Cell<'a> {
    value.filter(|value| value.is_finite()).map_or(Cell::Absent, Cell::Number)
}

impl<'r, R: 'r> Table<'r, R> {
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
        kind: ColumnType,
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

    /// Adds a column of text. If a text is empty, its cell is absent.
    pub(crate) fn text(
        self,
        name: &'static str,
        says: &'static str,
        of: impl for<'a> Fn(&'a R) -> Option<&'a str> + 'r,
    ) -> Self {
        self.with(name, ColumnType::Text, "", says, move |row| match of(row) {
            Some(text) if !text.is_empty() => Cell::Text(text.into()),
            _ => Cell::Absent,
        })
    }

    /// Adds a column of text that `of` generates for each row. If a text is empty, its cell is
    /// absent.
    pub(crate) fn words(
        self,
        name: &'static str,
        says: &'static str,
        of: impl Fn(&R) -> String + 'r,
    ) -> Self {
        self.with(name, ColumnType::Text, "", says, move |row| {
            let text = of(row);
            if text.is_empty() {
                Cell::Absent
            } else {
                Cell::Text(text.into())
            }
        })
    }

    /// Adds a column of whole numbers. A cell is absent if `of` returns `None` or a number above
    /// 2^63 - 1.
    pub(crate) fn whole(
        self,
        name: &'static str,
        unit: &'static str,
        says: &'static str,
        of: impl Fn(&R) -> Option<u64> + 'r,
    ) -> Self {
        self.with(name, ColumnType::Whole, unit, says, move |row| {
            let value = of(row).and_then(|value| i64::try_from(value).ok());
            value.map_or(Cell::Absent, Cell::Whole)
        })
    }

    /// Adds a column of numbers. A cell is absent if `of` returns `None` or a number that is not
    /// finite.
    pub(crate) fn number(
        self,
        name: impl Into<Cow<'static, str>>,
        unit: &'static str,
        says: impl Into<Cow<'static, str>>,
        of: impl Fn(&R) -> Option<f64> + 'r,
    ) -> Self {
        self.with(name, ColumnType::Number, unit, says, move |row| {
            number(of(row))
        })
    }

    /// Adds two columns with the ends of a 95 % confidence interval. Both cells are absent if `of`
    /// returns `None`.
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

    /// Adds a column of truth values. A cell is absent if `of` returns `None`.
    pub(crate) fn truth(
        self,
        name: &'static str,
        says: &'static str,
        of: impl Fn(&R) -> Option<bool> + 'r,
    ) -> Self {
        self.with(name, ColumnType::Truth, "", says, move |row| {
            of(row).map_or(Cell::Absent, Cell::Truth)
        })
    }

    /// Adds a column of times. The values are microseconds since 1970. A cell is absent if `of`
    /// returns `None`.
    pub(crate) fn time(
        self,
        name: &'static str,
        says: &'static str,
        of: impl Fn(&R) -> Option<i64> + 'r,
    ) -> Self {
        self.with(name, ColumnType::Time, "", says, move |row| {
            of(row).map_or(Cell::Absent, Cell::Time)
        })
    }

    pub(crate) fn described(&self) -> TableWords {
        TableWords {
            name: self.name,
            row: self.row,
            columns: self.columns.iter().map(|column| column.words.clone()).collect(),
        }
    }

    pub(crate) fn cells<'a>(&self, row: &'a R) -> impl Iterator<Item = Cell<'a>> {
        self.columns.iter().map(move |column| (column.of)(row))
    }
}
