//! Shortest histories that once violated a law.

mod carried;
mod elsewhere;
mod rules;
mod undone;

use super::model::Who::{A, B};
use super::ops::{Ask, Choice, Edit, Mix, Op};

fn holds(ops: &[Op]) {
    holds_for(Mix::ALL, ops);
}

fn holds_for(mix: Mix, ops: &[Op]) {
    if let Err(why) = super::history(mix, false, ops) {
        panic!("{why}");
    }
}

fn shell(edits: Vec<Edit>) -> Op {
    Op::Shell { who: A, edits }
}

fn elsewhere(node: u16, path: u8, how: u8) -> Op {
    Op::Elsewhere { node, path, how }
}

fn named(edit: Edit) -> Op {
    let told = false;
    Op::Named { who: A, edit, told }
}

/// S3-035, S3-036: one file leaves a path and another takes it: that is one action.
#[test]
fn a_file_comes_back_where_another_stands() {
    holds(&[
        Op::User(vec![
            Edit::Create { path: 8, lines: 0 },
            Edit::Create { path: 1, lines: 0 },
        ]),
        named(Edit::Remove { file: 2 }),
        shell(vec![Edit::Rename { file: 1, to: 3 }]),
    ]);
}

/// U-21, S3-035: a file is restored where a directory was.
#[test]
fn a_file_and_a_directory_change_places() {
    holds(&[shell(vec![
        Edit::Remove { file: 1 },
        Edit::Rename { file: 0, to: 9 },
    ])]);
}

/// U-19: a binary cannot have conflict markers; then the user's content stays, and the plan says so.
#[test]
fn markers_drop_no_line_for_a_binary() {
    holds(&[
        named(Edit::Binary { path: 8 }),
        Op::Prompt(A),
        shell(vec![Edit::Create { path: 8, lines: 0 }]),
        Op::User(vec![
            Edit::Binary { path: 0 },
            Edit::Binary { path: 3 },
            Edit::Insert {
                file: 0,
                at: 0,
                lines: 1,
            },
        ]),
        Op::Rewind(Ask {
            node: 1,
            exact: false,
            session: None,
            path: None,
            choice: Choice::Markers,
            uncertain: false,
            back: false,
        }),
    ]);
}

/// U-19: paths held by an open call are not scanned, and a rewind says so.
#[test]
fn a_rewind_names_what_an_open_call_holds() {
    holds(&[
        Op::Open {
            who: A,
            edit: Some(Edit::Insert {
                file: 1,
                at: 0,
                lines: 1,
            }),
        },
        named(Edit::Insert {
            file: 0,
            at: 0,
            lines: 1,
        }),
        shell(vec![Edit::Rename { file: 0, to: 3 }]),
        default_rewind(0),
    ]);
}

/// U-12: a file that the user moves to a path which an agent has announced is of uncertain origin.
#[test]
fn a_move_to_an_announced_place_is_nobodys_for_sure() {
    holds(&[
        Op::Open {
            who: A,
            edit: Some(Edit::Insert {
                file: 6,
                at: 0,
                lines: 1,
            }),
        },
        shell(vec![Edit::Remove { file: 8 }]),
        Op::User(vec![
            Edit::Insert {
                file: 0,
                at: 0,
                lines: 1,
            },
            Edit::Rename { file: 0, to: 77 },
        ]),
        Op::Rewind(Ask {
            node: 0,
            exact: false,
            session: None,
            path: None,
            choice: Choice::Fail,
            uncertain: true,
            back: false,
        }),
    ]);
}

fn switch(branch: u8, carry: bool, back: bool) -> Op {
    Op::Switch {
        branch,
        carry,
        choice: Choice::Fail,
        back,
    }
}

fn by_the_user() -> Op {
    Op::User(vec![Edit::Insert {
        file: 0,
        at: 0,
        lines: 1,
    }])
}

const A_BRANCH: Op = Op::Name {
    node: 0,
    tag: false,
};

