//! Functions that draw lines and parts of files, or weighted texts.

use std::borrow::Cow;

use super::chain::{Env, Recipe};
use super::collections::{self, Seed};
use super::convert::in_turn;
use super::functions::{
    Argument, Flavours, INT_MASK, Row, Transformation, asking, cycle, from, hash_range, weighted,
    weights,
};
use super::java_value::{Ty, Val};
use super::parse_recipe::{Call, RecipeMistake};
use workload::iot_data;
use workload::virtdata::hash;

/// NoSQLBench's data files for which cassay has its own versions.
const STAND_INS: [&str; 3] = [
    "variable_words.txt",
    "lorem_ipsum_full.txt",
    "cql-starter-message.txt",
];

pub(super) const ROWS: &[Row] = &[
    asking(&["HashedLineToString"], |call, given, env| match given {
        [Argument::Text(file)] => Ok(cycle(Ty::Text, line(lines(file, call, env)?))),
        _ => Ok(None),
    }),
    asking(&["HashedLineToStringList"], |call, given, env| {
        drawn_lines(Ty::List, call, given, env)
    }),
    asking(&["HashedLineToStringSet"], |call, given, env| {
        drawn_lines(Ty::Set, call, given, env)
    }),
    asking(&["ModuloLineToString"], |call, given, env| match given {
        [Argument::Text(file)] => {
            let lines = lines(file, call, env)?.into_iter();
            let values = lines.map(|line| Val::Text(String::from(line).into())).collect();
            Ok(cycle(Ty::Text, in_turn(values)))
        }
        _ => Ok(None),
    }),
    asking(&["TextOfFile"], |call, given, env| {
        beginning(call, given, env, |text, _| text)
    }),
    asking(&["FirstLines"], |call, given, env| {
        // If a call requests several lines, NoSQLBench omits the last line and all line breaks.
        let first = |text: String, lines: usize| text.lines().take((lines - 1).max(1)).collect();
        beginning(call, given, env, first)
    }),
    asking(
        &["HashedFileExtractToString"],
        |call, given, env| match given {
            [Argument::Text(file), sizes @ ..] => extract(file, call, sizes, env),
            _ => Ok(None),
        },
    ),
    asking(&["HashedLoremExtractToString"], |call, given, env| {
        extract("data/lorem_ipsum_full.txt", call, given, env)
    }),
    asking(&["WeightedStrings"], |call, given, _| {
        let [Argument::Text(spec)] = given else {
            return Ok(None);
        };
        let text = |value: &str| Some(value.to_owned());
        let Some(values) = weights(spec.split([';', ',']), text) else {
            let message = format!("`{spec}` is not a list like `a:1.5;b:2`");
            return Err(RecipeMistake::new(message, call.at));
        };
        let step = Transformation::with(values, |values, value| {
            Val::Text(Cow::Borrowed(weighted::<String>(values, value.long())))
        });
        Ok(cycle(Ty::Text, step))
    }),
];

/// Returns a transformation that selects one of these lines by the hash of the input.
pub(super) fn line(lines: Vec<Box<str>>) -> Transformation {
    Transformation::with(lines, |lines, value| {
        let index = hash_range(value.long(), (0, lines.len() as i64)) & INT_MASK;
        Val::Text(Cow::Borrowed(&lines[index as usize]))
    })
}

/// Returns a function that makes a list or a set of lines from a file, such as
/// `HashedLineToStringList(file, least, most)`.
fn drawn_lines(
    kind: Ty,
    call: &Call,
    given: &[Argument],
    env: &mut Env,
) -> Result<Flavours, RecipeMistake> {
    let [
        Argument::Text(file),
        Argument::Int(least),
        Argument::Int(most),
    ] = given
    else {
        return Ok(None);
    };
    let line = Recipe::single(line(lines(file, call, env)?), Ty::Text);
    let least = i64::from(*least);
    let width = i64::from(*most) - least + 1;
    if width < 1 {
        return Ok(None);
    }
    let size = Transformation::long(move |x| hash_range(x, (least, width)));
    let size = Argument::Function(Recipe::single(size, Ty::Long));
    let given = [size, Argument::Function(line)];
    Ok(collections::sized(kind, Seed::Stepped, &given))
}

/// Returns a function whose value is always the beginning of a file.
fn beginning(
    call: &Call,
    given: &[Argument],
    env: &mut Env,
    of: fn(String, usize) -> String,
) -> Result<Flavours, RecipeMistake> {
    let (file, lines) = match given {
        [Argument::Text(file)] => (file, 1),
        [Argument::Text(file), lines] => (file, lines.int().unwrap_or(1).max(1) as usize),
        _ => return Ok(None),
    };
    let text = file_text(file, call, env)?.unwrap_or_else(iot_data::text);
    let step = Transformation::fixed(Val::Text(of(text, lines).into()));
    Ok(from(&[Ty::Long, Ty::Object], Ty::Text, &step))
}

/// Returns a function whose value is a part of a file. The hash of the input selects the position
/// of the part and, between two limits, its size.
fn extract(
    file: &str,
    call: &Call,
    sizes: &[Argument],
    env: &mut Env,
) -> Result<Flavours, RecipeMistake> {
    let [Argument::Int(least), Argument::Int(most)] = sizes else {
        return Ok(None);
    };
    if *least < 0 || least > most {
        return Ok(None);
    }
    let text = file_text(file, call, env)?.unwrap_or_else(iot_data::text);
    if !text.is_ascii() || text.is_empty() {
        let message = format!("{file} must be ASCII text");
        return Err(RecipeMistake::new(message, call.at));
    }
    let (first, last) = (i64::from(*least), i64::from(*most));
    let step = Transformation::with(text, move |text, value| {
        let input = value.long();
        let length = text.len() as i64;
        let size = (hash_range(input, (first, last - first + 1)) & INT_MASK) % length;
        // NoSQLBench's bound of 2^31 overflows an int, so the position is the hash itself.
        let position = (hash(input as u64) as i64 & INT_MASK) % (length - size);
        let part = &text[position as usize..(position + size) as usize];
        Val::Text(Cow::Borrowed(part))
    });
    Ok(cycle(Ty::Text, step))
}

/// Returns the lines of a data file. The list contains at least one line.
fn lines(file: &str, call: &Call, env: &mut Env) -> Result<Vec<Box<str>>, RecipeMistake> {
    let lines: Vec<Box<str>> = match file_text(file, call, env)? {
        Some(text) => text.lines().map(Box::from).collect(),
        None => iot_data::words(),
    };
    if lines.is_empty() {
        Err(RecipeMistake::new(format!("{file} has no lines"), call.at))
    } else {
        Ok(lines)
    }
}

/// Returns the content of a data file. Returns `None` if cassay uses its own version of the file.
fn file_text(file: &str, call: &Call, env: &mut Env) -> Result<Option<String>, RecipeMistake> {
    match (env.read)(file) {
        Ok(text) => Ok(Some(text)),
        Err(_) if STAND_INS.iter().any(|name| file.ends_with(name)) => {
            env.note(format!(
                "{file} is not available: cassay uses another text of the same form, with the same \
                 lines, positions and lengths"
            ));
            Ok(None)
        }
        Err(why) => {
            let message = format!("{}: {why}", call.name);
            Err(RecipeMistake::new(message, call.at))
        }
    }
}
