//! Writes the JSON Schemas of cassay's output. They are generated from the types of its records and
//! from their comments.
//!
//! The schemas are open. A later version may add a field, but no version renames or removes a
//! field. Fields that older versions did not write are not required.

use super::records::{Records, Type, Word};
use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use syn::{Attribute, Expr, Fields, GenericArgument, Lit, Meta, PathArguments};

/// The schemas, each with its file, type and title.
const SCHEMAS: [(&str, &str, &str); 3] = [
    (
        "docs/schema/findings.schema.json",
        "FindingsFileRecord",
        "cassay findings",
    ),
    ("docs/schema/plan.schema.json", "PlanRecord", "cassay plan"),
    (
        "docs/schema/interval.schema.json",
        "IntervalRecord",
        "cassay interval",
    ),
];

/// Description of the field that `cassay plan --json` adds to `plan.json`.
const EXPECTED: &str = "Only in the output of `cassay plan --json`. Sentences about the \
                        differences that the comparison can detect, estimated from the noise of \
                        the study's last run.";

const EMPTY: &str = "In files of earlier versions: none of these.";

/// Returns every schema with the path of its file.
pub fn all() -> Result<Vec<(&'static str, String)>> {
    let records = Records::read()?;
    SCHEMAS
        .iter()
        .map(|(path, root, title)| Ok((*path, schema(&records, root, title)?)))
        .collect()
}

fn schema(records: &Records, root: &str, title: &str) -> Result<String> {
    let mut maker = Maker {
        records,
        defs: Map::new(),
        files: BTreeMap::new(),
    };
    maker.type_schema(root, "crates/store/src/record.rs")?;
    let Some(Value::Object(of_root)) = maker.defs.remove(root) else {
        bail!("{root} is not a record");
    };
    let mut whole = Map::new();
    let draft = "https://json-schema.org/draft/2020-12/schema";
    whole.insert("$schema".to_owned(), draft.into());
    whole.insert("title".to_owned(), title.into());
    whole.extend(of_root);
    if root == "PlanRecord" {
        whole["properties"]["expected"] =
            json!({"description": EXPECTED, "type": "array", "items": {"type": "string"}});
    }
    maker.defs.sort_keys();
    whole.insert("$defs".to_owned(), maker.defs.into());
    // The text is indented by only one space per level, because files in the repository must be
    // small.
    let mut text = Vec::new();
    let lines = PrettyFormatter::with_indent(b" ");
    Value::from(whole).serialize(&mut Serializer::with_formatter(&mut text, lines))?;
    Ok(String::from_utf8(text)? + "\n")
}

struct Maker<'a> {
    records: &'a Records,
    defs: Map<String, Value>,
    /// File that defines each type, by the name of the type.
    files: BTreeMap<String, String>,
}

