//! One record of a log, independent of the log's format: the request, its values and its time.

use crate::audit_line;
use crate::chronicle_values::{Items, MalformedDocument};
use crate::options;
use cql::Consistency;
use workload::BatchKind;

/// Highest version of records that this module supports. Later versions may contain unknown fields.
const VERSION_MAX: i64 = 0;
/// Maximum number of statements in a batch, and maximum number of values of a statement.
const COUNT_MAX: usize = u16::MAX as usize;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A request that was executed.
    Request(Request),
    /// A record that is not a request or cannot be replayed, with the reason and the time in ms
    /// since 1970.
    Other(Why, u64),
}

/// Reasons why cassay does not replay a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// The record defines an object: CREATE, ALTER, DROP.
    Definition,
    /// The record truncates a table, or grants or revokes permissions.
    Administration,
    /// The record sets the keyspace of its connection.
    Use,
    /// The record concerns the server's own keyspaces. Drivers read these when they connect.
    System,
    /// The record requests a further page of an earlier read. A replay can request only first
    /// pages.
    FurtherPage,
    /// The log does not contain the values of the record. Audit logs never contain values.
    NoValues,
    /// The record is part of a batch in an audit log. An audit log does not contain whole batches.
    AuditBatch,
    /// The server refused the request, or the request failed.
    Failed,
    /// The record is not a statement that the server executed. It is a login, or a statement that
    /// was only prepared.
    NoStatement,
    /// Neither the statement nor its connection names a keyspace.
    NoKeyspace,
    /// The statement is of an unknown kind, or a token in it is not closed.
    Unknown,
    /// The number of values differs from the number of markers in the statement.
    OtherValues,
    /// The parser cannot parse the record.
    Unreadable,
    /// The statement would be one more than the recording's maximum number of statements.
    TooManyStatements,
    /// The recording has reached its memory limit.
    NoRoom,
    /// The record is a write, but the user chose only reads, or the record is a read, but the user
    /// chose only writes.
    NotChosen,
    /// The user did not choose the keyspace of the record.
    OtherKeyspace,
    /// The record is outside the period that the user chose.
    OutsideOfTime,
}

impl Why {
    /// Returns the reason in words, such as "these requests define objects (CREATE, ALTER, DROP)".
    /// A message can contain the words after the number of omitted records.
    pub fn words(self) -> &'static str {
        match self {
            Why::Definition => "these requests define objects (CREATE, ALTER, DROP)",
            Why::Administration => "these requests empty tables, or grant and revoke permissions",
            Why::Use => "these requests choose a keyspace (USE)",
            Why::System => "these requests use the server's own keyspaces, which drivers query",
            Why::FurtherPage => "these requests fetch another page of an earlier read",
            Why::NoValues => "an audit log does not contain the values of these requests",
            Why::AuditBatch => {
                "these requests are parts of batches, which audit logs record incompletely"
            }
            Why::Failed => "these requests failed",
            Why::NoStatement => "these requests execute no statement (logins, PREPARE)",
            Why::NoKeyspace => "neither the statement nor the connection sets a keyspace",
            Why::Unknown => "cassay does not support this kind of statement",
            Why::OtherValues => {
                "the number of values in these requests differs from the number of markers"
            }
            Why::Unreadable => "cassay cannot read the records of these requests",
            Why::TooManyStatements => {
                "the log had too many different statements before these requests"
            }
            Why::NoRoom => "the memory for records was full before these requests",
            Why::NotChosen => {
                "the study selects only reads or only writes, and these requests are of the other \
                 kind"
            }
            Why::OtherKeyspace => "these requests use keyspaces that the study does not select",
            Why::OutsideOfTime => "these requests are outside the selected period",
        }
    }

    /// Returns a short name of the reason, for programs.
    pub fn name(self) -> &'static str {
        match self {
            Why::Definition => "definition",
            Why::Administration => "administration",
            Why::Use => "use",
            Why::System => "system",
            Why::FurtherPage => "further_page",
            Why::NoValues => "no_values",
            Why::AuditBatch => "audit_batch",
            Why::Failed => "failed",
            Why::NoStatement => "no_statement",
            Why::NoKeyspace => "no_keyspace",
            Why::Unknown => "unknown",
            Why::OtherValues => "other_values",
            Why::Unreadable => "unreadable",
            Why::TooManyStatements => "too_many_statements",
            Why::NoRoom => "no_room",
            Why::NotChosen => "not_chosen",
            Why::OtherKeyspace => "other_keyspace",
            Why::OutsideOfTime => "outside_of_time",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Time at which the request began, in ms since 1970.
    pub at_ms: u64,
    /// Keyspace of the tables that the statements name without a keyspace.
    pub keyspace: Option<String>,
    /// Statements of the request. The request is a batch if it has several statements, or if it has
    /// a kind of batch.
    pub statements: Vec<Bound>,
    /// Kind of the batch. `None` if the request is not a batch.
    pub batch: Option<BatchKind>,
    /// Consistency level of the request. `None` if the log does not contain the level.
    pub consistency: Option<Consistency>,
    /// Consistency level of the Paxos part. `None` if the log does not contain the level.
    pub serial_consistency: Option<Consistency>,
    /// Number of rows per page. `None` if the request does not limit the page.
    pub page_size: Option<i32>,
    /// True if the request is for a further page.
    pub continues: bool,
    /// True if the client set the write timestamp.
    pub stamped: bool,
    /// True if the log contains the values of the statements.
    pub has_values: bool,
}

