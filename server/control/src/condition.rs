//! Conditions and log texts of breakpoints, in jq. Each evaluation has its own thread with limits on time, memory
//! and nesting, and reaches neither the environment nor files.

mod functions;
mod limits;
mod operators;
mod template;
#[cfg(test)]
mod tests;
mod value;

use std::fmt::{self, Display, Write as _};
use std::sync::Arc;
use std::time::Duration;

use crate::CallMoment;
use jaq_core::compile::Undefined;
use jaq_core::data::HasLut;
use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, Ctx, DataT, Exn, Filter, Lut, ValT as _, Vars};
use serde::Serialize;
use serde_json::Value;

use template::TextPart;
use value::Val;

/// Time of an evaluation.
const TIME: Duration = Duration::from_millis(100);
/// Time to compile, which happens while a person waits.
const COMPILE_TIME: Duration = Duration::from_secs(2);
/// Bytes of a condition. The parser needs stack for each level of nesting.
const MAX_TEXT: usize = 4096;
/// Characters of a value in a log text, and of a value in an error.
const MAX_SHOWN: usize = 2000;
const MAX_IN_ERROR: usize = 200;
/// Characters of an output that a person asked for.
const MAX_OUTPUT: usize = 100_000;

/// The document that conditions and log texts see.
#[derive(Clone, Debug, Serialize)]
pub struct ConditionInput {
    pub tool: String,
    pub input: Value,
    pub at: CallMoment,
    pub agent: String,
    pub session: String,
    /// None: the main thread.
    pub subagent: Option<String>,
    pub turn: ConditionTurn,
    /// Number of the call in its session.
    pub iteration: u32,
    pub cwd: String,
    /// The files that the call names.
    pub paths: Vec<String>,
    pub predicted: Vec<ConditionChange>,
    /// The error that the tool reported.
    pub error: Option<String>,
}

/// The turn of a call, so far.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ConditionTurn {
    pub number: Option<i64>,
    pub prompt: Option<String>,
    pub calls: u64,
    pub files: u64,
    pub seconds: u64,
}

/// A predicted change of a file, in lines.
#[derive(Clone, Debug, Serialize)]
pub struct ConditionChange {
    pub path: String,
    pub added: u64,
    pub removed: u64,
}

/// A compiled condition.
#[derive(Clone)]
pub struct Condition {
    jq: Arc<str>,
    filter: Arc<Filter<Metered>>,
    time: Duration,
}

/// A compiled text of a log point.
#[derive(Clone)]
pub struct LogText {
    parts: Arc<Vec<(TextPart, Option<Filter<Metered>>)>>,
    time: Duration,
}

/// A text of a log point with its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    pub text: String,
    /// The reason why a value is missing. Its jq stands in the text then.
    pub problem: Option<String>,
}

/// Kind of data that jq works on. Each evaluation of a term asks for the table of terms, and is counted by that.
struct Metered;

#[derive(Clone, Copy)]
struct Terms<'a>(&'a Lut<Metered>);

impl DataT for Metered {
    type V<'a> = Val;
    type Data<'a> = Terms<'a>;
}

impl<'a> HasLut<'a, Metered> for Terms<'a> {
    fn lut(&self) -> &'a Lut<Metered> {
        limits::step();
        self.0
    }
}

impl Condition {
    /// Compiles a condition. Err: the mistake and its place, for the user.
    pub fn compile(jq: &str) -> Result<Self, String> {
        Ok(Self {
            jq: jq.into(),
            filter: Arc::new(compile(jq)?),
            time: TIME,
        })
    }

    /// Returns the truth of the first output; without output, it is false. Err: the reason why there is none.
    pub fn holds(&self, input: &ConditionInput) -> Result<bool, String> {
        let filter = self.filter.clone();
        let input = document(input)?;
        limits::limited(self.time, move || {
            let output = first(&filter, Val::from(&input))?;
            Ok(output.is_some_and(|value| value.as_bool()))
        })
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Condition").field(&self.jq).finish()
    }
}

impl fmt::Debug for LogText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts.iter().map(|(part, _)| part);
        f.debug_list().entries(parts).finish()
    }
}

impl LogText {
    /// Compiles the text of a log point: `agent edits {.tool}: {.paths[0]}`. Err: the mistake, for the user.
    pub fn compile(text: &str) -> Result<Self, String> {
        let with_filter = |part| {
            let filter = match &part {
                TextPart::Jq(jq) => Some(compile(jq)?),
                TextPart::Text(_) => None,
            };
            Ok((part, filter))
        };
        let parts: Result<Vec<_>, String> = template::parts(text)?
            .into_iter()
            .map(with_filter)
            .collect();
        Ok(Self {
            parts: Arc::new(parts?),
            time: TIME,
        })
    }

