//! Builds the document that describes all tables. The descriptions come from the definitions of the
//! tables.

use crate::tables::described;
use std::fmt::Write;

const HEAD: &str = include_str!("document.head.txt");

/// Returns the document as Markdown, with a section for each table.
pub fn document() -> String {
    let mut page = String::from(HEAD);
    for table in described() {
        // Writing to a string cannot fail, so the result is ignored.
        let _ = write!(
            page,
            "\n## {}\n\nEach row is {}\n\n| column | type | unit | meaning |\n\
             | --- | --- | --- | --- |\n",
            table.name, table.row
        );
        for column in &table.columns {
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {} |",
                column.name, column.kind, column.unit, column.says
            );
        }
    }
    page
}
