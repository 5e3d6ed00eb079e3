use std::collections::{BTreeMap, HashSet};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use super::environment::{EnvironmentOptions, Host, base};
use super::*;
use crate::small_disk::SmallDisk;
use crate::state::EnvVariables;

fn project(dir: &Path) -> ProjectRepository {
    let root = dir.join("project");
    fs::create_dir_all(&root).expect("a directory");
    ProjectRepository::of(&root).expect("a folder")
}

fn record(place: &RunPlace, started: u64) -> RunRecord {
    RunRecord {
        id: place.id.clone(),
        repository: "/project".into(),
        workflow: ".github/workflows/ci.yml".to_owned(),
        text: "00".to_owned(),
        job: "build".to_owned(),
        matrix: serde_json::json!({"node": 20}),
        event: "push".to_owned(),
        started,
        status: RunStatus::Running,
        outputs: EnvVariables::default(),
        steps: BTreeMap::new(),
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn a_run_has_directories_of_its_own() {
    let dir = tempfile::tempdir().expect("a directory");
    let jobs = dir.path().join("state/jobs");
    let repository = project(dir.path());
    let workflow = ".github/workflows/-c i.yml";
    let first = RunPlace::create(&jobs, workflow, "build/all", &repository).expect("a run");
    assert_eq!(first.id, "c_i-build_all-1");
    assert!(first.workspace.ends_with("files/work/project/project"));
    assert!(first.workspace.is_dir());
    let mode = |path: &Path| {
        fs::metadata(path)
            .expect("a directory")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!((mode(&first.dir), mode(&first.home)), (0o700, 0o700));
    let second = RunPlace::in_place(&jobs, workflow, "build/all", &repository).expect("a run");
    assert_eq!((second.number, &second.workspace), (2, &repository.root));
}

/// Runs that start at the same time have different numbers.
#[test]
fn racing_runs_have_numbers_of_their_own() {
    let dir = tempfile::tempdir().expect("a directory");
    let jobs = dir.path().join("jobs");
    let repository = project(dir.path());
    let ids = std::thread::scope(|scope| {
        let create = || RunPlace::create(&jobs, "ci.yml", "b", &repository).expect("a run");
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(create)).collect();
        let places = threads
            .into_iter()
            .map(|thread| thread.join().expect("a run"));
        places.map(|place| place.id).collect::<HashSet<_>>()
    });
    assert_eq!(ids.len(), 16);
    let listed = list(&jobs).expect("runs");
    assert_eq!(listed.len(), 16);
    assert!(listed.iter().all(|run| !run.is_held && run.record.is_err()));
}

/// The number of a removed run is not given again, and nothing else shares its numbers.
#[test]
fn numbers_are_not_given_twice() {
    let dir = tempfile::tempdir().expect("a directory");
    let jobs = dir.path().join("jobs");
    let repository = project(dir.path());
    let create = |job| {
        let place = RunPlace::create(&jobs, "ci.yml", job, &repository).expect("a run");
        record(&place, 1000).write(&place.dir).expect("written");
        place.id.clone()
    };
    assert_eq!([create("b"), create("b")], ["ci-b-1", "ci-b-2"]);
    remove(&jobs, "ci-b-2").expect("removed");
    assert_eq!([create("b"), create("b-2")], ["ci-b-3", "ci-b-2-1"]);
    for id in ["ci-b-3", "ci-b-1"] {
        remove(&jobs, id).expect("removed");
    }
    assert_eq!(create("b"), "ci-b-4");
    fs::write(jobs.join("numbers.json"), "[").expect("a damaged file");
    assert_eq!(create("b"), "ci-b-5");
}

#[test]
fn records_are_listed_newest_first_and_damage_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let jobs = dir.path().join("jobs");
    assert!(list(&jobs).expect("no runs").is_empty());
    let repository = project(dir.path());
    let create = || RunPlace::create(&jobs, "ci.yml", "b", &repository).expect("a run");
    let (old, new, broken) = (create(), create(), create());
    record(&old, 1000).write(&old.dir).expect("written");
    record(&new, 2000).write(&new.dir).expect("written");
    fs::write(broken.dir.join("run.json"), "{").expect("a file");
    let runs = list(&jobs).expect("runs");
    let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(ids, ["ci-b-3", "ci-b-2", "ci-b-1"]);
    assert_eq!(
        runs[1].record.as_ref().expect("a record"),
        &record(&new, 2000)
    );
    assert!(
        runs[0]
            .record
            .as_ref()
            .is_err_and(|error| error.contains("damaged"))
    );
    assert!(runs.iter().all(|run| run.is_held));
}

/// A killed process may have been about to start a program, which shares its lock until it begins.
#[cfg(target_os = "linux")]
#[test]
fn a_lock_that_a_dead_process_leaves_is_waited_for() {
    let dir = tempfile::tempdir().expect("a directory");
    let jobs = dir.path().join("jobs");
    let place = RunPlace::create(&jobs, "ci.yml", "b", &project(dir.path())).expect("a run");
    let mut ended = backstitch_core::launch::program("true").expect("a program");
    let mut ended = ended.spawn().expect("started");
    ended.wait().expect("ended");
    fs::write(place.dir.join("lock"), ended.id().to_string()).expect("written");
    let (asking, asks) = std::sync::mpsc::channel();
    std::thread::scope(|threads| {
        let listed = threads.spawn(|| {
            asking.send(()).expect("heard");
            list(&jobs).expect("runs")[0].is_held
        });
        asks.recv().expect("it asks");
        drop(place);
        assert!(!listed.join().expect("listed"));
    });
}

#[test]
fn a_removed_run_leaves_nothing_and_reaches_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let jobs = dir.path().join("jobs");
    let outside = dir.path().join("outside");
    fs::create_dir(&outside).expect("a directory");
    fs::write(outside.join("file"), "kept").expect("a file");
    let place = RunPlace::create(&jobs, "ci.yml", "b", &project(dir.path())).expect("a run");
    let id = place.id.clone();
    let closed = place.files.join("closed/inner");
    fs::create_dir_all(&closed).expect("directories");
    fs::write(closed.join("file"), "").expect("a file");
    symlink(&outside, closed.join("link")).expect("a link");
    for dir in [closed.as_path(), closed.parent().expect("a parent")] {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o0)).expect("a mode");
    }
    let held = remove(&jobs, &id).expect_err("held");
    assert!(held.to_string().contains("has not ended"), "{held}");
    let run_dir = place.dir.clone();
    drop(place);
    for wrong in ["../outside", "caches", "ci-b-9", "", ".", "lock"] {
        assert!(remove(&jobs, wrong).is_err(), "{wrong}");
    }
    remove(&jobs, &id).expect("removed");
    assert!(!run_dir.exists());
    assert!(outside.join("file").exists());
    let left: Vec<_> = fs::read_dir(&jobs).expect("a directory").collect();
    // the caches, the lock, and the numbers that are not given again
    assert_eq!(left.len(), 3, "{left:?}");
}

