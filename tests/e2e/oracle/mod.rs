//! The oracle: generated histories on the real engine, compared with a model that keeps whole copies.
//!
//! `ops` generates the operations, `disk` and `events` run them, `world` models what the engine must know. `restore`
//! and `laws` run rewinds and check them, `blame` checks line authors, `apart` is the everyday case that must never
//! conflict. The laws:
//!
//! - E: every node's tree equals the files at that time, the store verifies (S3-016…018, U-21).
//! - L1: with one writer, a default rewind equals `--exact`, also after rewinds, reverts and undos (S3-033, S3-034).
//! - L2: undo restores the state before, redo the state after (U-20, U-24).
//! - L3: the same rewind again plans nothing (U-18).
//! - L4: no line of another writer is lost, nothing taken out remains unreported (U-19).
//! - L5: a revert of a revert changes nothing; the order of two reverts does not matter.
//! - L8: a switch restores the other branch's files and leaves the rest alone; names and ancestors are right.
//! - L9: a revert of some turns equals replaying the others.
//! - B: blame names the author of each line and its checkpoint, with the cache as without.
//! - G: checkpoints that `gc` keeps are unchanged, and every law still holds afterwards.
//! - L7: `--exact` restores the recorded bytes, whatever came after (S3-035, S3-036, U-23).
//!
//! A failure prints the seed and the shortest history found. `BACKSTITCH_ORACLE_CASES` is the total number of
//! histories, `BACKSTITCH_ORACLE_SEED` selects others; `tests/oracle-long` runs many.

mod apart;
mod blame;
mod branches;
mod collected;
pub mod dirs;
mod disk;
mod elsewhere;
mod events;
mod laws;
pub mod model;
mod ops;
mod regressions;
mod replayed;
mod restore;
mod world;

use std::cell::RefCell;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use crate::support::rng::{cases, is_long};
use ops::{Mix, Op};
use world::{Checked, Counts, World};

/// Shares of the properties, per 100 histories.
const GENERAL: u32 = 40;
const ALIKE: u32 = 15;
const ALONE: u32 = 15;
const APART: u32 = 10;
const BRANCHES: u32 = 20;
/// In addition to the 100: with a recorder.
const WATCHED: u32 = 20;
/// In addition to the 100: with gc now and then.
const COLLECTED: u32 = 6;
/// In addition to the 100: these are short.
const REPLAYED: u32 = 40;

/// Limit for conflicts per 100 default rewinds in small files with several writers.
const MOST_CONFLICTS: usize = 25;

/// A number from the environment.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Seed of an ordinary run: its few histories have enough switches for what the properties ask of all together.
const SEED: u64 = 2;
/// The same for the property of retention, whose few histories must squash enough.
const SEED_COLLECTED: u64 = 4;

/// Number of histories of all properties together.
fn histories() -> u64 {
    cases("BACKSTITCH_ORACLE_CASES", 400, 2000)
}

/// Checks a property on its share of the histories, which are determined by the seed.
fn check<T: std::fmt::Debug>(
    name: &str,
    share: u32,
    strategy: impl Strategy<Value = Vec<T>>,
    property: impl Fn(&[T]) -> Checked,
) {
    let count = histories() * u64::from(share) / 100;
    let ordinary = if share == COLLECTED {
        SEED_COLLECTED
    } else {
        SEED
    };
    let seed = setting("BACKSTITCH_ORACLE_SEED").unwrap_or(if is_long() { 0 } else { ordinary });
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        cases: u32::try_from(count.max(1)).unwrap_or(u32::MAX),
        max_shrink_iters: 3000,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let outcome = TestRunner::new_with_rng(config, rng).run(&strategy, |value| {
        property(&value).map_err(TestCaseError::fail)
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(why, history)) => {
            let lines: Vec<String> = history.iter().map(|op| format!("  {op:?},\n")).collect();
            panic!(
                "{name}, BACKSTITCH_ORACLE_SEED={seed} BACKSTITCH_ORACLE_CASES={}\n{why}\n{}",
                count * 100 / u64::from(share),
                lines.concat()
            )
        }
        Err(e) => panic!("{name}: {e}"),
    }
}

/// Runs one history from its beginning, and checks all laws.
fn history(mix: Mix, alike: bool, ops: &[Op]) -> Checked<Counts> {
    let mut world = World::new(mix, alike);
    let outcome = play(&mut world, ops);
    outcome.map_err(|why| format!("{why}\nthe disk:\n{}", world.shown()))?;
    Ok(std::mem::take(&mut world.counts))
}

fn play(world: &mut World, ops: &[Op]) -> Checked {
    world.begin()?;
    go_on(world, ops)
}

/// Runs one history with a recorder.
fn watched(mix: Mix, ops: &[Op]) -> Checked<Counts> {
    let mut world = World::new(mix, false);
    let mut play = || {
        world.begin()?;
        world.watched()?;
        go_on(&mut world, ops)
    };
    let outcome = play();
    outcome.map_err(|why| format!("{why}\nthe disk:\n{}", world.shown()))?;
    world.counts.spared = usize::try_from(world.engine.walks_avoided()).unwrap_or(0);
    Ok(std::mem::take(&mut world.counts))
}

