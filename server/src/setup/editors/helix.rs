//! Helix's `languages.toml`: our server, the languages that use it, and the debug adapter of CI jobs. Pure edits of text;
//! comments, order and other settings stay.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use toml_edit::{
    Array, ArrayOfTables, Decor, DocumentMut, InlineTable, Item, RawString, Table, TableLike,
    Value, value,
};

const NAME: &str = "backstitch";

/// The name of the debug adapter.
const ADAPTER: &str = "backstitch-job";
/// Languages of workflows. Newer versions of Helix have a separate one, with these servers.
const WORKFLOWS: [&str; 2] = ["yaml", NEWER];
pub const NEWER: &str = "github-action";
const NEWER_SERVERS: &str = "github-action actions-language-server yaml-language-server zizmor";

/// Returns Helix's default servers of each language. Helix has no server for all languages, and a language that
/// lists its servers has only those.
fn languages() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    include_str!("helix_languages.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .chain([NEWER_SERVERS])
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some((words.next()?, words.collect()))
        })
}

fn defaults(language: &str) -> Option<Vec<&'static str>> {
    languages().find_map(|(name, servers)| (name == language).then_some(servers))
}

/// Adds our server to the file and to each language. `has_newer`: this Helix has the newer language of workflows. An entry for one
/// that it does not have would be an error.
pub fn add(text: &str, binary: &str, has_newer: bool) -> Result<String> {
    let mut document = parse(text)?;
    let servers = document.entry("language-server").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let servers = servers
        .as_table_like_mut()
        .context("`language-server` is not a table")?;
    let current = servers.get(NAME).and_then(Item::as_table_like);
    let is_current = current.is_some_and(|ours| {
        let command = ours.get("command").and_then(Item::as_str);
        command == Some(binary) && ours.get("args").is_some()
    });
    if !is_current {
        let ours = servers
            .entry(NAME)
            .or_insert_with(|| Item::Table(Table::new()));
        let ours = ours
            .as_table_like_mut()
            .context("`language-server.backstitch` is not a table")?;
        ours.insert("command", value(binary));
        if !ours.contains_key("args") {
            ours.insert("args", value(Array::from_iter(["lsp"])));
        }
    }
    let all = entries(&mut document)?;
    for entry in all.iter_mut() {
        let name = name(entry).to_owned();
        match entry.get_mut("language-servers") {
            Some(servers) => {
                let servers = list(servers, &name)?;
                if !servers.iter().any(is_ours) {
                    servers.push(NAME);
                }
            }
            None => {
                if let Some(servers) = defaults(&name) {
                    entry.insert("language-servers", value(with_ours(&servers)));
                }
            }
        }
    }
    for (language, servers) in languages() {
        if language == NEWER && !has_newer {
            continue;
        }
        if !all.iter().any(|entry| name(entry) == language) {
            let mut entry = Table::new();
            entry.insert("name", value(language));
            entry.insert("language-servers", value(with_ours(&servers)));
            all.push(entry);
        }
    }
    for entry in all.iter_mut() {
        if WORKFLOWS.contains(&name(entry)) {
            add_adapter(entry, binary);
        }
    }
    Ok(document.to_string())
}

/// Adds the debug adapter of CI jobs to a language, unless the user has another one there.
fn add_adapter(entry: &mut Table, binary: &str) {
    if let Some(there) = entry.get_mut("debugger") {
        if let Some(ours) = there.as_table_like_mut()
            && is_adapter(ours)
            && ours.get("command").and_then(Item::as_str) != Some(binary)
        {
            ours.insert("command", value(binary));
        }
        return;
    }
    let template = |name: &str, request: &str, completion: Array, args: InlineTable| {
        let mut template = Table::new();
        template.insert("name", value(name));
        template.insert("request", value(request));
        if !completion.is_empty() {
            template.insert("completion", value(completion));
        }
        template.insert("args", value(args));
        template
    };
    let workflow = InlineTable::from_iter([
        ("name", "workflow"),
        ("completion", "filename"),
        ("default", ".github/workflows/ci.yml"),
    ]);
    let asked = [Value::from(workflow), Value::from("job")];
    let launch = template(
        "CI job",
        "launch",
        Array::from_iter(asked),
        InlineTable::from_iter([("workflow", "{0}"), ("job", "{1}")]),
    );
    let attach = template(
        "continue a CI job",
        "attach",
        Array::new(),
        InlineTable::from_iter([("run", "last")]),
    );
    let mut adapter = Table::new();
    adapter.insert("name", value(ADAPTER));
    adapter.insert("transport", value("stdio"));
    adapter.insert("command", value(binary));
    adapter.insert("args", value(Array::from_iter(["dap"])));
    let templates = ArrayOfTables::from_iter([launch, attach]);
    adapter.insert("templates", Item::ArrayOfTables(templates));
    entry.insert("debugger", Item::Table(adapter));
}

