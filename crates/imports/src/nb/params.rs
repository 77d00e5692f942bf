//! Settings of activities and operations, apart from their statements: the settings with an effect,
//! and notes on the others.
//!
//! Each setting has an effect, or a note or a mistake names it with its position. A setting with an
//! effect is a row of a table, with its function. If other code reads a setting directly, a list
//! must contain the setting. A setting without effect is in a list with the reason.
//!
//! The file is long because the tables of settings are next to the code that reads them.

use core::time::Duration;

use super::scenario::{self, Line};
use cql::Consistency;
use workload::{BatchKind, Policy};

/// Maximum number of retries. The limit is the same as for cassay's own setting `retries`.
const RETRIES_MAX: u64 = 100;
/// Default number of attempts if errors are retried, as in NoSQLBench.
const MAXTRIES: u64 = 10;
/// Maximum timeout, in seconds. The client does not wait for an operation for longer than a day.
const TIMEOUT_SECONDS_MAX: f64 = 86_400.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    /// The setting is on a line of a scenario.
    Line,
    /// The setting is on an operation, or on the operation's block or file.
    Operation,
}

/// Function that applies the value of a setting. The second argument is the name of the setting,
/// and the third is its text.
pub(crate) type Set = fn(&mut Settings, &str, &str) -> Result<(), String>;

/// A setting with an effect, with its names and its function. If a file contains several of the
/// names, the first name has priority.
struct Row {
    line: &'static str,
    operation: &'static str,
    set: Set,
}

const fn row(line: &'static str, operation: &'static str, set: Set) -> Row {
    Row {
        line,
        operation,
        set,
    }
}

const ROWS: [Row; 13] = [
    row(
        "cl, consistency, consistency_level, driver.basic.request.consistency",
        "cl, consistency, consistency_level",
        |s, key, value| put(&mut s.level, level(key, value)),
    ),
    row(
        "scl, serial_cl, serial_consistency, serial_consistency_level, \
         driver.basic.request.serial-consistency",
        "scl, serial_cl, serial cl, serial_consistency, serial_consistency_level",
        |s, key, value| put(&mut s.serial, serial(key, value)),
    ),
    row(
        "page_size, pagesize, fetchsize, driver.basic.request.page-size",
        "page_size, pagesize, fetchsize",
        |s, key, value| put(&mut s.page_size, positive(key, value)),
    ),
    row("maxpages", "maxpages", |s, key, value| {
        put(&mut s.pages_max, positive(key, value))
    }),
    row(
        "idempotent, defaultidempotence, driver.basic.request.default-idempotence",
        "idempotent",
        |s, key, value| put(&mut s.idempotent, flag(key, value)),
    ),
    row("prepared", "prepared", |s, key, value| {
        put(&mut s.prepared, flag(key, value))
    }),
    row("", "parameterized", |s, key, value| {
        put(&mut s.parameterized, flag(key, value))
    }),
    row("", "batchtype", |s, _, value| {
        put(&mut s.batch, batch(value))
    }),
    row(
        "timeout, driver.basic.request.timeout",
        "timeout",
        |s, key, value| put(&mut s.policy.timeout, timeout(key, value)),
    ),
    row("socketoptions, socket_options", "", |s, _, value| {
        let read = socket_timeout(value, &mut s.notes)?;
        s.policy.timeout = s.policy.timeout.or(read);
        Ok(())
    }),
    row("speculative", "", |s, _, value| {
        s.policy.speculate_after = speculative(value, &mut s.notes)?;
        Ok(())
    }),
    row("errors", "", |s, _, value| {
        s.errors = Some(value.to_owned());
        Ok(())
    }),
    row("maxtries", "", |s, _, value| {
        s.maxtries = Some(value.to_owned());
        Ok(())
    }),
];

/// Settings of lines that other code reads directly.
pub(super) const LINE: &str = "driver, type, tags, cycles, recycles, threads, async, cyclerate, \
    targetrate, rate, striderate, stride, seq, yaml, workload, host, hosts, port, localdc, \
    username, userfile, password, passfile, ssl, pooling, compression, \
    driver.advanced.protocol.compression";

/// Settings of operations that other code reads directly, or together with the statement.
pub(super) const OPERATION: &str = "ratio, repeat, batch, type, driver, tags, params, bindings, \
    op_template";

