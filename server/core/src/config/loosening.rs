//! The values of a setting that loosen what is in force without them: less is kept, more is recorded, fewer calls are
//! held, the user's own edits go, or a program runs. Only the user says such a value. Pure.

use super::form::Setting;

/// A way by which a value comes that need not be the user's own: a clone can bring it, and an agent can write it. The
/// user's own `config.toml` and the command line always count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    /// The workspace's own file.
    Workspace,
    /// An editor, whose settings may be those of a project: the server cannot tell them from the user's.
    Editor,
}

impl SettingOrigin {
    pub const ALL: [Self; 2] = [Self::Workspace, Self::Editor];

    pub(super) fn subject(self) -> &'static str {
        match self {
            Self::Workspace => "a file in a workspace",
            Self::Editor => "an editor's settings, which a project can set, too,",
        }
    }
}

/// The looser values of a setting. By whom it may be loosened is the same for all: by the user alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looser {
    /// No value is.
    Never,
    Any,
    Smaller,
    Larger,
    /// As `Smaller`, where 0 means no limit.
    SmallerLimit,
    True,
    /// This name.
    Name(&'static str),
    /// A name that stands before the one in force, in this order.
    Earlier(&'static [&'static str]),
    /// Patterns are added in front of those in force: the later of two that match decides, and that is the user's.
    Patterns,
}

impl Looser {
    /// True if a value is looser than the one in force. A value of a form that is not known here is.
    pub(super) fn loosens(self, own: Option<&Setting>, said: &Setting) -> bool {
        match self {
            Self::Never | Self::Patterns => false,
            Self::Any => true,
            Self::True => *said != Setting::Flag(false),
            Self::Name(looser) => said.name().is_none_or(|name| name == looser),
            Self::Earlier(order) => {
                let place = |setting: &Setting| {
                    let name = setting.name()?;
                    order.iter().position(|one| *one == name)
                };
                match (own.and_then(place), place(said)) {
                    (Some(own), Some(said)) => said < own,
                    _ => true,
                }
            }
            Self::Smaller | Self::Larger | Self::SmallerLimit => {
                match (own.and_then(Setting::number), said.number()) {
                    (Some(own), Some(said)) => match self {
                        Self::Smaller => said < own,
                        Self::Larger => said > own,
                        _ => said != 0 && (own == 0 || said < own),
                    },
                    _ => true,
                }
            }
        }
    }

    pub(super) fn joined(self, own: Option<&Setting>, said: &Setting) -> Setting {
        match (self, own, said) {
            (Self::Patterns, Some(Setting::Patterns(own)), Setting::Patterns(said)) => {
                let mut all = said.clone();
                all.extend(own.iter().cloned());
                Setting::Patterns(all)
            }
            _ => said.clone(),
        }
    }
}
