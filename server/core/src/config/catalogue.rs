//! The catalogue of settings: one row a setting.

use std::path::Path;

use serde_json::Value;

use super::choice::{self, Choice};
use super::form::{Setting, SettingForm};
use super::loosening::{Looser, SettingOrigin};

/// Default of `capture.maxFileSize`.
pub(crate) const MAX_FILE: u64 = 10 << 20;
/// Maximum of `capture.maxFileSize`: each thread of a scan holds a whole content in memory, and a merge holds three.
pub(crate) const MOST: u64 = 256 << 20;

/// Declaration of a setting.
#[derive(Clone, Copy, Debug)]
pub struct SettingInfo {
    pub name: &'static str,
    /// The values that it takes, and its default.
    pub form: SettingForm,
    /// The values that only the user says.
    pub looser: Looser,
    /// The end of the sentence "an editor's settings …", with which a looser value is refused.
    pub refusal: &'static str,
    /// The ways for the user to say it.
    pub instead: &'static str,
    /// True if an editor's value applies to other processes, too.
    pub is_shared: bool,
    /// True if VS Code shows it among its settings.
    pub is_in_editors: bool,
    /// The values in words, and how far those of a workspace's file and of an editor count: Markdown, for the table in
    /// the documentation.
    pub values: &'static str,
    pub others: &'static str,
}

const CONFIG: &str = "set it in your own config.toml";
const LESS_RECORDED: &str = "may have less recorded, never more";
const MORE_KEPT: &str = "may ask for more to be kept, never for less";
const MORE_HELD: &str = "may have more calls held, never fewer";
const MORE: &str = "only more than yours";
const SET_UP_JOBS: &str = "cannot set up the runs of jobs";
const STRICTER: &str = "only stricter than yours";
const LOWER: &str = "only lower than yours: less is recorded";

impl SettingInfo {
    const fn new(name: &'static str, form: SettingForm) -> Self {
        Self {
            name,
            form,
            looser: Looser::Never,
            refusal: "",
            instead: CONFIG,
            is_shared: true,
            is_in_editors: false,
            values: "",
            others: "",
        }
    }

    const fn in_editors(self) -> Self {
        Self {
            is_in_editors: true,
            ..self
        }
    }

    const fn looser(self, looser: Looser, refusal: &'static str) -> Self {
        Self {
            looser,
            refusal,
            ..self
        }
    }

    const fn doc(self, values: &'static str, others: &'static str) -> Self {
        Self {
            values,
            others,
            ..self
        }
    }
}

/// Values of a setting by which the tests try the rule for others' values. Each is TOML.
#[cfg(test)]
pub(super) struct Samples {
    /// The user's own value.
    pub own: &'static str,
    /// Values that loosen it.
    pub looser: &'static [&'static str],
    /// Values that tighten it or are harmless. They differ from `own`.
    pub heeded: &'static [&'static str],
}

/// A choice that is the value of a setting.
pub trait ChoiceSetting: Choice + Default {
    const KEY: Key;
}

/// Declares the settings. The order is that of lists. `as CHOICE`: its values are those of the choice. At the end of a row
/// are the values with which it is tested: the user's own, looser ones, and those that are heeded.
macro_rules! settings {
    ($(
        $key:ident $(as $choice:ident)?: $info:expr,
        own $own:literal looser [$($looser:literal),*] heeded [$($heeded:literal),*];
    )*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Key {
            $($key,)*
        }

        impl Key {
            pub const ALL: &[Self] = &[$(Self::$key,)*];

            /// Its row in the catalogue.
            pub fn info(self) -> &'static SettingInfo {
                match self {
                    $(Self::$key => const { &$info },)*
                }
            }

            #[cfg(test)]
            pub(super) fn samples(self) -> Samples {
                match self {
                    $(Self::$key => Samples {
                        own: $own,
                        looser: &[$($looser),*],
                        heeded: &[$($heeded),*],
                    },)*
                }
            }
        }

        $($(impl ChoiceSetting for choice::$choice {
            const KEY: Key = Key::$key;
        })?)*
    };
}

