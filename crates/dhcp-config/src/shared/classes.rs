//! Client classes as configured, and references to them: guards of scopes, tags of options.

use super::Lifetime;
use super::options::data::OptionData;
use crate::expression::{Condition, TextExpression};

/// Element of `client-classes`. `C` is the type of an option code, `B` that of the settings that
/// only one family's classes have.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientClass<C, B> {
    /// Unique name.
    pub name: String,
    /// Test of membership; `None` when only reservations and lists of other classes assign the
    /// class.
    pub test: Option<ClassTest>,
    /// `only-in-additional-list`: tested only where a scope's
    /// [`additional`](ClassGuards::additional) list names it, after allocation. Default false.
    pub only_in_additional_list: bool,
    /// Options of the class, ordered by code.
    pub options: Vec<OptionData<C>>,
    /// Valid lifetime of members; takes precedence over those of subnets and networks.
    pub valid_lifetime: Option<Lifetime>,
    /// Settings that only one family has.
    pub own: B,
}

/// Test of a class: an expression in Kea's language (its manual, "Client Classification").
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassTest {
    /// `test`: a client for which the condition is true is in the class.
    Test {
        /// Expression as written.
        source: String,
        /// Compiled condition.
        condition: Condition,
    },
    /// `template-test`: members are in the class itself and in `SPAWN_<name>_<value>`, unless the
    /// value is empty.
    Template {
        /// Expression as written.
        source: String,
        /// Compiled text.
        text: TextExpression,
    },
}

/// Lists of class names of a network, subnet, pool or prefix pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassGuards {
    /// `client-classes` (or the single `client-class` of older files): clients in any of these may
    /// use the scope; every client when empty.
    pub required: Vec<String>,
    /// `evaluate-additional-classes` (`require-client-classes` of older files), in order.
    pub additional: Vec<String>,
}
