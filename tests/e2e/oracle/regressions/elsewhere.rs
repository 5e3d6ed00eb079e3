//! Other branches, and directories that were forked.

use super::{default_rewind, elsewhere, holds, holds_for, named, shell, switch};
use crate::oracle::model::Who::{A, B};
use crate::oracle::ops::{Ask, Choice, Edit, Mix, Op};

/// U-23: a file adopted at the node where a branch begins is unknown on that branch.
#[test]
fn what_comes_into_sight_at_a_fork_is_on_one_side_of_it() {
    holds(&[
        named(Edit::Rules { rules: 61 }),
        Op::Name {
            node: 19969,
            tag: false,
        },
        Op::Switch {
            branch: 127,
            carry: false,
            choice: Choice::Fail,
            back: false,
        },
        Op::User(vec![Edit::Rename { file: 0, to: 105 }]),
        Op::Undo { op: None },
        named(Edit::Replace {
            file: 8,
            at: 0,
            lines: 1,
        }),
    ]);
}

/// U-21, U-23: a file known on another branch, which the user changed further where no scan covers it.
#[test]
fn what_is_known_on_another_branch_is_in_the_way() {
    holds_for(
        Mix::BRANCHES,
        &[
            named(Edit::Rules { rules: 61 }),
            Op::Name {
                node: 19969,
                tag: false,
            },
            Op::Switch {
                branch: 127,
                carry: false,
                choice: Choice::Fail,
                back: false,
            },
            shell(vec![Edit::Binary { path: 135 }]),
            Op::User(vec![Edit::Rename { file: 44, to: 105 }]),
            named(Edit::Insert {
                file: 0,
                at: 0,
                lines: 1,
            }),
            Op::Undo { op: None },
            Op::User(vec![Edit::Delete {
                file: 221,
                at: 27,
                lines: 2,
            }]),
        ],
    );
}

/// S3-035: a file known only on this branch does not take the place of one from another branch.
#[test]
fn another_line_of_history_had_another_file_there() {
    holds(&[
        shell(vec![Edit::Rules { rules: 34 }]),
        shell(vec![Edit::Rename { file: 0, to: 227 }]),
        Op::Elsewhere {
            node: 0,
            path: 0,
            how: 0,
        },
        named(Edit::Remove { file: 29 }),
        Op::User(vec![Edit::Rename { file: 0, to: 99 }]),
        Op::Elsewhere {
            node: 0,
            path: 205,
            how: 38,
        },
    ]);
}

/// U-21: a file adopted on the branch that is left is adopted again on the other.
#[test]
fn what_came_into_sight_on_another_branch() {
    holds(&[
        Op::Name {
            node: 0,
            tag: false,
        },
        shell(vec![
            Edit::Rename { file: 0, to: 193 },
            Edit::Rules { rules: 7 },
        ]),
        named(Edit::Replace {
            file: 157,
            at: 0,
            lines: 1,
        }),
        Op::Switch {
            branch: 187,
            carry: false,
            choice: Choice::Fail,
            back: false,
        },
    ]);
}

/// S3-036, U-23: an exact rewind to another branch restores the files that were first captured there, also those that
/// no edit on that branch changed.
#[test]
fn an_exact_rewind_to_another_branch_restores_what_came_into_sight_there() {
    holds_for(
        Mix::BRANCHES,
        &[
            named(Edit::Insert {
                file: 0,
                at: 0,
                lines: 1,
            }),
            Op::User(vec![Edit::Rules { rules: 22 }]),
            Op::Name {
                node: 0,
                tag: false,
            },
            Op::User(vec![Edit::Rename { file: 0, to: 194 }]),
            Op::RevertMany {
                nodes: vec![2509],
                back: false,
            },
            Op::Switch {
                branch: 11,
                carry: false,
                choice: Choice::Fail,
                back: true,
            },
            shell(vec![Edit::Rename { file: 31, to: 54 }]),
        ],
    );
}

/// L8: what an agent writes in a forked directory where rules hide it is not a step there.
#[test]
fn work_elsewhere_that_rules_hide_is_no_step() {
    let insert = Edit::Insert {
        file: 0,
        at: 0,
        lines: 1,
    };
    holds_for(
        Mix::BRANCHES,
        &[
            named(Edit::Rules { rules: 2 }),
            named(insert.clone()),
            Op::User(vec![Edit::Remove { file: 0 }]),
            Op::Prompt(A),
            named(insert),
            Op::Elsewhere {
                node: 45169,
                path: 0,
                how: 0,
            },
            Op::Elsewhere {
                node: 0,
                path: 172,
                how: 146,
            },
        ],
    );
}

