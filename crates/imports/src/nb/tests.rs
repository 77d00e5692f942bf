//! Tests imports of NoSQLBench's files and command lines.
//!
//! Long because each table of examples is complete.

mod effects;
mod quotes;
mod scenario_choices;

use super::import;
use super::virtdata::chain::Env;
use super::virtdata::{Recipe, Ty};
use crate::import_result::StepLimit;
use workload::Stage;

fn recipe(text: &str) -> Recipe {
    let read = |_: &str| Err("no such file".to_owned());
    let mut env = Env {
        read: &read,
        notes: Vec::new(),
    };
    Recipe::compile(text, &mut env).unwrap()
}

#[test]
fn recipes_give_the_documented_values() {
    let machine = "Mod(10000); ToHashedUUID() -> java.util.UUID";
    let station = "Div(10000);Mod(100); ToHashedUUID() -> java.util.UUID";
    let time = "Mul(100L); Div(10000L); ToJavaInstant()";
    let one = "5752fae6-9d16-43da-b20f-557a1dd5c571";
    for (text, cycle, expected) in [
        (machine, 0, "28df63b7-cc57-43cb-9752-fae69d1653da"),
        (machine, 1, one),
        (machine, 10_000, "28df63b7-cc57-43cb-9752-fae69d1653da"),
        (machine, 123_456, "7b54acb5-75f2-4e32-a9d3-b4396bb5232d"),
        (station, 10_000, one),
        (time, 123_456, "1970-01-01T00:00:01.234Z"),
        ("Mul(100L); Div(10000L); Mul(1000L)", 10_000, "100000"),
        ("Hash(); ToString()", 1, "6292367497774912474"),
        ("Hash() -> int; ToString()", 1, "488002522"),
        ("HashRange(0L,64L)", 32, "11"),
    ] {
        assert_eq!(
            recipe(text).value(cycle).text(),
            expected,
            "{text} of {cycle}"
        );
    }
}

#[test]
fn flavours_are_chosen_by_what_follows_and_by_preference() {
    for (text, ty) in [
        ("Mod(5)", Ty::Long),
        ("Mod(5) -> int", Ty::Int),
        ("Uniform(0,9)", Ty::Long),
        ("Uniform(0,9) -> int", Ty::Int),
        ("Normal(0.0,5.0); Add(100.0) -> double", Ty::Double),
        ("Uniform(0,9)->int; ToString() -> String", Ty::Text),
        ("ToHashedUUID()", Ty::Uuid),
    ] {
        assert_eq!(recipe(text).ty, ty, "{text}");
    }
}

const FILE: &str = "
scenarios:
  default:
    schema: run driver=cql tags==phase:schema threads==1 cycles==UNDEF
    main: run driver=cql tags==phase:main cycles===TEMPLATE(main-cycles,1000) threads=auto
bindings:
  id: Mod(<<ids:100>>); ToHashedUUID() -> java.util.UUID
  when: Mul(100L); ToDate()
  stamp: Mul(1000L)
blocks:
  - tags: {phase: schema}
    statements:
      - make: create table if not exists k.t (id uuid, at timestamp, primary key (id, at))
  - tags: {phase: main, type: read}
    params: {ratio: 1, cl: ONE}
    statements:
      - get: select * from k.t where id={id} limit 10
  - tags: {phase: main, type: write}
    params: {ratio: 3, cl: LOCAL_QUORUM}
    statements:
      - put: insert into k.t (id, at) values ({id}, {when}) using timestamp {stamp}
        idempotent: true
";

fn imported(text: &str, words: &[&str]) -> Result<crate::Import, String> {
    let read = |name: &str| match name {
        "file.yaml" => Ok(text.to_owned()),
        _ => Err("no such file".to_owned()),
    };
    let words: Vec<String> =
        [&["file.yaml"], words].concat().iter().map(|w| (*w).to_owned()).collect();
    import(&words, &read).map_err(|mistakes| mistakes.to_string())
}

