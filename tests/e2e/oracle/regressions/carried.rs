//! Edits that a switch carries to another branch.

use super::{A_BRANCH, by_the_user, holds, holds_for, shell, switch};
use crate::oracle::ops::{Choice, Edit, Mix, Op};

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