/// Runs that have ended go, but for the newest ones and those of this command.
#[test]
fn the_newest_ended_runs_stay() {
    let dir = tempfile::tempdir().expect("a directory");
    let jobs = dir.path().join("jobs");
    let repository = project(dir.path());
    let create = |started: u64| {
        let place = RunPlace::create(&jobs, "ci.yml", "b", &repository).expect("a run");
        record(&place, started).write(&place.dir).expect("written");
        place
    };
    for started in [1000, 2000, 3000, 4000] {
        create(started);
    }
    // another project has its own runs
    let other = create(900);
    let of_other = RunRecord {
        repository: "/other".into(),
        ..record(&other, 900)
    };
    of_other.write(&other.dir).expect("written");
    drop(other);
    let held = create(500);
    let at = |started| UNIX_EPOCH + Duration::from_millis(started);
    let (removed, failed) = prune(&jobs, 2, at(2000)).expect("pruned");
    assert_eq!((removed, failed), (vec!["ci-b-1".to_owned()], Vec::new()));
    let (removed, _) = prune(&jobs, 2, at(9000)).expect("pruned");
    assert_eq!(removed, ["ci-b-2"]);
    assert!(held.dir.exists());
    assert_eq!(list(&jobs).expect("runs").len(), 4);
}

#[test]
fn an_unwritable_place_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let repository = project(dir.path());
    let file = dir.path().join("file");
    fs::write(&file, "").expect("a file");
    let error =
        RunPlace::create(&file.join("jobs"), "ci.yml", "b", &repository).expect_err("an error");
    assert!(error.to_string().contains("file/jobs"), "{error}");
    if is_root() {
        eprintln!("skipped: an_unwritable_place_is_named: root writes everywhere");
        return;
    }
    let closed = dir.path().join("closed");
    fs::create_dir(&closed).expect("a directory");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).expect("a mode");
    let error =
        RunPlace::create(&closed.join("jobs"), "ci.yml", "b", &repository).expect_err("an error");
    assert!(error.to_string().contains("closed/jobs"), "{error}");
}

