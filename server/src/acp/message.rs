//! Messages of the Agent Client Protocol, as far as the proxy reads them. Lenient: unknown fields and methods are skipped,
//! and a field of an unknown form counts as absent. One pass over a line finds its parts; only those that matter are read.

use std::fmt;
use std::marker::PhantomData;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

type Raw<'a> = Option<&'a RawValue>;

/// A message of either side.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct AcpMessage<'a> {
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    method: Raw<'a>,
    #[serde(borrow)]
    params: Object<Params<'a>>,
    #[serde(borrow)]
    result: Object<ResultFields<'a>>,
    error: Option<IgnoredAny>,
}

/// The parameters of all methods that matter.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Params<'a> {
    #[serde(borrow)]
    session_id: Raw<'a>,
    #[serde(borrow)]
    cwd: Raw<'a>,
    #[serde(borrow)]
    prompt: Raw<'a>,
    #[serde(borrow)]
    update: Object<ToolUpdate<'a>>,
    #[serde(borrow)]
    tool_call: Object<ToolUpdate<'a>>,
    #[serde(borrow)]
    options: Raw<'a>,
    #[serde(borrow)]
    path: Raw<'a>,
    #[serde(borrow)]
    command: Raw<'a>,
    #[serde(borrow)]
    args: Raw<'a>,
    #[serde(borrow)]
    terminal_id: Raw<'a>,
}

/// The results of all methods that matter.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResultFields<'a> {
    #[serde(borrow)]
    protocol_version: Raw<'a>,
    #[serde(borrow)]
    agent_info: Raw<'a>,
    #[serde(borrow)]
    session_id: Raw<'a>,
    #[serde(borrow)]
    outcome: Raw<'a>,
    #[serde(borrow)]
    terminal_id: Raw<'a>,
    #[serde(borrow)]
    exit_code: Raw<'a>,
}

/// A tool call, or news of one.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ToolUpdate<'a> {
    #[serde(borrow)]
    session_update: Raw<'a>,
    #[serde(borrow)]
    tool_call_id: Raw<'a>,
    #[serde(borrow)]
    status: Raw<'a>,
    #[serde(borrow)]
    kind: Raw<'a>,
    #[serde(borrow)]
    title: Raw<'a>,
    #[serde(borrow)]
    content: Raw<'a>,
    #[serde(borrow)]
    locations: Raw<'a>,
    #[serde(borrow)]
    raw_input: Raw<'a>,
    #[serde(borrow)]
    raw_output: Raw<'a>,
    #[serde(borrow, rename = "_meta")]
    meta: Raw<'a>,
}

/// An option that the agent offers in its question.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionOption {
    pub option_id: String,
    #[serde(default)]
    pub kind: String,
}

/// The user's answer to the agent's question.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PermissionOutcome {
    pub outcome: String,
    pub option_id: Option<String>,
}

/// A part of a file before and after an edit, or the whole file: agents differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    pub path: PathBuf,
    /// None: the file is new.
    pub old: Option<String>,
    pub new: String,
}

/// An object, or None for a value of another form.
#[derive(Debug)]
struct Object<T>(Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lenient<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Lenient<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|read| Object(Some(read)))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Object(None))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Object(None))
            }

            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(Object(None))
            }

            fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
                Ok(Object(None))
            }

            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(Object(None))
            }

            fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
                Ok(Object(None))
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Object(None))
            }
        }
        deserializer.deserialize_any(Lenient(PhantomData))
    }
}

impl<'a> AcpMessage<'a> {
    /// Reads a line. None: it is not a message that the proxy understands.
    pub fn read(line: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// Returns the id as it stands in the line.
    pub fn id(&self) -> Option<&'a str> {
        self.id.map(RawValue::get)
    }

    pub fn method(&self) -> Option<String> {
        value(self.method)
    }

    pub fn params(&self) -> Option<&Params<'a>> {
        self.params.0.as_ref()
    }

    /// Returns the result of an answer. None: it is an error, or a result without fields.
    pub fn result(&self) -> Option<&ResultFields<'a>> {
        self.result.0.as_ref()
    }

    pub fn is_error(&self) -> bool {
        self.error.is_some()
    }
}

