//! Terms that a pool, subnet or shared network of either family sets for its clients: the clients
//! that it may serve (`client-classes`), the classes that the server tests once it has served
//! (`evaluate-additional-classes`), and its options.

use dhcp_config::{ClassGuards, OptionData};

use crate::classify::{ClassIndex, Classes, Guard};
use crate::options::{OptionCode, ScopeOptions};

/// Compiled terms of one scope; `C` is the type of an option code.
#[derive(Clone, Debug)]
pub struct ScopeTerms<C> {
    /// Condition on the classes of clients that may be served from the scope (`client-classes`).
    pub guard: Guard,
    /// Client classes that are tested once the scope has served the client, in order
    /// (`evaluate-additional-classes`).
    pub additional: Box<[ClassIndex]>,
    /// Options that the scope itself sets.
    pub options: ScopeOptions<C>,
}

impl<C: OptionCode> ScopeTerms<C> {
    /// Compiles the class guards and options of a scope. The names in `guards` and in the tags of
    /// the options were passed to [`Classes::compile`] before.
    #[must_use]
    pub fn compile(guards: &ClassGuards, options: &[OptionData<C>], classes: &Classes) -> Self {
        Self {
            guard: Guard::compile(&guards.required, classes),
            additional: guards.additional.iter().filter_map(|name| classes.index(name)).collect(),
            options: ScopeOptions::compile(options, |name| classes.index(name)),
        }
    }
}
