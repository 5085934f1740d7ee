//! Slots of a stripe of the lease table: pages for the blocks of 256 addresses that have pools,
//! created when first touched, and a sparse part for addresses whose block has no row. A slot never
//! moves and is never removed.

use core::hash::BuildHasher;
use core::ops::Range;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::slot::LeaseSlot;
use super::table_family::TableFamily;

/// Number of slots in one page of a stripe. Neighbours in a page are addresses 256 apart, one of
/// each neighbouring block.
const PAGE: usize = 32;
/// Largest number of pages of slots that are read under one lock.
const PART_PAGES: usize = 32;
/// Bit that marks the id of a slot in the sparse part.
const SPARSE: u32 = 1 << 30;

/// Slots of a stripe, addressed by ids: the row of the block, or a position in the sparse part.
pub(super) struct StripeSlots<F: TableFamily> {
    pages: Vec<Option<Box<[LeaseSlot<F>; PAGE]>>>,
    sparse: Vec<LeaseSlot<F>>,
    sparse_ids: HashTable<u32>,
}

fn hash_of(slot_number: u32) -> u64 {
    FixedState::with_seed(0).hash_one(slot_number)
}

impl<F: TableFamily> Default for StripeSlots<F> {
    fn default() -> Self {
        Self { pages: Vec::new(), sparse: Vec::new(), sparse_ids: HashTable::new() }
    }
}

impl<F: TableFamily> StripeSlots<F> {
    /// Makes room for `rows` rows of slots, with their pages when `prefill`.
    pub(super) fn reserve(&mut self, rows: usize, prefill: bool) {
        let pages = rows.div_ceil(PAGE);
        if self.pages.len() < pages {
            self.pages.reserve_exact(pages - self.pages.len());
            self.pages.resize_with(pages, || None);
        }
        if prefill {
            for page in &mut self.pages {
                page.get_or_insert_with(fresh_page);
            }
        }
    }

    /// Returns the id of the slot `slot_number`, whose block has `row`; `None` when the slot has
    /// not been made yet.
    pub(super) fn find(&self, slot_number: u32, row: Option<u32>) -> Option<u32> {
        if !self.sparse.is_empty()
            && let Some(&id) = self
                .sparse_ids
                .find(hash_of(slot_number), |&id| self.sparse[id as usize].number == slot_number)
        {
            return Some(SPARSE | id);
        }
        let row = row?;
        self.pages.get(row as usize / PAGE)?.as_ref().map(|_| row)
    }

    /// Returns the id of the slot of `address` with `slot_number`, and creates the slot if
    /// necessary.
    pub(super) fn make(&mut self, slot_number: u32, row: Option<u32>, address: F::Address) -> u32 {
        if let Some(id) = self.find(slot_number, row) {
            self.get_mut(id).settle_at(slot_number, address);
            return id;
        }
        let Some(row) = row else { return self.make_sparse(slot_number, address) };
        self.reserve(row as usize + 1, false);
        let page = self.pages[row as usize / PAGE].get_or_insert_with(fresh_page);
        page[row as usize % PAGE].settle_at(slot_number, address);
        row
    }

    fn make_sparse(&mut self, slot_number: u32, address: F::Address) -> u32 {
        let id = self.sparse.len() as u32;
        assert!(id < SPARSE, "fewer leases than places");
        self.sparse.push(LeaseSlot::fresh(slot_number, address));
        let sparse = &self.sparse;
        self.sparse_ids
            .insert_unique(hash_of(slot_number), id, |&id| hash_of(sparse[id as usize].number));
        SPARSE | id
    }

    /// Returns the first of the ids from `id` to `end` (one of [`StripeSlots::part_ids`]' ranges)
    /// whose slot has been made; `end` when there is none.
    pub(super) fn next_made(&self, mut id: u32, end: u32) -> u32 {
        while id < end && id & SPARSE == 0 && self.pages[id as usize / PAGE].is_none() {
            id = (id / PAGE as u32 + 1) * PAGE as u32;
        }
        id.min(end)
    }

    pub(super) fn get(&self, id: u32) -> &LeaseSlot<F> {
        if id & SPARSE != 0 {
            return &self.sparse[(id & !SPARSE) as usize];
        }
        let page = self.pages[id as usize / PAGE].as_ref().expect("an id leads to a slot");
        &page[id as usize % PAGE]
    }

    pub(super) fn get_mut(&mut self, id: u32) -> &mut LeaseSlot<F> {
        if id & SPARSE != 0 {
            return &mut self.sparse[(id & !SPARSE) as usize];
        }
        let page = self.pages[id as usize / PAGE].as_mut().expect("an id leads to a slot");
        &mut page[id as usize % PAGE]
    }

    /// Returns the touched slots of the stripe, in parts small enough to be read under the lock:
    /// call it with 0, 1, 2 ... until it returns `None`.
    pub(super) fn part(&self, number: usize) -> Option<impl Iterator<Item = &LeaseSlot<F>>> {
        // Pages and sparse slots in turn, as both may grow meanwhile.
        let (at, is_sparse) = (number / 2, number % 2 == 1);
        let page_parts = self.pages.len().div_ceil(PART_PAGES);
        let sparse_parts = self.sparse.len().div_ceil(PART_PAGES * PAGE);
        if at >= page_parts.max(sparse_parts) {
            return None;
        }
        let pages = self.pages.iter().skip(at * PART_PAGES).take(PART_PAGES);
        let sparse = self.sparse.iter().skip(at * PART_PAGES * PAGE).take(PART_PAGES * PAGE);
        let paged = pages.filter(move |_| !is_sparse).flatten().flat_map(|page| page.iter());
        let slots = paged.chain(sparse.filter(move |_| is_sparse));
        Some(slots.filter(|slot| slot.version != 0))
    }

    /// Returns the ids of the slots of one part of the stripe, see [`StripeSlots::part`].
    pub(super) fn part_ids(&self, number: usize) -> Option<Range<u32>> {
        let (at, is_sparse) = (number / 2, number % 2 == 1);
        let _ = self.part(number)?;
        let slots = (PART_PAGES * PAGE) as u32;
        let (from, len) =
            if is_sparse { (SPARSE, self.sparse.len()) } else { (0, self.pages.len() * PAGE) };
        let start = (at as u32 * slots).min(len as u32);
        Some(from | start..from | (start + slots).min(len as u32))
    }

    /// Returns all touched slots of the stripe.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &LeaseSlot<F>> {
        (0..).map_while(|number| self.part(number)).flatten()
    }

    /// Returns the memory of the stripe's slots and of the map to those outside the pages, in
    /// bytes.
    pub(super) fn bytes(&self) -> (usize, usize) {
        let slot = size_of::<LeaseSlot<F>>();
        let pages = self.pages.iter().flatten().count() * PAGE * slot;
        let pointers = self.pages.capacity() * size_of::<usize>();
        (pages + pointers + self.sparse.capacity() * slot, self.sparse_ids.allocation_size())
    }

    /// Returns the stripe's slots outside the pages.
    pub(super) fn sparse(&self) -> &[LeaseSlot<F>] {
        &self.sparse
    }
}

fn fresh_page<F: TableFamily>() -> Box<[LeaseSlot<F>; PAGE]> {
    Box::new(core::array::from_fn(|_| LeaseSlot::unused()))
}
