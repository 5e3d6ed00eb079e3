//! Offsets of bytes as lines and columns.

use crate::position::{FilePosition, Range};

/// Bytes between two counts of units, so that a place in a long line is found at once.
const STRIDE: usize = 256;

/// Starts of the lines of a text. Only a line feed ends a line.
#[derive(Debug)]
pub struct LineIndex<'a> {
    text: &'a str,
    starts: Vec<usize>,
    /// Offsets at least a stride apart, with the UTF-16 units before them.
    counts: Vec<(usize, u32)>,
}

impl<'a> LineIndex<'a> {
    pub fn new(text: &'a str) -> LineIndex<'a> {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(ends.map(|(end, _)| end + 1));
        let mut counts = vec![(0, 0)];
        let mut units = 0;
        let mut next = STRIDE;
        for (offset, c) in text.char_indices() {
            if offset >= next {
                counts.push((offset, units));
                next = offset + STRIDE;
            }
            units += if c.len_utf16() == 2 { 2 } else { 1 };
        }
        LineIndex {
            text,
            starts: starts.collect(),
            counts,
        }
    }

    pub fn position(&self, offset: usize) -> FilePosition {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts.get(line - 1).copied().unwrap_or_default();
        FilePosition {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: self.units(offset).saturating_sub(self.units(start)) + 1,
        }
    }

    pub fn range(&self, start: usize, end: usize) -> Range {
        Range {
            start: self.position(start),
            end: self.position(end),
        }
    }

    /// UTF-16 units before an offset.
    fn units(&self, offset: usize) -> u32 {
        let place = self.counts.partition_point(|(start, _)| *start <= offset);
        let (start, units) = self.counts.get(place - 1).copied().unwrap_or_default();
        units + utf16(self.text.get(start..offset).unwrap_or_default())
    }
}

/// Length in UTF-16 code units.
pub fn utf16(text: &str) -> u32 {
    u32::try_from(text.encode_utf16().count()).unwrap_or(u32::MAX)
}