/// Settings with names and descriptions for people. They have no effect in NoSQLBench or in cassay.
const LABELS: &str = "alias, cqldriver, name, desc, description";

/// Settings without effect in cassay, each with the reason.
const NOTED_SETTINGS: &[(&str, &str)] = &[
    (
        "instrument, labels, container, step, hdr_digits, interval, logresultcsv, resultcsv, \
         drivermetrics, driverprefix, jmxreporting, insights, diag, showcql, showstmt, trace, \
         tracing, start-timers, stop-timers, histogram",
        "configures the measurements or logs of NoSQLBench, and has no effect: cassay records \
         every kind of operation",
    ),
    (
        "verify, verify-fields, verify_fields, compare, verifier, verifier-imports, \
         verifier-init, expected-result",
        "has no effect: cassay counts returned rows, and does not compare them with the bindings. \
         cassay can verify a named workload or its own workload files",
    ),
    (
        "tokens",
        "has no effect: cassay runs the operations of all token ranges",
    ),
    (
        "whitelist, lbp, loadbalancing, loadbalancingpolicy",
        "has no effect: each operation goes to a replica of its partition; hosts= and localdc= \
         name the nodes",
    ),
    (
        "retrypolicy, reconnectpolicy, reconnect_policy, retrydelay, maxretrydelay, retry_delay",
        "has no effect: retries follow immediately, and only if errors= includes retry; the \
         client reopens lost connections",
    ),
    (
        "retryreplace, maxlwtretries, maxretryreplace",
        "has no effect: cassay counts a false condition as not applied",
    ),
    (
        "protocol_version, tickduration, usercodecs, cbopts, haproxy_source_ip, single-endpoint, \
         custom_payload, execution_profile, execution_profile_name, node, now_in_seconds, \
         query_timestamp, routing_key, routing_keys, routing_token, binder",
        "belongs to the Java driver, which cassay does not use",
    ),
    (
        "driverconfig",
        "configures the Java driver, which cassay does not use; write timeout=, cl=, page_size= or \
         compression= instead",
    ),
    (
        "secureconnectbundle, scb, cloud_proxy_address",
        "has no effect: cassay connects to the nodes in hosts= or in the study's target",
    ),
    (
        "tlsversion, keystore, kspass, truststore, tspass, keyPassword, keyFilePath, keyfilepath, \
         certFilePath, caCertFilePath, sslValidation",
        "has no effect: set certificates in the tls section of a target",
    ),
    (
        "save, capture, rsoperators, rowoperators, space, poll, if",
        "acts on results or drivers in NoSQLBench, and has no effect in cassay",
    ),
    (
        "strict, dryrun, ignore_important_warnings",
        "has no effect in cassay; `cassay plan` shows what a study would do",
    ),
];

/// Settings of lines that have no effect on an operation, each with the reason.
const NOTED_OPERATION_SETTINGS: &[(&str, &str)] = &[(
    "errors, maxtries, speculative",
    "has no effect on an operation, in NoSQLBench as in cassay; set this parameter in a line of a \
     scenario or on the command line",
)];

fn listed(names: &'static str) -> impl Iterator<Item = &'static str> {
    names.split(", ").filter(|name| !name.is_empty())
}

/// Returns the names of the settings that need no note. These are the settings with an effect, and
/// descriptions for people.
pub(crate) fn acting(on: On) -> impl Iterator<Item = &'static str> {
    let others = match on {
        On::Line => LINE,
        On::Operation => OPERATION,
    };
    let rows = ROWS.iter().flat_map(move |row| listed(row.names(on)));
    rows.chain(listed(others)).chain(listed(LABELS))
}

/// Returns the reason why a setting has no effect. Returns `None` for settings with an effect and
/// for unknown settings.
pub(crate) fn ignored_reason(on: On, key: &str) -> Option<&'static str> {
    let own = match on {
        On::Line => &[],
        On::Operation => NOTED_OPERATION_SETTINGS,
    };
    let mut all = own.iter().chain(NOTED_SETTINGS);
    let found = all.find(|(keys, _)| listed(keys).any(|name| name == key));
    found.map(|(_, why)| *why)
}

impl Row {
    fn names(&self, on: On) -> &'static str {
        match on {
            On::Line => self.line,
            On::Operation => self.operation,
        }
    }
}

