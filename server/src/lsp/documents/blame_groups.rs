//! Runs of lines that one turn of an agent wrote last, as lenses, actions and hovers show them. Pure.

use std::ops::Range;
use std::sync::Arc;

use backstitch_core::{AgentWork, Author, Blame, By};
use ropey::Rope;

/// Neighbouring lines of one turn.
#[derive(Clone, Debug)]
pub struct Group {
    /// Line numbers as in the protocol, from 0.
    pub lines: Range<usize>,
    /// Author of its newest line.
    pub author: Arc<Author>,
}

impl Group {
    pub fn work(&self) -> Option<&AgentWork> {
        work(&self.author)
    }

    /// Returns the revision before that turn.
    pub fn rev(&self) -> Option<String> {
        let work = self.work()?;
        match &work.turn {
            Some(turn) => Some(format!("t{}", turn.number)),
            None => Some(format!("{}^", self.author.node?)),
        }
    }

    pub fn overlaps(&self, lines: &Range<usize>) -> bool {
        self.lines.start < lines.end && lines.start < self.lines.end
    }
}

pub fn work(author: &Author) -> Option<&AgentWork> {
    match &author.by {
        By::Agent(work) => Some(work),
        _ => None,
    }
}

/// Returns the groups of a text, from its blame.
pub fn groups(blame: &Blame, text: &Rope) -> Vec<Group> {
    let place = LineMap::of(blame, text);
    let mut groups: Vec<Group> = Vec::new();
    for run in &blame.runs {
        if work(&run.author).is_none() {
            continue;
        }
        let start = run.start - 1;
        let lines = place.line(start)..place.line(start + run.count);
        match groups.last_mut() {
            Some(last) if last.lines.end == lines.start && same(&last.author, &run.author) => {
                last.lines.end = lines.end;
                if run.author.time > last.author.time {
                    last.author = run.author.clone();
                }
            }
            _ => groups.push(Group {
                lines,
                author: run.author.clone(),
            }),
        }
    }
    groups
}

/// Returns the author of a line, numbered as in the protocol.
pub fn author_of<'b>(blame: &'b Blame, text: &Rope, line: usize) -> Option<&'b Arc<Author>> {
    let place = LineMap::of(blame, text);
    let mut runs = blame.runs.iter();
    let run = runs.find(|run| line < place.line(run.start - 1 + run.count))?;
    (place.line(run.start - 1) <= line).then_some(&run.author)
}

/// True if both are of one turn or, if the turn is not known, of one checkpoint.
fn same(a: &Author, b: &Author) -> bool {
    let (Some(x), Some(y)) = (work(a), work(b)) else {
        return false;
    };
    let turns = |work: &AgentWork| work.turn.as_ref().map(|turn| turn.number);
    x.session.id == y.session.id && turns(x) == turns(y) && (x.turn.is_some() || a.node == b.node)
}

/// Maps lines as the engine counts them, which end with `\n`, to lines of the protocol, which a lone `\r` ends, too.
pub struct LineMap(Option<LineStarts>);

struct LineStarts {
    starts: Vec<usize>,
    /// Number of lines of the protocol.
    count: usize,
}

impl LineMap {
    pub fn of(blame: &Blame, text: &Rope) -> Self {
        let lone = |at: usize| blame.text.get(at + 1) != Some(&b'\n');
        let mut returns = blame.text.iter().enumerate();
        // nearly every text has no `\r` at all, which is quick to find out
        let some = blame.text.contains(&b'\r');
        if !some || !returns.any(|(at, byte)| *byte == b'\r' && lone(at)) {
            return Self(None);
        }
        let mut starts = vec![0];
        for (at, byte) in blame.text.iter().enumerate() {
            if *byte == b'\n' {
                let next = (at + 1).min(text.len_bytes());
                starts.push(text.byte_to_line(next));
            }
        }
        let count = text.len_lines();
        Self(Some(LineStarts { starts, count }))
    }

    /// Returns the first line of the protocol of a line, or the line after the last one.
    pub fn line(&self, number: usize) -> usize {
        let Some(LineStarts { starts, count }) = &self.0 else {
            return number;
        };
        starts.get(number).copied().unwrap_or(*count)
    }
}
