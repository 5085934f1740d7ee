//! What a pool, subnet or shared network says of its clients, whatever the family: who may be served,
//! which classes are tested once it has served, and which options it sets.

use dhcp_config::{ClassGuards, OptionData};

use crate::classify::{ClassIndex, Classes, Guard};
use crate::options::{OptionCode, ScopeOptions};

/// The compiled terms of one scope; `C` is the type of an option code.
#[derive(Clone, Debug)]
pub struct ScopeTerms<C> {
    /// Who may be served from it.
    pub guard: Guard,
    /// Classes that are tested once it has served, in order.
    pub additional: Box<[ClassIndex]>,
    /// Its own options.
    pub options: ScopeOptions<C>,
}

impl<C: OptionCode> ScopeTerms<C> {
    /// Compiles what a scope is configured with. `classes` has been told of the names in `guards`
    /// and in the tags of the options.
    #[must_use]
    pub fn compile(guards: &ClassGuards, options: &[OptionData<C>], classes: &Classes) -> Self {
        Self {
            guard: Guard::compile(&guards.required, classes),
            additional: guards.additional.iter().filter_map(|name| classes.index(name)).collect(),
            options: ScopeOptions::compile(options, |name| classes.index(name)),
        }
    }
}

/// The names of classes that a scope refers to: what [`Classes::compile`] has to be told.
pub fn referred<'s, C>(
    guards: &'s ClassGuards,
    options: &'s [OptionData<C>],
) -> impl Iterator<Item = &'s str> {
    let guards = guards.required.iter().chain(&guards.additional);
    let tags = options.iter().flat_map(|option| &option.client_classes);
    guards.chain(tags).map(String::as_str)
}
