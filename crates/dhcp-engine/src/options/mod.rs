//! Configured options: the options that each scope sets, compiled, and the choice of the options
//! that a reply carries.
//!
//! A scope is a host, pool, subnet, shared network, class or the global one. Each has a
//! [`ScopeOptions`]; a reply is put together from those that concern its client, in order of
//! precedence. `codes` has sets of codes, `list` the options of one space within one scope, `put`
//! the choice, `vendor` the options with an enterprise number. The code of each family's reply
//! decides which scopes concern a client. Kea reference §1.4; RFC 2132, RFC 9915 §21.

mod codes;
mod list;
mod selection;
mod vendor;

use dhcp_config::{OptionData, OptionSpace};

pub use codes::{CodeSet, OptionCode};
pub use list::{CodeList, EncodedOption};
pub use selection::{OptionSelection, select_options, selected_entry};
pub use vendor::{CABLE_LABS, CABLE_LABS_ORO, ReplyOptionWriter, VendorQuery, Vendors, put_all};

use crate::classify::ClassIndex;

/// Options that one scope of the configuration sets, in compiled form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeOptions<C> {
    standard: CodeList<C>,
    /// Sub-options of each vendor, with the vendor's enterprise number, ascending by number.
    vendors: Box<[(u32, CodeList<C>)]>,
    /// True if the scope sets any option of a vendor: a vendor class, or sub-options.
    has_vendor_options: bool,
}

impl<C: OptionCode> ScopeOptions<C> {
    /// Compiles the configured options of one scope. `class` finds the class of a name; it returns
    /// `None` for a class that no client can be in.
    pub fn compile(options: &[OptionData<C>], class: impl Fn(&str) -> Option<ClassIndex>) -> Self {
        let of_space = |space| {
            let inside = options.iter().filter(|option| option.space == space);
            CodeList::new(inside.map(|option| EncodedOption::new(option, &class)).collect())
        };
        let mut enterprises: Vec<u32> = options
            .iter()
            .filter_map(|option| match option.space {
                OptionSpace::Standard => None,
                OptionSpace::Vendor(enterprise) => Some(enterprise),
            })
            .collect();
        enterprises.sort_unstable();
        enterprises.dedup();
        let vendors: Box<[_]> = enterprises
            .into_iter()
            .map(|number| (number, of_space(OptionSpace::Vendor(number))))
            .collect();
        let standard = of_space(OptionSpace::Standard);
        let vendor_codes = CodeSet::from_codes(&[C::VENDOR_CLASS, C::VENDOR_OPTIONS]);
        let has_vendor_options = !(standard.present & vendor_codes).is_empty();
        Self { has_vendor_options: has_vendor_options || !vendors.is_empty(), standard, vendors }
    }

    /// Returns true if the scope sets no option.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.standard.is_empty() && self.vendors.is_empty()
    }

    /// Returns the options of the scope in the family's own option space, `dhcp4` or `dhcp6`.
    #[must_use]
    pub const fn standard(&self) -> &CodeList<C> {
        &self.standard
    }

    /// Returns the sub-options that the scope sets for the vendor with this enterprise number.
    #[must_use]
    pub fn vendor(&self, enterprise: u32) -> Option<&CodeList<C>> {
        let at = self.vendors.binary_search_by_key(&enterprise, |(number, _)| *number).ok()?;
        Some(&self.vendors[at].1)
    }
}

impl<C: OptionCode> Default for ScopeOptions<C> {
    fn default() -> Self {
        let standard = CodeList::default();
        Self { standard, vendors: Box::default(), has_vendor_options: false }
    }
}
