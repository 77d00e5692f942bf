//! The document that says what every table holds, made of the tables themselves.

use crate::tables::described;
use std::fmt::Write;

const HEAD: &str = "\
# Tables of a run

Written by `UPDATE_EXPECT=1 cargo test -p tables` from the tables themselves; not edited by hand.

`cassay export RUN --csv` and `--parquet` write a file for each table below, into `export/` in the
run's folder or where `--to` says. [The notebook](notebook.md) reads them. Both formats hold the same
rows and columns.

- The unit is in the name of a column: `p99_ms`, `ops_per_s`. Shares are of 1.
- What is not known is empty in CSV and NULL in Parquet: never 0, and never not-a-number.
- Times are in UTC: in CSV as `2026-11-20T23:29:09.123456Z`, in Parquet as timestamps in microseconds.
  Columns whose names end in `window_s` are seconds since the measured window of their trial began.
- CSV is in UTF-8, quoted as RFC 4180 says. Texts are written as they are in the run: a spreadsheet may
  take one that begins with `=` for a formula.
- Parquet is packed with Snappy, and has row groups of 65,536 rows.
- Figures of a row that `lower_bounds` names are lower bounds: some operations were not followed to
  their end.
- The figures of `points`, `comparisons`, `trials`, `kinds` and `costs` are those of `findings.json`.
- A column may be added at the end of a table; none is renamed.
";

/// The document.
pub fn document() -> String {
    let mut page = String::from(HEAD);
    for table in described() {
        // Writing to a String cannot fail.
        let _ = write!(
            page,
            "\n## {}\n\nA row: {}\n\n| column | what it is | unit | what it says |\n\
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