    /// Returns the text with its values. A value that cannot be evaluated stands there as jq.
    pub fn render(&self, input: &ConditionInput) -> Rendered {
        self.render_document(document(input))
    }

    /// As `render`, for any document.
    fn render_document(&self, document: Result<Value, String>) -> Rendered {
        let parts = self.parts.clone();
        let evaluate = move |input: Value| {
            let input = Val::from(&input);
            let mut rendered = Rendered::default();
            for (part, filter) in &*parts {
                let value = filter.as_ref().map(|filter| first(filter, input.clone()));
                rendered.add(part, value);
            }
            Ok(rendered)
        };
        let rendered =
            document.and_then(|input| limits::limited(self.time, move || evaluate(input)));
        rendered.unwrap_or_else(|problem| {
            let mut rendered = Rendered::default();
            for (part, _) in &*self.parts {
                rendered.add(part, Some(Err(problem.clone())));
            }
            rendered
        })
    }
}

/// Evaluates jq on any document, and returns its outputs as JSON texts. Err: the mistake, for the user.
pub fn outputs(jq: &str, document: &Value, time: Duration) -> Result<Vec<String>, String> {
    let filter = compile(jq)?;
    let document = document.clone();
    limits::limited(time, move || {
        let context = Ctx::<Metered>::new(Terms(&filter.lut), Vars::new([]));
        let mut texts = Vec::new();
        for output in filter.id.run((context, Val::from(&document))) {
            texts.push(shown(&output.map_err(reason)?, MAX_OUTPUT));
        }
        Ok(texts)
    })
}

/// Fills in the text of a log point. Err: the mistake in it.
pub fn render(text: &str, input: &ConditionInput) -> Result<Rendered, String> {
    Ok(LogText::compile(text)?.render(input))
}

/// As `render`, for any document.
pub fn render_with(text: &str, document: Value) -> Result<Rendered, String> {
    Ok(LogText::compile(text)?.render_document(Ok(document)))
}

impl Rendered {
    /// Adds a part, of jq with its value.
    fn add(&mut self, part: &TextPart, value: Option<Result<Option<Val>, String>>) {
        match (part, value) {
            (TextPart::Text(text), _) => self.text.push_str(text),
            (TextPart::Jq(_), Some(Ok(Some(Val::Str(text))))) => {
                self.text.push_str(&shown(&text, MAX_SHOWN));
            }
            (TextPart::Jq(_), Some(Ok(Some(value)))) => {
                self.text.push_str(&shown(&value, MAX_SHOWN));
            }
            (TextPart::Jq(_), Some(Ok(None)) | None) => {}
            (TextPart::Jq(jq), Some(Err(problem))) => {
                self.text.extend(["{", jq, "}"]);
                self.problem.get_or_insert(problem);
            }
        }
    }
}

fn document(input: &ConditionInput) -> Result<Value, String> {
    serde_json::to_value(input).map_err(|error| format!("the call is not JSON: {error}"))
}

/// Returns the first output.
fn first(filter: &Filter<Metered>, input: Val) -> Result<Option<Val>, String> {
    let context = Ctx::<Metered>::new(Terms(&filter.lut), Vars::new([]));
    let mut outputs = filter.id.run((context, input));
    outputs.next().transpose().map_err(reason)
}

fn reason(exception: Exn<'_, Val>) -> String {
    let Ok(error) = exception.get_err() else {
        return "it leaves a label that is not around it".to_owned();
    };
    let text = shown(&error, MAX_IN_ERROR);
    // a text that was passed to `error` is shown without quotes
    serde_json::from_str(&text).unwrap_or(text)
}

/// Returns a text of at most so many characters.
fn shown(value: &impl Display, limit: usize) -> String {
    struct Cut {
        text: String,
        left: usize,
    }
    impl fmt::Write for Cut {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            for c in text.chars() {
                self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
                self.text.push(c);
            }
            Ok(())
        }
    }
    let mut cut = Cut {
        text: String::new(),
        left: limit,
    };
    if write!(cut, "{value}").is_err() {
        cut.text.push('…');
    }
    cut.text
}

fn compile(jq: &str) -> Result<Filter<Metered>, String> {
    if jq.len() > MAX_TEXT {
        return Err(format!("the jq is longer than {MAX_TEXT} bytes"));
    }
    let text = jq.to_owned();
    limits::limited(COMPILE_TIME, move || compile_here(&text))
}

fn compile_here(jq: &str) -> Result<Filter<Metered>, String> {
    // most of the time goes to the definitions of jq's functions
    if !may_name_functions(jq)
        && let Ok(filter) = compile_with(jq, Vec::new())
    {
        return Ok(filter);
    }
    compile_with(jq, functions::definitions())
}

