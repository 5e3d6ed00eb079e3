//! Tokens of an expression to a tree, with the errors of GitHub's parser.

use super::contexts::{Allowed, ExpressionError};
use super::functions;
use super::lexer::{self, Kind, Token, error_at};

/// The greatest depth of an expression.
const MAX_DEPTH: usize = 50;

#[derive(Debug)]
pub(super) enum Node {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Context(String),
    Not(Box<Node>),
    /// Comparisons from left to right: the first operand, then each operator with its right side.
    Compare(Box<Node>, Vec<(Comparison, Node)>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Index(Box<Node>, Index),
    Call(String, Vec<Node>),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

#[derive(Debug)]
pub(super) enum Index {
    /// `[*]` or `.*`.
    Star,
    Value(Box<Node>),
}

/// Checks the syntax of an expression, its contexts, its functions and the numbers of their arguments.
pub fn check(text: &str, allowed: &Allowed) -> Result<(), ExpressionError> {
    parse(text, Some(allowed)).map(|_| ())
}

/// The tree of a text; none for an empty text. Without `allowed` every context and every function is allowed.
pub(super) fn parse(
    text: &str,
    allowed: Option<&Allowed>,
) -> Result<Option<Node>, ExpressionError> {
    let mut parser = Parser {
        text,
        tokens: lexer::lex(text)?,
        offset: 0,
        depth: 0,
        allowed,
    };
    if parser.at_end() {
        return Ok(None);
    }
    let node = parser.expression()?;
    if !parser.at_end() {
        return Err(parser.unexpected());
    }
    Ok(Some(node))
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    offset: usize,
    depth: usize,
    allowed: Option<&'a Allowed>,
}

type Parsed = Result<Node, ExpressionError>;

impl<'a> Parser<'a> {
    fn peek(&self) -> &Token<'a> {
        &self.tokens[self.offset]
    }

    fn at_end(&self) -> bool {
        self.peek().kind == Kind::End
    }

    /// Takes the next token, unless it is the end.
    fn next(&mut self) -> Token<'a> {
        let token = self.peek().clone();
        if token.kind != Kind::End {
            self.offset += 1;
        }
        token
    }

