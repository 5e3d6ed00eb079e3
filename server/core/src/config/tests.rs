use std::path::Path;

use serde_json::json;

use super::file::parse;
use super::{Config, Fault, Key, Layer, Lenses, Setting, Source, SourceValues};

/// Returns the values of a file, and its faults with their lines.
fn read(text: &str) -> (SourceValues, Vec<String>) {
    let (said, faults) = parse(text, Path::new("/w"));
    let shown = |fault: &Fault| format!("{}: {}", fault.line, fault.said);
    (said, faults.iter().map(shown).collect())
}

fn patterns(all: &[&str]) -> Setting {
    Setting::Patterns(all.iter().map(|p| (*p).to_owned()).collect())
}

#[test]
fn every_key_is_read_in_every_form() {
    let nested = r#"
codeLens = "latestTurn"
[capture]
maxFileSize = "512 KiB"
exclude = ["*.log", "/data/"]
include = [ # although ignored
  ".env.local",
]
[store]
dir = "../histories"
[restore]
default = "exact"
"#;
    let dotted = r#"
codeLens = "latestTurn"
capture.maxFileSize = 524288
capture = { exclude = ["*.log", "/data/"], include = [".env.local"] }
store.dir = "/histories/../histories"
"restore.default" = "exact"
"#;
    let (said, wrong) = read(nested);
    assert_eq!(wrong, Vec::<String>::new());
    for (key, setting) in [
        (Key::Exclude, patterns(&["*.log", "/data/"])),
        (Key::Include, patterns(&[".env.local"])),
        (Key::MaxFileSize, Setting::Size(512 << 10)),
        (Key::CodeLens, Setting::Name("latestTurn")),
        (Key::Restore, Setting::Name("exact")),
        (Key::StoreDir, Setting::Dir("/w/../histories".into())),
    ] {
        assert_eq!(said.get(key), Some(&setting), "{}", key.name());
    }
    // TOML does not allow one table to be opened in two ways
    let dotted = dotted.replace("capture = {", "# capture = {");
    let (said, wrong) = read(&dotted);
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(said.get(Key::MaxFileSize), Some(&Setting::Size(512 << 10)));
    let exact = Setting::Name("exact");
    assert_eq!(said.get(Key::Restore), Some(&exact));
    let (said, _) = read(r#"capture = { include = ["x"] }"#);
    assert_eq!(said.get(Key::Include), Some(&patterns(&["x"])));
}

#[test]
fn faults_are_reported_with_their_line_and_affect_nothing_else() {
    let (said, wrong) = read(
        r#"codeLens = "off"
capture.maxFileSize = "lots"
capture.maxfilesize = 3
store = 5
[capture.exclude]
x = 1
[hold]
timeout = 3
[restore]
default = [
  "exact"
]
"#,
    );
    let keys = super::unknown();
    assert_eq!(
        wrong,
        [
            "2: `capture.maxFileSize`: \"lots\" is not a size; write a number of bytes, or a text such as \
             \"10MB\" or \"512 KiB\"",
            &format!("3: `capture.maxfilesize`: {keys}"),
            "5: `capture.exclude`: [capture.exclude] is not a list of patterns; write [\"*.log\", \"/data/\"]",
            "4: `store`: 5 is not a table of settings",
            &format!("7: `hold`: {keys}"),
            "10: `restore.default`: [ \"exact\" ] is not one of merge, exact",
        ]
    );
    assert_eq!(said.get(Key::CodeLens), Some(&Setting::Name("off")));
    assert_eq!(said.iter().count(), 1);
}

#[test]
fn a_file_that_is_not_toml_is_ignored() {
    let (said, wrong) = read("codeLens = \"off\"\n\ncapture.exclude = [\"a\"\n");
    assert!(said.is_empty());
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert!(wrong[0].contains("this is not TOML: "), "{wrong:?}");
    let (_, wrong) = read("codeLens = \"off\"\ncodeLens = \"all\"\n");
    assert!(wrong[0].starts_with("2: this is not TOML: "), "{wrong:?}");
}

#[test]
fn each_kind_of_invalid_value_has_its_message() {
    let wrong = |key: Key, value: serde_json::Value| {
        key.read(&value, &value.to_string(), None)
            .expect_err("nothing that counts")
    };
    for (key, value, said) in [
        (Key::MaxFileSize, json!(0), "0 is not a size"),
        (Key::MaxFileSize, json!(-1), "-1 is not a size"),
        (Key::MaxFileSize, json!("1 GB"), "\"1 GB\" is above 256 MiB"),
        (Key::Exclude, json!("*.log"), "\"*.log\" is not a list"),
        (Key::Exclude, json!([1]), "1 in it is not a string"),
        (Key::Include, json!(["#x"]), "begins with #"),
        (Key::Include, json!([" "]), "not empty"),
        (Key::Include, json!(["a{b"]), "not a .gitignore pattern"),
        (
            Key::CodeLens,
            json!("some"),
            "not one of all, session, latestTurn, off",
        ),
        (Key::Restore, json!(true), "true is not one of merge, exact"),
        (Key::StoreDir, json!("x/y"), "is relative"),
        (Key::StoreDir, json!(7), "7 is not a directory path"),
        (
            Key::KeepRuns,
            json!(0),
            "0 is not a number of runs from 1 to 100000",
        ),
        (
            Key::InheritEnv,
            json!("A"),
            "\"A\" is not a list of variables",
        ),
        (
            Key::InheritEnv,
            json!(["A=1"]),
            "\"A=1\" in it is not the name",
        ),
        (Key::InheritEnv, json!([""]), "\"\" in it is not the name"),
    ] {
        let wrong = wrong(key, value);
        assert!(wrong.contains(said), "{wrong}");
    }
}

/// Builds a configuration from these three sources, nearest first.
fn config(texts: [&str; 3]) -> Config {
    let names = [Some("/w/.backstitch.toml"), None, Some("/u/config.toml")];
    let mut config = Config::default();
    for (at, text) in texts.into_iter().enumerate() {
        let (said, faults) = parse(text, Path::new("/w"));
        let file = names[at].unwrap_or("/s/editor.toml");
        config.layers[at] = Layer {
            file: names[at].map(Into::into),
            said,
            faults: faults.into_iter().map(|f| (file.into(), f)).collect(),
        };
    }
    config
}

#[test]
fn the_nearest_source_wins_key_by_key() {
    let config = config([
        "\ncapture.exclude = [\"near\"]\n",
        "capture.exclude = [\"editor\"]\ncodeLens = \"off\"\n",
        "capture.include = [\"far\"]\ncodeLens = \"session\"\n",
    ]);
    let file = |path: &str, line| Source::File {
        path: path.into(),
        line,
    };
    for (key, setting, source) in [
        (
            Key::Exclude,
            Some(patterns(&["near", "editor"])),
            file("/w/.backstitch.toml", 2),
        ),
        (
            Key::Include,
            Some(patterns(&["far"])),
            file("/u/config.toml", 1),
        ),
        (Key::CodeLens, Some(Setting::Name("off")), Source::Editor),
        (
            Key::MaxFileSize,
            Some(Setting::Size(10 << 20)),
            Source::Default,
        ),
        (Key::StoreDir, None, Source::Default),
    ] {
        assert_eq!(config.get(key), (setting, source), "{}", key.name());
    }
    let mut own = SourceValues::default();
    own.set(Key::CodeLens, Setting::Name("all"));
    let config = config.with_editor(&own);
    assert_eq!(config.choice::<Lenses>(), Lenses::All);
    assert_eq!(config.get(Key::Exclude).0, Some(patterns(&["near"])));
}

#[test]
fn problems_name_the_effective_value() {
    let config = config([
        "capture.maxFileSize = \"lots\"\nstore.dir = 1\n[x]\n",
        "",
        "capture.maxFileSize = \"2 MiB\"\ncodeLens = \"none\"\n",
    ]);
    let problems = config.problems();
    let ends: Vec<(&str, &str)> = problems
        .iter()
        .map(|p| {
            let (place, rest) = p.split_once(": ").unwrap_or((p, ""));
            (place, rest.rsplit_once("; ").map_or("", |(_, end)| end))
        })
        .collect();
    assert_eq!(
        ends[..2],
        [
            ("/w/.backstitch.toml:1", "2 MiB is used"),
            (
                "/w/.backstitch.toml:2",
                "the user's state directory is used"
            ),
        ]
    );
    assert!(
        ends[2].1.starts_with("the settings are capture.exclude"),
        "{ends:?}"
    );
    assert_eq!(ends[3], ("/u/config.toml:2", "all is used"));
}

/// Nobody but the user loosens anything: for each key, each way by which another's value comes, and whatever the user's
/// own value or the default is.
#[test]
fn nobody_but_the_user_loosens_a_setting() {
    for &key in Key::ALL {
        let sample = key.samples();
        for (at, origin) in super::OTHERS {
            let line = |value: &str| format!("{} = {value}\n", key.name());
            let with = |value: &str, own: &str| {
                let mut texts = ["", "", own];
                let said = line(value);
                texts[at] = &said;
                config(texts)
            };
            for looser in sample.looser {
                let own = line(sample.own);
                let now = with(looser, &own);
                let mine = config(["", "", &own]);
                assert_eq!(now.get(key), mine.get(key), "{origin:?} {key:?} {looser}");
                let problems = now.problems();
                assert_eq!(problems.len(), 1, "{problems:?}");
                let said = format!("`{}`: {} ", key.name(), origin.subject());
                assert!(problems[0].contains(&said), "{problems:?}");
                assert!(
                    problems[0].contains("set it in your own config.toml"),
                    "{problems:?}"
                );
            }
            for heeded in sample.heeded {
                let now = with(heeded, &line(sample.own));
                assert_eq!(now.problems(), [""; 0], "{origin:?} {key:?} {heeded}");
                assert_ne!(now.get(key).1, Source::Default);
                let is_others = match now.get(key).1 {
                    Source::File { path, .. } => path.starts_with("/w"),
                    source => source == Source::Editor,
                };
                assert!(is_others, "{origin:?} {key:?} {heeded}");
            }
            // a value that the user has set already is not a loosening
            let same = with(sample.own, &line(sample.own));
            assert_eq!(same.problems(), [""; 0], "{origin:?} {key:?}");
            // the user alone may say all of it
            for value in sample.looser.iter().chain(sample.heeded) {
                let user = config(["", "", &line(value)]);
                assert_eq!(user.problems(), [""; 0], "{key:?} {value}");
                assert!(matches!(user.get(key).1, Source::File { .. }));
            }
        }
    }
}

/// The patterns of others come before the user's, which decide.
#[test]
fn excluded_patterns_of_others_precede_the_users() {
    let config = config([
        "capture.exclude = [\"workspace\"]",
        "capture.exclude = [\"editor\"]",
        "capture.exclude = [\"user\"]",
    ]);
    let all = patterns(&["workspace", "editor", "user"]);
    assert_eq!(config.get(Key::Exclude).0, Some(all));
}

/// An editor's values are written for other processes as they were said.
#[test]
fn an_editors_values_keep_their_types() {
    for &key in Key::ALL {
        let sample = key.samples();
        for value in sample.looser.iter().chain(sample.heeded) {
            let (said, _) = parse(&format!("{} = {value}", key.name()), Path::new("/w"));
            let setting = said.get(key).expect("a value");
            let written = format!("{} = {}", key.name(), super::sources::toml(setting));
            let (again, wrong) = parse(&written, Path::new("/w"));
            assert_eq!(wrong, [], "{written}");
            assert_eq!(again.get(key), Some(setting), "{written}");
        }
    }
}

/// The file of a workspace has less recorded and more kept, and nothing else.
#[test]
fn a_workspace_only_narrows() {
    for (user, said, heeded) in [
        ("", "store.dir = \"/x\"", false),
        ("", "capture.include = [\"x\"]", false),
        ("", "capture.maxFileSize = \"11 MiB\"", false),
        ("", "capture.maxFileSize = \"9 MiB\"", true),
        (
            "capture.maxFileSize = 5",
            "capture.maxFileSize = \"9 MiB\"",
            false,
        ),
        ("", "codeLens = \"off\"", true),
        ("", "restore.default = \"exact\"", false),
        (
            "restore.default = \"exact\"",
            "restore.default = \"merge\"",
            true,
        ),
        (
            "restore.default = \"exact\"",
            "restore.default = \"exact\"",
            true,
        ),
        ("", "store.keepDays = 29", false),
        ("", "store.keepDays = 31", true),
        ("", "store.maxBytes = \"4 GiB\"", false),
        ("", "store.maxBytes = \"6 GiB\"", true),
        ("", "store.maxBytes = 0", true),
        ("store.maxBytes = 0", "store.maxBytes = \"6 GiB\"", false),
        ("", "checkpoints.max = 1000000", false),
        ("checkpoints.max = 9", "checkpoints.max = 8", false),
        ("checkpoints.max = 9", "checkpoints.max = 0", true),
        ("", "checkpoints.automatic = false", true),
        (
            "checkpoints.automatic = false",
            "checkpoints.automatic = true",
            false,
        ),
    ] {
        let config = config([said, "", user]);
        let problems = config.problems();
        assert_eq!(problems.is_empty(), heeded, "{user} {said}: {problems:?}");
        let (key, _) = said.split_once(" = ").expect("a key");
        let key = Key::named(key).expect("a key");
        let (_, source) = config.get(key);
        let is_workspaces = matches!(source, Source::File { path, .. } if path.starts_with("/w"));
        assert_eq!(is_workspaces, heeded, "{user} {said}");
    }
}
