//! What is asked: queries made once before a run, from dnsperf's text format, a zone or a capture. A line of
//! text holds a name and a type; blank lines and those that begin with `;` or `#` say nothing.

use std::str;

use dns_wire::header::HEADER_BYTES;
use dns_wire::{Kind, Message, Query};

use crate::expected::Expected;

/// Problems that are told at most.
const PROBLEMS_MAX: usize = 10;

/// The queries of a run as octets, with identifier 0.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    octets: Vec<u8>,
    ends: Vec<u32>,
    /// What each must be answered with; empty when that is not known.
    expected: Vec<Expected>,
}

impl Workload {
    /// The queries of `text`, each with what `query` says. `file` names the text in problems.
    ///
    /// # Errors
    ///
    /// All problems with line and column, the first ten in words.
    pub fn parse(file: &str, text: &[u8], query: Query) -> Result<Self, String> {
        let mut workload = Self::default();
        let (mut problems, mut further) = (Vec::new(), 0_u64);
        for (index, line) in text.split(|&octet| octet == b'\n').enumerate() {
            if let Err((column, why)) = workload.add_line(line, query) {
                if problems.len() < PROBLEMS_MAX {
                    problems.push(format!("{file}:{}:{column}: {why}", index + 1));
                } else {
                    further += 1;
                }
            }
        }
        if further > 0 {
            problems.push(format!("{file}: {further} more lines are wrong"));
        }
        if problems.is_empty() && workload.ends.is_empty() {
            problems.push(format!("{file}: no query in it; a line is a name and a type"));
        }
        if problems.is_empty() { Ok(workload) } else { Err(problems.join("\n")) }
    }

    /// Adds the query of a line, if it holds one; else column and reason.
    fn add_line(&mut self, line: &[u8], query: Query) -> Result<(), (usize, String)> {
        let mut words = line
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
            .map(|word| (word.as_ptr().addr() - line.as_ptr().addr() + 1, word));
        let Some((name_at, name)) = words.next() else { return Ok(()) };
        if matches!(name[0], b';' | b'#') {
            return Ok(());
        }
        let end = line.trim_ascii_end().len() + 1;
        let (kind_at, kind) = words.next().ok_or_else(|| (end, "a type is missing".to_owned()))?;
        let kind: Kind = str::from_utf8(kind)
            .map_err(|_| "a type is plain text")
            .and_then(str::parse)
            .map_err(|why| (kind_at, why.to_owned()))?;
        if let Some((at, _)) = words.next() {
            return Err((at, "more than a name and a type".to_owned()));
        }
        query.append(&mut self.octets, name, kind).map_err(|why| (name_at, why.to_string()))?;
        self.end().map_err(|why| (1, why.to_owned()))
    }

    /// Ends the query whose octets were appended last.
    fn end(&mut self) -> Result<(), &'static str> {
        let end = u32::try_from(self.octets.len()).map_err(|_| "more than 4 GiB of queries")?;
        self.ends.push(end);
        Ok(())
    }

    /// Adds the query for records of the type `kind` of `name` that must be answered with `expected`.
    ///
    /// # Panics
    ///
    /// When `name` is none, or others were added without what they must be answered with.
    pub(crate) fn add(&mut self, name: &[u8], kind: Kind, query: Query, expected: Expected) {
        assert_eq!(self.expected.len(), self.ends.len(), "all are expected to be something");
        query.append(&mut self.octets, name, kind).expect("names that were made are names");
        self.end().expect("a zone has a million queries of 282 octets at most");
        self.expected.push(expected);
    }

    /// Adds a query as it is, but for its identifier.
    ///
    /// # Errors
    ///
    /// When there is no room.
    pub(crate) fn add_as_it_is(&mut self, query: &[u8]) -> Result<(), &'static str> {
        self.octets.extend([0, 0]);
        self.octets.extend(&query[2..]);
        self.end()
    }

    /// Octets of the longest query.
    #[must_use]
    pub fn longest(&self) -> usize {
        (0..self.len()).map(|index| self.query(index).len()).max().unwrap_or(0)
    }

    /// Octets of a query on average, rounded down.
    #[must_use]
    pub const fn mean_bytes(&self) -> usize {
        match self.octets.len().checked_div(self.len()) {
            Some(mean) => mean,
            None => 0,
        }
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.ends.len()
    }

    /// True when there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Query `index` with identifier 0.
    ///
    /// # Panics
    ///
    /// When there are not so many.
    #[must_use]
    pub fn query(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.octets[start..self.ends[index] as usize]
    }

    /// What query `index` must be answered with, if that is known.
    #[must_use]
    pub fn expected(&self, index: usize) -> Option<&Expected> {
        self.expected.get(index)
    }

    /// True when `answer` repeats the question of query `index`, letters in any case.
    #[must_use]
    pub fn is_asked(&self, index: usize, answer: &Message<'_>) -> bool {
        let query = self.query(index);
        let is_repeated = answer.header().counts[0] == 1
            && query[HEADER_BYTES..].starts_with(answer.question_octets());
        is_repeated || Message::parse(query).is_ok_and(|query| answer.asks_as(&query))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Query = Query { recursion_desired: true, edns: None };

    #[test]
    fn a_file_of_dnsperf_is_read() {
        let text = b"; a comment\nwww.example.com A\n\n  example.com.\tmx\r\n# none\n. TYPE65280";
        let workload = Workload::parse("x", text, PLAIN).unwrap();
        let asked: Vec<_> = (0..workload.len())
            .map(|index| {
                let message = Message::parse(workload.query(index)).unwrap();
                let question = message.questions().next().unwrap();
                format!("{} {}", question.name, question.kind)
            })
            .collect();
        assert_eq!(asked, ["www.example.com. A", "example.com. MX", ". TYPE65280"]);
    }

    #[test]
    fn every_problem_is_told_with_its_place() {
        let text = b"a.example A\nb..example A\n  c.example\nd.example AAA\ne.example A IN\n";
        let problems = Workload::parse("q.txt", text, PLAIN).unwrap_err();
        let lines: Vec<_> = problems.lines().collect();
        assert_eq!(
            lines,
            [
                "q.txt:2:1: nothing between two dots",
                "q.txt:3:12: a type is missing",
                "q.txt:4:11: no type of record: a mnemonic like AAAA, or TYPE and a number",
                "q.txt:5:13: more than a name and a type",
            ]
        );
        let none = Workload::parse("q.txt", b";\n", PLAIN).unwrap_err();
        assert_eq!(none, "q.txt: no query in it; a line is a name and a type");
        let many = Workload::parse("q.txt", &b"x\n".repeat(12), PLAIN).unwrap_err();
        assert_eq!(many.lines().count(), 11);
        assert!(many.ends_with("q.txt: 2 more lines are wrong"), "{many}");
    }
}