fn is_adapter(debugger: &dyn TableLike) -> bool {
    debugger.get("name").and_then(Item::as_str) == Some(ADAPTER)
}

/// Removes our debug adapter from a language. Returns true if it was there.
fn remove_adapter(entry: &mut Table, before: Option<&Table>) -> bool {
    let is_ours = |entry: &Table| {
        let debugger = entry.get("debugger").and_then(Item::as_table_like);
        debugger.is_some_and(is_adapter)
    };
    let removes = is_ours(entry) && !before.is_some_and(is_ours);
    if removes {
        entry.remove("debugger");
    }
    removes
}

/// True if the file has our server, even if the user added it.
pub fn is_installed(text: &str) -> bool {
    parse(text).is_ok_and(|document| {
        let server = document
            .get("language-server")
            .and_then(|all| all.get(NAME));
        server.is_some() || read_entries(&document).any(names_ours)
    })
}

/// Removes only the entries that `add` added. Entries of `original`, the text before `add`, stay.
pub fn remove(text: &str, original: &str) -> Result<String> {
    let mut document = parse(text)?;
    let original = parse(original).unwrap_or_default();
    remove_server(&mut document, &original);
    let Some(all) = document.get_mut("language") else {
        return Ok(document.to_string());
    };
    let Some(all) = all.as_array_of_tables_mut() else {
        return Ok(document.to_string());
    };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut added = Vec::new();
    for entry in all.iter_mut() {
        let name = name(entry).to_owned();
        let nth = counts.entry(name.clone()).or_default();
        let mut before = read_entries(&original).filter(|entry| self::name(entry) == name);
        let before = before.nth(*nth);
        *nth += 1;
        let had_adapter = remove_adapter(entry, before);
        let changed = remove_from_entry(entry, before, &name) || had_adapter;
        added.push(changed && before.is_none() && entry.len() == 1 && !is_commented(entry));
    }
    let mut added = added.into_iter();
    all.retain(|_| !added.next().unwrap_or_default());
    if all.is_empty() && !original.contains_key("language") {
        document.remove("language");
    }
    Ok(document.to_string())
}

fn remove_server(document: &mut DocumentMut, original: &DocumentMut) {
    let Some(servers) = document.get_mut("language-server") else {
        return;
    };
    let Some(servers) = servers.as_table_like_mut() else {
        return;
    };
    let before = original
        .get("language-server")
        .and_then(|all| all.get(NAME));
    match (
        servers.get_mut(NAME).and_then(Item::as_table_like_mut),
        before,
    ) {
        (Some(ours), Some(before)) => {
            for key in ["command", "args"] {
                match before.get(key) {
                    Some(before) => ours.insert(key, before.clone()),
                    None => ours.remove(key),
                };
            }
        }
        _ => {
            servers.remove(NAME);
        }
    }
    if servers.is_empty() && !original.contains_key("language-server") {
        document.remove("language-server");
    }
}

/// Removes our server from a language, and the list too if only Helix's defaults are left. Returns true if the entry
/// had our server.
fn remove_from_entry(entry: &mut Table, before: Option<&Table>, name: &str) -> bool {
    if !names_ours(entry) || before.is_some_and(names_ours) {
        return false;
    }
    let Some(servers) = entry
        .get_mut("language-servers")
        .and_then(Item::as_array_mut)
    else {
        return false;
    };
    servers.retain(|server| !is_ours(server));
    let left: Option<Vec<&str>> = servers.iter().map(Value::as_str).collect();
    let is_default = left.is_some() && left == defaults(name);
    let was_there = before.is_some_and(|entry| entry.contains_key("language-servers"));
    let commented = entry.get_key_value("language-servers");
    let commented = commented.is_some_and(|(key, item)| {
        let value = item.as_value().map(Value::decor);
        has_comment(Some(key.leaf_decor())) || has_comment(value)
    });
    if is_default && !was_there && !commented {
        entry.remove("language-servers");
    }
    true
}

fn has_comment(decor: Option<&Decor>) -> bool {
    decor.is_some_and(|decor| {
        let parts = [decor.prefix(), decor.suffix()].into_iter().flatten();
        parts
            .filter_map(RawString::as_str)
            .any(|part| part.contains('#'))
    })
}

