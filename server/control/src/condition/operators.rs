//! The operators of jq: arithmetic, indices, slices and updates.

use std::ops::{Add, Div, Mul, Neg, Rem, Sub};
use std::rc::Rc;

use jaq_core::box_iter::box_once;
use jaq_core::ops::Math;
use jaq_core::path::Opt;
use jaq_core::val::{Range, ValX};
use jaq_core::{Exn, ValT};

use super::limits;
use super::value::{Error, List, Properties, Val, ValR};

type Values = Box<dyn Iterator<Item = ValR>>;

#[allow(clippy::cast_precision_loss)] // as any number above 2^53
fn float(value: &Val) -> Option<f64> {
    match value {
        Val::Int(number) => Some(*number as f64),
        Val::Float(number) => Some(*number),
        _ => None,
    }
}

/// Calculates with whole numbers as long as the result is one.
fn calculate(
    left: Val,
    math: Math,
    right: Val,
    whole: fn(isize, isize) -> Option<isize>,
    floats: fn(f64, f64) -> f64,
) -> ValR {
    limits::work();
    if let (Val::Int(a), Val::Int(b)) = (&left, &right)
        && let Some(result) = whole(*a, *b)
    {
        return Ok(Val::Int(result));
    }
    match (float(&left), float(&right)) {
        (Some(a), Some(b)) => Ok(Val::Float(floats(a, b))),
        _ => Err(Error::math(left, math, right)),
    }
}

impl Add for Val {
    type Output = ValR;

    fn add(self, other: Self) -> ValR {
        match (self, other) {
            (Self::Null, value) | (value, Self::Null) => Ok(value),
            (Self::Str(a), Self::Str(b)) => {
                limits::allocate((a.len() + b.len()) as u64);
                Ok(Self::Str([&*a, &*b].concat().into()))
            }
            (Self::Arr(mut a), Self::Arr(b)) => {
                owned_list(&mut a).extend(b.items().iter().cloned());
                Ok(Self::Arr(a))
            }
            (Self::Obj(mut a), Self::Obj(b)) => {
                let fields = owned_fields(&mut a);
                for (name, value) in b.iter() {
                    fields.set(name.clone(), value.clone());
                }
                Ok(Self::Obj(a))
            }
            (a, b) => calculate(a, Math::Add, b, isize::checked_add, |a, b| a + b),
        }
    }
}

/// A list to change. It is copied if somebody else has it, too.
fn owned_list(list: &mut Rc<List>) -> &mut List {
    if Rc::strong_count(list) > 1 {
        limits::allocate(24 * list.items().len() as u64);
    }
    Rc::make_mut(list)
}

fn owned_fields(fields: &mut Rc<Properties>) -> &mut Properties {
    if Rc::strong_count(fields) > 1 {
        limits::allocate(48 * fields.len() as u64);
    }
    Rc::make_mut(fields)
}

impl Sub for Val {
    type Output = ValR;

    fn sub(self, other: Self) -> ValR {
        match (self, other) {
            (Self::Arr(a), Self::Arr(b)) => {
                let mut removed = b.items().to_vec();
                removed.sort();
                let kept = a.items().iter();
                let kept = kept.filter(|item| removed.binary_search(item).is_err());
                Ok(Self::list(kept.cloned()))
            }
            (a, b) => calculate(a, Math::Sub, b, isize::checked_sub, |a, b| a - b),
        }
    }
}

impl Mul for Val {
    type Output = ValR;

    fn mul(self, other: Self) -> ValR {
        match (self, other) {
            (Self::Str(text), Self::Int(times)) | (Self::Int(times), Self::Str(text)) => {
                let times = match usize::try_from(times) {
                    Ok(times) if times > 0 => times,
                    _ => return Ok(Self::Null),
                };
                limits::allocate((text.len() as u64).saturating_mul(times as u64));
                Ok(Self::Str(text.repeat(times).into()))
            }
            (Self::Obj(mut a), Self::Obj(b)) => {
                merge(owned_fields(&mut a), &b);
                Ok(Self::Obj(a))
            }
            (a, b) => calculate(a, Math::Mul, b, isize::checked_mul, |a, b| a * b),
        }
    }
}

