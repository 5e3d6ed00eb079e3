//! Tests every trap in every kind of repository; then generated repositories with several traps at once:
//! `BACKSTITCH_GIT_BACKED_CASES` is their number, `BACKSTITCH_GIT_BACKED_SEED` the first seed.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use super::{age_files_and_refresh_index, files, git_backed_count, shell};
use crate::support::World;
use crate::support::rng::{Rng, cases, is_long};
use crate::support::tree::{Tree, difference};

/// A situation in which git's information about a file is unreliable.
struct Trap {
    name: &'static str,
    /// Script that sets the trap in the repository, before the first scan.
    script: &'static str,
    /// Condition that holds once the trap is set.
    holds: &'static str,
}

const fn trap(name: &'static str, script: &'static str, holds: &'static str) -> Trap {
    Trap {
        name,
        script,
        holds,
    }
}

/// Shell functions of the scripts. `commit` leaves a repository without commits as it is.
const WORDS: &str = r#"set -e
    G=$(git rev-parse --git-dir); C=$(git rev-parse --git-common-dir); F=$(git rev-parse --show-object-format)
    CR=$(printf '\r')
    commit() { if git rev-parse -q --verify HEAD > /dev/null; then git commit -qm "$1"; fi; }
    version() { od -An -j4 -N4 -tu1 $G/index | tr -d ' '; }
    object() {
        o=$(git rev-parse :$1)
        for d in $C ../lender.git; do
            f=$d/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-)
            if [ -f $f ]; then echo $f; fi
        done
    }
    blob() { git cat-file blob :$1; }
    rot() { git config filter.rot.clean 'tr a-z n-za-m'; git config filter.rot.smudge 'tr n-za-m a-z'; }
"#;

