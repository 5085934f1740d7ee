//! Options that the operator defines, and the look-up of any option by code or name.

use std::collections::BTreeMap;

use super::definition::Definition;
use crate::shared::family::ConfigFamily;
use crate::source::SourcePosition;

/// Options that the configuration file defines, by code and by name. Readers of option data find
/// them here, wherever the definitions are.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    custom: Vec<Custom>,
    /// Positions of definitions in `custom`, ascending, by space and code.
    by_code: BTreeMap<String, BTreeMap<u16, Vec<usize>>>,
    /// Positions of definitions in `custom`, ascending, by space and name.
    by_name: BTreeMap<String, BTreeMap<String, Vec<usize>>>,
}

/// Option that the configuration file defines, with its space and position.
#[derive(Debug)]
pub(super) struct Custom {
    pub(super) space: String,
    pub(super) definition: Definition,
    pub(super) at: SourcePosition,
}

/// Code or name that identifies an option.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OptionKey<'k> {
    /// Code of the option.
    Code(u16),
    /// Name of the option.
    Name(&'k str),
}

impl OptionKey<'_> {
    pub(super) fn is_of(self, definition: &Definition) -> bool {
        match self {
            Self::Code(code) => definition.code == code,
            Self::Name(name) => definition.name == name,
        }
    }
}

impl Definitions {
    /// Returns the definition of the option `key` in the space `space`. Definitions of the file
    /// come first: the checks let the file define again only those standard options that it may.
    pub(crate) fn find<F: ConfigFamily>(
        &self,
        space: &str,
        key: OptionKey<'_>,
    ) -> Option<&Definition> {
        self.custom(space, key).map(|custom| &custom.definition).or_else(|| {
            let space = F::SPACES.iter().find(|standard| standard.name == space)?;
            match key {
                OptionKey::Code(code) => space.by_code(code),
                OptionKey::Name(_) => space.definitions.iter().find(|d| key.is_of(d)),
            }
        })
    }

    /// Returns the names of all options of the space `space`.
    pub(super) fn names<F: ConfigFamily>(&self, space: &str) -> Vec<&str> {
        let standard = F::SPACES.iter().filter(|standard| standard.name == space);
        let standard = standard.flat_map(|space| space.definitions).map(|d| &*d.name);
        let custom = self.custom.iter().filter(|custom| custom.space == space);
        standard.chain(custom.map(|custom| &*custom.definition.name)).collect()
    }

    /// Returns the number of options that the configuration file defines.
    pub(super) const fn len(&self) -> usize {
        self.custom.len()
    }

    fn custom(&self, space: &str, key: OptionKey<'_>) -> Option<&Custom> {
        // A class's own definitions come last and take precedence.
        self.positions(space, key).last().map(|&at| &self.custom[at])
    }

    fn positions(&self, space: &str, key: OptionKey<'_>) -> &[usize] {
        let positions = match key {
            OptionKey::Code(code) => self.by_code.get(space).and_then(|codes| codes.get(&code)),
            OptionKey::Name(name) => self.by_name.get(space).and_then(|names| names.get(name)),
        };
        positions.map_or(&[], |positions| positions)
    }

    /// Returns the first definition of the option `key` in `space` at or after the position `mark`.
    pub(super) fn since(&self, mark: usize, space: &str, key: OptionKey<'_>) -> Option<&Custom> {
        let positions = self.positions(space, key);
        positions.iter().find(|&&at| at >= mark).map(|&at| &self.custom[at])
    }

    pub(super) fn push(&mut self, custom: Custom) {
        let (space, at) = (&custom.space, self.custom.len());
        let Definition { code, ref name, .. } = custom.definition;
        let codes = self.by_code.entry(space.clone()).or_default();
        codes.entry(code).or_default().push(at);
        let names = self.by_name.entry(space.clone()).or_default();
        names.entry(name.clone().into_owned()).or_default().push(at);
        self.custom.push(custom);
    }

    pub(super) fn truncate(&mut self, mark: usize) {
        for custom in self.custom.drain(mark..).rev() {
            let codes = self.by_code.get_mut(&custom.space);
            codes.and_then(|codes| codes.get_mut(&custom.definition.code)?.pop());
            let names = self.by_name.get_mut(&custom.space);
            names.and_then(|names| names.get_mut(&*custom.definition.name)?.pop());
        }
    }
}