/// Merges objects within objects, too.
fn merge(fields: &mut Properties, other: &Properties) {
    for (name, value) in other.iter() {
        let merged = match (fields.get(name), value) {
            (Some(Val::Obj(old)), Val::Obj(new)) => {
                let mut old = old.clone();
                merge(owned_fields(&mut old), new);
                Val::Obj(old)
            }
            _ => value.clone(),
        };
        fields.set(name.clone(), merged);
    }
}

impl Div for Val {
    type Output = ValR;

    fn div(self, other: Self) -> ValR {
        match (self, other) {
            (Self::Str(text), Self::Str(separator)) => Ok(Self::list(split(&text, &separator))),
            (a, b) => {
                let exact = |a: isize, b: isize| (a.checked_rem(b)? == 0).then(|| a / b);
                calculate(a, Math::Div, b, exact, |a, b| a / b)
            }
        }
    }
}

fn split<'t>(text: &'t str, separator: &'t str) -> Box<dyn Iterator<Item = Val> + 't> {
    if text.is_empty() {
        Box::new(std::iter::empty())
    } else if separator.is_empty() {
        Box::new(text.chars().map(|c| Val::text(c.encode_utf8(&mut [0; 4]))))
    } else {
        Box::new(text.split(separator).map(Val::text))
    }
}

impl Rem for Val {
    type Output = ValR;

    fn rem(self, other: Self) -> ValR {
        if let (Self::Int(_), Self::Int(0)) = (&self, &other) {
            return Err(Error::math(self, Math::Rem, other));
        }
        let whole = |a: isize, b| Some(a.wrapping_rem(b));
        calculate(self, Math::Rem, other, whole, |a, b| a % b)
    }
}

impl Neg for Val {
    type Output = ValR;

    fn neg(self) -> ValR {
        match (self, 0) {
            (Self::Int(number), _) if number != isize::MIN => Ok(Self::Int(-number)),
            (value, _) => match float(&value) {
                Some(number) => Ok(Self::Float(-number)),
                None => Err(Error::typ(value, "number")),
            },
        }
    }
}

/// Returns an index of a list as counted from its start. None: outside of it.
fn place(index: isize, length: usize) -> Option<usize> {
    let at = match usize::try_from(index) {
        Ok(at) => at,
        Err(_) => length.checked_sub(index.unsigned_abs())?,
    };
    (at < length).then_some(at)
}

/// Rounds an index down; that of an end up.
#[allow(clippy::cast_possible_truncation)] // saturates
fn whole(value: &Val, round: fn(f64) -> f64) -> Option<isize> {
    match value {
        Val::Int(number) => Some(*number),
        Val::Float(number) => Some(round(*number) as isize),
        _ => None,
    }
}

/// Returns the first and the length of a slice of so many elements.
fn slice(range: &Range<&Val>, length: usize) -> Result<(usize, usize), Error> {
    let end = |value: Option<&Val>, none: usize, round: fn(f64) -> f64| match value {
        None | Some(Val::Null) => Ok(none),
        Some(value) => {
            let number = whole(value, round);
            let number = number.ok_or_else(|| Error::typ(value.clone(), "integer"))?;
            Ok(match usize::try_from(number) {
                Ok(at) => at.min(length),
                Err(_) => length.saturating_sub(number.unsigned_abs()),
            })
        }
    };
    let from = end(range.start, 0, f64::floor)?;
    let upto = end(range.end, length, f64::ceil)?;
    Ok((from, upto.saturating_sub(from)))
}

/// Returns the bytes of a slice of characters.
fn slice_of_text(range: &Range<&Val>, text: &str) -> Result<(usize, usize), Error> {
    let (from, count) = slice(range, text.chars().count())?;
    let byte = |at: usize| {
        let place = text.char_indices().nth(at);
        place.map_or(text.len(), |(at, _)| at)
    };
    Ok((byte(from), byte(from + count)))
}

/// Returns the places at which a list has a part.
pub fn places(list: &List, part: &List) -> Val {
    let part = part.items();
    if part.is_empty() {
        return Val::list([]);
    }
    let windows = list.items().windows(part.len()).enumerate();
    let found = windows.filter(|(_, items)| *items == part);
    Val::list(found.map(|(at, _)| Val::from(at)))
}

