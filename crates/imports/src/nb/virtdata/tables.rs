//! All functions of virtdata, ordered by subject, and the lookup of a call's function.
//!
//! The row of a function is the only definition of its behaviour. If the lookup finds a name, the
//! function therefore always has an implementation.

use super::chain::Env;
use super::functions::{Argument, Make, Row, Variant};
use super::parse_recipe::{Call, RecipeMistake};
use super::{
    alias, arithmetic, collections, convert, line_functions, place_names, random_choice,
    refused_functions, saved_values, strings,
};

pub(super) const TABLES: [&[Row]; 10] = [
    arithmetic::ROWS,
    convert::ROWS,
    strings::ROWS,
    collections::ROWS,
    random_choice::ROWS,
    alias::ROWS,
    line_functions::ROWS,
    place_names::ROWS,
    saved_values::SAVES,
    saved_values::LOADS,
];

pub(super) fn variants(
    call: &Call,
    given: &[Argument],
    env: &mut Env,
) -> Result<Vec<Variant>, RecipeMistake> {
    let mut rows = TABLES.into_iter().flatten();
    let row = rows.find(|row| row.names.contains(&call.name.as_str()));
    let found = match row.ok_or_else(|| refused_functions::unknown(call))?.make {
        Make::Of(make) => make(given),
        Make::Asking(make) => make(call, given, env)?,
    };
    found.filter(|found| !found.is_empty()).ok_or_else(|| {
        let message = format!(
            "{} does not accept these {} arguments",
            call.name,
            given.len()
        );
        RecipeMistake::new(message, call.at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If two rows had the same name, the second row would never be used.
    #[test]
    fn every_function_stands_in_one_row_and_is_not_refused_too() {
        let mut seen = std::collections::BTreeSet::new();
        for name in TABLES.into_iter().flatten().flat_map(|row| row.names) {
            assert!(seen.insert(*name), "{name} stands twice");
            assert!(refused_functions::refused(name).is_none(), "{name}");
        }
    }
}
