use std::fs;

use super::*;

/// Runs git in a directory, as a user with a name.
fn git(dir: &Path, arguments: &[&str]) -> String {
    let who = [
        "-c",
        "user.name=Ada",
        "-c",
        "user.email=ada@example.org",
        "-c",
        "init.defaultBranch=main",
        "-c",
        "protocol.file.allow=always",
    ];
    let output = std::process::Command::new("git")
        .args(who)
        .args(arguments)
        .current_dir(dir)
        .output()
        .expect("git");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn address(url: &str) -> (String, Option<String>, String, String) {
    let address = Address::of(url);
    (
        address.plain,
        address.server,
        address.owner.unwrap_or_default(),
        address.name.unwrap_or_default(),
    )
}

#[test]
fn addresses_of_remotes() {
    let of = |url: &str, plain: &str, server: &str, owner: &str, name: &str| {
        let server = (!server.is_empty()).then(|| server.to_owned());
        assert_eq!(
            address(url),
            (plain.to_owned(), server, owner.to_owned(), name.to_owned()),
            "{url}"
        );
    };
    let github = "https://github.com";
    let plain = "https://github.com/acme/tool.git";
    of(plain, plain, github, "acme", "tool");
    of(
        "https://ada:ghp_token@github.com/acme/tool.git",
        plain,
        github,
        "acme",
        "tool",
    );
    of(
        "https://ghp_token@github.com/acme/tool.git",
        plain,
        github,
        "acme",
        "tool",
    );
    let scp = "git@github.com:acme/tool.git";
    of(scp, scp, github, "acme", "tool");
    let ssh = "ssh://git@example.org:2222/group/sub/tool";
    of(ssh, ssh, "https://example.org", "sub", "tool");
    of("/srv/git/tool.git", "/srv/git/tool.git", "", "", "tool");
    of("../tool", "../tool", "", "", "tool");
    of(
        "file:///srv/git/tool.git/",
        "file:///srv/git/tool.git/",
        "",
        "",
        "tool",
    );
}

#[test]
fn a_folder_without_git_has_clear_values() {
    let dir = tempfile::tempdir().expect("a directory");
    let project = dir.path().join("project");
    fs::create_dir(&project).expect("a directory");
    let found = ProjectRepository::of(&project).expect("a folder");
    assert_eq!(found.name, "project");
    assert_eq!((found.sha, found.git, found.origin), (None, None, None));
    assert_eq!(found.git_ref, "refs/heads/main");
    let missing = ProjectRepository::of(&dir.path().join("none")).expect_err("an error");
    assert!(missing.to_string().contains("none"), "{missing}");
}

#[test]
fn facts_of_a_repository() {
    let dir = tempfile::tempdir().expect("a directory");
    let root = dir.path().canonicalize().expect("a path");
    git(&root, &["init", "-q"]);
    let empty = ProjectRepository::of(&root).expect("a repository");
    assert_eq!(empty.sha, None);
    assert_eq!(empty.git_ref, "refs/heads/main");
    assert!(!empty.is_dirty);
    fs::create_dir(root.join("sub")).expect("a directory");
    fs::write(root.join("sub/a"), "a").expect("a file");
    assert!(ProjectRepository::of(&root).expect("a repository").is_dirty);
    git(&root, &["add", "."]);
    git(&root, &["commit", "-qm", "One"]);
    git(
        &root,
        &[
            "remote",
            "add",
            "origin",
            "https://t:secret@github.com/acme/tool.git",
        ],
    );
    let found = ProjectRepository::of(&root.join("sub")).expect("a repository");
    assert_eq!(found.root, root);
    assert_eq!(found.full_name(), "acme/tool");
    assert_eq!(
        found.origin.as_deref(),
        Some("https://github.com/acme/tool.git")
    );
    assert_eq!(
        found.sha.as_deref(),
        Some(git(&root, &["rev-parse", "HEAD"]).as_str())
    );
    assert!(!found.is_dirty);
    assert_eq!(found.ref_name(), "main");
    git(&root, &["tag", "v1"]);
    git(&root, &["checkout", "-q", "--detach"]);
    let detached = ProjectRepository::of(&root).expect("a repository");
    assert_eq!(
        (detached.git_ref.as_str(), detached.ref_name()),
        ("refs/tags/v1", "v1")
    );
    assert_eq!(detached.default_branch, "main");
}

#[test]
fn worktrees_and_bare_repositories() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path().canonicalize().expect("a path");
    let root = dir.join("project");
    fs::create_dir(&root).expect("a directory");
    git(&root, &["init", "-q"]);
    git(&root, &["commit", "-q", "--allow-empty", "-m", "One"]);
    git(&root, &["worktree", "add", "-q", "-b", "topic", "../topic"]);
    let topic = ProjectRepository::of(&dir.join("topic")).expect("a worktree");
    assert_eq!(topic.root, dir.join("topic"));
    assert_eq!(topic.git_ref, "refs/heads/topic");
    let storage = topic.git.expect("storage");
    assert_eq!(storage.objects, root.join(".git/objects"));
    git(
        &dir,
        &["clone", "-q", "--bare", "--no-local", "project", "bare.git"],
    );
    let bare = ProjectRepository::of(&dir.join("bare.git")).expect("a bare repository");
    assert!(bare.git.expect("storage").is_bare);
    assert_eq!(bare.root, dir.join("bare.git"));
    assert_eq!(bare.name, "project");
}

/// Reading leaves the index and every other file of `.git` as it was, also where a stat is stale.
#[test]
fn reading_changes_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let root = dir.path();
    git(root, &["init", "-q"]);
    fs::write(root.join("a"), "a").expect("a file");
    git(root, &["add", "."]);
    git(root, &["commit", "-qm", "One"]);
    let index = fs::read(root.join(".git/index")).expect("the index");
    fs::write(root.join("a"), "a").expect("the same text, with another time");
    let hook = root.join(".git/hooks/post-index-change");
    fs::create_dir_all(root.join(".git/hooks")).expect("a directory");
    fs::write(&hook, "#!/bin/sh\ntouch hooked\n").expect("a hook");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&hook, mode).expect("a mode");
    assert!(!ProjectRepository::of(root).expect("a repository").is_dirty);
    assert_eq!(fs::read(root.join(".git/index")).expect("the index"), index);
    assert!(!root.join("hooked").exists());
}

/// A filter that an unpacked archive's own settings name is not started.
#[test]
fn reading_starts_no_filter_of_the_repository() {
    let dir = tempfile::tempdir().expect("a directory");
    let root = dir.path();
    git(root, &["init", "-q"]);
    fs::write(root.join("a"), "a").expect("a file");
    git(root, &["add", "."]);
    git(root, &["commit", "-qm", "One"]);
    fs::write(root.join(".git/info/attributes"), "a filter=x").expect("attributes");
    let clean = format!("touch {}; cat", root.join("filtered").display());
    git(root, &["config", "filter.x.clean", &clean]);
    git(root, &["config", "filter.x.required", "true"]);
    fs::write(root.join("a"), "b").expect("a file");
    assert!(ProjectRepository::of(root).expect("a repository").is_dirty);
    assert!(!root.join("filtered").exists());
}
