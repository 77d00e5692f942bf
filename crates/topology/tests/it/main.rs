//! Tests reading, planning and exporting, with invented machines and with the machine on which the
//! tests run. All tests are in one binary.

mod exports;
mod golden;
mod kinds;
mod odd;
mod this_machine;
