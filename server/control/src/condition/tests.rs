use std::time::Instant;

use proptest::prelude::*;
use serde_json::json;

use super::*;

mod against_jaq;

fn input() -> ConditionInput {
    ConditionInput {
        tool: "Edit".to_owned(),
        input: json!({"file_path": "src/auth.rs", "edits": [{"new": "a \"b\""}, {"new": "c"}], "n": 3}),
        at: CallMoment::Before,
        agent: "claude-code".to_owned(),
        session: "0123".to_owned(),
        subagent: None,
        turn: ConditionTurn {
            number: Some(4),
            prompt: Some("Fix the login".to_owned()),
            calls: 7,
            files: 2,
            seconds: 90,
        },
        iteration: 12,
        cwd: "/work".to_owned(),
        paths: vec!["src/auth.rs".to_owned()],
        predicted: vec![ConditionChange {
            path: "src/auth.rs".to_owned(),
            added: 3,
            removed: 1,
        }],
        error: None,
    }
}

/// Compiles a condition with time enough for a busy machine.
fn patient(jq: &str) -> Result<Condition, String> {
    let time = Duration::from_secs(20);
    Condition::compile(jq).map(|condition| Condition { time, ..condition })
}

fn holds(jq: &str) -> Result<bool, String> {
    patient(jq)?.holds(&input())
}

#[test]
fn conditions_see_the_call() {
    for jq in [
        r#".tool == "Edit""#,
        r#".input.file_path | test("auth")"#,
        r#"any(.input.edits[]; .new | contains("\"b\""))"#,
        ".input.n > 2 and .turn.calls >= 7",
        r#".at == "before" and .agent == "claude-code" and .session == "0123""#,
        ".subagent == null and .error == null",
        r#".turn == {number: 4, prompt: "Fix the login", calls: 7, files: 2, seconds: 90}"#,
        r#".iteration == 12 and .cwd == "/work" and .paths == ["src/auth.rs"]"#,
        "[.predicted[] | .added + .removed] | add == 4",
        r#".predicted[0].path | startswith("src/")"#,
    ] {
        assert_eq!(holds(jq), Ok(true), "{jq}");
    }
    let all = serde_json::to_value(input()).expect("JSON");
    let names: Vec<&String> = all.as_object().expect("an object").keys().collect();
    assert_eq!(
        names,
        [
            "tool",
            "input",
            "at",
            "agent",
            "session",
            "subagent",
            "turn",
            "iteration",
            "cwd",
            "paths",
            "predicted",
            "error",
        ]
    );
}

/// A text that names no function means the same without the definitions of all functions.
#[test]
fn conditions_without_functions_are_compiled_alone() {
    let texts = [
        ".turn.calls < -3",
        ".iteration == 12 and .turn.files >= 2",
        ".input.n * 2 - 1 | . > 4 or .input.edits[1].new",
        ".paths[0], .paths[-1], .paths[:1], .[]?",
        ".input.edits[] | .new",
        "..",
        ".missing // .turn.number",
        ".turn | . as {$calls, $files} | $calls + $files",
    ];
    let document = Val::from(&document(&input()).expect("JSON"));
    let outputs = |filter: &Filter<Metered>| -> Vec<String> {
        let context = Ctx::<Metered>::new(Terms(&filter.lut), Vars::new([]));
        let all = filter.id.run((context, document.clone()));
        all.map(|output| output.map_or_else(reason, |value| value.to_string()))
            .collect()
    };
    let mut alone = 0;
    for text in texts {
        assert!(!may_name_functions(text), "{text}");
        let whole = compile_with(text, functions::definitions()).expect(text);
        if let Ok(filter) = compile_with(text, Vec::new()) {
            alone += 1;
            assert_eq!(outputs(&filter), outputs(&whole), "{text}");
        }
    }
    assert!(alone >= 6, "{alone}");
    for text in [
        ".tool | length",
        "not",
        "[.paths[] | test(\"a\")]",
        "\"\\(.a | keys)\"",
        "@json",
        "true",
    ] {
        assert!(may_name_functions(text), "{text}");
    }
}

#[test]
fn the_first_output_decides() {
    assert_eq!(holds("false, true"), Ok(false));
    assert_eq!(holds("true, error"), Ok(true));
    assert_eq!(holds("null"), Ok(false));
    assert_eq!(holds("empty"), Ok(false));
    assert_eq!(holds("0"), Ok(true), "as in jq");
    assert_eq!(holds(".input.nothing?"), Ok(false));
}

