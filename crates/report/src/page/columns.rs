//! Builds tables column by column. The heading, the unit and the cells of a column are therefore
//! together in the code.

use super::{Cell, Column, Row, Table, Tone};
use crate::number;

/// Builder of a table with one row per record. Each method that adds a column adds it on the right.
pub struct TableBuilder<R> {
    records: Vec<R>,
    table: Table,
}

impl Table {
    pub fn from_records<R: Copy>(
        caption: impl Into<String>,
        records: impl IntoIterator<Item = R>,
    ) -> TableBuilder<R> {
        let records: Vec<R> = records.into_iter().collect();
        let table = Table {
            caption: caption.into(),
            rows: vec![Row::default(); records.len()],
            ..Table::default()
        };
        TableBuilder { records, table }
    }
}

impl<R: Copy> TableBuilder<R> {
    pub fn text<C: Into<Cell>>(self, title: &str, cell: impl Fn(R) -> C) -> Self {
        self.column(Column::text(title), cell)
    }

    /// Adds a text column that renderers omit if space is limited.
    pub fn wide_text<C: Into<Cell>>(self, title: &str, cell: impl Fn(R) -> C) -> Self {
        self.column(Column::text(title).wide(), cell)
    }

    pub fn number<C: Into<Cell>>(self, title: &str, unit: &str, cell: impl Fn(R) -> C) -> Self {
        self.column(Column::number(title, unit), cell)
    }

    /// Adds a number column that renderers omit if space is limited.
    pub fn wide_number<C: Into<Cell>>(
        self,
        title: &str,
        unit: &str,
        cell: impl Fn(R) -> C,
    ) -> Self {
        self.column(Column::number(title, unit).wide(), cell)
    }

    pub fn column<C: Into<Cell>>(mut self, column: Column, cell: impl Fn(R) -> C) -> Self {
        self.table.columns.push(column);
        for (row, record) in self.table.rows.iter_mut().zip(&self.records) {
            row.cells.push(cell(*record).into());
        }
        self
    }

    pub fn each<T>(
        self,
        things: impl IntoIterator<Item = T>,
        add: impl FnMut(Self, T) -> Self,
    ) -> Self {
        things.into_iter().fold(self, add)
    }

    pub fn when(self, condition: bool, add: impl FnOnce(Self) -> Self) -> Self {
        if condition { add(self) } else { self }
    }

    pub fn tone(mut self, tone: impl Fn(R) -> Tone) -> Self {
        for (row, record) in self.table.rows.iter_mut().zip(&self.records) {
            row.tone = tone(*record);
        }
        self
    }

    pub fn foot(mut self, foot: impl Into<String>) -> Self {
        self.table.foot = foot.into();
        self
    }

    pub fn build(self) -> Table {
        self.table
    }

    pub fn unless_empty(self) -> Option<Table> {
        (!self.records.is_empty()).then_some(self.table)
    }
}

impl Cell {
    pub fn absent() -> Cell {
        Cell::new(number::ABSENT).tone(Tone::Muted)
    }

    /// Returns a cell with a count that should be 0. A count above 0 has the tone `tone_if_any`.
    pub fn zero_expected(count: u64, tone_if_any: Tone) -> Cell {
        Cell::new(number::count(count)).tone(if count > 0 { tone_if_any } else { Tone::Plain })
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::new(text)
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Cell {
        Cell::new(text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::new(text)
    }
}

/// Converts an optional value to a cell. `None` becomes the sign for an unknown value.
impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(known: Option<T>) -> Cell {
        known.map_or_else(|| Cell::new(number::ABSENT), Into::into)
    }
}

impl Cell {
    /// Sets the link of the cell to a path relative to the page. An empty path removes the link.
    pub fn link(mut self, path: impl Into<String>) -> Cell {
        self.link = path.into();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_cell_in_every_column() {
        let records = [("reads", Some(2)), ("writes", None)];
        let table = Table::from_records("Operations", &records)
            .text("Kind", |(kind, _)| *kind)
            .each(["a", "b"], |table, title| {
                table.number(title, "op/s", |(_, rate)| {
                    rate.map(|rate: u32| rate.to_string())
                })
            })
            .when(false, |table| table.wide_text("Never", |_| ""))
            .tone(|(_, rate)| {
                if rate.is_some() {
                    Tone::Plain
                } else {
                    Tone::Muted
                }
            })
            .build();
        let titles: Vec<&str> = table.columns.iter().map(|column| column.title.as_str()).collect();
        assert_eq!(titles, ["Kind", "a", "b"]);
        let texts = |row: &Row| row.cells.iter().map(|cell| cell.text.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&table.rows[0]), ["reads", "2", "2"]);
        assert_eq!(
            texts(&table.rows[1]),
            ["writes", number::ABSENT, number::ABSENT]
        );
        assert_eq!(table.rows[1].tone, Tone::Muted);
        let none: [(&str, u32); 0] = [];
        assert!(Table::from_records("", &none).unless_empty().is_none());
    }
}
