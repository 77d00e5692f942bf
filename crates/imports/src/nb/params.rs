//! Settings of activities and operations beside their statements: which of them act, and what is
//! said of those that do not.
//!
//! What must hold: a setting either acts or is named, with its place, in a note or a mistake.
//!
//! Long because the tables of settings stand beside those who read them.

use core::time::Duration;

use super::scenario::{self, Line};
use cql::Consistency;
use workload::Policy;

/// Tries after the first one: what cassay's own `retries` allows, too.
const RETRIES_MAX: u64 = 100;
/// Tries in all when errors are tried again and nothing says how often, as NoSQLBench has it.
const MAXTRIES: u64 = 10;
/// A longer time-out would never be seen: no operation is waited for longer than a day.
const TIMEOUT_SECONDS_MAX: f64 = 86_400.0;

/// Settings of a line that act, or name what is so anyhow.
pub(crate) const ACTIVITY: [&str; 54] = [
    "driver",
    "type",
    "cqldriver",
    "tags",
    "cycles",
    "recycles",
    "threads",
    "async",
    "cyclerate",
    "targetrate",
    "rate",
    "striderate",
    "stride",
    "seq",
    "alias",
    "yaml",
    "workload",
    "host",
    "hosts",
    "port",
    "localdc",
    "username",
    "userfile",
    "password",
    "passfile",
    "ssl",
    "pooling",
    "compression",
    "errors",
    "maxtries",
    "speculative",
    "socketoptions",
    "socket_options",
    "cl",
    "consistency",
    "consistency_level",
    "scl",
    "serial_cl",
    "serial_consistency",
    "serial_consistency_level",
    "timeout",
    "fetchsize",
    "pagesize",
    "page_size",
    "maxpages",
    "idempotent",
    "defaultidempotence",
    "prepared",
    "driver.basic.request.timeout",
    "driver.basic.request.page-size",
    "driver.basic.request.consistency",
    "driver.basic.request.serial-consistency",
    "driver.basic.request.default-idempotence",
    "driver.advanced.protocol.compression",
];

/// Settings of an operation that act, or are read with its statement.
pub(crate) const OPERATION: [&str; 36] = [
    "ratio",
    "cl",
    "consistency",
    "consistency_level",
    "scl",
    "serial_cl",
    "serial cl",
    "serial_consistency",
    "serial_consistency_level",
    "timeout",
    "fetchsize",
    "pagesize",
    "page_size",
    "maxpages",
    "idempotent",
    "prepared",
    "parameterized",
    "repeat",
    "batch",
    "batchtype",
    "type",
    "driver",
    "name",
    "desc",
    "description",
    "tags",
    "params",
    "bindings",
    "stmt",
    "statement",
    "op",
    "op_template",
    "cql",
    "raw",
    "simple",
    "errors",
];

