//! The timeline as lines of text, for tests to compare.
//!
//! One line per checkpoint, oldest first: `"start"`, `t1: the prompt`, `t1 Edit: modify a.txt`, `you: create b.txt`,
//! `rewind c3: modify a.txt`. An uncertain change ends in ` ?`, one of a step group in ` &`.

use backstitch_core::{Engine, Locate, Workspace};
use serde_json::Value;

use super::World;

/// One checkpoint.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    pub line: String,
    pub id: String,
    /// The checkpoint in `log --json`.
    pub json: Value,
}

impl World {
    /// All checkpoints, oldest first.
    #[track_caller]
    pub fn checkpoints(&self) -> Vec<Checkpoint> {
        let log = self.json(["log", "--all"]);
        let newest_first = log["checkpoints"].as_array().expect("checkpoints");
        newest_first.iter().rev().map(Checkpoint::of).collect()
    }

    /// Lines of all checkpoints, oldest first.
    #[track_caller]
    pub fn history(&self) -> Vec<String> {
        self.checkpoints().into_iter().map(|c| c.line).collect()
    }

    /// Lines of the checkpoints after the start.
    #[track_caller]
    pub fn since_start(&self) -> Vec<String> {
        let mut lines = self.history();
        assert_eq!(
            lines.first().map(String::as_str),
            Some("\"start\""),
            "{lines:#?}"
        );
        lines.remove(0);
        lines
    }

    /// Makes checkpoints with the labels `round 1`, `round 2` and so on, without a process for each.
    pub fn checkpoints_by_hand(&self, count: usize) {
        let stores = self.state.join("backstitch/workspaces");
        let workspace = Workspace::find(&Locate {
            workspace: Some(&self.root),
            store_dir: Some(&stores),
            cwd: &self.root,
        });
        let mut engine = Engine::open(&workspace.expect("a workspace")).expect("opens");
        for number in 1..=count {
            let label = format!("round {number}");
            engine
                .capture_mut()
                .checkpoint(Some(&label))
                .expect("recorded");
        }
    }

    /// The one checkpoint with this line.
    #[track_caller]
    pub fn checkpoint(&self, line: &str) -> Checkpoint {
        let all = self.checkpoints();
        let lines: Vec<_> = all.iter().map(|c| c.line.clone()).collect();
        let mut found = all.into_iter().filter(|c| c.line == line);
        match (found.next(), found.next()) {
            (Some(one), None) => one,
            _ => panic!("not exactly one {line:?} in {lines:#?}"),
        }
    }

    /// Id of the one checkpoint with this line.
    #[track_caller]
    pub fn id(&self, line: &str) -> String {
        self.checkpoint(line).id
    }

    /// Text of a file at a checkpoint; None where it did not exist.
    #[track_caller]
    pub fn at(&self, rev: &str, path: &str) -> Option<String> {
        let output = self.run(["cat", rev, path]);
        match output.code {
            3 => None,
            _ => Some(output.expect_code(0).stdout),
        }
    }

    /// Plan of a restore, from `--dry-run --json`.
    #[track_caller]
    pub fn plan<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Value {
        self.json(args.into_iter().chain(["--dry-run"]))
    }
}

/// `kind path` of each gap of a plan.
pub fn gaps(plan: &Value) -> Vec<String> {
    let gaps = plan["gaps"].as_array().expect("gaps").iter();
    let gap = |g: &Value| format!("{} {}", word(&g["kind"]), path(&g["path"]));
    gaps.map(|g| gap(g).trim_end().to_owned()).collect()
}

/// `action path` of each action of a plan.
pub fn actions(plan: &Value) -> Vec<String> {
    let actions = plan["actions"].as_array().expect("actions").iter();
    actions
        .map(|a| format!("{} {}", word(&a["action"]), path(&a["path"])))
        .collect()
}

/// Paths in conflict.
pub fn conflicts(plan: &Value) -> Vec<String> {
    let conflicts = plan["conflicts"].as_array().expect("conflicts").iter();
    conflicts.map(|c| path(&c["path"])).collect()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A path as text; one that is not UTF-8 as its base64.
pub fn path(value: &Value) -> String {
    value["bytes"]
        .as_str()
        .map_or_else(|| word(value).to_owned(), |b64| format!("base64:{b64}"))
}

impl Checkpoint {
    fn of(json: &Value) -> Self {
        let text = |name: &str| word(&json[name]).to_owned();
        let head = match word(&json["kind"]) {
            "turn" => format!("{}: {}", text("turn"), text("prompt")),
            "step" if json["subagent"].is_string() => {
                format!("{} {} by a subagent", text("turn"), text("tool"))
            }
            "step" => format!("{} {}", text("turn"), text("tool")),
            "external" if json["label"].is_string() => format!("you ({})", text("label")),
            "external" => "you".to_owned(),
            "rewind" => {
                let operation = &json["operation"];
                format!(
                    "{} {}",
                    word(&operation["kind"]),
                    word(&operation["target"])
                )
            }
            "manual" => format!("{:?}", text("label")),
            other => other.to_owned(),
        };
        let changes = json["changes"].as_array().expect("changes");
        let changes: Vec<_> = changes.iter().map(change).collect();
        let line = if changes.is_empty() {
            head.trim().to_owned()
        } else {
            format!("{head}: {}", changes.join(", "))
        };
        Self {
            line,
            id: text("id"),
            json: json.clone(),
        }
    }

    /// `reason path` of everything that this checkpoint did not capture.
    pub fn not_captured(&self) -> Vec<String> {
        let items = self.json["coverage"]["items"].as_array().expect("items");
        let item = |i: &Value| format!("{} {}", word(&i["reason"]), path(&i["path"]));
        items.iter().map(item).collect()
    }
}

fn change(change: &Value) -> String {
    let kind = word(&change["kind"]);
    let path_now = path(&change["path"]);
    let place = if change["from"].is_null() {
        path_now
    } else {
        format!("{} -> {path_now}", path(&change["from"]))
    };
    let sure = match (
        word(&change["origin"]["session_certainty"]),
        word(&change["origin"]["step_certainty"]),
    ) {
        ("uncertain", _) => " ?",
        (_, "uncertain") => " (which step?)",
        (_, "group") => " &",
        _ => "",
    };
    format!("{kind} {place}{sure}")
}
