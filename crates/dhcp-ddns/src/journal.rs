//! Text of the durable queue: one line for each request that arrives, `+ NUMBER JSON`, and one for
//! each that is finished, `- NUMBER`. Lines are only ever appended, in the order of events. A queue
//! that is written anew may begin with the names that were requested before, `= JSON`.

use std::collections::BTreeMap;
use std::fmt::Write;

use ncr::NameChangeRequest;

use crate::order::RequestNumber;
use crate::registry::NameRegistry;

/// Length of the length in front of the JSON text of a datagram, in bytes.
const PREFIX_LEN: usize = 2;

/// Line of the journal to append.
#[derive(Clone, Copy, Debug)]
pub enum JournalLine<'a> {
    /// Arrival of a request.
    Arrived(u64, &'a NameChangeRequest),
    /// End of a request.
    Finished(u64),
    /// Addition that was requested for the address of a lease, finished or not.
    Name(&'a NameChangeRequest),
}

impl JournalLine<'_> {
    /// Appends the line to `text`.
    pub fn write(&self, text: &mut String) {
        let written = match self {
            Self::Arrived(number, request) => writeln!(text, "+ {number} {}", json(request)),
            Self::Finished(number) => writeln!(text, "- {number}"),
            Self::Name(request) => writeln!(text, "= {}", json(request)),
        };
        written.expect("a string takes any text");
    }
}

/// Returns the JSON text of a request.
fn json(request: &NameChangeRequest) -> String {
    // Every datagram begins with its length.
    String::from_utf8_lossy(&request.to_datagram(0)[PREFIX_LEN..]).into_owned()
}

/// Content of a journal: the requests that are not finished.
#[derive(Debug, Default)]
pub struct JournalEntries {
    /// Unfinished requests by their numbers, which are in the order of arrival.
    pub pending: BTreeMap<RequestNumber, NameChangeRequest>,
    /// Names after all requests in the journal, unfinished ones included.
    pub names: NameRegistry,
    /// Number for the next request.
    pub next_number: RequestNumber,
    /// Lines that could not be read, without an incomplete line at the end: a crash leaves one.
    pub damaged_lines: usize,
}

impl JournalEntries {
    /// Reads the text of a journal.
    #[must_use]
    pub fn read(text: &[u8]) -> Self {
        let mut entries = Self::default();
        for line in text.split_inclusive(|&byte| byte == b'\n') {
            let Some(line) = line.strip_suffix(b"\n") else { break };
            if entries.take(line).is_none() {
                entries.damaged_lines += 1;
            }
        }
        entries
    }

    fn take(&mut self, line: &[u8]) -> Option<()> {
        let (kind, rest) = line.split_at_checked(2)?;
        if kind == b"= " {
            self.names.follow(&NameChangeRequest::from_json(rest).ok()?);
            return Some(());
        }
        let end = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
        let (number, rest) = rest.split_at_checked(end)?;
        let number: RequestNumber = core::str::from_utf8(number).ok()?.parse().ok()?;
        match kind {
            b"+ " => {
                let request = NameChangeRequest::from_json(rest).ok()?;
                self.names.follow(&request);
                self.pending.insert(number, request);
            }
            b"- " => drop(self.pending.remove(&number)),
            _ => return None,
        }
        self.next_number = self.next_number.max(number.checked_add(1)?);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &str = concat!(
        r#"{"change-type":0,"forward-change":true,"reverse-change":true,"fqdn":"a\\032b.","#,
        r#""ip-address":"10.0.0.1","dhcid":"000101","lease-length":60}"#
    );

    #[test]
    fn a_journal_is_read_up_to_a_cut_line() {
        let request = NameChangeRequest::from_json(REQUEST.as_bytes()).unwrap();
        let mut text = String::new();
        for number in [7, 8, 9] {
            JournalLine::Arrived(number, &request).write(&mut text);
        }
        JournalLine::Finished(8).write(&mut text);
        text.push_str("nonsense\n+ 99 {}\n");
        JournalLine::Arrived(10, &request).write(&mut text);
        for cut in 1..20 {
            let entries = JournalEntries::read(&text.as_bytes()[..text.len() - cut]);
            assert_eq!(entries.pending.keys().copied().collect::<Vec<_>>(), [7, 9]);
            assert_eq!((entries.next_number, entries.damaged_lines), (10, 2));
            assert!(entries.pending.values().all(|pending| *pending == request));
        }
        let entries = JournalEntries::read(text.as_bytes());
        assert_eq!((entries.pending.len(), entries.next_number), (3, 11));
    }

    #[test]
    fn any_bytes_are_read() {
        for text in [&b""[..], b"\n", b"+ ", b"+ 18446744073709551615 x\n", b"- \xff\n", b"- 1"] {
            assert!(JournalEntries::read(text).pending.is_empty());
        }
    }
}