settings! {
    Exclude: SettingInfo::new("capture.exclude", SettingForm::Patterns)
        .looser(Looser::Patterns, LESS_RECORDED)
        .doc("a list of patterns", "yes; your patterns follow theirs, and so decide").in_editors(),
        own "['a']" looser [] heeded ["['b']", "['!a']"];
    Include: SettingInfo::new("capture.include", SettingForm::Patterns)
        .looser(Looser::Any, LESS_RECORDED)
        .doc(
            "a list of patterns",
            "no: more would be recorded, such as secrets, or files that fill the store",
        ).in_editors(),
        own "['a']" looser ["['*']", "['a', '.env']", "[]"] heeded [];
    MaxFileSize: SettingInfo::new("capture.maxFileSize", SettingForm::size(MAX_FILE, 1, MOST, "\"10MB\" or \"512 KiB\""))
        .looser(Looser::Larger, LESS_RECORDED)
        .doc("a number of bytes, or a text such as `\"10MB\"`, `\"512 KiB\"`", LOWER).in_editors(),
        own "5000" looser ["5001", "'11 MiB'"] heeded ["4999", "1"];
    CodeLens as Lenses: SettingInfo {
            is_shared: false,
            ..SettingInfo::new("codeLens", SettingForm::one_of(&choice::Lenses::NAMES, "all"))
        }
        .doc("", "yes: no recorded or restored file depends on it").in_editors(),
        own "'all'" looser [] heeded ["'off'", "'session'"];
    Restore as Restoring: SettingInfo {
            instead: "set it in your own config.toml, or pass --exact",
            ..SettingInfo::new("restore.default", SettingForm::one_of(&choice::Restoring::NAMES, "merge"))
        }
        .looser(Looser::Name("exact"), "cannot have your own edits taken out")
        .doc("", "only `merge`: `exact` discards your own edits").in_editors(),
        own "'merge'" looser ["'exact'"] heeded [];
    // it locates the store that would hold the value
    StoreDir: SettingInfo {
            instead: "set it in your own config.toml, or pass --store-dir",
            is_shared: false,
            ..SettingInfo::new("store.dir", SettingForm::Dir)
        }
        .looser(
            Looser::Any,
            "cannot name the place of histories, for it may come with a clone",
        )
        .doc(
            "a directory",
            "no: a clone could bring a prepared history; see [below](#in-an-editor)",
        ).in_editors(),
        own "'/mine'" looser ["'/x'", "'.s'"] heeded [];
    KeepDays: SettingInfo::new("store.keepDays", SettingForm::number("days", 30, 1, 36_500))
        .looser(Looser::Smaller, MORE_KEPT)
        .doc("days, from 1", MORE).in_editors(),
        own "9" looser ["8", "1"] heeded ["10"];
    MaxBytes: SettingInfo::new(
            "store.maxBytes",
            SettingForm::size(5 << 30, 1 << 20, u64::MAX, "\"2GB\" or \"500 MiB\"").zero("0 means no limit"),
        )
        .looser(Looser::SmallerLimit, MORE_KEPT)
        .doc(
            "a number of bytes, or a text such as `\"2 GB\"`; from 1 MiB, 0 means no limit",
            MORE,
        ).in_editors(),
        own "'3 GiB'" looser ["'2 GiB'"] heeded ["'4 GiB'", "0"];
    MaxCheckpoints: SettingInfo::new(
            "checkpoints.max",
            SettingForm::number("checkpoints", 0, 0, u64::MAX).zero("0 means no limit"),
        )
        .looser(Looser::SmallerLimit, MORE_KEPT)
        .doc("a number of checkpoints; 0 means no limit", MORE).in_editors(),
        own "9" looser ["8", "1"] heeded ["10", "0"];
    // "do not record" is a wish that a person may have in an editor, and it is said wherever people look
    Automatic: SettingInfo::new("checkpoints.automatic", SettingForm::Flag { default: true })
        .looser(Looser::True, LESS_RECORDED)
        .doc("", "only `false`: less is recorded").in_editors(),
        own "true" looser [] heeded ["false"];
    PauseTimeout: SettingInfo::new(
            "pause.timeout",
            SettingForm::number("seconds", 0, 0, u64::MAX).zero("0 is as long as the agent waits"),
        )
        .looser(Looser::SmallerLimit, MORE_HELD)
        .doc("seconds; 0 means as long as the agent waits", "only longer than yours"),
        own "9" looser ["8"] heeded ["10", "0"];
    PauseOnTimeout as OnTimeout: SettingInfo::new("pause.onTimeout", SettingForm::one_of(&choice::OnTimeout::NAMES, "deny"))
        .looser(Looser::Earlier(&["allow", "ask", "deny"]), MORE_HELD)
        .doc("", STRICTER),
        own "'ask'" looser ["'allow'"] heeded ["'deny'"];
    PauseUnattended as Unattended: SettingInfo::new("pause.unattended", SettingForm::one_of(&choice::Unattended::NAMES, "ask"))
        .looser(Looser::Earlier(&["allow", "ask", "hold", "deny"]), MORE_HELD)
        .doc("", STRICTER),
        own "'ask'" looser ["'allow'"] heeded ["'hold'", "'deny'"];
    AllowControl: SettingInfo::new("agents.allowControl", SettingForm::Flag { default: false })
        .looser(Looser::True, "cannot let agents decide on their own calls")
        .doc("", "only `false`"),
        own "false" looser ["true"] heeded [];
    // evaluations have the rights of their program, so nobody else sets them up
    EvalTimeout: SettingInfo::new("repl.evalTimeout", SettingForm::number("seconds", 30, 1, 86_400))
        .looser(Looser::Any, "cannot set up evaluations")
        .doc("seconds, from 1", "no: an evaluation has the rights of its program"),
        own "9" looser ["8", "10"] heeded [];
    Shell: SettingInfo::new("repl.shell", SettingForm::Program { default: "sh", what: "the name of a shell, such as \"bash\"" })
        .looser(Looser::Any, "cannot set up evaluations")
        .doc("a shell", "no"),
        own "'bash'" looser ["'./evil'"] heeded [];
    // a message has the whole value
    MaxObject: SettingInfo::new(
            "repl.maxObject",
            SettingForm::size(8 << 20, 0, 16 << 20, "\"8 MiB\"").zero("0 keeps no value"),
        )
        .looser(Looser::Larger, LESS_RECORDED)
        .doc("a size up to 16 MiB; 0 keeps no value", "only lower than yours: less is kept"),
        own "5000" looser ["5001"] heeded ["4999", "0"];
    // a clone could have it run anything
    Summarizer: SettingInfo::new(
            "summarize.command",
            SettingForm::Program { default: "", what: "a command, such as \"llm -m small\"" },
        )
        .looser(Looser::Any, "cannot name a command to run")
        .doc("a command of your shell", "no: it would be run"),
        own "'cat'" looser ["'./evil'"] heeded [];
    JobProblems: SettingInfo {
            is_shared: false,
            ..SettingInfo::new("jobs.problems", SettingForm::Flag { default: true })
        }
        .doc("", "yes: no recorded or restored file depends on it").in_editors(),
        own "true" looser [] heeded ["false"];
    KeepRuns: SettingInfo::new("jobs.keepRuns", SettingForm::number("runs", 10, 1, 100_000))
        .looser(Looser::Any, SET_UP_JOBS)
        .doc("a number of runs, from 1", "no: it holds for all your projects"),
        own "9" looser ["8", "10"] heeded [];
    KeepPoints: SettingInfo::new("jobs.keep", SettingForm::number("checkpoints", 50, 1, 100_000))
        .looser(Looser::Any, SET_UP_JOBS)
        .doc("a number of checkpoints of a job, from 1", "no: a step back would not reach as far"),
        own "9" looser ["8", "10"] heeded [];
    MissingActions as AbsentActions: SettingInfo {
            instead: "set it in your own config.toml, or pass --missing-actions",
            ..SettingInfo::new("jobs.missingActions", SettingForm::one_of(&choice::AbsentActions::NAMES, "fail"))
        }
        .looser(Looser::Any, SET_UP_JOBS)
        .doc("", "no: a job without its steps would succeed"),
        own "'fail'" looser ["'skip'"] heeded [];
    // a variable of the user may be a login
    InheritEnv: SettingInfo {
            instead: "set it in your own config.toml, or pass --inherit-env",
            ..SettingInfo::new("jobs.inheritEnv", SettingForm::Variables)
        }
        .looser(Looser::Any, SET_UP_JOBS)
        .doc("a list of names; a `*` at the end stands for any rest", "no: a variable may have a login"),
        own "['A']" looser ["['TOKEN']", "['A', 'B_*']", "[]"] heeded [];
}