/// Returns an element or field. None: there is none.
pub fn element(value: Val, index: &Val) -> Result<Option<Val>, Error> {
    Ok(match (&value, index) {
        (Val::Null, Val::Null | Val::Int(_) | Val::Float(_) | Val::Str(_) | Val::Obj(_)) => None,
        (Val::Arr(list), Val::Int(_) | Val::Float(_)) => whole(index, f64::floor)
            .and_then(|index| place(index, list.items().len()))
            .map(|at| list.items()[at].clone()),
        (Val::Arr(list), Val::Arr(part)) => Some(places(list, part)),
        (Val::Obj(fields), Val::Str(name)) => fields.get(name).cloned(),
        (Val::Arr(_) | Val::Str(_), Val::Obj(ends)) => {
            let range = ends.get("start")..ends.get("end");
            return value.range(range).map(Some);
        }
        _ => return Err(Error::index(value, index.clone())),
    })
}

impl ValT for Val {
    fn from_num(text: &str) -> ValR {
        match (text.parse(), text.parse()) {
            (Ok(whole), _) => Ok(Self::Int(whole)),
            (_, Ok(number)) => Ok(Self::Float(number)),
            _ => Err(Error::str(format_args!("`{text}` is not a number"))),
        }
    }

    fn from_map<I: IntoIterator<Item = (Self, Self)>>(iter: I) -> ValR {
        let mut fields = Properties::default();
        for (name, value) in iter {
            match name {
                Self::Str(name) => fields.set(name, value),
                name => return Err(Error::typ(name, "name of a field")),
            }
        }
        Ok(Self::Obj(Rc::new(fields)))
    }

    fn key_values(self) -> Box<dyn Iterator<Item = Result<(Self, Self), Error>>> {
        match self {
            Self::Arr(list) => Box::new((0..list.items().len()).map(move |at| {
                limits::work();
                Ok((Self::from(at), list.items()[at].clone()))
            })),
            Self::Obj(fields) => {
                limits::allocate(40 * fields.len() as u64);
                let pair =
                    |(name, value): (&Rc<str>, &Self)| Ok((Self::Str(name.clone()), value.clone()));
                let pairs: Vec<_> = fields.iter().map(pair).collect();
                Box::new(pairs.into_iter())
            }
            value => box_once(Err(Error::typ(value, "iterable (array or object)"))),
        }
    }

    fn values(self) -> Values {
        Box::new(self.key_values().map(|pair| Ok(pair?.1)))
    }

    fn index(self, index: &Self) -> ValR {
        limits::work();
        element(self, index).map(Option::unwrap_or_default)
    }

    fn range(self, range: Range<&Self>) -> ValR {
        match &self {
            Self::Null => Ok(Self::Null),
            Self::Str(text) => {
                let (from, upto) = slice_of_text(&range, text)?;
                Ok(Self::text(&text[from..upto.max(from)]))
            }
            Self::Arr(list) => {
                let (from, count) = slice(&range, list.items().len())?;
                Ok(Self::list(list.items()[from..from + count].iter().cloned()))
            }
            _ => Err(Error::typ(self, "rangeable (array or string)")),
        }
    }

    fn map_values<'a, I: Iterator<Item = ValX<'a, Self>>>(
        self,
        opt: Opt,
        f: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        match self {
            Self::Arr(list) => {
                let items = list.items().iter().cloned().flat_map(f);
                items.collect()
            }
            Self::Obj(fields) => {
                let mut mapped = Properties::default();
                for (name, value) in fields.iter() {
                    if let Some(value) = f(value.clone()).next().transpose()? {
                        mapped.set(name.clone(), value);
                    }
                }
                Ok(Self::Obj(Rc::new(mapped)))
            }
            value => opt.fail(value, |value| {
                Exn::from(Error::typ(value, "iterable (array or object)"))
            }),
        }
    }

