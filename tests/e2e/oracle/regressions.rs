//! Shortest histories that once violated a law.

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

/// S4-065: an edit carried to a branch without its file is carried whole, where no markers can be written.
#[test]
fn what_is_carried_to_where_its_file_is_not_comes_along() {
    holds_for(
        Mix::BRANCHES,
        &[
            Op::Name {
                node: 0,
                tag: false,
            },
            shell(vec![Edit::Create { path: 92, lines: 0 }]),
            Op::User(vec![Edit::Replace {
                file: 8,
                at: 0,
                lines: 1,
            }]),
            Op::Switch {
                branch: 7,
                carry: true,
                choice: Choice::Markers,
                back: false,
            },
        ],
    );
}

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

/// U-21, S3-035: a file is restored where a directory was.
#[test]
fn a_file_and_a_directory_change_places() {
    holds(&[shell(vec![
        Edit::Remove { file: 1 },
        Edit::Rename { file: 0, to: 9 },
    ])]);
}

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

/// L8: edits parked by an earlier switch are not carried later, nor are files from before the branch.
#[test]
fn only_what_is_fresh_is_carried() {
    holds(&[
        A_BRANCH,
        by_the_user(),
        switch(1, false, false),
        switch(0, false, false),
        switch(1, true, false),
    ]);
    holds(&[
        A_BRANCH,
        by_the_user(),
        Op::Look,
        Op::Name {
            node: 1,
            tag: false,
        },
        switch(2, false, false),
        switch(1, true, false),
    ]);
}

/// L2: the undo of a switch takes out the edits that it carried, on the branch that it went to.
#[test]
fn what_was_carried_goes_back() {
    holds(&[A_BRANCH, by_the_user(), switch(1, true, true)]);
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

/// L8: a file that the user copies over another on a branch is carried along as a whole, old lines included.
#[test]
fn a_copied_file_is_carried_along() {
    holds_for(
        Mix::BRANCHES,
        &[
            Op::Name {
                node: 0,
                tag: false,
            },
            Op::Checkpoint,
            shell(vec![Edit::Delete {
                file: 8,
                at: 24,
                lines: 1,
            }]),
            switch(19, false, false),
            Op::User(vec![Edit::Copy { file: 104, to: 212 }]),
            switch(254, true, false),
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

/// L8: edits that were carried to a branch are carried from there, too.
#[test]
fn carried_edits_are_carried_on() {
    let fork = || Op::Name {
        node: 0,
        tag: false,
    };
    holds_for(
        Mix::BRANCHES,
        &[
            Op::User(vec![Edit::Create { path: 4, lines: 0 }]),
            fork(),
            fork(),
            switch(55, false, false),
            by_the_user(),
            switch(177, true, false),
            switch(2, true, false),
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

fn elsewhere(node: u16, path: u8, how: u8) -> Op {
    Op::Elsewhere { node, path, how }
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