#[test]
fn a_file_becomes_steps_with_statements_values_and_tokens() {
    let import = imported(FILE, &["main-cycles=2k"]).unwrap();
    assert_eq!(import.steps.len(), 1);
    let step = &import.steps[0];
    assert_eq!(step.limit, StepLimit::Operations(2000));
    assert_eq!(step.before.len(), 1);
    let put = &step.program.statements()[1];
    assert_eq!(
        put.cql,
        "insert into k.t (id, at) values (?, ?) using timestamp ?"
    );
    assert!(put.idempotent && !put.returns_rows);
    let mut generator = step.program.generator(Stage::Main);
    let kinds: Vec<u8> = (0..8).map(|n| generator.begin(n).kind).collect();
    assert_eq!(kinds, [0, 1, 1, 1, 0, 1, 1, 1]);
    generator.begin(1);
    let id = workload::virtdata::hashed_uuid(1);
    assert_eq!(generator.token(), Some(cql::token::murmur3(&id)));
    let mut values = Vec::new();
    generator.append_values(&mut values);
    let expected = [
        &[0, 0, 0, 16],
        &id[..],
        &[0, 0, 0, 8],
        &100i64.to_be_bytes(),
        &[0, 0, 0, 8],
        &1000i64.to_be_bytes(),
    ]
    .concat();
    assert_eq!(values, expected);
}

#[test]
fn mistakes_are_named_with_their_line() {
    for (from, to, expected) in [
        (
            "Mul(1000L)",
            "Mull(1000L)",
            "file.yaml:9:10: function Mull is unknown",
        ),
        ("{stamp}", "{stomp}", "uses binding stomp"),
        (
            "ToDate()",
            "ToString()",
            "which the driver does not bind to Timestamp",
        ),
        ("cl: ONE", "cl: SOME", "not a consistency level"),
        ("phase:main ", "phase:mian ", "no operation has the tags"),
    ] {
        let mistakes = imported(&FILE.replace(from, to), &[]).unwrap_err();
        assert!(mistakes.contains(expected), "{mistakes}");
    }
    assert!(imported(FILE, &["other"]).unwrap_err().contains("no scenario other"));
    assert!(imported(FILE, &["cycles=5"]).unwrap_err().contains("locks cycles"));
}

/// A workload that has the same form as cql-iot.
const IOT: &str = "
scenarios:
  default:
    load: run driver=cql tags=block:load cycles=1000
bindings:
  machine: Mod(TEMPLATE(sources,10000)); ToHashedUUID() -> java.util.UUID
  sensor: HashedLineToString('data/variable_words.txt')
  at: Mul(TEMPLATE(timespeed,100)L); Div(TEMPLATE(sources,10000)L); ToJavaInstant()
  written: Mul(TEMPLATE(timespeed,100)L); Div(TEMPLATE(sources,10000)L); Mul(1000L)
  reading: Normal(0.0,5.0); Add(100.0) -> double
  station: Div(TEMPLATE(sources,10000)); Mod(TEMPLATE(stations,100)); ToHashedUUID()
  prose: HashedFileExtractToString('data/lorem_ipsum_full.txt',800,1200)
blocks:
  schema:
    ops:
      table: create table readings.iot (machine_id uuid, sensor_name text, time timestamp,
        sensor_value double, station_id uuid, data text,
        primary key ((machine_id, sensor_name), time))
  load:
    ops:
      put: insert into readings.iot (machine_id, sensor_name, time, sensor_value, station_id, data)
        values ({machine}, {sensor}, {at}, {reading}, {station}, {prose}) using timestamp {written}
";

/// Returns the first values of an operation, each without its length.
fn values_of(generator: &mut workload::Generator, n: u64) -> (Option<i64>, Vec<Vec<u8>>) {
    generator.begin(n);
    let mut out = Vec::new();
    generator.append_values(&mut out);
    let (mut values, mut rest) = (Vec::new(), &out[..]);
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let (value, after) = after.split_at(u32::from_be_bytes(*length) as usize);
        values.push(value.to_vec());
        rest = after;
    }
    (generator.token(), values)
}

