//! Scenes of an agent and a user in one workspace, played on the engine itself.

mod of_runs;

use std::path::{Path, PathBuf};

use crate::capture::{AgentEvent, Effect, EventKind, ToolCall, ToolReport};
use crate::hint::Hint;
use crate::model::RelPath;
use crate::restore::{Goal, OnConflict, Request, Scope};
use crate::workspace::RUN_FILES;
use crate::{Engine, Error, ErrorKind, Workspace, WorkspaceKind};

pub(crate) struct Scene {
    pub dir: tempfile::TempDir,
    pub root: PathBuf,
    pub engine: Engine,
    /// Session of the next events.
    pub session: String,
    /// True if each stat proves its file: what is recorded then does not depend on the speed of the machine.
    pub settles: bool,
    calls: u32,
}

impl Scene {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir
            .path()
            .join("project")
            .canonicalize()
            .unwrap_or(dir.path().join("project"));
        std::fs::create_dir(&root).expect("made");
        let root = root.canonicalize().expect("there");
        for (path, text) in files {
            write(&root, path, text);
        }
        let workspace = workspace(&dir, &root);
        Self::of(dir, &workspace)
    }

    /// The files of a CI job's run.
    pub(crate) fn run(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().join(RUN_FILES);
        for (path, text) in files {
            write(&root, path, text);
        }
        let workspace = Workspace::run(dir.path()).expect("a run");
        Self::of(dir, &workspace)
    }

    fn of(dir: tempfile::TempDir, workspace: &Workspace) -> Self {
        let root = workspace.root.clone();
        let mut engine = Engine::open(workspace).expect("opens");
        engine.capture_mut().record_changes().expect("first scan");
        Self {
            dir,
            root,
            engine,
            session: "s1".into(),
            settles: false,
            calls: 0,
        }
    }

    pub(crate) fn workspace(&self) -> Workspace {
        workspace(&self.dir, &self.root)
    }

    pub(crate) fn event(&self, kind: EventKind) -> AgentEvent {
        AgentEvent {
            agent: "claude-code".into(),
            session: self.session.clone(),
            transcript: None,
            prompt_id: None,
            subagent: None,
            cwd: Some(self.root.clone()),
            process: None,
            other_hooks: None,
            name: String::new(),
            kind,
        }
    }

    pub(crate) fn tell(&mut self, kind: EventKind) {
        let event = self.event(kind);
        self.engine.capture_mut().record(&event).expect("recorded");
    }

    pub(crate) fn prompt(&mut self, text: &str) {
        self.tell(EventKind::Prompt {
            text: text.into(),
            synthetic: false,
        });
    }

    pub(crate) fn call(&mut self, tool: &str, effect: Effect, work: impl FnOnce(&Path)) {
        self.calls += 1;
        let call = ToolCall {
            id: Some(format!("call{}", self.calls)),
            tool: tool.into(),
            input: b"{}".to_vec(),
            effect,
        };
        self.tell(EventKind::Before(call.clone()));
        work(&self.root);
        self.settle();
        self.tell(EventKind::After {
            call,
            report: ToolReport::default(),
            failed: false,
        });
    }

    pub(crate) fn edit(&mut self, path: &str, text: &str) {
        let full = self.root.join(path);
        self.call("Write", Effect::Names(vec![full]), |root| {
            write(root, path, text);
        });
    }

    pub(crate) fn shell(&mut self, work: impl FnOnce(&Path)) {
        self.call("Bash", Effect::Any { background: false }, work);
    }

    pub(crate) fn user(&self, path: &str, text: &str) {
        write(&self.root, path, text);
        self.settle();
    }

    /// Waits until the last change of each file is old enough.
    fn settle(&self) {
        let files = std::fs::read_dir(&self.root).expect("listed");
        let names = files
            .filter(|_| self.settles)
            .map(|file| file.expect("an entry").file_name());
        for name in names {
            let path = RelPath::from_path(name.as_ref()).expect("a path");
            while self.engine.root.stat(&path).is_some_and(|stat| stat.racy) {
                std::thread::yield_now();
            }
        }
    }

    pub(crate) fn text(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.root.join(path)).ok()
    }

    pub(crate) fn request(&self, rev: &str) -> Request {
        Request::new(Goal::Rewind(
            self.engine.history().resolve(rev).expect("a revision"),
        ))
    }

    pub(crate) fn apply(&mut self, r: &Request) -> Result<(), Error> {
        self.engine
            .restore_mut()
            .apply(r, None, &mut |_| {})
            .map(|_| ())?;
        let verified = self
            .engine
            .verifier()
            .verify(&mut |_| {})
            .expect("verifies");
        assert_eq!(verified.problems, Vec::<String>::new());
        Ok(())
    }

    pub(crate) fn rewind(&mut self, rev: &str) {
        let r = self.request(rev);
        self.apply(&r).expect("rewound");
    }

    pub(crate) fn undo(&mut self) {
        self.apply(&Request::new(Goal::Undo(None))).expect("undone");
    }
}

