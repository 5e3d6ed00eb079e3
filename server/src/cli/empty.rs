//! Arguments that are empty, as `--path "$FILE"` is with a variable that is not set. None of them means everything.

use std::ffi::OsStr;

use clap::error::{Error, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

/// Refuses empty values, but for those that are passed on to another program.
pub fn check(command: &mut Command, matches: &ArgMatches) -> Result<(), Error> {
    match first(command, matches) {
        None => Ok(()),
        Some(name) => Err(command.error(
            ErrorKind::InvalidValue,
            format!("{name} is empty; was a variable not set?"),
        )),
    }
}

/// Returns the name of the first argument with an empty value.
fn first(command: &Command, matches: &ArgMatches) -> Option<String> {
    let is_empty = |id: &str| {
        let typed = matches.value_source(id) == Some(ValueSource::CommandLine);
        let values = matches.try_get_raw(id).ok().flatten();
        typed && values.is_some_and(|mut values| values.any(OsStr::is_empty))
    };
    // the help of `--when` says that it takes one, and what that does
    let takes_empty = |arg: &Arg| {
        arg.get_help()
            .is_some_and(|help| help.to_string().contains("''"))
    };
    let mut own = command.get_arguments();
    let own = own.find(|arg| {
        let is_passed_on = arg.is_trailing_var_arg_set();
        !is_passed_on && !takes_empty(arg) && is_empty(arg.get_id().as_str())
    });
    own.map(ToString::to_string).or_else(|| {
        let (name, matches) = matches.subcommand()?;
        first(command.find_subcommand(name)?, matches)
    })
}
