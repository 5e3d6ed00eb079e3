//! The functions that conditions can call. There is none that reads the environment, further input or files, or that
//! ends the process.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::{Case, regex};
use jaq_core::load::parse::Def;
use jaq_core::native::{Filter, Fun, bome, run, unary, v};
use jaq_core::{Cv, DataT, RunPtr, load};

use super::limits;
use super::operators::{element, places};
use super::value::{Error, Val, ValR};

/// Definitions of the standard library that need functions which are left out.
const OMITTED: [&str; 25] = [
    "stderr",
    "debug",
    "halt",
    "halt_error",
    "logb",
    "significand",
    "pow10",
    "drem",
    "nexttoward",
    "scalb",
    "gamma",
    "todate",
    "fromdate",
    "@html",
    "@htmld",
    "@uri",
    "@urid",
    "@base64",
    "@base64d",
    "input",
    "inputs",
    "env",
    "$ENV",
    "input_line_number",
    "get_search_list",
];

/// Definitions that depend on the type of the values.
const OWN: &str = r#"
def tonumber: if isnumber then . else fromjson | if isnumber then . else error("cannot parse as number") end end;
def toboolean: if isboolean then . else fromjson | if isboolean then . else error("cannot parse as boolean") end end;
def transpose: [range([.[] | length] | max) as $i | [.[][$i]]];
def in(xs): . as $x | xs | has($x);
def inside(xs): . as $x | xs | contains($x);
def index($i): indices($i)[0];
def rindex($i): indices($i)[-1];
def @json: tojson;
"#;

pub fn definitions() -> Vec<Def<&'static str>> {
    let own = load::parse(OWN, |parser| parser.defs()).unwrap_or_default();
    let all = jaq_core::defs().chain(jaq_std::defs());
    all.filter(|def| !OMITTED.contains(&def.name))
        .chain(own)
        .collect()
}

pub fn functions<D: for<'a> DataT<V<'a> = Val>>() -> Vec<Fun<D>> {
    let all = jaq_core::funs().chain(jaq_std::base_funs());
    all.filter(|(name, ..)| *name != "halt")
        .chain(own().into_iter().map(run))
        .collect()
}

fn own<D: for<'a> DataT<V<'a> = Val>>() -> [Filter<RunPtr<D>>; 11] {
    [
        ("tojson", v(0), |cv| bome(Ok(Val::from(cv.1.to_json())))),
        ("fromjson", v(0), |cv| bome(from_json(&cv.1))),
        ("length", v(0), |cv| bome(length(&cv.1))),
        ("contains", v(1), |cv| {
            unary(cv, |value, part| Ok(Val::Bool(contains(&value, &part))))
        }),
        ("has", v(1), |cv| {
            unary(cv, |value, index| {
                Ok(Val::Bool(element(value, &index)?.is_some()))
            })
        }),
        ("indices", v(1), |cv| unary(cv, indices)),
        ("bsearch", v(1), |cv| {
            unary(cv, |list, item| search(list, &item))
        }),
        ("matches", v(2), |cv| bome(matches(cv, Parts::Matches))),
        ("split_matches", v(2), |cv| bome(matches(cv, Parts::Both))),
        ("split_", v(2), |cv| bome(matches(cv, Parts::Rest))),
        ("now", v(0), |_| bome(Ok(now()))),
    ]
}

fn now() -> Val {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Val::Float(since.unwrap_or_default().as_secs_f64())
}

fn from_json(text: &Val) -> ValR {
    let Val::Str(text) = text else {
        return Err(Error::typ(text.clone(), "string"));
    };
    limits::allocate(8 * text.len() as u64);
    let value: Result<serde_json::Value, _> = serde_json::from_str(text);
    value
        .map(|value| Val::from(&value))
        .map_err(|error| Error::str(format_args!("cannot parse as JSON: {error}")))
}

fn length(value: &Val) -> ValR {
    match value {
        Val::Null => Ok(Val::Int(0)),
        Val::Int(number) => Ok(number
            .checked_abs()
            .map_or(Val::Float(9.223_372_036_854_776e18), Val::Int)),
        Val::Float(number) => Ok(Val::Float(number.abs())),
        Val::Str(text) => Ok(Val::from(text.chars().count())),
        Val::Arr(list) => Ok(Val::from(list.items().len())),
        Val::Obj(fields) => Ok(Val::from(fields.len())),
        Val::Bool(_) => Err(Error::str(format_args!("{value} has no length"))),
    }
}

