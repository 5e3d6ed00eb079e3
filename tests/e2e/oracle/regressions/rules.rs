//! Files that ignore rules hide or reveal.

use super::{by_the_user, default_rewind, elsewhere, holds, holds_for, named, shell, switch};
use crate::oracle::model::Who::{A, B};
use crate::oracle::ops::{Choice, Decided, Edit, Mix, Op};

/// U-23: a rewind that takes out the `.gitignore` makes a file visible, which does not count as created since.
#[test]
fn a_rewind_of_the_rules_brings_no_file_into_being() {
    holds(&[
        Op::User(vec![
            Edit::Create { path: 6, lines: 0 },
            Edit::Rules { rules: 3 },
        ]),
        shell(vec![Edit::Create { path: 4, lines: 0 }]),
    ]);
}

/// U-23: the same where a tool that names its file has changed the rules.
#[test]
fn a_named_edit_of_the_rules_brings_no_file_into_being() {
    holds(&[
        Op::User(vec![
            Edit::Create { path: 6, lines: 2 },
            Edit::Rules { rules: 1 },
        ]),
        Op::Look,
        named(Edit::Rules { rules: 0 }),
        Op::Look,
    ]);
}

/// U-21: a file that becomes visible is not the file that was moved to that path.
#[test]
fn an_ignored_file_is_not_the_one_that_stood_there() {
    holds(&[
        Op::User(vec![Edit::Create { path: 6, lines: 0 }]),
        Op::Prompt(A),
        Op::User(vec![Edit::Rules { rules: 1 }]),
        shell(vec![Edit::Rename { file: 2, to: 0 }]),
        shell(vec![Edit::Binary { path: 6 }]),
    ]);
}

/// U-23: a file that a tool names in a hidden place goes back to its earlier state.
#[test]
fn a_file_moved_to_where_rules_hide_it_and_named_there() {
    holds(&[
        named(Edit::Insert {
            file: 0,
            at: 0,
            lines: 1,
        }),
        default_rewind(1082),
        named(Edit::Rules { rules: 86 }),
        shell(vec![
            Edit::Rename { file: 0, to: 161 },
            Edit::Insert {
                file: 31,
                at: 2,
                lines: 1,
            },
        ]),
        named(Edit::Insert {
            file: 19,
            at: 0,
            lines: 1,
        }),
        Op::Prompt(A),
        Op::Prompt(A),
        default_rewind(3176),
    ]);
}

/// U-23: `gc` keeps the text of ignore rules that the last scan used, which tells created files from revealed ones.
#[test]
fn gc_keeps_the_rules_of_the_last_scan() {
    holds_for(
        Mix::COLLECTED,
        &[
            Op::User(vec![Edit::Rules { rules: 0 }]),
            Op::Switch {
                branch: 0,
                carry: false,
                choice: Choice::Fail,
                back: false,
            },
            Op::RevertMany {
                nodes: vec![9395],
                back: false,
            },
            Op::User(vec![Edit::Rename { file: 116, to: 122 }]),
            named(Edit::Insert {
                file: 5,
                at: 0,
                lines: 1,
            }),
            Op::Collect {
                keep: 12,
                all: false,
            },
        ],
    );
}

/// U-19, U-23: a rewind names a file that an agent wrote where rules hid it, and changed once it was in sight.
#[test]
fn a_rewind_names_what_was_written_where_rules_hid_it() {
    holds(&[
        Op::User(vec![Edit::Rules { rules: 22 }]),
        shell(vec![Edit::Create { path: 84, lines: 2 }]),
        Op::User(vec![Edit::Rules { rules: 60 }]),
        Op::Undo { op: None },
        named(Edit::Replace {
            file: 101,
            at: 1,
            lines: 1,
        }),
        default_rewind(23592),
    ]);
}

/// U-23: a plan after a restore of the rules names the files that come into sight with it.
#[test]
fn a_plan_names_what_a_restore_of_the_rules_reveals() {
    holds_for(
        Mix::BRANCHES,
        &[
            Op::User(vec![Edit::Replaced { file: 0, to: 1 }]),
            shell(vec![
                Edit::Rules { rules: 226 },
                Edit::Link {
                    path: 150,
                    target: 0,
                },
            ]),
            Op::RevertMany {
                nodes: vec![1301],
                back: false,
            },
            default_rewind(19976),
        ],
    );
}