fn go_on(world: &mut World, ops: &[Op]) -> Checked {
    for (at, op) in ops.iter().enumerate() {
        world
            .run(op)
            .map_err(|e| format!("operation {at}, {op:?}: {e}"))?;
        if at % 10 == 9 {
            world.all_hold()?;
            world.counts.lines_blamed += world.blame_holds()?;
        }
    }
    world.run(&Op::Look)?;
    world.all_hold()?;
    world.counts.lines_blamed += world.blame_holds()?;
    // some states from the whole history, the newest last
    let nodes: Vec<_> = world.expected.keys().copied().collect();
    let step = (nodes.len() / 4).max(1);
    let mut sample: Vec<_> = nodes.iter().copied().step_by(step).collect();
    sample.extend(nodes.last());
    world.every_state_returns(&sample)?;
    world.counts.lines_blamed += world.blame_holds()?;
    world.all_hold()
}

/// U-18, U-19, U-20, U-21, U-23, U-24, S3-016…018, S3-033…036: agents and the user work at the same time, and each
/// line is unique.
#[test]
fn every_law_holds_for_histories_of_several_writers() {
    let all = RefCell::new(Counts::default());
    check("several writers", GENERAL, ops::history(Mix::ALL), |ops| {
        all.borrow_mut().add(&history(Mix::ALL, false, ops)?);
        Ok(())
    });
    let all = all.into_inner();
    println!("{all:?}");
    // most restores must succeed, although the writers share few and short files; otherwise the laws say little
    assert!(
        all.conflicts * 100 <= all.rewinds * MOST_CONFLICTS,
        "{all:?}"
    );
    assert!(
        all.lines_kept > all.rewinds && all.lines_gone > all.rewinds / 4,
        "{all:?}"
    );
    assert!(all.lines_blamed > 5 * all.rewinds, "{all:?}");
}

/// S2-067, S2-069, S2-075, S2-076, S4-064, S4-065, S4-069: the same on several branches.
#[test]
fn branches_keep_their_own_states() {
    let all = RefCell::new(Counts::default());
    check("branches", BRANCHES, ops::history(Mix::BRANCHES), |ops| {
        all.borrow_mut().add(&history(Mix::BRANCHES, false, ops)?);
        Ok(())
    });
    let all = all.into_inner();
    println!("{all:?}");
    let histories = histories() * u64::from(BRANCHES) / 100;
    // half of the mean, so that no seed is refused by chance
    let enough = usize::try_from(histories / 20).unwrap_or(usize::MAX);
    assert!(all.switches.iter().all(|n| *n > enough), "{all:?}");
}

/// U-21, S3-016…018: the same with a recorder, which saves the engine the walk over the tree.
#[cfg(target_os = "linux")]
#[test]
fn nothing_is_missed_where_a_recorder_spares_the_walk() {
    let all = RefCell::new(Counts::default());
    let histories = RefCell::new(0);
    check("watched", WATCHED, ops::history(Mix::BRANCHES), |ops| {
        all.borrow_mut().add(&watched(Mix::BRANCHES, ops)?);
        *histories.borrow_mut() += 1;
        Ok(())
    });
    let (all, histories) = (all.into_inner(), histories.into_inner());
    println!("{histories} histories: {all:?}");
    assert!(all.spared > 3 * histories, "{all:?}");
}

/// U-18, U-20, U-21, U-23: the same with repeated lines, so that merges are ambiguous.
#[test]
fn states_return_where_lines_recur() {
    check("recurring lines", ALIKE, ops::history(Mix::ALL), |ops| {
        history(Mix::ALL, true, ops).map(|_| ())
    });
}

/// S3-033, S3-034, S3-035, S3-036: with one agent and nobody else, a default rewind is an exact one.
#[test]
fn a_rewind_of_a_lone_agent_is_exact() {
    check("a lone agent", ALONE, ops::history(Mix::ALONE), |ops| {
        history(Mix::ALONE, false, ops).map(|_| ())
    });
}

/// S2-R5, S3-030: old checkpoints are squashed now and then, and every law holds for the rest, also with only one
/// agent.
#[test]
fn what_retention_leaves_is_as_it_was() {
    let all = RefCell::new(Counts::default());
    check(
        "collected",
        COLLECTED,
        ops::history(Mix::COLLECTED),
        |ops| {
            all.borrow_mut().add(&history(Mix::COLLECTED, false, ops)?);
            Ok(())
        },
    );
    let alone = Mix {
        gc: true,
        ..Mix::ALONE
    };
    check(
        "a lone agent, collected",
        COLLECTED,
        ops::history(alone),
        |ops| {
            all.borrow_mut().add(&history(alone, false, ops)?);
            Ok(())
        },
    );
    let all = all.into_inner();
    println!("{all:?}");
    let histories = histories() * u64::from(COLLECTED) / 100;
    let histories = usize::try_from(histories).unwrap_or(usize::MAX);
    // half of the mean, so that no seed is refused by chance
    assert!(all.collected > histories, "{all:?}");
}
