//! Events of the parser to a tree.

use std::collections::HashMap;

use granit_parser::{
    ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, Span, StructureStyle, Tag,
};

use super::lines::{LineIndex, utf16};
use super::{
    MAX_CHARACTERS, MAX_COPIED, MAX_DEPTH, MAX_NODES, NodeKind, SyntaxError, YamlNode, YamlText,
    scalar,
};
use crate::position::Range;

const TAB: &str =
    "You have an error in your yaml syntax: found character that cannot start any token";
const TOO_MANY: &str = "Maximum YAML nodes exceeded";
const TOO_DEEP: &str = "Maximum object depth exceeded";
const TOO_LARGE: &str = "Maximum object size exceeded";

pub(super) fn parse(text: &str) -> Result<Option<YamlNode>, SyntaxError> {
    if utf16(text) > MAX_CHARACTERS {
        return Err(SyntaxError::too_long());
    }
    let lines = LineIndex::new(text);
    let mut builder = Builder {
        text,
        lines: &lines,
        open: Vec::new(),
        anchors: HashMap::new(),
        root: None,
        nodes: 0,
        copied: 0,
        documents: 0,
        behind: 0,
    };
    for next in Parser::new_from_str_with_options(text, options()) {
        let (event, span) = next.map_err(|error| builder.scan_error(&error))?;
        builder.add(event, span)?;
    }
    Ok(builder.root)
}

fn options() -> Options {
    let mut options = Options::default();
    options.emit_comments = false;
    options.emit_unresolved_aliases = true;
    options.block_scalar_eof_without_line_feed = true;
    options.block_nesting_limit = MAX_DEPTH + 1;
    options.flow_nesting_limit = MAX_DEPTH + 1;
    options
}

struct Builder<'a> {
    text: &'a str,
    lines: &'a LineIndex<'a>,
    open: Vec<OpenNode>,
    anchors: HashMap<usize, Anchored>,
    root: Option<YamlNode>,
    nodes: usize,
    /// Bytes of the texts that anchors and aliases have copied.
    copied: usize,
    documents: usize,
    /// The end of what is read.
    behind: usize,
}

/// A collection whose end is still to come.
struct OpenNode {
    start: usize,
    style: StructureStyle,
    anchor: usize,
    is_mapping: bool,
    items: Vec<YamlNode>,
    /// Number of nodes before it.
    nodes: usize,
    depth: usize,
}

/// A complete node that aliases may stand for.
struct Anchored {
    node: YamlNode,
    /// Bytes of its texts.
    size: usize,
    nodes: usize,
    depth: usize,
}