/// A record on a full disk stays the old one, and a link that a step made is not followed.
#[test]
fn a_full_disk_keeps_the_old_record() {
    let Some(disk) = SmallDisk::mount("64k") else {
        eprintln!("skipped: a_full_disk_keeps_the_old_record: no file system can be mounted");
        return;
    };
    let dir = disk.path();
    let file = dir.join("run.json");
    write_durably(&file, b"old").expect("written");
    let error = write_durably(&file, &vec![b'x'; 128 * 1024]).expect_err("an error");
    assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{error}");
    assert!(error.to_string().contains("run.json"), "{error}");
    assert_eq!(fs::read(&file).expect("a file"), b"old");
    let other = dir.join("other");
    let new = dir.join(format!("run.json.new.{}", std::process::id()));
    symlink(&other, &new).expect("a link");
    write_durably(&file, b"new").expect("written");
    assert!(!other.exists());
    assert_eq!(fs::read(&file).expect("a file"), b"new");
}

fn host(variables: &[(&str, &str)]) -> Host {
    let pair = |(name, value): &(&str, &str)| (name.into(), value.into());
    Host {
        variables: variables.iter().map(pair).collect(),
    }
}

fn value<'a>(variables: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = variables.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str())
}

#[test]
fn a_step_gets_nothing_of_the_user() {
    let dir = tempfile::tempdir().expect("a directory");
    let user = dir.path().join("user");
    for part in [".cargo/registry/cache/x", ".rustup/toolchains/stable/bin"] {
        fs::create_dir_all(user.join(part)).expect("a directory");
    }
    fs::write(user.join(".cargo/registry/cache/x/a-1.0.0.crate"), "a").expect("a file");
    fs::write(user.join(".cargo/credentials.toml"), "token").expect("a file");
    fs::write(
        user.join(".rustup/settings.toml"),
        "default_toolchain = \"stable\"",
    )
    .expect("a file");
    let jobs = dir.path().join("jobs");
    let place = RunPlace::create(&jobs, "ci.yml", "b", &project(dir.path())).expect("a run");
    let home = user.to_str().expect("a path");
    let host = host(&[
        ("HOME", home),
        ("PATH", ".:/usr/bin::/bin:/usr/bin:relative"),
        ("SSH_AUTH_SOCK", "/run/agent"),
        ("GITHUB_TOKEN", "secret"),
        ("LC_TIME", "C"),
        ("https_proxy", "http://proxy"),
        ("MY_VALUE", "1"),
        ("GIT_DIR", "/elsewhere"),
        ("XDG_CONFIG_HOME", "/home/x/.config"),
    ]);
    let options = EnvironmentOptions {
        inherit: vec!["MY_*".to_owned()],
        ..EnvironmentOptions::default()
    };
    let variables = base(&place, &host, &options).expect("an environment");
    assert_eq!(value(&variables, "HOME"), place.home.to_str());
    for name in ["SSH_AUTH_SOCK", "GITHUB_TOKEN", "GIT_DIR"] {
        assert_eq!(value(&variables, name), None, "{name}");
    }
    for (name, kept) in [
        ("LC_TIME", "C"),
        ("https_proxy", "http://proxy"),
        ("MY_VALUE", "1"),
    ] {
        assert_eq!(value(&variables, name), Some(kept), "{name}");
    }
    let path = value(&variables, "PATH").expect("a path");
    assert!(path.ends_with(":/usr/bin:/bin"), "{path}");
    assert!(path.split(':').all(|dir| dir.starts_with('/')), "{path}");
    assert!(
        !variables.iter().any(|(_, value)| value.contains(home)),
        "{variables:?}"
    );
    let cargo = PathBuf::from(value(&variables, "CARGO_HOME").expect("a home"));
    assert_eq!(
        fs::read_to_string(cargo.join("registry/cache/x/a-1.0.0.crate")).expect("a crate"),
        "a"
    );
    assert!(!cargo.join("credentials.toml").exists());
    let toolchain =
        PathBuf::from(value(&variables, "RUSTUP_HOME").expect("a home")).join("toolchains/stable");
    assert!(toolchain.join("bin").is_dir());
    // a second time, as for the next job of a run, nothing fails
    assert_eq!(
        base(&place, &host, &options).expect("an environment"),
        variables
    );
}

