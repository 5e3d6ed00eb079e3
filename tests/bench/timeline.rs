//! A long history, generated quickly: its rows are written directly, as the engine would have written them. Measures
//! its timeline.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;
use std::rc::Rc;

use anyhow::{Context as _, Result};
use rusqlite::{Connection, params};

use crate::editor;
use crate::measure::{Times, alternating};
use crate::place::{Place, Programs};
use crate::rng::Rng;
use crate::rows::{NO_PROCESS, Report};
use crate::table::Goal;

const FILES: usize = 200;
/// This many of the files get half of all changes.
const HOT: usize = 5;
/// Lines of a file, of about 40 bytes each.
const LINES: usize = 200;
/// One in this many checkpoints is a prompt, one is manual, one is a rewind.
const TURN: u64 = 9;
const MANUAL: u64 = 50;
const REWIND: u64 = 400;
/// Number of versions of a file in a delta chain, as in the engine.
const CHAIN: u64 = 256;

/// Measures a page of the timeline, with each filter.
pub fn measure(
    report: &mut Report,
    programs: &Programs,
    checkpoints: usize,
    runs: usize,
) -> Result<()> {
    for (nodes, branches) in [(checkpoints / 100, 2), (checkpoints, 200)] {
        let place = Place::new(programs)?;
        place.run(&["checkpoint", "-m", "start"])?;
        let store = place.store()?;
        Maker::new(&store)?.make(nodes, branches)?;
        let tree = format!("{nodes} checkpoints, {branches} branches");
        let mut ask = |what: &'static str, args: &[&str], goal: f64| -> Result<()> {
            let args: Vec<&str> = ["log", "-n", "200"].iter().chain(args).copied().collect();
            let times = alternating(runs, || place.run(&args), || place.nothing([""; 0]))?;
            report.times(&tree, what, NO_PROCESS, &times, Goal::AtMost(goal));
            Ok(())
        };
        ask("a page of 200", &[], 12.0)?;
        ask("the same as JSON", &["--json"], 25.0)?;
        ask("graph", &["--graph"], 12.0)?;
        ask("graph of all branches", &["--graph", "--all"], 15.0)?;
        ask(
            "page in the midst",
            &["--before", &format!("c{}", nodes / 2)],
            12.0,
        )?;
        ask("path of half a tenth", &["--path", "src/f0.rs"], 20.0)?;
        ask("path that is rare", &["--path", "src/f199.rs"], 20.0)?;
        ask("directory", &["--path", "src"], 12.0)?;
        ask("session", &["--session", "bench-07"], 12.0)?;
        ask("by hand", &["--kind", "manual"], 12.0)?;
        ask("until the first day", &["--until", "2026-01-02"], 40.0)?;
        editor::measure_timeline(report, &place, &tree, runs)?;
        let conn = Connection::open(&store)?;
        let first = || {
            conn.execute_batch("DELETE FROM counted")?;
            place.run(&["log", "-n", "200"])
        };
        let times = alternating(runs, first, || place.nothing([""; 0]))?;
        let what = "a page of 200, first look";
        report.times(&tree, what, NO_PROCESS, &times, Goal::AtMost(100.0));
        let mut index = Vec::new();
        for _ in 0..2 {
            conn.execute_batch(
                "INSERT INTO words (words) VALUES ('delete-all'); DELETE FROM meta WHERE key = 'words'",
            )?;
            index.push(place.run(&["log", "-n", "200", "--text", "nowhere"])?);
        }
        let index = Times::of(index);
        let what = "words, first search";
        report.times(
            &tree,
            what,
            NO_PROCESS,
            &(index, times.1),
            Goal::AtMost(10_000.0),
        );
        let mut ask = |what: &'static str, words: &str| -> Result<()> {
            let args = ["log", "-n", "200", "--text", words];
            let times = alternating(runs, || place.run(&args), || place.nothing([""; 0]))?;
            report.times(&tree, what, NO_PROCESS, &times, Goal::AtMost(20.0));
            Ok(())
        };
        ask("words, in every step", "edited")?;
        ask("words, in one", &format!("word{}", nodes / 3))?;
        ask("words, any end", "word1*")?;
    }
    Ok(())
}