#[test]
fn an_imported_cql_iot_writes_what_the_named_one_writes() {
    // With fewer machines, the station changes within a thousand cycles.
    let import = imported(IOT, &["sources=7", "stations=3"]).unwrap();
    let mut imported = import.steps[0].program.generator(Stage::Main);
    let number = |n| workload::ParamValue::Int(n);
    let params = [("sources", number(7)), ("stations", number(3))];
    let spec = workload::Spec {
        params: params.map(|(name, value)| (name.to_owned(), value)).into(),
        ..workload::Spec::new("cql-iot", 1000, 1)
    };
    let named = std::sync::Arc::new(workload::compile(&spec).unwrap());
    let mut named = named.generator(Stage::Load);
    const SENSOR_VALUE: usize = 3;
    for cycle in 0..1000 {
        let (token, values) = values_of(&mut imported, cycle);
        let (expected_token, expected) = values_of(&mut named, cycle);
        assert_eq!(token, expected_token, "token of {cycle}");
        assert_eq!(values.len(), expected.len());
        for (index, (value, expected)) in values.iter().zip(&expected).enumerate() {
            if index != SENSOR_VALUE {
                assert_eq!(value, expected, "value {index} of {cycle}");
            }
        }
        // The curve in the file is a table, whose probabilities are wrong by 0.001 at its end. The
        // curve of the named workload is exact. Within two standard deviations, the two curves
        // differ by less than 0.12.
        let double = |value: &[u8]| f64::from_be_bytes(value.try_into().unwrap());
        let [curve, exact] = [&values, &expected].map(|values| double(&values[SENSOR_VALUE]));
        if (exact - 100.0).abs() < 10.0 {
            assert!((curve - exact).abs() < 0.12, "{cycle}: {curve} and {exact}");
        } else {
            assert_eq!(curve > 100.0, exact > 100.0, "{cycle}");
        }
    }
}

#[test]
fn functions_that_ignore_the_cycle_are_refused_with_a_reason() {
    for (function, expected) in [
        ("ThreadNum(); Mul(1000L)", "not a function of the cycle"),
        (
            "Load('x')",
            "no earlier binding of operation put saves this value",
        ),
        ("Shuffle(0,10)", "Hash and Mod also scatter"),
        ("Expr('a + b')", "write the calculation"),
        ("HdfFileToFloatList('a','b')", "reads a file of vectors"),
    ] {
        let mistakes = imported(&FILE.replace("Mul(1000L)", function), &[]).unwrap_err();
        assert!(mistakes.contains(expected), "{mistakes}");
    }
}

/// The default of Load is constant only if no recipe saves the value, because the value of an
/// earlier operation replaces it.
#[test]
fn a_loaded_default_that_other_recipes_replace_is_refused() {
    let default = FILE.replace("Mul(1000L)", "Load('x', 7)");
    imported(&default, &[]).unwrap();
    let replaced = default.replace("bindings:\n", "bindings:\n  other: Save('x')\n");
    assert_ne!(default, replaced);
    let mistakes = imported(&replaced, &[]).unwrap_err();
    assert!(
        mistakes.contains("no earlier binding of operation put saves this value"),
        "{mistakes}"
    );
}

#[test]
fn settings_of_lines_and_operations_act() {
    use cql::Consistency;
    let file = FILE.replace("cl: LOCAL_QUORUM", "scl: LOCAL_SERIAL");
    let import = imported(&file, &["cl=TWO", "compression=LZ4"]).unwrap();
    let program = &import.steps[0].program;
    let levels: Vec<Consistency> = program.statements().iter().map(|s| s.consistency).collect();
    assert_eq!(levels, [Consistency::One, Consistency::Two]);
    let serial = program.statements()[1].serial_consistency;
    assert_eq!(serial, Some(Consistency::LocalSerial));
    assert_eq!(import.connection.compression, Some(cql::Compression::Lz4));
    for (from, to, words, expected) in [
        (
            "",
            "",
            &["cl=MANY"][..],
            "cl=MANY is not a consistency level",
        ),
        ("", "", &["compression=ZSTD"], "not ZSTD"),
        ("cl: ONE", "scl: ONE", &[], "not a serial consistency level"),
        (
            "",
            "",
            &["errors=cuont"],
            "`cuont`, which is not an error handler",
        ),
        (
            "",
            "",
            &["default.main", "main-cycles=0"],
            "has no cycles, so it runs no operation",
        ),
    ] {
        let mistakes = imported(&FILE.replacen(from, to, 1), words).unwrap_err();
        assert!(mistakes.contains(expected), "{mistakes}");
    }
}

