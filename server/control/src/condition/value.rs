//! Values of jq. Each array and object knows its size and depth, so that no value is larger than the limits allow, and
//! work on it neither exhausts the memory nor the stack. Numbers are 64-bit integers or floats.

use std::cmp::Ordering;
use std::fmt;
use std::rc::Rc;

use indexmap::IndexMap;
use jaq_core::val::Range;

use super::limits;

/// Estimated bytes of an element beside its own contents.
const ELEMENT: u64 = 24;

#[derive(Clone, Debug, Default)]
pub enum Val {
    #[default]
    Null,
    Bool(bool),
    Int(isize),
    Float(f64),
    Str(Rc<str>),
    Arr(Rc<List>),
    Obj(Rc<Properties>),
}

pub type Error = jaq_core::Error<Val>;
pub type ValR = jaq_core::ValR<Val>;

#[derive(Clone, Debug, Default)]
pub struct List {
    items: Vec<Val>,
    size: Size,
}

/// Properties in the order in which they were set.
#[derive(Clone, Debug, Default)]
pub struct Properties {
    map: IndexMap<Rc<str>, Val>,
    size: Size,
}

/// Size of a container.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    /// Estimated length as text. Parts that are shared count each time.
    weight: u64,
    /// Containers within one another.
    depth: u32,
}

impl Size {
    fn add(&mut self, name: usize, value: &Val) {
        let weight = ELEMENT + name as u64 + value.weight();
        self.weight = self.weight.saturating_add(weight);
        self.depth = self.depth.max(value.depth() + 1);
        limits::check_size(self.weight, self.depth);
    }

    fn remove(&mut self, name: usize, value: &Val) {
        let weight = ELEMENT + name as u64 + value.weight();
        self.weight = self.weight.saturating_sub(weight);
    }
}

impl List {
    pub fn of(items: impl IntoIterator<Item = Val>) -> Self {
        let mut list = Self::default();
        list.extend(items);
        list
    }

    pub fn items(&self) -> &[Val] {
        &self.items
    }

    pub fn extend(&mut self, items: impl IntoIterator<Item = Val>) {
        for item in items {
            limits::work();
            limits::allocate(ELEMENT);
            self.size.add(0, &item);
            self.items.push(item);
        }
    }

    /// Takes an item out, to be put back changed.
    pub fn take(&mut self, at: usize) -> Val {
        let item = std::mem::take(&mut self.items[at]);
        self.size.remove(0, &item);
        self.size.add(0, &Val::Null);
        item
    }

    pub fn set(&mut self, at: usize, item: Val) {
        self.size.remove(0, &self.items[at]);
        self.size.add(0, &item);
        self.items[at] = item;
    }

    pub fn remove(&mut self, at: usize) {
        let item = self.items.remove(at);
        self.size.remove(0, &item);
    }
}

impl Properties {
    pub fn get(&self, name: &str) -> Option<&Val> {
        self.map.get(name)
    }

    pub fn len(&self) -> usize {
        self.map.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Rc<str>, &Val)> {
        self.map.iter()
    }

    pub fn set(&mut self, name: Rc<str>, value: Val) {
        limits::work();
        limits::allocate(2 * ELEMENT);
        self.size.add(name.len(), &value);
        let length = name.len();
        if let Some(old) = self.map.insert(name, value) {
            self.size.remove(length, &old);
        }
    }

    pub fn remove(&mut self, name: &str) -> Option<Val> {
        let value = self.map.shift_remove(name)?;
        self.size.remove(name.len(), &value);
        Some(value)
    }

    /// Properties in the order of their names.
    fn sorted(&self) -> Vec<(&Rc<str>, &Val)> {
        let mut all: Vec<_> = self.map.iter().collect();
        all.sort_by(|a, b| a.0.cmp(b.0));
        all
    }
}

impl FromIterator<(Rc<str>, Val)> for Properties {
    fn from_iter<I: IntoIterator<Item = (Rc<str>, Val)>>(iter: I) -> Self {
        let mut fields = Self::default();
        for (name, value) in iter {
            fields.set(name, value);
        }
        fields
    }
}

impl Val {
    pub fn text(text: &str) -> Self {
        limits::allocate(text.len() as u64);
        Self::Str(text.into())
    }

    pub fn list(items: impl IntoIterator<Item = Self>) -> Self {
        Self::Arr(Rc::new(List::of(items)))
    }

    pub fn object(fields: impl IntoIterator<Item = (Rc<str>, Self)>) -> Self {
        Self::Obj(Rc::new(fields.into_iter().collect()))
    }

    fn weight(&self) -> u64 {
        match self {
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Float(_) => 8,
            Self::Str(text) => text.len() as u64,
            Self::Arr(list) => list.size.weight,
            Self::Obj(fields) => fields.size.weight,
        }
    }

    fn depth(&self) -> u32 {
        match self {
            Self::Arr(list) => list.size.depth,
            Self::Obj(fields) => fields.size.depth,
            _ => 0,
        }
    }

    /// Returns the value as JSON.
    pub fn to_json(&self) -> String {
        limits::allocate(2 * self.weight());
        self.to_string()
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Int(_) | Self::Float(_) => 2,
            Self::Str(_) => 3,
            Self::Arr(_) => 4,
            Self::Obj(_) => 5,
        }
    }
}

