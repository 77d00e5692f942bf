//! Tests reading, planning and exporting, with made-up machines and the one on which this runs. One
//! binary.

mod exports;
mod golden;
mod kinds;
mod odd;
mod this_machine;
