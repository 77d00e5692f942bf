//! The types of records, read from their sources: what the schemas of files are made of.
//!
//! From the sources, so that neither the program nor its build carries anything for it: what a field
//! means stands once, as the comment above it.

use crate::tree;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::Path;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Ident, Item, LitStr, Token, Visibility, braced};

/// Where types of records are, the first before the others where a name stands twice.
const CRATES: [&str; 3] = ["store", "analysis", "measure"];

/// Names by which a type is known in records and nowhere else: in which file it is, and as what.
const ALIASES: [(&str, &str, &str); 1] = [(
    "RequirementOutcome",
    "crates/analysis/src/require.rs",
    "Outcome",
)];

/// A type of which files are made.
pub enum Type {
    /// Named fields.
    Struct(syn::ItemStruct),
    /// One of several.
    Enum(syn::ItemEnum),
    /// One of some words.
    Words(Words),
    /// Another name.
    Alias(syn::Type),
    /// A count for each of some words.
    Counters(String),
}

/// A set of words, as `word_enum!` has it.
pub struct Words {
    /// What is said of it.
    pub attributes: Vec<Attribute>,
    /// Each with what is said of it, and those that it once was.
    pub words: Vec<Word>,
    name: String,
}

/// One word.
pub struct Word {
    /// What is said of it.
    pub attributes: Vec<Attribute>,
    /// It, and then those that it once was.
    pub names: Vec<String>,
}

/// All types, by name and file.
pub struct Records {
    types: BTreeMap<String, Vec<(String, Type)>>,
}

impl Records {
    /// Reads the sources.
    pub fn read() -> Result<Records> {
        let mut records = Records {
            types: BTreeMap::new(),
        };
        for name in CRATES {
            records.read_folder(&format!("crates/{name}/src"))?;
        }
        Ok(records)
    }

    fn read_folder(&mut self, folder: &str) -> Result<()> {
        let full = tree::root().join(folder);
        let listed = std::fs::read_dir(&full).with_context(|| format!("list {folder}"))?;
        let mut names: Vec<String> =
            listed.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        for name in names {
            let path = format!("{folder}/{name}");
            if full.join(&name).is_dir() {
                self.read_folder(&path)?;
            } else if Path::new(&name).extension().is_some_and(|ending| ending == "rs") {
                self.read_file(&path)?;
            }
        }
        Ok(())
    }

    fn read_file(&mut self, path: &str) -> Result<()> {
        let text = std::fs::read_to_string(tree::root().join(path))
            .with_context(|| format!("read {path}"))?;
        let file = syn::parse_file(&text).with_context(|| format!("parse {path}"))?;
        for item in file.items {
            let (name, typ) = match item {
                Item::Struct(item) => (item.ident.to_string(), Type::Struct(item)),
                Item::Enum(item) => (item.ident.to_string(), Type::Enum(item)),
                Item::Type(item) => (item.ident.to_string(), Type::Alias(*item.ty)),
                Item::Macro(item) if item.mac.path.is_ident("counters") => {
                    let counters: Counters = item.mac.parse_body()?;
                    (counters.name, Type::Counters(counters.of))
                }
                Item::Macro(item) => {
                    let last = item.mac.path.segments.last();
                    if last.is_none_or(|last| last.ident != "word_enum") {
                        continue;
                    }
                    let words: Words = item.mac.parse_body()?;
                    (words.name.clone(), Type::Words(words))
                }
                _ => continue,
            };
            self.types.entry(name).or_default().push((path.to_owned(), typ));
        }
        Ok(())
    }

    /// The type of a name, as the file that uses it means it.
    pub fn find(&self, name: &str, user: &str) -> Option<(&str, &Type)> {
        let alias = ALIASES.iter().find(|(alias, ..)| *alias == name);
        let (name, file) = alias.map_or((name, user), |(_, file, name)| (*name, *file));
        let all = self.types.get(name)?;
        let own = all.iter().find(|(path, _)| path == file);
        own.or(all.first()).map(|(path, typ)| (path.as_str(), typ))
    }
}

struct Counters {
    name: String,
    of: String,
}

impl Parse for Counters {
    fn parse(input: ParseStream) -> syn::Result<Counters> {
        let item: syn::ItemStruct = input.parse()?;
        let of = item.fields.iter().find_map(|field| match &field.ty {
            syn::Type::Array(array) => match &array.len {
                syn::Expr::Path(path) => path.path.get_ident().map(Ident::to_string),
                _ => None,
            },
            _ => None,
        });
        Ok(Counters {
            name: item.ident.to_string(),
            of: of.ok_or_else(|| input.error("no counters"))?,
        })
    }
}

impl Parse for Words {
    fn parse(input: ParseStream) -> syn::Result<Words> {
        let attributes = input.call(Attribute::parse_outer)?;
        input.parse::<Visibility>()?;
        input.parse::<Token![enum]>()?;
        let name: Ident = input.parse()?;
        let body;
        braced!(body in input);
        let words = Punctuated::<Word, Token![,]>::parse_terminated(&body)?;
        Ok(Words {
            attributes,
            words: words.into_iter().collect(),
            name: name.to_string(),
        })
    }
}

impl Parse for Word {
    fn parse(input: ParseStream) -> syn::Result<Word> {
        let attributes = input.call(Attribute::parse_outer)?;
        input.parse::<Ident>()?;
        input.parse::<Token![=]>()?;
        let mut names = vec![input.parse::<LitStr>()?.value()];
        while input.parse::<Option<Token![|]>>()?.is_some() {
            names.push(input.parse::<LitStr>()?.value());
        }
        Ok(Word { attributes, names })
    }
}
