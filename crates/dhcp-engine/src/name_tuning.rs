//! Names of clients that expressions compute, and clients without DNS updates: Kea's hook library
//! ddns_tuning (Kea reference §1.11).

use std::sync::Arc;

use base::host_name::HOST_NAME_MAX;
use dhcp_config::{DdnsTuning, SubnetHostname};
use dhcp_wire::name::read_text;

use crate::classify::{ClassSet, Classes, PacketView, StringProgram, Workspace};
use crate::client_name::{NameTerms, has_several_labels};
use crate::name_characters::push_text;
use crate::omission::Omission;

/// Compiled expressions of the hook library ddns_tuning that are not those of a single subnet.
#[derive(Clone, Debug, Default)]
pub(crate) struct TuningPrograms {
    /// Expression of the subnets without one of their own.
    global: Option<Arc<StringProgram>>,
}

impl TuningPrograms {
    pub(crate) fn compile(tuning: Option<&DdnsTuning>, classes: &Classes) -> Self {
        let expression = tuning.and_then(|tuning| tuning.hostname.as_ref());
        Self { global: expression.map(|text| Arc::new(StringProgram::compile(text, classes))) }
    }

    /// Returns the expression that holds in a subnet with the setting `own`.
    pub(crate) fn of_subnet(
        &self,
        own: &SubnetHostname,
        classes: &Classes,
    ) -> Option<Arc<StringProgram>> {
        match own {
            SubnetHostname::Inherited => self.global.clone(),
            SubnetHostname::Off => None,
            SubnetHostname::Expression(text) => {
                Some(Arc::new(StringProgram::compile(text, classes)))
            }
        }
    }
}

/// Memory for the value of the expression for the current message.
#[derive(Debug, Default)]
pub(crate) struct TuningScratch {
    workspace: Workspace,
    octets: Vec<u8>,
    text: String,
}

impl TuningScratch {
    /// Evaluates `program`, the expression of the client's subnet, for the message in `view` of a
    /// client in `classes`. Returns `None` when the expression has no value for the message: as in
    /// Kea, the library then has no effect at all.
    pub(crate) fn evaluate(
        &mut self,
        program: Option<&StringProgram>,
        view: &impl PacketView,
        classes: &ClassSet,
    ) -> Option<NameTuning<'_>> {
        self.octets.clear();
        if let Some(program) = program
            && !program.evaluate(view, classes, &mut self.workspace, &mut self.octets)
        {
            return None;
        }
        let skips_updates = classes.contains(Classes::SKIP_DDNS);
        Some(NameTuning { computed: &self.octets, new: &mut self.text, skips_updates })
    }
}

/// Effect of the hook library ddns_tuning on the name of a client.
#[derive(Debug)]
pub(crate) struct NameTuning<'t> {
    /// Value of the expression: the name that replaces the client's, or nothing.
    computed: &'t [u8],
    /// Name that replaces the client's, once it is made.
    new: &'t mut String,
    /// True if the client is in the class `SKIP_DDNS`: the server makes no DNS updates for it.
    skips_updates: bool,
}

/// Result of [`NameTuning::make`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TunedName {
    /// True if another name replaces the client's.
    pub(crate) is_replaced: bool,
    /// True if the server makes no DNS updates for the client.
    pub(crate) skips_updates: bool,
    /// Omission from the new name because of a size limit.
    pub(crate) omission: Option<Omission>,
}