impl<'a> Params<'a> {
    pub fn session(&self) -> Option<String> {
        value(self.session_id)
    }

    pub fn cwd(&self) -> Option<PathBuf> {
        value(self.cwd)
    }

    pub fn path(&self) -> Option<PathBuf> {
        value(self.path)
    }

    pub fn terminal(&self) -> Option<String> {
        value(self.terminal_id)
    }

    /// Returns the news of a tool call.
    pub fn update(&self) -> Option<&ToolUpdate<'a>> {
        self.update.0.as_ref()
    }

    /// Returns the tool call of a question.
    pub fn tool_call(&self) -> Option<&ToolUpdate<'a>> {
        self.tool_call.0.as_ref()
    }

    /// Returns the options of a question, as far as they can be read.
    pub fn options(&self) -> Vec<PermissionOption> {
        items(self.options)
    }

    /// Returns the command line of a terminal.
    pub fn command_line(&self) -> Option<String> {
        let mut line: String = value(self.command)?;
        for arg in value::<Vec<String>>(self.args).unwrap_or_default() {
            line.push(' ');
            line.push_str(&arg);
        }
        Some(line)
    }

    /// Returns the text of a prompt. A file that the user mentions stands as `@name`.
    pub fn prompt(&self) -> String {
        #[derive(Deserialize)]
        struct PromptBlock {
            #[serde(default)]
            text: Option<String>,
            #[serde(default)]
            name: Option<String>,
            #[serde(default)]
            uri: Option<String>,
        }
        let mut text = String::new();
        for block in items::<PromptBlock>(self.prompt) {
            let uri = block.uri.as_deref().and_then(|uri| uri.rsplit('/').next());
            if let Some(part) = block.text {
                text.push_str(&part);
            } else if let Some(name) = block.name.as_deref().or(uri) {
                text.push('@');
                text.push_str(name);
            }
        }
        text
    }
}

impl ResultFields<'_> {
    pub fn version(&self) -> Option<u64> {
        value(self.protocol_version)
    }

    pub fn agent_name(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Info {
            name: String,
        }
        value::<Info>(self.agent_info).map(|info| info.name)
    }

    pub fn session(&self) -> Option<String> {
        value(self.session_id)
    }

    pub fn terminal(&self) -> Option<String> {
        value(self.terminal_id)
    }

    pub fn exit_code(&self) -> Option<i64> {
        value(self.exit_code)
    }

    pub fn outcome(&self) -> Option<PermissionOutcome> {
        value(self.outcome)
    }
}

impl<'a> ToolUpdate<'a> {
    /// True if it is about a tool call.
    pub fn is_of_call(&self) -> bool {
        let about: Option<String> = value(self.session_update);
        matches!(about.as_deref(), Some("tool_call" | "tool_call_update"))
    }

    pub fn id(&self) -> Option<String> {
        value(self.tool_call_id)
    }

    pub fn status(&self) -> Option<String> {
        value(self.status)
    }

    pub fn kind(&self) -> Option<String> {
        value(self.kind)
    }

    pub fn title(&self) -> Option<String> {
        value(self.title)
    }