/// Returns the settings that are present. Each has the first of its names, and its function.
pub(crate) fn present(
    on: On,
    is_there: impl Fn(&str) -> bool,
) -> impl Iterator<Item = (&'static str, Set)> {
    ROWS.iter().filter_map(move |row| {
        let found = listed(row.names(on)).find(|name| is_there(name));
        Some((found?, row.set))
    })
}

/// Settings of one operation, or settings of a line that apply to all of its operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) level: Option<Consistency>,
    pub(crate) serial: Option<Consistency>,
    pub(crate) page_size: Option<u32>,
    pub(crate) pages_max: Option<u32>,
    pub(crate) idempotent: Option<bool>,
    pub(crate) prepared: Option<bool>,
    pub(crate) parameterized: Option<bool>,
    pub(crate) batch: Option<BatchKind>,
    pub(crate) policy: Policy,
    errors: Option<String>,
    maxtries: Option<String>,
    /// Notes on differences from NoSQLBench. Each note is a sentence.
    pub(crate) notes: Vec<String>,
}

impl Settings {
    pub(crate) fn from_line(line: &Line) -> Result<Settings, String> {
        let mut out = Settings::default();
        for (key, set) in present(On::Line, |key| line.get(key).is_some()) {
            set(&mut out, key, line.get(key).unwrap_or_default())?;
        }
        out.policy.retries = out.retries()?;
        Ok(out)
    }

    /// Combines the settings of an operation with those of its line. The settings of the operation
    /// have priority.
    pub(crate) fn over(self, line: &Settings) -> Settings {
        Settings {
            level: self.level.or(line.level),
            serial: self.serial.or(line.serial),
            page_size: self.page_size.or(line.page_size),
            pages_max: self.pages_max.or(line.pages_max),
            idempotent: self.idempotent.or(line.idempotent),
            prepared: self.prepared.or(line.prepared),
            policy: Policy {
                timeout: self.policy.timeout.or(line.policy.timeout),
                ..line.policy
            },
            ..self
        }
    }
}

fn put<T>(into: &mut Option<T>, value: Result<T, String>) -> Result<(), String> {
    *into = Some(value?);
    Ok(())
}

fn batch(value: &str) -> Result<BatchKind, String> {
    BatchKind::from_name(value)
        .ok_or_else(|| format!("batchtype is `{value}`; it must be logged, unlogged or counter"))
}

fn level(key: &str, value: &str) -> Result<Consistency, String> {
    let level = value.to_uppercase().parse();
    level.map_err(|_| format!("{key}={value} is not a consistency level"))
}

fn serial(key: &str, value: &str) -> Result<Consistency, String> {
    let level = level(key, value)?;
    if level.is_serial() {
        Ok(level)
    } else {
        Err(format!(
            "{level} is not a serial consistency level; write SERIAL or LOCAL_SERIAL"
        ))
    }
}

/// Parses a whole number of at least 1, such as `5k`.
fn positive(key: &str, value: &str) -> Result<u32, String> {
    let number = scenario::count(value).and_then(|n| i32::try_from(n).ok());
    match number.filter(|n| *n > 0) {
        Some(number) => Ok(number.unsigned_abs()),
        None => Err(format!("{key} is `{value}`; it must be a number from 1")),
    }
}

fn flag(key: &str, value: &str) -> Result<bool, String> {
    match value.to_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("{key} is `{value}`; it must be true or false")),
    }
}

