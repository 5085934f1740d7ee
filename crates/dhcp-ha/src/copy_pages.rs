//! Pages of a copy of the partner's leases: which one follows, and what each contains.
//!
//! A partner of this make serves clients while all its leases are copied, and notes which of them
//! change meanwhile. Those are copied in rounds, each of what has changed since the round before,
//! until a round is short; then the partner is silent for the last one. If the partner no longer
//! knows all changes, all leases are copied again while it is silent, as from Kea.

use serde_json::Value;

use crate::command::{CHANGES_OF, CommandResult, PageRequest};
use crate::update::ROWS;

/// Maximum number of rounds before the one during which the partner is silent.
const ROUNDS_MAX: u32 = 16;
/// Result code of a page.
const SUCCESS: i64 = 0;
/// Result code of a page without leases.
const EMPTY: i64 = 3;

/// Leases that the pages of a copy contain at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CopyPhase {
    /// All leases of a partner that is silent.
    #[default]
    Silent,
    /// All leases of a partner that serves clients.
    Serving,
    /// Leases that have changed, of a partner that serves clients.
    Changes,
    /// Leases that have changed, of a partner that is silent.
    LastChanges,
}

/// Addresses about which a page says what the partner has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageRange {
    /// Addresses after this one, or from the first one on, up to that of the page's last lease.
    After(Option<String>),
    /// Addresses after this one, or from the first one on.
    AllAfter(Option<String>),
    /// Addresses of the page's leases only.
    Listed,
}

/// Page of the partner's leases, which is to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct PartnerPage {
    /// Addresses that the page is about.
    pub range: PageRange,
    /// Leases as commands show them, ascending by address; empty if the page has `rows`.
    pub leases: Vec<Value>,
    /// Leases as rows of a lease file, ascending by address.
    pub rows: Vec<String>,
    /// Leases that the partner had and that have ended since. They are to be deleted before
    /// `leases` and `rows` are stored, unless there is a later transaction or another client.
    pub ended: Vec<Value>,
    /// True if the copy has no further page.
    pub ends_copy: bool,
}

impl PartnerPage {
    /// Returns the number of leases.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.leases.len() + self.rows.len()
    }

    /// Returns the address of the last lease, as text without a prefix length.
    #[must_use]
    pub fn last_address(&self) -> Option<&str> {
        match self.rows.last() {
            // The address is the first column in both families.
            Some(row) => row.split(',').next(),
            None => self.leases.last()?.get("ip-address")?.as_str(),
        }
    }
}

/// Progress of a copy through its pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct CopyPages {
    phase: CopyPhase,
    /// Address of the last lease that was received.
    last_address: Option<String>,
    /// Number by which the partner knows the copy.
    copy: Option<u64>,
    /// Position of the next address in the round.
    from: u64,
    rounds: u32,
    /// Number of addresses in the round before.
    last_total: Option<u64>,
    /// True once the last page has been received.
    has_all: bool,
}

impl CopyPages {
    /// Returns the beginning of a copy from a partner that serves clients meanwhile if `serves`.
    pub(crate) fn new(serves: bool) -> Self {
        let phase = if serves { CopyPhase::Serving } else { CopyPhase::Silent };
        Self { phase, ..Self::default() }
    }

    /// Returns true if the partner must be silent for the next page.
    pub(crate) const fn needs_silence(&self) -> bool {
        matches!(self.phase, CopyPhase::Silent | CopyPhase::LastChanges)
    }

    /// Returns true once the last page has been received.
    pub(crate) const fn has_all(&self) -> bool {
        self.has_all
    }

    /// Returns the next page.
    pub(crate) fn next(&self) -> PageRequest {
        match (self.phase, self.copy) {
            (CopyPhase::Changes | CopyPhase::LastChanges, Some(copy)) => PageRequest::Changes {
                copy,
                from: self.from,
                is_last_round: self.phase == CopyPhase::LastChanges,
            },
            (phase, copy) => PageRequest::All {
                after: self.last_address.clone(),
                notes_changes: phase == CopyPhase::Serving && copy.is_none(),
                // A partner that serves meanwhile is of this make.
                as_rows: phase == CopyPhase::Serving,
            },
        }
    }