impl Maker<'_> {
    /// Returns the schema of a named type. The schema is generated when the type is first used.
    fn type_schema(&mut self, name: &str, user: &str) -> Result<Value> {
        let Some((file, typ)) = self.records.find(name, user) else {
            bail!("{user}: the type {name} is unknown");
        };
        let known = self.files.entry(name.to_owned()).or_insert_with(|| file.to_owned());
        // If another type has the same name, the key is prefixed by the name of the file.
        let of_file = || format!("{}.{name}", stem(file));
        let key = if known == file {
            name.to_owned()
        } else {
            of_file()
        };
        let reference = json!({"$ref": format!("#/$defs/{key}")});
        if self.defs.contains_key(&key) {
            return Ok(reference);
        }
        // The key is inserted before the schema is generated, because a type may contain itself.
        self.defs.insert(key.clone(), Value::Null);
        let made = match typ {
            Type::Struct(item) => self.structure(item, file),
            Type::Enum(item) => self.either(item, file),
            Type::Words(set) => Ok(described(&set.attributes, words(&set.words))),
            Type::Alias(typ) => self.form(typ, file),
            Type::Counters(of) => self.counters(of, file),
        };
        let made = made.with_context(|| format!("{file}: {name}"))?;
        self.defs.insert(key, made);
        Ok(reference)
    }

    fn structure(&mut self, item: &syn::ItemStruct, file: &str) -> Result<Value> {
        if let Some(into) = serde_text(&item.attrs, "into") {
            return self.written_as(&item.attrs, &into, Some(item), file);
        }
        match &item.fields {
            Fields::Named(fields) => {
                let mut made = self.fields(fields, None, file)?;
                // If the whole type has a default, none of its fields is required.
                if serde_has(&item.attrs, "default")
                    && let Some(made) = made.as_object_mut()
                {
                    made.remove("required");
                }
                Ok(described(&item.attrs, made))
            }
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                let made = self.form(&fields.unnamed[0].ty, file)?;
                Ok(described(&item.attrs, made))
            }
            _ => bail!("a tuple of several"),
        }
    }

    /// Returns the schema of a type that is serialised as another type. The comments of the fields
    /// come from the type in `comments`.
    fn written_as(
        &mut self,
        said: &[Attribute],
        into: &str,
        comments: Option<&syn::ItemStruct>,
        file: &str,
    ) -> Result<Value> {
        let typ: syn::Type = syn::parse_str(into)?;
        if let Some((at, Type::Struct(item))) = self.records.find(into, file)
            && let Fields::Named(fields) = &item.fields
        {
            let made = self.fields(fields, comments, at)?;
            return Ok(described(said, made));
        }
        Ok(described(said, self.form(&typ, file)?))
    }

    fn fields(
        &mut self,
        fields: &syn::FieldsNamed,
        comments: Option<&syn::ItemStruct>,
        file: &str,
    ) -> Result<Value> {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for field in &fields.named {
            let ident = field.ident.as_ref().context("a field without a name")?;
            let name = ident.to_string().trim_start_matches("r#").to_owned();
            if serde_has(&field.attrs, "skip") {
                continue;
            }
            if serde_has(&field.attrs, "flatten") {
                let form = self.form(&field.ty, file)?;
                let below = self.followed(form);
                let Value::Object(below) = below else {
                    bail!("{name} cannot be flattened")
                };
                if let Some(Value::Object(more)) = below.get("properties") {
                    properties.extend(more.clone());
                }
                let more = below.get("required").and_then(Value::as_array);
                required.extend(more.into_iter().flatten().cloned());
                continue;
            }
            let form = match serde_text(&field.attrs, "with").as_deref() {
                Some("crate::point") => self.type_schema("Point", file)?,
                Some(other) => bail!("{name} is written with {other}"),
                None => self.form(&field.ty, file)?,
            };
            let form = match serde_text(&field.attrs, "deserialize_with").as_deref() {
                Some("measure::word_or_default" | "measure::word_or_none") => {
                    json!({"anyOf": [form, {"const": "", "description": EMPTY}]})
                }
                _ => form,
            };
            let elsewhere = comments.into_iter().flat_map(|item| &item.fields);
            let mut elsewhere = elsewhere.filter(|other| other.ident == field.ident);
            let said = elsewhere.next().map_or(&field.attrs, |other| &other.attrs);
            properties.insert(name.clone(), described(said, form));
            let may_be_absent = serde_has(&field.attrs, "default")
                || serde_has(&field.attrs, "skip_serializing_if");
            if !may_be_absent {
                required.push(json!(name));
            }
        }
        let mut made = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            made["required"] = required.into();
        }
        Ok(made)
    }

    /// Returns the definition to which a reference points.
    fn followed(&self, form: Value) -> Value {
        let name = form["$ref"].as_str().and_then(|path| path.rsplit('/').next());
        name.and_then(|name| self.defs.get(name)).cloned().unwrap_or(form)
    }

    fn either(&mut self, item: &syn::ItemEnum, file: &str) -> Result<Value> {
        if let Some(into) = serde_text(&item.attrs, "into") {
            return self.written_as(&item.attrs, &into, None, file);
        }
        if !serde_has(&item.attrs, "untagged") {
            bail!("an enum that is not a word_enum, nor untagged");
        }
        let mut forms = Vec::new();
        for variant in &item.variants {
            let field = variant.fields.iter().next().context("an empty variant")?;
            forms.push(described(&variant.attrs, self.form(&field.ty, file)?));
        }
        Ok(described(&item.attrs, json!({"anyOf": forms})))
    }

    fn counters(&mut self, of: &str, file: &str) -> Result<Value> {
        let Some((_, Type::Words(set))) = self.records.find(of, file) else {
            bail!("{of} is not a set of words");
        };
        let count = json!({"type": "integer", "minimum": 0});
        let properties: Map<_, _> = set
            .words
            .iter()
            .map(|word| {
                (
                    word.names[0].clone(),
                    described(&word.attributes, count.clone()),
                )
            })
            .collect();
        Ok(json!({"type": "object", "properties": properties}))
    }

    fn form(&mut self, typ: &syn::Type, file: &str) -> Result<Value> {
        let path = match typ {
            syn::Type::Array(array) => {
                let items = self.form(&array.elem, file)?;
                return Ok(json!({"type": "array", "items": items}));
            }
            syn::Type::Tuple(_) => return Ok(json!({"type": "array"})),
            syn::Type::Path(path) => path.path.segments.last().context("an empty path")?,
            _ => bail!("a type that no record may have"),
        };
        let name = path.ident.to_string();
        let mut inner = Vec::new();
        if let PathArguments::AngleBracketed(arguments) = &path.arguments {
            for argument in &arguments.args {
                if let GenericArgument::Type(typ) = argument {
                    inner.push(typ);
                }
            }
        }
        Ok(match (name.as_str(), &inner[..]) {
            ("String" | "PathBuf", _) => json!({"type": "string"}),
            ("bool", _) => json!({"type": "boolean"}),
            // A number may be null, because numbers that are not finite are written as null.
            ("f64" | "f32" | "Known", _) => json!({"type": ["number", "null"]}),
            ("u8" | "u16" | "u32" | "u64" | "u128" | "usize", _) => {
                json!({"type": "integer", "minimum": 0})
            }
            ("i8" | "i16" | "i32" | "i64" | "isize", _) => json!({"type": "integer"}),
            ("Value", _) => json!({}),
            ("Map", _) => json!({"type": "object"}),
            ("Option", [of]) => {
                let form = self.form(of, file)?;
                json!({"anyOf": [form, {"type": "null"}]})
            }
            ("Box", [of]) => self.form(of, file)?,
            ("Vec" | "VecDeque" | "BTreeSet", [of]) => {
                let items = self.form(of, file)?;
                json!({"type": "array", "items": items})
            }
            ("BTreeMap" | "IndexMap", [key, value]) => self.map(key, value, file)?,
            (_, []) => self.type_schema(&name, file)?,
            _ => bail!("{name} of something"),
        })
    }

    /// Returns the schema of a map. If the keys are a set of words, each key gets the description
    /// of its word.
    fn map(&mut self, key: &syn::Type, value: &syn::Type, file: &str) -> Result<Value> {
        let form = self.form(value, file)?;
        let mut made = json!({"type": "object", "additionalProperties": form});
        if let syn::Type::Path(path) = key
            && let Some(name) = path.path.get_ident()
            && let Some((_, Type::Words(set))) = self.records.find(&name.to_string(), file)
        {
            let words = set.words.iter();
            let known = words.map(|word| {
                (
                    word.names[0].clone(),
                    described(&word.attributes, form.clone()),
                )
            });
            made["properties"] = known.collect::<Map<_, _>>().into();
        }
        Ok(made)
    }
}