/// A statement with the values of its markers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// Text of the statement.
    pub cql: String,
    /// Number of values of the statement.
    pub values_count: u16,
    /// The values, each as an int length and the bytes of the value (`[int length][bytes]`).
    pub values: Vec<u8>,
}

/// Parses a record of a full query log or of a binary audit log.
///
/// # Errors
/// The document is not a record of such a log, or has a later version.
pub fn read(document: &[u8]) -> Result<Entry, MalformedDocument> {
    let mut items = Items::new(document);
    items.field("version")?;
    if items.number()? > VERSION_MAX {
        return Err(items.wrong("a later version of the record's format"));
    }
    items.field("type")?;
    match items.words()?.as_deref() {
        Some("single-query") => single(&mut items),
        Some("batch") => batch(&mut items),
        Some("audit") => {
            items.field("message")?;
            let message = items.words()?.unwrap_or_default();
            Ok(audit_line::read(&message))
        }
        _ => Err(items.wrong("a record of an unknown type")),
    }
}

/// Parses the fields that every request has. Also returns the values of a single statement.
fn request(items: &mut Items<'_>) -> Result<(Request, Bound), MalformedDocument> {
    items.field("query-start-time")?;
    let at_ms = u64::try_from(items.number()?).unwrap_or(0);
    items.field("protocol-version")?;
    let version = items.number()?;
    items.field("query-options")?;
    let bytes = items.bytes()?.unwrap_or_default();
    let Some(options) = options::parse(bytes, version) else {
        return Err(items.wrong("the options of a request end too early"));
    };
    items.field("keyspace")?;
    let keyspace = items.words()?.map(|name| name.into_owned());
    let bound = Bound {
        cql: String::new(),
        values_count: options.values_count,
        values: options.values,
    };
    let request = Request {
        at_ms,
        keyspace: options.keyspace.map(str::to_owned).or(keyspace),
        consistency: options.consistency,
        serial_consistency: options.serial_consistency,
        page_size: options.page_size,
        continues: options.continues,
        stamped: options.stamped,
        has_values: true,
        ..Request::default()
    };
    Ok((request, bound))
}

fn single(items: &mut Items<'_>) -> Result<Entry, MalformedDocument> {
    let (mut request, mut bound) = request(items)?;
    items.field("query")?;
    bound.cql = items.words()?.unwrap_or_default().into_owned();
    request.statements.push(bound);
    Ok(Entry::Request(request))
}

fn batch(items: &mut Items<'_>) -> Result<Entry, MalformedDocument> {
    let (mut request, _) = request(items)?;
    items.field("batch-type")?;
    request.batch = Some(match items.words()?.as_deref() {
        Some("LOGGED") => BatchKind::Logged,
        Some("UNLOGGED") => BatchKind::Unlogged,
        Some("COUNTER") => BatchKind::Counter,
        _ => return Err(items.wrong("a batch of an unknown type")),
    });
    items.field("queries")?;
    let count = items.count()?.min(COUNT_MAX);
    for _ in 0..count {
        let cql = items.words()?.unwrap_or_default().into_owned();
        request.statements.push(Bound {
            cql,
            ..Bound::default()
        });
    }
    items.field("values")?;
    if items.count()? != count {
        return Err(items.wrong(
            "the number of statements in a batch differs from the number of lists of values",
        ));
    }
    for bound in &mut request.statements {
        let values_count = items.count()?.min(COUNT_MAX);
        bound.values_count = values_count as u16;
        for _ in 0..values_count {
            append_value(items.bytes()?, &mut bound.values);
        }
    }
    Ok(Entry::Request(request))
}

fn append_value(value: Option<&[u8]>, out: &mut Vec<u8>) {
    match value {
        Some(bytes) => cql::template::append_value(out, bytes),
        None => cql::template::append_null(out),
    }
}