impl Builder<'_> {
    fn add(&mut self, event: Event<'_>, span: Span) -> Result<(), SyntaxError> {
        let range = span.byte_range().unwrap_or_default();
        let (start, end) = (range.start, range.end);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(self.error(start, "Source contains multiple documents"));
                }
                Ok(())
            }
            Event::Scalar(value, style, anchor, tag) => {
                let is_empty = start == end;
                let start = match style {
                    ScalarStyle::Literal | ScalarStyle::Folded => self.mark(b"|>", start),
                    _ if is_empty => self.empty(start),
                    _ => start,
                };
                let end = if is_empty { start } else { end };
                self.check_indent(start, false)?;
                if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
                    self.check_block(start, end)?;
                }
                self.behind = end;
                let node = self.scalar(&value, style, tag.as_deref(), start, end);
                self.push(node, anchor, 1, 0)
            }
            Event::SequenceStart(style, anchor, _) => self.open(start, style, anchor, false),
            Event::MappingStart(style, anchor, _) => self.open(start, style, anchor, true),
            Event::SequenceEnd | Event::MappingEnd => self.close(end),
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                Some(found) => {
                    let (nodes, depth) = (found.nodes, found.depth);
                    self.copied = self.copied.saturating_add(found.size);
                    if self.copied > MAX_COPIED {
                        return Err(self.error(start, TOO_LARGE));
                    }
                    let node = found.node.clone();
                    self.behind = end;
                    self.push(node, 0, nodes, depth)
                }
                // within the node of its anchor it has no end
                None => Err(self.error(start, TOO_MANY)),
            },
            Event::UnresolvedAlias(name) => {
                Err(self.error(start, &format!("Unknown anchor '{name}'")))
            }
            _ => Ok(()),
        }
    }

    fn open(
        &mut self,
        start: usize,
        style: StructureStyle,
        anchor: usize,
        is_mapping: bool,
    ) -> Result<(), SyntaxError> {
        let is_block = style == StructureStyle::Block;
        let start = match (is_block, is_mapping) {
            (true, true) => self.behind_properties(start),
            // the parser tells the first item of a sequence that is not indented
            (true, false)
                if self
                    .text
                    .get(start..)
                    .is_some_and(|rest| !rest.starts_with('-')) =>
            {
                self.mark(b"-", start)
            }
            _ => start,
        };
        if is_block {
            self.check_indent(start, true)?;
        }
        if is_block && self.is_behind_empty_key(start) {
            let context = if is_mapping {
                "mapping values"
            } else {
                "block sequence entries"
            };
            let message = format!(
                "You have an error in your yaml syntax: {context} are not allowed in this context"
            );
            return Err(self.error(start, &message));
        }
        self.behind = self.behind.max(start);
        self.nodes += 2;
        self.open.push(OpenNode {
            start,
            style,
            anchor,
            is_mapping,
            items: Vec::new(),
            nodes: self.nodes - 2,
            depth: 0,
        });
        self.check_size(start, 0)
    }

    /// The place behind anchors and tags of the first key of a mapping, which are not the mapping's.
    fn behind_properties(&self, start: usize) -> usize {
        let mut offset = start;
        while let Some(rest) = self.text.get(offset..)
            && rest.starts_with(['&', '!'])
        {
            let line = rest.lines().next().unwrap_or_default();
            let Some(word) = line.find([' ', '\t']) else {
                return start;
            };
            let blanks = line[word..].len() - line[word..].trim_start().len();
            offset += word + blanks;
        }
        offset
    }

    /// The problem of a tab before a key, or before a block collection, as libyaml finds it.
    fn check_indent(&self, start: usize, is_collection: bool) -> Result<(), SyntaxError> {
        let is_key = self.open.last().is_some_and(|open| {
            open.style == StructureStyle::Block && open.is_mapping && open.items.len() % 2 == 0
        });
        if !is_key && !is_collection {
            return Ok(());
        }
        let before = self.text.get(..start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |feed| feed + 1);
        let indent = before.get(line_start..).unwrap_or_default();
        let is_indent = |c: char| matches!(c, ' ' | '\t') || (is_collection && "-?:".contains(c));
        match indent.find('\t') {
            Some(tab) if indent.chars().all(is_indent) => Err(self.error(line_start + tab, TAB)),
            _ => Ok(()),
        }
    }

    /// The problem of a line of blanks in or behind a block scalar, with a tab where its indentation would be.
    fn check_block(&self, start: usize, end: usize) -> Result<(), SyntaxError> {
        let rest = self.text.get(start..).unwrap_or_default();
        let mut next = start;
        let mut indent = None;
        for line in rest.split_inclusive('\n') {
            let offset = next;
            next += line.len();
            if offset == start {
                continue;
            }
            let spaces = line.len() - line.trim_start_matches(' ').len();
            if !line.trim().is_empty() {
                if offset >= end {
                    return Ok(());
                }
                indent.get_or_insert(spaces);
            } else if line[spaces..].starts_with('\t')
                && indent.is_some_and(|indent| spaces < indent)
            {
                return Err(self.error(offset + spaces, TAB));
            }
        }
        Ok(())
    }

    /// True for the value of a key that is not there, on the line of its `:`.
    fn is_behind_empty_key(&self, start: usize) -> bool {
        let key = self.open.last().and_then(|open| {
            let is_value = open.is_mapping && open.items.len() % 2 == 1;
            open.items.last().filter(|_| is_value)
        });
        key.is_some_and(|key| {
            let is_empty = key.range.start == key.range.end;
            let place = self.lines.position(start);
            is_empty && key.range.start.line == place.line
        })
    }

    fn close(&mut self, end: usize) -> Result<(), SyntaxError> {
        let Some(closed) = self.open.pop() else {
            return Ok(());
        };
        let mut range = self.lines.range(closed.start, end.max(closed.start));
        // the parser tells the end of a block by what follows it
        if let (StructureStyle::Block, Some(last)) = (closed.style, closed.items.last()) {
            range.end = last.range.end.max(range.start);
        } else {
            self.behind = end;
        }
        let kind = if closed.is_mapping {
            let mut entries = Vec::with_capacity(closed.items.len() / 2);
            let mut items = closed.items.into_iter();
            while let (Some(key), Some(value)) = (items.next(), items.next()) {
                entries.push((key, value));
            }
            NodeKind::Mapping(entries)
        } else {
            NodeKind::Sequence(closed.items)
        };
        let nodes = self.nodes - closed.nodes;
        self.nodes = closed.nodes;
        self.push(
            YamlNode { range, kind },
            closed.anchor,
            nodes,
            closed.depth + 1,
        )
    }

    /// Adds a complete node, which has so many nodes and levels, to the innermost open collection.
    fn push(
        &mut self,
        node: YamlNode,
        anchor: usize,
        nodes: usize,
        depth: usize,
    ) -> Result<(), SyntaxError> {
        self.nodes += nodes;
        let range = node.range;
        if anchor > 0 {
            let size = size(&node);
            self.copied = self.copied.saturating_add(size);
            if self.copied <= MAX_COPIED {
                let node = node.clone();
                let anchored = Anchored {
                    node,
                    size,
                    nodes,
                    depth,
                };
                self.anchors.insert(anchor, anchored);
            }
        }
        match self.open.last_mut() {
            Some(open) => {
                open.depth = open.depth.max(depth);
                open.items.push(node);
            }
            None => self.root = Some(node),
        }
        self.check_bounds(range, depth)
    }

    fn check_size(&self, start: usize, depth: usize) -> Result<(), SyntaxError> {
        self.check_bounds(self.lines.range(start, start), depth)
    }

    fn check_bounds(&self, range: Range, depth: usize) -> Result<(), SyntaxError> {
        let message = if self.nodes > MAX_NODES {
            TOO_MANY
        } else if self.open.len() + depth > MAX_DEPTH {
            TOO_DEEP
        } else if self.copied > MAX_COPIED {
            TOO_LARGE
        } else {
            return Ok(());
        };
        let range = Some(range);
        let message = message.to_owned();
        Err(SyntaxError { range, message })
    }

    fn scalar(
        &self,
        value: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        start: usize,
        end: usize,
    ) -> YamlNode {
        let core = tag.and_then(Tag::core_suffix);
        let typed = match (core, tag, style) {
            (Some(name), _, _) => scalar::resolve_as(name, value),
            (None, None, ScalarStyle::Plain) => scalar::resolve(value),
            _ => None,
        };
        let kind = typed.unwrap_or_else(|| {
            let source = self.text.get(start..end).unwrap_or_default();
            let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
            let below = source.split_once('\n').map_or("", |(_, below)| below);
            NodeKind::Text(YamlText {
                value: value.to_owned(),
                source: if is_block { below } else { source }.to_owned(),
            })
        });
        let range = self.lines.range(start, end);
        YamlNode { range, kind }
    }

    /// The place of a value that is not there: behind its `:` or `-` and the blanks after it. A key stands at its `:`.
    fn empty(&self, offset: usize) -> usize {
        let bytes = self.text.as_bytes();
        let blanks = |offset: usize| {
            let blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
            offset + bytes.iter().skip(offset).take_while(blank).count()
        };
        let Some(open) = self.open.last() else {
            return offset;
        };
        if open.is_mapping && open.items.len() % 2 == 0 {
            return offset;
        }
        let has_colon = bytes.get(blanks(offset)) == Some(&b':');
        let limit = if has_colon && open.is_mapping {
            blanks(offset) + 1
        } else {
            offset
        };
        let marks = self.marks(self.behind, limit);
        blanks(marks.last().map_or(self.behind, |(_, end)| end))
    }

    /// The place of the `|` or `>` of a block scalar, or of the `-` of a sequence, whose content begins at `content`.
    fn mark(&self, bytes: &[u8], content: usize) -> usize {
        let mut marks = self.marks(self.behind.min(content), content);
        let is_mark = |(start, _): &(usize, usize)| {
            let byte = self.text.as_bytes().get(*start);
            byte.is_some_and(|byte| bytes.contains(byte))
        };
        marks.find(is_mark).map_or(content, |(start, _)| start)
    }

    /// Indicators, anchors and tags between nodes, each with its start and end.
    fn marks(&self, start: usize, limit: usize) -> impl Iterator<Item = (usize, usize)> {
        let mut offset = start;
        std::iter::from_fn(move || {
            while offset < limit {
                let rest = self.text.get(offset..limit)?;
                let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
                let begin = offset;
                let first = rest.chars().next()?;
                offset += match first {
                    '#' => rest.find('\n').unwrap_or(rest.len()),
                    '!' | '&' => word,
                    _ => first.len_utf8(),
                };
                if first != '#' && !first.is_whitespace() {
                    return Some((begin, offset));
                }
            }
            None
        })
    }

    fn error(&self, offset: usize, message: &str) -> SyntaxError {
        SyntaxError {
            range: Some(self.lines.range(offset, offset)),
            message: message.to_owned(),
        }
    }

    fn scan_error(&self, error: &ScanError) -> SyntaxError {
        let offset = error.marker().byte_offset().unwrap_or_default();
        let reason = match error.kind() {
            ErrorKind::RecursionLimitExceeded => TOO_DEEP.to_owned(),
            _ => format!("You have an error in your yaml syntax: {}", error.info()),
        };
        self.error(offset, &reason)
    }
}

/// Bytes of the texts of a node.
fn size(node: &YamlNode) -> usize {
    match &node.kind {
        NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) => 0,
        NodeKind::Text(text) => text.value.len() + text.source.len(),
        NodeKind::Sequence(items) => items.iter().map(size).sum(),
        NodeKind::Mapping(entries) => entries
            .iter()
            .map(|(key, value)| size(key) + size(value))
            .sum(),
    }
}
