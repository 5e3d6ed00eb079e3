use super::*;

/// A line of a tree: each node with its range, collections in brackets.
fn tree(text: &str) -> String {
    fn show(node: &YamlNode) -> String {
        let Range { start, end } = node.range;
        let value = match &node.kind {
            NodeKind::Text(text) => format!("{:?}", text.value),
            NodeKind::Sequence(items) => {
                let items: Vec<String> = items.iter().map(show).collect();
                format!("[{}]", items.join(", "))
            }
            NodeKind::Mapping(entries) => {
                let entry = |(key, value): &(YamlNode, YamlNode)| show(key) + ": " + &show(value);
                let entries: Vec<String> = entries.iter().map(entry).collect();
                format!("{{{}}}", entries.join(", "))
            }
            kind => format!("{kind:?}"),
        };
        format!(
            "{}:{}-{}:{} {value}",
            start.line, start.column, end.line, end.column
        )
    }
    match parse(text) {
        Ok(Some(node)) => show(&node),
        other => format!("{other:?}"),
    }
}

#[test]
fn columns_count_utf16_units() {
    assert_eq!(tree("日𝄞: é"), "1:1-1:7 {1:1-1:4 \"日𝄞\": 1:6-1:7 \"é\"}");
}

#[test]
fn a_block_scalar_begins_at_its_header() {
    let expected = "1:1-5:1 {1:1-1:2 \"a\": 1:9-5:1 \"\\nx\\n y\\n\"}";
    assert_eq!(tree("a: &b   | # |\n\n  x\n   y\n"), expected);
}

#[test]
fn a_block_scalar_at_the_end_of_the_file_has_no_line_feed_of_its_own() {
    assert_eq!(tree("a: |\n  x"), "1:1-2:4 {1:1-1:2 \"a\": 1:4-2:4 \"x\"}");
}

#[test]
fn a_value_that_is_not_there_stands_behind_its_mark() {
    let expected = "1:1-2:4 {1:1-1:2 \"a\": 1:5-1:5 Null, 2:1-2:2 \"b\": 2:4-2:4 Null}";
    assert_eq!(tree("a:  # c\nb: \n"), expected);
    assert_eq!(
        tree("- # c\n- 1\n"),
        "1:1-2:4 [1:3-1:3 Null, 2:3-2:4 Number(1.0)]"
    );
}

#[test]
fn a_sequence_that_is_not_indented_begins_at_its_dash() {
    let expected = "1:1-3:4 {1:1-1:2 \"a\": 3:1-3:4 [3:3-3:4 \"b\"]}";
    assert_eq!(tree("a: # -\n# -\n- b\n"), expected);
}

#[test]
fn scalars_are_those_of_the_core_schema() {
    let kinds = |text: &str| match scalar::resolve(text) {
        Some(NodeKind::Number(number)) => number.to_string(),
        kind => format!("{kind:?}"),
    };
    for (text, number) in [
        ("0o17", "15"),
        ("0xfF", "255"),
        ("-12", "-12"),
        ("+1.50", "1.5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1e3", "1000"),
        (".inf", "inf"),
        ("-.INF", "-inf"),
        (".nan", "NaN"),
    ] {
        assert_eq!(kinds(text), number, "{text}");
    }
    for text in [
        "on", "yes", "0b1", "1_000", ".", "e3", "1e", "-.nan", "0o8", "0x", "1:30",
    ] {
        assert_eq!(kinds(text), "None", "{text}");
    }
    assert_eq!(kinds("True"), "Some(Bool(true))");
    assert_eq!(kinds("~"), "Some(Null)");
}

#[test]
fn an_alias_stands_for_its_node() {
    let Ok(Some(node)) = parse("a: &x [1]\nb: *x\n") else {
        panic!("not read");
    };
    let NodeKind::Mapping(entries) = node.kind else {
        panic!("no mapping");
    };
    assert_eq!(entries[0].1, entries[1].1);
    for text in ["a: *x\n", "a: *x\nb: &x 1\n"] {
        let error = parse(text).expect_err("no anchor");
        assert_eq!(error.message, "Unknown anchor 'x'");
    }
}

#[test]
fn bombs_are_problems() {
    let level = |level: usize| {
        format!(
            "a{level}: &a{level} [{}]\n",
            vec![format!("*a{}", level - 1); 10].join(", ")
        )
    };
    let levels: Vec<String> = (1..30).map(level).collect();
    let aliases = format!("a0: &a0 [x]\n{}", levels.concat());
    let link = |level: usize| format!("a{level}: &a{level} [*a{}]\n", level - 1);
    let links: Vec<String> = (1..100).map(link).collect();
    let chain = format!("a0: &a0 [x]\n{}", links.concat());
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let indented: Vec<String> = (0..500)
        .map(|level| format!("{}a:\n", " ".repeat(level)))
        .collect();
    let indented = indented.concat();
    let long = "a: b\n".repeat(2 << 20);
    let circle = "a: &x [*x]
"
    .to_owned();
    let text = "x".repeat(500_000);
    let copies = format!("a: &a {text}\nb: [{}]\n", "*a,".repeat(20_000));
    let anchors = format!("{}{text}{}\n", "&a [".repeat(30), "]".repeat(30));
    for (text, message) in [
        (aliases, "Maximum YAML nodes exceeded"),
        (circle, "Maximum YAML nodes exceeded"),
        (copies, "Maximum object size exceeded"),
        (anchors, "Maximum object size exceeded"),
        (chain, "Maximum object depth exceeded"),
        (nested, "Maximum object depth exceeded"),
        (indented, "Maximum object depth exceeded"),
        (
            long,
            "The maximum file size of 1048576 characters has been exceeded",
        ),
    ] {
        assert_eq!(parse(&text).expect_err("a bomb").message, message);
    }
}

/// The time of a text does not grow with the square of its length.
#[test]
fn a_long_line_is_read_at_once() {
    let line = format!("[{}]", "[é, 1], ".repeat(12_000));
    let started = std::time::Instant::now();
    assert!(parse(&line).is_ok());
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
}

#[test]
fn tabs_are_not_indentation() {
    for text in ["a:\n \tb: 1\n", "- \ta: 1\n", "a: |\n  x\n\t\nb: 1\n"] {
        let error = parse(text).expect_err("a tab");
        assert!(
            error.message.ends_with("cannot start any token"),
            "{text:?}"
        );
    }
    assert!(parse("a:\tb\nc: [\t1]\n").is_ok());
}
