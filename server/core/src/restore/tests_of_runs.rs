//! The files of a CI job's run: all of them are recorded and come back, those of version control too.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use super::tests::Scene;
use crate::Workspace;

/// Paths below a root: kind and mode, and the content of a file or the target of a link.
fn tree(root: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
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
                dirs.push(path.clone());
                Vec::new()
            };
            let name = path
                .strip_prefix(root)
                .expect("below")
                .display()
                .to_string();
            found.insert(name, (stat.mode(), content));
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

/// Rewinds to the checkpoint before the newest one, exactly.
fn step_back(scene: &mut Scene) {
    let mut request = scene.request("@~1");
    request.exact = true;
    scene.apply(&request).expect("rewound");
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
    let before = tree(&scene.root);
    assert!(before.contains_key("repo/.git/HEAD"));
    scene.shell(|root| sh(root, CHANGE));
    let after = tree(&scene.root);
    assert_ne!(before, after);
    step_back(&mut scene);
    assert_eq!(tree(&scene.root), before);
    sh(
        &scene.root,
        "cd repo && test -z \"$(git --no-optional-locks status --porcelain)\" && ! git rev-parse -q --verify v1 && git fsck --strict",
    );
    scene.undo();
    assert_eq!(tree(&scene.root), after);
    sh(
        &scene.root,
        "cd tree && git log --format=%s -1 | grep -qx two && cd ../repo && git rev-parse -q --verify v1",
    );
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
    scene.shell(|root| fs::write(root.join("out"), vec![b'x'; 3 << 20]).expect("written"));
    step_back(&mut scene);
    assert!(!scene.root.join("out").exists());
    scene.undo();
    assert_eq!(
        fs::metadata(scene.root.join("out")).expect("a file").len(),
        3 << 20
    );
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
