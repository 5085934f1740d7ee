//! Client classes as the configuration has them, and references to them: guards of scopes, tags of
//! options.

use super::Lifetime;
use super::options::data::OptionData;
use crate::expression::{Condition, TextExpression};

/// Client class: an element of `client-classes`. `C` is the type of an option code, `B` that of the
/// settings that only one family's classes have.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientClass<C, B> {
    /// Unique name of the class.
    pub name: String,
    /// Test of membership in the class; `None` when only reservations and
    /// `evaluate-additional-classes` assign it.
    pub test: Option<ClassTest>,
    /// True if the class is tested only where a scope's [`additional`](ClassGuards::additional)
    /// list names it, after allocation (`only-in-additional-list`). Default false.
    pub only_in_additional_list: bool,
    /// Options of replies to members of the class, ordered by code.
    pub options: Vec<OptionData<C>>,
    /// Valid lifetime of leases of the class's members, in seconds; takes precedence over those of
    /// subnets and networks.
    pub valid_lifetime: Option<Lifetime>,
    /// Settings of the class that only one family has.
    pub own: B,
}

/// Test of a client class: an expression in Kea's language (its manual, "Client Classification").
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassTest {
    /// Condition of the class (`test`): a client for which it is true is in the class.
    Test {
        /// Text of the condition as written.
        source: String,
        /// Condition of the class in compiled form.
        condition: Condition,
    },
    /// Template of classes (`template-test`): members are in the class itself and in
    /// `SPAWN_<name>_<value>`, unless the value is empty.
    Template {
        /// Text of the template expression as written.
        source: String,
        /// Compiled expression whose value names the class.
        text: TextExpression,
    },
}

/// Class names in a network, subnet, pool or prefix pool: classes that may use the scope, and
/// classes tested once it is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassGuards {
    /// Names of classes of which a client needs one to use the scope (`client-classes`, or the
    /// single `client-class` of older files); every client may when empty.
    pub required: Vec<String>,
    /// Names of classes that the server tests once a client uses the scope, in order
    /// (`evaluate-additional-classes`, or `require-client-classes` of older files).
    pub additional: Vec<String>,
}