/// S3-036, U-23: an exact rewind in a forked directory names a file that was first captured in the other one.
#[test]
fn a_rewind_elsewhere_names_what_came_into_sight_here() {
    let revert = |node, back| Op::RevertMany {
        nodes: vec![node],
        back,
    };
    let insert = |file| Edit::Insert {
        file,
        at: 0,
        lines: 1,
    };
    holds_for(
        Mix::BRANCHES,
        &[
            Op::User(vec![insert(0)]),
            elsewhere(0, 0, 0),
            shell(vec![
                Edit::Rules { rules: 61 },
                Edit::Create { path: 72, lines: 0 },
            ]),
            Op::Named {
                who: B,
                edit: insert(0),
                told: false,
            },
            Op::Prompt(A),
            revert(50282, true),
            default_rewind(21966),
            Op::Prompt(A),
            named(insert(153)),
            revert(23898, false),
            elsewhere(6110, 0, 116),
        ],
    );
}

/// U-23: a file that came into sight here has no state at a checkpoint of a forked directory, and stays.
#[test]
fn what_came_into_sight_here_stays_in_a_rewind_to_work_elsewhere() {
    holds_for(
        Mix::BRANCHES,
        &[
            Op::User(vec![
                Edit::Create { path: 15, lines: 0 },
                Edit::Rules { rules: 85 },
                Edit::Copy { file: 0, to: 72 },
            ]),
            elsewhere(0, 0, 0),
            elsewhere(0, 109, 130),
            Op::Checkpoint,
            named(Edit::Insert {
                file: 87,
                at: 0,
                lines: 1,
            }),
            Op::Rewind(Ask {
                node: 7237,
                exact: true,
                session: None,
                path: None,
                choice: Choice::Fail,
                uncertain: false,
                back: false,
            }),
        ],
    );
}

/// U-23: a file that came into sight here stays in an exact rewind to work elsewhere, which says so.
#[test]
fn a_rewind_to_work_elsewhere_names_what_it_does_not_know() {
    let insert = |file, lines| Edit::Insert { file, at: 0, lines };
    holds_for(
        Mix::BRANCHES,
        &[
            Op::User(vec![insert(0, 1)]),
            shell(vec![insert(11, 1)]),
            Op::Rewind(Ask {
                node: 32577,
                exact: false,
                session: None,
                path: None,
                choice: Choice::Fail,
                uncertain: false,
                back: true,
            }),
            elsewhere(0, 0, 0),
            Op::User(vec![
                Edit::Rules { rules: 187 },
                Edit::Create { path: 94, lines: 1 },
            ]),
            named(Edit::Remove { file: 10 }),
            named(Edit::Delete {
                file: 13,
                at: 13,
                lines: 1,
            }),
            shell(vec![insert(55, 2)]),
            named(Edit::Replace {
                file: 0,
                at: 10,
                lines: 1,
            }),
            Op::RevertMany {
                nodes: vec![1633],
                back: true,
            },
            shell(vec![
                Edit::Link {
                    path: 18,
                    target: 0,
                },
                Edit::Rules { rules: 8 },
            ]),
            Op::User(vec![
                Edit::Delete {
                    file: 11,
                    at: 180,
                    lines: 2,
                },
                Edit::Rename { file: 79, to: 78 },
            ]),
            named(insert(103, 1)),
            elsewhere(49, 0, 2),
        ],
    );
}

/// L8: a fork leaves out a file whose directory an agent's file had replaced before a scan saw it.
#[test]
fn a_fork_where_a_file_had_replaced_a_directory() {
    holds_for(
        Mix::BRANCHES,
        &[
            Op::User(vec![Edit::Insert {
                file: 0,
                at: 0,
                lines: 2,
            }]),
            switch(0, false, false),
            Op::User(vec![Edit::Remove { file: 11 }]),
            named(Edit::Binary { path: 20 }),
            elsewhere(1886, 0, 0),
        ],
    );
}

/// L8: a file that was adopted and then renamed stays at a switch to a branch that does not know it, and is named.
#[test]
fn a_renamed_adopted_file_is_named_by_a_switch() {
    let insert = |file| Edit::Insert {
        file,
        at: 0,
        lines: 1,
    };
    holds_for(
        Mix::BRANCHES,
        &[
            named(insert(0)),
            Op::Revert {
                node: 50965,
                back: false,
            },
            shell(vec![Edit::Rules { rules: 2 }]),
            Op::Rewind(Ask {
                node: 424,
                exact: false,
                session: None,
                path: None,
                choice: Choice::Markers,
                uncertain: false,
                back: false,
            }),
            Op::User(vec![insert(0), Edit::Binary { path: 194 }]),
            shell(vec![
                Edit::Create { path: 83, lines: 0 },
                Edit::Rename { file: 30, to: 56 },
            ]),
            Op::User(vec![insert(0)]),
            Op::User(vec![Edit::Create { path: 78, lines: 0 }]),
            named(insert(56)),
            Op::Prompt(A),
            named(insert(0)),
            Op::Name {
                node: 144,
                tag: false,
            },
            switch(71, false, false),
        ],
    );
}
