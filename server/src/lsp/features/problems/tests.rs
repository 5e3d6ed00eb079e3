use super::*;

fn kind(path: &str) -> Option<JobFile> {
    JobFile::of(Path::new(path), |dir| dir == Path::new("nested"))
}

#[test]
fn workflows_and_actions_by_their_paths() {
    for (path, file) in [
        (".github/workflows/ci.yml", Some(JobFile::Workflow)),
        (".github/workflows/ci.yaml", Some(JobFile::Workflow)),
        ("nested/.github/workflows/ci.yml", Some(JobFile::Workflow)),
        (".github/workflows/action.yml", Some(JobFile::Workflow)),
        (".github/workflows/ci.json", None),
        (".github/workflows/more/ci.yml", None),
        ("tests/.github/workflows/ci.yml", None),
        (".github/dependabot.yml", None),
        ("action.yml", Some(JobFile::Action)),
        (".github/actions/lint/action.yaml", Some(JobFile::Action)),
        ("nested/action.yml", Some(JobFile::Action)),
        ("lint/action.yml", Some(JobFile::MaybeAction)),
        ("lint/my-action.yml", None),
        ("action.yml.bak", None),
    ] {
        assert_eq!(kind(path), file, "{path}");
    }
}

/// The problems of a text alone.
fn problems_alone(file: JobFile, rope: &Rope, encoding: Encoding) -> Vec<Diagnostic> {
    let called = CalledFiles {
        repository: PathBuf::new(),
        open: HashMap::new(),
    };
    diagnostics(file, rope, encoding, &called).0
}

fn ranges(text: &str, encoding: Encoding) -> Vec<(u32, u32, u32, u32)> {
    let found = problems_alone(JobFile::Workflow, &Rope::from_str(text), encoding);
    let range = |found: Diagnostic| {
        let Range { start, end } = found.range;
        (start.line, start.character, end.line, end.character)
    };
    found.into_iter().map(range).collect()
}

/// A workflow whose second job key is wrong, at this line end.
fn wrong_key(line_end: &str) -> String {
    let lines = [
        "on: push",
        "jobs:",
        "  a:",
        "    runs-on: x",
        "    steps: [{run: x}]",
        "    stepz: 1",
        "",
    ];
    lines.join(line_end)
}

#[test]
fn places_are_those_of_the_client() {
    for line_end in ["\n", "\r\n", "\r"] {
        let text = wrong_key(line_end);
        // a carriage return alone ends a line for the protocol, and not for GitHub's parser
        let places = ranges(&text, Encoding::Utf16);
        assert_eq!(places, [(5, 4, 5, 9)], "{line_end:?}");
    }
    let emoji = "on: push\njobs: {a: {runs-on: '🧵é', steps: [{run: x}], stepz: 1}}\n";
    for (encoding, start) in [
        (Encoding::Utf8, 49),
        (Encoding::Utf16, 46),
        (Encoding::Utf32, 45),
    ] {
        assert_eq!(ranges(emoji, encoding), [(1, start, 1, start + 5)]);
    }
    let mark = "\u{feff}stepz: 1\non: push\n";
    for (encoding, start) in [(Encoding::Utf8, 3), (Encoding::Utf16, 1)] {
        assert_eq!(ranges(mark, encoding)[0], (0, start, 0, start + 5));
    }
}

#[test]
fn a_problem_is_shown_in_its_first_line() {
    // the mapping of the job lacks a key
    let text = "on: push\njobs:\n  a:\n    steps:\n      - run: x\n";
    assert_eq!(ranges(text, Encoding::Utf16), [(3, 4, 3, 10)]);
    // an empty range reaches to the end of the line
    let tab = "on: push\njobs:\n\ta: b\r\n";
    assert_eq!(ranges(tab, Encoding::Utf16), [(2, 1, 2, 5)]);
    for whole in ["", "# nothing\n"] {
        let end = u32::try_from(whole.trim_end().len()).unwrap();
        assert_eq!(ranges(whole, Encoding::Utf16), [(0, 0, 0, end)]);
    }
}

#[test]
fn only_refused_actions_have_errors() {
    let severities = |text: &str| {
        let rope = Rope::from_str(text);
        let found = problems_alone(JobFile::MaybeAction, &rope, Encoding::Utf16);
        let severity = |found: Diagnostic| found.severity.expect("a severity");
        found.into_iter().map(severity).collect::<Vec<_>>()
    };
    let steps = "runs:\n  using: composite\n  steps:\n    - run: x\n      shell: bash\n";
    let marketplace = DiagnosticSeverity::Information;
    assert_eq!(severities(&format!("name: a\ndescription: b\n{steps}")), []);
    assert_eq!(severities(&format!("name: a\n{steps}")), [marketplace]);
    // an id twice is found where nothing else is wrong
    let twice = steps.replace("- run", "- id: a\n      run");
    let twice = format!("{twice}{}", &twice[twice.find("    - id").unwrap()..]);
    assert_eq!(
        severities(&format!("name: a\n{twice}")),
        [marketplace, DiagnosticSeverity::Error]
    );
    // the file of another program
    assert_eq!(severities("type: click\n"), []);
}

#[test]
fn problems_are_bounded() {
    let keys: Vec<String> = (0..500).map(|number| format!("key{number}: 1\n")).collect();
    let found = ranges(&keys.concat(), Encoding::Utf8);
    assert_eq!(found.len(), MAX_PROBLEMS);
    let long = format!("on: {}\njobs: {{}}\n", "x".repeat(500_000));
    let rope = Rope::from_str(&long);
    let found = problems_alone(JobFile::Workflow, &rope, Encoding::Utf8);
    let message = serde_json::to_string(&found[0].message).expect("JSON");
    assert!(message.len() < 1100, "{}", message.len());
}