    /// Takes the answer to the command for the next page of at most `page_leases` addresses.
    /// Returns `None` if the partner does not know all changes, so that the copy begins again.
    ///
    /// # Errors
    ///
    /// The reason why the copy fails.
    pub(crate) fn receive(
        &mut self,
        answer: CommandResult,
        page_leases: usize,
    ) -> Result<Option<PartnerPage>, String> {
        match self.phase {
            CopyPhase::Silent => self.receive_all(answer, page_leases).map(Some),
            CopyPhase::Serving => {
                let copy = answer.arguments.get(CHANGES_OF).and_then(Value::as_u64);
                self.copy = self.copy.or(copy);
                if self.copy.is_none() {
                    *self = Self::default();
                    return Ok(None);
                }
                self.receive_all(answer, page_leases).map(Some)
            }
            CopyPhase::Changes | CopyPhase::LastChanges => {
                if !matches!(answer.code, SUCCESS | EMPTY) {
                    *self = Self::default();
                    return Ok(None);
                }
                self.receive_changes(answer, page_leases).map(Some)
            }
        }
    }

    fn receive_all(
        &mut self,
        answer: CommandResult,
        page_leases: usize,
    ) -> Result<PartnerPage, String> {
        let mut page = page_of(answer.with_code(&[SUCCESS, EMPTY])?)?;
        let address = page.last_address().map(str::to_owned);
        let after = self.last_address.clone();
        let is_last = page.count() < page_leases;
        if !is_last && (address.is_none() || address == after) {
            return Err("the page does not end with a further address".to_owned());
        }
        if !is_last {
            self.last_address = address;
        } else if self.phase == CopyPhase::Serving {
            self.phase = CopyPhase::Changes;
        } else {
            self.has_all = true;
        }
        page.range = if is_last { PageRange::AllAfter(after) } else { PageRange::After(after) };
        page.ends_copy = self.has_all;
        Ok(page)
    }

    fn receive_changes(
        &mut self,
        mut answer: CommandResult,
        page_leases: usize,
    ) -> Result<PartnerPage, String> {
        let total = answer.arguments.get("changes-total").and_then(Value::as_u64);
        let total = total.ok_or("the page of changes has no `changes-total`")?;
        let Some(Value::Array(ended)) = answer.arguments.remove("ended-leases") else {
            return Err("the page of changes has no list `ended-leases`".to_owned());
        };
        let page = page_of(answer)?;
        let page_leases = page_leases.max(1) as u64;
        self.from = self.from.saturating_add(page_leases);
        if self.from >= total {
            self.from = 0;
            self.end_round(total, page_leases);
        }
        Ok(PartnerPage { ended, ends_copy: self.has_all, ..page })
    }

    /// Ends a round of `total` addresses, and decides about the next one: a round is short if it
    /// has a tenth of a page at most.
    fn end_round(&mut self, total: u64, page_leases: u64) {
        if self.phase == CopyPhase::LastChanges {
            self.has_all = true;
            return;
        }
        self.rounds += 1;
        let is_shorter = self.last_total.is_none_or(|last| total < last);
        self.last_total = Some(total);
        if total <= page_leases / 10 || !is_shorter || self.rounds >= ROUNDS_MAX {
            self.phase = CopyPhase::LastChanges;
        }
    }
}

/// Returns the page with the leases of an answer, as one of their addresses only.
fn page_of(mut answer: CommandResult) -> Result<PartnerPage, String> {
    let rows = match answer.arguments.remove(ROWS) {
        None => None,
        Some(Value::Array(rows)) => {
            let text = |row| match row {
                Value::String(row) => Ok(row),
                _ => Err("the page has a row that is no text".to_owned()),
            };
            Some(rows.into_iter().map(text).collect::<Result<Vec<String>, String>>()?)
        }
        Some(_) => return Err("the `rows` of the page are no list".to_owned()),
    };
    let leases = match answer.arguments.remove("leases") {
        None if rows.is_some() || answer.code == EMPTY => Vec::new(),
        Some(Value::Array(leases)) if rows.is_none() => leases,
        _ => return Err("the page has no list `leases`".to_owned()),
    };
    let (range, ended) = (PageRange::Listed, Vec::new());
    Ok(PartnerPage { range, leases, rows: rows.unwrap_or_default(), ended, ends_copy: false })
}
