//! Copies of a table's leases by another server, page by page, while the leases change.

use std::collections::BTreeMap;

use super::super::LeaseTable;
use super::{SECOND_NS, START, change, commit, for_both_families, lease_for, slot};
use crate::contract::Action;
use crate::lease::Lease;
use crate::sample::SampleFamily;
use crate::table::changed::{ChangesPage, ChangesRequest};

for_both_families! {
    a_round_has_what_has_changed_since_the_round_before,
    a_copy_that_another_one_replaces_is_not_known,
    a_copy_whose_server_no_longer_asks_is_forgotten,
    a_step_of_the_clock_ends_a_copy,
    more_changes_than_can_be_noted_end_a_copy,
}

/// Number of addresses in a page of the model.
const PAGE: usize = 3;
const FIRST: u32 = 0x0a00_0000;

/// Model of a server that copies the leases of a table, and has none of its own.
pub(super) struct TableCopy<F: SampleFamily> {
    number: u64,
    after: Option<F::Address>,
    has_all: bool,
    /// Leases that are in use, by address.
    pub(super) leases: BTreeMap<u32, Lease<F>>,
}

fn is_running<F: SampleFamily>(lease: &Lease<F>) -> bool {
    lease.valid_lifetime_s > 0 && !lease.state.is_past()
}

impl<F: SampleFamily> TableCopy<F> {
    /// Begins the copy number `number` of the leases of `table`.
    pub(super) fn begin(table: &LeaseTable<F>, number: u64) -> Self {
        table.note_changes(number, 0);
        Self { number, after: None, has_all: false, leases: BTreeMap::new() }
    }

    /// Asks for a page of all leases, or of those that have changed if there is none. Returns true
    /// after the page of changes.
    pub(super) fn go_on(&mut self, table: &LeaseTable<F>, is_last_round: bool) -> bool {
        if self.has_all {
            self.take_changes(table, is_last_round);
            return true;
        }
        let page = table.page(self.after, PAGE);
        self.has_all = page.len() < PAGE;
        self.after = page.last().map(|lease| lease.address);
        page.into_iter().for_each(|lease| self.store(lease));
        false
    }

    fn take_changes(&mut self, table: &LeaseTable<F>, is_last_round: bool) {
        let mut from = 0;
        loop {
            let request = ChangesRequest { copy: self.number, from, limit: PAGE, is_last_round };
            let page = table.changed().page(request, 0).expect("all changes are known");
            for lease in &page.ended {
                let number = F::number(lease.address);
                let own = self.leases.get(&number);
                let is_it =
                    |own: &Lease<F>| own.client == lease.client && own.cltt_s <= lease.cltt_s;
                if own.is_some_and(is_it) {
                    self.leases.remove(&number);
                }
            }
            let present = page.addresses.iter().filter_map(|address| table.lease(*address));
            present.for_each(|lease| self.store(lease));
            from += PAGE;
            if from >= page.total {
                return;
            }
        }
    }

    /// Stores a lease as a primary server does: its own stays if it is as late.
    fn store(&mut self, lease: Lease<F>) {
        let number = F::number(lease.address);
        let is_own_preferred = self.leases.get(&number).is_some_and(|own| {
            if own.client == lease.client {
                own.cltt_s > lease.cltt_s
            } else {
                lease.state.is_past() || own.cltt_s >= lease.cltt_s
            }
        });
        if is_own_preferred {
        } else if is_running(&lease) {
            self.leases.insert(number, lease);
        } else {
            self.leases.remove(&number);
        }
    }
}

fn table<F: SampleFamily>() -> LeaseTable<F> {
    let table = LeaseTable::<F>::new(3);
    table.configure(&[F::pool(FIRST, FIRST + 511)], &[]);
    table.begin(START);
    table.follow_clock(START);
    table
}

fn lease<F: SampleFamily>(table: &LeaseTable<F>, who: u32, number: u32) {
    let free = slot(table, &table.pools(), START, number).unwrap();
    commit(table, START, who, &free, lease_for::<F>(100)).unwrap();
}

fn round<F: SampleFamily>(
    table: &LeaseTable<F>,
    copy: u64,
    is_last_round: bool,
) -> Option<ChangesPage<F>> {
    let request = ChangesRequest { copy, from: 0, limit: usize::MAX, is_last_round };
    table.changed().page(request, 0)
}

/// Returns the numbers of the addresses of a page.
fn numbers<F: SampleFamily>(page: Option<ChangesPage<F>>) -> Vec<u32> {
    page.unwrap().addresses.iter().map(|address| F::number(*address) - FIRST).collect()
}

fn a_round_has_what_has_changed_since_the_round_before<F: SampleFamily>() {
    let table = table::<F>();
    lease(&table, 1, FIRST);
    table.note_changes(7, 0);
    lease(&table, 2, FIRST + 300);
    lease(&table, 3, FIRST + 2);
    assert_eq!(numbers(round(&table, 7, false)), [2, 300]);
    let used = slot(&table, &table.pools(), START, FIRST).unwrap();
    table.apply(START, &[change(1, &used, Action::Release)], super::SETTLED, &mut |_| {}).unwrap();
    lease(&table, 4, FIRST + 300 - 1);
    let page = round(&table, 7, true).unwrap();
    assert_eq!(numbers(Some(page.clone())), [0, 299]);
    let ended: Vec<u32> = page.ended.iter().map(|lease| F::number(lease.address) - FIRST).collect();
    assert_eq!(ended, [0]);
    lease(&table, 5, FIRST + 5);
    assert_eq!(numbers(round(&table, 7, true)), [], "nothing is noted after the last round");
}

fn a_copy_that_another_one_replaces_is_not_known<F: SampleFamily>() {
    let table = table::<F>();
    assert_eq!(round(&table, 0, false), None);
    table.note_changes(7, 0);
    lease(&table, 1, FIRST);
    table.note_changes(8, 0);
    lease(&table, 2, FIRST + 1);
    assert_eq!(round(&table, 7, false), None);
    assert_eq!(numbers(round(&table, 8, false)), [1]);
}

fn a_copy_whose_server_no_longer_asks_is_forgotten<F: SampleFamily>() {
    let table = table::<F>();
    for (wait_s, is_known) in [(300, true), (301, false)] {
        table.note_changes(7, SECOND_NS);
        table.changed().end_unused((1 + wait_s) * SECOND_NS);
        assert_eq!(round(&table, 7, false).is_some(), is_known, "{wait_s} s");
    }
}

fn a_step_of_the_clock_ends_a_copy<F: SampleFamily>() {
    let table = table::<F>();
    table.note_changes(7, 0);
    let now = START.after_ns(SECOND_NS);
    let stepped = base::Now { wall_us: now.wall_us - 3_600_000_000, ..now };
    slot(&table, &table.pools(), stepped, FIRST);
    assert_eq!(round(&table, 7, false), None);
}

fn more_changes_than_can_be_noted_end_a_copy<F: SampleFamily>() {
    let table = table::<F>();
    lease(&table, 1, FIRST);
    let before = table.lease(F::address(FIRST)).unwrap();
    table.note_changes(7, 0);
    for number in 0..65_537 {
        assert!(table.changed().is_noting(), "{number}");
        let address = F::address(number);
        let lease = Lease { address, ..before.clone() };
        table.changed().note(address, Some(&lease), None);
    }
    assert_eq!(round(&table, 7, false), None);
    table.changed().end_unused(0);
    table.note_changes(8, 0);
    assert_eq!(numbers(round(&table, 8, false)), []);
}