#[test]
fn mistakes_are_refused_with_their_place() {
    let mistake = |jq: &str| Condition::compile(jq).expect_err("a mistake");
    assert_eq!(
        mistake("\"näh\" | (1"),
        "the jq `\"näh\" | (1` has a mistake at character 11: expected the end of `(`"
    );
    assert_eq!(
        mistake(".a | "),
        "the jq `.a | ` has a mistake at character 6: expected term, found its end"
    );
    assert_eq!(
        mistake("1 + * 2"),
        "the jq `1 + * 2` has a mistake at character 5: expected term, found `*`"
    );
    assert_eq!(
        mistake(".tool | tets(\"x\")"),
        "the jq `.tool | tets(\"x\")` has a mistake at character 9: there is no function `tets` with 1 parameters"
    );
    assert_eq!(
        mistake("$x"),
        "the jq `$x` has a mistake at character 1: there is no variable `$x`"
    );
    assert_eq!(
        mistake(&"[".repeat(5000)),
        "the jq is longer than 4096 bytes"
    );
    assert!(mistake("").contains("expected term"));
    assert!(mistake("\"open").contains("the end of `\"`"));
}

/// Neither the environment nor files nor further input nor the end of the process are reachable.
#[test]
fn nothing_outside_is_reachable() {
    for jq in [
        "env",
        "env.PATH",
        "$ENV",
        "$ENV.PATH",
        "input",
        "inputs",
        "[inputs]",
        "input_filename",
        "input_line_number",
        "halt",
        "halt_error",
        "halt_error(3)",
        "halt(0)",
        "debug",
        "stderr",
        "$__loc__",
        "$__prog_args",
        "get_search_list",
        "import \"a\" as a; 1",
        "include \"a\"; 1",
        "import \"/etc/passwd\" as $a; $a",
        "modulemeta",
        "ltrimstr(env)",
        "@base64",
    ] {
        let refused = Condition::compile(jq).err();
        assert!(refused.is_some(), "{jq}");
        assert!(!refused.unwrap_or_default().contains("PATH="), "{jq}");
    }
}

#[test]
fn errors_are_told_in_short() {
    let error = |jq: &str| holds(jq).expect_err("an error");
    assert_eq!(error(".tool + 1"), "cannot calculate \"Edit\" + 1");
    assert_eq!(
        error(".paths.x"),
        "cannot index [\"src/auth.rs\"] with \"x\""
    );
    assert_eq!(error("error(\"mine\")"), "mine");
    assert!(error(".tool | test(\"(\")").contains("unclosed group"));
    assert!(error(".tool | test(\"a(?=b)\")").contains("look-around"));
    let long = error(r#"("x" * 100000) + 1"#);
    assert!(long.chars().count() < 250, "{long}");
}

/// Each of these would run for ever, need all memory or end the process by a stack overflow.
#[test]
fn every_evaluation_ends() {
    let endless = [
        "def f: f; f",
        "def f: 1 + f; f",
        "def f: f | f; f",
        "def f: [f]; f",
        "def f(g): f(g | .); f(.)",
        "def f(g): f(g | . + 1) | g; f(.)",
        "def f($a): f($a + 1); f(0)",
        "def f: def g: f; g; f",
        "[range(1e9)]",
        "[range(infinite)] | length",
        "[range(0; 1; 0)]",
        "last(range(1e18))",
        "[limit(1e9; repeat(1))]",
        "last(repeat(1))",
        "repeat(empty)",
        "until(false; .)",
        "last(while(true; . + {}))",
        "[recurse(.)] | length",
        "last(recurse([.]))",
        "reduce range(1e9) as $i (0; . + 1)",
        "reduce repeat(1) as $i ([]; . + [$i])",
        "reduce range(1e6) as $i (0; [.])",
        "reduce range(1e6) as $i (0; {a: .}) | tojson",
        "reduce range(100) as $i ([0]; [., .]) | tojson",
        "reduce range(100) as $i ([0]; [., .]) | [..] | length",
        "reduce range(100) as $i ([0]; [., .]) | . == .",
        "reduce range(100) as $i ([0]; . + .) | length",
        "reduce range(100) as $i (\"ab\"; . + .) | length",
        "reduce range(1e6) as $i ({}; . + {\"\\($i)\": .})",
        "\"x\" * 1e18",
        "\"x\" * 1000000000000",
        "[range(3000000)] | map(\"\\(.)\") | join(\",\")",
        "[range(100000)] | [.[] as $x | .[] as $y | $x * $y] | sort",
        "[range(100000)] | combinations",
        "[range(10) | [range(10)]] | [combinations(20)]",
        "[range(200000)] | map([., range(20)]) | sort_by(.[5]) | group_by(.[1])",
        "last(path(repeat(.a?)))",
        "def f: .a | f; path(f)",
        "def f: .a | f; f |= 1",
        "def f: .a | f; f = 1",
        ".. |= [., .] | .. |= [., .] | .. |= [., .] | .. |= [., .] | .. |= [., .] | .. |= [., .]",
        "last(label $out | foreach repeat(1) as $i (0; . + 1; if . < 0 then ., break $out else empty end))",
        "[splits(\"\")] | length | . / 0 | [range(.)]",
        "(\"a\" * 1000000) | [match(\"\"; \"g\")] | [.[] | tojson] | add | [match(\"a|\"; \"g\")]",
        "(\"a\" * 1000000) | explode | [., ., ., ., .] | flatten | implode | explode | [., ., ., .] | tojson",
        "(\"a\" * 60000000) | ascii_downcase | ascii_upcase | [.[0:], .[1:], .[2:], .[3:]]",
        "(\"ab\" * 100000) | gsub(\"a\"; \"x\" * 100000)",
        "(\"[\" * 100000) | fromjson",
        "try (def f: f; f) catch 1",
        "(def f: 1 + f; f)? // 1",
    ];
    for jq in endless {
        let started = Instant::now();
        let condition = Condition::compile(jq).unwrap_or_else(|mistake| panic!("{mistake}"));
        condition.holds_any(&input()).expect_err(jq);
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "{jq}: {:?}",
            started.elapsed()
        );
    }
    await_threads();
}