/// U-18: a rewind of one path includes a file that the user moved there since the last scan.
#[test]
fn a_rewind_of_a_path_finds_the_file_that_was_moved_there() {
    let insert = Edit::Insert {
        file: 0,
        at: 0,
        lines: 1,
    };
    let replace = |at| Edit::Replace {
        file: 0,
        at,
        lines: 1,
    };
    holds(&[
        named(insert.clone()),
        Op::User(vec![replace(0)]),
        Op::Prompt(A),
        Op::User(vec![Edit::Remove { file: 0 }]),
        shell(vec![Edit::Replaced { file: 0, to: 4 }]),
        named(insert),
        named(replace(1)),
        Op::User(vec![
            Edit::Chmod {
                file: 0,
                executable: false,
            },
            Edit::Rename { file: 20, to: 10 },
        ]),
        Op::Rewind(Ask {
            node: 0,
            exact: false,
            session: None,
            path: Some(54),
            choice: Choice::Fail,
            uncertain: false,
            back: false,
        }),
    ]);
}

/// L5: a revert leaves a file while a link stands in its directory's place, and says so.
#[test]
fn a_revert_skips_a_file_whose_directory_is_a_link() {
    holds_for(
        Mix::BRANCHES,
        &[
            named(Edit::Remove { file: 19 }),
            Op::User(vec![Edit::Link {
                path: 229,
                target: 0,
            }]),
            switch(0, false, false),
            Op::RevertBoth {
                one: 25538,
                other: 60607,
            },
        ],
    );
}

/// B: a file moves on although another one, which moved where no scan saw it, has left the same inode.
#[test]
fn a_rename_is_found_where_two_files_had_one_inode() {
    holds(&[
        named(Edit::Create {
            path: 139,
            lines: 2,
        }),
        shell(vec![
            Edit::Replaced { file: 0, to: 162 },
            Edit::Replaced { file: 0, to: 138 },
        ]),
        Op::User(vec![Edit::Remove { file: 65 }]),
        Op::User(vec![
            Edit::Remove { file: 56 },
            Edit::FinalNewline { file: 0 },
        ]),
        Op::Open {
            who: A,
            edit: Some(Edit::Insert {
                file: 82,
                at: 0,
                lines: 1,
            }),
        },
        shell(vec![
            Edit::Remove { file: 11 },
            Edit::Create { path: 11, lines: 0 },
        ]),
        Op::User(vec![Edit::Rename { file: 95, to: 203 }]),
        named(Edit::Create { path: 82, lines: 1 }),
        Op::User(vec![
            Edit::Create {
                path: 120,
                lines: 0,
            },
            Edit::Rename { file: 105, to: 144 },
        ]),
    ]);
}

/// B: a file moves away from a path that an open call names: the lines become the mover's.
#[test]
fn a_move_from_an_announced_place_is_not_followed() {
    holds(&[
        shell(vec![Edit::Insert {
            file: 7,
            at: 0,
            lines: 1,
        }]),
        Op::Open {
            who: A,
            edit: Some(Edit::Insert {
                file: 223,
                at: 0,
                lines: 1,
            }),
        },
        shell(vec![Edit::Binary { path: 171 }]),
        Op::User(vec![Edit::Rename { file: 184, to: 48 }]),
        Op::Prompt(A),
    ]);
}

/// L1: two files were adopted at one path one after the other: the rewind asks which of them was there.
#[test]
fn two_files_adopted_at_one_path_are_a_conflict() {
    holds(&[
        Op::User(vec![
            Edit::Rules { rules: 103 },
            Edit::Replaced { file: 0, to: 83 },
        ]),
        shell(vec![Edit::Remove { file: 0 }]),
        named(Edit::Replace {
            file: 215,
            at: 0,
            lines: 1,
        }),
        shell(vec![Edit::Remove { file: 73 }]),
        Op::User(vec![
            Edit::Create { path: 0, lines: 0 },
            Edit::Link { path: 6, target: 0 },
        ]),
        named(Edit::Remove { file: 53 }),
    ]);
}

