use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::super::fixture::{Fixture, has_program, output_of};
use super::super::{ActionResult, BuiltinError};

/// A program that prints a text.
fn program(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().expect("a parent")).expect("directories");
    fs::write(file, format!("#!/bin/sh\necho '{text}'\n")).expect("a file");
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// A user with programs at the places of version managers, below the home.
fn user(programs: &[(&str, &str)]) -> Fixture {
    let mut fixture = Fixture::folder();
    fixture.place();
    let home = fixture.dir.join("user");
    for (path, text) in programs {
        program(&home.join(path), text);
    }
    fixture
        .options
        .host
        .variables
        .push(("HOME".into(), home.into()));
    // the step has nothing but the shell's programs
    let bin = fixture.dir.join("bin");
    program(&bin.join("tool"), "");
    fixture.set("PATH", bin.to_str().expect("a path"));
    fixture
}

fn absent(fixture: &mut Fixture, name: &str, inputs: &[(&str, &str)]) -> String {
    match fixture.run(name, inputs) {
        Err(error @ BuiltinError::Absent(_)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

fn variable<'a>(done: &'a ActionResult, name: &str) -> Option<&'a str> {
    let named = |(known, _): &&(String, String)| known == name;
    done.environment
        .iter()
        .find(named)
        .map(|(_, value)| value.as_str())
}

#[test]
fn node_is_found_in_version_managers() {
    let mut fixture = user(&[
        (".nvm/versions/node/v18.20.1/bin/node", "v18.20.1"),
        (".nvm/versions/node/v22.3.0/bin/node", "v22.3.0"),
        (".asdf/installs/nodejs/23.0.0/bin/node", "v23.0.0"),
        (".local/share/mise/installs/node/20.9.0/bin/node", "v20.9.0"),
    ]);
    let mut version = |wanted: &str| {
        let done = fixture
            .run("actions/setup-node", &[("node-version", wanted)])
            .expect(wanted);
        output_of(&done, "node-version")
            .expect("a version")
            .to_owned()
    };
    for (wanted, found) in [
        ("18", "v18.20.1"),
        ("20.x", "v20.9.0"),
        ("lts/*", "v22.3.0"),
        ("lts/Hydrogen", "v18.20.1"),
        ("latest", "v23.0.0"),
        (">=18 <22", "v20.9.0"),
        ("^18 || ^20", "v20.9.0"),
        ("", "v23.0.0"),
    ] {
        assert_eq!(version(wanted), found, "{wanted}");
    }
    let done = fixture
        .run("actions/setup-node", &[("node-version", "22")])
        .expect("Node");
    assert!(
        done.path[0].ends_with("tool/Node/22.3.0/bin"),
        "{:?}",
        done.path
    );
    let used = "is used as it is on this machine";
    for (wanted, words) in [
        ("22", format!("::notice::Node 22.3.0 {used}, for '22': ")),
        ("", format!("::notice::Node 23.0.0 {used}: ")),
    ] {
        fixture.printed.clear();
        fixture
            .run("actions/setup-node", &[("node-version", wanted)])
            .expect("Node");
        let printed = &fixture.printed;
        assert!(printed[0].starts_with(&words), "{printed:?}");
    }
    let reason = absent(
        &mut fixture,
        "actions/setup-node",
        &[("node-version", "21")],
    );
    assert!(
        reason.starts_with("absent: Node 21 is not on this machine (here: 18.20.1, 20.9.0"),
        "{reason}"
    );
    absent(
        &mut fixture,
        "actions/setup-node",
        &[("node-version", "lts/none")],
    );
    absent(
        &mut fixture,
        "actions/setup-node",
        &[("node-version", "20-nightly-x")],
    );
}

#[test]
fn versions_stand_in_files_of_the_workspace() {
    let mut fixture = user(&[
        (".nvm/versions/node/v20.9.0/bin/node", "v20.9.0"),
        ("sdk/go1.22.3/bin/go", "go version go1.22.3 linux/amd64"),
        ("sdk/go1.21.0/bin/go", "go version go1.21.0 linux/amd64"),
        (
            ".rbenv/versions/3.2.2/bin/ruby",
            "ruby 3.2.2 (2023-03-30 revision e51014f9c0)",
        ),
        (".asdf/installs/uv/0.9.1/bin/uv", "uv 0.9.1"),
    ]);
    let workspace = fixture.workspace();
    let write = |name: &str, text: &str| fs::write(workspace.join(name), text).expect("a file");
    write(".nvmrc", "# note\nv20\n");
    write("package.json", "{\"engines\": {\"node\": \">=20\"}}");
    write(
        ".tool-versions",
        "nodejs 20.9.0\ngolang 1.21.0 # old\nruby 3.2.2\n",
    );
    write(
        "go.mod",
        "module x\n\ngo 1.22 // note\n\ntoolchain go1.22.3\n",
    );
    write(".ruby-version", "ruby-3.2\n");
    write(
        "pyproject.toml",
        "[tool.uv]\nrequired-version = \">=0.9, <1\"\n",
    );
    for file in [".nvmrc", "package.json", ".tool-versions"] {
        let done = fixture
            .run("actions/setup-node", &[("node-version-file", file)])
            .expect(file);
        assert_eq!(output_of(&done, "node-version"), Some("v20.9.0"));
    }
    for (file, found) in [("go.mod", "1.22.3"), (".tool-versions", "1.21.0")] {
        let done = fixture
            .run("actions/setup-go", &[("go-version-file", file)])
            .expect(file);
        assert_eq!(output_of(&done, "go-version"), Some(found));
    }
    fixture.run("ruby/setup-ruby", &[]).expect("Ruby");
    let done = fixture.run("astral-sh/setup-uv", &[]).expect("uv");
    assert_eq!(output_of(&done, "uv-version"), Some("0.9.1"));
    absent(
        &mut fixture,
        "ruby/setup-ruby",
        &[("bundler-cache", "true")],
    );
    absent(
        &mut fixture,
        "ruby/setup-ruby",
        &[("ruby-version", "jruby-9.4")],
    );
    absent(&mut fixture, "astral-sh/setup-uv", &[("version", "0.1.0")]);
    for wrong in ["none", "../../../../../etc"] {
        let failed = fixture.run("actions/setup-node", &[("node-version-file", wrong)]);
        assert!(matches!(failed, Err(BuiltinError::Failed(_))), "{failed:?}");
    }
}

/// A tool that is first on PATH stays there; one of a directory with other programs gets links, so that the run's own stay first.
#[test]
fn directories_of_the_system_do_not_come_first() {
    let mut fixture = user(&[]);
    let (first, second) = (fixture.dir.join("first"), fixture.dir.join("second"));
    program(&first.join("node"), "v18.0.0");
    program(&second.join("node"), "v20.0.0");
    program(&second.join("npm"), "10.0.0");
    program(&second.join("ssh"), "the user's");
    fixture.set("PATH", &format!("{}:{}", first.display(), second.display()));
    let done = fixture
        .run("actions/setup-node", &[("node-version", "18")])
        .expect("Node");
    assert_eq!(done.path, [""; 0]);
    let done = fixture
        .run("actions/setup-node", &[("node-version", "20")])
        .expect("Node");
    let links: Vec<_> = fs::read_dir(&done.path[0])
        .expect("links")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(links.len(), 2, "{links:?}");
    assert!(Path::new(&done.path[0]).starts_with(&fixture.place().tool));
}

/// A program that hangs, fails or says nothing is not the tool.
#[test]
fn broken_programs_are_passed_over() {
    let mut fixture = user(&[
        (".nvm/versions/node/v18.0.0/bin/node", "no version"),
        (".nvm/versions/node/v18.1.0/bin/node", "v18.1.0"),
    ]);
    let failing = fixture.dir.join("user/.nvm/versions/node/v19.0.0/bin/node");
    program(&failing, "v19.0.0'\nexit 1 #");
    let done = fixture
        .run("actions/setup-node", &[("node-version", ">=18")])
        .expect("Node");
    assert_eq!(output_of(&done, "node-version"), Some("v18.1.0"));
}

#[test]
fn node_with_a_registry_has_settings_of_the_run() {
    let mut fixture = user(&[(".nvm/versions/node/v20.9.0/bin/node", "v20.9.0")]);
    let inputs = [
        ("registry-url", "https://npm.pkg.github.com"),
        ("scope", "Acme"),
    ];
    let done = fixture.run("actions/setup-node", &inputs).expect("Node");
    let file = variable(&done, "NPM_CONFIG_USERCONFIG").expect("settings");
    assert_eq!(
        fs::read_to_string(file).expect("settings"),
        "//npm.pkg.github.com/:_authToken=${NODE_AUTH_TOKEN}\n@acme:registry=https://npm.pkg.github.com/\n"
    );
    assert!(file.starts_with(fixture.place().temp.to_str().expect("a path")));
}

#[test]
fn java_and_dotnet_are_found() {
    let jdk = ".sdkman/candidates/java/97.0.9-tem/bin";
    let mut fixture = user(&[
        (
            &format!("{jdk}/java"),
            "openjdk version \"97.0.9\" 2023-10-17",
        ),
        (&format!("{jdk}/javac"), "javac 97.0.9"),
    ]);
    let inputs = [("distribution", "temurin"), ("java-version", "97")];
    let done = fixture.run("actions/setup-java", &inputs).expect("Java");
    assert_eq!(output_of(&done, "version"), Some("97.0.9"));
    assert!(
        variable(&done, "JAVA_HOME").is_some_and(|home| home.ends_with("97.0.9-tem")),
        "{done:?}"
    );
    let home = fixture.dir.join("user");
    fs::remove_file(home.join(jdk).join("javac")).expect("removed");
    assert!(absent(&mut fixture, "actions/setup-java", &inputs).contains("compiler"));
    fixture
        .run(
            "actions/setup-java",
            &[
                ("distribution", "temurin"),
                ("java-version", "97"),
                ("java-package", "jre"),
            ],
        )
        .expect("Java");
    absent(
        &mut fixture,
        "actions/setup-java",
        &[("distribution", "temurin"), ("java-version", "99")],
    );
    absent(
        &mut fixture,
        "actions/setup-dotnet",
        &[("dotnet-version", "8.x")],
    );
    let bin = fixture.dir.join("dotnet");
    fs::create_dir(&bin).expect("a directory");
    let script = "#!/bin/sh\nif [ \"$1\" = --list-sdks ]; then echo '6.0.100 [/x/sdk]'; echo '8.0.204 [/x/sdk]'; else echo 8.0.204; fi\n";
    fs::write(bin.join("dotnet"), script).expect("a program");
    fs::set_permissions(bin.join("dotnet"), fs::Permissions::from_mode(0o755)).expect("a mode");
    fixture.set("PATH", bin.to_str().expect("a path"));
    let done = fixture
        .run("actions/setup-dotnet", &[("dotnet-version", "8.x\n6.0.x")])
        .expect(".NET");
    assert_eq!(output_of(&done, "dotnet-version"), Some("8.0.204"));
    absent(
        &mut fixture,
        "actions/setup-dotnet",
        &[("dotnet-version", "8.x\n7.x")],
    );
}

/// A real Python gets an environment of the run, so its packages are not the user's.
#[test]
fn python_has_an_environment_of_the_run() {
    if !has_program("python_has_an_environment_of_the_run", "python3") {
        return;
    }
    let mut fixture = Fixture::folder();
    fixture.place();
    fixture.options.host = crate::place::environment::Host::of_process();
    let done = match fixture.run("actions/setup-python", &[("python-version", ">=3.8")]) {
        Err(BuiltinError::Absent(reason)) if reason.contains("venv") => {
            assert!(std::env::var_os("CI").is_none(), "{reason}");
            eprintln!("skipped: python_has_an_environment_of_the_run: {reason}");
            return;
        }
        done => done.expect("Python"),
    };
    let location = variable(&done, "pythonLocation")
        .expect("a place")
        .to_owned();
    let tool = fixture.place().tool.clone();
    assert!(Path::new(&location).starts_with(&tool), "{location}");
    assert_eq!(done.path, [location.clone(), format!("{location}/bin")]);
    let python = output_of(&done, "python-path").expect("a program");
    let prefix = fixture.output(&format!("{python} -c 'import sys; print(sys.prefix)'"));
    assert_eq!(prefix, location);
    fixture.output(&format!("{location}/bin/pip --version"));
    absent(
        &mut fixture,
        "actions/setup-python",
        &[("python-version", "9.9")],
    );
    absent(
        &mut fixture,
        "actions/setup-python",
        &[("python-version", "pypy3.10")],
    );
}

/// Runs an action for Rust. Returns the settings of the run's rustup, and what the action gave.
fn set_up(fixture: &mut Fixture, action: &str, inputs: &[(&str, &str)]) -> (String, ActionResult) {
    let done = fixture.run(action, inputs).expect(action);
    let settings = fixture.place().home.join(".rustup/settings.toml");
    (fs::read_to_string(settings).expect("settings"), done)
}

#[test]
fn toolchains_of_the_users_rustup_are_used() {
    let mut fixture = user(&[]);
    let host = "x86_64-unknown-linux-gnu";
    let toolchains = fixture.dir.join("toolchains");
    for (name, version) in [
        ("stable", "1.95.0"),
        ("nightly", "1.97.0-nightly"),
        ("1.80.1", "1.80.1"),
    ] {
        let bin = toolchains.join(format!("{name}-{host}/bin"));
        let details = format!(
            "rustc {version} (abc)\nhost: {host}\ncommit-hash: abcdef0123\ncommit-date: 2026-04-14"
        );
        program(&bin.join("rustc"), &details);
        program(&bin.join("cargo"), &format!("cargo {version}"));
    }
    program(
        &toolchains.join(format!("stable-{host}/bin/cargo-clippy")),
        "",
    );
    let rustup = fixture.place().home.join(".rustup");
    fs::create_dir_all(rustup.join("toolchains")).expect("directories");
    for entry in fs::read_dir(&toolchains).expect("toolchains").flatten() {
        let link = rustup.join("toolchains").join(entry.file_name());
        std::os::unix::fs::symlink(entry.path(), link).expect("a link");
    }
    let (settings, done) = set_up(
        &mut fixture,
        "dtolnay/rust-toolchain@stable",
        &[("components", "clippy")],
    );
    assert!(
        settings.contains(&format!("default_toolchain = \"stable-{host}\"")),
        "{settings}"
    );
    assert_eq!(output_of(&done, "cachekey"), Some("20260414abcd"));
    let (settings, _) = set_up(&mut fixture, "dtolnay/rust-toolchain@1.80", &[]);
    assert!(
        settings.contains(&format!("\"1.80-{host}\""))
            && settings.matches("default_toolchain").count() == 1,
        "{settings}"
    );
    let (settings, _) = set_up(
        &mut fixture,
        "dtolnay/rust-toolchain@master",
        &[("toolchain", "nightly")],
    );
    assert!(settings.contains("nightly"), "{settings}");
    // a branch has a toolchain and components; a commit has neither
    let nightly = toolchains.join(format!("nightly-{host}/bin"));
    let told = absent(&mut fixture, "dtolnay/rust-toolchain@clippy", &[]);
    assert!(told.contains("nightly with the component clippy"), "{told}");
    program(&nightly.join("cargo-clippy"), "");
    let (settings, _) = set_up(&mut fixture, "dtolnay/rust-toolchain@clippy", &[]);
    assert!(settings.contains("nightly"), "{settings}");
    let commit = "e97e2d8cc328f1b50210efc529dca0028893a2d9";
    let (settings, _) = set_up(
        &mut fixture,
        &format!("dtolnay/rust-toolchain@{commit}"),
        &[("toolchain", "stable")],
    );
    assert!(settings.contains("stable"), "{settings}");
    let (_, done) = set_up(
        &mut fixture,
        "actions-rust-lang/setup-rust-toolchain@v1",
        &[],
    );
    assert_eq!(variable(&done, "RUSTFLAGS"), Some("-D warnings"));
    let (_, done) = set_up(
        &mut fixture,
        "actions-rs/toolchain@v1",
        &[("toolchain", "1.95.0")],
    );
    assert_eq!(output_of(&done, "rustc_hash"), Some("abcdef0123"));
    for (version, inputs) in [
        ("1.70", &[][..]),
        ("beta", &[]),
        ("nightly-2024-01-01", &[]),
        ("stable", &[("components", "miri")]),
        ("stable", &[("targets", "wasm32-unknown-unknown")]),
    ] {
        absent(
            &mut fixture,
            &format!("dtolnay/rust-toolchain@{version}"),
            inputs,
        );
    }
    // the two names of one version are one
    let told = absent(&mut fixture, "dtolnay/rust-toolchain@1.70", &[]);
    assert_eq!(told.matches("1.95.0").count(), 1, "{told}");
    let unnamed = fixture.run(&format!("dtolnay/rust-toolchain@{commit}"), &[]);
    let told = unnamed.expect_err("no toolchain").to_string();
    assert!(told.contains("'toolchain' is a required input"), "{told}");
}