/// A toolchain that is a link to the user's would be changed by rustup: the run's directories have the user's files.
#[test]
fn toolchains_of_the_user_do_not_change() {
    let dir = tempfile::tempdir().expect("a directory");
    let user = dir.path().join("rustup");
    let stable = user.join("toolchains/stable-host");
    let files = [
        ("bin/rustc", "program"),
        ("lib/rustlib/components", "docs\n"),
        ("lib/rustlib/manifest-docs", "dir:share/doc/html\n"),
        ("share/doc/html/index.html", "page"),
    ];
    for (name, text) in files {
        let file = stable.join(name);
        fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
        fs::write(file, text).expect("a file");
    }
    let built = dir.path().join("built");
    fs::create_dir(&built).expect("a directory");
    symlink(&built, user.join("toolchains/mine")).expect("a link");
    symlink(&stable, user.join("toolchains/1.95.0-host")).expect("a link");
    let jobs = dir.path().join("jobs");
    let place = RunPlace::create(&jobs, "ci.yml", "b", &project(dir.path())).expect("a run");
    let host = host(&[("RUSTUP_HOME", user.to_str().expect("a path"))]);
    let variables = base(&place, &host, &EnvironmentOptions::default()).expect("an environment");
    let own = PathBuf::from(value(&variables, "RUSTUP_HOME").expect("a home")).join("toolchains");
    for name in ["stable-host", "1.95.0-host"] {
        for (file, text) in files {
            let file = own.join(name).join(file);
            assert_eq!(fs::read_to_string(&file).expect("a file"), text, "{name}");
        }
    }
    assert_eq!(own.join("mine").canonicalize().expect("a path"), built);
    // as rustup does: it edits its list, replaces files and removes directories
    let changed = own.join("1.95.0-host");
    fs::write(changed.join("lib/rustlib/components"), "").expect("a file");
    fs::rename(changed.join("bin/rustc"), changed.join("old")).expect("a rename");
    fs::write(changed.join("bin/rustc"), "other").expect("a file");
    fs::rename(changed.join("share/doc/html"), changed.join("html")).expect("a rename");
    for (name, text) in files {
        let file = stable.join(name);
        assert_eq!(fs::read_to_string(&file).expect("a file"), text, "{name}");
    }
}

#[test]
fn the_users_home_is_given_when_asked_for() {
    let dir = tempfile::tempdir().expect("a directory");
    let jobs = dir.path().join("jobs");
    let place = RunPlace::create(&jobs, "ci.yml", "b", &project(dir.path())).expect("a run");
    let user = dir.path().join("user");
    let host = host(&[
        ("HOME", user.to_str().expect("a path")),
        ("PATH", "/usr/bin:/bin"),
    ]);
    let options = EnvironmentOptions {
        user_home: true,
        ..EnvironmentOptions::default()
    };
    let variables = base(&place, &host, &options).expect("an environment");
    assert_eq!(value(&variables, "HOME"), user.to_str());
    assert_eq!(value(&variables, "XDG_CONFIG_HOME"), None);
    assert!(
        value(&variables, "CARGO_HOME")
            .expect("a home")
            .starts_with(
                jobs.canonicalize()
                    .expect("a path")
                    .to_str()
                    .expect("a path")
            )
    );
}