fn workspace(dir: &tempfile::TempDir, root: &Path) -> Workspace {
    Workspace {
        root: root.to_path_buf(),
        store_dir: dir.path().join("store"),
        shared: false,
        kind: WorkspaceKind::Project,
    }
}

fn write(root: &Path, path: &str, text: &str) {
    let full = root.join(path);
    std::fs::create_dir_all(full.parent().expect("a parent")).expect("made");
    std::fs::write(full, text).expect("written");
}

#[test]
fn s3_033_a_rewind_takes_out_the_agents_edits_and_keeps_the_users() {
    let mut s = Scene::new(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "b\n")]);
    s.prompt("first");
    s.edit("a.txt", "ONE\ntwo\nthree\n");
    s.edit("new/deep/c.txt", "c\n");
    s.user("a.txt", "ONE\ntwo\nthree\nmine\n");
    s.prompt("second");
    s.shell(|root| {
        std::fs::remove_file(root.join("b.txt")).expect("removed");
        write(root, "a.txt", "ONE\nTWO\nthree\nmine\n");
    });
    s.rewind("t2");
    assert_eq!(s.text("a.txt").as_deref(), Some("ONE\ntwo\nthree\nmine\n"));
    assert_eq!(s.text("b.txt").as_deref(), Some("b\n"));
    s.rewind("t1");
    assert_eq!(s.text("a.txt").as_deref(), Some("one\ntwo\nthree\nmine\n"));
    assert!(
        !s.root.join("new").exists(),
        "directories that came with a file go with it"
    );
    s.undo();
    assert_eq!(s.text("a.txt").as_deref(), Some("ONE\ntwo\nthree\nmine\n"));
    assert_eq!(s.text("new/deep/c.txt").as_deref(), Some("c\n"));
    s.undo();
    assert_eq!(s.text("a.txt").as_deref(), Some("ONE\nTWO\nthree\nmine\n"));
    assert_eq!(s.text("b.txt"), None);
}

#[test]
fn u_18_a_rewind_repeated_plans_nothing() {
    let mut s = Scene::new(&[("a.txt", "one\n")]);
    s.prompt("first");
    s.edit("a.txt", "two\n");
    s.rewind("t1");
    let again = s.request("t1");
    assert!(
        s.engine
            .restore_mut()
            .plan(&again)
            .expect("planned")
            .is_empty()
    );
}

#[test]
fn u_19_overlapping_edits_conflict_and_change_nothing() {
    let mut s = Scene::new(&[("a.txt", "one\ntwo\n")]);
    s.prompt("first");
    s.edit("a.txt", "ONE\ntwo\n");
    s.user("a.txt", "ONE, mine\ntwo\n");
    let mut r = s.request("t1");
    let refused = s.apply(&r).expect_err("a conflict");
    assert_eq!(refused.kind(), ErrorKind::Refused);
    assert_eq!(s.text("a.txt").as_deref(), Some("ONE, mine\ntwo\n"));
    r.on_conflict = OnConflict::Markers;
    s.apply(&r).expect("applied");
    let text = s.text("a.txt").expect("there");
    assert!(
        text.contains("<<<<<<<") && text.contains("ONE, mine") && text.contains("one\n"),
        "{text}"
    );
    s.undo();
    assert_eq!(s.text("a.txt").as_deref(), Some("ONE, mine\ntwo\n"));
}

#[test]
fn a_rename_by_the_user_is_followed() {
    let mut s = Scene::new(&[("a.txt", "one\ntwo\nthree\n")]);
    s.prompt("first");
    s.edit("a.txt", "ONE\ntwo\nthree\n");
    std::fs::rename(s.root.join("a.txt"), s.root.join("z.txt")).expect("renamed");
    s.rewind("t1");
    assert_eq!(s.text("z.txt").as_deref(), Some("one\ntwo\nthree\n"));
    assert_eq!(s.text("a.txt"), None);
}

