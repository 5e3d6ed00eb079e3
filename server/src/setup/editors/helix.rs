//! Helix's `languages.toml`: our server, and the languages that get it. Pure edits of text; comments, order and
//! whatever else is in it stay.

use anyhow::{Context, Result, bail};
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, Value, value};

const NAME: &str = "backstitch";

/// Each language's servers as Helix has them, since it knows no server for all languages, and a language that
/// names its servers has only those.
fn languages() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    include_str!("helix_languages.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some((words.next()?, words.collect()))
        })
}

fn defaults(language: &str) -> Option<Vec<&'static str>> {
    languages().find_map(|(name, servers)| (name == language).then_some(servers))
}

/// Names our server, and adds it to each language's.
pub fn add(text: &str, binary: &str) -> Result<String> {
    let mut document = parse(text)?;
    let servers = document.entry("language-server").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let servers = servers
        .as_table_like_mut()
        .context("`language-server` is no table")?;
    let current = servers.get(NAME).and_then(Item::as_table_like);
    let is_current = current.is_some_and(|ours| {
        let command = ours.get("command").and_then(Item::as_str);
        command == Some(binary) && ours.get("args").is_some()
    });
    if !is_current {
        let mut ours = Table::new();
        ours.insert("command", value(binary));
        ours.insert("args", value(Array::from_iter(["lsp"])));
        servers.insert(NAME, Item::Table(ours));
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
        if !all.iter().any(|entry| name(entry) == language) {
            let mut entry = Table::new();
            entry.insert("name", value(language));
            entry.insert("language-servers", value(with_ours(&servers)));
            all.push(entry);
        }
    }
    Ok(document.to_string())
}

/// Takes out what `add` put in.
pub fn remove(text: &str) -> Result<String> {
    let mut document = parse(text)?;
    if let Some(servers) = document
        .get_mut("language-server")
        .and_then(Item::as_table_like_mut)
    {
        servers.remove(NAME);
        if servers.is_empty() {
            document.remove("language-server");
        }
    }
    if document.contains_key("language") {
        let all = entries(&mut document)?;
        for entry in all.iter_mut() {
            let name = name(entry).to_owned();
            let Some(servers) = entry.get_mut("language-servers") else {
                continue;
            };
            let servers = list(servers, &name)?;
            if !servers.iter().any(is_ours) {
                continue;
            }
            servers.retain(|server| !is_ours(server));
            let left: Vec<&str> = servers.iter().filter_map(Value::as_str).collect();
            if defaults(&name).is_some_and(|servers| servers == left) {
                entry.remove("language-servers");
            }
        }
        all.retain(|entry| entry.len() > 1 || name(entry).is_empty());
        if all.is_empty() {
            document.remove("language");
        }
    }
    Ok(document.to_string())
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
            "`language` is not written as [[language]] tables; `--print` shows what to add, in an empty directory"
        ),
    }
}

fn name(entry: &Table) -> &str {
    entry.get("name").and_then(Item::as_str).unwrap_or_default()
}

fn list<'a>(servers: &'a mut Item, language: &str) -> Result<&'a mut Array> {
    servers
        .as_array_mut()
        .with_context(|| format!("`language-servers` of {language} is no array"))
}

/// A server may be a name, or a table with one and what it is for.
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
        let text = add(MINE, "/bin/backstitch").unwrap();
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
        assert_eq!(add(&text, "/bin/backstitch").unwrap(), text);
        let moved = add(&text, "/opt/backstitch").unwrap();
        assert_eq!(moved, text.replace("/bin/backstitch", "/opt/backstitch"));
    }

    #[test]
    fn out_again_leaves_what_was_there() {
        let text = add(MINE, "/bin/backstitch").unwrap();
        assert_eq!(remove(&text).unwrap().trim(), MINE.trim());
        assert_eq!(remove(&add("", "/b").unwrap()).unwrap().trim(), "");
        assert_eq!(remove(MINE).unwrap(), MINE);
    }

    #[test]
    fn what_cannot_be_edited_is_named() {
        for odd in [
            "language = [{ name = \"rust\" }]",
            "[broken",
            "language-server = 1",
        ] {
            assert!(add(odd, "/b").is_err(), "{odd}");
        }
    }
}
