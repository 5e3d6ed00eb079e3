//! Cline's SEARCH and REPLACE blocks: their form, and their effect on a text. Pure.

use super::edit_effect::EditEffect;
use super::text::{to_crlf, to_lf};

/// One of Cline's blocks: whole lines, each with its newline.
pub struct Block {
    search: String,
    replace: String,
}

/// Parses the blocks. None: there is none, or one is not complete.
pub fn parse(diff: &str) -> Option<Vec<Block>> {
    let mut blocks = Vec::new();
    // the block that is read, and the side of it
    let mut open: Option<(Block, bool)> = None;
    for line in to_lf(diff).split_inclusive('\n') {
        let marker = line.trim_end();
        match &mut open {
            None if is_marker(marker, &['-', '<'], " SEARCH") => {
                let block = Block {
                    search: String::new(),
                    replace: String::new(),
                };
                open = Some((block, false));
            }
            None if marker.is_empty() => {}
            None => return None,
            Some((_, side @ false)) if is_marker(marker, &['='], "") => *side = true,
            Some((_, true)) if is_marker(marker, &['+', '>'], " REPLACE") => {
                blocks.extend(open.take().map(|(block, _)| block));
            }
            Some((block, false)) => block.search.push_str(line),
            Some((block, true)) => block.replace.push_str(line),
        }
    }
    (open.is_none() && !blocks.is_empty()).then_some(blocks)
}

/// At least three of one sign, and then the word.
fn is_marker(line: &str, signs: &[char], word: &str) -> bool {
    let Some(bar) = line.strip_suffix(word) else {
        return false;
    };
    signs
        .iter()
        .any(|sign| bar.len() >= 3 && bar.chars().all(|char| char == *sign))
}

/// Each block is looked for after the one before it.
pub fn apply(text: Option<&str>, blocks: &[Block]) -> EditEffect {
    let original = text.unwrap_or_default();
    let crlf = original.contains("\r\n");
    let text = to_lf(original);
    let (mut after, mut done) = (String::new(), 0);
    for (number, block) in blocks.iter().enumerate() {
        if block.search.is_empty() {
            if !text.is_empty() || blocks.len() > 1 {
                return EditEffect::Open(format!("block {} has nothing to search", number + 1));
            }
            return EditEffect::Text(block.replace.clone());
        }
        let Some(at) = text[done..].find(&block.search) else {
            let reason = format!("block {} is not in the file as written", number + 1);
            return EditEffect::Open(reason);
        };
        after.push_str(&text[done..done + at]);
        after.push_str(&block.replace);
        done += at + block.search.len();
    }
    after.push_str(&text[done..]);
    EditEffect::Text(if crlf { to_crlf(&after) } else { after })
}