#[test]
fn revert_takes_out_the_middle_and_its_revert_brings_it_back() {
    let mut s = Scene::new(&[("a.txt", "1\n2\n3\n4\n5\n")]);
    s.prompt("first");
    s.edit("a.txt", "1a\n2\n3\n4\n5\n");
    s.prompt("second");
    s.edit("a.txt", "1a\n2\n3b\n4\n5\n");
    s.prompt("third");
    s.edit("a.txt", "1a\n2\n3b\n4\n5c\n");
    let turn = s.engine.history().resolve("t2").expect("t2");
    s.apply(&Request::new(Goal::Revert(vec![turn])))
        .expect("reverted");
    assert_eq!(s.text("a.txt").as_deref(), Some("1a\n2\n3\n4\n5c\n"));
    let node = s.engine.history().head().expect("head").expect("a head");
    s.apply(&Request::new(Goal::Revert(vec![node])))
        .expect("reverted back");
    assert_eq!(s.text("a.txt").as_deref(), Some("1a\n2\n3b\n4\n5c\n"));
}

#[test]
fn a_file_that_was_ignored_is_adopted_and_never_deleted() {
    let mut s = Scene::new(&[(".gitignore", "out/\n"), ("out/keep.txt", "precious\n")]);
    s.prompt("first");
    s.shell(|root| write(root, ".gitignore", ""));
    let mut r = s.request("t1");
    r.exact = true;
    s.apply(&r).expect("rewound");
    assert_eq!(s.text(".gitignore").as_deref(), Some("out/\n"));
    assert_eq!(s.text("out/keep.txt").as_deref(), Some("precious\n"));
}

#[test]
fn contents_in_bulk_go_to_a_pack_and_come_back() {
    let big: Vec<(String, String)> = (0..60)
        .map(|n| {
            let line = format!("{n} {}\n", blake3::hash(&[n]).to_hex());
            (format!("dir{}/file{n}.txt", n % 7), line.repeat(800))
        })
        .collect();
    let files: Vec<(&str, &str)> = big.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
    let mut s = Scene::new(&files);
    s.prompt("first");
    s.shell(|root| {
        for n in 0..7 {
            std::fs::remove_dir_all(root.join(format!("dir{n}"))).expect("removed");
        }
    });
    let packs = std::fs::read_dir(s.dir.path().join("store/packs"))
        .expect("packs")
        .count();
    assert_eq!(packs, 1);
    s.rewind("t1");
    for (path, text) in &big {
        assert_eq!(s.text(path).as_deref(), Some(text.as_str()), "{path}");
    }
}

#[test]
fn u_21_a_hard_link_is_named_as_a_gap() {
    let mut s = Scene::new(&[("a.txt", "one\n")]);
    std::fs::hard_link(s.root.join("a.txt"), s.root.join("b.txt")).expect("linked");
    s.prompt("first");
    s.shell(|root| std::fs::write(root.join("a.txt"), "two\n").expect("written"));
    assert_eq!(s.text("b.txt").as_deref(), Some("two\n"));
    let r = s.request("t1");
    let plan = s.engine.restore_mut().plan(&r).expect("planned");
    let linked: Vec<_> = plan
        .gaps
        .iter()
        .filter(|g| g.kind.name() == "hard_link")
        .collect();
    assert_eq!(linked.len(), 2, "{:?}", plan.gaps);
    s.apply(&r).expect("applied");
    assert_eq!(s.text("a.txt").as_deref(), Some("one\n"));
    assert_eq!(s.text("b.txt").as_deref(), Some("one\n"));
}

#[test]
fn special_mode_bits_come_back() {
    use std::os::unix::fs::PermissionsExt;
    let mut s = Scene::new(&[("tool", "one\n")]);
    let path = s.root.join("tool");
    let set = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode));
    let mode = || path.metadata().expect("there").permissions().mode() & 0o7777;
    set(0o5755).expect("set");
    s.prompt("change it");
    s.shell(|root| {
        write(root, "tool", "two\n");
        let plain = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(root.join("tool"), plain).expect("set");
    });
    assert_eq!(mode(), 0o755);
    s.rewind("t1");
    assert_eq!(mode(), 0o5755);
    assert_eq!(s.text("tool").as_deref(), Some("one\n"));
}

/// Runs all these tests again, as on a file system that cannot exchange two names.
#[cfg(debug_assertions)]
#[test]
fn without_exchange() {
    let again = std::env::current_exe().expect("there");
    let out = std::process::Command::new(again)
        .args(["restore::tests", "--skip", "without_exchange"])
        .env("BACKSTITCH_NO_EXCHANGE", "1")
        .output()
        .expect("runs");
    let stdout = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{stdout}");
    assert!(!stdout.contains("running 0 tests"), "{stdout}");
}

