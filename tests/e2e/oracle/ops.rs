//! The generated operations and their generators. Indices are taken modulo the number of existing items, so that a
//! shortened sequence stays meaningful.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::Union;

use super::model::Who;

/// Possible paths of files: nested, hidden by some rules, and one name that is also a directory.
pub const PATHS: [&str; 11] = [
    "a.txt",
    "b.txt",
    "c",
    "d/e.txt",
    "d/f.txt",
    "d/g/h.txt",
    "i.log",
    "gen/j.txt",
    "k/l/m/n",
    "d",
    "o.bin",
];

pub const RULES: [&str; 4] = ["", "*.log\n", "gen/\n", "*.log\ngen/\n"];

/// One change on disk. `Replaced`: a file moves, and an equal one takes its place at once. `Copy`: a file is copied,
/// maybe to where it was before.
#[derive(Clone, Debug)]
pub enum Edit {
    Insert { file: u8, at: u8, lines: u8 },
    Delete { file: u8, at: u8, lines: u8 },
    Replace { file: u8, at: u8, lines: u8 },
    Create { path: u8, lines: u8 },
    Binary { path: u8 },
    Remove { file: u8 },
    Rename { file: u8, to: u8 },
    Replaced { file: u8, to: u8 },
    Copy { file: u8, to: u8 },
    Chmod { file: u8, executable: bool },
    Link { path: u8, target: u8 },
    FinalNewline { file: u8 },
    Rules { rules: u8 },
}

impl Edit {
    /// It is about a second path, too.
    pub fn names_another(&self) -> bool {
        matches!(
            self,
            Self::Rename { .. } | Self::Replaced { .. } | Self::Copy { .. }
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Fail,
    Markers,
    Current,
    Target,
}

#[derive(Clone, Debug)]
pub struct Ask {
    pub node: u16,
    pub exact: bool,
    pub session: Option<Who>,
    pub path: Option<u8>,
    pub choice: Choice,
    pub uncertain: bool,
    /// Undoes and redoes it at once.
    pub back: bool,
}

/// The decision on a held call.
#[derive(Clone, Debug)]
pub enum Decided {
    Continue,
    /// It runs with this edit instead.
    Change(Edit),
    Deny,
}

#[derive(Clone, Debug)]
pub enum Op {
    User(Vec<Edit>),
    /// A whole call that names its file.
    Named {
        who: Who,
        edit: Edit,
        told: bool,
    },
    /// A whole call that may write any file.
    Shell {
        who: Who,
        edits: Vec<Edit>,
    },
    /// A call that is held while the user edits, and then continues, runs with another edit, or is denied.
    Held {
        who: Who,
        edit: Edit,
        meanwhile: Vec<Edit>,
        decided: Decided,
    },
    /// A call that stays open.
    Open {
        who: Who,
        edit: Option<Edit>,
    },
    /// The n-th open call writes.
    Work {
        call: u8,
        edits: Vec<Edit>,
    },
    Close {
        call: u8,
        failed: bool,
    },
    Prompt(Who),
    Stop {
        who: Who,
        background: bool,
    },
    Look,
    /// The user takes all files to their state at a node, as git does, and back.
    ThereAndBack {
        node: u16,
        who: Who,
    },
    Checkpoint,
    Reopen,
    Rewind(Ask),
    Revert {
        node: u16,
        back: bool,
    },
    RevertBoth {
        one: u16,
        other: u16,
    },
    /// Reverts several nodes at once, and optionally that revert.
    RevertMany {
        nodes: Vec<u16>,
        back: bool,
    },
    Undo {
        op: Option<u8>,
    },
    Redo,
    /// Creates a branch at any node, or a tag.
    Name {
        node: u16,
        tag: bool,
    },
    Switch {
        branch: u8,
        carry: bool,
        choice: Choice,
        back: bool,
    },
    Ancestor {
        one: u16,
        other: u16,
    },
    /// Squashes checkpoints older than this many, or all that can be, with a size limit of zero.
    Collect {
        keep: u8,
        all: bool,
    },
    /// An operation in a second directory on this history.
    Elsewhere {
        node: u16,
        path: u8,
        how: u8,
    },
}

/// Weights of the operations of a property.
#[allow(clippy::struct_excessive_bools, reason = "each is a kind of operation")]
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    pub user: bool,
    pub second: bool,
    pub rules: bool,
    pub links_and_dirs: bool,
    pub overlap: bool,
    pub choices: bool,
    pub branches: bool,
    pub gc: bool,
}

impl Mix {
    pub const ALL: Self = Self {
        user: true,
        second: true,
        rules: true,
        links_and_dirs: true,
        overlap: true,
        choices: true,
        branches: false,
        gc: false,
    };
    /// All writers, on several branches.
    pub const BRANCHES: Self = Self {
        branches: true,
        ..Self::ALL
    };
    /// All writers, with gc now and then.
    pub const COLLECTED: Self = Self {
        gc: true,
        ..Self::BRANCHES
    };
    /// A single agent, whose calls always report.
    pub const ALONE: Self = Self {
        user: false,
        second: false,
        rules: false,
        links_and_dirs: true,
        overlap: false,
        choices: false,
        branches: false,
        gc: false,
    };
}

/// Like `prop_oneof`, but a weight may be 0.
fn one_of<T: std::fmt::Debug + 'static>(options: Vec<(u32, BoxedStrategy<T>)>) -> BoxedStrategy<T> {
    let drawn = options
        .into_iter()
        .filter(|(weight, _)| *weight > 0)
        .collect();
    Union::new_weighted(drawn).boxed()
}