const TRAPS: [Trap; 34] = [
    trap("index of version 2", "git update-index --index-version 2", "[ $(version) = 0002 ]"),
    // git writes it only where an entry has flags that version 2 has no room for
    trap(
        "index of version 3",
        "git update-index --index-version 3; echo three > three.txt; git add -N three.txt",
        "[ $(version) = 0003 ]",
    ),
    trap("index of version 4", "git update-index --index-version 4", "[ $(version) = 0004 ]"),
    trap(
        "split index",
        "git update-index --split-index; echo split >> f1.txt; git add f1.txt; git rm -q --cached f2.txt",
        "ls $G/sharedindex.* && grep -aq link $G/index",
    ),
    trap(
        "sparse index",
        "git sparse-checkout set --cone --sparse-index d1 d2",
        "git ls-files --sparse | grep -q '^d0/$' && [ ! -e d0 ]",
    ),
    trap(
        "skip-worktree, and there",
        "git update-index --skip-worktree f3.txt; echo hidden > f3.txt",
        "git ls-files -v f3.txt | grep -q ^S && [ -e f3.txt ]",
    ),
    trap(
        "skip-worktree, and absent",
        "git update-index --skip-worktree f4.txt; rm f4.txt",
        "git ls-files -v f4.txt | grep -q ^S && [ ! -e f4.txt ]",
    ),
    trap(
        "assume-unchanged",
        "git update-index --assume-unchanged f5.txt; echo assumed > f5.txt",
        "git ls-files -v f5.txt | grep -q ^h",
    ),
    trap(
        "intent to add",
        "echo later > later.txt; git add -N later.txt",
        "git diff --name-only --diff-filter=A | grep -q later.txt",
    ),
    trap(
        "a conflict",
        "git switch -qc side; echo side > f6.txt; git commit -qam side; git switch -q main; echo main > f6.txt;
         git commit -qam main; if git merge -q side; then exit 1; fi",
        "git ls-files -u | grep -q f6.txt",
    ),
    trap(
        "a monitor that saw nothing",
        r#"printf '#!/bin/sh\nprintf "token\\0"\n' > $G/monitor; chmod +x $G/monitor;
           git config core.fsmonitor "$(realpath $G/monitor)"; git update-index --fsmonitor; git status;
           echo 55555 > f1.txt; git status"#,
        "grep -aq FSMN $G/index && [ -z \"$(git diff --name-only f1.txt)\" ]",
    ),
    trap(
        "an untracked cache",
        "git update-index --force-untracked-cache; git status; echo new > new.txt; git status",
        "grep -aq UNTR $G/index",
    ),
    trap(
        "autocrlf",
        "git config core.autocrlf true; rm f7.txt f8.txt; git checkout -q -- f7.txt f8.txt",
        "grep -q $CR f7.txt",
    ),
    trap(
        "eol by attribute",
        "echo '*.txt text eol=crlf' > .gitattributes; git add .gitattributes; commit attributes; rm f*.txt;
         git checkout -q -- .",
        "grep -q $CR f0.txt",
    ),
    trap(
        "a CRLF file whose blob has LF",
        r"echo '* text=auto' > .gitattributes; printf 'a\r\nb\r\n' > crlf.txt; git add .; commit crlf; git status",
        "grep -q $CR crlf.txt && ! blob crlf.txt | grep -q $CR",
    ),
    trap(
        "ident",
        r"echo '*.id ident' > .gitattributes; printf '$Id$ one\n' > a.id; git add .; commit ident; rm a.id;
          git checkout -q -- a.id",
        "grep -q 'Id: ' a.id",
    ),
    trap(
        "a filter of equal size",
        "rot; echo '*.rot filter=rot' > .gitattributes; echo secret > a.rot; git add .; commit rot",
        "[ $(blob a.rot) = frperg ] && [ $(cat a.rot) = secret ]",
    ),
    trap(
        "a filter that was taken away",
        "rot; echo '*.rot filter=rot' > .gitattributes; echo secret > b.rot; git add .; commit rot;
         : > .gitattributes; git add .gitattributes; commit none",
        "[ $(blob b.rot) = frperg ] && [ $(cat b.rot) = secret ]",
    ),
    trap(
        "a filter by a macro",
        r"rot; printf '[attr]mine filter=rot\n*.mac mine\n' > .gitattributes; echo secret > a.mac; git add .; commit rot",
        "[ $(blob a.mac) = frperg ] && [ $(cat a.mac) = secret ]",
    ),
    trap(
        "attributes of the repository alone",
        "rot; mkdir -p $C/info; echo '*.own filter=rot' > $C/info/attributes; echo secret > a.own; git add .; commit own",
        "[ $(blob a.own) = frperg ] && [ $(cat a.own) = secret ]",
    ),
    trap(
        "an encoding",
        r"echo '*.wide working-tree-encoding=UTF-16' > .gitattributes; printf 'one\n' | iconv -t UTF-16 > a.wide;
          git add .; commit wide",
        "[ $(blob a.wide) = one ] && [ $(wc -c < a.wide) -gt 4 ]",
    ),
    trap(
        "a racy edit",
        "echo aaaa > racy.txt; git add racy.txt; echo bbbb > racy.txt",
        "[ $(blob racy.txt) = aaaa ] && [ $(cat racy.txt) = bbbb ]",
    ),
    trap(
        "a racy edit with its old time",
        "echo aaaa > racy2.txt; touch -r f1.txt racy2.txt; git add racy2.txt; echo bbbb > racy2.txt;
         touch -r f1.txt racy2.txt",
        "[ $(blob racy2.txt) = aaaa ] && [ $(cat racy2.txt) = bbbb ] && [ ! racy2.txt -nt f1.txt ]",
    ),
    trap(
        "an old time and the same size",
        "echo 11111 > f9.txt; git add f9.txt; commit nine; cp -p f9.txt $G/time; echo 22222 > f9.txt;
         touch -r $G/time f9.txt",
        "[ $(blob f9.txt) = 11111 ] && [ $(cat f9.txt) = 22222 ] && [ ! f9.txt -nt $G/time ]",
    ),
    trap(
        "no trust in ctime",
        "git config core.trustctime false; git config core.checkStat minimal; echo 33333 > f10.txt; git add f10.txt;
         commit ten; cp -p f10.txt $G/time; echo 44444 > f10.txt; touch -r $G/time f10.txt",
        "[ $(blob f10.txt) = 33333 ] && [ $(cat f10.txt) = 44444 ] && [ ! f10.txt -nt $G/time ]",
    ),
    trap(
        "no trust in modes",
        "git config core.fileMode false; chmod +x f11.txt; chmod 600 f12.txt",
        "[ -x f11.txt ] && git ls-files -s f11.txt | grep -q ^100644",
    ),
    trap(
        "links that are files",
        "ln -s f1.txt link; git add link; commit link; git config core.symlinks false; rm link; git checkout -q -- link",
        "[ ! -L link ] && git ls-files -s link | grep -q ^120000",
    ),
    trap(
        "a submodule",
        "git init -q --object-format=$F ../sub; (cd ../sub; echo s > s.txt; git add .; git commit -qm s);
         git -c protocol.file.allow=always submodule --quiet add $PWD/../sub module; commit module; echo changed > module/s.txt",
        "git ls-files -s module | grep -q ^160000 && [ -e module/.git ]",
    ),
    trap(
        "a nested repository",
        "mkdir nested; (cd nested; git init -q --object-format=$F; echo n > n.txt; git add .; git commit -qm n); git add .",
        "git ls-files -s nested | grep -q ^160000",
    ),
    trap(
        "a replaced object",
        "git replace $(git rev-parse :f13.txt) $(git rev-parse :f1.txt)",
        "blob f13.txt | cmp - f1.txt",
    ),
    trap("a lost object", "rm -f $(object f14.txt)", "! blob f14.txt"),
    trap(
        "a damaged object",
        "f=$(object f15.txt); chmod u+w $f; printf x > $f",
        "[ -s $(object f15.txt) ] && ! blob f15.txt",
    ),
    trap(
        "packed",
        "for g in $C ../lender.git; do if [ -d $g ]; then git --git-dir=$g gc -q; fi; done",
        "[ -z \"$(object f0.txt)\" ] && git cat-file -e :f0.txt",
    ),
    trap(
        "content that is in no database",
        "o=$(echo nowhere | git hash-object --stdin); git update-index --add --info-only --cacheinfo 100644,$o,x;
         echo only > only.txt; git update-index --add --info-only only.txt",
        "git ls-files | grep -q '^x$' && ! blob only.txt",
    ),
];

