//! Tokens of an expression to a tree, with the errors of GitHub's parser.

use super::contexts::{Allowed, ExpressionError};
use super::functions;
use super::lexer::{self, Lexeme, LexemeKind, error_at};

/// The greatest depth of an expression.
const MAX_DEPTH: usize = 50;

#[derive(Debug)]
pub(super) enum ExpressionNode {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Context(String),
    Not(Box<ExpressionNode>),
    /// Comparisons from left to right: the first operand, then each operator with its right side.
    Compare(Box<ExpressionNode>, Vec<(CompareOperator, ExpressionNode)>),
    And(Vec<ExpressionNode>),
    Or(Vec<ExpressionNode>),
    IndexOperand(Box<ExpressionNode>, IndexOperand),
    Call(String, Vec<ExpressionNode>),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum CompareOperator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

#[derive(Debug)]
pub(super) enum IndexOperand {
    /// `[*]` or `.*`.
    Star,
    Value(Box<ExpressionNode>),
}

/// Checks the syntax of an expression, its contexts, its functions and the numbers of their arguments.
pub fn check(text: &str, allowed: &Allowed) -> Result<(), ExpressionError> {
    parse(text, Some(allowed)).map(|_| ())
}

/// Checks the syntax of an expression alone.
pub fn check_syntax(text: &str) -> Result<(), ExpressionError> {
    parse(text, None).map(|_| ())
}

/// The tree of a text; none for an empty text. Without `allowed` every context and every function is allowed.
pub(super) fn parse(
    text: &str,
    allowed: Option<&Allowed>,
) -> Result<Option<ExpressionNode>, ExpressionError> {
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
    tokens: Vec<Lexeme<'a>>,
    offset: usize,
    depth: usize,
    allowed: Option<&'a Allowed>,
}

type NodeResult = Result<ExpressionNode, ExpressionError>;

impl<'a> Parser<'a> {
    fn peek(&self) -> &Lexeme<'a> {
        &self.tokens[self.offset]
    }

    fn at_end(&self) -> bool {
        self.peek().kind == LexemeKind::End
    }