impl NameTuning<'_> {
    /// Makes the name that replaces the client's name `old`, if any does: a name of a single label
    /// is completed by the `ddns-qualifying-suffix` of `terms`, and then ends in a dot if
    /// `ends_in_dot`. As in Kea, a value that is no domain name also prevents the effect of the
    /// class `SKIP_DDNS`. So does a name that a lease cannot store, or with a dot inside a label.
    pub(crate) fn make(&mut self, old: &str, terms: &NameTerms, ends_in_dot: bool) -> TunedName {
        let new = &mut *self.new;
        new.clear();
        let skips_updates = self.skips_updates;
        let unchanged = TunedName { skips_updates, ..TunedName::default() };
        if self.computed.is_empty() || self.computed == old.as_bytes() {
            return unchanged;
        }
        if has_dot_in_label(self.computed) || !read_text(self.computed.iter().copied(), |_| ()) {
            return TunedName::default();
        }
        push_text(self.computed, new);
        if new.is_empty() || new.len() > HOST_NAME_MAX {
            return TunedName::default();
        }
        let is_partial =
            !matches!(self.computed, b"." | b"@") && !has_several_labels(self.computed);
        let mut omission = None;
        if is_partial {
            omission = terms.qualify(new);
            if ends_in_dot {
                crate::client_name::end_in_dot(new);
            } else if new.ends_with('.') {
                new.pop();
            }
        }
        if new == old {
            return unchanged;
        }
        TunedName { is_replaced: true, skips_updates, omission }
    }

    /// Replaces `name` by the name that [`Self::make`] made.
    pub(crate) fn replace(self, name: &mut String) {
        core::mem::swap(name, self.new);
    }
}

/// Returns true if a label of a name, written as text, has a dot of its own: `\.` or `\046`.
fn has_dot_in_label(name: &[u8]) -> bool {
    let mut rest = name;
    while let Some(at) = rest.iter().position(|&octet| octet == b'\\') {
        let after = &rest[at + 1..];
        if after.starts_with(b".") || after.starts_with(b"046") {
            return true;
        }
        rest = after.get(1..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the name that replaces `old` when the expression's value is `computed`, and whether
    /// updates are skipped for a client of the class `SKIP_DDNS`.
    fn tuned(computed: &[u8], old: &str, ends_in_dot: bool) -> (Option<String>, bool) {
        let terms = NameTerms { suffix: "example.org".into(), ..NameTerms::default() };
        let mut new = "before".to_owned();
        let mut tuning = NameTuning { computed, new: &mut new, skips_updates: true };
        let tuned = tuning.make(old, &terms, ends_in_dot);
        let mut name = old.to_owned();
        if tuned.is_replaced {
            tuning.replace(&mut name);
        }
        (tuned.is_replaced.then_some(name), tuned.skips_updates)
    }

    #[test]
    fn a_computed_name_of_one_label_is_completed() {
        for (computed, v4, v6) in [
            (&b"foo"[..], "foo.example.org", "foo.example.org."),
            (b"Foo_ x", "Foo_ x.example.org", "Foo_ x.example.org."),
            (b"foo.", "foo", "foo."),
            (b"a.b", "a.b", "a.b"),
            (b"a.b.", "a.b.", "a.b."),
            (br"a\\.b", r"a\\.b", r"a\\.b"),
            (b".", ".", "."),
            (b"@", "@", "@"),
        ] {
            assert_eq!(tuned(computed, "old", false), (Some(v4.to_owned()), true), "{computed:?}");
            assert_eq!(tuned(computed, "old", true), (Some(v6.to_owned()), true), "{computed:?}");
        }
    }

    #[test]
    fn a_name_stays_that_is_computed_again_or_not_at_all() {
        for (computed, old) in
            [(&b""[..], "old"), (b"old", "old"), (b"foo", "foo.example.org"), (b"", "")]
        {
            assert_eq!(tuned(computed, old, false), (None, true), "{computed:?}");
        }
    }

    #[test]
    fn a_value_that_is_no_name_has_no_effect_and_lets_updates_be() {
        let label = [b'x'; 64];
        let long = b"\xe9".repeat(200);
        let escaped = [&br"\032".repeat(60)[..], b".", &br"\032".repeat(60)].concat();
        for computed in
            [&b"a..b"[..], b".a", br"a\", br"a\.b", br"\\\046", &label, &long, &escaped, b"\0"]
        {
            assert_eq!(tuned(computed, "old", false), (None, false), "{computed:?}");
        }
    }
}
