//! Text of an expression to tokens.

use super::contexts::ExpressionError;
use super::number;

/// The longest expression, in UTF-16 code units.
pub(super) const MAX_LENGTH: usize = 21_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LexemeKind {
    LeftParen,
    RightParen,
    LeftBracket,
    RightBracket,
    Comma,
    Dot,
    Star,
    Not,
    NotEqual,
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    And,
    Or,
    Number,
    Text,
    Name,
    True,
    False,
    Null,
    End,
}

#[derive(Clone, Debug)]
pub(super) struct Lexeme<'a> {
    pub kind: LexemeKind,
    /// Byte offset of the first character.
    pub start: usize,
    /// The token as it stands in the text; without quotes for a text.
    pub raw: &'a str,
    /// The value of a number.
    pub number: f64,
}

impl Lexeme<'_> {
    /// The token as errors show it.
    pub fn shown(&self) -> String {
        match self.kind {
            LexemeKind::End => "EOF".into(),
            LexemeKind::Text => self.text(),
            _ => self.raw.into(),
        }
    }

    /// The value of a text: two quotes are one.
    pub fn text(&self) -> String {
        self.raw.replace("''", "'")
    }
}

/// An error at a byte offset of an expression.
pub(super) fn error_at(
    description: &str,
    shown: &str,
    start: usize,
    expression: &str,
) -> ExpressionError {
    let position = expression[..start].encode_utf16().count() + 1;
    ExpressionError::new(format!(
        "{description}: '{shown}'. Located at position {position} within expression: {expression}"
    ))
}

/// Tokens of a text, the last one of kind `End`.
pub(super) fn lex(text: &str) -> Result<Vec<Lexeme<'_>>, ExpressionError> {
    if text.encode_utf16().count() > MAX_LENGTH {
        return Err(ExpressionError::new(format!(
            "Exceeded max expression length {MAX_LENGTH}"
        )));
    }
    let mut lexer = ExpressionLexer {
        text,
        start: 0,
        offset: 0,
        tokens: Vec::new(),
    };
    while let Some(first) = lexer.next() {
        lexer.token(first)?;
    }
    // as in GitHub's parser, the end has the place of the last token or space before it
    lexer.offset = lexer.start;
    lexer.push(LexemeKind::End, 0.0);
    Ok(lexer.tokens)
}

struct ExpressionLexer<'a> {
    text: &'a str,
    /// Start of the token that is being read.
    start: usize,
    offset: usize,
    tokens: Vec<Lexeme<'a>>,
}

impl<'a> ExpressionLexer<'a> {
    /// Begins a token with the next character.
    fn next(&mut self) -> Option<char> {
        let first = self.peek()?;
        self.start = self.offset;
        self.offset += first.len_utf8();
        Some(first)
    }

    fn peek(&self) -> Option<char> {
        self.text[self.offset..].chars().next()
    }

    fn lexeme(&self) -> &'a str {
        &self.text[self.start..self.offset]
    }

    fn push(&mut self, kind: LexemeKind, number: f64) {
        let lexeme = self.lexeme();
        self.tokens.push(Lexeme {
            kind,
            start: self.start,
            raw: lexeme,
            number,
        });
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) {
        while let Some(next) = self.peek().filter(|next| is_part(*next)) {
            self.offset += next.len_utf8();
        }
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.offset += wanted.len_utf8();
        }
        found
    }

    fn unexpected(&self) -> ExpressionError {
        error_at("Unexpected symbol", self.lexeme(), self.start, self.text)
    }

    fn token(&mut self, first: char) -> Result<(), ExpressionError> {
        let kind = match first {
            '(' => LexemeKind::LeftParen,
            ')' => LexemeKind::RightParen,
            '[' => LexemeKind::LeftBracket,
            ']' => LexemeKind::RightBracket,
            ',' => LexemeKind::Comma,
            '*' => LexemeKind::Star,
            '.' if self.follows_operand() => LexemeKind::Dot,
            '.' | '-' | '+' | '0'..='9' => return self.number(),
            '!' if self.take('=') => LexemeKind::NotEqual,
            '!' => LexemeKind::Not,
            '<' if self.take('=') => LexemeKind::LessOrEqual,
            '<' => LexemeKind::Less,
            '>' if self.take('=') => LexemeKind::GreaterOrEqual,
            '>' => LexemeKind::Greater,
            '=' if self.take('=') => LexemeKind::Equal,
            '&' if self.take('&') => LexemeKind::And,
            '|' if self.take('|') => LexemeKind::Or,
            '\'' => return self.text(),
            _ if first.is_whitespace() => return Ok(()),
            _ => return self.name(),
        };
        self.push(kind, 0.0);
        Ok(())
    }

    fn last(&self) -> Option<LexemeKind> {
        self.tokens.last().map(|token| token.kind)
    }

    fn follows_operand(&self) -> bool {
        matches!(
            self.last(),
            Some(
                LexemeKind::Name
                    | LexemeKind::RightBracket
                    | LexemeKind::RightParen
                    | LexemeKind::Star
            )
        )
    }

    fn number(&mut self) -> Result<(), ExpressionError> {
        self.take_while(|next| next == '.' || !is_boundary(next));
        let value = number::parse(self.lexeme());
        if value.is_nan() {
            return Err(self.unexpected());
        }
        self.push(LexemeKind::Number, value);
        Ok(())
    }

    fn text(&mut self) -> Result<(), ExpressionError> {
        loop {
            self.take_while(|next| next != '\'');
            if !self.take('\'') {
                return Err(self.unexpected());
            }
            if !self.take('\'') {
                break;
            }
        }
        let lexeme = &self.text[self.start + 1..self.offset - 1];
        self.push(LexemeKind::Text, 0.0);
        if let Some(token) = self.tokens.last_mut() {
            token.raw = lexeme;
        }
        Ok(())
    }

    fn name(&mut self) -> Result<(), ExpressionError> {
        self.take_while(|next| !is_boundary(next));
        let lexeme = self.lexeme();
        if !is_name(lexeme) {
            return Err(self.unexpected());
        }
        let is_property = self.last() == Some(LexemeKind::Dot);
        let (kind, value) = match lexeme {
            _ if is_property => (LexemeKind::Name, 0.0),
            "true" => (LexemeKind::True, 0.0),
            "false" => (LexemeKind::False, 0.0),
            "null" => (LexemeKind::Null, 0.0),
            "NaN" => (LexemeKind::Number, f64::NAN),
            "Infinity" => (LexemeKind::Number, f64::INFINITY),
            _ => (LexemeKind::Name, 0.0),
        };
        self.push(kind, value);
        Ok(())
    }
}

/// True for a character that ends a name or a number.
fn is_boundary(next: char) -> bool {
    matches!(
        next,
        '(' | '[' | ')' | ']' | ',' | '.' | '!' | '>' | '<' | '=' | '&' | '|'
    ) || next.is_whitespace()
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text
            .chars()
            .all(|next| next.is_ascii_alphanumeric() || next == '_' || next == '-')
}