impl Key {
    pub fn name(self) -> &'static str {
        self.info().name
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|key| key.name() == name)
    }

    /// Parses a value. `shown`: the value as written. `base`: directory for relative paths, if any. Err: the reason
    /// why it is invalid.
    pub fn read(self, value: &Value, shown: &str, base: Option<&Path>) -> Result<Setting, String> {
        self.info().form.read(value, shown, base)
    }

    /// Returns the value in force if somebody else than the user says this, and `own` is in force without it. The only
    /// way by which such a value comes into force. Err: the reason why it is not heeded.
    pub(super) fn heeded(
        self,
        own: Option<&Setting>,
        said: &Setting,
        origin: SettingOrigin,
    ) -> Result<Setting, String> {
        let info = self.info();
        if own == Some(said) || !info.looser.loosens(own, said) {
            return Ok(info.looser.joined(own, said));
        }
        Err(format!(
            "{} {}; {}",
            origin.subject(),
            info.refusal,
            info.instead
        ))
    }

    /// True if the name is a group of keys, such as `capture`.
    pub fn is_group(name: &str) -> bool {
        let in_it = |key: &Self| {
            let rest = key.name().strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        Self::ALL.iter().any(in_it)
    }
}

/// Message for an unknown key, with the list of known keys.
pub fn unknown() -> String {
    let names: Vec<&str> = Key::ALL.iter().map(|key| key.name()).collect();
    format!("unknown setting; the settings are {}", names.join(", "))
}
