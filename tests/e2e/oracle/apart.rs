//! The everyday case: the user and two agents work in one file, each in their own regions, at least three lines
//! apart. These edits never conflict.

use proptest::prelude::*;

use backstitch_core::model::NodeId;
use backstitch_core::restore::{Goal, Request};

use super::model::Who;
use super::ops::{Mix, some_of};
use super::world::{Checked, World};
use super::{APART, check};

const REGIONS: u8 = 6;

#[derive(Clone, Debug)]
enum Act {
    /// Replaces the first `gone` lines of a region by these; the region determines the writer.
    Edit {
        region: u8,
        at: u8,
        gone: u8,
        lines: u8,
        shell: bool,
    },
    Prompt(bool),
    Rewind {
        node: u16,
        back: bool,
    },
    Undo,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => (0..REGIONS, any::<u8>(), 0..3_u8, 0..3_u8, any::<bool>())
            .prop_map(|(region, at, gone, lines, shell)| Act::Edit { region, at, gone, lines, shell }),
        1 => any::<bool>().prop_map(Act::Prompt),
        3 => (any::<u16>(), any::<bool>()).prop_map(|(node, back)| Act::Rewind { node, back }),
        1 => Just(Act::Undo),
    ]
}

fn owner(region: u8) -> Who {
    [Who::User, Who::A, Who::User, Who::B][usize::from(region) % 4]
}

fn play(acts: &[Act]) -> Checked {
    let mut world = World::new(
        Mix {
            overlap: false,
            ..Mix::ALL
        },
        false,
    );
    let start: Vec<String> = (0..REGIONS)
        .flat_map(|region| {
            let inner = (0..4).map(move |n| format!("region {region} line {n}\n"));
            inner.chain((0..3).map(move |n| format!("between {region} {n}\n")))
        })
        .collect();
    world.put("file.txt", &start.concat());
    world.begin()?;
    for act in acts {
        match act {
            Act::Edit {
                region,
                at,
                gone,
                lines,
                shell,
            } => {
                world.edit_region(owner(*region), *shell, (*region, *at, *gone, *lines))?;
            }
            Act::Prompt(first) => {
                let who = if *first { Who::A } else { Who::B };
                world.run(&super::Op::Prompt(who))?;
            }
            Act::Rewind { node, back } => {
                let node = world.nth_node(*node);
                world.rewind_by(&Request::new(Goal::Rewind(node)), node, *back)?;
            }
            Act::Undo => world.run(&super::Op::Undo { op: None })?,
        }
        if world.counts.conflicts > 0 {
            return Err(format!(
                "{act:?}: a conflict between regions that are apart\n{}",
                world.shown()
            ));
        }
    }
    let nodes: Vec<NodeId> = world.expected.keys().copied().collect();
    world.every_state_returns(&nodes[nodes.len() / 2..])?;
    world.all_hold()
}

/// U-19: edits of the user and of agents that are at least three lines apart never conflict, and none is lost.
#[test]
fn edits_that_are_apart_never_conflict() {
    check("edits apart", APART, some_of(act()), play);
}
