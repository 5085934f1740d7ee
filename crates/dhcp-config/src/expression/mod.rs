//! Kea's expression language for tests of client classes and for host identifiers made from
//! messages.
//!
//! [`parse_condition`] and [`parse_text`] turn text into a tree with types checked, names of
//! options and classes resolved and regular expressions compiled. Values of messages are looked up
//! when the tree is evaluated, elsewhere. Kea's manual defines the language in "Client
//! Classification"; where manual and server differ this follows the server. Precedence, lowest
//! first: `sor`, `or`, `sand`, `and`, `not`, `==`, `+`; all left-associative.
//!
//! Differences from Kea: `substring` and `split` take integers of 32 bits only, and brackets nest
//! up to [`DEPTH_MAX`] deep.

mod ast;
mod lexer;
mod parser;
mod pattern;

pub use ast::{
    Condition, Conversion, Field4, Field6, OptionPath, OptionValueForm, PacketField, Print, Term,
    TextExpression,
};
pub use parser::{parse_condition, parse_text};
pub use pattern::Pattern;

use crate::shared::options::definition::Field;

/// Maximum depth of nested brackets, functions and `not` in an expression: a file from another
/// author must not exhaust the stack.
pub const DEPTH_MAX: usize = 100;

/// Error in a class expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    /// Position of the error, in bytes from the beginning of the expression's text.
    pub offset: usize,
    /// Description of the error, as a phrase for the operator.
    pub message: String,
}

/// Options and classes that expressions of one family may name, and the types of those options.
pub trait Vocabulary {
    /// Returns true if the expressions are for DHCPv6, false for DHCPv4.
    fn is_v6(&self) -> bool;
    /// Returns the code of the standard option of the family that is named `name`, if one is.
    fn option_code(&self, name: &str) -> Option<u16>;
    /// Returns true if the value of the standard option `code` is characters.
    fn holds_characters(&self, code: u16) -> bool;
    /// Returns the type of the values of a standard option that has values of one type, and true if
    /// the option may have several; `None` for any other option.
    fn values(&self, code: u16) -> Option<(Field, bool)> {
        let _ = code;
        None
    }
    /// Checks that an expression may name the class `name` in `member`; the parser calls it for
    /// each class, in order.
    ///
    /// # Errors
    /// Returns the reason why `member` must not name the class, as a phrase for the operator.
    fn check_class(&mut self, name: &str) -> Result<(), String>;
    /// Compiles the regular expression `source` of the function `match`.
    ///
    /// # Errors
    /// Returns the fault of the regular expression, as a phrase for the operator.
    fn pattern(&mut self, source: &str) -> Result<Pattern, String> {
        Pattern::new(source)
    }
}
