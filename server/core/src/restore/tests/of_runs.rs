//! The files of a CI job's run: all of them are recorded and come back, those of version control too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use super::Scene;
use crate::Workspace;
use crate::model::NodeId;
use crate::restore::{Goal, Request, TimeMark};

/// A path: kind and mode, the time of its last change, and the content of a file or the target of a link.
type Facts = (u32, (i64, i64), Vec<u8>);

/// All paths below a root.
fn tree(root: &Path) -> BTreeMap<String, Facts> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![root.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).expect("a directory").flatten() {
            let (path, stat) = (entry.path(), entry.metadata().expect("metadata"));
            let content = if stat.is_symlink() {
                fs::read_link(&path)
                    .expect("a link")
                    .into_os_string()
                    .into_encoded_bytes()
            } else if stat.is_file() {
                fs::read(&path).expect("a file")
            } else {
                dirs.extend(stat.is_dir().then(|| path.clone()));
                Vec::new()
            };
            let name = path
                .strip_prefix(root)
                .expect("below")
                .display()
                .to_string();
            found.insert(
                name,
                (stat.mode(), (stat.mtime(), stat.mtime_nsec()), content),
            );
        }
    }
    found
}

fn sh(root: &Path, script: &str) {
    let output = Command::new("sh")
        .args(["-ec", script])
        .current_dir(root)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").expect("a path"))
        .env("HOME", root)
        .envs([
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "a"),
            ("GIT_AUTHOR_EMAIL", "a@b.c"),
        ])
        .envs([
            ("GIT_COMMITTER_NAME", "a"),
            ("GIT_COMMITTER_EMAIL", "a@b.c"),
        ])
        .output()
        .expect("a shell");
    assert!(output.status.success(), "{script}: {output:?}");
}

/// The newest checkpoint, with its times and all paths.
struct Point {
    node: NodeId,
    mark: TimeMark,
    tree: BTreeMap<String, Facts>,
}

impl Point {
    fn now(scene: &Scene) -> Point {
        Point {
            node: scene
                .engine
                .history()
                .head()
                .expect("a head")
                .expect("a checkpoint"),
            mark: scene.engine.times().mark().expect("a mark"),
            tree: tree(&scene.root),
        }
    }

    /// Rewinds to this point, exactly.
    fn restore(&self, scene: &mut Scene) {
        let mut request = Request::new(Goal::Rewind(self.node));
        request.exact = true;
        scene.apply(&request).expect("rewound");
        self.set_times(scene);
        let (now, then) = (tree(&scene.root), &self.tree);
        let differs = |path: &&String| now.get(*path) != then.get(*path);
        let wrong: BTreeSet<&String> = now.keys().chain(then.keys()).filter(differs).collect();
        let wrong = wrong
            .into_iter()
            .map(|path| (path, then.get(path), now.get(path)));
        assert_eq!(wrong.collect::<Vec<_>>(), []);
    }

    fn set_times(&self, scene: &mut Scene) {
        scene.engine.times_mut().set(self.mark).expect("set");
    }
}

const BEGIN: &str = "
git init -q repo && cd repo && git config core.checkStat minimal
echo '*.log' > .gitignore && echo a > a && git add . && git commit -qm one";

const CHANGE: &str = "
cd repo && echo b > a && git commit -qam two && git tag v1 && git worktree add -q ../tree
echo noise > x.log && echo swap > .a.swp && mkdir -p .hg CVS ../bare.git && git init -q --bare ../bare.git
echo h > .hg/store && echo e > CVS/Entries && ln -s a link && chmod 600 a && rm .gitignore
mkdir -p ../target/debug && echo o > ../target/debug/x.o";

#[test]
fn a_run_records_everything_and_brings_it_back() {
    let mut scene = Scene::run(&[("temp/keep", "k\n")]);
    scene.prompt("build");
    scene.shell(|root| sh(root, BEGIN));
    let before = Point::now(&scene);
    assert!(before.tree.contains_key("repo/.git/HEAD"));
    scene.shell(|root| sh(root, CHANGE));
    let after = Point::now(&scene);
    assert_ne!(before.tree, after.tree);
    before.restore(&mut scene);
    sh(
        &scene.root,
        "cd repo && test -z \"$(git --no-optional-locks status --porcelain)\" && ! git rev-parse -q --verify v1 && git fsck --strict",
    );
    scene.undo();
    after.set_times(&mut scene);
    assert_eq!(tree(&scene.root), after.tree);
    sh(
        &scene.root,
        "cd tree && git log --format=%s -1 | grep -qx two && cd ../repo && git rev-parse -q --verify v1",
    );
}

