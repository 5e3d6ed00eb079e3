//! Lenses as the server answers them, compared with blame after each event of the story: for a client that asks again only when
//! it is told to, and for one that draws no lenses.

use std::time::SystemTime;

use serde_json::{Value, json};

use super::client::{Client, Editor};
use crate::lens_truth::{Action, FILES, Lens, Story, View, play, turn, turn_of};
use crate::support::World;

struct Shown<'w> {
    world: &'w World,
    client: Client<'w>,
    editor: Editor,
    options: Value,
    path: String,
    /// True while the user has typed text that is not saved.
    is_typed: bool,
    /// The document's text when it last agreed with its file.
    saved: String,
    /// The last answer, with the number of refreshes before it.
    lenses: Vec<Lens>,
    asked_at: usize,
}

impl<'w> Shown<'w> {
    fn new(world: &'w World, editor: Editor, options: Value) -> Self {
        let mut client = Client::with(world, editor, &options);
        client.inclined = vec!["Merge", "Keep Mine"];
        client.open(FILES[0].0);
        let mut new = Self {
            world,
            client,
            editor,
            options,
            path: FILES[0].0.to_owned(),
            is_typed: false,
            saved: world.read(FILES[0].0),
            lenses: Vec::new(),
            asked_at: 0,
        };
        new.ask();
        new
    }

    fn ask(&mut self) {
        self.asked_at = self.client.refreshed;
        let path = self.path.clone();
        let all = self.client.lenses(&path);
        self.lenses.clear();
        for (line, title, command) in all {
            if let Some(named) = turn_of(&title) {
                assert_eq!(turn(&command), Some(named.clone()), "{title}");
                self.lenses
                    .push((usize::try_from(line).expect("a line"), named));
            }
        }
    }

    fn types(&mut self, old: &str, new: &str) {
        let path = self.path.clone();
        self.client.type_over(&path, old, new);
        self.is_typed = true;
        self.ask();
    }

    fn switch_to(&mut self, path: &str) {
        let old = std::mem::replace(&mut self.path, path.to_owned());
        self.client.close(&old);
        self.client.open(path);
        self.saved = self.world.read(path);
        self.is_typed = false;
        self.ask();
    }

    /// Reloads or saves a document without typed text, if its file differs. Returns true if it was saved.
    fn follow_disk(&mut self) -> bool {
        let path = self.path.clone();
        let mut is_saved = false;
        if self.is_typed {
            return false;
        }
        if self.client.text(&path) != self.world.read(&path) {
            // an edit of the server is the user's to save
            if self.client.text(&path) == self.saved {
                // a change, not a new document: an edit of the server for the text before must not fit
                let all = 0..self.saved.len();
                let disk = self.world.read(&path);
                self.client.replace(&path, all, &disk);
            } else {
                self.client.save(&path);
                is_saved = true;
            }
            self.ask();
        }
        self.saved = self.world.read(&path);
        is_saved
    }

    fn command(&mut self, name: &str, arguments: &Value) {
        let done = self
            .client
            .command(&format!("backstitch.{name}"), arguments);
        assert!(done["error"].is_null(), "{name}: {done}");
        self.ask();
    }
}

impl View for Shown<'_> {
    fn act(&mut self, action: Action<'_>) -> SystemTime {
        let now = SystemTime::now();
        let path = self.path.clone();
        match action {
            Action::Open(path) | Action::Follow(path) => self.switch_to(path),
            Action::Append(text) => {
                let last = self.client.text(&path).trim_end_matches('\n').to_owned();
                let last = last.rsplit('\n').next().expect("a line").to_owned();
                self.types(&format!("{last}\n"), &format!("{last}\n{text}\n"));
            }
            Action::Prepend(text) => {
                let first = self
                    .client
                    .text(&path)
                    .lines()
                    .next()
                    .expect("a line")
                    .to_owned();
                self.types(&first, &format!("{text}\n{first}"));
            }
            Action::Replace(old, new) => self.types(old, new),
            Action::Save => {
                self.client.save(&path);
                (self.is_typed, self.saved) = (false, self.world.read(&path));
                self.ask();
            }
            // the last typed line
            Action::UndoKey => self.types("zero\n", ""),
            Action::CheckDisk => {
                self.follow_disk();
            }
            Action::Restore(verb, rev) => {
                let mut arguments = json!({ "confirm": false });
                let key = if verb == "revert" { "turn" } else { "rev" };
                if !rev.is_empty() {
                    arguments[key] = json!(rev);
                }
                self.command(verb, &arguments);
            }
            Action::TakeBack(line, rev) => {
                let at = self.client.text(&path).lines().position(|l| l == line);
                let at = at.expect("a line");
                let uri = self.client.uri(&path);
                let lines = [at, at + 1];
                let arguments = json!({ "rev": rev, "uri": uri, "lines": lines, "confirm": false });
                self.command("rewind", &arguments);
            }
            Action::Keep(rev) => {
                let uri = self.client.uri(&path);
                let keep = json!({ "uri": uri, "since": rev, "action": "keep" });
                self.client.ok("backstitch/review", keep);
            }
            Action::Reload => {
                self.client.reload(&path);
                self.ask();
            }
            Action::Reopen => self.switch_to(&path),
            Action::Restart => {
                let new = Self::new(self.world, self.editor, self.options.clone());
                let old = std::mem::replace(self, new);
                old.client.leave();
            }
        }
        now
    }

    #[track_caller]
    fn settle(&mut self, event: &str, expected: &[Lens]) -> Option<SystemTime> {
        let start = std::time::Instant::now();
        loop {
            if self.follow_disk() {
                return None;
            }
            if self.lenses == expected {
                return Some(SystemTime::now());
            }
            let limit = crate::support::limits::EVENT_TIMEOUT;
            assert!(
                start.elapsed() < limit,
                "{event}: {:?}, not {expected:?}",
                self.lenses
            );
            if matches!(self.editor, Editor::Vscode) {
                let (asked, edited) = (self.asked_at, self.client.edited);
                self.client
                    .until(|client| client.refreshed > asked || client.edited > edited);
            }
            self.ask();
        }
    }

    fn command_line(&mut self, world: &World, args: &[&str]) {
        std::thread::scope(|scope| {
            // a failure shows all that came before it
            let command = scope.spawn(|| eprintln!("{}", world.ok(args)));
            while !command.is_finished() {
                self.client.ok("backstitch/sessions", json!({}));
            }
            command.join().expect("done");
        });
    }
}

fn tell(editor: Editor, options: Value) {
    let world = World::committed(&FILES);
    let view = Shown::new(&world, editor, options);
    let mut story = Story::new(&world, view);
    play(&mut story);
    assert!(story.report(&format!("{editor:?}")) >= 42);
}

/// A client that asks for lenses when the server says so has the right ones after each event.
#[test]
fn lenses_are_true_for_a_client_that_is_told() {
    tell(Editor::Vscode, json!({ "reloadsFromDisk": true }));
}

/// A client that is not told gets the right ones whenever it asks.
#[test]
fn lenses_are_true_for_a_client_that_is_not_told() {
    tell(Editor::Helix, json!({ "reloadsFromDisk": true }));
}

/// The same in editors that do not reload files: the server brings the texts of restores into their documents for the
/// user to save, and the user reads all other files again.
#[test]
fn lenses_are_true_in_editors_that_do_not_reload() {
    tell(Editor::Helix, json!({}));
    tell(Editor::Eglot, json!({}));
}