/// A file on a branch: its text, and the edits in force in it.
#[derive(Clone)]
struct File {
    id: i64,
    path: String,
    text: Rc<String>,
    set: [u8; 16],
    /// The edit that can be taken out: the newest one, and the text before it.
    before: Option<(i64, Rc<String>, [u8; 16])>,
}

struct Branch {
    id: i64,
    head: i64,
    depth: i64,
    files: Vec<File>,
}

struct Maker {
    conn: Connection,
    rng: Rng,
    time: i64,
    /// Number of versions of each file.
    versions: HashMap<i64, u64>,
    /// Versions of a file that serve as delta bases, by position.
    chains: HashMap<(i64, u64), (i64, Rc<String>)>,
}

impl Maker {
    fn new(store: &Path) -> Result<Self> {
        let conn = Connection::open(store)?;
        conn.execute_batch("PRAGMA synchronous=OFF; PRAGMA foreign_keys=ON")?;
        conn.set_prepared_statement_cache_capacity(64);
        Ok(Self {
            conn,
            rng: Rng::new(7),
            time: 1_767_225_600_000_000, // 2026-01-01
            versions: HashMap::new(),
            chains: HashMap::new(),
        })
    }

    fn make(&mut self, nodes: usize, branches: usize) -> Result<()> {
        self.conn.execute_batch("BEGIN")?;
        self.conn
            .execute("UPDATE node SET time = ?1", [self.time])?;
        for n in 0..50 {
            let agent = if n % 3 == 0 { "codex" } else { "claude-code" };
            self.conn.execute(
                "INSERT INTO session (agent, native, started, seen, root) VALUES (?1, ?2, ?3, ?3, 1)",
                params![agent, format!("bench-{n:02}"), self.time],
            )?;
        }
        let (head, depth) =
            self.conn
                .query_row("SELECT MAX(id), MAX(depth) FROM node", [], |r| {
                    Ok((r.get(0)?, r.get(1)?))
                })?;
        let files = (0..FILES).map(|n| self.file(n)).collect::<Result<_>>()?;
        let mut all = vec![Branch {
            id: 1,
            head,
            depth,
            files,
        }];
        let every = nodes / branches;
        for n in 1..nodes {
            if n % every == 0 && all.len() < branches {
                let from = if self.rng.below(3) == 0 {
                    self.rng.below(all.len())
                } else {
                    0
                };
                let new = self.fork(&all[from], all.len())?;
                all.push(new);
            }
            let at = if self.rng.below(10) < 6 {
                0
            } else {
                self.rng.below(all.len())
            };
            self.node(&mut all[at], n)?;
        }
        for branch in &all {
            self.conn.execute(
                "UPDATE branch SET head = ?1 WHERE id = ?2",
                [branch.head, branch.id],
            )?;
        }
        self.conn
            .execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")?;
        Ok(())
    }

    fn fork(&mut self, from: &Branch, n: usize) -> Result<Branch> {
        self.conn.execute(
            "INSERT INTO branch (name, head, parent, fork_point, created) VALUES (?1, ?2, ?3, ?2, ?4)",
            params![format!("idea{n}"), from.head, from.id, self.time],
        )?;
        Ok(Branch {
            id: self.conn.last_insert_rowid(),
            head: from.head,
            depth: from.depth,
            files: from.files.clone(),
        })
    }

    fn file(&mut self, n: usize) -> Result<File> {
        let lines =
            (0..LINES).map(|line| format!("    let line{line} = of_file({n}, {});\n", line * 7));
        let text: Rc<String> = Rc::new(lines.collect());
        self.conn
            .execute("INSERT INTO file (since) VALUES (NULL)", [])?;
        let id = self.conn.last_insert_rowid();
        self.blob(id, &text)?;
        let path = format!("src/f{n}.rs");
        let file = File {
            id,
            path,
            text,
            set: [0; 16],
            before: None,
        };
        self.remember(&file)?;
        Ok(file)
    }