/// Times that no content tells: of touched files, links and directories, and a `make` that a step back must not confuse.
/// Directories have the permission bits of the root unless others are noted: they come back with them, too.
#[test]
fn directories_of_a_private_run_come_back_private() {
    let mut scene = Scene::run(&[("temp/keep", "k\n")]);
    sh(
        &scene.root,
        "chmod 700 .; mkdir -m 700 early; echo a > early/a",
    );
    scene.prompt("build");
    scene.shell(|root| {
        sh(
            root,
            "mkdir -m 700 d d/e bare bare/in; echo x > d/e/x; mkdir -m 755 open; echo o > open/o; chmod 750 bare",
        );
    });
    let before = Point::now(&scene);
    scene.shell(|root| sh(root, "rm -r d open bare early; echo file > d"));
    let after = Point::now(&scene);
    before.restore(&mut scene);
    after.restore(&mut scene);
    before.restore(&mut scene);
}

/// However many directories have their own bits: installed packages bring thousands.
#[test]
fn directories_of_a_large_run_come_back_with_their_bits() {
    let mut scene = Scene::run(&[("temp/keep", "k\n")]);
    scene.prompt("build");
    let many = "mkdir -p $(seq -f 'p/d%g' 2500) && chmod 750 p/d* && for n in 1 7 9; do echo $n > p/d$n/file; done";
    scene.shell(|root| sh(root, many));
    let before = Point::now(&scene);
    scene.shell(|root| sh(root, "chmod 700 p/d2*; rm -r p/d7 p/d8*"));
    let after = Point::now(&scene);
    before.restore(&mut scene);
    after.restore(&mut scene);
}

#[test]
fn times_come_back() {
    let mut scene = Scene::run(&[
        ("Makefile", "out: in\n\tcp in out\n"),
        ("in", "1\n"),
        ("dir/sub/a", "a\n"),
    ]);
    scene.prompt("build");
    scene.shell(|root| {
        sh(
            root,
            "ln -s in link; mkdir empty; touch -d 2001-02-03 dir; make -s",
        );
    });
    let built = Point::now(&scene);
    let touch = "touch in Makefile dir empty dir/sub; touch -h -d 2020-01-01 link; mkdir empty/x; rm -r dir/sub; mv in i; mv i in; make -s";
    scene.shell(|root| sh(root, touch));
    let touched = Point::now(&scene);
    scene.shell(|root| {
        sh(
            root,
            "mkdir dir/sub new; echo b > dir/sub/b; touch -d 1999-01-01 in out",
        );
    });
    let last = Point::now(&scene);
    touched.restore(&mut scene);
    touched.set_times(&mut scene);
    assert_eq!(tree(&scene.root), touched.tree);
    built.restore(&mut scene);
    sh(&scene.root, "make -q");
    last.restore(&mut scene);
    touched.restore(&mut scene);
}

/// A pipe that a command made is gone after a restore, so that the command can make it again.
#[test]
fn pipes_are_taken_back() {
    let mut scene = Scene::run(&[("a", "a\n")]);
    scene.prompt("build");
    scene.shell(|root| sh(root, "mkdir d"));
    let before = Point::now(&scene);
    scene.shell(|root| sh(root, "mkfifo pipe d/pipe"));
    before.restore(&mut scene);
    scene.shell(|root| sh(root, "mkfifo pipe d/pipe"));
}

/// A directory comes back, though its only file was too large to be captured.
#[test]
fn the_directory_of_a_file_that_was_not_captured_comes_back() {
    let mut scene = Scene::run(&[("a", "a\n")]);
    scene.prompt("build");
    scene.shell(|root| sh(root, "mkdir d; truncate -s 1200M d/huge"));
    let mut before = Point::now(&scene);
    assert!(before.tree.remove("d/huge").is_some());
    for removal in ["rm d/huge", "rmdir d"] {
        scene.shell(|root| sh(root, removal));
        before.restore(&mut scene);
    }
}