/// Kinds of repositories.
const KINDS: [&str; 5] = ["sha1", "sha256", "worktree", "shared", "no commits"];

/// Impossible combinations: a kind, a trap, and the reason.
const IMPOSSIBLE: [(&str, &str, &str); 1] = [("no commits", "a conflict", "it takes two commits")];

/// With filters, or with attributes at the top that are newer than all files, no file is git-backed.
const NEVER_GIT_BACKED: [&str; 3] = [
    "a filter of equal size",
    "a filter that was taken away",
    "a filter by a macro",
];

/// Changes all files that may be git-backed.
const EDIT_ALL: &str =
    "find . -name .git -prune -o -type f -exec sh -c 'for f; do echo more >> \"$f\"; done' sh {} +";

/// Shell commands of the agent. Git commands may fail, depending on the state of the repository.
const DEEDS: [&str; 9] = [
    EDIT_ALL,
    "find . -name .git -prune -o -name '*.txt' -type f -exec rm {} +",
    "find . -name .git -prune -o -type f -exec chmod 755 {} +",
    "git stash -q && git gc -q --prune=now; true",
    "git rm -rq --cached . && git gc -q --prune=now; true",
    "mkdir moved && mv *.txt moved",
    "find . -name .git -prune -o -type f -exec touch {} +",
    "git config core.autocrlf input && git reset -q --hard; true",
    "find . -name .git -prune -o -type f -exec sed -i s/e/E/ {} +",
];

