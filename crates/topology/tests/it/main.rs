//! Tests reading, planning and exporting, with made-up machines and the one on which this runs. One
//! binary.

mod exports;
mod golden;
mod this_machine;
mod kinds;
mod odd;
