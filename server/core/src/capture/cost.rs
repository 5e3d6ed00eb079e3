//! What a hook asks of the database does not grow with what is in it.

use std::cell::RefCell;
use std::collections::BTreeMap;

use rusqlite::StatementStatus;
use rusqlite::trace::{TraceEvent, TraceEventCodes};

use crate::restore::tests::Scene;
use crate::{Engine, Workspace};

thread_local! {
    static STEPS: RefCell<BTreeMap<String, Cost>> = const { RefCell::new(BTreeMap::new()) };
}

/// How often a statement ran, and how many steps SQLite's machine took: of all its runs, where it was prepared once.
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

/// What each statement costs that an edit, a command and what the user does between them, and a prompt, run in a fresh process.
fn steps(scene: &mut Scene, round: u32) -> BTreeMap<String, Cost> {
    let workspace = Workspace {
        root: scene.root.clone(),
        store_dir: scene.dir.path().join("store"),
        shared: false,
    };
    scene.engine = Engine::open(&workspace).expect("opens");
    STEPS.take();
    let conn = &mut scene.engine.store.conn;
    conn.trace_v2(TraceEventCodes::SQLITE_TRACE_PROFILE, Some(note))
        .expect("traced");
    scene.edit("a.txt", &format!("measured {round}\n"));
    scene.user("a.txt", &format!("by hand {round}\n"));
    scene.edit("a.txt", &format!("measured again {round}\n"));
    scene.shell(|root| std::fs::write(root.join("b.txt"), round.to_string()).expect("written"));
    scene.prompt("and again");
    STEPS.take()
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
    let short = steps(&mut scene, 0);
    assert!(short.len() > 30, "statements are heard of: {}", short.len());
    live(&mut scene, 240);
    let long = steps(&mut scene, 1);
    let grown: Vec<_> = long
        .iter()
        .map(|(sql, after)| (sql, short.get(sql).copied().unwrap_or_default(), *after))
        .filter(|(_, before, after)| before.has_grown_to(*after))
        .collect();
    assert!(grown.is_empty(), "{grown:#?}");
}
