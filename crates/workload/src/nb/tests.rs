//! What files and command lines of NoSQLBench come to.

use super::import;
use super::virtdata::resolve::Env;
use super::virtdata::{Recipe, Ty};
use crate::import::StepLimit;
use crate::program::Stage;

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
    let words: Vec<String> = [&["file.yaml"], words]
        .concat()
        .iter()
        .map(|w| (*w).to_owned())
        .collect();
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
    let id = crate::virtdata::hashed_uuid(1);
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
            "file.yaml:9:10: function Mull is not known here",
        ),
        ("{stamp}", "{stomp}", "uses binding stomp"),
        (
            "ToDate()",
            "ToString()",
            "which the driver does not bind to Timestamp",
        ),
        ("cl: ONE", "cl: SOME", "no consistency level"),
        ("phase:main ", "phase:mian ", "no operation has the tags"),
    ] {
        let mistakes = imported(&FILE.replace(from, to), &[]).unwrap_err();
        assert!(mistakes.contains(expected), "{mistakes}");
    }
    assert!(
        imported(FILE, &["other"])
            .unwrap_err()
            .contains("no scenario other")
    );
    assert!(
        imported(FILE, &["cycles=5"])
            .unwrap_err()
            .contains("cycles is locked")
    );
}

/// The shape of cql-iot, in words of our own.
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

/// The first values of an operation, each without its length.
fn values_of(generator: &mut crate::Generator, n: u64) -> (Option<i64>, Vec<Vec<u8>>) {
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
    // Fewer machines, so that stations change within a thousand cycles.
    let import = imported(IOT, &["sources=7", "stations=3"]).unwrap();
    let mut imported = import.steps[0].program.generator(Stage::Main);
    let number = |n| crate::ParamValue::Int(n);
    let params = [("sources", number(7)), ("stations", number(3))];
    let spec = crate::Spec {
        use_: "cql-iot".to_owned(),
        keyspace: None,
        replication: crate::Replication::Simple { factor: 1 },
        mix: Vec::new(),
        params: params.map(|(name, value)| (name.to_owned(), value)).into(),
        seed: 1,
        rows: 1000,
        epoch: 0,
    };
    let named = std::sync::Arc::new(crate::compile(&spec).unwrap());
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
        // The file's curve is a table that is 0.001 of probability off at its end; the named
        // workload's is exact. Within two deviations that makes a tenth of a unit.
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
fn functions_that_are_none_of_the_cycle_are_refused_with_the_reason() {
    for (function, expected) in [
        ("ThreadNum(); Mul(1000L)", "not a function of the cycle"),
        (
            "Load('x')",
            "no binding before it in operation put saves it",
        ),
        ("Shuffle(0,10)", "Hash and Mod scatter"),
        ("Expr('a + b')", "write the calculation"),
        ("HdfFileToFloatList('a','b')", "reads a file of vectors"),
    ] {
        let mistakes = imported(&FILE.replace("Mul(1000L)", function), &[]).unwrap_err();
        assert!(mistakes.contains(expected), "{mistakes}");
    }
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
        ("", "", &["cl=MANY"][..], "cl=MANY is no consistency level"),
        ("", "", &["compression=SNAPPY"], "compression SNAPPY"),
        ("cl: ONE", "scl: ONE", &[], "no serial consistency level"),
        ("", "", &["errors=cuont"], "`cuont`, which is no handler"),
        (
            "",
            "",
            &["default.main", "main-cycles=0"],
            "there is nothing to run",
        ),
    ] {
        let mistakes = imported(&FILE.replacen(from, to, 1), words).unwrap_err();
        assert!(mistakes.contains(expected), "{mistakes}");
    }
}

#[test]
fn a_run_without_a_scenario_takes_all_its_settings_from_the_words() {
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
        ("run driver=cql", "say workload=FILE"),
        ("run workload=file.yaml more", "`more` is no setting of run"),
        ("file.yaml default more", "has no scenario more"),
        ("file.yaml --progres console:1s", "option --progres"),
        (
            "absent.yaml",
            "without a file there are cql-iot, cql-keyvalue",
        ),
    ] {
        let mistakes = run(words).unwrap_err();
        assert!(mistakes.contains(expected), "{mistakes}");
    }
}
