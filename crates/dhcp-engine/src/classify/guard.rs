//! Guards: conditions on the classes of clients that may be served from a scope.

use super::{ClassIndex, ClassSet, Classes};

/// Compiled `client-classes` of a network, subnet or pool: the classes of which a client must be in
/// one to be served from the scope.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    required: Box<[ClassIndex]>,
    /// True if the scope requires client classes that the configuration does not define: then the
    /// scope serves no client.
    is_closed: bool,
}

impl Guard {
    /// Compiles the class names of [`ClassGuards::required`](dhcp_config::ClassGuards::required),
    /// which were passed to [`Classes::compile`] before, to a guard.
    #[must_use]
    pub fn compile(required: &[String], classes: &Classes) -> Self {
        let known_classes: Box<[ClassIndex]> =
            required.iter().filter_map(|name| classes.index(name)).collect();
        Self {
            is_closed: known_classes.is_empty() && !required.is_empty(),
            required: known_classes,
        }
    }

    /// Returns true if a client in the classes `set` may be served: it is in any of the required
    /// classes, or no class is required.
    #[must_use]
    #[inline]
    pub fn admits(&self, set: &ClassSet) -> bool {
        if self.required.is_empty() {
            return !self.is_closed;
        }
        self.required.iter().any(|&class| set.contains(class))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_class_opens_and_none_required_stands_open() {
        let none: [dhcp_config::ClientClass4; 0] = [];
        let classes = Classes::compile(&none, ["a", "b"]);
        let guard = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            Guard::compile(&names, &classes)
        };
        let mut set = ClassSet::default();
        assert!(guard(&[]).admits(&set));
        assert!(!guard(&["a", "b"]).admits(&set) && !guard(&["unheard"]).admits(&set));
        set.insert(classes.index("b").expect("a class"));
        assert!(guard(&["a", "b"]).admits(&set) && !guard(&["a"]).admits(&set));
        assert!(!guard(&["unheard"]).admits(&set) && guard(&["unheard", "b"]).admits(&set));
    }
}