/// Parses a timeout in seconds, or in the unit that the text states: `2.0`, `500ms`, `2 seconds`.
fn timeout(key: &str, value: &str) -> Result<Duration, String> {
    let text = value.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let factor = match text[end..].trim().to_lowercase().as_str() {
        "" | "s" | "second" | "seconds" => 1.0,
        "ms" | "millis" | "millisecond" | "milliseconds" => 1e-3,
        "us" | "micros" | "microsecond" | "microseconds" => 1e-6,
        "m" | "minute" | "minutes" => 60.0,
        _ => f64::NAN,
    };
    let seconds = text[..end].parse::<f64>().unwrap_or(f64::NAN) * factor;
    if seconds > 0.0 && seconds <= TIMEOUT_SECONDS_MAX {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(format!(
        "{key} is `{value}`; it must be seconds above 0, as in 2.0 or 500ms"
    ))
}

/// Returns the read timeout that the socket options contain, if any.
fn socket_timeout(text: &str, notes: &mut Vec<String>) -> Result<Option<Duration>, String> {
    let mut found = None;
    for option in text.split([',', ';']).filter(|option| !option.is_empty()) {
        match option.split_once(['=', ':']) {
            Some(("read_timeout_ms", value)) => {
                found = Some(timeout("read_timeout_ms", &format!("{value}ms"))?);
            }
            _ => notes.push(format!(
                "socketoptions {option} has no effect; read_timeout_ms sets the timeout"
            )),
        }
    }
    Ok(found)
}

/// Parses a speculative delay, such as `100ms:5` or `p99:5`.
fn speculative(value: &str, notes: &mut Vec<String>) -> Result<Option<Duration>, String> {
    let (after, more) = value.split_once(':').unwrap_or((value, ""));
    if after.starts_with('p') {
        notes.push(format!(
            "speculative={value} has no effect: cassay starts no second attempt at a percentile of \
             the run itself; write a time, as in speculative=100ms"
        ));
        return Ok(None);
    }
    if !after.ends_with("ms") {
        let message = format!("speculative is `{value}`; it must be a time, as in 100ms");
        return Err(message);
    }
    if !["", "1"].contains(&more) {
        notes.push(format!(
            "speculative={value} sends an operation to at most one more node"
        ));
    }
    timeout("speculative", after).map(Some)
}

/// Verbs that `errors=` accepts in nb4 and nb5.
const VERBS: &str = "stop, warn, retry, histogram, count, counter, ignore, meter, timer, error, \
    expected, histo";

impl Settings {
    /// Returns the number of retries that follows from `errors=` and `maxtries=`.
    fn retries(&mut self) -> Result<u8, String> {
        let errors = self.errors.as_deref().unwrap_or("stop");
        let notes = &mut self.notes;
        let (mut stops, mut again, mut ignored) = (false, Vec::new(), false);
        for chain in errors.split(';').filter(|chain| !chain.trim().is_empty()) {
            for (pattern, verb) in handlers(chain) {
                let number = verb.parse::<u8>().is_ok();
                if !number && !listed(VERBS).any(|known| known == verb) && !verb.contains("handler")
                {
                    let hint = yaml::did_you_mean(verb, listed(VERBS)).unwrap_or_default();
                    return Err(format!(
                        "errors={errors} contains `{verb}`, which is not an error handler; {hint}"
                    ));
                }
                match verb {
                    "stop" => stops = true,
                    "retry" => again.push(pattern),
                    "ignore" => ignored = true,
                    _ => {}
                }
            }
        }
        if stops {
            notes.push(
            "NoSQLBench stops at the first error if `errors=` contains `stop`, the default. cassay \
             counts errors by kind and continues"
                .to_owned(),
        );
        }
        if ignored {
            notes.push(format!("errors={errors}: cassay counts ignored errors"));
        }
        let maxtries = self.maxtries.as_deref();
        if again.is_empty() {
            if let Some(tries) = maxtries {
                notes.push(format!(
                    "maxtries={tries} has no effect without errors=retry: cassay does not retry \
                     failures"
                ));
            }
            return Ok(0);
        }
        if again.iter().any(|pattern| !["", ".*"].contains(pattern)) {
            notes.push(format!(
                "errors={errors} retries only some errors; cassay retries all operations that had \
                 no effect, and idempotent operations also after timeouts and lost connections"
            ));
        }
        let tries = maxtries.map_or(Some(MAXTRIES), scenario::count);
        match tries.filter(|tries| (1..=RETRIES_MAX + 1).contains(tries)) {
            Some(tries) => Ok((tries - 1) as u8),
            None => Err(format!(
                "maxtries is `{}`; it must be from 1 to {}",
                maxtries.unwrap_or_default(),
                RETRIES_MAX + 1
            )),
        }
    }
}

/// Returns the handlers of a chain, each with a pattern of the errors that it handles. The forms
/// are `pattern:a,b` in nb5, and `pattern=a` and `pattern->a` in nb4.
fn handlers(chain: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let (patterns, verbs) = chain.split_once(':').unwrap_or(("", chain));
    for word in verbs.split([',', ' ']).map(str::trim) {
        let (own, verb) = word
            .split_once("->")
            .or_else(|| word.split_once('='))
            .unwrap_or((patterns.trim(), word));
        if own == "handler" {
            found.push(("", verb));
        } else if !verb.is_empty() {
            found.push((own, verb));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Settings, String> {
        Settings::from_line(&Line::parse(text).unwrap())
    }

    #[test]
    fn errors_and_maxtries_say_how_often_an_operation_is_tried() {
        for (text, retries) in [
            ("", 0),
            ("maxtries=3", 0),
            ("errors=count maxtries=3", 0),
            ("errors=retry", 9),
            ("errors=counter,retry maxtries=3", 2),
            ("errors=.*:warn,retry maxtries=1", 0),
            ("errors=Invalid.*:stop;counter,retry maxtries=2", 1),
            ("errors=stop,retryable->retry,unverified->stop", 9),
            ("errors=warn,retryable=retry maxtries=101", 100),
            ("errors=Runtime.*:33,warn", 0),
        ] {
            assert_eq!(read(text).unwrap().policy.retries, retries, "{text}");
        }
        for (text, expected) in [
            ("errors=cuont", "`cuont`, which is not an error handler"),
            ("errors=retry maxtries=102", "1 to 101"),
            ("errors=retry maxtries=0", "1 to 101"),
        ] {
            assert!(read(text).unwrap_err().contains(expected), "{text}");
        }
    }

    #[test]
    fn another_treatment_of_errors_is_reported_once() {
        for (text, expected) in [
            ("", "cassay counts errors by kind"),
            ("errors=ignore", "ignored errors"),
            ("errors=count maxtries=5", "maxtries=5 has no effect"),
            ("errors=Over.*:retry", "all operations that had no effect"),
        ] {
            let notes = read(text).unwrap().notes;
            assert!(notes.len() == 1 && notes[0].contains(expected), "{notes:?}");
        }
        assert!(read("errors=count,retry").unwrap().notes.is_empty());
    }

    #[test]
    fn times_are_read_with_and_without_units() {
        for (text, millis) in [
            ("timeout=2.0", 2000),
            ("timeout=0.5", 500),
            ("driver.basic.request.timeout='2 seconds'", 2000),
            ("timeout=250ms", 250),
            ("socketoptions=read_timeout_ms=750", 750),
            ("socketoptions=read_timeout_ms:750,tcp_no_delay:true", 750),
        ] {
            let expected = Duration::from_millis(millis);
            assert_eq!(read(text).unwrap().policy.timeout, Some(expected), "{text}");
        }
        let speculative = read("speculative=100ms:5").unwrap();
        let after = Some(Duration::from_millis(100));
        assert_eq!(speculative.policy.speculate_after, after);
        for text in ["timeout=0", "timeout=-1", "timeout=soon", "timeout=1e9"] {
            assert!(
                read(text).unwrap_err().contains("seconds above 0"),
                "{text}"
            );
        }
    }

    #[test]
    fn levels_pages_and_flags_are_read_under_all_their_names() {
        let all = read(
            "cl=quorum serial_cl=LOCAL_SERIAL fetchsize=1k maxpages=3 defaultidempotence=true \
             prepared=false errors=count",
        )
        .unwrap();
        let expected = Settings {
            errors: Some("count".to_owned()),
            level: Some(Consistency::Quorum),
            serial: Some(Consistency::LocalSerial),
            page_size: Some(1000),
            pages_max: Some(3),
            idempotent: Some(true),
            prepared: Some(false),
            ..Settings::default()
        };
        assert_eq!(all, expected);
        for (text, expected) in [
            ("cl=MANY", "cl=MANY is not a consistency level"),
            ("scl=ONE", "not a serial consistency level"),
            ("fetchsize=0", "a number from 1"),
            ("maxpages=x", "a number from 1"),
            ("prepared=maybe", "true or false"),
        ] {
            assert!(read(text).unwrap_err().contains(expected), "{text}");
        }
    }

    #[test]
    fn no_setting_both_acts_and_is_told_to_have_no_effect() {
        for on in [On::Line, On::Operation] {
            let mut seen = std::collections::BTreeSet::new();
            for key in acting(on) {
                assert!(ignored_reason(on, key).is_none(), "{key}");
                assert!(seen.insert(key), "{key} stands twice");
            }
        }
    }
}