    /// Stores a version of a file as a delta, as the engine does.
    fn blob(&mut self, file: i64, text: &Rc<String>) -> Result<()> {
        let version = self.versions.entry(file).or_default();
        let pos = *version % CHAIN;
        *version += 1;
        let base = (pos > 0).then(|| self.chains[&(file, pos & (pos - 1))].clone());
        let mut encoder = match &base {
            Some((_, base)) => {
                zstd::stream::write::Encoder::with_ref_prefix(Vec::new(), 3, base.as_bytes())?
            }
            None => zstd::stream::write::Encoder::new(Vec::new(), 3)?,
        };
        encoder.write_all(text.as_bytes())?;
        let data = encoder.finish()?;
        let coding = if base.is_some() { 2 } else { 1 };
        self.conn
            .prepare_cached(
                "INSERT INTO blob (hash, size, coding, base, pos, data) VALUES (?1,?2,?3,?4,?5,?6)",
            )?
            .execute(params![
                blake3::hash(text.as_bytes()).as_bytes(),
                text.len(),
                coding,
                base.map(|(n, _)| n),
                i64::try_from(pos)?,
                data
            ])?;
        let n = self.conn.last_insert_rowid();
        self.chains.insert((file, pos), (n, Rc::clone(text)));
        Ok(())
    }

    fn remember(&self, file: &File) -> Result<()> {
        self.conn
            .prepare_cached(
                "INSERT OR IGNORE INTO version (file, set_hash, path, image) VALUES (?1,?2,?3,?4)",
            )?
            .execute(params![
                file.id,
                file.set,
                file.path.as_bytes(),
                image(&file.text)
            ])?;
        Ok(())
    }

    fn node(&mut self, branch: &mut Branch, n: usize) -> Result<()> {
        let n = u64::try_from(n)?;
        self.time += 60_000_000;
        let session = 1 + i64::try_from(n / 40 % 50)?;
        let at = if self.rng.below(2) == 0 {
            self.rng.below(HOT)
        } else {
            self.rng.below(FILES)
        };
        let kind = match n {
            n if n % REWIND == 0 && branch.files[at].before.is_some() => "rewind",
            n if n % MANUAL == 0 => "manual",
            n if n % TURN == 0 => "turn",
            n if n % 13 == 0 => "external",
            _ => "step",
        };
        let by_agent = matches!(kind, "turn" | "step");
        let call = if kind == "step" {
            let input = format!(
                "{{\"file_path\":\"/work/{}\",\"old_string\":\"line\",\"new_string\":\"edited word{n}\"}}",
                branch.files[at].path
            );
            Some(self.call(session, n, &input)?)
        } else {
            None
        };
        branch.depth += 1;
        self.conn
            .prepare_cached(
                "INSERT INTO node (parent, depth, kind, branch, root, session, call, label, time)
                 VALUES (?1,?2,?3,?4,1,?5,?6,?7,?8)",
            )?
            .execute(params![
                branch.head,
                branch.depth,
                kind,
                branch.id,
                by_agent.then_some(session),
                call,
                (kind == "manual").then(|| format!("label {n}")),
                self.time
            ])?;
        let node = self.conn.last_insert_rowid();
        branch.head = node;
        match kind {
            "turn" => {
                self.conn
                    .prepare_cached(
                        "INSERT INTO turn (number, session, prompt, node, started) VALUES (?1,?2,?3,?4,?5)",
                    )?
                    .execute(params![
                        i64::try_from(n)?,
                        session,
                        format!("please do prompt{n} and do it well"),
                        node,
                        self.time
                    ])?;
                let turn = self.conn.last_insert_rowid();
                self.conn
                    .prepare_cached("UPDATE node SET turn = ?1 WHERE id = ?2")?
                    .execute([turn, node])?;
            }
            "manual" => {}
            "rewind" => self.rewind(branch, at, node)?,
            _ => self.edit(
                &mut branch.files[at],
                node,
                n,
                call.map(|call| (session, call)),
            )?,
        }
        Ok(())
    }

