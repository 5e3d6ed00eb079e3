//! Simple commands, pipes and groups, from the tokens of a text. Pure.

use super::lexer::{Separator, Token, Word, WordPart};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Reads,
    Writes,
}

/// A simple command.
#[derive(Debug, Default)]
pub(super) struct Command {
    pub words: Vec<Word>,
    pub redirections: Vec<(Access, Word)>,
    /// Texts on its standard input.
    pub documents: Vec<String>,
    pub strings: Vec<Word>,
    /// True if its output goes to the next command.
    pub is_piped: bool,
}

#[derive(Debug)]
pub(super) enum ShellNode {
    Command(Command),
    /// Stands behind the command, or the end of the group, that writes into it.
    Pipe,
    Open,
    Close,
}

/// Groups tokens into commands.
pub(super) fn nodes(tokens: Vec<Token>) -> Vec<ShellNode> {
    let mut nodes = Vec::new();
    let mut command = Command::default();
    let mut redirected = None;
    let mut is_string = false;
    let end = |command: &mut Command, nodes: &mut Vec<ShellNode>| {
        let done = std::mem::take(command);
        let is_empty = done.words.is_empty()
            && done.redirections.is_empty()
            && done.documents.is_empty()
            && done.strings.is_empty();
        if !is_empty {
            nodes.push(ShellNode::Command(done));
        }
    };
    for token in tokens {
        match token {
            Token::Word(word) => match redirected.take() {
                Some(access) => command.redirections.push((access, word)),
                None if is_string => {
                    is_string = false;
                    command.strings.push(word);
                }
                None => command.words.push(word),
            },
            Token::From => redirected = Some(Access::Reads),
            Token::To => redirected = Some(Access::Writes),
            Token::HereString => is_string = true,
            Token::HereDocument(text) => command.documents.push(text),
            Token::Separator(separator) => {
                command.is_piped = separator == Separator::Pipe;
                end(&mut command, &mut nodes);
                if separator == Separator::Pipe {
                    nodes.push(ShellNode::Pipe);
                }
            }
            Token::Open => {
                end(&mut command, &mut nodes);
                nodes.push(ShellNode::Open);
            }
            Token::Close => {
                end(&mut command, &mut nodes);
                nodes.push(ShellNode::Close);
            }
        }
    }
    end(&mut command, &mut nodes);
    nodes
}

/// The text of a word without its own meaning.
pub(super) fn plain(word: &Word) -> Option<&str> {
    match &word.pieces[..] {
        [WordPart::Form(form)] if !word.quoted => Some(form),
        _ => None,
    }
}
