//! The words of a shell's text: quotes, variables, substitutions, redirections and here-documents. Expands nothing. Pure.

use std::iter::Peekable;
use std::str::Chars;

/// Nesting of braces and parentheses that is looked into.
const MAX_DEPTH: usize = 16;

/// Part of a word. A *form* is a text in which a backslash stands before each character that quotes took its meaning from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WordPart {
    /// A form.
    Form(String),
    Variable {
        name: String,
        /// The text after `:-`.
        default: Option<String>,
        quoted: bool,
    },
    /// A command between `$(` and `)`, or backticks.
    Script(String),
    /// A command between `<(` and `)`, or `>(` and `)`.
    Process(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub pieces: Vec<WordPart>,
    /// True if a part of it stands in quotes.
    pub quoted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(Word),
    /// A redirection. Its file is the next word.
    From,
    To,
    /// `<<<`. Its text is the next word.
    HereString,
    HereDocument(String),
    Separator(Separator),
    Open,
    Close,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`
    Pipe,
    /// `;`, `&` or a new line.
    End,
}

/// A here-document whose text begins after the line.
struct PendingDocument {
    token: usize,
    end: String,
    strips_tabs: bool,
}

struct Lexer<'t> {
    chars: Peekable<Chars<'t>>,
    tokens: Vec<Token>,
    word: Option<Word>,
    pending: Vec<PendingDocument>,
    left: usize,
}

/// Splits a text. None: it has more tokens than `limit`.
pub(super) fn tokens(text: &str, limit: usize) -> Option<Vec<Token>> {
    let mut lexer = Lexer {
        chars: text.chars().peekable(),
        tokens: Vec::new(),
        word: None,
        pending: Vec::new(),
        left: limit,
    };
    lexer.run()?;
    Some(lexer.tokens)
}

/// Adds a character that has no meaning to a form.
fn push_literal(form: &mut String, c: char) {
    if "*?[]{},\\~".contains(c) {
        form.push('\\');
    }
    form.push(c);
}

/// Returns a text as a form without meaning.
pub(super) fn literal(text: &str) -> String {
    let mut form = String::with_capacity(text.len());
    text.chars().for_each(|c| push_literal(&mut form, c));
    form
}

impl Lexer<'_> {
    fn run(&mut self) -> Option<()> {
        while let Some(c) = self.chars.next() {
            match c {
                '\'' => self.single_quoted(),
                '"' => self.double_quoted(),
                '\\' => match self.chars.next() {
                    // a backslash at the end of a line joins it with the next
                    Some('\n') | None => {}
                    Some(c) => push_literal(self.form(), c),
                },
                '$' => self.dollar(false),
                '`' => self.backticks(),
                '#' if self.word.is_none() => while self.chars.next_if(|c| *c != '\n').is_some() {},
                '\n' => {
                    self.separator(Separator::End)?;
                    self.here_documents();
                }
                '&' if self.chars.next_if_eq(&'&').is_some() => self.separator(Separator::And)?,
                '&' if self.chars.peek() == Some(&'>') => self.end_word()?,
                ';' | '&' => self.separator(Separator::End)?,
                '|' if self.chars.next_if_eq(&'|').is_some() => self.separator(Separator::Or)?,
                '|' => {
                    self.chars.next_if_eq(&'&');
                    self.separator(Separator::Pipe)?;
                }
                '(' => self.add(Token::Open)?,
                ')' => self.add(Token::Close)?,
                '<' | '>' if self.chars.peek() == Some(&'(') => {
                    self.chars.next();
                    let script = self.balanced(')');
                    self.piece(WordPart::Process(script));
                }
                '<' | '>' => self.redirection(c)?,
                c if c.is_whitespace() => self.end_word()?,
                c => self.form().push(c),
            }
        }
        self.end_word()?;
        self.here_documents();
        Some(())
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn piece(&mut self, piece: WordPart) {
        self.word().pieces.push(piece);
    }

    /// The form at the end of the word.
    fn form(&mut self) -> &mut String {
        let pieces = &mut self.word().pieces;
        if !matches!(pieces.last(), Some(WordPart::Form(_))) {
            pieces.push(WordPart::Form(String::new()));
        }
        match pieces.last_mut() {
            Some(WordPart::Form(form)) => form,
            _ => unreachable!("a form was added"),
        }
    }

    fn end_word(&mut self) -> Option<()> {
        match self.word.take() {
            Some(word) => self.token(Token::Word(word)),
            None => Some(()),
        }
    }

    fn token(&mut self, token: Token) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        self.tokens.push(token);
        Some(())
    }

    fn add(&mut self, token: Token) -> Option<()> {
        self.end_word()?;
        self.token(token)
    }

    fn separator(&mut self, separator: Separator) -> Option<()> {
        self.add(Token::Separator(separator))
    }

    fn single_quoted(&mut self) {
        self.word().quoted = true;
        self.form();
        while let Some(c) = self.chars.next_if(|c| *c != '\'') {
            push_literal(self.form(), c);
        }
        self.chars.next();
    }

    fn double_quoted(&mut self) {
        self.word().quoted = true;
        self.form();
        while let Some(c) = self.chars.next() {
            match c {
                '"' => return,
                '\\' => match self.chars.next() {
                    Some('\n') | None => {}
                    Some(c) => {
                        if !"\"\\$`".contains(c) {
                            push_literal(self.form(), '\\');
                        }
                        push_literal(self.form(), c);
                    }
                },
                '$' => self.dollar(true),
                '`' => self.backticks(),
                c => push_literal(self.form(), c),
            }
        }
    }

    fn backticks(&mut self) {
        let mut script = String::new();
        while let Some(c) = self.chars.next() {
            match c {
                '`' => break,
                '\\' => script.extend(self.chars.next()),
                c => script.push(c),
            }
        }
        self.piece(WordPart::Script(script));
    }

    /// The text up to a closing bracket, without it. Brackets within, and quotes, are skipped.
    fn balanced(&mut self, close: char) -> String {
        let open = if close == ')' { '(' } else { '{' };
        let (mut text, mut depth, mut quote) = (String::new(), 1, None);
        while let Some(c) = self.chars.next() {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (None | Some('"'), '\\') => {
                    text.push(c);
                    text.extend(self.chars.next());
                    continue;
                }
                (None, '\'' | '"') => quote = Some(c),
                (None, c) if c == open && depth < MAX_DEPTH => depth += 1,
                (None, c) if c == close => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                _ => {}
            }
            text.push(c);
        }
        text
    }

    fn dollar(&mut self, quoted: bool) {
        match self.chars.peek().copied() {
            Some('\'') if !quoted => {
                self.chars.next();
                self.ansi_quoted();
            }
            Some('"') if !quoted => {
                self.chars.next();
                self.double_quoted();
            }
            Some('(') => {
                self.chars.next();
                let script = self.balanced(')');
                // a sum has no path
                let is_sum = script.starts_with('(') && script.ends_with(')');
                self.piece(if is_sum {
                    unknown(quoted)
                } else {
                    WordPart::Script(script)
                });
            }
            Some('{') => {
                self.chars.next();
                let text = self.balanced('}');
                let end = text.find(|c: char| !is_name(c)).unwrap_or(text.len());
                let (name, rest) = text.split_at(end);
                let default = rest.strip_prefix(":-").or_else(|| rest.strip_prefix('-'));
                // one that is cut or replaced is near its value
                let piece = WordPart::Variable {
                    name: name.to_owned(),
                    default: default.map(str::to_owned),
                    quoted,
                };
                self.piece(piece);
            }
            Some(c) if is_name(c) => {
                let mut name = String::new();
                while let Some(c) = self.chars.next_if(|c| is_name(*c)) {
                    name.push(c);
                }
                self.piece(WordPart::Variable {
                    name,
                    default: None,
                    quoted,
                });
            }
            Some('?' | '#' | '@' | '*' | '!' | '$' | '-') => {
                self.chars.next();
                self.piece(unknown(quoted));
            }
            _ => push_literal(self.form(), '$'),
        }
    }

    /// `$'…'`
    fn ansi_quoted(&mut self) {
        self.word().quoted = true;
        self.form();
        while let Some(c) = self.chars.next() {
            let c = match c {
                '\'' => return,
                '\\' => match self.chars.next() {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some('x') => self.code(16, 2),
                    Some('u') => self.code(16, 4),
                    Some('U') => self.code(16, 8),
                    Some('0') => self.code(8, 3),
                    Some(c) => c,
                    None => return,
                },
                c => c,
            };
            push_literal(self.form(), c);
        }
    }

    fn code(&mut self, radix: u32, digits: usize) -> char {
        let mut value = 0;
        for _ in 0..digits {
            let digit = self.chars.peek().and_then(|c| c.to_digit(radix));
            let Some(digit) = digit else { break };
            value = value * radix + digit;
            self.chars.next();
        }
        char::from_u32(value).unwrap_or('\u{fffd}')
    }

    fn redirection(&mut self, c: char) -> Option<()> {
        // the number of a descriptor
        let is_number = |word: &Word| match &word.pieces[..] {
            [WordPart::Form(form)] => {
                !word.quoted && form.bytes().all(|byte| byte.is_ascii_digit())
            }
            _ => false,
        };
        if self.word.as_ref().is_some_and(is_number) {
            self.word = None;
        }
        self.end_word()?;
        if c == '<' && self.chars.next_if_eq(&'<').is_some() {
            if self.chars.next_if_eq(&'<').is_some() {
                return self.token(Token::HereString);
            }
            return self.here_document();
        }
        self.chars.next_if(|next| matches!(next, '>' | '|'));
        if self.chars.next_if_eq(&'&').is_some() {
            let is_descriptor = |c: &char| c.is_ascii_digit() || *c == '-';
            if self.chars.peek().is_some_and(is_descriptor) {
                while self.chars.next_if(is_descriptor).is_some() {}
                return Some(());
            }
        }
        self.token(if c == '<' { Token::From } else { Token::To })
    }

    fn here_document(&mut self) -> Option<()> {
        let strips_tabs = self.chars.next_if_eq(&'-').is_some();
        while self.chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        let mut end = String::new();
        let mut quote = None;
        while let Some(&c) = self.chars.peek() {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (None, '\\') => {}
                (None, c) if c.is_whitespace() || ";|&<>()".contains(c) => break,
                (_, c) => end.push(c),
            }
            self.chars.next();
        }
        self.pending.push(PendingDocument {
            token: self.tokens.len(),
            end,
            strips_tabs,
        });
        self.token(Token::HereDocument(String::new()))
    }

    /// Reads the texts of the here-documents of a line.
    fn here_documents(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            let mut body = String::new();
            while self.chars.peek().is_some() {
                let mut line = String::new();
                while let Some(c) = self.chars.next_if(|c| *c != '\n') {
                    line.push(c);
                }
                self.chars.next();
                let line = if pending.strips_tabs {
                    line.trim_start_matches('\t')
                } else {
                    &line
                };
                if line == pending.end {
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            if let Some(Token::HereDocument(text)) = self.tokens.get_mut(pending.token) {
                *text = body;
            }
        }
    }
}

/// A value that is not known.
fn unknown(quoted: bool) -> WordPart {
    WordPart::Variable {
        name: String::new(),
        default: None,
        quoted,
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Splits code of any language into the words that may be paths: at blanks and operators, and at quotes.
pub(super) fn parts_of_code(text: &str, limit: usize) -> Vec<String> {
    let is_end = |c: char| c.is_whitespace() || ";|&<>()`{},'\"=".contains(c);
    let mut parts: Vec<String> = Vec::new();
    let mut add = |part: &str| {
        if !part.is_empty() && parts.len() < limit && !parts.iter().any(|one| one == part) {
            parts.push(part.to_owned());
        }
    };
    text.split(is_end).for_each(&mut add);
    // a string may have a bracket or a blank in its name
    for quote in ['\'', '"', '`'] {
        let mut strings = text.split(quote);
        strings.next();
        strings
            .filter(|string| !string.contains(['\n', '\'', '"']) && string.contains(is_end))
            .for_each(&mut add);
    }
    parts
}