pub(super) fn repository(kind: &str) -> World {
    let world = World::in_memory();
    if kind == "worktree" {
        world
            .sh("git init -q -b other ../main-tree && cd ../main-tree &&
                 git commit -q --allow-empty -m start && git worktree add -q -b main ../work")
            .expect_code(0);
    } else {
        let format = if kind == "sha256" { "sha256" } else { "sha1" };
        let format = format!("--object-format={format}");
        world.git_ok(["init", "-q", "-b", "main", &format]);
    }
    for n in 0..16 {
        world.write(format!("f{n}.txt"), format!("file {n}\nhas lines\n"));
        world.write(format!("d{}/e{n}.txt", n % 3), format!("below {n}\n"));
    }
    world.set_mode("f2.txt", 0o755);
    world.git_ok(["add", "-A"]);
    if kind != "no commits" {
        world.git_ok(["commit", "-q", "-m", "start"]);
    }
    if kind == "shared" {
        world
            .sh("git clone -q --shared . ../borrower && mv .git ../lender.git && mv ../borrower/.git .git &&
                 echo $PWD/../lender.git/objects > .git/objects/info/alternates && git reset -q")
            .expect_code(0);
    }
    world
}

/// The same workspace, with git-backed files even in a small repository.
pub(super) fn always_git_backed(plain: &World) -> World {
    plain
        .beside("work")
        .with("BACKSTITCH_GIT_BACKED_ALWAYS", "1")
}

/// Output of the commands that show the first scan and later changes.
fn shown(world: &World) -> Vec<Vec<u8>> {
    let mut shown = vec![world.ok(["diff", "t1"]).bytes];
    for path in ["f0.txt", "f1.txt", "f14.txt", "d1/e1.txt"] {
        let one = world.run(["cat", "c1", path]);
        shown.push([one.bytes, one.code.to_string().into_bytes()].concat());
    }
    shown
}

/// Asserts that git-backed files are restored in every way, and are shown like copied ones.
fn it_comes_back(plain: &World, deed: &str, about: &str) -> i64 {
    let world = always_git_backed(plain);
    let (before, git) = (files(&world), world.git_digest());
    world.ok(["init"]);
    assert!(
        world.git_digest() == git,
        "{about}: git's files were changed"
    );
    let backed = git_backed_count(&world);
    let is = |expected: &Tree, args: &[&str]| {
        let run = world.run(args);
        let now = files(&world);
        let difference = difference(expected, &now);
        assert!(
            now == *expected && run.code == 0,
            "{about}, {args:?}\n{difference}\n{run}"
        );
    };
    // one session, so that a rewind takes out all of its work
    let mut agent = world.agent();
    agent.prompt("edits");
    agent.bash(EDIT_ALL).expect_code(0);
    agent.stop();
    let with = shown(&world);
    agent.prompt("a deed");
    agent.bash(deed).expect_code(0);
    agent.stop();
    let after = files(&world);
    world.ok(["verify"]);
    is(&before, &["rewind", "t1", "--exact", "--yes"]);
    if after != before {
        is(&after, &["undo", "--yes"]);
    }
    is(&before, &["rewind", "t1", "--yes"]);
    world.ok(["verify"]);

    fs::remove_dir_all(world.state.join("backstitch")).expect("removed");
    plain.ok(["init"]);
    assert_eq!(git_backed_count(plain), 0, "{about}");
    shell(plain, EDIT_ALL);
    let without = shown(plain);
    let text = |all: &[Vec<u8>]| String::from_utf8_lossy(&all.concat()).into_owned();
    assert!(
        with == without,
        "{about}: git-backed\n{}\ncopied\n{}",
        text(&with),
        text(&without)
    );
    backed
}

/// Runs every trap in a kind of repository. The command differs by kind.
fn every_trap(kind: &str) {
    let nth = KINDS.iter().position(|k| *k == kind).expect("a kind");
    for (n, trap) in TRAPS.iter().enumerate() {
        if IMPOSSIBLE
            .iter()
            .any(|(k, t, _)| (*k, *t) == (kind, trap.name))
        {
            continue;
        }
        // an ordinary run has all traps in the first kind, and in each of the others a third of them
        if !is_long() && nth > 0 && !(n + nth).is_multiple_of(3) {
            continue;
        }
        let about = format!("{kind}, {}", trap.name);
        let plain = repository(kind);
        age_files_and_refresh_index(&plain);
        let sets = plain.sh(&format!("{WORDS}{}", trap.script));
        assert_eq!(sets.code, 0, "{about}: {sets}");
        age_files_and_refresh_index(&plain);
        let holds = plain.sh(&format!("{WORDS}{}", trap.holds));
        assert_eq!(holds.code, 0, "{about}: {holds}");
        let backed = it_comes_back(&plain, DEEDS[(n + 2 * nth) % DEEDS.len()], &about);
        let is_backed = !NEVER_GIT_BACKED.contains(&trap.name);
        assert_eq!(backed > 0, is_backed, "{about}: {backed} git-backed");
    }
}

#[test]
fn every_trap_in_a_repository() {
    every_trap("sha1");
}

#[test]
fn every_trap_among_sha256_objects() {
    every_trap("sha256");
}

#[test]
fn every_trap_in_a_linked_work_tree() {
    every_trap("worktree");
}

#[test]
fn every_trap_where_objects_are_anothers() {
    every_trap("shared");
}

#[test]
fn every_trap_before_the_first_commit() {
    every_trap("no commits");
}

/// In any state of a repository, the files of the first scan are restored to the byte.
#[test]
fn whatever_git_did_it_comes_back() {
    let count = cases("BACKSTITCH_GIT_BACKED_CASES", 4, 12);
    let first = Rng::seed("BACKSTITCH_GIT_BACKED_SEED", 1);
    for seed in first..first + count {
        let mut rng = Rng::new(seed);
        let kind = *rng.pick(&KINDS);
        let mut traps: Vec<_> = (0..2 + rng.below(3)).map(|_| rng.pick(&TRAPS)).collect();
        traps.dedup_by_key(|trap| trap.name);
        let plain = repository(kind);
        if !rng.once_in(4) {
            age_files_and_refresh_index(&plain);
        }
        for trap in &traps {
            // one trap may prevent another
            plain.sh(&format!("{WORDS}{}", trap.script));
        }
        if !rng.once_in(3) {
            age_files_and_refresh_index(&plain);
        }
        let names: Vec<&str> = traps.iter().map(|trap| trap.name).collect();
        let about = format!(
            "BACKSTITCH_GIT_BACKED_SEED={seed} BACKSTITCH_GIT_BACKED_CASES=1: {kind}, {names:?}"
        );
        let git = fs::metadata(plain.path(".git")).map(|m| m.ino());
        let deed = *rng.pick(&DEEDS);
        it_comes_back(&plain, deed, &about);
        assert_eq!(
            fs::metadata(plain.path(".git")).map(|m| m.ino()).ok(),
            git.ok()
        );
    }
}
