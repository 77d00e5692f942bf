//! The null target as its clients see it.
