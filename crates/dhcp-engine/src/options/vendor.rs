//! Options of vendors: those that name vendor classes, and those that hold a vendor's sub-options.
//!
//! Replies may carry several options of one code, each with its enterprise number. The rules are
//! Kea's. A client gets a vendor's sub-options if it names the vendor, or if the reply has a
//! configured option of the vendor: those with `always-send`, and CableLabs' sub-options that the
//! client requests in sub-option 1. RFC 3925, RFC 9915 §21.16 and §21.17.

use super::ScopeOptions;
use super::codes::{CodeSet, OptionCode};
use super::list::EncodedOption;
use super::selection::{OptionSelection, is_selected, select_options};

/// Enterprise number of CableLabs, the vendor whose sub-option 1 lists codes of sub-options that
/// the client requests.
pub const CABLE_LABS: u32 = 4491;
/// Code of the sub-option in which CableLabs' clients list the codes of the sub-options that they
/// request.
pub const CABLE_LABS_ORO: u16 = 1;

/// Largest number of vendors whose options one reply carries. Further ones are left out.
const VENDORS_MAX: usize = 16;

/// Set of vendors by enterprise number, ascending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vendors {
    numbers: [u32; VENDORS_MAX],
    count: usize,
}

impl Vendors {
    /// Adds the enterprise number of a vendor if there are fewer than 16 so far.
    pub fn insert(&mut self, enterprise: u32) {
        let numbers = &self.numbers[..self.count];
        if let Err(at) = numbers.binary_search(&enterprise)
            && self.count < VENDORS_MAX
        {
            self.numbers.copy_within(at..self.count, at + 1);
            self.numbers[at] = enterprise;
            self.count += 1;
        }
    }

    /// Returns the enterprise numbers of the vendors, ascending.
    #[must_use]
    pub fn numbers(&self) -> &[u32] {
        &self.numbers[..self.count]
    }
}

/// Vendors that a client names in its message, and the sub-options that it requests.
#[derive(Clone, Copy, Debug)]
pub struct VendorQuery<I> {
    /// Vendors that the client's message names.
    pub vendors: Vendors,
    /// Codes of CableLabs' sub-options that the client requests.
    pub requested: I,
}

/// Writer of a reply's options.
pub trait ReplyOptionWriter<C> {
    /// Writes an option with this code and value into the reply message.
    fn option(&mut self, code: C, octets: &[u8]);

    /// Begins an option with the sub-options of the vendor `enterprise`; it already contains
    /// `sub_options`.
    fn begin_vendor(&mut self, enterprise: u32, sub_options: &[u8]);

    /// Adds a sub-option to the vendor's option that was begun last.
    fn vendor_option(&mut self, code: C, octets: &[u8]);

    /// Ends the vendor's option that was begun last.
    fn end_vendor(&mut self);

    /// Returns true if `code` is among `sub_options`, the value of a configured option after its
    /// enterprise number.
    fn has_sub_option(sub_options: &[u8], code: C) -> bool;

    /// Returns the sub-options in the value of a configured option with a vendor's sub-options.
    fn sub_options(octets: &[u8]) -> &[u8];
}

/// Writes all configured options that a client gets, those of vendors included. `scopes` come in
/// order of precedence.
pub fn put_all<'l, C, I, L, J, W>(
    scopes: impl Fn() -> L,
    selection: &OptionSelection<'_, I>,
    query: &VendorQuery<J>,
    writer: &mut W,
) where
    C: OptionCode + 'l,
    I: Iterator<Item = C> + Clone,
    J: Iterator<Item = C> + Clone,
    L: Iterator<Item = &'l ScopeOptions<C>>,
    W: ReplyOptionWriter<C>,
{
    let vendor_codes = CodeSet::from_codes(&[C::VENDOR_CLASS, C::VENDOR_OPTIONS]);
    let mut plain = OptionSelection { requested: selection.requested.clone(), ..*selection };
    plain.withheld |= vendor_codes;
    select_options(
        || scopes().map(ScopeOptions::standard),
        &plain,
        |code, octets| {
            writer.option(code, octets);
        },
    );
    if !scopes().any(|scope| scope.has_vendor_options) {
        return;
    }
    each_enterprise(&scopes, selection, C::VENDOR_CLASS, |entry, _| {
        writer.option(entry.code, &entry.octets);
    });
    let mut vendors = query.vendors;
    each_enterprise(&scopes, selection, C::VENDOR_OPTIONS, |_, number| vendors.insert(number));
    for &enterprise in vendors.numbers() {
        put_vendor(&scopes, selection, enterprise, query.requested.clone(), writer);
    }
}

/// Passes the configured options with one code that the client gets to `take`, one of each
/// enterprise.
fn each_enterprise<'l, C, I, L>(
    scopes: &impl Fn() -> L,
    selection: &OptionSelection<'_, I>,
    code: u16,
    mut take: impl FnMut(&'l EncodedOption<C>, u32),
) where
    C: OptionCode + 'l,
    I: Iterator<Item = C> + Clone,
    L: Iterator<Item = &'l ScopeOptions<C>>,
{
    let Ok(code) = C::try_from(code) else { return };
    let lists = || scopes().map(ScopeOptions::standard);
    if !is_selected(lists, selection, code) {
        return;
    }
    let mut written_vendors = Vendors::default();
    for entry in lists().flat_map(|list| list.entries_for(code)) {
        let Some(enterprise) = entry.enterprise() else { continue };
        if entry.fits(selection.classes) && !written_vendors.numbers().contains(&enterprise) {
            written_vendors.insert(enterprise);
            take(entry, enterprise);
        }
    }
}

/// Writes the option with the sub-options of one vendor, if there are any sub-options or a scope
/// configures the option.
fn put_vendor<'l, C, I, L, J, W>(
    scopes: &impl Fn() -> L,
    selection: &OptionSelection<'_, I>,
    enterprise: u32,
    requested: J,
    writer: &mut W,
) where
    C: OptionCode + 'l,
    I: Iterator<Item = C> + Clone,
    J: Iterator<Item = C> + Clone,
    L: Iterator<Item = &'l ScopeOptions<C>>,
    W: ReplyOptionWriter<C>,
{
    let mut sub_options: &[u8] = &[];
    let mut is_begun = false;
    each_enterprise(scopes, selection, C::VENDOR_OPTIONS, |entry: &EncodedOption<C>, number| {
        if number == enterprise {
            sub_options = W::sub_options(&entry.octets);
            is_begun = true;
        }
    });
    if is_begun {
        writer.begin_vendor(enterprise, sub_options);
    }
    let requested = (enterprise == CABLE_LABS).then_some(requested).into_iter().flatten();
    // Sub-options go in the order of their codes, not of the client's list.
    let mut low = CodeSet::default();
    requested.clone().for_each(|code| low.insert(code.into()));
    let inner = OptionSelection {
        requested: requested.filter(|&code| !CodeSet::can_hold(code.into())),
        unconditional: low,
        withheld: CodeSet::default(),
        classes: selection.classes,
    };
    select_options(
        || scopes().filter_map(|scope| scope.vendor(enterprise)),
        &inner,
        |code, octets| {
            if W::has_sub_option(sub_options, code) {
                return;
            }
            if !is_begun {
                writer.begin_vendor(enterprise, &[]);
                is_begun = true;
            }
            writer.vendor_option(code, octets);
        },
    );
    if is_begun {
        writer.end_vendor();
    }
}
