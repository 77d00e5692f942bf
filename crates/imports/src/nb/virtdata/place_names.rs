//! Names of people and places for the functions that draw them. NoSQLBench draws names from census
//! tables. cassay uses a few dozen well-known names of the same form.

use super::chain::Env;
use super::functions::{Argument, Flavours, Row, asking, cycle};
use super::java_value::Ty;
use super::line_functions::line;
use super::parse_recipe::{Call, RecipeMistake};

const FIRST: &str = "Ada Alan Anna Boris Carla Chen Clara David Diego Edgar Elena Emma Farid \
    Fiona Frank Grace Hana Hugo Ines Ivan Jane Jonas Karim Kira Lars Lena Louis Maria Mei Nadia \
    Oscar Paula Peter Quentin Rosa Samir Sofia Tariq Uma Vera Walter Yara Yusuf Zoe";
const LAST: &str = "Adams Becker Bianchi Brown Costa Dubois Evans Fischer Garcia Hansen Ito \
    Jansen Jones Kim Kowalski Kumar Lee Lopez Martin Meyer Moreau Nguyen Novak Okafor Olsen \
    Petrov Quinn Rossi Sato Schmidt Silva Singh Smith Tanaka Torres Walker Weber Wilson Young";
const CITIES: &str = "Accra Austin Berlin Bogota Boston Cairo Chicago Dakar Dallas Denver Dublin \
    Geneva Hanoi Helsinki Houston Jakarta Kyoto Lagos Lima Lisbon London Madrid Miami Milan \
    Montreal Nairobi Oslo Paris Phoenix Porto Prague Quito Riga Rome Seattle Seoul Tokyo Vienna";
const STATES: &str = "Alabama Alaska Arizona California Colorado Florida Georgia Hawaii Idaho \
    Illinois Iowa Kansas Maine Michigan Montana Nevada Ohio Oregon Texas Utah Vermont Wyoming";
const STATE_CODES: &str = "AL AK AZ CA CO FL GA HI ID IL IA KS ME MI MT NV OH OR TX UT VT WY";
const COUNTRIES: &str = "Argentina Australia Brazil Canada Chile China Denmark Egypt Finland \
    France Germany Ghana India Italy Japan Kenya Mexico Norway Peru Poland Portugal Spain Sweden";
const COUNTRY_CODES: &str = "AR AU BR CA CL CN DK EG FI FR DE GH IN IT JP KE MX NO PE PL PT ES SE";
const ZONES: &str = "America/Chicago America/Denver America/Los_Angeles America/New_York \
    Europe/London Europe/Berlin Asia/Tokyo";
const ZIP_CODES: &str = "01001 10001 20001 30301 33101 48201 60601 75201 80201 85001 94101 98101";

pub(super) const ROWS: &[Row] = &[
    asking(&["FirstNames"], |c, given, env| {
        drawn(c, given, env, words(FIRST))
    }),
    asking(&["LastNames"], |c, given, env| {
        drawn(c, given, env, words(LAST))
    }),
    asking(&["FullNames"], |c, given, env| {
        drawn(c, given, env, full_names())
    }),
    asking(
        &[
            "Cities",
            "CitiesByDensity",
            "CitiesByPopulation",
            "Counties",
        ],
        |c, given, env| drawn(c, given, env, words(CITIES)),
    ),
    asking(&["StateNames"], |c, given, env| {
        drawn(c, given, env, words(STATES))
    }),
    asking(&["StateCodes"], |c, given, env| {
        drawn(c, given, env, words(STATE_CODES))
    }),
    asking(&["CountryNames"], |c, given, env| {
        drawn(c, given, env, words(COUNTRIES))
    }),
    asking(&["CountryCodes"], |c, given, env| {
        drawn(c, given, env, words(COUNTRY_CODES))
    }),
    asking(&["TimeZones"], |c, given, env| {
        drawn(c, given, env, words(ZONES))
    }),
    asking(&["ZipCodes"], |c, given, env| {
        drawn(c, given, env, words(ZIP_CODES))
    }),
];

fn words(text: &str) -> Vec<Box<str>> {
    text.split_whitespace().map(Box::from).collect()
}

/// Returns full names. The lengths of the lists of first and last names have no common divisor, so
/// all full names are different.
fn full_names() -> Vec<Box<str>> {
    let (first, last) = (words(FIRST), words(LAST));
    let pairs = first.iter().cycle().zip(last.iter().cycle());
    let names = pairs.take(first.len() * last.len());
    names.map(|(first, last)| format!("{first} {last}").into()).collect()
}

fn drawn(
    call: &Call,
    given: &[Argument],
    env: &mut Env,
    names: Vec<Box<str>>,
) -> Result<Flavours, RecipeMistake> {
    if given.iter().any(|given| given.text().is_none()) {
        return Ok(None);
    }
    env.note(format!(
        "in NoSQLBench, {} draws from census tables; in cassay, it draws from {} of cassay, all \
         equally often",
        call.name,
        names.len()
    ));
    Ok(cycle(Ty::Text, line(names)))
}