/// Chains as long as the number of steps allows are released without a stack overflow, whatever the time.
#[test]
fn the_longest_chains_are_released() {
    for jq in [
        "def f(g): f(g | .); f(.)",
        "def f(g): f(g | . + 1) | g; f(.)",
        "def f: .a | f; path(f)",
        "def f: 1 + f; f",
    ] {
        let condition = patient(jq).unwrap_or_else(|mistake| panic!("{mistake}"));
        let reason = condition.holds_any(&input()).expect_err(jq);
        let limits = [
            "it took more than 500000 steps",
            "its values or calls are nested too deeply",
        ];
        assert!(limits.contains(&reason.as_str()), "{jq}: {reason}");
    }
}

/// Waits until no evaluation is left at work: one that is given up ends by itself.
fn await_threads() {
    let is_at_work = || {
        let tasks = std::fs::read_dir("/proc/self/task")
            .into_iter()
            .flatten()
            .flatten();
        let mut names = tasks.flat_map(|task| std::fs::read_to_string(task.path().join("comm")));
        names.any(|name| name.trim() == "jq")
    };
    let started = Instant::now();
    while is_at_work() {
        assert!(
            started.elapsed() < Duration::from_mins(1),
            "an evaluation goes on"
        );
        std::thread::yield_now();
    }
}

impl Condition {
    /// Evaluates all outputs, so that no later one hides behind the first.
    fn holds_any(&self, input: &ConditionInput) -> Result<(), String> {
        let filter = self.filter.clone();
        let input = document(input)?;
        limits::limited(self.time, move || {
            let context = Ctx::<Metered>::new(Terms(&filter.lut), Vars::new([]));
            for output in filter.id.run((context, Val::from(&input))) {
                output.map_err(reason)?;
            }
            Ok(())
        })
    }
}

/// The limit that people feel: an endless condition is given up after 100 ms.
#[test]
fn an_endless_condition_is_given_up() {
    let condition = Condition::compile("def f: f; f").expect("compiled");
    let reason = condition.holds(&input()).expect_err("no end");
    let reasons = [
        "it did not end within 100 ms",
        "it took more than 500000 steps",
    ];
    assert!(reasons.contains(&reason.as_str()), "{reason}");
}

/// The deepest texts that fit the limit are parsed, or refused with a reason.
#[test]
fn deep_nesting_of_the_text_is_no_danger() {
    let nested = [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("{a:", "1", "}"),
        ("-", "1", ""),
        ("\"\\(", "1", ")\""),
        ("if ", "1", " then 1 end"),
        ("try ", "1", ""),
        ("def f:", "1", ";1"),
        ("1 as $x|", "1", ""),
        (". as [$x,", "1", ""),
        (".[", "1", "]"),
        ("reduce 1 as $x(", "1", ";1)"),
        ("1|", "1", ""),
        ("1,", "1", ""),
        ("1+", "1", ""),
        ("", ".", "?"),
        ("", ".", ".a"),
        ("", ".", "[]"),
        ("label $a|", "1", ""),
        (".a|=", "1", ""),
        ("{a:1}|.a//", "1", ""),
    ];
    for (open, middle, close) in nested {
        let times = (MAX_TEXT - middle.len()) / (open.len() + close.len());
        let jq = format!("{}{middle}{}", open.repeat(times), close.repeat(times));
        if let Ok(condition) = patient(&jq) {
            // a result or a reason, but an end
            drop(condition.holds_any(&input()));
        }
    }
}