fn is_commented(entry: &Table) -> bool {
    has_comment(Some(entry.decor()))
        || entry.get_key_value("name").is_some_and(|(key, item)| {
            has_comment(Some(key.leaf_decor())) || has_comment(item.as_value().map(Value::decor))
        })
}

fn read_entries(document: &DocumentMut) -> impl Iterator<Item = &Table> {
    let all = document.get("language").and_then(Item::as_array_of_tables);
    all.into_iter().flatten()
}

fn names_ours(entry: &Table) -> bool {
    let servers = entry.get("language-servers").and_then(Item::as_array);
    servers.is_some_and(|servers| servers.iter().any(is_ours))
}

fn parse(text: &str) -> Result<DocumentMut> {
    text.parse().context("it is not valid TOML")
}

fn entries(document: &mut DocumentMut) -> Result<&mut ArrayOfTables> {
    let all = document
        .entry("language")
        .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    match all.as_array_of_tables_mut() {
        Some(all) => Ok(all),
        None => bail!(
            "`language` is not written as [[language]] tables; `--print` in an empty directory shows what to add"
        ),
    }
}

fn name(entry: &Table) -> &str {
    entry.get("name").and_then(Item::as_str).unwrap_or_default()
}

fn list<'a>(servers: &'a mut Item, language: &str) -> Result<&'a mut Array> {
    servers
        .as_array_mut()
        .with_context(|| format!("`language-servers` of {language} is not an array"))
}

/// True if a server is ours. A server is a name, or a table with a name and its features.
fn is_ours(server: &Value) -> bool {
    let named = server.as_inline_table().and_then(|table| table.get("name"));
    named.unwrap_or(server).as_str() == Some(NAME)
}

