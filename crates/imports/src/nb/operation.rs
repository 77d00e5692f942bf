//! Converts an operation of a file to a statement, with a recipe for each marker.

use core::time::Duration;
use std::collections::HashMap;

use super::operations::CycleOp;
use super::params::{self, On, Settings};
use super::places::{Refusal, misplaced, unset};
use super::scenario;
use super::statement::{
    MarkedStatement, anchors, first_word, is_bindable, is_cql, is_schema, key_markers, may_be_long,
    mentions, rendered, statement_text,
};
use super::step_builder::{Builder, DRIVERS};
use super::virtdata::{Recipe, Ty};
use super::workload_file::Op;
use cql::Consistency;
use cql::value::CqlType;
use workload::schema::{Marker, Table, binds_partition, is_conditional, markers};
use workload::{BatchKind, Policy, Statement};
use yaml::Node;

/// Maximum number of statements of a batch, and maximum ratio of an operation. Cassandra refuses
/// even much smaller batches.
const REPEAT_MAX: u64 = 65_535;
/// Timeout of schema changes. The timeout is long, because a schema change ends only when the nodes
/// agree.
pub(super) const SCHEMA_TIMEOUT: Duration = Duration::from_secs(60);
/// Default page size of the Java driver, in rows.
const PAGE_SIZE: u32 = 5000;
/// Default number of pages that NoSQLBench reads.
const PAGES_MAX: u32 = 1;

pub(super) struct Operation {
    pub(super) statement: Statement,
    pub(super) cycle_op: CycleOp,
    pub(super) policy: Policy,
}

/// Index of each recipe, by the position in the file, and the name and type of its binding.
type RecipePlaces = HashMap<(usize, String), usize>;