/// A process that has the file open during the exchange writes to the displaced file. That text is saved under a
/// visible name and reported.
#[test]
fn u_21_what_a_writer_adds_to_a_displaced_file_is_saved() {
    use std::io::Write as _;
    let mut s = Scene::new(&[("a.txt", "one\n")]);
    s.prompt("first");
    s.edit("a.txt", "ONE\n");
    let open = std::fs::OpenOptions::new()
        .append(true)
        .open(s.root.join("a.txt"));
    let mut open = open.expect("opens");
    let r = s.request("t1");
    let applied = s
        .engine
        .restore_mut()
        .apply(&r, None, &mut |_| {
            open.write_all(b"late\n").expect("written");
        })
        .expect("applied");
    assert_eq!(s.text("a.txt").as_deref(), Some("one\n"));
    let [saved] = applied.saved.as_slice() else {
        panic!("{:?}", applied.saved);
    };
    assert_eq!(s.text(&saved.display()).as_deref(), Some("ONE\nlate\n"));
    let detail = &s.engine.history().operations().expect("read")[0].detail;
    assert!(detail.contains(&saved.display()), "{detail}");
}

/// A restore is interrupted before it is recorded: the next process notes the pending save of the editor.
#[test]
fn a_restore_in_documents_that_is_cut_off_is_finished_by_its_journal() {
    let mut s = Scene::new(&[("a.txt", "one\ntwo\n"), ("b.txt", "b\n")]);
    let lease = s
        .engine
        .documents_mut()
        .attach_editor("Helix")
        .expect("attached");
    s.prompt("first");
    s.edit("a.txt", "ONE\ntwo\n");
    s.edit("b.txt", "B\n");
    let path = |p: &str| crate::model::RelPath::new(p).expect("a path");
    let doc = |p: &str, text: Option<&str>| crate::restore::OpenDoc {
        path: path(p),
        text: text.map(|text| text.as_bytes().to_vec()),
        base: None,
        on_disk: false,
    };
    let r = Request {
        editor: Some(lease.id()),
        open: vec![doc("a.txt", Some("ONE\ntwo\nmine\n"))],
        ..s.request("t1")
    };
    let plan = s.engine.restore_mut().plan(&r).expect("planned");
    s.engine.restore_mut().begin(&plan).expect("begun");
    let next = Engine::open(&s.workspace()).expect("opens, and finishes it");
    let pending = next.documents().pending_saves().expect("read");
    assert_eq!((pending.len(), &pending[0].path), (1, &path("a.txt")));
    assert_eq!(s.text("a.txt").as_deref(), Some("ONE\ntwo\n"));
    assert_eq!(s.text("b.txt").as_deref(), Some("b\n"));
    let head = next.history().head().expect("read").expect("a head");
    let unsaved = next.documents().unsaved_at(head).expect("read");
    let kept = next.content(&unsaved[0].content).expect("kept");
    assert_eq!(kept, b"ONE\ntwo\nmine\n");
    assert_eq!(
        next.verifier()
            .verify(&mut |_| {})
            .expect("verifies")
            .problems,
        Vec::<String>::new()
    );
    s.undo();
    assert_eq!(s.text("a.txt").as_deref(), Some("ONE\ntwo\n"));
    assert_eq!(s.text("b.txt").as_deref(), Some("B\n"));
}

/// A scope that includes the conversation is refused before anything is read from the disk or recorded.
#[test]
fn a_scope_without_a_plan_is_refused() {
    let mut s = Scene::new(&[("a.txt", "one\n")]);
    s.prompt("first");
    s.edit("a.txt", "ONE\n");
    s.user("a.txt", "mine\n");
    let head = s.engine.history().head().expect("read");
    for scope in [Scope::Conversation, Scope::Both] {
        let r = Request {
            scope,
            ..s.request("t1")
        };
        for error in
            [s.engine.restore_mut().plan(&r).map(|_| ()), s.apply(&r)].map(Result::unwrap_err)
        {
            assert_eq!(error.kind(), ErrorKind::Refused);
            assert_eq!(error.hint(), Some(Hint::Scope));
            let begin = format!("scope {}: ", scope.name());
            assert!(error.to_string().starts_with(&begin), "{error}");
        }
        assert_eq!(Scope::from_name(scope.name()), Some(scope));
    }
    assert_eq!(s.engine.history().head().expect("read"), head);
    assert_eq!(s.text("a.txt").as_deref(), Some("mine\n"));
    let r = s.request("t1");
    assert_eq!(
        s.engine.restore_mut().plan(&r).expect("planned").scope,
        Scope::Code
    );
}
