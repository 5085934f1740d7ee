//! Progress of putting a pool's open positions into its queue of free addresses.
//!
//! When a pool is configured, all its open positions go into the queue. Later more of the pool may
//! be opened, millions of positions at once, also by a loaded lease: then each claim puts a few of
//! them into the queue, and the next claims continue. Positions are added in windows, within each
//! in a random order.

use core::ops::Range;

use super::order;

/// Progress of a filling through the positions of a pool.
#[derive(Debug, Default)]
pub(super) struct Filling {
    /// Part of each open range of the pool's positions that has been looked at or is in the window.
    pub(super) begun: Vec<Range<u64>>,
    pub(super) window: Range<u64>,
    /// Number of positions in the window that have been looked at.
    pub(super) done: u64,
}

impl Filling {
    /// Returns the next position of the ranges `open` to look at; `None` when none is left.
    pub(super) fn next(&mut self, open: &[Range<u64>], window_max: u64, seed: u64) -> Option<u64> {
        if self.done == self.window.end - self.window.start {
            self.window = self.next_window(open, window_max)?;
            self.done = 0;
        }
        let Range { start, end } = self.window;
        let index = order::permuted(self.done, end - start, seed.wrapping_add(start));
        self.done += 1;
        Some(start + index)
    }

    fn next_window(&mut self, open: &[Range<u64>], max: u64) -> Option<Range<u64>> {
        // A reconfigured pool may be at other positions.
        let goes_on = |begun: &Range<u64>, open: &Range<u64>| {
            begun.start == open.start && begun.end <= open.end
        };
        let is_same_pool = self.begun.len() == open.len()
            && self.begun.iter().zip(open).all(|(begun, open)| goes_on(begun, open));
        if !is_same_pool {
            self.begun = open.iter().map(|open| open.start..open.start).collect();
        }
        // Positions beyond `u32::MAX` cannot be queued.
        let ends = open.iter().map(|open| open.end.min(u32::MAX.into()));
        let (begun, end) = self.begun.iter_mut().zip(ends).find(|(begun, end)| begun.end < *end)?;
        let start = begun.end;
        begun.end = end.min(start.saturating_add(max));
        Some(start..begun.end)
    }
}
