//! Restores that are undone, and files that others moved or removed meanwhile.

use super::{
    A_BRANCH, by_the_user, default_rewind, elsewhere, holds, holds_for, named, shell, switch,
};
use crate::oracle::model::Who::A;
use crate::oracle::ops::{Ask, Choice, Edit, Mix, Op};

/// U-20: a restore that is undone restores its own changes, not files that another writer had removed.
#[test]
fn what_the_user_removed_meanwhile_stays_removed() {
    holds(&[
        Op::User(vec![
            Edit::Link { path: 4, target: 0 },
            Edit::Chmod {
                file: 1,
                executable: true,
            },
        ]),
        Op::Open {
            who: A,
            edit: Some(Edit::Delete {
                file: 47,
                at: 0,
                lines: 1,
            }),
        },
        Op::User(vec![Edit::Replace {
            file: 1,
            at: 0,
            lines: 1,
        }]),
        named(Edit::Create { path: 1, lines: 0 }),
        Op::Revert {
            node: 0,
            back: false,
        },
        shell(vec![Edit::Remove { file: 126 }]),
        named(Edit::Remove { file: 183 }),
        Op::Open {
            who: A,
            edit: Some(Edit::Insert {
                file: 0,
                at: 0,
                lines: 1,
            }),
        },
        Op::User(vec![Edit::Remove { file: 162 }]),
    ]);
}

/// U-20: the same where the directory was removed with the file.
#[test]
fn what_went_with_its_directory_stays_removed() {
    holds(&[
        shell(vec![
            Edit::Insert {
                file: 0,
                at: 0,
                lines: 2,
            },
            Edit::Rename { file: 0, to: 29 },
            Edit::Insert {
                file: 128,
                at: 0,
                lines: 2,
            },
        ]),
        Op::Open {
            who: A,
            edit: Some(Edit::Remove { file: 47 }),
        },
        shell(vec![Edit::Remove { file: 61 }]),
        Op::Open {
            who: A,
            edit: Some(Edit::Insert {
                file: 0,
                at: 0,
                lines: 1,
            }),
        },
        shell(vec![Edit::Remove { file: 0 }]),
    ]);
}

/// U-20: a file that the user moved away, with a directory in its place, is not recreated either.
#[test]
fn what_met_a_surprise_is_not_put_back() {
    let insert = |lines| Edit::Insert {
        file: 0,
        at: 0,
        lines,
    };
    holds(&[
        Op::User(vec![
            insert(2),
            Edit::Remove { file: 31 },
            Edit::Remove { file: 0 },
        ]),
        Op::User(vec![Edit::Create { path: 9, lines: 0 }]),
        Op::Open {
            who: A,
            edit: Some(insert(1)),
        },
        Op::User(vec![Edit::Rename { file: 0, to: 7 }]),
        Op::User(vec![insert(2), Edit::Binary { path: 0 }]),
        default_rewind(0),
        Op::User(vec![Edit::FinalNewline { file: 0 }]),
        named(insert(1)),
        named(insert(2)),
        named(Edit::Binary { path: 3 }),
        named(Edit::Remove { file: 4 }),
    ]);
}

/// U-20: a merge restores the first lines of a file; undoing the merge later does not change their author.
#[test]
fn what_was_there_at_first_stays_so() {
    let insert = |at| Edit::Insert {
        file: 0,
        at,
        lines: 1,
    };
    holds(&[
        shell(vec![Edit::Rename { file: 48, to: 36 }]),
        Op::User(vec![insert(7)]),
        named(insert(0)),
        default_rewind(8572),
    ]);
}

/// U-20: the undo of a switch removes a file that the switch created and that the other branch does not know.
#[test]
fn the_undo_of_a_switch_removes_what_it_brought() {
    holds_for(
        Mix::BRANCHES,
        &[
            A_BRANCH,
            shell(vec![Edit::Rules { rules: 65 }]),
            Op::User(vec![Edit::Create {
                path: 149,
                lines: 0,
            }]),
            switch(125, false, true),
            A_BRANCH,
            A_BRANCH,
            shell(vec![Edit::Remove { file: 29 }]),
            switch(89, false, true),
        ],
    );
}

/// U-21: a plan without a scan does not bring back a file that came back by itself, where it was last.
#[test]
fn a_file_that_came_back_by_itself_is_not_brought_back() {
    let exact = |node, back| {
        Op::Rewind(Ask {
            node,
            exact: true,
            session: None,
            path: None,
            choice: Choice::Fail,
            uncertain: false,
            back,
        })
    };
    holds_for(
        Mix::BRANCHES,
        &[
            by_the_user(),
            exact(0, true),
            shell(vec![Edit::Binary { path: 125 }]),
            Op::User(vec![
                Edit::Binary { path: 122 },
                Edit::Rename { file: 27, to: 34 },
            ]),
            elsewhere(0, 0, 0),
            named(Edit::Insert {
                file: 0,
                at: 0,
                lines: 1,
            }),
            exact(304, false),
            Op::User(vec![Edit::Create { path: 34, lines: 0 }]),
            default_rewind(30632),
        ],
    );
}

/// U-21: after an undo beside a file that replaced a directory, a fork into a directory works on its own.
#[test]
fn a_file_that_replaced_a_directory_is_known_elsewhere() {
    holds_for(
        Mix::BRANCHES,
        &[
            Op::Open { who: A, edit: None },
            Op::User(vec![
                Edit::Delete {
                    file: 0,
                    at: 0,
                    lines: 1,
                },
                Edit::Rules { rules: 0 },
                Edit::Remove { file: 103 },
            ]),
            Op::User(vec![Edit::Copy { file: 0, to: 42 }]),
            named(Edit::Replace {
                file: 1,
                at: 0,
                lines: 1,
            }),
            Op::Undo { op: None },
            elsewhere(4945, 0, 0),
            elsewhere(0, 0, 191),
        ],
    );
}