#[test]
fn a_run_without_a_scenario_takes_its_settings_from_the_words() {
    let read = |name: &str| match name {
        "file.yaml" => Ok(FILE.to_owned()),
        _ => Err("no such file".to_owned()),
    };
    let run = |text: &str| {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        import(&words, &read).map_err(|mistakes| mistakes.to_string())
    };
    let line = "run driver=cql workload=file.yaml tags=phase:main,type:write cycles=5..9 threads=3";
    let import = run(line).unwrap();
    let step = &import.steps[0];
    assert_eq!((import.steps.len(), step.first_operation), (1, 5));
    assert_eq!(step.limit, StepLimit::Operations(4));
    assert_eq!(step.offer, crate::Offer::Threads(3));
    assert_eq!(step.program.kinds().len(), 1);
    for (words, expected) in [
        ("run driver=cql", "use workload=FILE"),
        (
            "run workload=file.yaml more",
            "`more` is not a setting of run",
        ),
        ("file.yaml default more", "has no scenario more"),
        ("file.yaml --progres console:1s", "option --progres"),
        (
            "absent.yaml",
            "the built-in workloads are cql-iot, cql-keyvalue",
        ),
    ] {
        let mistakes = run(words).unwrap_err();
        assert!(mistakes.contains(expected), "{mistakes}");
    }
}

/// Returns the name and the limit of each step of a command line for `FILE`.
fn steps_of(words: &str) -> Result<Vec<(String, StepLimit)>, String> {
    let read = |name: &str| match name {
        "file.yaml" | "other.yml" => Ok(FILE.replace(
            "scenarios:",
            "scenarios:\n  list:\n    - run tags=type:read cycles=7\n    - write: run \
             tags=type:write cycles=8",
        )),
        _ => Err("no such file".to_owned()),
    };
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    let import = import(&words, &read).map_err(|mistakes| mistakes.to_string())?;
    let steps = import.steps.into_iter();
    Ok(steps.map(|step| (step.name, step.limit)).collect())
}

#[test]
fn the_forms_of_nosqlbench_s_command_line_are_understood() {
    for (words, expected) in [
        ("file.yaml", vec![("main", 1000)]),
        ("nb5 file default main-cycles=10k", vec![("main", 10_000)]),
        ("other default.main main-cycles=0..100", vec![("main", 100)]),
        ("file list", vec![("step1", 7), ("write", 8)]),
        ("file list.1 list.write", vec![("write", 8), ("write-2", 8)]),
        ("file default.schema", vec![("schema", 1)]),
        ("file default.schema default.main", vec![("main", 1000)]),
        (
            "run workload=file tags=type:read cycles=2 run workload=file.yaml tags=type:write",
            vec![("run", 2), ("run-2", 3)],
        ),
        (
            "workload=file tags=type:read cycles=3k..5k",
            vec![("run", 2000)],
        ),
        (
            "file list.step1 --progress console:1s -vv",
            vec![("step1", 7)],
        ),
        (
            "run workload=file tags=type:read cycles=5 recycles=3",
            vec![("run", 15)],
        ),
    ] {
        let found = steps_of(words).unwrap();
        let expected: Vec<(String, StepLimit)> = expected
            .into_iter()
            .map(|(name, count)| (name.to_owned(), StepLimit::Operations(count)))
            .collect();
        assert_eq!(found, expected, "{words}");
    }
    for (words, expected) in [
        ("file main", "did you mean `default.main`"),
        ("file default.mian", "scenario default has no step mian"),
        ("file defolt", "did you mean `default`"),
        ("file default threads=0", "threads is `0`"),
        ("run workload=file recycles=0", "recycles is `0`"),
        ("run workload=file cycles=9..3", "cycles is `9..3`"),
        ("run workload=file striderate=x", "striderate is `x`"),
        ("run workload=file driver=http", "add driver=cql"),
    ] {
        let why = steps_of(words).unwrap_err();
        assert!(why.contains(expected), "{words}: {why}");
    }
}

