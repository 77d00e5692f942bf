//! Java class names of types, such as `VectorType(FloatType , 3)` (with packages). Version 4 of the
//! protocol uses them for types that were added later (vectors, durations).
//!
//! If this module cannot parse a name, it does not fail. The type is then [`CqlType::Custom`],
//! which contains only the name.

use super::{CqlType, SIMPLE, UdtType};
use crate::response::TYPE_DEPTH_MAX;
use data_encoding::HEXLOWER;

/// Package of Cassandra's types. If a class name has no package, the class belongs to this package.
const PACKAGE: &str = "org.apache.cassandra.db.marshal.";

pub(super) fn parse(name: &str) -> CqlType {
    let mut parser = Parser { rest: name };
    match parser.typ(TYPE_DEPTH_MAX) {
        Some(typ) if parser.rest.trim().is_empty() => typ,
        _ => CqlType::Custom(name.to_owned()),
    }
}

/// Returns the class name of a type, the reverse of [`parse`].
pub(super) fn name(typ: &CqlType) -> String {
    let list = |types: &[&CqlType]| types.iter().map(|typ| name(typ)).collect::<Vec<_>>().join(",");
    match typ {
        CqlType::List(of) => format!("{PACKAGE}ListType({})", name(of)),
        CqlType::Set(of) => format!("{PACKAGE}SetType({})", name(of)),
        CqlType::Map(keys, values) => format!("{PACKAGE}MapType({})", list(&[keys, values])),
        CqlType::Tuple(types) => {
            format!(
                "{PACKAGE}TupleType({})",
                list(&types.iter().collect::<Vec<_>>())
            )
        }
        CqlType::Udt(udt) => {
            let mut text = format!("{PACKAGE}UserType({},{}", udt.keyspace, hex(&udt.name));
            for (field, typ) in &udt.fields {
                text.push_str(&format!(",{}:{}", hex(field), name(typ)));
            }
            text + ")"
        }
        CqlType::Vector(of, dimension) => {
            format!("{PACKAGE}VectorType({} , {dimension})", name(of))
        }
        CqlType::Custom(class) => class.clone(),
        simple => {
            let row = SIMPLE.iter().find(|(_, typ, ..)| typ == simple);
            format!(
                "{PACKAGE}{}",
                row.expect("SIMPLE has every type without parts").3
            )
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn typ(&mut self, depth: usize) -> Option<CqlType> {
        let depth = depth.checked_sub(1)?;
        let class = self.word()?;
        let class = class.strip_prefix(PACKAGE).unwrap_or(class);
        if let Some((_, typ, ..)) = SIMPLE.iter().find(|(.., name)| *name == class) {
            return Some(typ.clone());
        }
        self.expect('(')?;
        let typ = match class {
            "ListType" => CqlType::List(Box::new(self.typ(depth)?)),
            "SetType" => CqlType::Set(Box::new(self.typ(depth)?)),
            "MapType" => {
                let keys = Box::new(self.typ(depth)?);
                self.expect(',')?;
                CqlType::Map(keys, Box::new(self.typ(depth)?))
            }
            "FrozenType" | "ReversedType" => self.typ(depth)?,
            "VectorType" => {
                let of = Box::new(self.typ(depth)?);
                self.expect(',')?;
                CqlType::Vector(of, self.word()?.parse().ok()?)
            }
            "TupleType" => {
                let mut types = vec![self.typ(depth)?];
                while self.expect(',').is_some() {
                    types.push(self.typ(depth)?);
                }
                CqlType::Tuple(types)
            }
            "UserType" => self.udt(depth)?,
            _ => return None,
        };
        self.expect(')')?;
        Some(typ)
    }

    fn udt(&mut self, depth: usize) -> Option<CqlType> {
        let keyspace = self.word()?.to_owned();
        self.expect(',')?;
        let name = unhex(self.word()?)?;
        let mut fields = Vec::new();
        while self.expect(',').is_some() {
            let field = unhex(self.word()?)?;
            self.expect(':')?;
            fields.push((field.into(), self.typ(depth)?));
        }
        Some(CqlType::Udt(Box::new(UdtType {
            keyspace,
            name,
            fields,
        })))
    }

    /// Returns the characters up to the next separator. Returns `None` if no characters precede the
    /// separator.
    fn word(&mut self) -> Option<&'a str> {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(['(', ')', ',', ':', ' ']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    fn expect(&mut self, separator: char) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(separator)?;
        Some(())
    }
}

fn hex(text: &str) -> String {
    HEXLOWER.encode(text.as_bytes())
}

fn unhex(text: &str) -> Option<String> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, odd) = text.as_bytes().as_chunks::<2>();
    if !odd.is_empty() {
        return None;
    }
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
    String::from_utf8(bytes.collect::<Option<_>>()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_name_becomes_its_type_and_back() {
        let float = || Box::new(CqlType::Float);
        let address = CqlType::Udt(Box::new(UdtType {
            keyspace: "ks".into(),
            name: "addr".into(),
            fields: vec![("zip".into(), CqlType::Int), ("é".into(), CqlType::Text)],
        }));
        let types = [
            CqlType::Duration,
            CqlType::Vector(float(), 3),
            CqlType::Vector(Box::new(CqlType::Vector(float(), 2)), 4),
            CqlType::Map(
                Box::new(CqlType::Text),
                Box::new(CqlType::List(Box::new(address))),
            ),
            CqlType::Tuple(vec![CqlType::Int, CqlType::Set(Box::new(CqlType::Inet))]),
        ];
        for typ in types {
            assert_eq!(parse(&name(&typ)), typ);
        }
    }

    #[test]
    fn a_class_name_as_cassandra_5_writes_it_is_understood() {
        let text = "org.apache.cassandra.db.marshal.VectorType(\
                    org.apache.cassandra.db.marshal.FloatType , 1536)";
        assert_eq!(parse(text), CqlType::Vector(Box::new(CqlType::Float), 1536));
        let text = "org.apache.cassandra.db.marshal.FrozenType(\
                    org.apache.cassandra.db.marshal.ListType(\
                    org.apache.cassandra.db.marshal.Int32Type))";
        assert_eq!(parse(text), CqlType::List(Box::new(CqlType::Int)));
    }

    #[test]
    fn a_class_name_that_cannot_be_read_stays_a_name() {
        let deep = "ListType(".repeat(100_000);
        for text in [
            "",
            "(",
            "com.example.Mine",
            "ListType(Int32Type",
            "VectorType(FloatType,-1)",
            "Int32Type)",
            "UserType(ks,zz)",
            &deep,
        ] {
            assert_eq!(parse(text), CqlType::Custom(text.to_owned()));
        }
    }
}