/// Settings without effect, and why.
const TOLD: &[(&[&str], &str)] = &[
    (
        &[
            "instrument",
            "labels",
            "container",
            "step",
            "hdr_digits",
            "interval",
            "logresultcsv",
            "resultcsv",
            "drivermetrics",
            "driverprefix",
            "jmxreporting",
            "insights",
            "diag",
            "showcql",
            "showstmt",
            "trace",
            "tracing",
            "start-timers",
            "stop-timers",
            "histogram",
        ],
        "is about what NoSQLBench measures or logs; cassay records every kind of operation",
    ),
    (
        &[
            "verify",
            "verify-fields",
            "verify_fields",
            "compare",
            "verifier",
            "verifier-imports",
            "verifier-init",
            "expected-result",
        ],
        "is not done here: rows that come back are counted, not compared with the bindings; a \
         named workload or a workload file of cassay's own can be verified",
    ),
    (
        &["tokens"],
        "is not done here: operations of all token ranges are run",
    ),
    (
        &["whitelist", "lbp", "loadbalancing", "loadbalancingpolicy"],
        "has no effect: each operation goes to a replica of its partition; hosts= and localdc= \
         say which nodes there are",
    ),
    (
        &[
            "retrypolicy",
            "reconnectpolicy",
            "reconnect_policy",
            "retrydelay",
            "maxretrydelay",
            "retry_delay",
        ],
        "has no effect: tries follow at once, and only where errors= says retry; lost \
         connections are made again",
    ),
    (
        &["retryreplace", "maxlwtretries", "maxretryreplace"],
        "is not done here: a condition that does not hold is counted as not applied",
    ),
    (
        &[
            "protocol_version",
            "tickduration",
            "usercodecs",
            "cbopts",
            "haproxy_source_ip",
            "single-endpoint",
            "custom_payload",
            "execution_profile",
            "execution_profile_name",
            "node",
            "now_in_seconds",
            "query_timestamp",
            "routing_key",
            "routing_keys",
            "routing_token",
            "binder",
        ],
        "belongs to the Java driver, which is not used here",
    ),
    (
        &["driverconfig"],
        "is a configuration of the Java driver and is not read; write timeout=, cl=, page_size= \
         or compression= instead",
    ),
    (
        &["secureconnectbundle", "scb", "cloud_proxy_address"],
        "is not read: cassay connects to the nodes of hosts= or of a target of its own",
    ),
    (
        &[
            "tlsversion",
            "keystore",
            "kspass",
            "truststore",
            "tspass",
            "keyPassword",
            "keyFilePath",
            "keyfilepath",
            "certFilePath",
            "caCertFilePath",
            "sslValidation",
        ],
        "is not read: the tls section of a target names certificates",
    ),
    (
        &[
            "save",
            "capture",
            "rsoperators",
            "rowoperators",
            "space",
            "poll",
            "if",
        ],
        "works on results or drivers within NoSQLBench and is not done here",
    ),
    (
        &["strict", "dryrun", "ignore_important_warnings"],
        "has no effect here; `cassay plan` shows what a study would do",
    ),
];

/// Why a setting that does not act does not.
pub(crate) fn told(key: &str) -> Option<&'static str> {
    let found = TOLD.iter().find(|(keys, _)| keys.contains(&key));
    found.map(|(_, why)| *why)
}

/// What the settings of a line say about all its operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Defaults {
    pub(crate) level: Option<Consistency>,
    pub(crate) serial: Option<Consistency>,
    pub(crate) page_size: Option<u32>,
    pub(crate) pages_max: Option<u32>,
    pub(crate) idempotent: Option<bool>,
    pub(crate) prepared: Option<bool>,
    pub(crate) policy: Policy,
    /// A sentence for each thing that is done otherwise.
    pub(crate) notes: Vec<String>,
}

/// Reads a line's defaults.
pub(crate) fn defaults(line: &Line) -> Result<Defaults, String> {
    let get = |keys: &[&str]| {
        let found = keys.iter().find_map(|key| Some((*key, line.get(key)?)));
        found.map(|(key, value)| (key.to_owned(), value.to_owned()))
    };
    let mut out = Defaults::default();
    if let Some((key, value)) = get(&LEVELS) {
        out.level = Some(level(&key, &value)?);
    }
    if let Some((key, value)) = get(&SERIAL_LEVELS) {
        out.serial = Some(serial(&key, &value)?);
    }
    if let Some((key, value)) = get(&PAGE_SIZES) {
        out.page_size = Some(positive(&key, &value)?);
    }
    if let Some((key, value)) = get(&["maxpages"]) {
        out.pages_max = Some(positive(&key, &value)?);
    }
    if let Some((key, value)) = get(&IDEMPOTENT) {
        out.idempotent = Some(flag(&key, &value)?);
    }
    if let Some((key, value)) = get(&["prepared"]) {
        out.prepared = Some(flag(&key, &value)?);
    }
    out.policy.timeout = match get(&["timeout", "driver.basic.request.timeout"]) {
        Some((key, value)) => Some(timeout(&key, &value)?),
        None => socket_timeout(line, &mut out.notes)?,
    };
    if let Some((_, value)) = get(&["speculative"]) {
        out.policy.speculate_after = speculative(&value, &mut out.notes)?;
    }
    out.policy.retries = retries(line, &mut out.notes)?;
    Ok(out)
}

