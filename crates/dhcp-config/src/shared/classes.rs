//! Client classes as configured, and what names them: guards of scopes, tags of options.

use super::Lifetime;
use super::options::OptionData;
use crate::expression::{Condition, Text};

/// One of `client-classes`. `C` is the type of an option code, `B` what only one family's classes
/// set.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientClass<C, B> {
    /// Unique name.
    pub name: String,
    /// Who is in the class; `None` when only reservations and other classes' lists say so.
    pub test: Option<ClassTest>,
    /// `only-in-additional-list`: tested only where a scope's
    /// [`additional`](ClassGuards::additional) list names it, after allocation. Default false.
    pub only_in_additional_list: bool,
    /// The class's options, ordered by code.
    pub options: Vec<OptionData<C>>,
    /// Valid lifetime of its members, before those of subnets and networks.
    pub valid_lifetime: Option<Lifetime>,
    /// What only one family has.
    pub own: B,
}

/// The test of a class: an expression in Kea's language (its manual, "Client Classification").
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassTest {
    /// `test`: the class has everyone for whom this is true.
    Test {
        /// The expression as it was written.
        source: String,
        /// What it means.
        condition: Condition,
    },
    /// `template-test`: members get the class itself and `SPAWN_<name>_<value>`, unless the value
    /// is empty.
    Template {
        /// The expression as it was written.
        source: String,
        /// What it means.
        text: Text,
    },
}

/// The lists of class names of a network, subnet, pool or prefix pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassGuards {
    /// `client-classes` (or the one `client-class` of older files): clients in any of these may use
    /// the scope; everyone when empty.
    pub required: Vec<String>,
    /// `evaluate-additional-classes` (`require-client-classes` of older files), in order.
    pub additional: Vec<String>,
}
