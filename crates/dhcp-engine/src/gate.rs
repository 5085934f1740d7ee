//! Who may be served from a scope, and which classes are tested once it has served: the two lists of
//! class names that networks, subnets and pools have.

use dhcp_config::{ClassGuards, OptionData};

use crate::classify::{ClassIndex, ClassSet, Classes, Guard};

/// The compiled lists of one scope.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    guard: Guard,
    /// Classes to test after allocation, in order.
    pub additional: Box<[ClassIndex]>,
}

impl Gate {
    /// Compiles the lists of a scope, whose names `classes` was told of.
    #[must_use]
    pub fn compile(guards: &ClassGuards, classes: &Classes) -> Self {
        let additional = guards.additional.iter().filter_map(|name| classes.index(name)).collect();
        Self { guard: Guard::compile(&guards.required, classes), additional }
    }

    /// Whether a client in these classes may be served.
    #[must_use]
    #[inline]
    pub fn admits(&self, set: &ClassSet) -> bool {
        self.guard.admits(set)
    }
}

/// The names of classes that a scope refers to: in its lists and on its options.
pub fn names<'c, C>(
    guards: Option<&'c ClassGuards>,
    options: &'c [OptionData<C>],
) -> impl Iterator<Item = &'c str> {
    let lists =
        guards.into_iter().flat_map(|guards| guards.required.iter().chain(&guards.additional));
    let tags = options.iter().flat_map(|option| &option.client_classes);
    lists.chain(tags).map(String::as_str)
}