fn line_edit() -> impl Strategy<Value = Edit> {
    let place = || (any::<u8>(), any::<u8>(), 1..3_u8);
    one_of(vec![
        (
            4,
            place()
                .prop_map(|(file, at, lines)| Edit::Insert { file, at, lines })
                .boxed(),
        ),
        (
            2,
            place()
                .prop_map(|(file, at, lines)| Edit::Delete { file, at, lines })
                .boxed(),
        ),
        (
            4,
            place()
                .prop_map(|(file, at, lines)| Edit::Replace { file, at, lines })
                .boxed(),
        ),
    ])
}

fn edit(mix: Mix) -> BoxedStrategy<Edit> {
    let plain = one_of(vec![
        (9, line_edit().boxed()),
        (
            3,
            (any::<u8>(), 0..6_u8)
                .prop_map(|(path, lines)| Edit::Create { path, lines })
                .boxed(),
        ),
        (
            1,
            any::<u8>().prop_map(|path| Edit::Binary { path }).boxed(),
        ),
        (
            2,
            any::<u8>().prop_map(|file| Edit::Remove { file }).boxed(),
        ),
        (
            2,
            (any::<u8>(), any::<u8>())
                .prop_map(|(file, to)| Edit::Rename { file, to })
                .boxed(),
        ),
        (
            1,
            (any::<u8>(), any::<u8>())
                .prop_map(|(file, to)| Edit::Replaced { file, to })
                .boxed(),
        ),
        (
            2,
            (any::<u8>(), any::<u8>())
                .prop_map(|(file, to)| Edit::Copy { file, to })
                .boxed(),
        ),
        (
            1,
            (any::<u8>(), any::<bool>())
                .prop_map(|(file, executable)| Edit::Chmod { file, executable })
                .boxed(),
        ),
        (
            1,
            any::<u8>()
                .prop_map(|file| Edit::FinalNewline { file })
                .boxed(),
        ),
    ]);
    let links = (any::<u8>(), any::<u8>()).prop_map(|(path, target)| Edit::Link { path, target });
    let rules = any::<u8>().prop_map(|rules| Edit::Rules { rules });
    one_of(vec![
        (18, plain.boxed()),
        (u32::from(mix.links_and_dirs), links.boxed()),
        (u32::from(mix.rules), rules.boxed()),
    ])
}

/// An edit that a tool which names one file can make.
fn named(mix: Mix) -> BoxedStrategy<Edit> {
    one_of(vec![
        (8, line_edit().boxed()),
        (
            3,
            (any::<u8>(), 0..6_u8)
                .prop_map(|(path, lines)| Edit::Create { path, lines })
                .boxed(),
        ),
        (
            1,
            any::<u8>().prop_map(|path| Edit::Binary { path }).boxed(),
        ),
        (
            1,
            any::<u8>().prop_map(|file| Edit::Remove { file }).boxed(),
        ),
        (
            u32::from(mix.rules),
            any::<u8>().prop_map(|rules| Edit::Rules { rules }).boxed(),
        ),
    ])
}

fn agent(mix: Mix) -> BoxedStrategy<Who> {
    if mix.second {
        one_of(vec![(2, Just(Who::A).boxed()), (1, Just(Who::B).boxed())])
    } else {
        Just(Who::A).boxed()
    }
}

fn choice(mix: Mix) -> BoxedStrategy<Choice> {
    if mix.choices {
        one_of(vec![
            (8, Just(Choice::Fail).boxed()),
            (1, Just(Choice::Markers).boxed()),
            (1, Just(Choice::Current).boxed()),
            (1, Just(Choice::Target).boxed()),
        ])
    } else {
        Just(Choice::Fail).boxed()
    }
}

fn ask(mix: Mix) -> BoxedStrategy<Ask> {
    let choice = choice(mix);
    let session = one_of(vec![
        (6, Just(None).boxed()),
        (u32::from(mix.second), agent(mix).prop_map(Some).boxed()),
    ]);
    let path = one_of(vec![
        (6, Just(None).boxed()),
        (u32::from(mix.choices), any::<u8>().prop_map(Some).boxed()),
    ]);
    (
        any::<u16>(),
        proptest::bool::weighted(0.25),
        session,
        path,
        choice,
        proptest::bool::weighted(if mix.overlap { 0.2 } else { 0.0 }),
        proptest::bool::weighted(0.4),
    )
        .prop_map(
            |(node, exact, session, path, choice, uncertain, back)| Ask {
                node,
                exact,
                session,
                path,
                choice,
                uncertain,
                back,
            },
        )
        .boxed()
}

