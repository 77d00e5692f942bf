//! Reads the types of records from their sources. The schemas of files are generated from these
//! types.
//!
//! Because this module reads the sources, the program and its build contain no code for schemas.
//! The meaning of a field is written only once, in the comment of the field.

use crate::tree;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::Path;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Ident, Item, LitStr, Token, Visibility, braced};

/// Crates that define types of records.
const CRATES: [&str; 3] = ["store", "analysis", "measure"];

/// A type that occurs in the files of cassay.
pub enum Type {
    /// A struct with named fields.
    Struct(syn::ItemStruct),
    Enum(syn::ItemEnum),
    Words(Words),
    Alias(syn::Type),
    /// A counter for each word of the set of words with this name.
    Counters(String),
}

/// A set of words that `word_enum!` defines.
pub struct Words {
    /// Attributes of the set, including its doc comment.
    pub attributes: Vec<Attribute>,
    /// Words of the set.
    pub words: Vec<Word>,
    name: String,
}

/// A word of a set.
pub struct Word {
    /// Attributes of the word, including its doc comment.
    pub attributes: Vec<Attribute>,
    /// Name of the word, followed by its former names.
    pub names: Vec<String>,
}

/// All types, by file and name.
pub struct Records {
    types: BTreeMap<(String, String), Type>,
    /// Imports. The key is a file and a name, and the value is a path and the name at that path.
    uses: BTreeMap<(String, String), (Vec<String>, String)>,
}

impl Records {
    /// Reads the sources.
    pub fn read() -> Result<Records> {
        let mut records = Records {
            types: BTreeMap::new(),
            uses: BTreeMap::new(),
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
                Item::Use(item) => {
                    self.read_use(path, &item.tree, &[]);
                    continue;
                }
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
            self.types.insert((path.to_owned(), name), typ);
        }
        Ok(())
    }

    fn read_use(&mut self, file: &str, used: &syn::UseTree, above: &[String]) {
        let mut add = |here: String, there: String| {
            self.uses.insert((file.to_owned(), here), (above.to_vec(), there));
        };
        match used {
            syn::UseTree::Name(name) => add(name.ident.to_string(), name.ident.to_string()),
            syn::UseTree::Rename(name) => add(name.rename.to_string(), name.ident.to_string()),
            syn::UseTree::Path(path) => {
                let above = [above, &[path.ident.to_string()]].concat();
                self.read_use(file, &path.tree, &above);
            }
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.read_use(file, item, above));
            }
            syn::UseTree::Glob(_) => {}
        }
    }

    /// Returns the type to which a name refers in a file. Also returns the file that defines the
    /// type. Returns `None` if the sources do not define it.
    pub fn find(&self, name: &str, file: &str) -> Option<(&str, &Type)> {
        let here = (file.to_owned(), name.to_owned());
        if let Some(((file, _), typ)) = self.types.get_key_value(&here) {
            return Some((file, typ));
        }
        let (path, name) = self.uses.get(&here)?;
        modules(path, file).iter().find_map(|file| self.find(name, file))
    }
}

/// Returns the files to which the path of a `use` may refer.
fn modules(path: &[String], user: &str) -> Vec<String> {
    let own = user.split('/').nth(1).unwrap_or_default();
    let rest = |at: usize| path.get(at..).unwrap_or_default().join("/");
    let (of, below) = match path.first().map(String::as_str) {
        Some("crate") => (own, rest(1)),
        Some(first) if CRATES.contains(&first) => (first, rest(1)),
        // The path is that of a module in the folder of the file, or below the module of the file.
        _ => {
            let folder =
                user.trim_end_matches(".rs").trim_end_matches("/lib").trim_end_matches("/mod");
            return vec![
                format!("{folder}/{}.rs", rest(0)),
                format!("{folder}/{}/mod.rs", rest(0)),
            ];
        }
    };
    let folder = format!("crates/{of}/src");
    if below.is_empty() {
        return vec![format!("{folder}/lib.rs")];
    }
    vec![
        format!("{folder}/{below}.rs"),
        format!("{folder}/{below}/mod.rs"),
    ]
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
