//! Stand-in for the crate cql until it lands.
#![allow(missing_docs, reason = "replaced by the crate cql")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    LocalOne,
    LocalQuorum,
    One,
    Quorum,
}
pub mod template {
    pub fn append_value(out: &mut Vec<u8>, value: &[u8]) {
        out.extend_from_slice(&(value.len() as i32).to_be_bytes());
        out.extend_from_slice(value);
    }
}
pub mod response {
    #[derive(Debug)]
    pub struct RawRows<'a> {
        pub rows: Vec<Vec<Option<&'a [u8]>>>,
    }
    #[derive(Debug)]
    pub struct ParseError;
    #[derive(Debug)]
    pub struct Row<'b, 'a>(&'b Vec<Option<&'a [u8]>>);
    impl<'a> RawRows<'a> {
        pub fn rows(&self) -> impl Iterator<Item = Result<Row<'_, 'a>, ParseError>> {
            self.rows.iter().map(|r| Ok(Row(r)))
        }
    }
    impl<'b, 'a> Row<'b, 'a> {
        pub fn cells(&self) -> impl Iterator<Item = Option<&'a [u8]>> {
            self.0.iter().copied()
        }
    }
}
pub mod token;