const LEVELS: [&str; 4] = [
    "cl",
    "consistency",
    "consistency_level",
    "driver.basic.request.consistency",
];
const SERIAL_LEVELS: [&str; 5] = [
    "scl",
    "serial_cl",
    "serial_consistency",
    "serial_consistency_level",
    "driver.basic.request.serial-consistency",
];
const PAGE_SIZES: [&str; 4] = [
    "page_size",
    "pagesize",
    "fetchsize",
    "driver.basic.request.page-size",
];
const IDEMPOTENT: [&str; 3] = [
    "idempotent",
    "defaultidempotence",
    "driver.basic.request.default-idempotence",
];

/// A consistency level.
pub(crate) fn level(key: &str, value: &str) -> Result<Consistency, String> {
    let level = value.to_uppercase().parse();
    level.map_err(|_| format!("{key}={value} is no consistency level"))
}

/// SERIAL or LOCAL_SERIAL.
pub(crate) fn serial(key: &str, value: &str) -> Result<Consistency, String> {
    let level = level(key, value)?;
    match level.is_serial() {
        true => Ok(level),
        false => Err(format!(
            "{level} is no serial consistency level; SERIAL and LOCAL_SERIAL are"
        )),
    }
}

/// A number from 1; `5k` is one.
pub(crate) fn positive(key: &str, value: &str) -> Result<u32, String> {
    let number = scenario::count(value).and_then(|n| i32::try_from(n).ok());
    match number.filter(|n| *n > 0) {
        Some(number) => Ok(number.unsigned_abs()),
        None => Err(format!("{key} is `{value}`; it must be a number from 1")),
    }
}

/// `true` or `false`.
pub(crate) fn flag(key: &str, value: &str) -> Result<bool, String> {
    match value.to_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("{key} is `{value}`; it must be true or false")),
    }
}