    fn map_index<'a, I: Iterator<Item = ValX<'a, Self>>>(
        self,
        index: &Self,
        opt: Opt,
        f: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        match (self, index) {
            (value @ (Self::Str(_) | Self::Arr(_)), Self::Obj(ends)) => {
                value.map_range(ends.get("start")..ends.get("end"), opt, f)
            }
            (Self::Null, Self::Str(name)) => match f(Self::Null).next().transpose()? {
                Some(value) => Ok(Self::object([(name.clone(), value)])),
                None => Ok(Self::Null),
            },
            (Self::Obj(mut fields), Self::Str(name)) => {
                let owned = owned_fields(&mut fields);
                let old = owned.get(name).cloned();
                match f(old.unwrap_or_default()).next().transpose()? {
                    Some(value) => owned.set(name.clone(), value),
                    None => drop(owned.remove(name)),
                }
                Ok(Self::Obj(fields))
            }
            (Self::Arr(mut list), Self::Int(_) | Self::Float(_)) => {
                let at = whole(index, f64::floor).and_then(|at| place(at, list.items().len()));
                let Some(at) = at else {
                    let error = Error::str(format_args!("index {index} out of bounds"));
                    return opt.fail(Self::Arr(list), |_| Exn::from(error));
                };
                let owned = owned_list(&mut list);
                match f(owned.take(at)).next().transpose()? {
                    Some(value) => owned.set(at, value),
                    None => owned.remove(at),
                }
                Ok(Self::Arr(list))
            }
            (value, _) => opt.fail(value, |value| Exn::from(Error::index(value, index.clone()))),
        }
    }

    fn map_range<'a, I: Iterator<Item = ValX<'a, Self>>>(
        self,
        range: Range<&Self>,
        opt: Opt,
        f: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        let bounds = match &self {
            Self::Str(text) => slice_of_text(&range, text),
            Self::Arr(list) => slice(&range, list.items().len()).map(|(from, n)| (from, from + n)),
            value => Err(Error::typ(value.clone(), "array")),
        };
        let (from, upto) = match bounds {
            Ok((from, upto)) => (from, upto.max(from)),
            Err(error) => return opt.fail(self, |_| Exn::from(error)),
        };
        let new = f(self.clone().range(range)?).next().transpose()?;
        match (&self, new) {
            (Self::Str(text), Some(Self::Str(new))) => {
                let parts = [&text[..from], &new, &text[upto..]];
                Ok(Self::text(&parts.concat()))
            }
            (Self::Str(text), None) => Ok(Self::text(&[&text[..from], &text[upto..]].concat())),
            (Self::Arr(list), Some(Self::Arr(new))) => {
                let (above, below) = (&list.items()[..from], &list.items()[upto..]);
                let all = above.iter().chain(new.items()).chain(below);
                Ok(Self::list(all.cloned()))
            }
            (Self::Arr(list), None) => {
                let (above, below) = (&list.items()[..from], &list.items()[upto..]);
                Ok(Self::list(above.iter().chain(below).cloned()))
            }
            (_, new) => Err(Exn::from(Error::typ(new.unwrap_or_default(), "array"))),
        }
    }

    fn as_bool(&self) -> bool {
        !matches!(self, Self::Null | Self::Bool(false))
    }

    fn into_string(self) -> Self {
        match self {
            Self::Str(_) => self,
            value => Self::Str(value.to_json().into()),
        }
    }
}

impl jaq_std::ValT for Val {
    fn into_seq<S: FromIterator<Self>>(self) -> Result<S, Self> {
        match self {
            Self::Arr(list) => {
                limits::allocate(24 * list.items().len() as u64);
                Ok(list.items().iter().cloned().collect())
            }
            value => Err(value),
        }
    }

    fn is_int(&self) -> bool {
        matches!(self, Self::Int(_))
    }

    fn as_isize(&self) -> Option<isize> {
        match self {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    fn as_f64(&self) -> Option<f64> {
        float(self)
    }

    fn is_utf8_str(&self) -> bool {
        matches!(self, Self::Str(_))
    }

    fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Str(text) => Some(text.as_bytes()),
            _ => None,
        }
    }

    fn as_sub_str(&self, sub: &[u8]) -> Self {
        Self::from_utf8_bytes(sub.to_vec())
    }

    fn from_utf8_bytes(bytes: impl AsRef<[u8]> + Send + 'static) -> Self {
        Self::text(&String::from_utf8_lossy(bytes.as_ref()))
    }
}
