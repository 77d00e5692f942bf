//! Compares the results of every flavour of every function with a file in the repository.

use super::chain::{Env, Recipe};
use super::functions::{self, Argument};
use super::java_value::Val;
use super::parse_recipe::{Arg, Call, parse};
use super::tables::{self, TABLES};
use std::fmt::Write;

/// Calls of all functions, with valid arguments.
const CALLS: &str = "\
Add(7) Add(7L) Add(1.5) AddCycleRange(5) AddCycleRange(3L,9L) AddHashRange(9) AddHashRange(3L,9L) \
AlphaNumericString(5) AlphaNumericString(HashRange(1,5)) ByteBufferSizedHashed(9) \
CSVFrequencySampler('t.csv','a') CharBufImage(20) CharBufImage('a-z',30,5) \
CharBufImage('a-z',30,HashRange(1,5),7L) Cities() CitiesByDensity() CitiesByPopulation('TX') \
Clamp(2,9) Clamp(2L,9L) Clamp(2.5,9.5) Combinations('A-C;-;0-9*2') Concat('a{}b{}',ToString()) \
ConcatCycle('{}{}',Mod(3),Mod(5)) ConcatFixed('x{}',Mod(3)) ConcatHashed('{};{}',Mod(9)) \
Counties() CountryCodes() CountryNames() CqlVector(HashedFloatVectors(2)) CurrentEpochMillis() \
CurrentTimeMillis() CycleRange(5) CycleRange(3L,9L) Discard() Div(3) Div(3L) Div(0.5) \
DivideToLong(3) DivideToLongToString(3L) ElapsedNanoTime() EpochMillisToCqlLocalDate() \
EpochMillisToJavaLocalDate('UTC') FirstLines('t.csv',3) FirstNames() FixedValue(5) \
FixedValue('x') FixedValue(1.5d) FixedValue(true) FixedValues(1,2,3) FixedValues('a','b') \
Flow(Add(1),Mul(3)) FullNames() Hash() HashInterval(3,9) HashInterval(9L) HashRange(9) \
HashRange(3L,9L) HashRange(1.5,2.5) HashRange(1.5d,2.5d) HashRangeScaled() HashRangeScaled(0.5) \
HashedFileExtractToString('text',3,9) HashedFloatVectors(2) HashedFloatVectors(3,1.0,2.0) \
HashedLineToString('text') HashedLineToStringList('text',1,2) HashedLineToStringSet('text',1,2) \
HashedLoremExtractToString(3,9) HashedToByteBuffer(5) Identity() JoinTemplate(',',Mod(3),Mod(5)) \
JoinTemplate('<','|','>',Mod(3),Mod(5)) LastNames() List(2,Mod(9)) ListHashed(Mod(9),Mod(7)) \
ListSized(2,Mod(9)) ListSizedHashed(2,Mod(9)) ListSizedStepped(HashRange(1,3),Mod(9)) \
ListStepped(Mod(9),Mod(7)) Load('s') Load('s',5) LoadDouble('s',1.5d) LoadFloat('s',1.5) \
LoadInteger('s',5) LoadLong('s',5L) LoadString('s','x') LongToByte() LongToLocalDateDays() \
LongToShort() LongToString() Map(Mod(9),Mod(7)) Map(2,Mod(9),Mod(7)) MapHashed(Mod(9),Mod(7)) \
MapSized(2,Mod(9),Mod(7)) MapSizedHashed(2,Mod(9),Mod(7)) MapSizedStepped(2,Mod(9),Mod(7)) \
MapStepped(Mod(9),Mod(7)) Max(9) Max(9L) Min(9) Min(9L) MirrorToString('m') Mod(7) Mod(7L) \
ModuloLineToString('text') ModuloToBoolean() ModuloToByte() ModuloToInteger(5) ModuloToLong(5) \
ModuloToShort() Mul(7) Mul(7L) Mul(1.5) Normal(5.0,2.0) Normal(5.0,2.0,'map') \
NormalizeCqlVector() NumberNameToString() Prefix('p') Save('s') SaveDouble('s') SaveFloat('s') \
SaveInteger('s') SaveLong('s') SaveString('s') Set(2,Mod(2)) SetHashed(Mod(9),Mod(7)) \
SetSized(2,Mod(9)) SetSizedHashed(2,Mod(9)) SetSizedStepped(2,Mod(9)) SetStepped(Mod(9),Mod(7)) \
StartingEpochMillis('2018-02-01_05:00:00') StateCodes() StateNames() StaticStringMapper('x') \
StringDateWrapper('yyyy-MM-dd') StringList(2,Mod(9)) StringMap(2,Mod(9),Mod(7)) \
StringMap(Mod(9),Mod(7)) StringSet(2,Mod(9)) Suffix('s') Template('a{}b',Mod(3)) \
TextOfFile('t.csv') TimeZones() ToBigDecimal() ToBigDecimal(2) ToBigInt() ToBoolean() ToByte() \
ToByte(5) ToByteBuffer() ToByteBuffer(11) ToCqlDurationNanos() ToCqlVector() ToDate() ToDate(5) \
ToDate(5,2) ToDouble() ToEpochTimeUUID() ToEpochTimeUUID(5L) ToEpochTimeUUID(5,6) \
ToFinestTimeUUID() ToFinestTimeUUID('2018') ToFinestTimeUUID('2018',5,6) ToFloat() ToHashedUUID() \
ToHexString() ToInetAddress() ToInt() ToInt(9) ToJavaInstant() ToJavaInstant(5) \
ToJavaInstant(5,2) ToLocalTime() ToLocalTime(5) ToLocalTime(5,2,'UTC') ToLong() ToShort() \
ToShort(5) ToString() ToString(Mod(3)) ToTimeUUIDMax() ToTimeUUIDMin() ToUUID() ToUUID(5L) Trim() \
Uniform(1,9) Uniform(1.5,9.5) Uniform(1,9,'map') WeightedInts('1:2;5:3') \
WeightedInts('1:2;5:3','map') WeightedLongs('1:2;5:3') WeightedStrings('a:1;b:2') \
WeightedStringsFromCSV('a','b','t.csv') WeightedStringsFromCSV('a','b','map','t.csv') ZipCodes() \
Zipf(9,1.2) Zipf(9,1.2,'map')";