impl Builder<'_> {
    pub(super) fn number(&mut self, op: &Op, key: &str, default: u64) -> Option<u64> {
        let Some(node) = op.param(key) else {
            return Some(default);
        };
        let number = node.text().and_then(scenario::count);
        match number.filter(|n| *n <= REPEAT_MAX) {
            Some(number) => Some(number),
            None => {
                let message = format!(
                    "{key} is {}; it must be a number up to {REPEAT_MAX}",
                    node.describe()
                );
                let place = node.place.clone();
                self.wrong(&place, message)
            }
        }
    }

    /// Returns the texts of schema changes, with values in place of the anchors.
    pub(super) fn schema_texts(&mut self, ops: &[Op]) -> Option<Vec<String>> {
        let mut texts = Vec::with_capacity(ops.len());
        for (cycle, op) in ops.iter().enumerate() {
            let mut missing = None;
            let mut recipes: Vec<(String, Recipe)> = Vec::new();
            let text = statement_text(op);
            if let Some(refusal) = unset(&text, &self.file.parameters) {
                return self.refuse(op, refusal);
            }
            for name in &anchors(&text).names {
                match op.bindings.iter().find(|entry| entry.key == *name) {
                    Some(entry) => {
                        let recipe = self.recipe(&entry.value.clone())?;
                        recipes.push((name.clone(), recipe));
                    }
                    None => missing = Some(name.clone()),
                }
            }
            let mut value = |name: &str| {
                let (_, recipe) = recipes.iter().find(|(known, _)| known == name)?;
                Some(recipe.value(cycle as i64).text().into_owned())
            };
            match (missing, rendered(&text, &mut value)) {
                (None, Some(text)) => texts.push(text),
                (missing, _) => return self.no_binding(op, &missing.unwrap_or_default()),
            }
        }
        Some(texts)
    }

    fn refuse<T>(&mut self, op: &Op, (message, hint): Refusal) -> Option<T> {
        let message = format!("operation {}: {message}", op.name);
        self.out.add(&op.cql.place, message, Some(hint));
        None
    }

    fn no_binding<T>(&mut self, op: &Op, name: &str) -> Option<T> {
        let known = op.bindings.iter().map(|entry| entry.key.as_str());
        let hint = yaml::did_you_mean(name, known);
        let message = format!(
            "operation {} uses binding {name}, which does not exist",
            op.name
        );
        self.out.add(&op.cql.place, message, hint);
        None
    }

    pub(super) fn operation(
        &mut self,
        kind: usize,
        op: &Op,
        known: &mut RecipePlaces,
        recipes: &mut Vec<Recipe>,
    ) -> Option<Operation> {
        let text = statement_text(op);
        if let Err(fault) = cql::tokens::tokens(&text) {
            let message = format!(
                "cassay cannot parse operation {}: {}",
                op.name,
                fault.describe(&text)
            );
            return self.wrong(&op.cql.place, message);
        }
        if !is_cql(&text) {
            let begins: String = text.chars().take(30).collect();
            let message = format!("operation {} is not a CQL statement: `{begins}…`", op.name);
            return self.wrong(&op.cql.place, message);
        }
        self.driver(op)?;
        self.tell_operation(op);
        let anchored = anchors(&text);
        if let Some(refusal) = unset(&text, &self.file.parameters).or_else(|| misplaced(&anchored))
        {
            return self.refuse(op, refusal);
        }
        let table = self.tables.iter();
        let table = table
            .filter(|table| mentions(&anchored.cql, &table.name))
            .max_by_key(|table| table.name.len())
            .cloned();
        let marked = match markers(&anchored.cql) {
            Ok(marked) if marked.len() == anchored.names.len() => marked,
            _ => vec![Marker::Unknown; anchored.names.len()],
        };
        let set = self.settings(op)?;
        let marked_as = (marked.as_slice(), table.as_ref());
        let binds = self.binds(op, is_raw(op, &set), &anchored, marked_as, (known, recipes))?;
        let repeat = match &op.repeat {
            None => 1,
            Some(_) => self.number(op, "repeat", 1)?.max(1),
        };
        let key = table.as_ref().and_then(|table| key_markers(table, &marked));
        let level = set.level.unwrap_or(Consistency::LocalOne);
        let mut statement = Statement::new(anchored.cql, kind as u8, binds.len() as u16, level);
        statement.prepared = is_prepared(op, &set) && !is_schema(&statement.cql);
        statement.serial_consistency = set.serial;
        let lower = statement.cql.to_lowercase();
        statement.returns_rows = ["select", "list"].contains(&first_word(&lower).as_str());
        statement.finds = statement.returns_rows
            && table.as_ref().is_some_and(|table| {
                binds_partition(&statement.cql, table) && binds.len() == table.partition_key.len()
            });
        statement.idempotent = set.idempotent.unwrap_or(statement.returns_rows);
        statement.conditional = is_conditional(&statement.cql);
        if op.repeat.is_some() || op.param("batch").is_some() {
            statement.batch = set.batch.or(Some(BatchKind::Unlogged));
        }
        self.paging(op, &set, &mut statement, marked_as);
        Some(Operation {
            policy: self.policy(op, &set, &statement),
            statement,
            cycle_op: CycleOp { binds, key, repeat },
        })
    }

    fn driver(&mut self, op: &Op) -> Option<()> {
        let Some(node) = op.param("driver") else {
            return Some(());
        };
        let (driver, place) = (node.text().unwrap_or("…"), node.place.clone());
        if DRIVERS.contains(&driver) {
            Some(())
        } else {
            self.wrong(
                &place,
                format!("cassay supports only the driver cql, not {driver}"),
            )
        }
    }

    fn tell_operation(&mut self, op: &Op) {
        let types = ["prepared", "simple", "raw"];
        if let Some(node) = op.param("type")
            && let Some(other) = node.text().filter(|typ| !types.contains(typ))
        {
            let note = format!(
                "cassay does not support type: {other}, but only {}",
                types.join(", ")
            );
            self.note_at(&node.place.clone(), &note);
        }
        for entry in &op.inner {
            let note = format!(
                "{} within op_template has no effect: the settings next to op_template apply to \
                 the batch",
                entry.key
            );
            self.note_at(&entry.value.place.clone(), &note);
        }
        let mut seen: Vec<&str> = Vec::new();
        for entry in &op.params {
            let key = entry.key.as_str();
            if params::acting(On::Operation).any(|known| known == key) || seen.contains(&key) {
                continue;
            }
            seen.push(key);
            let value = entry.value.text().and_then(|text| text.lines().next()).unwrap_or("…");
            let note = match params::ignored_reason(On::Operation, key) {
                Some(why) => format!("{key}: {value} {why}"),
                None => {
                    let hint = yaml::near_name(key, params::acting(On::Operation));
                    let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
                    format!("{key}: {value} has no effect{hint}")
                }
            };
            self.note_at(&entry.value.place.clone(), &note);
        }
    }

    fn binds(
        &mut self,
        op: &Op,
        is_raw: bool,
        anchored: &MarkedStatement,
        (marked, table): (&[Marker], Option<&Table>),
        (known, recipes): (&mut RecipePlaces, &mut Vec<Recipe>),
    ) -> Option<Vec<usize>> {
        let (mut binds, mut saved) = (Vec::new(), Vec::new());
        for ((name, marker), quoted) in anchored.names.iter().zip(marked).zip(&anchored.quoted) {
            let Some(entry) = op.bindings.iter().find(|entry| entry.key == *name).cloned() else {
                return self.no_binding(op, name);
            };
            if *quoted && !is_raw {
                let message = format!(
                    "binding {name} is in quotes. cassay sends values separately from the \
                     statement, so the statement would contain this text instead of the value; \
                     remove the quotes"
                );
                return self.wrong(&op.cql.place, message);
            }
            self.loads(op, &entry.value, &mut saved)?;
            let typ = type_of(marker, table);
            // If the value is written into the text of the statement, it has the type of the
            // column. Without a known column, a quoted value is a text.
            let quoted_text = quoted.then_some(CqlType::Text);
            let written = typ.clone().or(quoted_text).filter(|_| is_raw);
            let key = format!("{name} {written:?}");
            let id = (entry.value.place.span.start, key);
            let index = match known.get(&id) {
                Some(index) => *index,
                None => {
                    let mut recipe = self.recipe(&entry.value)?;
                    if let Some(typ) = &written {
                        recipe = recipe.written_as(typ);
                    }
                    recipes.push(recipe);
                    known.insert(id, recipes.len() - 1);
                    recipes.len() - 1
                }
            };
            if let Some(typ) = typ {
                self.fits(&entry.value, name, &recipes[index], &typ)?;
            }
            binds.push(index);
        }
        if is_raw && !binds.is_empty() {
            self.note_at(
                &op.cql.place.clone(),
                "cassay sends values separately from the text; NoSQLBench writes them into the \
                 text",
            );
        }
        Some(binds)
    }

    /// Reports a recipe that loads a value which no earlier recipe of the operation has saved. Adds
    /// the values that the recipe saves to `saved`.
    fn loads(&mut self, op: &Op, node: &Node, saved: &mut Vec<String>) -> Option<()> {
        let mut uses = Recipe::uses(node.text().unwrap_or(""));
        // A default is a function of the cycle if no recipe of the file ever replaces it.
        let replaced = |name: &&String| self.saved_names().contains(*name);
        let mut loads = uses.loads.iter().chain(uses.defaulted.iter().filter(replaced));
        if let Some(name) = loads.find(|name| !saved.contains(name)) {
            let message = format!(
                "Load('{name}') would return the value that another operation saved last in its \
                 thread, which is not a function of the cycle: no earlier binding of operation {} \
                 saves this value",
                op.name
            );
            let hint = format!("write the recipe of {name} instead");
            self.out.add(&node.place, message, Some(hint));
            return None;
        }
        saved.append(&mut uses.saves);
        Some(())
    }

    /// Returns the settings of an operation, combined with those of its line. Reports a mistake at
    /// the position of the setting.
    fn settings(&mut self, op: &Op) -> Option<Settings> {
        let mut own = Settings::default();
        for (key, set) in params::present(On::Operation, |key| op.param(key).is_some()) {
            let node = op.param(key)?;
            let read = match node.text() {
                Some(text) => set(&mut own, key, text),
                None => Err(format!("{key} must be a string, not {}", node.describe())),
            };
            if let Err(message) = read {
                let place = node.place.clone();
                return self.wrong(&place, message);
            }
        }
        Some(own.over(&self.defaults))
    }

    fn paging(
        &mut self,
        op: &Op,
        set: &Settings,
        statement: &mut Statement,
        (marked, table): (&[Marker], Option<&Table>),
    ) {
        let is_stated = set.page_size.is_some() || set.pages_max.is_some();
        if !statement.returns_rows || !(is_stated || may_be_long(&statement.cql, table, marked)) {
            return;
        }
        let rows = set.page_size.unwrap_or(PAGE_SIZE);
        let pages = set.pages_max.unwrap_or(PAGES_MAX);
        statement.page_size = i32::try_from(rows).ok();
        statement.pages_max = Some(pages);
        let unit = if pages == 1 { "page" } else { "pages" };
        let note = format!(
            "cassay reads up to {pages} {unit} of {rows} rows, like NoSQLBench. More rows are not \
             an error (page_size and maxpages change the limit)"
        );
        self.note_at(&op.cql.place.clone(), &note);
    }

    fn policy(&mut self, op: &Op, set: &Settings, statement: &Statement) -> Policy {
        let mut policy = set.policy;
        if is_schema(&statement.cql) {
            policy.timeout = policy.timeout.or(Some(SCHEMA_TIMEOUT));
        }
        if policy.retries > 0 && !statement.idempotent {
            self.note_at(
                &op.cql.place.clone(),
                "without `idempotent: true`, the client retries this operation only after errors \
                 that prove that the server did no work",
            );
        }
        policy
    }

    fn recipe(&mut self, node: &Node) -> Option<Recipe> {
        let Some(text) = node.text() else {
            let message = format!("a binding must be a recipe, not {}", node.describe());
            return self.wrong(&node.place, message);
        };
        if let Some((message, hint)) = unset(text, &self.file.parameters) {
            self.out.add(&node.place, message, Some(hint));
            return None;
        }
        match Recipe::compile(text, &mut self.env) {
            Ok(recipe) => Some(recipe),
            Err(mut fault) => {
                fault.hint = fault.hint.or_else(|| without_recipe(text));
                let mut place = node.place.clone();
                let end = place.span.end;
                // If the text is in quotes or on several lines, its offsets correspond only
                // approximately to positions in the file.
                place.span.start = (place.span.start + fault.at).min(end);
                self.out.add(&place, fault.message, fault.hint);
                None
            }
        }
    }

    fn fits(&mut self, node: &Node, name: &str, recipe: &Recipe, typ: &CqlType) -> Option<()> {
        if is_bindable(recipe, typ) {
            return Some(());
        }
        let hint = conversion(recipe.ty, typ)
            .map(|function| format!("end the recipe with `; {function}`"));
        let message = format!(
            "binding {name} returns a {}, which the driver does not bind to {typ:?}",
            recipe.ty.name()
        );
        self.out.add(&node.place.clone(), message, hint);
        None
    }
}

