use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::super::BuiltinError;
use super::super::fixture::{Fixture, git, output_of, state_of};
use super::CheckoutMode;

const CHECKOUT: &str = "actions/checkout";

fn checkout(fixture: &mut Fixture, inputs: &[(&str, &str)]) -> super::ActionResult {
    fixture.run(CHECKOUT, inputs).expect("a checkout")
}

fn refused(fixture: &mut Fixture, inputs: &[(&str, &str)]) -> String {
    match fixture.run(CHECKOUT, inputs) {
        Err(BuiltinError::Failed(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_working_tree_is_copied_with_what_is_not_committed() {
    let mut fixture = Fixture::project();
    fixture.write("a", "changed\n");
    fixture.write("new", "new\n");
    fixture.write("ignored", "ignored\n");
    fixture.write("run.sh", "#!/bin/sh\n");
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(fixture.root.join("run.sh"), mode).expect("a mode");
    fs::remove_file(fixture.root.join("sub/b")).expect("removed");
    let before = state_of(&fixture.root);
    let done = checkout(&mut fixture, &[]);
    assert_eq!(
        state_of(&fixture.root),
        before,
        "the user's project is as it was"
    );
    let sha = fixture.git(&["rev-parse", "HEAD"]);
    assert_eq!(output_of(&done, "commit"), Some(sha.as_str()));
    assert_eq!(output_of(&done, "ref"), Some("refs/heads/main"));
    let summary = fixture.printed.join("\n");
    assert!(
        summary.contains("4 files; not committed: 1 changed, 1 deleted, 2 new."),
        "{summary}"
    );
    assert_eq!(fixture.output("cat a new"), "changed\nnew");
    assert_eq!(fixture.output("ls -A"), ".git\n.gitignore\na\nnew\nrun.sh");
    fixture.output("./run.sh");
    assert_eq!(fixture.output("git rev-parse HEAD"), sha);
    assert_eq!(
        fixture.output("git status --porcelain"),
        "M a\n D sub/b\n?? new\n?? run.sh"
    );
    assert_eq!(
        fixture.output("git status -sb | head -1"),
        "## main...origin/main"
    );
    assert_eq!(fixture.output("git config core.checkStat"), "minimal");
}

#[test]
fn the_commit_alone_is_copied_when_asked_for() {
    let mut fixture = Fixture::project();
    fixture.write("a", "changed\n");
    fixture.write("new", "new\n");
    fixture.options.checkout = CheckoutMode::Head;
    checkout(&mut fixture, &[]);
    assert_eq!(
        fixture.output("cat a; ls -A"),
        "one\n.git\n.gitignore\na\nsub"
    );
    assert_eq!(fixture.output("git status --porcelain"), "");
}

#[test]
fn depth_tags_and_branches_are_those_of_github() {
    let mut fixture = Fixture::project();
    for number in 0..4 {
        fixture.write("a", &format!("{number}\n"));
        fixture.commit(&format!("Step {number}"));
    }
    fixture.git(&["tag", "-a", "-m", "One", "v1"]);
    fixture.git(&["branch", "topic", "HEAD~2"]);
    fixture.git(&["update-ref", "refs/remotes/origin/fetched", "HEAD~1"]);
    let count = "git rev-list --count HEAD; git tag; git branch -r";
    checkout(&mut fixture, &[]);
    assert_eq!(fixture.output(count), "1\n  origin/main");
    assert_eq!(
        fixture.output("git rev-parse --is-shallow-repository"),
        "true"
    );
    checkout(
        &mut fixture,
        &[("fetch-depth", "3"), ("fetch-tags", "true")],
    );
    assert_eq!(fixture.output(count), "3\nv1\n  origin/main");
    checkout(&mut fixture, &[("fetch-depth", "0")]);
    let all = "5\nv1\n  origin/fetched\n  origin/main\n  origin/topic";
    assert_eq!(fixture.output(count), all);
    assert_eq!(fixture.output("git describe"), "v1");
    fixture.output("git fsck --connectivity-only");
    // later fetches of a job come from the run's remote
    checkout(&mut fixture, &[]);
    fixture.output("git fetch -q --prune --unshallow --tags origin");
    assert_eq!(fixture.output(count), all);
    fixture.output("git fetch -q origin main fetched && git merge-base HEAD origin/fetched");
    assert_eq!(
        fixture.output("git config remote.origin.url"),
        "https://github.com/acme/tool.git"
    );
    let reason = refused(&mut fixture, &[("fetch-depth", "many")]);
    assert!(reason.contains("fetch-depth"), "{reason}");
}

#[test]
fn other_branches_tags_and_commits_are_checked_out() {
    let mut fixture = Fixture::project();
    let first = fixture.git(&["rev-parse", "HEAD"]);
    fixture.git(&["tag", "v1"]);
    fixture.write("a", "later\n");
    fixture.commit("Later");
    fixture.write("a", "uncommitted\n");
    let done = checkout(&mut fixture, &[("ref", "v1")]);
    assert_eq!(output_of(&done, "ref"), Some("v1"));
    assert_eq!(
        fixture.output("cat a; git describe --tags --exact-match"),
        "one\nv1"
    );
    checkout(&mut fixture, &[("ref", &first)]);
    assert_eq!(
        fixture.output("git rev-parse HEAD; git branch --show-current"),
        first
    );
    // the branch that is checked out is the working tree, by each of its names
    for name in ["main", "refs/heads/main"] {
        checkout(&mut fixture, &[("ref", name)]);
        assert_eq!(fixture.output("cat a"), "uncommitted");
    }
    let sha = fixture.git(&["rev-parse", "HEAD"]);
    checkout(&mut fixture, &[("ref", &sha)]);
    assert_eq!(
        fixture.output("cat a; git branch --show-current"),
        "uncommitted"
    );
    for wrong in ["none", "--help", "HEAD~1", "refs/pull/1/merge", "@{-1}"] {
        let reason = refused(&mut fixture, &[("ref", wrong)]);
        assert!(reason.contains(wrong), "{reason}");
    }
}

#[test]
fn a_path_stays_below_the_workspace() {
    let mut fixture = Fixture::project();
    checkout(&mut fixture, &[("path", "inner/./x/../tool")]);
    assert_eq!(fixture.output("cat inner/tool/a"), "one");
    let outside = fixture.dir.join("outside");
    fs::create_dir(&outside).expect("a directory");
    fs::write(outside.join("kept"), "kept").expect("a file");
    symlink(&outside, fixture.workspace().join("link")).expect("a link");
    for path in ["..", "../x", "/tmp", "inner/../../..", "link", "link/x"] {
        refused(&mut fixture, &[("path", path)]);
    }
    assert_eq!(state_of(&outside).len(), 1);
}

#[test]
fn clean_false_keeps_what_a_step_made() {
    let mut fixture = Fixture::project();
    checkout(&mut fixture, &[]);
    let hook = "mkdir -p .git/hooks && printf '#!/bin/sh\\ntouch /tmp/never' > .git/hooks/post-checkout && chmod +x .git/hooks/*";
    fixture.output(&format!(
        "{hook}; echo built > ignored; rm a; ln -s /etc/passwd a; rm -r sub; ln -s /tmp sub"
    ));
    checkout(&mut fixture, &[("clean", "false")]);
    assert_eq!(
        fixture.output("cat ignored a sub/b; test ! -L sub"),
        "built\none\ntwo"
    );
    assert!(!Path::new("/tmp/b").exists());
    fixture.options.checkout = CheckoutMode::Head;
    fixture.output("rm a; ln -s /etc/passwd a; rm -r sub; ln -s /tmp sub");
    checkout(&mut fixture, &[("clean", "false")]);
    assert_eq!(
        fixture.output("cat ignored a sub/b; test ! -L sub"),
        "built\none\ntwo"
    );
    checkout(&mut fixture, &[]);
    assert_eq!(fixture.output("ls -A"), ".git\n.gitignore\na\nsub");
}

/// A push of a step reaches neither the user's repository nor its remote, by whichever name.
#[test]
fn pushes_lead_nowhere() {
    let mut fixture = Fixture::project();
    let remote = fixture.dir.join("remote.git");
    git(
        &fixture.dir,
        &["clone", "-q", "--bare", "project", "remote.git"],
    );
    let address = remote.to_str().expect("a path").to_owned();
    fixture.git(&["remote", "set-url", "origin", &address]);
    let root = fixture.root.to_str().expect("a path").to_owned();
    let before = (state_of(&fixture.root), state_of(&remote));
    checkout(&mut fixture, &[("fetch-depth", "0")]);
    fixture.output("git config user.name Run; git config user.email r@example.org; git commit -q --allow-empty -m Two; git tag t");
    for to in [
        "origin",
        "origin main t",
        "--all origin",
        &format!("{address} HEAD:main"),
        &format!("file://{address} HEAD:x"),
        &format!("{root} HEAD:x"),
        &format!("file://{root} HEAD:x"),
        &format!("{root}/.git HEAD:x"),
        "https://github.com/acme/tool HEAD:x",
        "https://user:token@github.com/acme/tool HEAD:x",
        "git@github.com:acme/tool.git HEAD:x",
        "ssh://git@github.com/acme/tool.git HEAD:x",
    ] {
        let (code, text) = fixture.step(&format!("git push {to}"));
        assert!(
            code != 0 && text.contains("backstitch-no-push"),
            "{to}: {text}"
        );
    }
    // also from another repository of the run, and from a bare clone, whose remote is the run's
    let (code, text) = fixture.step(&format!("mkdir -p ../o && cd ../o && git init -q && git commit -q --allow-empty -m x && git push {root} HEAD:x"));
    assert!(code != 0, "{text}");
    fixture.step("git clone -q --bare . ../b.git && cd ../b.git && git update-ref refs/heads/y HEAD && git push origin y");
    fixture.step("git clone -q \"$(git remote get-url origin)\" ../c && cd ../c && git commit -q --allow-empty -m x && git push origin HEAD:z");
    assert_eq!((state_of(&fixture.root), state_of(&remote)), before);
}

#[test]
fn repositories_without_commits_and_folders_without_git() {
    let mut fixture = Fixture::folder();
    fixture.write("a", "a\n");
    fixture.write(".gitignore", "ignored\n");
    fixture.write("ignored", "");
    let done = checkout(&mut fixture, &[]);
    assert_eq!(output_of(&done, "commit"), Some(""));
    assert_eq!(
        fixture.output("ls -A; git branch --show-current"),
        ".git\n.gitignore\na\nmain"
    );
    fixture.git(&["init", "-q", "-b", "trunk"]);
    fixture.next_run();
    let done = checkout(&mut fixture, &[]);
    assert_eq!(output_of(&done, "ref"), Some("refs/heads/trunk"));
    assert_eq!(
        fixture.output("git status --porcelain"),
        "?? .gitignore\n?? a"
    );
    assert!(
        fixture.printed.join("\n").contains("no commit"),
        "{:?}",
        fixture.printed
    );
}

#[test]
fn worktrees_shallow_and_sparse_repositories() {
    let mut fixture = Fixture::project();
    fixture.write("a", "later\n");
    fixture.commit("Later");
    let project = fixture.root.clone();
    fixture.git(&["worktree", "add", "-q", "-b", "topic", "../worktree"]);
    fixture.root = fixture.dir.join("worktree");
    fixture.write("a", "edited\n");
    checkout(&mut fixture, &[("fetch-depth", "0")]);
    assert_eq!(
        fixture.output("cat a; git branch --show-current; git rev-list --count HEAD"),
        "edited\ntopic\n2"
    );
    let address = format!("file://{}", project.display());
    git(
        &fixture.dir,
        &["clone", "-q", "--depth=1", &address, "shallow"],
    );
    fixture.root = fixture.dir.join("shallow");
    fixture.next_run();
    checkout(&mut fixture, &[("fetch-depth", "0")]);
    assert_eq!(
        fixture.output("git rev-list --count HEAD; git status --porcelain"),
        "1"
    );
    fixture.root = project;
    fixture.git(&["sparse-checkout", "set", "--no-cone", "/a"]);
    assert!(!fixture.root.join("sub/b").exists());
    fixture.next_run();
    checkout(&mut fixture, &[]);
    assert_eq!(fixture.output("cat sub/b; git status --porcelain"), "two");
}

/// Formats of storage that the run's own repository has, too, or does not need to have.
#[test]
fn repositories_of_other_formats_are_read() {
    for format in ["--object-format=sha256", "--ref-format=reftable"] {
        let mut fixture = Fixture::folder();
        let made = std::process::Command::new("git")
            .args(["init", "-q", "-b", "main", format])
            .current_dir(&fixture.root)
            .output()
            .expect("git");
        if !made.status.success() {
            eprintln!("skipped: repositories_of_other_formats_are_read: git has no {format}");
            continue;
        }
        fixture.write("a", "one\n");
        fixture.commit("One");
        fixture.git(&["tag", "v1"]);
        let sha = fixture.git(&["rev-parse", "HEAD"]);
        checkout(&mut fixture, &[("fetch-depth", "0")]);
        assert_eq!(
            fixture.output("git rev-parse HEAD; git tag; git status --porcelain"),
            format!("{sha}\nv1")
        );
        fixture.output("git fetch -q origin main");
    }
}

#[test]
fn the_input_sparse_checkout_limits_the_files() {
    let mut fixture = Fixture::project();
    fixture.write("other/c", "three\n");
    fixture.commit("Three");
    fixture.write("sub/b", "edited\n");
    fixture.write("other/new", "new\n");
    for mode in [CheckoutMode::Worktree, CheckoutMode::Head] {
        fixture.options.checkout = mode;
        checkout(&mut fixture, &[("sparse-checkout", "sub")]);
        assert_eq!(fixture.output("ls"), "a\nsub");
    }
    checkout(
        &mut fixture,
        &[
            ("sparse-checkout", "/a\n"),
            ("sparse-checkout-cone-mode", "false"),
        ],
    );
    assert_eq!(fixture.output("ls"), "a");
}

#[test]
fn submodules_come_from_the_working_tree() {
    let mut fixture = Fixture::project();
    let library = fixture.dir.join("library");
    fs::create_dir(&library).expect("a directory");
    git(&library, &["init", "-q"]);
    fs::write(library.join("l"), "library\n").expect("a file");
    git(&library, &["add", "."]);
    git(&library, &["commit", "-qm", "Library"]);
    let address = library.to_str().expect("a path");
    fixture.git(&["submodule", "--quiet", "add", address, "vendor/library"]);
    fixture.commit("Library");
    fixture.write("vendor/library/l", "edited\n");
    checkout(&mut fixture, &[]);
    assert_eq!(fixture.output("ls -A vendor/library"), "");
    checkout(&mut fixture, &[("submodules", "recursive")]);
    assert_eq!(
        fixture.output("cat vendor/library/l; git -C vendor/library rev-list --count HEAD"),
        "edited\n1"
    );
    fixture.options.checkout = CheckoutMode::Head;
    checkout(&mut fixture, &[("submodules", "true")]);
    assert_eq!(
        fixture.output("cat vendor/library/l; git status --porcelain"),
        "library"
    );
    fixture.git(&["submodule", "--quiet", "deinit", "-f", "--all"]);
    let reason = refused(&mut fixture, &[("submodules", "true")]);
    assert!(
        reason.contains("vendor/library") && reason.contains("git submodule update"),
        "{reason}"
    );
}

#[test]
fn names_of_any_bytes_and_links_are_copied_as_they_are() {
    let mut fixture = Fixture::project();
    let names: [&[u8]; 4] = [b"b\xff\xfe", b"line\nend", b" space\t\"q'", b"-dash"];
    for name in names {
        fs::write(fixture.root.join(OsStr::from_bytes(name)), name).expect("a file");
    }
    let outside = fixture.dir.join("outside");
    fs::create_dir(&outside).expect("a directory");
    fs::write(outside.join("b"), "secret").expect("a file");
    symlink(&outside, fixture.root.join("link")).expect("a link");
    symlink("missing", fixture.root.join("dangling")).expect("a link");
    fixture.git(&["add", "-A"]);
    // a tracked directory that is a link now: git says that its files are deleted
    fs::remove_dir_all(fixture.root.join("sub")).expect("removed");
    symlink(&outside, fixture.root.join("sub")).expect("a link");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        fixture.root.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .expect("a pipe");
    checkout(&mut fixture, &[]);
    let workspace = fixture.workspace();
    for name in names {
        assert_eq!(
            fs::read(workspace.join(OsStr::from_bytes(name))).expect("a file"),
            name
        );
    }
    assert_eq!(
        fs::read_link(workspace.join("link")).expect("a link"),
        outside
    );
    assert_eq!(
        fs::read_link(workspace.join("sub")).expect("a link"),
        outside
    );
    assert!(workspace.join("dangling").is_symlink());
    assert!(!workspace.join("pipe").exists());
    assert_eq!(fs::read(outside.join("b")).expect("a file"), b"secret");
    checkout(&mut fixture, &[]);
    assert_eq!(fs::read(outside.join("b")).expect("a file"), b"secret");
}

#[test]
fn nested_repositories_and_the_runs_own_directory_are_left_out() {
    let mut fixture = Fixture::project();
    fixture.write("nested/x", "x");
    git(&fixture.root.join("nested"), &["init", "-q"]);
    // the runs lie within the project
    let jobs = fixture.root.join("state");
    fs::create_dir(&jobs).expect("a directory");
    let inside = fixture.dir.join("jobs");
    symlink(&jobs, &inside).expect("a link");
    checkout(&mut fixture, &[]);
    assert_eq!(fixture.output("ls -A"), ".git\n.gitignore\na\nsub");
    assert!(
        fixture.printed.join("\n").contains("nested"),
        "{:?}",
        fixture.printed
    );
}

#[test]
fn another_repository_needs_a_directory() {
    let mut fixture = Fixture::project();
    let reason = refused(
        &mut fixture,
        &[("repository", "acme/other"), ("path", "other")],
    );
    assert!(reason.contains("acme/other"), "{reason}");
    let other = fixture.dir.join("other");
    fs::create_dir(&other).expect("a directory");
    git(&other, &["init", "-q"]);
    fs::write(other.join("o"), "other\n").expect("a file");
    git(&other, &["add", "."]);
    git(&other, &["commit", "-qm", "Other"]);
    fixture
        .options
        .repositories
        .push(("Acme/Other".to_owned(), other));
    checkout(&mut fixture, &[]);
    checkout(
        &mut fixture,
        &[("repository", "acme/other"), ("path", "other")],
    );
    assert_eq!(fixture.output("cat a other/o"), "one\nother");
    checkout(&mut fixture, &[("repository", "ACME/tool")]);
    assert_eq!(fixture.output("cat a"), "one");
}

#[test]
fn a_run_in_place_leaves_the_tree_as_it_is() {
    let mut fixture = Fixture::project();
    fixture.write("ignored", "kept");
    fixture.in_place();
    let before = state_of(&fixture.root);
    let done = checkout(&mut fixture, &[("fetch-depth", "0")]);
    assert_eq!(output_of(&done, "ref"), Some("refs/heads/main"));
    for inputs in [[("path", "x")], [("ref", "none")]] {
        refused(&mut fixture, &inputs);
    }
    assert_eq!(state_of(&fixture.root), before);
}

#[test]
fn unreadable_and_unwritable_files_are_named() {
    let mut fixture = Fixture::project();
    if rustix::process::geteuid().is_root() {
        eprintln!("skipped: unreadable_and_unwritable_files_are_named: root reads everything");
        return;
    }
    fixture.write("new", "new");
    let closed = |fixture: &Fixture, path: &str| {
        let mode = fs::Permissions::from_mode(0o0);
        fs::set_permissions(fixture.root.join(path), mode).expect("a mode");
    };
    closed(&fixture, "new");
    checkout(&mut fixture, &[]);
    assert!(
        fixture.printed.join("\n").contains("new"),
        "{:?}",
        fixture.printed
    );
    fixture.output("mkdir -p x/y && touch x/y/z && chmod 0 x/y x");
    checkout(&mut fixture, &[]);
    assert_eq!(fixture.output("ls"), "a\nsub");
    closed(&fixture, "sub/b");
    let reason = refused(&mut fixture, &[]);
    assert!(reason.contains("sub/b"), "{reason}");
}

#[test]
fn pointers_of_large_files_are_refused_where_the_files_are_wanted() {
    let mut fixture = Fixture::project();
    fixture.write(
        "big",
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    );
    fixture.commit("Big");
    checkout(&mut fixture, &[]);
    let reason = refused(&mut fixture, &[("lfs", "true")]);
    assert!(
        reason.contains("big") && reason.contains("git lfs pull"),
        "{reason}"
    );
    // no later step takes it for a whole tree
    assert_eq!(fixture.output("ls -A"), "");
    checkout(&mut fixture, &[]);
    fixture.output("echo mine > own");
    refused(&mut fixture, &[("lfs", "true"), ("clean", "false")]);
    assert_eq!(fixture.output("test ! -e .git && cat own"), "mine");
}