fn given(arg: &Arg, env: &mut Env) -> Argument {
    match arg {
        Arg::Int(v) => Argument::Int(*v),
        Arg::Long(v) => Argument::Long(*v),
        Arg::Float(v) => Argument::Float(*v),
        Arg::Double(v) => Argument::Double(*v),
        Arg::Text(v) => Argument::Text(v.replace('_', " ")),
        Arg::Bool(v) => Argument::Bool(*v),
        Arg::Call(call) => {
            let first = variants(call, env).swap_remove(0);
            Argument::Function(Recipe::single(first.step, first.output))
        }
    }
}

fn variants(call: &Call, env: &mut Env) -> Vec<functions::Variant> {
    let given: Vec<Argument> = call.args.iter().map(|arg| given(arg, env)).collect();
    tables::variants(call, &given, env).unwrap_or_else(|fault| panic!("{call:?}: {fault:?}"))
}

/// Returns the results of every flavour of every function, one flavour per line.
fn page() -> String {
    let read = |file: &str| match file {
        "t.csv" => Ok("a,b\nx,1\ny,2\nx,3\n".to_owned()),
        "text" => Ok("one\ntwo\nthree words here\n".to_owned()),
        _ => Err("no such file".to_owned()),
    };
    let mut env = Env {
        read: &read,
        notes: Vec::new(),
    };
    let mut page = String::new();
    for text in CALLS.split(' ') {
        let call = &parse(text).unwrap()[0];
        for variant in variants(call, &mut env) {
            let inputs = [
                Val::Long(0),
                Val::Long(1),
                Val::Long(123_456_789_012),
                Val::Int(-77),
                Val::Double(2.75),
                Val::Text("4 a".into()),
                Val::List(vec![Val::Float(3.0), Val::Double(4.0)]),
            ];
            let (input, output) = (variant.input, variant.output);
            let _ = write!(page, "{text} {input:?} {output:?}:");
            for input in inputs {
                let _ = write!(page, " {:?}", variant.step.apply(input));
            }
            page.push('\n');
        }
    }
    page
}

#[test]
fn every_function_gives_what_it_always_gave() {
    expect_test::expect_file!["values.txt"].assert_eq(&page());
}

/// Without this test, a function that is missing in `CALLS` could break without notice.
#[test]
fn every_function_is_among_the_calls() {
    for name in TABLES.into_iter().flatten().flat_map(|row| row.names) {
        let call = format!("{name}(");
        assert!(
            CALLS.split(' ').any(|text| text.starts_with(&call)),
            "{name}"
        );
    }
}
