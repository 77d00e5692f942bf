//! Compares values of settings with the classes in each line's jar.

mod long;