/// Seconds, or a number with a unit: `2.0`, `500ms`, `2 seconds`.
pub(crate) fn timeout(key: &str, value: &str) -> Result<Duration, String> {
    let text = value.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
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

/// The read time-out among the options of sockets.
fn socket_timeout(line: &Line, notes: &mut Vec<String>) -> Result<Option<Duration>, String> {
    let Some(text) = line
        .get("socketoptions")
        .or_else(|| line.get("socket_options"))
    else {
        return Ok(None);
    };
    let mut found = None;
    for option in text.split([',', ';']).filter(|option| !option.is_empty()) {
        match option.split_once(['=', ':']) {
            Some(("read_timeout_ms", value)) => {
                found = Some(timeout("read_timeout_ms", &format!("{value}ms"))?);
            }
            _ => notes.push(format!(
                "socketoptions {option} has no effect; read_timeout_ms acts as the time-out"
            )),
        }
    }
    Ok(found)
}

/// `100ms:5` or `p99:5`.
fn speculative(value: &str, notes: &mut Vec<String>) -> Result<Option<Duration>, String> {
    let (after, more) = value.split_once(':').unwrap_or((value, ""));
    if after.starts_with('p') {
        notes.push(format!(
            "speculative={value} has no effect: a percentile of the run itself starts no second \
             try here; write a time, as in speculative=100ms"
        ));
        return Ok(None);
    }
    if !after.ends_with("ms") {
        let message = format!("speculative is `{value}`; it must be a time, as in 100ms");
        return Err(message);
    }
    if !["", "1"].contains(&more) {
        notes.push(format!(
            "speculative={value} sends an operation to one more node at most"
        ));
    }
    timeout("speculative", after).map(Some)
}

/// Verbs of `errors=`, of nb4 and nb5.
const VERBS: [&str; 12] = [
    "stop",
    "warn",
    "retry",
    "histogram",
    "count",
    "counter",
    "ignore",
    "meter",
    "timer",
    "error",
    "expected",
    "histo",
];

/// Tries after the first one, from `errors=` and `maxtries=`.
fn retries(line: &Line, notes: &mut Vec<String>) -> Result<u8, String> {
    let errors = line.get("errors").unwrap_or("stop");
    let (mut stops, mut again, mut ignored) = (false, Vec::new(), false);
    for chain in errors.split(';').filter(|chain| !chain.trim().is_empty()) {
        for (pattern, verb) in handlers(chain) {
            let number = verb.parse::<u8>().is_ok();
            if !number && !VERBS.contains(&verb) && !verb.contains("handler") {
                let hint = yaml::did_you_mean(verb, VERBS).unwrap_or_default();
                return Err(format!(
                    "errors={errors} asks for `{verb}`, which is no handler of errors; {hint}"
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
            "NoSQLBench ends at an error that errors= says stop to, which is its default; here \
             errors are counted by kind and the run goes on"
                .to_owned(),
        );
    }
    if ignored {
        notes.push(format!(
            "errors={errors}: what is ignored there is counted here"
        ));
    }
    let maxtries = line.get("maxtries");
    if again.is_empty() {
        if let Some(tries) = maxtries {
            notes.push(format!(
                "maxtries={tries} has no effect without errors=retry: a failure is a failure"
            ));
        }
        return Ok(0);
    }
    if again.iter().any(|pattern| !["", ".*"].contains(pattern)) {
        notes.push(format!(
            "errors={errors} tries some errors again; here all are that did nothing, and for \
             idempotent operations also time-outs and lost connections"
        ));
    }
    let tries = maxtries.map_or(Some(MAXTRIES), scenario::count);
    match tries.filter(|tries| (1..=RETRIES_MAX + 1).contains(tries)) {
        Some(tries) => Ok((tries - 1) as u8),
        None => Err(format!(
            "maxtries is `{}`; it must be 1 to {}",
            maxtries.unwrap_or_default(),
            RETRIES_MAX + 1
        )),
    }
}

/// The handlers of a chain, each with the errors that it is for: `pattern:a,b` of nb5,
/// `pattern=a` and `pattern->a` of nb4.
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

    fn read(text: &str) -> Result<Defaults, String> {
        defaults(&Line::parse(text).unwrap())
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
            ("errors=cuont", "`cuont`, which is no handler"),
            ("errors=retry maxtries=102", "1 to 101"),
            ("errors=retry maxtries=0", "1 to 101"),
        ] {
            assert!(read(text).unwrap_err().contains(expected), "{text}");
        }
    }

    #[test]
    fn what_is_done_about_errors_otherwise_is_told_once() {
        for (text, expected) in [
            ("", "here errors are counted by kind"),
            ("errors=ignore", "what is ignored there is counted here"),
            ("errors=count maxtries=5", "maxtries=5 has no effect"),
            ("errors=Over.*:retry", "here all are that did nothing"),
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
        let expected = Defaults {
            level: Some(Consistency::Quorum),
            serial: Some(Consistency::LocalSerial),
            page_size: Some(1000),
            pages_max: Some(3),
            idempotent: Some(true),
            prepared: Some(false),
            ..Defaults::default()
        };
        assert_eq!(all, expected);
        for (text, expected) in [
            ("cl=MANY", "cl=MANY is no consistency level"),
            ("scl=ONE", "no serial consistency level"),
            ("fetchsize=0", "a number from 1"),
            ("maxpages=x", "a number from 1"),
            ("prepared=maybe", "true or false"),
        ] {
            assert!(read(text).unwrap_err().contains(expected), "{text}");
        }
    }

    #[test]
    fn no_setting_both_acts_and_is_told_to_have_no_effect() {
        for key in ACTIVITY.iter().chain(&OPERATION) {
            assert!(told(key).is_none(), "{key}");
        }
    }
}
