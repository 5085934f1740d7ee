//! Kea's expression language: tests of client classes, host identifiers made from messages.
//!
//! [`parse_condition`] and [`parse_text`] turn text into a tree with types checked, names of options
//! and classes resolved and regular expressions compiled. What a message says is looked up when the
//! tree is run, elsewhere. Kea's manual has the language in "Client Classification"; where manual and
//! server differ this follows the server. Precedence, from what binds least: `sor`, `or`, `sand`,
//! `and`, `not`, `==`, `+`; all to the left.
//!
//! What differs from Kea: `substring` and `split` take integers of 32 bits only, and brackets nest up
//! to [`DEPTH_MAX`] deep.

mod ast;
mod lexer;
mod parser;
mod pattern;

pub use ast::{Condition, Conversion, Field4, Field6, Form, PacketField, Path, Print, Term, Text};
pub use parser::{parse_condition, parse_text};
pub use pattern::Pattern;

use crate::shared::options::Field;

/// How deep brackets, functions and `not` may nest: a file of somebody else must not exhaust the
/// stack.
pub const DEPTH_MAX: usize = 100;

/// What is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    /// Where, in octets from the beginning of the text.
    pub offset: usize,
    /// What, as a phrase for the operator.
    pub message: String,
}

/// What expressions of one family may refer to.
pub trait Vocabulary {
    /// DHCPv6 rather than DHCPv4.
    fn is_v6(&self) -> bool;
    /// The code of an option of the family's own space, by the name of its definition.
    fn option_code(&self, name: &str) -> Option<u16>;
    /// Whether an option of the family's own space holds characters.
    fn holds_characters(&self, code: u16) -> bool;
    /// Type of the values of an option of the family's own space that has values of one type, and
    /// whether there may be several; `None` of any other.
    fn values(&self, code: u16) -> Option<(Field, bool)> {
        let _ = code;
        None
    }
    /// Whether `member` may name this class; asked for each, in order.
    ///
    /// # Errors
    /// Why not, as a phrase for the operator.
    fn check_class(&mut self, name: &str) -> Result<(), String>;
    /// Compiles a regular expression of `match`.
    ///
    /// # Errors
    /// The fault, as a phrase for the operator.
    fn pattern(&mut self, source: &str) -> Result<Pattern, String> {
        Pattern::new(source)
    }
}
