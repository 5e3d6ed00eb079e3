//! A kind of breakpoint as it is typed. The subcommands of `breakpoint add` are made from the catalogue of kinds.

use backstitch_control::{BreakpointAction, FieldForm, KindField, KindInfo, user_kinds};
use backstitch_core::config::Unattended;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches, Subcommand, value_parser};
use serde_json::{Map, Value};

use crate::cli::choice::one_of;
use crate::cli::complete;

#[derive(Debug, Args)]
pub struct BreakpointOptions {
    /// Condition in jq on the call: `.input.file_path | endswith(".sql")`
    #[arg(long, value_name = "JQ")]
    pub when: Option<String>,
    /// Condition on the number of hits: `>= 3`, `== 2`, `% 5`
    #[arg(long, value_name = "EXPR")]
    pub hits: Option<String>,
    /// Pause the agent, write a line to the log, or refuse the call
    #[arg(long, default_value = "pause", value_parser = one_of(&BreakpointAction::ALL, BreakpointAction::name))]
    pub action: BreakpointAction,
    /// Message for the model with `deny`; text with `{jq}` in it with `log`
    #[arg(long, value_name = "TEXT")]
    pub message: Option<String>,
    /// Remove it with its first hit
    #[arg(long)]
    pub once: bool,
    /// Stop after the call instead of before it
    #[arg(long)]
    pub after: bool,
    /// Only calls of this agent
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// Only calls of this subagent; `main` is the main thread, `*` every subagent
    #[arg(long, value_name = "ID")]
    pub subagent: Option<String>,
    /// Only calls of this session
    #[arg(short, long, value_name = "ID", add = complete::sessions())]
    pub session: Option<String>,
    /// Outcome of a pause that nobody sees [default: `pause.unattended`]
    #[arg(long, value_name = "OUTCOME", value_parser = one_of(&Unattended::ALL, Unattended::name))]
    pub unattended: Option<Unattended>,
}

/// A kind with its parameters as they were typed.
#[derive(Debug)]
pub struct TypedKind {
    pub kind: &'static KindInfo,
    pub fields: Map<String, Value>,
    pub options: BreakpointOptions,
}

/// Examples of options, after one of each kind.
const MORE_EXAMPLES: [&str; 4] = [
    "path .env --edits",
    "command '/curl .*[|] *sh/'",
    "pattern 'password' --action deny --message 'Leave passwords alone.'",
    "tool Edit --when '.paths | any(endswith(\".sql\"))' --hits '% 5'",
];

/// The examples in the help of `breakpoint add`.
pub fn examples() -> String {
    let of_kinds = user_kinds().map(|kind| format!("{} {}", kind.name, kind.example));
    let more = MORE_EXAMPLES.iter().map(|text| (*text).to_owned());
    let lines = of_kinds.chain(more);
    let lines: Vec<String> = lines
        .map(|arguments| format!("  backstitch breakpoint add {arguments}"))
        .collect();
    format!("Examples:\n{}", lines.join("\n"))
}

fn command(kind: &'static KindInfo) -> clap::Command {
    let command = clap::Command::new(kind.name).about(kind.summary);
    let command = command.args(kind.fields.iter().map(arg));
    BreakpointOptions::augment_args(command)
}

fn arg(field: &'static KindField) -> Arg {
    let arg = Arg::new(field.name).help(field.help);
    let arg = if field.is_required {
        arg.required(true)
    } else {
        arg.long(field.name)
    };
    match field.form {
        FieldForm::Flag => arg.action(ArgAction::SetTrue),
        FieldForm::Number => arg
            .value_name(field.placeholder)
            .value_parser(value_parser!(u64)),
        FieldForm::Choice(all) => arg
            .value_name(field.placeholder)
            .value_parser(PossibleValuesParser::new(all)),
        FieldForm::Text | FieldForm::Paths | FieldForm::Lines => arg.value_name(field.placeholder),
    }
}

/// Returns a field as it was typed. None: it was not.
fn typed(field: &KindField, matches: &ArgMatches) -> Option<Value> {
    match field.form {
        FieldForm::Flag => Some(Value::from(matches.get_flag(field.name))),
        FieldForm::Number => matches
            .get_one::<u64>(field.name)
            .map(|number| Value::from(*number)),
        FieldForm::Text | FieldForm::Paths | FieldForm::Lines | FieldForm::Choice(_) => matches
            .get_one::<String>(field.name)
            .map(|text| Value::from(text.as_str())),
    }
}

impl Subcommand for TypedKind {
    fn augment_subcommands(command: clap::Command) -> clap::Command {
        command.subcommands(user_kinds().map(self::command))
    }

    fn augment_subcommands_for_update(command: clap::Command) -> clap::Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        user_kinds().any(|kind| kind.name == name)
    }
}

impl FromArgMatches for TypedKind {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        let kind = user_kinds().find(|kind| kind.name == name);
        let kind = kind.ok_or_else(missing)?;
        let fields = kind.fields.iter();
        let fields = fields
            .filter_map(|field| Some((field.name.to_owned(), typed(field, matches)?)))
            .collect();
        Ok(Self {
            kind,
            fields,
            options: BreakpointOptions::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