fn stem(file: &str) -> &str {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    path.rsplit('/').next().unwrap_or(path)
}

fn words(words: &[Word]) -> Value {
    let all = words.iter().flat_map(|word| {
        word.names
            .iter()
            .map(|name| described(&word.attributes, json!({"const": name})))
    });
    json!({"oneOf": all.collect::<Vec<_>>()})
}

fn described(said: &[Attribute], form: Value) -> Value {
    let lines: Vec<String> = said.iter().filter_map(comment).collect();
    let text = lines.join(" ");
    let paragraph = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Only the names of linked constants and types are kept, because the links are not useful for
    // readers of the schema.
    let plain = paragraph.replace("[`", "`").replace("`]", "`");
    if plain.is_empty() {
        return form;
    }
    let mut made = Map::new();
    made.insert("description".to_owned(), plain.into());
    if let Value::Object(form) = form {
        made.extend(form);
    }
    made.into()
}

/// Returns the text of one line of a doc comment. Returns `None` for other attributes.
fn comment(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(text) => match &text.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

fn serde_has(attributes: &[Attribute], word: &str) -> bool {
    serde_words(attributes).iter().any(|(name, _)| name == word)
}

/// Returns the value of a serde attribute. Returns `None` if it is absent or has no value.
fn serde_text(attributes: &[Attribute], word: &str) -> Option<String> {
    serde_words(attributes).into_iter().find(|(name, _)| name == word)?.1
}

fn serde_words(attributes: &[Attribute]) -> Vec<(String, Option<String>)> {
    let mut words = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        // The result is ignored, because no attribute that matters fails to parse.
        let _ = attribute.parse_nested_meta(|meta| {
            let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            let text = if meta.input.peek(syn::Token![=]) {
                Some(meta.value()?.parse::<syn::LitStr>()?.value())
            } else {
                None
            };
            words.push((name, text));
            Ok(())
        });
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without this test, a schema that is too permissive would not be detected, because it accepts
    /// any file.
    #[test]
    fn schemas_say_what_words_counters_points_and_figures_are() {
        let all = all().unwrap();
        let (path, text) = &all[0];
        assert_eq!(*path, "docs/schema/findings.schema.json");
        let findings: Value = serde_json::from_str(text).unwrap();
        let at = |pointer: &str| findings.pointer(pointer).unwrap_or_else(|| panic!("{pointer}"));
        assert_eq!(at("/$defs/Verdict/oneOf/0/const"), "valid");
        assert_eq!(
            at("/$defs/QuantilesRecord/properties/p99/description"),
            "99th percentile of the values."
        );
        assert_eq!(at("/$defs/Point/type"), "object");
        let costs = at("/$defs/Costs/properties/server_cpu_ms_per_op/description");
        assert!(costs.as_str().unwrap().contains("CPU time"), "{costs}");
        let required = at("/required").as_array().unwrap();
        assert!(required.contains(&json!("verdict")) && !required.contains(&json!("causes")));
    }
}