/// Returns a hint if the text is a plain value instead of a recipe, or is a recipe in a second pair
/// of quotes.
fn without_recipe(text: &str) -> Option<String> {
    let text = text.trim();
    let is_quoted =
        text.len() > 1 && ['\'', '"'].iter().any(|q| text.starts_with(*q) && text.ends_with(*q));
    if is_quoted {
        return Some(
            "the recipe has quotes within YAML quotes: remove the inner quotes".to_owned(),
        );
    }
    let is_value = text.parse::<f64>().is_ok() || ["true", "false"].contains(&text);
    is_value.then(|| format!("write the same value for each cycle as FixedValue({text})"))
}

/// Returns the CQL type of a marker. Returns `None` if the type is unknown.
fn type_of(marker: &Marker, table: Option<&Table>) -> Option<CqlType> {
    match marker {
        Marker::Int => Some(CqlType::Int),
        Marker::Timestamp | Marker::Token => Some(CqlType::Bigint),
        Marker::Unknown => None,
        Marker::Column(column) => {
            let table = table?;
            let column = table.column(column)?;
            Some(table.columns[column].typ.clone())
        }
    }
}

/// Returns the function that converts a number or a text to the type of a column.
fn conversion(ty: Ty, typ: &CqlType) -> Option<&'static str> {
    if !matches!(ty, Ty::Long | Ty::Int | Ty::Double | Ty::Float | Ty::Text) {
        return None;
    }
    Some(match typ {
        CqlType::Text | CqlType::Ascii => "ToString()",
        CqlType::Int => "ToInt()",
        CqlType::Bigint | CqlType::Counter => "ToLong()",
        CqlType::Double => "ToDouble()",
        CqlType::Float => "ToFloat()",
        _ => return None,
    })
}

/// Returns true if values are written into the text of the statement. This applies to `raw` in nb5,
/// and to unprepared statements in nb4.
fn is_raw(op: &Op, set: &Settings) -> bool {
    match (op.param("type").and_then(Node::text), op.shape.as_str()) {
        (Some("raw"), _) | (_, "raw") => true,
        (Some("simple"), _) | (_, "simple") => false,
        _ => !is_prepared(op, set) && !set.parameterized.unwrap_or(false),
    }
}

fn is_prepared(op: &Op, set: &Settings) -> bool {
    match (op.shape.as_str(), op.param("type").and_then(Node::text)) {
        ("prepared", _) | (_, Some("prepared")) => true,
        ("simple" | "raw", _) | (_, Some("simple" | "raw")) => false,
        _ => set.prepared.unwrap_or(true),
    }
}
