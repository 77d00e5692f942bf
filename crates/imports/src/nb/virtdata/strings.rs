//! Functions that make texts from numbers, from texts and from other functions.

use std::sync::Arc;

use super::chain::{Env, Recipe};
use super::convert::plain;
use super::functions::{Argument, Flavours, Row, Transformation, asking, flavour, from, made, row};
use super::java_value::{Ty, Val};
use super::parse_recipe::{Call, RecipeMistake};
use workload::virtdata::hash;

pub(super) const ROWS: &[Row] = &[
    row(&["ToString"], |given| match given {
        [] => from(
            &[Ty::Long, Ty::Int, Ty::Double, Ty::Object],
            Ty::Text,
            &Transformation::new(to_text),
        ),
        [_] => concatenated("{}", given, Seed::Same),
        _ => None,
    }),
    row(&["LongToString"], |given| {
        plain(given, &[Ty::Long], Ty::Text, &Transformation::new(to_text))
    }),
    row(&["ToHexString"], |given| {
        let hex = Transformation::made(|x| Val::Text(format!("{x:x}").into()));
        let of_bytes = Transformation::new(|value| Val::Text(value.text().to_uppercase().into()));
        let mut found = plain(given, &[Ty::Long], Ty::Text, &hex)?;
        found.push(flavour(Ty::Bytes, Ty::Text, of_bytes));
        Some(found)
    }),
    row(&["Prefix"], |given| {
        text_function(given, |text, prefix| format!("{prefix}{text}"))
    }),
    row(&["Suffix"], |given| {
        text_function(given, |text, suffix| format!("{text}{suffix}"))
    }),
    row(&["MirrorToString"], |given| {
        text_function(given, |_, text| text.to_owned())
    }),
    row(&["Trim"], |given| {
        let step = Transformation::new(|value| Val::Text(value.text().trim().to_owned().into()));
        plain(given, &[Ty::Text], Ty::Text, &step)
    }),
    asking(&["Template"], template),
    row(&["Concat"], |given| concat(given, Seed::Stepped)),
    row(&["ConcatCycle", "ConcatFixed"], |given| {
        concat(given, Seed::Same)
    }),
    row(&["ConcatHashed"], |given| concat(given, Seed::Hashed)),
    row(&["JoinTemplate"], |given| match given {
        [Argument::Text(between), functions @ ..]
            if matches!(given.get(1), Some(Argument::Function(_))) =>
        {
            joined(["", between, ""], functions)
        }
        [
            Argument::Text(before),
            Argument::Text(between),
            Argument::Text(after),
            functions @ ..,
        ] => joined([before, between, after], functions),
        _ => None,
    }),
];

fn to_text(value: Val) -> Val {
    match value {
        Val::Long(v) => Val::Digits(v),
        Val::Int(v) => Val::Digits(i64::from(v)),
        other => Val::Text(other.text()),
    }
}

/// Returns a function that changes a text in a way that depends on an argument.
fn text_function(given: &[Argument], change: fn(&str, &str) -> String) -> Flavours {
    let [Argument::Text(arg)] = given else {
        return None;
    };
    let arg = arg.clone();
    let step = Transformation::new(move |value| Val::Text(change(&value.text(), &arg).into()));
    from(&[Ty::Text], Ty::Text, &step)
}

fn template(call: &Call, given: &[Argument], _: &mut Env) -> Result<Flavours, RecipeMistake> {
    let [Argument::Text(template), functions @ ..] = given else {
        return Ok(None);
    };
    let places = template.matches("{}").count();
    if Argument::functions(functions).is_none() || functions.len() != places {
        let message = format!(
            "the template has {places} placeholders {{}}, but {} functions",
            functions.len()
        );
        return Err(RecipeMistake::new(message, call.at));
    }
    Ok(concatenated(template, functions, Seed::Same))
}

/// Choice of the input for the functions whose values are concatenated.
#[derive(Clone, Copy)]
enum Seed {
    Same,
    Stepped,
    Hashed,
}

/// Functions whose values are concatenated, and the texts between the values.
struct Concat {
    literals: Vec<String>,
    functions: Arc<[Recipe]>,
    seed: Seed,
}

impl Concat {
    fn value(&self, input: i64) -> Val<'static> {
        let mut out = self.literals[0].clone();
        for (index, literal) in self.literals[1..].iter().enumerate() {
            let stepped = input.wrapping_add(index as i64);
            let seed = match self.seed {
                Seed::Same => input,
                Seed::Stepped => stepped,
                Seed::Hashed => hash(stepped as u64) as i64,
            };
            let function = &self.functions[index.min(self.functions.len() - 1)];
            function.value(seed).write(&mut out);
            out.push_str(literal);
        }
        Val::Text(out.into())
    }
}

fn concat(given: &[Argument], seed: Seed) -> Flavours {
    match given {
        [Argument::Text(template), functions @ ..] => concatenated(template, functions, seed),
        _ => None,
    }
}

fn concatenated(template: &str, functions: &[Argument], seed: Seed) -> Flavours {
    let literals: Vec<String> = template.split("{}").map(str::to_owned).collect();
    let functions = Argument::functions(functions)?;
    if functions.is_empty() && literals.len() > 1 {
        return None;
    }
    let concat = Concat {
        literals,
        functions,
        seed,
    };
    made(Ty::Text, move |x| concat.value(x))
}

fn joined([before, between, after]: [&str; 3], functions: &[Argument]) -> Flavours {
    let places = vec!["{}"; functions.len()].join(between);
    concatenated(&format!("{before}{places}{after}"), functions, Seed::Same)
}