#[test]
fn settings_of_the_user_have_no_effect_on_a_run() {
    let mut scene = Scene::run(&[("begin", "b\n")]);
    scene.prompt("build");
    scene.shell(|root| {
        let settings =
            "[checkpoints]\nautomatic = false\n[capture]\nexclude = [\"**/*\"]\nmaxFileSize = 1\n";
        fs::write(root.join(".backstitch.toml"), settings).expect("written");
    });
    let before = Point::now(&scene);
    scene.shell(|root| fs::write(root.join("out"), vec![b'x'; 3 << 20]).expect("written"));
    let after = Point::now(&scene);
    before.restore(&mut scene);
    after.restore(&mut scene);
}

/// A store of a run opens as a run's, whoever finds it; another directory never does.
#[test]
fn a_run_is_known_by_its_place() {
    let scene = Scene::run(&[("a", "a\n")]);
    let again = Workspace::run(scene.dir.path()).expect("the same run");
    assert_eq!(
        again.root.canonicalize().expect("a path"),
        scene.root.canonicalize().expect("a path")
    );
    let mode = fs::metadata(&again.store_dir)
        .expect("a store")
        .permissions()
        .mode();
    assert_eq!(mode & 0o077, 0);
}

/// Commands of the generated walks. Each may fail, as commands of a job may.
const COMMANDS: &[&str] = &[
    "echo {n} > {f}",
    "echo {n} >> {f}",
    "rm -rf {f}",
    "mkdir -p {d}",
    "rmdir {d}",
    "rm -rf {d}",
    "mv {f} {g}",
    "mv -T {d} {e}",
    "cp -a {d} {e}",
    "chmod {m} {f}",
    "chmod 7{m} {d}; chmod u+rwx {d}",
    "ln -sfn {g} {f}",
    "ln -f {f} {g}",
    "touch {f}",
    "touch -d @{n}00000 {f} {d}",
    "touch -h -d @{n}0000 {f}",
    "mkdir -p {d}; echo {n} > {d}/x; echo x > {d}/.gitignore",
    "cd repo && git add -A && git commit -qm {n}",
    "cd repo && git tag t{n}",
    "cd repo && git checkout -q -B b{n} HEAD~1",
    "cd repo && git stash -u -q",
    "cd repo && git stash pop -q",
    "cd repo && git gc -q --prune=now",
    "cd repo && echo {n} > tracked && git commit -qam {n}",
    "cd repo && git worktree add -q ../{d}/tree",
    "head -c {n}000 /dev/urandom > {f}",
    "truncate -s 0 {f}",
];

/// Numbers that follow from a seed (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap_or(0)
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn command(&mut self) -> String {
        const FILES: &[&str] = &[
            "a",
            "b",
            "d/a",
            "d/e/b",
            "repo/tracked",
            "repo/new",
            "repo/x.log",
        ];
        const DIRS: &[&str] = &["d", "d/e", "f", "repo/sub", "repo/.hg", "f/g"];
        self.one(COMMANDS)
            .replace("{n}", &self.below(100).to_string())
            .replace("{m}", self.one(&["644", "755", "600", "444", "700"]))
            .replace("{f}", self.one(FILES))
            .replace("{g}", self.one(FILES))
            .replace("{d}", self.one(DIRS))
            .replace("{e}", self.one(DIRS))
    }
}

fn walk(seed: u64) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut scene = Scene::run(&[("a", "a\n"), ("d/a", "a\n")]);
    scene.prompt("build");
    scene.shell(|root| sh(root, BEGIN));
    let mut points = vec![Point::now(&scene)];
    let mut done = Vec::new();
    for _ in 0..12 {
        if points.len() > 1 && dice.below(3) == 0 {
            let place = dice.below(points.len());
            done.push(format!("back to {place}"));
            let hint = done.join("\n");
            let restored = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                points[place].restore(&mut scene);
            }));
            assert!(restored.is_ok(), "seed {seed}\n{hint}");
        } else {
            let commands: Vec<String> = (0..=dice.below(4)).map(|_| dice.command()).collect();
            let script: Vec<String> = commands
                .iter()
                .map(|line| format!("({line}) 2>&1 || true"))
                .collect();
            done.push(format!("{}: {}", points.len(), commands.join(" | ")));
            scene.shell(|root| sh(root, &script.join("\n")));
            points.push(Point::now(&scene));
        }
    }
}

/// Whatever commands did, each point comes back exactly, in any order.
#[test]
fn generated_commands_are_taken_back() {
    let seed = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let count = seed("BACKSTITCH_RUN_WALKS").unwrap_or(25);
    let first = seed("BACKSTITCH_RUN_SEED").unwrap_or(1);
    for seed in first..first + count {
        walk(seed);
    }
}
