//! Executes statements: prepared statements without a ready-made answer, texts, batches and schema
//! changes.
//!
//! The engine stores the effect of a prepared statement under the id of the statement. It stores
//! the effect of an unprepared text under a hash of the text, so it does not parse a repeated text
//! again.

use super::answer_request::{Engine, Peer};
use super::catalog::{ID_BYTES, Refusal, Text, text_id};
use super::compile::{CompiledStatement, compile};
use super::errors::{append_refusal, invalid, syntax_error};
use super::prepared::Effect;
use super::statement::{Select, Statement, parse};
use super::{catalog::Shared, system};
use cql::reply;
use cql::request::{BatchStatement, BoundValue, Parameters};
use cql::response::{ColumnSpec, ErrorCode, ErrorDetail};
use std::sync::Arc;

/// Maximum number of stored texts. When this number is reached, the engine drops all stored texts.
/// This happens if a client writes values into its texts, because every text is then new.
const TEXTS_MAX: usize = 4096;

#[derive(Clone, Copy)]
enum EffectKey {
    Prepared([u8; ID_BYTES]),
    Text([u8; ID_BYTES]),
}

impl Engine {
    pub(super) fn prepare(&mut self, peer: &Peer, stream: i16, cql: &str, out: &mut Vec<u8>) {
        let Some(statement) = parse(cql) else {
            return syntax_error(out, stream);
        };
        let shared = Arc::clone(&self.shared);
        let mut catalog = shared.catalog();
        let text = Text {
            keyspace: peer.keyspace.clone(),
            cql: cql.to_owned(),
        };
        let Some(id) = catalog.prepare(text) else {
            let why =
                "the null target cannot store further statements; prepare each statement only once";
            return reply::error(out, stream, ErrorCode::Overloaded, why, &ErrorDetail::None);
        };
        match compile(statement, id, &catalog, &peer.keyspace, self.reads) {
            Ok(CompiledStatement { prepared, effect }) => {
                reply::prepared(out, stream, &prepared);
                self.table.insert(id, effect);
            }
            Err(why) => invalid(out, stream, &why),
        }
    }

    /// Executes a statement without a ready-made answer. Either this event loop has not executed
    /// the statement yet, or the answer to it varies.
    pub(super) fn execute(
        &mut self,
        peer: &mut Peer,
        stream: i16,
        id: &[u8],
        parameters: &Parameters<'_>,
        out: &mut Vec<u8>,
    ) {
        let Some(id) = self.learn(id) else {
            return unprepared(out, stream, id);
        };
        match self.table.find(&id) {
            Some(Effect::System(_) | Effect::Schema) | None => {
                let text = self.shared.catalog().prepared(&id).cloned();
                let Some(Text { keyspace, cql }) = text else {
                    return unprepared(out, stream, &id);
                };
                self.query(peer, stream, &keyspace, &cql, parameters, out);
            }
            Some(_) => self.operate(EffectKey::Prepared(id), stream, parameters, out),
        }
    }

    /// Makes the effect of a prepared statement available in this event loop, regardless of the
    /// loop in which it was prepared. Returns the id of the statement, or `None` if no client has
    /// prepared it.
    fn learn(&mut self, id: &[u8]) -> Option<[u8; ID_BYTES]> {
        let id: [u8; ID_BYTES] = id.try_into().ok()?;
        if self.table.find(&id).is_some() {
            return Some(id);
        }
        let shared = Arc::clone(&self.shared);
        let catalog = shared.catalog();
        let text = catalog.prepared(&id)?;
        let statement = parse(&text.cql)?;
        let compiled = compile(statement, id, &catalog, &text.keyspace, self.reads).ok()?;
        self.table.insert(id, compiled.effect);
        Some(id)
    }

    /// Executes the text `cql` on a connection that uses the keyspace `in_use`.
    pub(super) fn query(
        &mut self,
        peer: &mut Peer,
        stream: i16,
        in_use: &str,
        cql: &str,
        parameters: &Parameters<'_>,
        out: &mut Vec<u8>,
    ) {
        let id = text_id(in_use, cql);
        if self.texts.find(&id).is_some() {
            return self.operate(EffectKey::Text(id), stream, parameters, out);
        }
        let Some(statement) = parse(cql) else {
            return syntax_error(out, stream);
        };
        match statement {
            Statement::Use(keyspace) => {
                reply::set_keyspace(out, stream, &keyspace);
                peer.keyspace = keyspace;
                return;
            }
            Statement::CreateKeyspace(_)
            | Statement::CreateTable(_)
            | Statement::DropKeyspace { .. }
            | Statement::DropTable { .. }
            | Statement::OtherSchema => return self.change_schema(stream, in_use, &statement, out),
            Statement::Select(_) | Statement::Write(_) | Statement::Other { .. } => {}
        }
        let shared = Arc::clone(&self.shared);
        let compiled = compile(statement, id, &shared.catalog(), in_use, self.reads);
        match compiled.map(|compiled| compiled.effect) {
            Ok(Effect::System(select)) => read_system(&shared, stream, &select, parameters, out),
            Ok(Effect::Schema) => reply::void(out, stream),
            Ok(effect) => {
                self.remember(id, effect);
                self.operate(EffectKey::Text(id), stream, parameters, out);
            }
            Err(why) => invalid(out, stream, &why),
        }
    }

    fn remember(&mut self, id: [u8; ID_BYTES], effect: Effect) {
        if self.texts.count() >= TEXTS_MAX {
            self.texts.clear();
        }
        self.texts.insert(id, effect);
    }