/// L8: a file that rules hide stays where it is, and its old lines are not carried along.
#[test]
fn a_hidden_file_is_not_carried_along() {
    let fork = |node| Op::Name { node, tag: false };
    holds_for(
        Mix::BRANCHES,
        &[
            named(Edit::Rules { rules: 73 }),
            shell(vec![
                Edit::Binary { path: 136 },
                Edit::Replaced { file: 0, to: 83 },
            ]),
            shell(vec![Edit::Create { path: 0, lines: 0 }]),
            fork(0),
            fork(25305),
            switch(53, false, false),
            switch(69, true, false),
        ],
    );
}

/// S4-036: lines of a recorded file that rules hide now have authors.
#[test]
fn a_recorded_file_that_rules_hide_is_blamed() {
    let insert = || by_the_user();
    holds_for(
        Mix::ALL,
        &[
            shell(vec![Edit::Link { path: 7, target: 0 }]),
            shell(vec![Edit::Binary { path: 62 }]),
            insert(),
            shell(vec![Edit::Insert {
                file: 0,
                at: 0,
                lines: 1,
            }]),
            insert(),
            Op::Revert {
                node: 10262,
                back: false,
            },
            insert(),
            Op::Open { who: A, edit: None },
            insert(),
            Op::Revert {
                node: 0,
                back: false,
            },
            Op::Close {
                call: 0,
                failed: false,
            },
            Op::User(vec![Edit::Rename { file: 180, to: 8 }]),
            named(Edit::Rules { rules: 10 }),
            Op::User(vec![Edit::Replaced { file: 0, to: 171 }]),
            insert(),
            insert(),
            shell(vec![Edit::Insert {
                file: 0,
                at: 0,
                lines: 1,
            }]),
            Op::User(vec![Edit::Create { path: 11, lines: 0 }]),
            insert(),
            Op::User(vec![Edit::Rename { file: 23, to: 117 }]),
        ],
    );
}

/// L3: a directory that cannot go, since it holds an empty one of somebody else, is not planned.
#[test]
fn a_directory_with_an_empty_one_stays() {
    holds(&[
        Op::Open {
            who: B,
            edit: Some(Edit::Remove { file: 181 }),
        },
        named(Edit::Remove { file: 125 }),
        Op::User(vec![
            Edit::Insert {
                file: 0,
                at: 0,
                lines: 1,
            },
            Edit::Rules { rules: 0 },
        ]),
        named(Edit::Insert {
            file: 0,
            at: 0,
            lines: 1,
        }),
        default_rewind(128),
        Op::User(vec![Edit::Rename { file: 0, to: 225 }]),
        named(Edit::Replace {
            file: 0,
            at: 0,
            lines: 1,
        }),
        Op::Held {
            who: A,
            edit: Edit::Insert {
                file: 0,
                at: 0,
                lines: 1,
            },
            meanwhile: vec![],
            decided: Decided::Continue,
        },
        Op::User(vec![Edit::Remove { file: 0 }]),
        Op::Revert {
            node: 25150,
            back: false,
        },
    ]);
}

/// L3: the same for a rewind, with a recorder.
#[cfg(target_os = "linux")]
#[test]
fn a_watched_directory_with_an_empty_one_stays() {
    let ops = [
        Op::Open { who: A, edit: None },
        Op::User(vec![Edit::Create { path: 80, lines: 2 }]),
        Op::User(vec![
            Edit::Delete {
                file: 0,
                at: 0,
                lines: 1,
            },
            Edit::Rename { file: 0, to: 115 },
        ]),
        elsewhere(0, 0, 2),
        Op::User(vec![
            Edit::Insert {
                file: 0,
                at: 0,
                lines: 2,
            },
            Edit::Create {
                path: 192,
                lines: 2,
            },
            Edit::Rules { rules: 0 },
        ]),
        elsewhere(0, 0, 0),
        Op::Held {
            who: A,
            edit: Edit::Replace {
                file: 0,
                at: 0,
                lines: 1,
            },
            meanwhile: vec![Edit::Delete {
                file: 0,
                at: 0,
                lines: 1,
            }],
            decided: Decided::Continue,
        },
        named(Edit::Remove { file: 19 }),
    ];
    if let Err(why) = crate::oracle::watched(Mix::BRANCHES, &ops) {
        panic!("{why}");
    }
}
