//! Arguments that take the name of one of the engine's values.

use backstitch_core::restore::OnConflict;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Takes the name of one of these values.
pub fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    explained(all, name, |_| None)
}

/// Takes one of the resolutions of conflicts.
pub fn resolution() -> impl TypedValueParser<Value = OnConflict> {
    explained(&OnConflict::ALL, OnConflict::name, |how| {
        Some(match how {
            OnConflict::Fail => "Change nothing",
            OnConflict::Markers => "Write conflict markers",
            OnConflict::Current => "Keep the current lines",
            OnConflict::Target => "Take the target's lines",
        })
    })
}

fn explained<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
    help: fn(T) -> Option<&'static str>,
) -> impl TypedValueParser<Value = T> {
    let values = all.iter().map(|one| {
        let value = PossibleValue::new(name(*one));
        match help(*one) {
            Some(help) => value.help(help),
            None => value,
        }
    });
    PossibleValuesParser::new(values).try_map(move |typed| {
        let one = all.iter().find(|one| name(**one) == typed);
        one.copied().ok_or("not one of the names")
    })
}