fn with_ours(servers: &[&str]) -> Array {
    servers.iter().copied().chain([NAME]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINE: &str = "# mine\n[[language]]\nname = \"rust\" # best\nauto-format = true\n\n[[language]]\nname = \"python\"\nlanguage-servers = [{ name = \"ruff\", only-features = [\"format\"] }]\n\n[language-server.rust-analyzer.config]\ncheck.command = \"clippy\"\n";

    #[test]
    fn each_language_keeps_its_servers() {
        let text = add(MINE, "/bin/backstitch", true).unwrap();
        let document: DocumentMut = text.parse().unwrap();
        let ours = &document["language-server"]["backstitch"];
        assert_eq!(ours["command"].as_str(), Some("/bin/backstitch"));
        assert_eq!(
            document["language"].as_array_of_tables().unwrap().len(),
            languages().count()
        );
        for shown in [
            "# mine\n",
            "name = \"rust\" # best\nauto-format = true\nlanguage-servers = [\"rust-analyzer\", \"backstitch\"]\n",
            "[{ name = \"ruff\", only-features = [\"format\"] }, \"backstitch\"]",
            "name = \"go\"\nlanguage-servers = [\"gopls\", \"golangci-lint-lsp\", \"backstitch\"]\n",
        ] {
            assert!(text.contains(shown), "{shown} in {text}");
        }
        assert_eq!(add(&text, "/bin/backstitch", true).unwrap(), text);
        let moved = add(&text, "/opt/backstitch", true).unwrap();
        assert_eq!(moved, text.replace("/bin/backstitch", "/opt/backstitch"));
    }

    /// Workflows get the debug adapter of CI jobs, unless the user has another one there.
    #[test]
    fn workflows_get_a_debug_adapter() {
        let text = add("", "/bin/backstitch", true).unwrap();
        let yaml = text.split("name = \"yaml\"").nth(1).unwrap();
        let shown = "[language.debugger]\nname = \"backstitch-job\"\ntransport = \"stdio\"\n\
                     command = \"/bin/backstitch\"\nargs = [\"dap\"]\n\n\
                     [[language.debugger.templates]]\nname = \"CI job\"\nrequest = \"launch\"\n";
        assert!(yaml.contains(shown), "{yaml}");
        assert_eq!(text.matches("\"backstitch-job\"").count(), 2);
        let older = add("", "/bin/backstitch", false).unwrap();
        assert_eq!(older.matches("\"backstitch-job\"").count(), 1);
        assert!(!older.contains("github-action"), "{older}");
        let mine = "[[language]]\nname = \"yaml\"\n\n[language.debugger]\nname = \"mine\"\n";
        let text = add(mine, "/bin/backstitch", false).unwrap();
        assert!(
            !text.contains("backstitch-job") && text.contains("\"mine\""),
            "{text}"
        );
    }

    #[test]
    fn removal_leaves_the_original() {
        let out = |text: &str| remove(&add(text, "/bin/backstitch", true).unwrap(), text).unwrap();
        assert_eq!(out(MINE), MINE);
        assert_eq!(out("").trim(), "");
        assert_eq!(remove(MINE, "").unwrap(), MINE);
        for own in [
            "[[language]]\nname = \"rust\"\n# why\nlanguage-servers = [\"rust-analyzer\", { name = \"efm\" }]\n",
            "[[language]]\nname = \"rust\"\nlanguage-servers = [\"rust-analyzer\"] # mine\n",
            "[[language]]\nname = \"rust\"\n",
        ] {
            assert_eq!(out(own), own);
        }
    }

    /// Removal also keeps changes that were made after the setup.
    #[test]
    fn removal_leaves_later_changes() {
        let text = add("", "/bin/backstitch", true).unwrap();
        let later = text.replace(
            "[\"gopls\", \"golangci-lint-lsp\", \"backstitch\"]",
            "[\"gopls\", { name = \"efm\" }, \"backstitch\"]",
        );
        let left = remove(&later, "").unwrap();
        let own =
            "[[language]]\nname = \"go\"\nlanguage-servers = [\"gopls\", { name = \"efm\" }]\n";
        assert_eq!(left.trim(), own.trim());
    }

    mod generated {
        use proptest::prelude::*;

        use super::*;

        fn server() -> impl Strategy<Value = String> {
            prop_oneof![
                Just("\"rust-analyzer\"".to_owned()),
                Just("\"gopls\"".to_owned()),
                Just("\"golangci-lint-lsp\"".to_owned()),
                Just("\"backstitch\"".to_owned()),
                Just("{ name = \"efm\", only-features = [\"format\"] }".to_owned()),
                Just("{name=\"backstitch\"}".to_owned()),
            ]
        }

        fn list() -> impl Strategy<Value = String> {
            let space = prop_oneof![Just(", "), Just(","), Just(",\n  "), Just(", # why\n  ")];
            let end = prop_oneof![Just(""), Just(",\n"), Just(" ")];
            let servers = proptest::collection::vec(server(), 0..4);
            (servers, space, end).prop_map(|(servers, space, end)| {
                let end = if servers.is_empty() { "" } else { end };
                format!("language-servers = [{}{end}]", servers.join(space))
            })
        }

        fn entry() -> impl Strategy<Value = String> {
            let name = prop_oneof![Just("rust"), Just("go"), Just("yaml"), Just("unheard-of")];
            let comment = prop_oneof![Just(""), Just("# a comment\n"), Just("\n")];
            let line = prop_oneof![Just(""), Just("auto-format=true # always\n")];
            let list = proptest::option::of(list());
            (comment.clone(), name, comment, list, line).prop_map(
                |(above, name, between, list, line)| {
                    let list = list.map_or_else(String::new, |list| format!("{list} # mine\n"));
                    format!("{above}[[language]]\nname=\"{name}\"\n{between}{list}{line}")
                },
            )
        }

        fn config() -> impl Strategy<Value = String> {
            let entries = proptest::collection::vec(entry(), 0..4);
            let other = prop_oneof![
                Just(""),
                Just("[language-server.backstitch] # own\ncommand=\"mine\"\n"),
                Just("[language-server.rust-analyzer.config]\ncheck.command=\"clippy\"\n"),
                Just("language-server = { efm = { command = \"efm\" } }\n"),
            ];
            let end = prop_oneof![Just(""), Just("# the end"), Just("\n\n")];
            (entries, other, end).prop_map(|(entries, other, end)| {
                let entries = entries.concat();
                if other.starts_with("language-server =") {
                    format!("{other}{entries}{end}")
                } else {
                    format!("{entries}{other}{end}")
                }
            })
        }

        proptest! {
            /// White space is ignored, because the backup has it.
            #[test]
            fn removal_undoes_the_setup(config in config()) {
                let bare = |text: &str| text.split_whitespace().collect::<String>();
                let there = add(&config, "/bin/backstitch", true).unwrap();
                prop_assert_eq!(&add(&there, "/bin/backstitch", true).unwrap(), &there);
                let left = remove(&there, &config).unwrap();
                prop_assert_eq!(bare(&left), bare(&config), "{}", left);
            }
        }
    }

    #[test]
    fn uneditable_files_are_errors() {
        for odd in [
            "language = [{ name = \"rust\" }]",
            "[broken",
            "language-server = 1",
        ] {
            assert!(add(odd, "/b", true).is_err(), "{odd}");
        }
    }
}