#[test]
fn log_texts() {
    let render = |text: &str| {
        let text = LogText::compile(text)?;
        let time = Duration::from_secs(20);
        Ok::<_, String>(LogText { time, ..text }.render(&input()))
    };
    let text = |typed: &str| {
        let rendered = render(typed).expect("compiled");
        assert_eq!(rendered.problem, None, "{typed}");
        rendered.text
    };
    assert_eq!(
        text("agent edits {.tool}: {.paths[0]}"),
        "agent edits Edit: src/auth.rs"
    );
    assert_eq!(
        text("{.input.n} {{of}} {.input.edits | map(.new)}"),
        "3 {of} [\"a \\\"b\\\"\",\"c\"]"
    );
    assert_eq!(text("[{empty}] {.turn.prompt, 2}"), "[] Fix the login");
    assert_eq!(text("{ {a: {b: .tool}} | .a }"), "{\"b\":\"Edit\"}");
    assert_eq!(text(""), "");
    let failed = render("{.tool}: {.tool + 1}!").expect("compiled");
    assert_eq!(failed.text, "Edit: {.tool + 1}!");
    assert_eq!(
        failed.problem.as_deref(),
        Some("cannot calculate \"Edit\" + 1")
    );
    let long = text("{\"x\" * 5000}");
    assert_eq!(long.chars().count(), MAX_SHOWN + 1);
    let mistake = render("{.tool | foo}").expect_err("a mistake");
    assert!(
        mistake.contains("character 9: there is no function `foo`"),
        "{mistake}"
    );
    assert!(render("{.tool").is_err());
    let endless = LogText::compile("see {.tool} {def f: f; f}").expect("compiled");
    let rendered = endless.render(&input());
    assert_eq!(rendered.text, "see {.tool} {def f: f; f}");
    assert!(rendered.problem.is_some());
    let once = super::render("{.tool}", &input()).map(|rendered| rendered.text);
    assert!(once.is_ok());
}

/// Replays the inputs that fuzzing found (`tests/fuzz/found`).
#[test]
fn inputs_found_by_fuzzing_pass() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fuzz/found/condition"
    );
    let files: Vec<_> = std::fs::read_dir(folder).expect("inputs").collect();
    assert!(!files.is_empty());
    for file in files {
        exercise(&std::fs::read(file.expect("an entry").path()).expect("an input"));
    }
}

/// A text of words and signs of jq.
fn jq_like() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        ".",
        "..",
        ".a",
        ".tool",
        "|",
        ",",
        ";",
        ":",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "{{",
        "}}",
        "\"",
        "\\(",
        "\\",
        "?",
        "//",
        "+",
        "-",
        "*",
        "/",
        "%",
        "=",
        "|=",
        "==",
        "<",
        "and",
        "not",
        "if",
        "then",
        "else",
        "end",
        "def f:",
        "f",
        "reduce",
        "foreach",
        "as",
        "$x",
        "[$x]",
        "try",
        "catch",
        "label $l |",
        "break $l",
        "recurse",
        "repeat(",
        "range(",
        "limit(3;",
        "input",
        "env",
        "$ENV",
        "import \"a\" as a;",
        "include",
        "@json",
        "@sh",
        "test(\"a\")",
        "9",
        "1e99",
        "-1",
        "null",
        "true",
        "empty",
        "error",
        "path(",
        "tojson",
        "fromjson",
        "sort",
        "add",
        "#",
        "\n",
        "ü",
        "::",
        "?//",
    ]);
    prop::collection::vec((word, prop::sample::select(vec!["", " "])), 0..14).prop_map(|words| {
        words
            .into_iter()
            .flat_map(|(word, space)| [word, space])
            .collect()
    })
}

proptest! {
    #[test]
    fn any_text_is_refused_or_ends(text in prop_oneof![jq_like(), "[ -~]{0,24}"]) {
        exercise(text.as_bytes());
    }
}