fn contains(value: &Val, part: &Val) -> bool {
    limits::work();
    match (value, part) {
        (Val::Str(text), Val::Str(part)) => text.contains(&**part),
        (Val::Arr(list), Val::Arr(part)) => {
            let is_in = |part| list.items().iter().any(|item| contains(item, part));
            part.items().iter().all(is_in)
        }
        (Val::Obj(fields), Val::Obj(part)) => part
            .iter()
            .all(|(name, part)| fields.get(name).is_some_and(|value| contains(value, part))),
        _ => value == part,
    }
}

fn indices(value: Val, part: Val) -> ValR {
    match (&value, &part) {
        (Val::Null, _) => Ok(Val::Null),
        (Val::Str(text), Val::Str(part)) if !part.is_empty() => {
            let at = text.char_indices().enumerate().filter(|(_, (byte, _))| {
                limits::work();
                text[*byte..].starts_with(&**part)
            });
            Ok(Val::list(at.map(|(at, _)| Val::from(at))))
        }
        (Val::Str(_), Val::Str(_)) => Ok(Val::list([])),
        (Val::Arr(list), Val::Arr(part)) => Ok(places(list, part)),
        (Val::Arr(list), part) => {
            let items = list.items().iter().enumerate();
            Ok(Val::list(
                items
                    .filter(|(_, item)| *item == part)
                    .map(|(at, _)| Val::from(at)),
            ))
        }
        _ => Err(Error::index(value, part)),
    }
}

fn search(list: Val, item: &Val) -> ValR {
    let Val::Arr(list) = list else {
        return Err(Error::typ(list, "array"));
    };
    Ok(match list.items().binary_search(item) {
        Ok(at) => Val::from(at),
        Err(at) => (Val::Int(-1) - Val::from(at))?,
    })
}

/// The parts of a text that a regular expression selects.
#[derive(Clone, Copy, PartialEq)]
enum Parts {
    Matches,
    Rest,
    Both,
}

/// Applies a regular expression with flags, as `test`, `match`, `capture`, `scan`, `split` and `sub` need it.
fn matches<D: for<'a> DataT<V<'a> = Val>>(mut cv: Cv<'_, D>, parts: Parts) -> ValR {
    let (flags, expression) = (cv.0.pop_var(), cv.0.pop_var());
    let (Val::Str(text), Val::Str(flags), Val::Str(expression)) = (&cv.1, flags, expression) else {
        return Err(Error::typ(
            cv.1,
            "string to match, with an expression and flags",
        ));
    };
    let mut inline = String::new();
    for flag in flags.chars() {
        match flag {
            'g' | 'n' => {}
            'i' | 'x' | 's' | 'm' => inline.push(flag),
            'l' => inline.push('U'),
            'p' => inline.push_str("sm"),
            flag => return Err(Error::str(format_args!("invalid regex flag: {flag}"))),
        }
    }
    let expression = match inline.as_str() {
        "" => expression.to_string(),
        flags => format!("(?{flags}){expression}"),
    };
    let expression = regex(&expression, Case::Counts).map_err(Error::str)?;
    let mut found = Vec::new();
    let mut place = TextPlace { byte: 0, char: 0 };
    let mut last = 0;
    for captures in expression.captures_iter(text) {
        limits::work();
        let whole = captures.get(0).map_or(0..0, |found| found.range());
        if flags.contains('n') && whole.is_empty() {
            continue;
        }
        if parts != Parts::Matches {
            found.push(Val::text(&text[last..whole.start]));
            last = whole.end;
        }
        if parts != Parts::Rest {
            place.advance(text, whole.start);
            let names = expression.capture_names();
            let groups = captures.iter().zip(names);
            let groups = groups.filter_map(|(group, name)| {
                let group = group?;
                let mut place = place;
                place.advance(text, group.start());
                Some(one_match(group.as_str(), place.char, name))
            });
            found.push(Val::list(groups));
        }
        if !flags.contains('g') {
            break;
        }
    }
    if parts != Parts::Matches {
        found.push(Val::text(&text[last..]));
    }
    Ok(Val::list(found))
}

/// A place in a text, in bytes and in characters.
#[derive(Clone, Copy)]
struct TextPlace {
    byte: usize,
    char: usize,
}

impl TextPlace {
    fn advance(&mut self, text: &str, byte: usize) {
        self.char += text[self.byte..byte].chars().count();
        self.byte = byte;
    }
}

fn one_match(text: &str, at: usize, name: Option<&str>) -> Val {
    let fields = [
        ("offset", Val::from(at)),
        ("length", Val::from(text.chars().count())),
        ("string", Val::text(text)),
    ];
    let name = name.map(|name| ("name", Val::text(name)));
    Val::object(
        fields
            .into_iter()
            .chain(name)
            .map(|(field, value)| (field.into(), value)),
    )
}