    fn take(&mut self, kind: Kind) -> bool {
        let found = self.peek().kind == kind;
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, kind: Kind) -> Result<(), ExpressionError> {
        if self.take(kind) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    fn error(&self, description: &str, token: &Token<'_>) -> ExpressionError {
        error_at(description, &token.shown(), token.start, self.text)
    }

    fn unexpected(&self) -> ExpressionError {
        self.error("Unexpected symbol", self.peek())
    }

    fn unexpected_end(&self) -> ExpressionError {
        let last = &self.tokens[self.offset.saturating_sub(1)];
        self.error("Unexpected end of expression", last)
    }

    fn enter(&mut self) -> Result<(), ExpressionError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let description = format!("Exceeded max expression depth {MAX_DEPTH}");
            return Err(self.error(&description, self.peek()));
        }
        Ok(())
    }

    fn expression(&mut self) -> Parsed {
        self.enter()?;
        let node = self.or()?;
        self.depth -= 1;
        Ok(node)
    }

    fn or(&mut self) -> Parsed {
        self.chain(Kind::Or, Self::and, Node::Or)
    }

    fn and(&mut self) -> Parsed {
        self.chain(Kind::And, Self::equality, Node::And)
    }

    fn chain(
        &mut self,
        operator: Kind,
        operand: fn(&mut Self) -> Parsed,
        node: fn(Vec<Node>) -> Node,
    ) -> Parsed {
        let first = operand(self)?;
        if self.peek().kind != operator {
            return Ok(first);
        }
        self.enter()?;
        let mut operands = vec![first];
        while self.take(operator) {
            operands.push(operand(self)?);
        }
        self.depth -= 1;
        Ok(node(operands))
    }

    fn equality(&mut self) -> Parsed {
        self.comparisons(Self::comparison, |kind| match kind {
            Kind::Equal => Some(Comparison::Equal),
            Kind::NotEqual => Some(Comparison::NotEqual),
            _ => None,
        })
    }

    fn comparison(&mut self) -> Parsed {
        self.comparisons(Self::unary, |kind| match kind {
            Kind::Greater => Some(Comparison::Greater),
            Kind::GreaterOrEqual => Some(Comparison::GreaterOrEqual),
            Kind::Less => Some(Comparison::Less),
            Kind::LessOrEqual => Some(Comparison::LessOrEqual),
            _ => None,
        })
    }

    fn comparisons(
        &mut self,
        operand: fn(&mut Self) -> Parsed,
        operator: fn(Kind) -> Option<Comparison>,
    ) -> Parsed {
        let first = operand(self)?;
        let mut rest = Vec::new();
        while let Some(comparison) = operator(self.peek().kind) {
            self.next();
            rest.push((comparison, operand(self)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(Node::Compare(Box::new(first), rest))
    }

    fn unary(&mut self) -> Parsed {
        if !self.take(Kind::Not) {
            return self.postfix();
        }
        self.enter()?;
        let operand = self.unary()?;
        self.depth -= 1;
        Ok(Node::Not(Box::new(operand)))
    }

    fn postfix(&mut self) -> Parsed {
        let is_group = self.peek().kind == Kind::LeftParen;
        let mut node = self.operand()?;
        if !is_group && !matches!(node, Node::Call(..) | Node::Context(_)) {
            return Ok(node);
        }
        let depth = self.depth;
        loop {
            let index = if self.take(Kind::LeftBracket) {
                let index = if self.take(Kind::Star) {
                    Index::Star
                } else {
                    Index::Value(Box::new(self.expression()?))
                };
                self.expect(Kind::RightBracket)?;
                self.enter()?;
                index
            } else if self.take(Kind::Dot) {
                self.enter()?;
                if self.peek().kind == Kind::Name {
                    Index::Value(Box::new(Node::Text(self.next().lexeme.into())))
                } else if self.take(Kind::Star) {
                    Index::Star
                } else {
                    return Err(self.unexpected());
                }
            } else {
                break;
            };
            node = Node::Index(Box::new(node), index);
        }
        self.depth = depth;
        Ok(node)
    }

    fn operand(&mut self) -> Parsed {
        if self.at_end() {
            return Err(self.unexpected_end());
        }
        let token = self.peek().clone();
        let node = match token.kind {
            Kind::Name => return self.name(),
            Kind::LeftParen => return self.group(),
            Kind::True => Node::Bool(true),
            Kind::False => Node::Bool(false),
            Kind::Null => Node::Null,
            Kind::Number => Node::Number(token.number),
            Kind::Text => Node::Text(token.text()),
            _ => return Err(self.unexpected()),
        };
        self.next();
        Ok(node)
    }

    fn group(&mut self) -> Parsed {
        self.next();
        let node = self.expression()?;
        if self.at_end() {
            return Err(self.unexpected_end());
        }
        self.expect(Kind::RightParen)?;
        Ok(node)
    }

    /// A context or a call.
    fn name(&mut self) -> Parsed {
        let token = self.next();
        if self.take(Kind::LeftParen) {
            return self.call(&token);
        }
        let is_allowed = self.allowed.is_none_or(|allowed| {
            let mut names = allowed.contexts.iter();
            names.any(|name| name.eq_ignore_ascii_case(token.lexeme))
        });
        if !is_allowed {
            return Err(self.error("Unrecognized named-value", &token));
        }
        Ok(Node::Context(token.lexeme.into()))
    }

    fn call(&mut self, function: &Token<'a>) -> Parsed {
        let mut arguments = Vec::new();
        if !self.take(Kind::RightParen) {
            loop {
                arguments.push(self.expression()?);
                if self.take(Kind::RightParen) {
                    break;
                }
                self.expect(Kind::Comma)?;
            }
        }
        let bounds = functions::bounds(function.lexeme).or_else(|| {
            let allowed = self.allowed?;
            let mut functions = allowed.functions.iter();
            let found = functions.find(|(name, ..)| name.eq_ignore_ascii_case(function.lexeme));
            found.map(|&(_, least, greatest)| (least, greatest))
        });
        let count = arguments.len();
        let description = match bounds {
            None if self.allowed.is_some() => "Unrecognized function",
            Some((least, _)) if count < least => "Too few parameters supplied",
            Some((_, greatest)) if count > greatest => "Too many parameters supplied",
            _ if function.lexeme.eq_ignore_ascii_case("case") && count.is_multiple_of(2) => {
                "Even number of parameters supplied, requires an odd number of parameters"
            }
            _ => return Ok(Node::Call(function.lexeme.into(), arguments)),
        };
        Err(self.error(description, function))
    }
}
