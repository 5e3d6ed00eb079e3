//! The database cost of a hook or a rewind does not grow with the size of the history or of the
//! tree.

use std::cell::RefCell;
use std::collections::BTreeMap;

use rusqlite::StatementStatus;
use rusqlite::trace::{TraceEvent, TraceEventCodes};

use crate::restore::tests::Scene;
use crate::{Engine, Workspace, WorkspaceKind};

thread_local! {
    static STEPS: RefCell<BTreeMap<String, Cost>> = const { RefCell::new(BTreeMap::new()) };
}

/// Runs of a statement, and the steps of SQLite's virtual machine: over all runs if it was prepared
/// once.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    runs: i32,
    steps: i32,
}

impl Cost {
    fn has_grown_to(self, later: Self) -> bool {
        later.steps > 2 * self.steps + 100 || later.runs > self.runs + 2
    }
}

fn note(event: TraceEvent<'_>) {
    if let TraceEvent::Profile(statement, _) = event {
        let steps = statement.get_status(StatementStatus::VmStep);
        STEPS.with_borrow_mut(|all| {
            let cost = all.entry(statement.sql().into_owned()).or_default();
            cost.runs += 1;
            cost.steps = cost.steps.max(steps);
        });
    }
}

/// Returns the cost of each statement that `work` runs, in a fresh process.
fn steps(scene: &mut Scene, work: impl FnOnce(&mut Scene)) -> BTreeMap<String, Cost> {
    let workspace = Workspace {
        root: scene.root.clone(),
        store_dir: scene.dir.path().join("store"),
        shared: false,
        kind: WorkspaceKind::Project,
    };
    scene.engine = Engine::open(&workspace).expect("opens");
    STEPS.take();
    let conn = &mut scene.engine.store.conn;
    conn.trace_v2(TraceEventCodes::SQLITE_TRACE_PROFILE, Some(note))
        .expect("traced");
    work(scene);
    STEPS.take()
}

/// Returns the statements whose cost has grown, with both costs.
fn grown(
    before: &BTreeMap<String, Cost>,
    after: &BTreeMap<String, Cost>,
) -> Vec<(String, Cost, Cost)> {
    assert!(before.len() > 30, "statements are traced: {}", before.len());
    let both = after.iter().map(|(sql, after)| {
        let before = before.get(sql).copied().unwrap_or_default();
        (sql.clone(), before, *after)
    });
    both.filter(|(_, before, after)| before.has_grown_to(*after))
        .collect()
}

/// An edit, a command, user edits between them, and a prompt.
fn work(scene: &mut Scene, round: u32) {
    scene.settles = true;
    scene.edit("a.txt", &format!("measured {round}\n"));
    scene.user("a.txt", &format!("by hand {round}\n"));
    scene.edit("a.txt", &format!("measured again {round}\n"));
    scene.shell(|root| std::fs::write(root.join("b.txt"), round.to_string()).expect("written"));
    scene.prompt("and again");
    scene.settles = false;
}

fn live(scene: &mut Scene, edits: u32) {
    for n in 0..edits {
        if n % 2 == 0 {
            scene.session = format!("s{}", n % 7);
            scene.prompt("go on");
        }
        scene.edit("a.txt", &format!("version {n} of {edits}\n"));
        if n % 4 == 0 {
            scene.shell(|root| {
                std::fs::write(root.join("b.txt"), format!("{n} {edits}")).expect("written");
            });
        }
    }
}

#[test]
fn a_long_history_costs_a_hook_nothing() {
    let mut scene = Scene::new(&[("a.txt", "first\n"), ("b.txt", "first\n")]);
    live(&mut scene, 20);
    let short = steps(&mut scene, |scene| work(scene, 0));
    live(&mut scene, 240);
    let long = steps(&mut scene, |scene| work(scene, 1));
    let grown = grown(&short, &long);
    assert!(grown.is_empty(), "{grown:#?}");
}

#[test]
fn a_large_tree_costs_an_edit_and_its_rewind_nothing() {
    let [small, large] = [10, 1000].map(|count| {
        let names: Vec<String> = (0..count).map(|n| format!("d{}/f{n}.txt", n % 9)).collect();
        let files = names.iter().map(|name| (name.as_str(), "text\n"));
        let mut scene = Scene::new(
            &[("a.txt", "first\n")]
                .into_iter()
                .chain(files)
                .collect::<Vec<_>>(),
        );
        scene.prompt("begin");
        scene.edit("a.txt", "begun\n");
        scene.prompt("go on");
        steps(&mut scene, |scene| {
            scene.edit("a.txt", "second\n");
            let rewind = scene.request("t2");
            let done = scene.engine.restore_mut().apply(&rewind, None, &mut |_| {});
            done.expect("rewound");
            assert_eq!(scene.text("a.txt").as_deref(), Some("begun\n"));
        })
    });
    let grown = grown(&small, &large);
    assert!(grown.is_empty(), "{grown:#?}");
}