/// The commands that would write to the user's home write to the run's.
#[test]
fn settings_of_programs_land_in_the_run() {
    let dir = tempfile::tempdir().expect("a directory");
    let jobs = dir.path().join("jobs");
    let place = RunPlace::create(&jobs, "ci.yml", "b", &project(dir.path())).expect("a run");
    let variables =
        base(&place, &Host::of_process(), &EnvironmentOptions::default()).expect("an environment");
    let run = |script: &str| {
        let output = Command::new("sh")
            .args(["-c", script])
            .env_clear()
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&place.workspace)
            .output()
            .expect("a shell");
        assert!(output.status.success(), "{script}: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    run("git config --global user.name Run && git config --system user.email r@example.org");
    let settings = fs::read_to_string(place.home.join(".gitconfig")).expect("settings");
    assert!(settings.contains("name = Run"), "{settings}");
    assert!(place.home.join(".gitconfig-system").exists());
    let has = |program: &str| {
        let path = Host::of_process().path().join(":");
        let found = crate::step::shell::find_program(program, &path, Path::new("/")).is_some();
        if !found {
            assert!(std::env::var_os("CI").is_none(), "{program} is missing");
            eprintln!("skipped: settings_of_programs_land_in_the_run: no {program} is here");
        }
        found
    };
    if has("npm") {
        run("npm config set color=false");
        assert!(place.home.join(".npmrc").exists());
        let prefix = run("npm prefix -g");
        assert!(Path::new(&prefix).starts_with(&place.home), "{prefix}");
    }
    if has("python3") {
        let purelib = run(
            "python3 -c 'import os, sysconfig; p = sysconfig.get_path(\"purelib\"); print(p if os.access(p, os.W_OK) else \"\")'",
        );
        assert!(
            purelib.is_empty() || Path::new(&purelib).starts_with(&place.dir),
            "{purelib}"
        );
    }
    if has("java") {
        let user_home = run("java -XshowSettings:properties -version 2>&1 | grep user.home");
        assert!(
            user_home.contains(place.home.to_str().expect("a path")),
            "{user_home}"
        );
    }
    if has("ssh") {
        let settings = run("ssh -G example.org");
        let keys: Vec<&str> = settings
            .lines()
            .filter(|line| line.starts_with("identityfile "))
            .collect();
        assert!(!keys.is_empty());
        for key in keys {
            assert!(key.contains(place.home.to_str().expect("a path")), "{key}");
        }
    }
    if has("rustup") {
        let user = Host::of_process()
            .directory("RUSTUP_HOME", ".rustup")
            .expect("a home");
        let before = fs::read(user.join("settings.toml")).ok();
        if let Some(toolchain) = run("rustup toolchain list -q 2>/dev/null || true")
            .lines()
            .next()
        {
            run(&format!("rustup default {toolchain}"));
        }
        assert_eq!(fs::read(user.join("settings.toml")).ok(), before);
    }
}

/// Interpreters by their versions and corepack write into the run, too.
#[test]
fn programs_do_not_write_beside_the_users() {
    let dir = tempfile::tempdir().expect("a directory");
    let jobs = dir.path().join("jobs");
    let place = RunPlace::create(&jobs, "ci.yml", "b", &project(dir.path())).expect("a run");
    let bin = dir.path().join("bin");
    fs::create_dir(&bin).expect("a directory");
    let program = |name: &str, text: &str| {
        fs::write(bin.join(name), text).expect("a file");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(bin.join(name), mode).expect("a mode");
    };
    program("corepack", "#!/bin/sh\necho \"$@\"\n");
    program(
        "python3.19",
        "#!/bin/sh\necho \"no environment: $*\"\nexit 1\n",
    );
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let host = host(&[("PATH", &path)]);
    let variables = base(&place, &host, &EnvironmentOptions::default()).expect("an environment");
    let run = |script: &str| {
        let output = Command::new("sh")
            .args(["-c", script])
            .env_clear()
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .output()
            .expect("a shell");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    // a version manager's shim that looks on PATH again
    let versions = dir.path().join("pyenv/versions");
    for version in ["3.9.1", "3.18.2", "3.18.10"] {
        let bin = versions.join(version).join("bin");
        fs::create_dir_all(&bin).expect("directories");
        program("pythons", &format!("#!/bin/sh\necho {version}\nexit 1\n"));
        fs::rename(dir.path().join("bin/pythons"), bin.join("python3.18")).expect("moved");
    }
    let manager = dir.path().join("pyenv/shims");
    fs::create_dir(&manager).expect("a directory");
    program("again", "#!/bin/sh\nexec python3.18 \"$@\"\n");
    fs::rename(bin.join("again"), manager.join("python3.18")).expect("moved");
    let host_path = format!("{}:{path}", manager.display());
    let with_manager = self::host(&[("PATH", &host_path)]);
    base(&place, &with_manager, &EnvironmentOptions::default()).expect("an environment");
    assert_eq!(run("python3.18 | tail -1"), "3.18.10");
    let own = place.home.join(".local/bin");
    let expected = format!("enable --install-directory {} pnpm", own.display());
    assert_eq!(run("corepack enable pnpm"), expected);
    assert_eq!(run("corepack prepare 'a b'"), "prepare a b");
    assert_eq!(run("python3.19 -c 1 | tail -1"), "no environment: -c 1");
    let real = Host::of_process().path().join(":");
    let versions = (6..20).map(|minor| format!("python3.{minor}"));
    let found = versions.into_iter().find_map(|name| {
        let real = crate::step::shell::find_program(&name, &real, Path::new("/"))?;
        let starts = Command::new(&real).arg("--version").output().ok()?;
        starts.status.success().then_some((name, real))
    });
    let Some((name, real)) = found else {
        eprintln!(
            "skipped: programs_do_not_write_beside_the_users: no Python by its version is here"
        );
        return;
    };
    symlink(real, bin.join(&name)).expect("a link");
    base(&place, &host, &EnvironmentOptions::default()).expect("an environment");
    let purelib = run(&format!(
        "{name} -c 'import os, sysconfig; p = sysconfig.get_path(\"purelib\"); print(p if os.access(p, os.W_OK) else \"\")'"
    ));
    assert!(
        purelib.is_empty() || Path::new(&purelib).starts_with(&place.dir),
        "{purelib}"
    );
}