impl From<&serde_json::Value> for Val {
    fn from(value: &serde_json::Value) -> Self {
        use serde_json::Value;
        match value {
            Value::Null => Self::Null,
            Value::Bool(is) => Self::Bool(*is),
            Value::Number(number) => number
                .as_i64()
                .and_then(|number| isize::try_from(number).ok())
                .map_or_else(
                    || Self::Float(number.as_f64().unwrap_or(f64::NAN)),
                    Self::Int,
                ),
            Value::String(text) => Self::text(text),
            Value::Array(items) => Self::list(items.iter().map(Self::from)),
            Value::Object(fields) => {
                let field = |(name, value): (&String, _)| (name.as_str().into(), Self::from(value));
                Self::object(fields.iter().map(field))
            }
        }
    }
}

impl From<bool> for Val {
    fn from(is: bool) -> Self {
        Self::Bool(is)
    }
}

impl From<isize> for Val {
    fn from(number: isize) -> Self {
        Self::Int(number)
    }
}

impl From<usize> for Val {
    fn from(number: usize) -> Self {
        #[allow(clippy::cast_precision_loss)] // as any number above 2^53
        isize::try_from(number).map_or(Self::Float(number as f64), Self::Int)
    }
}

impl From<f64> for Val {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<String> for Val {
    fn from(text: String) -> Self {
        Self::text(&text)
    }
}

impl From<Range<Self>> for Val {
    fn from(range: Range<Self>) -> Self {
        let ends = [("start", range.start), ("end", range.end)];
        Self::object(
            ends.into_iter()
                .filter_map(|(name, end)| Some((name.into(), end?))),
        )
    }
}

impl FromIterator<Self> for Val {
    fn from_iter<I: IntoIterator<Item = Self>>(iter: I) -> Self {
        Self::list(iter)
    }
}

impl fmt::Display for Val {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        limits::work();
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(is) => write!(f, "{is}"),
            Self::Int(number) => write!(f, "{number}"),
            Self::Float(number) => write_float(f, *number),
            Self::Str(text) => write_text(f, text),
            Self::Arr(list) => {
                f.write_str("[")?;
                for (at, item) in list.items.iter().enumerate() {
                    let comma = if at == 0 { "" } else { "," };
                    write!(f, "{comma}{item}")?;
                }
                f.write_str("]")
            }
            Self::Obj(fields) => {
                f.write_str("{")?;
                for (at, (name, value)) in fields.map.iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { "," })?;
                    write_text(f, name)?;
                    write!(f, ":{value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str(&serde_json::to_string(text).map_err(|_| fmt::Error)?)
}

/// Writes a number as JSON. NaN is `null` there, and infinity the largest number.
fn write_float(f: &mut fmt::Formatter<'_>, number: f64) -> fmt::Result {
    let number = number.clamp(f64::MIN, f64::MAX);
    f.write_str(&serde_json::to_string(&number).map_err(|_| fmt::Error)?)
}

#[allow(clippy::cast_precision_loss)] // as any number above 2^53
fn compare_numbers(a: &Val, b: &Val) -> Option<Ordering> {
    match (a, b) {
        (Val::Int(a), Val::Int(b)) => Some(a.cmp(b)),
        (Val::Int(a), Val::Float(b)) => (*a as f64).partial_cmp(b),
        (Val::Float(a), Val::Int(b)) => a.partial_cmp(&(*b as f64)),
        (Val::Float(a), Val::Float(b)) => a.partial_cmp(b),
        _ => None,
    }
}

impl Ord for Val {
    /// The order of jq: null, false, true, numbers, texts, arrays, objects. Here NaN equals NaN, so that it can be
    /// sorted.
    fn cmp(&self, other: &Self) -> Ordering {
        limits::work();
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Str(a), Self::Str(b)) => a.cmp(b),
            (Self::Arr(a), Self::Arr(b)) => a.items.cmp(&b.items),
            (Self::Obj(a), Self::Obj(b)) => {
                let (a, b) = (a.sorted(), b.sorted());
                let names = a
                    .iter()
                    .map(|field| field.0)
                    .cmp(b.iter().map(|field| field.0));
                names.then_with(|| {
                    a.iter()
                        .map(|field| field.1)
                        .cmp(b.iter().map(|field| field.1))
                })
            }
            (Self::Int(_) | Self::Float(_), Self::Int(_) | Self::Float(_)) => {
                compare_numbers(self, other).unwrap_or_else(|| {
                    let is_number = |value: &Self| !matches!(value, Self::Float(n) if n.is_nan());
                    is_number(self).cmp(&is_number(other))
                })
            }
            _ => self.kind().cmp(&other.kind()),
        }
    }
}

#[allow(clippy::non_canonical_partial_ord_impl)] // `isnan` of jq is `. < nan and nan < .`
impl PartialOrd for Val {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Float(a), Self::Int(_) | Self::Float(_)) if a.is_nan() => Some(Ordering::Less),
            _ => Some(self.cmp(other)),
        }
    }
}

impl PartialEq for Val {
    fn eq(&self, other: &Self) -> bool {
        limits::work();
        match (self, other) {
            (Self::Int(_) | Self::Float(_), Self::Int(_) | Self::Float(_)) => {
                compare_numbers(self, other) == Some(Ordering::Equal)
            }
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::Arr(a), Self::Arr(b)) => a.items == b.items,
            (Self::Obj(a), Self::Obj(b)) => {
                a.len() == b.len()
                    && a.map
                        .iter()
                        .all(|(name, value)| b.get(name).is_some_and(|b| b == value))
            }
            _ => false,
        }
    }
}

impl Eq for Val {}