fn default_rewind(node: u16) -> Op {
    Op::Rewind(Ask {
        node,
        exact: false,
        session: None,
        path: None,
        choice: Choice::Fail,
        uncertain: false,
        back: false,
    })
}

fn rewind(node: u16) -> Op {
    Op::Rewind(Ask {
        node,
        exact: false,
        session: None,
        path: None,
        choice: Choice::Fail,
        uncertain: false,
        back: true,
    })
}

/// U-19, U-20: an agent's new file, and one that it deleted, go and come back by git: both are the agent's still.
#[test]
fn what_comes_back_is_its_authors_still() {
    let away = |node| Op::ThereAndBack { node, who: A };
    holds(&[
        named(Edit::Create { path: 1, lines: 3 }),
        away(0),
        rewind(0),
    ]);
    holds(&[shell(vec![Edit::Remove { file: 0 }]), away(0), rewind(0)]);
    holds(&[
        named(Edit::Create { path: 1, lines: 3 }),
        Op::User(vec![Edit::Insert {
            file: 1,
            at: 1,
            lines: 1,
        }]),
        away(0),
        shell(vec![Edit::Rename { file: 1, to: 3 }]),
        away(1),
        away(0),
        rewind(2),
    ]);
}

/// L3: a directory that a move has left without a file is removed once, and not again.
#[test]
fn a_directory_without_a_file_is_removed_once() {
    use super::ops::Decided;
    holds(&[
        Op::Shell {
            who: B,
            edits: vec![
                Edit::Link {
                    path: 240,
                    target: 11,
                },
                Edit::Insert {
                    file: 52,
                    at: 130,
                    lines: 1,
                },
            ],
        },
        shell(vec![
            Edit::Insert {
                file: 164,
                at: 94,
                lines: 2,
            },
            Edit::Insert {
                file: 210,
                at: 90,
                lines: 1,
            },
            Edit::Rename { file: 227, to: 30 },
        ]),
        Op::Named {
            who: A,
            edit: Edit::Rules { rules: 186 },
            told: true,
        },
        Op::Open {
            who: B,
            edit: Some(Edit::Insert {
                file: 247,
                at: 200,
                lines: 1,
            }),
        },
        Op::Shell {
            who: B,
            edits: vec![Edit::Link {
                path: 134,
                target: 102,
            }],
        },
        shell(vec![
            Edit::Delete {
                file: 81,
                at: 47,
                lines: 1,
            },
            Edit::Chmod {
                file: 222,
                executable: false,
            },
            Edit::Insert {
                file: 87,
                at: 112,
                lines: 2,
            },
        ]),
        Op::Shell {
            who: B,
            edits: vec![
                Edit::Insert {
                    file: 56,
                    at: 36,
                    lines: 2,
                },
                Edit::Replace {
                    file: 180,
                    at: 220,
                    lines: 1,
                },
            ],
        },
        Op::Held {
            who: A,
            edit: Edit::Rules { rules: 133 },
            meanwhile: vec![],
            decided: Decided::Change(Edit::Insert {
                file: 54,
                at: 221,
                lines: 2,
            }),
        },
        Op::User(vec![Edit::Remove { file: 165 }]),
        Op::Held {
            who: A,
            edit: Edit::Replace {
                file: 239,
                at: 222,
                lines: 1,
            },
            meanwhile: vec![],
            decided: Decided::Change(Edit::Remove { file: 77 }),
        },
        Op::Undo { op: None },
        Op::Shell {
            who: B,
            edits: vec![
                Edit::Link {
                    path: 94,
                    target: 39,
                },
                Edit::Delete {
                    file: 191,
                    at: 176,
                    lines: 1,
                },
            ],
        },
        Op::User(vec![Edit::Insert {
            file: 194,
            at: 224,
            lines: 2,
        }]),
    ]);
}