    fn call(&mut self, session: i64, n: u64, input: &str) -> Result<i64> {
        self.conn
            .prepare_cached("INSERT INTO blob (hash, size, coding, data) VALUES (?1,?2,0,?3)")?
            .execute(params![
                blake3::hash(input.as_bytes()).as_bytes(),
                input.len(),
                input.as_bytes()
            ])?;
        let input = self.conn.last_insert_rowid();
        let n = i64::try_from(n)?;
        self.conn
            .prepare_cached(
                "INSERT INTO call (session, native, tool, effect, iteration, input, opened, opened_seq, closed,
                   closed_seq, outcome, root) VALUES (?1,?2,'Edit',1,?3,?4,?5,?3,?5,?3,0,1)",
            )?
            .execute(params![session, format!("toolu_{n}"), n, input, self.time])?;
        Ok(self.conn.last_insert_rowid())
    }

    fn edit(&mut self, file: &mut File, node: i64, n: u64, by: Option<(i64, i64)>) -> Result<()> {
        let line = self.rng.below(LINES);
        let text: String = file
            .text
            .split_inclusive('\n')
            .enumerate()
            .map(|(at, old)| {
                if at == line {
                    format!("    let edited = by_change({n});\n")
                } else {
                    old.to_owned()
                }
            })
            .collect();
        let (old, set) = (Rc::clone(&file.text), file.set);
        let text = Rc::new(text);
        self.blob(file.id, &text)?;
        let change = self.change(file, node, 0, &text, by)?;
        for (byte, with) in file
            .set
            .iter_mut()
            .zip(blake3::hash(&change.to_le_bytes()).as_bytes())
        {
            *byte ^= with;
        }
        self.settle(file, change)?;
        file.text = text;
        file.before = Some((change, old, set));
        self.remember(file)
    }

    /// Takes the newest edit of a file out.
    fn rewind(&mut self, branch: &mut Branch, at: usize, node: i64) -> Result<()> {
        let file = &mut branch.files[at];
        let before = file.before.take().context("an edit")?;
        let (edit, text, set) = &before;
        let change = self.change(file, node, 1, text, None)?;
        file.set = *set;
        self.settle(file, change)?;
        self.conn.execute(
            "INSERT INTO moved (change, member, sign) VALUES (?1, ?2, -1)",
            [change, *edit],
        )?;
        self.conn.execute(
            "INSERT INTO operation (kind, root, branch, target, node, time, state)
             VALUES ('rewind', 1, ?1, ?2, ?3, ?4, 'done')",
            params![branch.id, format!("c{}", node - 1), node, self.time],
        )?;
        file.text = Rc::clone(text);
        Ok(())
    }

    fn change(
        &self,
        file: &File,
        node: i64,
        role: i64,
        text: &str,
        by: Option<(i64, i64)>,
    ) -> Result<i64> {
        let path = file.path.as_bytes();
        self.conn
            .prepare_cached(
                "INSERT INTO change (node, file, role, before_path, before_image, after_path, after_image,
                   session, call, session_certainty, step_certainty, set_after)
                 VALUES (?1,?2,?3,?4,?5,?4,?6,?7,?8,0,0,x'')",
            )?
            .execute(params![
                node,
                file.id,
                role,
                path,
                image(&file.text),
                image(text),
                by.map(|(session, _)| session),
                by.map(|(_, call)| call)
            ])?;
        Ok(self.conn.last_insert_rowid())
    }

    fn settle(&self, file: &File, change: i64) -> Result<()> {
        self.conn
            .prepare_cached("UPDATE change SET set_after = ?1 WHERE id = ?2")?
            .execute(params![file.set, change])?;
        Ok(())
    }
}

/// An image of a regular file of mode 0644, in the database format.
fn image(text: &str) -> Vec<u8> {
    let mut image = vec![1];
    image.extend(0o644_u16.to_le_bytes());
    image.extend((text.len() as u64).to_le_bytes());
    image.extend(blake3::hash(text.as_bytes()).as_bytes());
    image
}