/// False if no word of the text can be a function: fields and variables alone. A text with words inside of strings counts
/// as one that may.
fn may_name_functions(jq: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut before = ' ';
    let mut rest = jq;
    while let Some(c) = rest.chars().next() {
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if length == 0 {
            before = c;
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let (word, after) = rest.split_at(length);
        let is_operator = matches!(word, "and" | "or" | "as");
        let is_named = matches!(before, '.' | '$') || c.is_ascii_digit();
        if !is_operator && !is_named {
            return true;
        }
        before = ' ';
        rest = after;
    }
    false
}

fn compile_with(
    jq: &str,
    definitions: Vec<load::parse::Def<&'static str>>,
) -> Result<Filter<Metered>, String> {
    let arena = Arena::default();
    let file = File { code: jq, path: () };
    let modules = Loader::new(definitions)
        .load(&arena, file)
        .map_err(|errors| {
            errors
                .first()
                .map_or_else(String::new, |(_, error)| mistake(jq, error))
        })?;
    // `import` of data; modules are refused by the loader
    load::import(&modules, |_| Err(String::new()))
        .map_err(|_| "no modules can be loaded here".to_owned())?;
    Compiler::default()
        .with_funs(functions::functions())
        .compile(modules)
        .map_err(|errors| {
            let undefined = errors.first().and_then(|(_, undefined)| undefined.first());
            undefined.map_or_else(String::new, |(name, what)| unknown(jq, name, what))
        })
}

fn mistake(jq: &str, error: &load::Error<&str>) -> String {
    match error {
        load::Error::Io(_) => "no modules can be loaded here".to_owned(),
        load::Error::Lex(mistakes) => {
            mistakes.first().map_or_else(String::new, |(expected, at)| {
                let expected = match expected {
                    load::lex::Expect::Delim(open) => format!("the end of `{open}`"),
                    expected => expected.as_str().to_owned(),
                };
                at_place(jq, at, &format!("expected {expected}"))
            })
        }
        load::Error::Parse(mistakes) => {
            mistakes.first().map_or_else(String::new, |(expected, at)| {
                let found = if at.is_empty() {
                    "its end".to_owned()
                } else {
                    format!("`{at}`")
                };
                at_place(
                    jq,
                    at,
                    &format!("expected {}, found {found}", expected.as_str()),
                )
            })
        }
    }
}

fn unknown(jq: &str, name: &str, what: &Undefined) -> String {
    let reason = match what {
        Undefined::Filter(0) => format!("there is no function `{name}`"),
        Undefined::Filter(arity) => {
            format!("there is no function `{name}` with {arity} parameters")
        }
        what => format!("there is no {} `{name}`", what.as_str()),
    };
    at_place(jq, name, &reason)
}

/// Names the place of a part of the text.
fn at_place(jq: &str, part: &str, reason: &str) -> String {
    let offset = part.as_ptr().addr().checked_sub(jq.as_ptr().addr());
    let before = offset.and_then(|offset| jq.get(..offset));
    let jq = shown(&jq, MAX_IN_ERROR);
    match before {
        Some(before) => {
            let column = before.chars().count() + 1;
            format!("the jq `{jq}` has a mistake at character {column}: {reason}")
        }
        None => format!("the jq `{jq}` has a mistake: {reason}"),
    }
}

/// Compiles any text as a condition and as the text of a log point. Each is refused with a reason, or ends.
#[cfg(any(test, fuzzing))]
pub fn exercise(text: &[u8]) {
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let input = ConditionInput {
        tool: "Edit".to_owned(),
        input: serde_json::json!({"file_path": "src/a.rs", "edits": [1, {"new": "x"}]}),
        at: CallMoment::Before,
        agent: "claude-code".to_owned(),
        session: "0123".to_owned(),
        subagent: None,
        turn: ConditionTurn::default(),
        iteration: 1,
        cwd: "/work".to_owned(),
        paths: vec!["src/a.rs".to_owned()],
        predicted: Vec::new(),
        error: None,
    };
    match Condition::compile(text) {
        Ok(condition) => {
            if let Err(reason) = condition.holds(&input) {
                assert!(!reason.contains("internal"), "{text}: {reason}");
            }
        }
        Err(mistake) => assert!(
            !mistake.is_empty() && !mistake.contains("internal"),
            "{text}: {mistake}"
        ),
    }
    match LogText::compile(text) {
        Ok(text) => drop(text.render(&input)),
        Err(mistake) => assert!(
            !mistake.is_empty() && !mistake.contains("internal"),
            "{text}: {mistake}"
        ),
    }
}