fn decided(mix: Mix) -> BoxedStrategy<Decided> {
    one_of(vec![
        (2, Just(Decided::Continue).boxed()),
        (1, named(mix).prop_map(Decided::Change).boxed()),
        (1, Just(Decided::Deny).boxed()),
    ])
}

fn op(mix: Mix) -> BoxedStrategy<Op> {
    let edits = move || vec(edit(mix), 1..4);
    let overlap = if mix.overlap { 2 } else { 0 };
    one_of(vec![
        (
            if mix.user { 6 } else { 0 },
            edits().prop_map(Op::User).boxed(),
        ),
        (
            8,
            (agent(mix), named(mix), any::<bool>())
                .prop_map(|(who, edit, told)| Op::Named { who, edit, told })
                .boxed(),
        ),
        (
            5,
            (agent(mix), edits())
                .prop_map(|(who, edits)| Op::Shell { who, edits })
                .boxed(),
        ),
        (
            if mix.user { 3 } else { 0 },
            (agent(mix), named(mix), vec(edit(mix), 0..3), decided(mix))
                .prop_map(|(who, edit, meanwhile, decided)| Op::Held {
                    who,
                    edit,
                    meanwhile,
                    decided,
                })
                .boxed(),
        ),
        (
            overlap,
            (agent(mix), proptest::option::of(named(mix)))
                .prop_map(|(who, edit)| Op::Open { who, edit })
                .boxed(),
        ),
        (
            overlap,
            (any::<u8>(), edits())
                .prop_map(|(call, edits)| Op::Work { call, edits })
                .boxed(),
        ),
        (
            overlap,
            (any::<u8>(), proptest::bool::weighted(0.2))
                .prop_map(|(call, failed)| Op::Close { call, failed })
                .boxed(),
        ),
        (3, agent(mix).prop_map(Op::Prompt).boxed()),
        (
            1,
            (
                agent(mix),
                proptest::bool::weighted(if mix.overlap { 0.2 } else { 0.0 }),
            )
                .prop_map(|(who, background)| Op::Stop { who, background })
                .boxed(),
        ),
        (1, Just(Op::Look).boxed()),
        (
            if mix.user { 2 } else { 0 },
            (any::<u16>(), agent(mix))
                .prop_map(|(node, who)| Op::ThereAndBack { node, who })
                .boxed(),
        ),
        (1, Just(Op::Checkpoint).boxed()),
        (1, Just(Op::Reopen).boxed()),
        (6, ask(mix).prop_map(Op::Rewind).boxed()),
        (
            2,
            (any::<u16>(), any::<bool>())
                .prop_map(|(node, back)| Op::Revert { node, back })
                .boxed(),
        ),
        (
            1,
            (any::<u16>(), any::<u16>())
                .prop_map(|(one, other)| Op::RevertBoth { one, other })
                .boxed(),
        ),
        (
            2,
            proptest::option::weighted(0.3, any::<u8>())
                .prop_map(|op| Op::Undo { op })
                .boxed(),
        ),
        (1, Just(Op::Redo).boxed()),
        (
            u32::from(mix.gc) * 4,
            (any::<u8>(), proptest::bool::weighted(0.2))
                .prop_map(|(keep, all)| Op::Collect { keep, all })
                .boxed(),
        ),
        (u32::from(mix.branches) * 3, naming()),
        (u32::from(mix.branches) * 8, switching(mix)),
        (
            u32::from(mix.branches) * 2,
            (vec(any::<u16>(), 1..5), any::<bool>())
                .prop_map(|(nodes, back)| Op::RevertMany { nodes, back })
                .boxed(),
        ),
        (
            u32::from(mix.branches) * 2,
            (any::<u16>(), any::<u16>())
                .prop_map(|(one, other)| Op::Ancestor { one, other })
                .boxed(),
        ),
        (
            u32::from(mix.branches) * 4,
            (any::<u16>(), any::<u8>(), any::<u8>())
                .prop_map(|(node, path, how)| Op::Elsewhere { node, path, how })
                .boxed(),
        ),
    ])
}

fn naming() -> BoxedStrategy<Op> {
    (any::<u16>(), proptest::bool::weighted(0.2))
        .prop_map(|(node, tag)| Op::Name { node, tag })
        .boxed()
}

fn switching(mix: Mix) -> BoxedStrategy<Op> {
    let carry = proptest::bool::weighted(0.4);
    (any::<u8>(), carry, choice(mix), any::<bool>())
        .prop_map(|(branch, carry, choice, back)| Op::Switch {
            branch,
            carry,
            choice,
            back,
        })
        .boxed()
}

/// 12 to 30 operations; a failing history is shrunk to those that it needs.
pub fn some_of<T: Clone + std::fmt::Debug + 'static>(
    op: impl Strategy<Value = T>,
) -> impl Strategy<Value = Vec<T>> {
    vec(proptest::option::weighted(0.98, op), 12..30)
        .prop_map(|ops| ops.into_iter().flatten().collect())
}

pub fn history(mix: Mix) -> impl Strategy<Value = Vec<Op>> {
    some_of(op(mix))
}
