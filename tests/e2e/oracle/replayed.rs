//! Reverts of turns in the middle, compared with the obvious result: the remaining turns are replayed from the start.

use std::collections::BTreeSet;

use proptest::prelude::*;

use backstitch_core::restore::{Goal, Request};

use super::model::Who;
use super::ops::Mix;
use super::restore::Outcome;
use super::world::{Checked, World};
use super::{Op, REPLAYED, check};

const FILES: [&str; 2] = ["one.txt", "two.txt"];
const LINES: usize = 8;

/// An edit of a turn: file, position, and kind.
#[derive(Clone, Debug)]
struct Draw {
    file: u8,
    at: u8,
    how: u8,
    shell: bool,
}

/// Turns of a history, and those that are taken out.
#[derive(Clone, Debug)]
struct Scene {
    turns: Vec<Vec<Draw>>,
    out: u8,
}

/// The same edit in terms of its lines, so that it can be repeated on another text.
#[derive(Clone, Debug)]
enum Edit {
    /// Inserts between these lines; None is the start or end of the file.
    Insert(Option<String>, Option<String>, String),
    Delete(String),
    Replace(String, String),
}

type Text = Vec<String>;

/// Returns false if the lines of the edit are missing, and its result is open. It is also open where a line that was
/// taken out was next to an insertion: the side of the new line is then unknown.
fn apply(edit: &Edit, text: &mut Text) -> bool {
    let find = |line: &String| text.iter().position(|l| l == line);
    match edit {
        Edit::Insert(above, below, new) => {
            let at = match above {
                None => 0,
                Some(above) => match find(above) {
                    Some(at) => at + 1,
                    None => return false,
                },
            };
            if text.get(at) != below.as_ref() {
                return false;
            }
            text.insert(at, new.clone());
        }
        Edit::Delete(line) => match find(line) {
            Some(at) => drop(text.remove(at)),
            None => return false,
        },
        Edit::Replace(line, new) => match find(line) {
            Some(at) => new.clone_into(&mut text[at]),
            None => return false,
        },
    }
    true
}

fn scene() -> impl Strategy<Value = Scene> {
    let draw = (any::<u8>(), any::<u8>(), any::<u8>(), any::<bool>()).prop_map(
        |(file, at, how, shell)| Draw {
            file,
            at,
            how,
            shell,
        },
    );
    let turns = proptest::collection::vec(proptest::collection::vec(draw, 1..4), 2..7);
    (turns, 1..u8::MAX).prop_map(|(turns, out)| Scene { turns, out })
}

/// Numbers of clean and of reported results.
#[derive(Debug, Default)]
struct Tally {
    equal: usize,
    open: usize,
    refused: usize,
}

fn play(scene: &Scene, tally: &mut Tally) -> Checked {
    let alone = Mix {
        links_and_dirs: false,
        ..Mix::ALONE
    };
    let mut world = World::new(alone, false);
    let start: Vec<Text> = FILES
        .iter()
        .map(|file| (0..LINES).map(|n| format!("{file} {n}\n")).collect())
        .collect();
    for (file, text) in FILES.iter().zip(&start) {
        world.put(file, &text.concat());
    }
    world.begin()?;
    let mut now = start.clone();
    let mut done: Vec<Vec<(usize, Edit)>> = Vec::new();
    let mut count = 0;
    for turn in &scene.turns {
        world.run(&Op::Prompt(Who::A))?;
        let mut edits = Vec::new();
        for draw in turn {
            let file = usize::from(draw.file) % FILES.len();
            let text = &mut now[file];
            let line = (!text.is_empty()).then(|| text[usize::from(draw.at) % text.len()].clone());
            count += 1;
            let new = format!("new {count}\n");
            let edit = match (draw.how % 4, line) {
                (2, Some(line)) => Edit::Delete(line),
                (3, Some(line)) => Edit::Replace(line, new),
                (_, line) => {
                    let above = line.filter(|_| draw.at % 9 != 0);
                    let at = above
                        .as_ref()
                        .and_then(|l| text.iter().position(|t| t == l));
                    let below = text.get(at.map_or(0, |at| at + 1)).cloned();
                    Edit::Insert(above, below, new)
                }
            };
            apply(&edit, text);
            let whole = text.concat();
            world.write_as(Who::A, draw.shell, FILES[file], &whole)?;
            edits.push((file, edit));
        }
        done.push(edits);
    }
    let is_out = |turn: usize| scene.out >> turn & 1 == 1;
    let nodes = (0..done.len()).filter(|turn| is_out(*turn)).map(|turn| {
        let node = world.engine.history().resolve(&format!("t{}", turn + 1));
        node.map_err(|e| format!("t{}: {e}", turn + 1))
    });
    let nodes: Vec<_> = nodes.collect::<Checked<_>>()?;
    if nodes.is_empty() {
        return Ok(());
    }
    let mut wanted = start;
    let mut clear = true;
    for (_, edits) in done.iter().enumerate().filter(|(turn, _)| !is_out(*turn)) {
        for (file, edit) in edits {
            clear &= apply(edit, &mut wanted[*file]);
        }
    }
    let Outcome::Done(_) = world.restore(&Request::new(Goal::Revert(nodes)))? else {
        tally.refused += 1;
        return Ok(());
    };
    let mut found = Vec::new();
    for file in FILES {
        let text = std::fs::read_to_string(world.root.join(file));
        let text = text.map_err(|e| format!("{file}: {e}"))?;
        found.push(
            text.split_inclusive('\n')
                .map(str::to_owned)
                .collect::<Text>(),
        );
    }
    if clear {
        tally.equal += 1;
        if found != wanted {
            return Err(format!("L9: replayed {wanted:#?}, reverted {found:#?}"));
        }
        return Ok(());
    }
    // the result of the remaining turns is open: then at least no line of a reverted turn may be left, no line of a
    // remaining turn may be lost, and no line that a remaining turn deleted may be there
    tally.open += 1;
    let lines: BTreeSet<&String> = found.iter().flatten().collect();
    for (turn, edits) in done.iter().enumerate() {
        for (_, edit) in edits {
            let (Edit::Insert(_, _, new) | Edit::Replace(_, new)) = edit else {
                continue;
            };
            let gone = done.iter().enumerate().any(|(t, edits)| {
                let takes = |(_, e): &(usize, Edit)| matches!(e, Edit::Delete(l) | Edit::Replace(l, _) if l == new);
                !is_out(t) && edits.iter().any(takes)
            });
            if is_out(turn) && lines.contains(new) {
                return Err(format!("L9: {new:?} of turn {} remains", turn + 1));
            }
            if !is_out(turn) && !gone && !lines.contains(new) {
                return Err(format!("L9: {new:?} of turn {} is lost", turn + 1));
            }
        }
    }
    Ok(())
}

/// U-19: a revert of any turns equals replaying the others, wherever the result is clear. Otherwise it is
/// reported, or at least drops no line and leaves none.
#[test]
fn a_revert_equals_playing_the_other_turns_again() {
    let tally = std::cell::RefCell::new(Tally::default());
    let one = scene().prop_map(|scene| vec![scene]);
    check("replayed", REPLAYED, one, |scenes| {
        play(&scenes[0], &mut tally.borrow_mut())
    });
    let tally = tally.into_inner();
    println!("{tally:?}");
    let all = tally.equal + tally.open + tally.refused;
    assert!(
        tally.equal * 3 > all && tally.refused * 2 < all,
        "{tally:?}"
    );
}