    /// Returns the tool's input as it stands in the line, unless it is empty.
    pub fn input(&self) -> Option<&'a str> {
        let raw = self.raw_input?.get();
        let inside = raw.strip_prefix('{').and_then(|raw| raw.strip_suffix('}'));
        let is_empty = raw == "null" || inside.is_some_and(|inside| inside.trim().is_empty());
        (!is_empty).then_some(raw)
    }

    /// Returns the exit status of a shell command, where the agent tells it.
    pub fn exit_code(&self) -> Option<i64> {
        #[derive(Deserialize)]
        struct Output {
            #[serde(alias = "exit_code", alias = "exit", rename = "exitCode")]
            code: i64,
        }
        value::<Output>(self.raw_output).map(|output| output.code)
    }

    /// Returns the agent's own name of the tool, where it tells one.
    pub fn tool(&self) -> Option<String> {
        #[derive(Default, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        struct Meta {
            tool_name: Option<String>,
            claude_code: Option<Own>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Own {
            tool_name: String,
        }
        let meta: Meta = value(self.meta)?;
        meta.tool_name
            .or_else(|| meta.claude_code.map(|own| own.tool_name))
    }

    pub fn locations(&self) -> Vec<PathBuf> {
        #[derive(Deserialize)]
        struct Location {
            path: PathBuf,
        }
        let all = items::<Location>(self.locations);
        all.into_iter().map(|location| location.path).collect()
    }

    pub fn diffs(&self) -> Vec<Diff> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct ToolContent {
            r#type: String,
            path: PathBuf,
            #[serde(default)]
            old_text: Option<String>,
            new_text: String,
        }
        let all = items::<ToolContent>(self.content);
        let diffs = all.into_iter().filter(|one| one.r#type == "diff");
        diffs
            .map(|one| Diff {
                path: one.path,
                old: one.old_text,
                new: one.new_text,
            })
            .collect()
    }
}

fn value<T: DeserializeOwned>(raw: Raw<'_>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

/// Returns the items of a list that have the form of `T`.
fn items<T: DeserializeOwned>(raw: Raw<'_>) -> Vec<T> {
    let all: Option<Vec<&RawValue>> = raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let all = all.unwrap_or_default().into_iter();
    all.filter_map(|one| value(Some(one))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_lines_are_no_messages_and_odd_fields_are_absent() {
        for line in ["", "[]", "null", "no json", r#"{"id":1,"id":2}"#, "[{}]"] {
            let read = AcpMessage::read(line.as_bytes());
            assert!(read.is_none_or(|read| read.method().is_none()), "{line}");
        }
        assert!(AcpMessage::read(b"{\"method\":\"\xff\"}").is_none());
        let odd = br#"{"id":1e400,"method":7,"params":[1,{"a":[]}],"result":"x","error":null}"#;
        let read = AcpMessage::read(odd).unwrap();
        assert_eq!(read.id(), Some("1e400"));
        assert!(read.method().is_none() && read.params().is_none() && read.result().is_none());
        assert!(!read.is_error());
        let odd = br#"{"params":{"update":3,"sessionId":{},"options":[1,{"optionId":"a"}]}}"#;
        let read = AcpMessage::read(odd).unwrap();
        let params = read.params().unwrap();
        assert!(params.update().is_none() && params.session().is_none());
        assert_eq!(params.options().len(), 1);
    }

    #[test]
    fn a_prompt_has_its_texts_and_the_names_of_files() {
        let line = br#"{"params":{"prompt":[{"type":"text","text":"fix "},
            {"type":"resource_link","name":"a.rs","uri":"file:///w/a.rs"},{"type":"text","text":" now"},
            {"type":"image","data":"x"}]}}"#;
        let read = AcpMessage::read(line).unwrap();
        assert_eq!(read.params().unwrap().prompt(), "fix @a.rs now");
    }

    #[test]
    fn a_tool_call_has_its_paths_its_input_and_its_diffs() {
        let line = br#"{"params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","kind":"edit",
            "rawInput":{},"locations":[{"path":"/w/a","line":3},{}],"_meta":{"toolName":"edit"},
            "content":[{"type":"diff","path":"/w/a","oldText":null,"newText":"n\u00e9"},{"type":"content"}]}}}"#;
        let read = AcpMessage::read(line).unwrap();
        let update = read.params().unwrap().update().unwrap();
        assert!(update.is_of_call());
        assert_eq!(update.tool().as_deref(), Some("edit"));
        assert_eq!(update.input(), None);
        assert_eq!(update.locations(), [PathBuf::from("/w/a")]);
        let diff = Diff {
            path: "/w/a".into(),
            old: None,
            new: "n\u{e9}".into(),
        };
        assert_eq!(update.diffs(), [diff]);
    }
}
