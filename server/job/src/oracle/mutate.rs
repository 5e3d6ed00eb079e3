//! Changes of a text, by a generator whose numbers are the same in each run.

/// An xorshift generator (Marsaglia, 2003).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let bits = usize::try_from(self.0 >> 33).unwrap_or_default();
        bits % bound.max(1)
    }

    pub fn pick<'a, T: ?Sized>(&mut self, of: &'a [impl AsRef<T>]) -> &'a T {
        of[self.below(of.len())].as_ref()
    }
}

const VALUES: [&str; 40] = [
    "",
    "~",
    "null",
    "true",
    "False",
    "0",
    "5",
    "-1.50",
    "0x1f",
    "1e30",
    ".inf",
    "text",
    "''",
    "\"\"",
    "[]",
    "{}",
    "[a, b]",
    "[a, [b]]",
    "{a: b}",
    "{name: x}",
    "'it''s'",
    "\"a\\nb\"",
    "|",
    ">-",
    "&x y",
    "*x",
    "*step",
    "!!str 5",
    "write",
    "read-all",
    "inherit",
    "choice",
    "node20",
    "docker",
    "opened",
    "push",
    "build",
    "60 * * * *",
    "org/",
    "a/b/c",
];

const KEYS: [&str; 56] = [
    "on",
    "name",
    "jobs",
    "env",
    "defaults",
    "permissions",
    "concurrency",
    "run-name",
    "runs-on",
    "steps",
    "needs",
    "if",
    "strategy",
    "matrix",
    "include",
    "exclude",
    "run",
    "uses",
    "with",
    "id",
    "shell",
    "working-directory",
    "timeout-minutes",
    "continue-on-error",
    "container",
    "services",
    "outputs",
    "environment",
    "secrets",
    "background",
    "wait",
    "wait-all",
    "cancel",
    "parallel",
    "snapshot",
    "image",
    "ports",
    "group",
    "labels",
    "types",
    "branches",
    "schedule",
    "inputs",
    "type",
    "default",
    "required",
    "options",
    "cancel-in-progress",
    "NAME",
    "Env",
    "unknown",
    "5",
    "using",
    "main",
    "post-if",
    "value",
];

const EXPRESSIONS: [&str; 36] = [
    "${{ github.ref }}",
    "${{ secrets.X }}",
    "${{ matrix.os }}",
    "${{ steps.a.outputs.b }}",
    "${{ env.A }}",
    "${{ inputs.x }}",
    "${{ needs.a.result }}",
    "${{ vars.V }}",
    "${{ runner.os }}",
    "${{ job.status }}",
    "${{ strategy.job-index }}",
    "${{ jobs.a.outputs.b }}",
    "${{ foo }}",
    "${{ foo.bar }}",
    "${{ success() }}",
    "${{ always() }}",
    "${{ hashFiles('a') }}",
    "${{ hashFiles() }}",
    "${{ toJSON(github) }}",
    "${{ nope(1) }}",
    "${{ }}",
    "${{ 'text' }}",
    "${{ 'it''s' }}",
    "${{ 1 + 1 }}",
    "${{ (github.ref }}",
    "${{ github. }}",
    "${{ github.ref",
    "${{ insert }}",
    "${{ insert x }}",
    "a ${{ insert }}",
    "x${{ github.ref }}y${{ foo }}z",
    "${{ fromJSON('[1]')[0] }}",
    "${{ a && }}",
    "${{ contains('a') }}",
    "$${{ github.ref }}}",
    "${{ 'open }}",
];

const CONDITIONS: [&str; 12] = [
    "always()",
    "failure('x')",
    "success() && foo",
    "github.ref == 'x'",
    "!cancelled()",
    "'always()'",
    "true",
    "1",
    "steps.a.outcome == 'x'",
    "(",
    "needs.*.result",
    "hashFiles('x') == ''",
];

const MARKS: [&str; 16] = [
    ":",
    "- ",
    "  ",
    "\t",
    "'",
    "\"",
    "#",
    "{",
    "}",
    "[",
    "]",
    ",",
    "&a ",
    "*a",
    "% ",
    "\u{e9}\u{1d11e}",
];

/// The text after one to three changes.
pub fn mutate(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=random.below(3) {
        change(&mut lines, random);
    }
    let mut text = lines.join("\n");
    if random.below(10) > 0 {
        text.push('\n');
    }
    if random.below(40) == 0 {
        text = text.replace('\n', "\r\n");
    }
    text
}

fn change(lines: &mut Vec<String>, random: &mut Random) {
    if lines.is_empty() {
        return;
    }
    let at = random.below(lines.len());
    let other = random.below(lines.len());
    match random.below(24) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[at].clone()),
        2 => lines.swap(at, other),
        3 | 4 => {
            let other = alike(lines, at, random);
            lines.swap(at, other);
        }
        5 => lines.insert(at, lines[alike(lines, at, random)].clone()),
        6 => lines[at].insert_str(0, random.pick(&[" ", "  "])),
        7 => {
            let line = &lines[at];
            lines[at] = line.strip_prefix("  ").unwrap_or(line).to_owned();
        }
        8 => {
            let places = lines[at].char_indices().map(|(place, _)| place);
            let places: Vec<usize> = places.collect();
            let place = places.get(random.below(places.len())).copied();
            lines[at].insert_str(place.unwrap_or_default(), random.pick(&MARKS));
        }
        9..=12 => replace_value(lines, at, random, &VALUES),
        13..=16 => replace_value(lines, at, random, &EXPRESSIONS),
        17 => replace_value(lines, at, random, &CONDITIONS),
        18..=20 => replace_key(&mut lines[at], random.pick(&KEYS)),
        _ => {
            let key: &str = random.pick(&KEYS);
            let value: &str = match random.below(3) {
                0 => random.pick(&VALUES),
                1 => random.pick(&CONDITIONS),
                _ => random.pick(&EXPRESSIONS),
            };
            let indent = " ".repeat(indent(&lines[at]));
            lines.insert(at, format!("{indent}{key}: {value}"));
        }
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// A line that is indented as this one.
fn alike(lines: &[String], at: usize, random: &mut Random) -> usize {
    let is_alike = |other: &usize| indent(&lines[*other]) == indent(&lines[at]);
    let all: Vec<usize> = (0..lines.len()).filter(is_alike).collect();
    all.get(random.below(all.len())).copied().unwrap_or(at)
}

/// Replaces a value of one line, or seldom one that has lines below it.
fn replace_value(lines: &mut [String], at: usize, random: &mut Random, values: &[&str]) {
    let single = |at: &usize| {
        lines
            .get(at + 1)
            .is_none_or(|next| indent(next) <= indent(&lines[*at]))
    };
    let at = if random.below(6) == 0 {
        at
    } else {
        (at..lines.len()).find(single).unwrap_or(at)
    };
    let line = &mut lines[at];
    let behind = line.find(": ").map(|colon| colon + 2);
    if let Some(start) = behind.or_else(|| line.ends_with(':').then_some(line.len())) {
        line.truncate(start);
        if line.ends_with(':') {
            line.push(' ');
        }
    } else {
        let start = line.len() - line.trim_start_matches([' ', '-']).len();
        line.truncate(start);
    }
    line.push_str(random.pick(values));
}

fn replace_key(line: &mut String, key: &str) {
    let start = line.len() - line.trim_start_matches([' ', '-']).len();
    match line.find(':') {
        Some(colon) if colon >= start => line.replace_range(start..colon, key),
        _ => line.push(':'),
    }
}