/// Imports a command line that runs `FILE` with additional settings.
fn line(settings: &str) -> Result<crate::Import, String> {
    let words: Vec<&str> = settings.split_whitespace().collect();
    let read = |name: &str| match name {
        "file.yaml" => Ok(FILE.to_owned()),
        _ => Err("no such file".to_owned()),
    };
    let words: Vec<String> = [
        &["run", "workload=file.yaml", "tags=phase:main"],
        &words[..],
    ]
    .concat()
    .into_iter()
    .map(str::to_owned)
    .collect();
    import(&words, &read).map_err(|mistakes| mistakes.to_string())
}

#[test]
fn changes_of_the_schema_go_before_the_next_command_s_step() {
    let read = |_: &str| Ok(FILE.to_owned());
    let words: Vec<String> =
        "run workload=f tags=phase:schema run workload=f tags=type:read cycles=9"
            .split(' ')
            .map(str::to_owned)
            .collect();
    let steps = import(&words, &read).unwrap().steps;
    assert_eq!((steps.len(), steps[0].before.len()), (1, 1));
    assert_eq!(steps[0].limit, StepLimit::Operations(9));
}

#[test]
fn rates_strides_and_operations_in_flight_are_offers() {
    let rate = |per_second, threads| crate::Offer::Rate {
        per_second,
        threads,
        hides_wait: false,
    };
    for (settings, expected) in [
        ("threads=5", crate::Offer::Threads(5)),
        ("threads=3 async=500", crate::Offer::Threads(500)),
        ("threads=2x", crate::Offer::Threads(20)),
        ("cyclerate=1k,1.1 threads=9", rate(1000.0, 9)),
        // The sequence has four operations, so the rate of operations is four times the stride
        // rate.
        ("striderate=50", rate(200.0, 1)),
        ("striderate=50 stride=10", rate(500.0, 1)),
        ("targetrate=100 striderate=50", rate(100.0, 1)),
    ] {
        assert_eq!(
            line(settings).unwrap().steps[0].offer,
            expected,
            "{settings}"
        );
    }
}

#[test]
fn recycles_run_through_the_same_cycles_again() {
    let import = line("tags=type:write cycles=3..5 recycles=2").map(|_| ()).unwrap_err();
    assert!(import.contains("tags occurs twice"), "{import}");
    let import = line("cycles=5..7 recycles=3").unwrap();
    let step = &import.steps[0];
    assert_eq!(step.limit, StepLimit::Operations(6));
    let mut generator = step.program.generator(Stage::Main);
    let keys: Vec<u64> = (5..11).map(|n| generator.begin(n).key).collect();
    assert_eq!(keys, [5, 6, 5, 6, 5, 6]);
}

