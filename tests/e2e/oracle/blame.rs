//! Law B: blame names the author of each line and its checkpoint; a cached result equals a new computation.

use std::collections::BTreeMap;

use backstitch_core::model::{Certainty, ChangeId, NodeId, RelPath};
use backstitch_core::{Against, Author, Blame, By};

use super::model::{Entry, Sure, Token, Who, is_token};
use super::world::{Checked, World};

impl World {
    /// Checks law B for every text file at the head and on disk, and for the same files at another node.
    pub fn blame_holds(&self) -> Checked<usize> {
        let Some(head) = self.head()? else {
            return Ok(0);
        };
        let first = *self.expected.keys().next().ok_or("no nodes")?;
        let mut lines = 0;
        for (path, blame) in self.blamed_at(head)? {
            for (_, line, author) in blame.lines() {
                let Some((line, token)) = self.token(line) else {
                    continue;
                };
                lines += usize::from(token.sure == Sure::Yes);
                self.is_by(&path, line, token, author, first)?;
            }
        }
        self.blamed_on_disk(first)?;
        let nodes: Vec<NodeId> = self.expected.keys().copied().collect();
        self.blamed_at(nodes[self.counter % nodes.len()])?;
        Ok(lines)
    }

    /// Blame of every text file at a node: with the cache, which must equal the result without.
    fn blamed_at(&self, node: NodeId) -> Checked<BTreeMap<String, Blame>> {
        let mut all = BTreeMap::new();
        for (path, entry) in &self.expected[&node] {
            let (Some(text), false) = (entry.text(), self.unknown_at(path, node)) else {
                continue;
            };
            let what = format!("B: {path} at {node}");
            let name = RelPath::new(path.as_bytes()).ok_or("a path")?;
            let against = Against::Node(node);
            let cached = self.engine.blamer().blame(&name, against);
            let cached = cached.map_err(|e| format!("{what}: {e}"))?;
            let anew = self.engine.blamer().blame_uncached(&name, against);
            let anew = anew.map_err(|e| format!("{what}: {e}"))?;
            if cached.text != text.as_bytes() || cached.lines().count() != text.lines().count() {
                return Err(format!("{what} is not its text: {cached:?}"));
            }
            if shape(&cached) != shape(&anew) {
                let (cached, anew) = (shape(&cached), shape(&anew));
                return Err(format!("{what}: cached {cached:?}, computed {anew:?}"));
            }
            all.insert(path.clone(), cached);
        }
        Ok(all)
    }

    /// Checks that unrecorded changes on disk have no author yet, and all other lines are as at the head.
    fn blamed_on_disk(&self, first: NodeId) -> Checked {
        for (path, entry) in self.disk() {
            if entry.text().is_none() || !self.seen.contains_key(&path) || self.is_held(&path) {
                continue;
            }
            let what = format!("B: {path} on disk");
            let name = RelPath::new(path.as_bytes()).ok_or("a path")?;
            let blame = self.engine.blamer().blame(&name, Against::Disk);
            let blame = blame.map_err(|e| format!("{what}: {e}"))?;
            let recorded = self
                .seen
                .get(&path)
                .and_then(Entry::text)
                .unwrap_or_default();
            let is_recorded = |line: &str| recorded.lines().any(|l| l == line);
            for (_, line, author) in blame.lines() {
                match self.token(line) {
                    Some((line, token)) if is_recorded(line) => {
                        self.is_by(&path, line, token, author, first)?;
                    }
                    Some((line, _)) if author.change.is_some() => {
                        return Err(format!("{what}: {line} is not recorded, yet {author:?}"));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn token<'l>(&self, line: &'l [u8]) -> Option<(&'l str, Token)> {
        let line = std::str::from_utf8(line).ok()?.trim_end();
        let token = self.tokens.get(line).filter(|_| is_token(line))?;
        Some((line, *token))
    }

    fn is_by(
        &self,
        path: &str,
        line: &str,
        token: Token,
        author: &Author,
        first: NodeId,
    ) -> Checked {
        if token.sure != Sure::Yes {
            return Ok(());
        }
        // a file that was adopted has its earlier content from before
        let before = token.node == Some(first) || !self.adopted.is_empty();
        let holds = match (&author.by, token.who) {
            (By::Before, _) => before,
            (By::User, Who::User) => author.node == token.node || token.early,
            (By::Agent(work), who) => {
                author.node == token.node
                    && work.session.native == who.session()
                    && (work.session_certainty == Certainty::Certain || token.early)
            }
            _ => false,
        };
        if holds {
            Ok(())
        } else {
            Err(format!("B: {path}: {line} is of {token:?}, yet {author:?}"))
        }
    }
}

fn shape(blame: &Blame) -> Vec<(usize, usize, Option<ChangeId>)> {
    let runs = blame.runs.iter();
    runs.map(|r| (r.start, r.count, r.author.change)).collect()
}
