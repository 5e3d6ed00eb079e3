//! Pipes between commands and groups of them. Pure.

use super::nodes::{ShellNode, plain};
use super::programs;

/// Commands behind a pipe that are looked at.
const MAX_READERS: usize = 16;

/// A group of commands, while the nodes are read from the right.
#[derive(Default)]
struct PipeGroup {
    /// Readers of the output of the whole group.
    readers: Vec<usize>,
    /// Commands of the present pipe, right of the node.
    right: Vec<usize>,
    members: Vec<usize>,
}

#[derive(Default)]
struct PipeScan {
    outer: Vec<PipeGroup>,
    group: PipeGroup,
}

impl PipeScan {
    /// Begins a new pipe, unless the node writes into the one right of it.
    fn stand_at(&mut self, is_piped: bool) {
        if !is_piped {
            self.group.right.clear();
        }
    }

    /// The commands that may read the output at the present node.
    fn readers(&self) -> Vec<usize> {
        let all = self.group.right.iter().chain(&self.group.readers);
        all.copied().take(MAX_READERS).collect()
    }

    fn add(&mut self, commands: &[usize]) {
        for list in [&mut self.group.right, &mut self.group.members] {
            list.extend(commands);
            list.truncate(MAX_READERS);
        }
    }

    /// Goes into a group from its end.
    fn open(&mut self) {
        let readers = self.readers();
        let inner = PipeGroup {
            readers,
            ..PipeGroup::default()
        };
        self.outer.push(std::mem::replace(&mut self.group, inner));
    }

    /// Goes out of a group at its start. Its commands read the pipe that ends there.
    fn close(&mut self) {
        if let Some(outer) = self.outer.pop() {
            let inner = std::mem::replace(&mut self.group, outer);
            self.add(&inner.members);
        }
    }
}

/// Returns, for each node, the places of the commands that may read its output, directly or through others of the pipe.
pub(super) fn readers(nodes: &[ShellNode]) -> Vec<Vec<usize>> {
    let mut found = vec![Vec::new(); nodes.len()];
    let mut scan = PipeScan::default();
    for (at, node) in nodes.iter().enumerate().rev() {
        let is_piped = matches!(nodes.get(at + 1), Some(ShellNode::Pipe));
        match node {
            ShellNode::Pipe => {}
            ShellNode::Close => {
                scan.stand_at(is_piped);
                scan.open();
            }
            ShellNode::Open => scan.close(),
            ShellNode::Command(command) => {
                scan.stand_at(is_piped);
                let is_grammar = |word: &&str| {
                    programs::KEYWORDS.contains(word) || programs::OPENERS.contains(word)
                };
                let words = command.words.iter().map_while(plain);
                let signs: Vec<&str> = words.take_while(is_grammar).collect();
                let is_end = signs.iter().any(|word| programs::CLOSERS.contains(word));
                if is_end && signs.len() == command.words.len() {
                    scan.open();
                    continue;
                }
                found[at] = scan.readers();
                scan.add(&[at]);
                for _ in signs.iter().filter(|word| programs::OPENERS.contains(word)) {
                    scan.close();
                }
            }
        }
    }
    found
}