#[test]
fn settings_of_errors_time_and_pages_act_on_all_kinds_or_one() {
    use core::time::Duration;
    let file = FILE
        .replace("idempotent: true", "timeout: 0.25\n        page_size: 9")
        .replace("limit 10", "");
    let words: Vec<&str> = "errors=counter,retry maxtries=4 timeout=2 speculative=50ms maxpages=3"
        .split(' ')
        .collect();
    let import = imported(&file, &words).unwrap();
    let program = &import.steps[0].program;
    let policies: Vec<_> = program.kinds().iter().map(|kind| kind.policy).collect();
    let times = policies.iter().map(|policy| policy.timeout.unwrap().as_millis());
    assert_eq!(times.collect::<Vec<_>>(), [2000, 250]);
    for policy in policies {
        assert_eq!(policy.retries, 3);
        assert_eq!(policy.speculate_after, Some(Duration::from_millis(50)));
    }
    let [get, put] = [0, 1].map(|n| &program.statements()[n]);
    assert_eq!((get.page_size, get.pages_max), (Some(5000), Some(3)));
    assert_eq!((put.page_size, put.idempotent), (None, false));
    let told = import.notes.join("\n");
    for expected in [
        "file.yaml:17: cassay reads up to 3 pages of 5000 rows",
        "file.yaml:21: without `idempotent: true`, the client retries this operation only after \
         errors",
    ] {
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn an_ineffective_setting_is_reported_with_its_file_and_line() {
    let file = FILE
        .replace(
            "idempotent: true",
            "instrument: true\n        idempotnet: true",
        )
        .replace("cycles===", "hdr_digits=4 cycles===");
    let words = ["tokens=1:5", "ids=7", "thraeds=5", "alias=x"];
    let told = imported(&file, &words).unwrap().notes.join("\n");
    for expected in [
        "file.yaml:22: instrument: true configures the measurements",
        "file.yaml:23: idempotnet: true has no effect; did you mean `idempotent`?",
        "file.yaml:5: hdr_digits=4 configures the measurements",
        "command line: tokens=1:5 has no effect",
        "command line: thraeds=5 has no effect; did you mean `threads`?",
    ] {
        assert!(told.contains(expected), "{expected}\n{told}");
    }
    assert!(!told.contains("ids=7") && !told.contains("alias"), "{told}");
}

#[test]
fn how_to_get_in_is_what_the_line_says() {
    let words = "hosts=a,b:9043 port=9142 localdc=dc1 username=me passfile=secret pooling=4:10 \
                 ssl=jdk";
    let connection = line(words).unwrap().connection;
    assert_eq!(connection.nodes, ["a", "b:9043"]);
    assert_eq!((connection.port, connection.tls), (Some(9142), Some(true)));
    assert_eq!(connection.datacenter.as_deref(), Some("dc1"));
    assert_eq!(connection.password_file.as_deref(), Some("secret"));
    assert_eq!(connection.connections_per_node, Some(4));
    let why = line("userfile=absent").unwrap_err();
    assert!(why.contains("userfile=absent: no such file"), "{why}");
}

#[test]
fn collections_are_made_of_the_same_the_next_or_hashed_inputs() {
    for (text, cycle, expected) in [
        (
            "ListHashed(ToString(), WeightedStrings('text:1'))",
            0,
            "[2945182322382062539, text]",
        ),
        (
            "ListSizedHashed(FixedValue(5),long->ToString(),long->WeightedStrings('text:1'),\
             long->ToString())",
            0,
            "[2945182322382062539, text, 37945690212757860, 287864597160630738, \
             3299224200079606887]",
        ),
        ("ListSized(3, NumberNameToString())", 2, "[two, two, two]"),
        (
            "ListSizedStepped(2,NumberNameToString(),NumberNameToString())",
            0,
            "[zero, one]",
        ),
        (
            "ListStepped(NumberNameToString(),NumberNameToString())",
            1,
            "[one, two]",
        ),
        ("StringList(FixedValue(2), Identity())", 4, "[4, 5]"),
        (
            "SetSized(FixedValue(5), NumberNameToString(), WeightedStrings('text:1'))",
            1,
            "[one, text]",
        ),
        (
            "SetSizedStepped(Mod(3),NumberNameToString())",
            5,
            "[five, six]",
        ),
        ("SetStepped(ToString(), FixedValue(3))", 3, "[3, 3]"),
        ("Set(FixedValue(2),Add(15L))", 1, "[16, 17]"),
    ] {
        let found = recipe(text).value(cycle).text().into_owned();
        assert_eq!(found, expected, "{text} of {cycle}");
    }
}

#[test]
fn maps_are_made_of_pairs_of_functions() {
    for (text, cycle, expected) in [
        ("MapSized(1, NumberNameToString(),ToString())", 1, "{one=1}"),
        (
            "MapSizedStepped(Identity(), FixedValue(1.5), FixedValue('B'), ToString(), ToDouble())",
            5,
            "{1.5=B, 6=6.0, 7=7.0, 8=8.0, 9=9.0}",
        ),
        (
            "MapStepped(ToString(),ToDouble(),ToString(),ToDouble())",
            5,
            "{5=5.0, 6=6.0}",
        ),
        (
            "MapHashed(ToString(),ToString(),ToString(),ToString())",
            5,
            "{4464361019114304900=4464361019114304900, 7193842733564486108=7193842733564486108}",
        ),
        (
            "Map(NumberNameToString(),Add(1L),NumberNameToString(),Add(2L))",
            1,
            "{one=2, two=4}",
        ),
        (
            "StringMap(FixedValue(2),NumberNameToString(),Identity())",
            1,
            "{one=1, two=2}",
        ),
    ] {
        assert_eq!(
            recipe(text).value(cycle).text(),
            expected,
            "{text} of {cycle}"
        );
    }
}

#[test]
fn numbers_are_made_other_types_as_java_makes_them() {
    for (text, cycle, expected, ty) in [
        ("ToShort()", 40_000, "7233", Ty::Short),
        ("ToByte()", 300, "46", Ty::Byte),
        ("ToBoolean()", 3, "true", Ty::Bool),
        ("ToBigInt()", 3, "3", Ty::BigInt),
        ("ToBigDecimal(2)", 12_345, "123.45", Ty::Decimal),
        ("ToInetAddress()", 0x7F00_0001, "/127.0.0.1", Ty::Inet),
        ("ToLocalTime()", 90_061_000, "01:01:01", Ty::Time),
        (
            "EpochMillisToJavaLocalDate()",
            86_400_000,
            "1970-01-02",
            Ty::Day,
        ),
        (
            "ToUUID()",
            5,
            "01234567-89ab-4def-8000-000000000005",
            Ty::Uuid,
        ),
        (
            "ToTimeUUIDMin()",
            0,
            "13814000-1dd2-11b2-8080-808080808080",
            Ty::Uuid,
        ),
        (
            "ToTimeUUIDMax()",
            0,
            "1381670f-1dd2-11b2-7f7f-7f7f7f7f7f7f",
            Ty::Uuid,
        ),
        ("ToInt(30)", 64, "4", Ty::Int),
    ] {
        let recipe = recipe(text);
        let found = (recipe.value(cycle).text().into_owned(), recipe.ty);
        assert_eq!(found, (expected.to_owned(), ty), "{text} of {cycle}");
    }
}

#[test]
fn ranges_texts_and_what_was_saved_are_as_nosqlbench_has_them() {
    for (text, cycle, expected, ty) in [
        ("CycleRange(5,8)", 4, "6", Ty::Long),
        ("AddCycleRange(3)", 4, "5", Ty::Long),
        ("Max(7)", 4, "7", Ty::Long),
        (
            "NumberNameToString(); Prefix('n:'); Suffix('.')",
            2,
            "n:two.",
            Ty::Text,
        ),
        ("Concat('{}-{}', ToString())", 4, "4-5", Ty::Text),
        (
            "JoinTemplate('<','|','>',ToString(),NumberNameToString())",
            4,
            "<4|four>",
            Ty::Text,
        ),
        (
            "StringDateWrapper('yyyy-MM-dd HH')",
            3_600_000,
            "1970-01-01 01",
            Ty::Text,
        ),
        (
            "Save('a'); Mul(10L); Save('b'); Load('a')",
            7,
            "7",
            Ty::Long,
        ),
        (
            "Save('a'); Mul(10L); Template('{}/{}',LoadLong('a'),Identity())",
            7,
            "7/70",
            Ty::Text,
        ),
        ("Flow(Mul(2L),Add(1L)); ToString()", 7, "15", Ty::Text),
        ("WeightedInts('7:1','map')", 7, "7", Ty::Int),
        (
            "ToByteBuffer(9); ToHexString()",
            1,
            "000000000000000100",
            Ty::Text,
        ),
    ] {
        let recipe = recipe(text);
        let found = (recipe.value(cycle).text().into_owned(), recipe.ty);
        assert_eq!(found, (expected.to_owned(), ty), "{text} of {cycle}");
    }
}

#[test]
fn collections_and_other_types_bind_only_to_matching_columns() {
    let table = "create table k.t (id bigint primary key, m map<text, int>, s set<text>, \
                 l frozen<list<int>>, d decimal, v varint, a inet, u duration, t time, b tinyint)";
    let with = |column: &str, function: &str| {
        let file = format!(
            "bindings:\n  id: Identity()\n  x: {function}\nops:\n  make: {table}\n  put: insert \
             into k.t (id, {column}) values ({{id}}, {{x}})\n"
        );
        let read = |_: &str| Ok(file.clone());
        let words = ["run", "workload=f", "tags=name:put"].map(str::to_owned);
        import(&words, &read).map(|_| ()).map_err(|m| m.to_string())
    };
    for (column, function) in [
        ("m", "MapSized(2, ToString(), ToInt())"),
        ("s", "StringSet(HashRange(1,4), Identity())"),
        ("l", "ListStepped(ToInt(), ToInt())"),
        ("d", "ToBigDecimal()"),
        ("v", "ToBigInt()"),
        ("a", "ToInetAddress()"),
        ("u", "ToCqlDurationNanos()"),
        ("t", "ToLocalTime()"),
        ("b", "ToByte()"),
    ] {
        assert_eq!(with(column, function), Ok(()), "{function}");
    }
    for (column, function, expected) in [
        (
            "m",
            "MapSized(2, ToString(), ToString())",
            "binding x returns a Map",
        ),
        ("s", "ListStepped(ToString())", "binding x returns a List"),
        ("l", "ListStepped(Identity())", "binding x returns a List"),
        ("b", "Identity()", "binding x returns a long"),
    ] {
        let why = with(column, function).unwrap_err();
        assert!(why.contains(expected), "{function}: {why}");
    }
}

#[test]
fn values_written_into_a_text_take_the_column_s_type() {
    let file = "
bindings: {id: Identity(), name: Mod(5), t: FixedValue('users')}
blocks:
  schema:
    ops:
      make: {raw: 'create table k.{t} (id int primary key, name text)'}
  table:
    ops:
      make: create table k.users (id int primary key, name text)
  main:
    ops:
      put: {raw: \"insert into k.users (id, name) values ({id}, '{name}')\"}
  wrong:
    ops:
      put: insert into k.users (id, name) values (1, '{name}')
      say: hello {name}
";
    let read = |_: &str| Ok(file.to_owned());
    let run = |tags: &str| {
        let words = ["run", "workload=f", tags].map(str::to_owned);
        import(&words, &read).map_err(|mistakes| mistakes.to_string())
    };
    let made = run("tags=block:schema").unwrap();
    let statement = &made.steps[0].program.statements()[0];
    assert_eq!(
        statement.cql,
        "create table k.users (id int primary key, name text)"
    );
    assert!(!statement.prepared);
    let made = run("tags=block:main").unwrap();
    assert!(
        made.notes
            .join(" ")
            .contains("f:12: cassay sends values separately from the text")
    );
    let mut generator = made.steps[0].program.generator(Stage::Main);
    let (_, values) = values_of(&mut generator, 7);
    assert_eq!(values, [&7i32.to_be_bytes()[..], b"2"]);
    let why = run("tags=block:wrong").unwrap_err();
    assert!(why.contains("binding name is in quotes"), "{why}");
    let why = run("tags=name:say").unwrap_err();
    assert!(
        why.contains("operation say is not a CQL statement"),
        "{why}"
    );
}

#[test]
fn a_batch_has_settings_beside_its_template_and_is_unlogged() {
    let file = "
bindings: {id: Identity()}
ops:
  make: create table k.t (id bigint primary key)
  put:
    batch: testing
    repeat: 3
    cl: TWO
    op_template:
      prepared: insert into k.t (id) values ({id})
      cl: ONE
  other:
    batchtype: logged
    repeat: 2
    op_template: {stmt: 'insert into k.t (id) values ({id})'}
  plain:
    op: {simple: 'insert into k.t (id) values ({id})', cl: THREE}
";
    let read = |_: &str| Ok(file.to_owned());
    let words = ["run", "workload=f", "tags=name:(put|other|plain)"].map(str::to_owned);
    let import = import(&words, &read).unwrap();
    let told = import.notes.join("\n");
    assert!(
        told.contains("f:11: cl within op_template has no effect"),
        "{told}"
    );
    let program = &import.steps[0].program;
    let shapes: Vec<_> = program
        .statements()
        .iter()
        .map(|s| (s.batch, s.consistency.to_string(), s.prepared))
        .collect();
    use workload::BatchKind::{Logged, Unlogged};
    let expected = [
        (Some(Unlogged), "TWO".to_owned(), true),
        (Some(Logged), "LOCAL_ONE".to_owned(), true),
        (None, "THREE".to_owned(), false),
    ];
    assert_eq!(shapes, expected);
    let mut generator = program.generator(Stage::Main);
    generator.begin(3);
    let mut last = Vec::new();
    generator.append_entry_values(2, &mut last);
    // A batch has three statements, and each statement has a separate cycle. Batch 3 therefore ends
    // with cycle 11.
    assert_eq!(last, [&[0, 0, 0, 8][..], &11i64.to_be_bytes()].concat());
}