    /// Takes the next token, unless it is the end.
    fn next(&mut self) -> Lexeme<'a> {
        let token = self.peek().clone();
        if token.kind != LexemeKind::End {
            self.offset += 1;
        }
        token
    }

    fn take(&mut self, kind: LexemeKind) -> bool {
        let found = self.peek().kind == kind;
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, kind: LexemeKind) -> Result<(), ExpressionError> {
        if self.take(kind) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    fn error(&self, description: &str, token: &Lexeme<'_>) -> ExpressionError {
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

    fn expression(&mut self) -> NodeResult {
        self.enter()?;
        let node = self.or()?;
        self.depth -= 1;
        Ok(node)
    }

    fn or(&mut self) -> NodeResult {
        self.chain(LexemeKind::Or, Self::and, ExpressionNode::Or)
    }

    fn and(&mut self) -> NodeResult {
        self.chain(LexemeKind::And, Self::equality, ExpressionNode::And)
    }

    fn chain(
        &mut self,
        operator: LexemeKind,
        operand: fn(&mut Self) -> NodeResult,
        node: fn(Vec<ExpressionNode>) -> ExpressionNode,
    ) -> NodeResult {
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

    fn equality(&mut self) -> NodeResult {
        self.comparisons(Self::comparison, |kind| match kind {
            LexemeKind::Equal => Some(CompareOperator::Equal),
            LexemeKind::NotEqual => Some(CompareOperator::NotEqual),
            _ => None,
        })
    }

    fn comparison(&mut self) -> NodeResult {
        self.comparisons(Self::unary, |kind| match kind {
            LexemeKind::Greater => Some(CompareOperator::Greater),
            LexemeKind::GreaterOrEqual => Some(CompareOperator::GreaterOrEqual),
            LexemeKind::Less => Some(CompareOperator::Less),
            LexemeKind::LessOrEqual => Some(CompareOperator::LessOrEqual),
            _ => None,
        })
    }

    fn comparisons(
        &mut self,
        operand: fn(&mut Self) -> NodeResult,
        operator: fn(LexemeKind) -> Option<CompareOperator>,
    ) -> NodeResult {
        let first = operand(self)?;
        let mut rest = Vec::new();
        while let Some(comparison) = operator(self.peek().kind) {
            self.next();
            rest.push((comparison, operand(self)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(ExpressionNode::Compare(Box::new(first), rest))
    }

    fn unary(&mut self) -> NodeResult {
        if !self.take(LexemeKind::Not) {
            return self.postfix();
        }
        self.enter()?;
        let operand = self.unary()?;
        self.depth -= 1;
        Ok(ExpressionNode::Not(Box::new(operand)))
    }

    fn postfix(&mut self) -> NodeResult {
        let is_group = self.peek().kind == LexemeKind::LeftParen;
        let mut node = self.operand()?;
        if !is_group && !matches!(node, ExpressionNode::Call(..) | ExpressionNode::Context(_)) {
            return Ok(node);
        }
        let depth = self.depth;
        loop {
            let index = if self.take(LexemeKind::LeftBracket) {
                let index = if self.take(LexemeKind::Star) {
                    IndexOperand::Star
                } else {
                    IndexOperand::Value(Box::new(self.expression()?))
                };
                self.expect(LexemeKind::RightBracket)?;
                self.enter()?;
                index
            } else if self.take(LexemeKind::Dot) {
                self.enter()?;
                if self.peek().kind == LexemeKind::Name {
                    IndexOperand::Value(Box::new(ExpressionNode::Text(self.next().raw.into())))
                } else if self.take(LexemeKind::Star) {
                    IndexOperand::Star
                } else {
                    return Err(self.unexpected());
                }
            } else {
                break;
            };
            node = ExpressionNode::IndexOperand(Box::new(node), index);
        }
        self.depth = depth;
        Ok(node)
    }

    fn operand(&mut self) -> NodeResult {
        if self.at_end() {
            return Err(self.unexpected_end());
        }
        let token = self.peek().clone();
        let node = match token.kind {
            LexemeKind::Name => return self.name(),
            LexemeKind::LeftParen => return self.group(),
            LexemeKind::True => ExpressionNode::Bool(true),
            LexemeKind::False => ExpressionNode::Bool(false),
            LexemeKind::Null => ExpressionNode::Null,
            LexemeKind::Number => ExpressionNode::Number(token.number),
            LexemeKind::Text => ExpressionNode::Text(token.text()),
            _ => return Err(self.unexpected()),
        };
        self.next();
        Ok(node)
    }

    fn group(&mut self) -> NodeResult {
        self.next();
        let node = self.expression()?;
        if self.at_end() {
            return Err(self.unexpected_end());
        }
        self.expect(LexemeKind::RightParen)?;
        Ok(node)
    }

    /// A context or a call.
    fn name(&mut self) -> NodeResult {
        let token = self.next();
        if self.take(LexemeKind::LeftParen) {
            return self.call(&token);
        }
        let is_allowed = self.allowed.is_none_or(|allowed| {
            let mut names = allowed.contexts.iter();
            names.any(|name| name.eq_ignore_ascii_case(token.raw))
        });
        if !is_allowed {
            return Err(self.error("Unrecognized named-value", &token));
        }
        Ok(ExpressionNode::Context(token.raw.into()))
    }

    fn call(&mut self, function: &Lexeme<'a>) -> NodeResult {
        let mut arguments = Vec::new();
        if !self.take(LexemeKind::RightParen) {
            loop {
                arguments.push(self.expression()?);
                if self.take(LexemeKind::RightParen) {
                    break;
                }
                self.expect(LexemeKind::Comma)?;
            }
        }
        let bounds = functions::bounds(function.raw).or_else(|| {
            let allowed = self.allowed?;
            let mut functions = allowed.functions.iter();
            let found = functions.find(|(name, ..)| name.eq_ignore_ascii_case(function.raw));
            found.map(|&(_, least, greatest)| (least, greatest))
        });
        let count = arguments.len();
        let description = match bounds {
            None if self.allowed.is_some() => "Unrecognized function",
            Some((least, _)) if count < least => "Too few parameters supplied",
            Some((_, greatest)) if count > greatest => "Too many parameters supplied",
            _ if function.raw.eq_ignore_ascii_case("case") && count.is_multiple_of(2) => {
                "Even number of parameters supplied, requires an odd number of parameters"
            }
            _ => return Ok(ExpressionNode::Call(function.raw.into(), arguments)),
        };
        Err(self.error(description, function))
    }
}