    /// Executes a batch. The answer is an acknowledgement, or the result of the batch's conditional
    /// statements. As in Cassandra, the batch counts as one write per table, and a conditional
    /// batch counts as one read.
    pub(super) fn batch<'a>(
        &mut self,
        in_use: &str,
        stream: i16,
        statements: impl Iterator<Item = &'a BatchStatement<'a>>,
        out: &mut Vec<u8>,
    ) {
        let (mut conditional, mut tables) = (None, Vec::new());
        for statement in statements {
            let known = match statement {
                BatchStatement::Prepared(id) => match self.learn(id) {
                    Some(id) => EffectKey::Prepared(id),
                    None => return unprepared(out, stream, id),
                },
                BatchStatement::Query(cql) => match self.learn_text(in_use, cql) {
                    Some(id) => EffectKey::Text(id),
                    None => return syntax_error(out, stream),
                },
            };
            match self.effect(known) {
                Some(Effect::Conditional(_)) => conditional = Some(known),
                Some(Effect::Write(_, table)) if !tables.contains(table) => tables.push(*table),
                _ => {}
            }
        }
        if self.is_refused(stream, out) {
            return;
        }
        match conditional.and_then(|known| self.effect(known)) {
            Some(Effect::Conditional(ready)) => {
                ready.append(out, stream, false, None);
                self.counts.reads += 1;
            }
            _ => {
                reply::void(out, stream);
                self.counts.writes += tables.len().max(1) as u64;
            }
        }
    }

    /// Makes the effect of a text in a batch available in this event loop. Returns the id of the
    /// text, or `None` if the text cannot be parsed.
    fn learn_text(&mut self, in_use: &str, cql: &str) -> Option<[u8; ID_BYTES]> {
        let id = text_id(in_use, cql);
        if self.texts.find(&id).is_none() {
            let statement = parse(cql)?;
            let shared = Arc::clone(&self.shared);
            if let Ok(compiled) = compile(statement, id, &shared.catalog(), in_use, self.reads) {
                self.remember(id, compiled.effect);
            }
        }
        Some(id)
    }

    fn effect(&self, known: EffectKey) -> Option<&Effect> {
        match known {
            EffectKey::Prepared(id) => self.table.find(&id),
            EffectKey::Text(id) => self.texts.find(&id),
        }
    }

    /// Counts an operation, and answers it normally or with a configured error.
    fn operate(
        &mut self,
        known: EffectKey,
        stream: i16,
        parameters: &Parameters<'_>,
        out: &mut Vec<u8>,
    ) {
        if self.is_refused(stream, out) {
            return;
        }
        let skip = parameters.skip_metadata;
        let is_read = match self.effect(known) {
            Some(Effect::Write(ready, _)) => {
                ready.append(out, stream, skip, None);
                false
            }
            Some(Effect::Read(ready) | Effect::Conditional(ready)) => {
                ready.append(out, stream, skip, None);
                true
            }
            Some(Effect::Pages(pages)) => {
                let (size, state) = (parameters.page_size, parameters.paging_state);
                pages.append(out, stream, skip, size, state);
                true
            }
            Some(Effect::System(_) | Effect::Schema) | None => {
                reply::void(out, stream);
                false
            }
        };
        if is_read {
            self.counts.reads += 1
        } else {
            self.counts.writes += 1
        }
    }

    /// If the configured errors require it, answers the operation with an error and returns true.
    fn is_refused(&mut self, stream: i16, out: &mut Vec<u8>) -> bool {
        let Some(code) = self.refusals.next_code() else {
            return false;
        };
        self.counts.refused += 1;
        append_refusal(out, stream, code, &[]);
        true
    }

    fn change_schema(
        &mut self,
        stream: i16,
        in_use: &str,
        statement: &Statement,
        out: &mut Vec<u8>,
    ) {
        match self.shared.change(statement, in_use) {
            Ok(Some(change)) => reply::schema_change(out, stream, &change),
            Ok(None) => reply::void(out, stream),
            Err(Refusal::Exists { keyspace, table }) => {
                let why = match table.as_str() {
                    "" => format!("the keyspace '{keyspace}' already exists"),
                    table => format!("the table '{keyspace}.{table}' already exists"),
                };
                let detail = ErrorDetail::AlreadyExists {
                    keyspace: &keyspace,
                    table: &table,
                };
                reply::error(out, stream, ErrorCode::AlreadyExists, &why, &detail);
            }
            Err(Refusal::Invalid(why)) => invalid(out, stream, &why),
        }
        self.refresh();
    }
}

fn read_system(
    shared: &Shared,
    stream: i16,
    select: &Select,
    parameters: &Parameters<'_>,
    out: &mut Vec<u8>,
) {
    let bound: Vec<Option<&[u8]>> = parameters
        .values()
        .map(|value| match value {
            BoundValue::Bytes(bytes) => Some(bytes),
            BoundValue::Null | BoundValue::Unset => None,
        })
        .collect();
    let keyspace = select.table.keyspace.as_deref().unwrap_or("");
    let Some(result) = system::read(shared, select, keyspace, &bound) else {
        return invalid(
            out,
            stream,
            &system::no_such_table(keyspace, &select.table.table),
        );
    };
    let columns: Vec<ColumnSpec> = result
        .columns
        .into_iter()
        .map(|(name, typ)| ColumnSpec {
            keyspace: keyspace.to_owned(),
            table: select.table.table.clone(),
            name,
            typ,
        })
        .collect();
    reply::rows(
        out,
        stream,
        &columns,
        parameters.skip_metadata,
        None,
        &result.rows,
    );
}

fn unprepared(out: &mut Vec<u8>, stream: i16, id: &[u8]) {
    let why = "no client prepared the statement on this server";
    let detail = ErrorDetail::Unprepared { id };
    reply::error(out, stream, ErrorCode::Unprepared, why, &detail);
}
