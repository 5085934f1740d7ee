//! Text format of DNS queries that dnsperf, resperf and kxdpgun read: a line holds a name, a type
//! and perhaps flags.
//!
//! Blank lines and those that begin with `;` or `#` are comments, and so is the text after a `;` or
//! `#` that begins a word. The flags of kxdpgun work: `E` adds EDNS, `D` the bit DO as well. Other
//! words after the type are skipped, as dnsperf does, and counted.

use std::str;

use base::text_file;
use dns_wire::{Edns, Query, RecordType};

use crate::queries::QueryWorkload;

/// Largest number of invalid lines of a query file that are reported one by one.
const PROBLEMS_MAX: usize = 10;
/// EDNS payload size, in bytes, of a query whose flags request EDNS while the settings have none.
pub(crate) const EDNS_BYTES: u16 = 4_096;

/// Treatment of lines of a query file that are no queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadLines {
    /// Invalid lines make the whole file invalid.
    Refuse,
    /// Invalid lines are left out.
    Skip,
}

/// Content of a file of DNS queries.
#[derive(Debug)]
pub(crate) struct QueryFile {
    /// DNS queries in the file, in their order.
    pub(crate) workload: QueryWorkload,
    /// Descriptions of lines that were left out, the first ten one by one; empty when there are
    /// none.
    pub(crate) skipped: Vec<String>,
    /// Lines with words after the type that are ignored: their number and the first of them.
    pub(crate) unread: Option<UnreadLines>,
}

/// Lines of a query file with words that were ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnreadLines {
    /// Number of lines with ignored words.
    pub(crate) lines: u64,
    /// Number of the first line with ignored words, from 1.
    pub(crate) first: usize,
}

/// Word of a query file's line with its column, from 1.
#[derive(Clone, Copy)]
struct QueryFileWord<'t> {
    column: usize,
    text: &'t [u8],
}

/// Fault of a query file's line: the column, from 1, and the reason.
struct QueryLineFault {
    column: usize,
    why: String,
}

/// Reads the queries of `text`, in dnsperf's format, each with the settings of `query`. `file`
/// names the text in problems.
///
/// # Errors
///
/// Returns all problems with line and column, the first ten in words; or that there is no query.
pub(crate) fn read(
    file: &str,
    text: &[u8],
    query: Query<'_>,
    bad_lines: BadLines,
) -> Result<QueryFile, String> {
    if let Some(advice) = text_file::utf16_advice(text) {
        return Err(format!("{file}: {advice}"));
    }
    let text = text_file::without_byte_order_mark(text);
    let mut parsed =
        QueryFile { workload: QueryWorkload::default(), skipped: Vec::new(), unread: None };
    let mut further = 0_u64;
    for (number, line) in (1..).zip(text.split(|&octet| octet == b'\n')) {
        match add_line(&mut parsed.workload, line, query) {
            Ok(is_whole) if is_whole => {}
            Ok(_) => {
                parsed.unread.get_or_insert(UnreadLines { lines: 0, first: number }).lines += 1
            }
            Err(QueryLineFault { column, why }) if parsed.skipped.len() < PROBLEMS_MAX => {
                parsed.skipped.push(format!("{file}:{number}:{column}: {why}"));
            }
            Err(_) => further += 1,
        }
    }
    if further > 0 {
        parsed.skipped.push(format!("{file}: {further} more lines are invalid"));
    }
    let is_refused = bad_lines == BadLines::Refuse && !parsed.skipped.is_empty();
    if parsed.workload.is_empty() && !is_refused {
        parsed.skipped.push(format!("{file}: no query found; a line has a name and a type"));
    }
    if is_refused || parsed.workload.is_empty() {
        return Err(parsed.skipped.join("\n"));
    }
    Ok(parsed)
}

/// Adds the query of a line of a query file, if the line holds one; returns false when words of the
/// line are ignored.
fn add_line(
    workload: &mut QueryWorkload,
    line: &[u8],
    query: Query<'_>,
) -> Result<bool, QueryLineFault> {
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .map(|text| QueryFileWord { column: text.as_ptr().addr() - line.as_ptr().addr() + 1, text })
        .take_while(|word| !matches!(word.text.first(), Some(b';' | b'#')));
    let Some(name) = words.next() else { return Ok(true) };
    let end = line.trim_ascii_end().len() + 1;
    let missing = || QueryLineFault { column: end, why: "the type is missing".to_owned() };
    let word = words.next().ok_or_else(missing)?;
    let kind: RecordType = str::from_utf8(word.text)
        .map_err(|_| "the type is not plain text")
        .and_then(str::parse)
        .map_err(|why| QueryLineFault { column: word.column, why: why.to_owned() })?;
    let (mut query, mut is_whole) = (query, true);
    for word in words {
        match with_flags(query, word.text) {
            Some(flagged) => query = flagged,
            None => is_whole = false,
        }
    }
    workload
        .add_query(name.text, kind, query)
        .map_err(|why| QueryLineFault { column: name.column, why })?;
    Ok(is_whole)
}

/// Returns `query` with the flags of kxdpgun that `word` holds; `None` when it holds something
/// else.
fn with_flags<'q>(query: Query<'q>, word: &[u8]) -> Option<Query<'q>> {
    let is_flag = |octet: &u8| matches!(octet, b'E' | b'D' | b'e' | b'd');
    if word.len() > 2 || !word.iter().all(is_flag) {
        return None;
    }
    let plain =
        Edns { udp_payload_bytes: EDNS_BYTES, extended_rcode: 0, version: 0, dnssec_ok: false };
    let mut edns = query.edns.unwrap_or(plain);
    edns.dnssec_ok |= word.iter().any(|octet| octet.eq_ignore_ascii_case(&b'D'));
    Some(Query { edns: Some(edns), ..query })
}

#[cfg(test)]
mod tests {
    use dns_wire::DnsMessage;

    use super::*;

    /// Returns each query as name, type and content of its OPT record.
    fn texts(workload: &QueryWorkload) -> Vec<String> {
        (0..workload.len())
            .map(|index| {
                let message = DnsMessage::parse(workload.query(index)).unwrap();
                let question = message.questions().next().unwrap();
                let edns = match message.edns() {
                    Some(edns) if edns.dnssec_ok => " DO",
                    Some(_) => " EDNS",
                    None => "",
                };
                format!("{} {}{edns}", question.name, question.kind)
            })
            .collect()
    }

    #[test]
    fn a_file_of_dnsperf_is_read() {
        let text = b"; a comment\nwww.example.com A\n\n  example.com.\tmx\r\n# none\n. TYPE65280";
        let workload = QueryWorkload::parse("x", text, Query::PLAIN).unwrap();
        assert_eq!(texts(&workload), ["www.example.com. A", "example.com. MX", ". TYPE65280"]);
    }

    #[test]
    fn flags_act_comments_end_a_line_and_other_words_are_counted() {
        let text = b"\xef\xbb\xbfa.test A\nb.test AAAA E\nc.test MX D ; why\nd.test A ED\n\
            e.test A #E\nf.test A IN\ng.test A 60 IN\n#h.test A\n";
        let file = read("q", text, Query::PLAIN, BadLines::Refuse).unwrap();
        let expected = [
            "a.test. A",
            "b.test. AAAA EDNS",
            "c.test. MX DO",
            "d.test. A DO",
            "e.test. A",
            "f.test. A",
            "g.test. A",
        ];
        assert_eq!(texts(&file.workload), expected);
        assert_eq!(file.unread, Some(UnreadLines { lines: 2, first: 6 }));
    }

    #[test]
    fn every_problem_is_told_with_its_place() {
        let text = b"a.example A\nb..example A\n  c.example\nd.example AAA\ne.example A IN\n";
        let problems = QueryWorkload::parse("q.txt", text, Query::PLAIN).unwrap_err();
        let lines: Vec<_> = problems.lines().collect();
        let expected = [
            "q.txt:2:1: an empty label between two dots",
            "q.txt:3:12: the type is missing",
            "q.txt:4:11: invalid record type: must be a mnemonic like AAAA, or TYPE and a number",
        ];
        assert_eq!(lines, expected);
        let none = QueryWorkload::parse("q.txt", b";\n", Query::PLAIN).unwrap_err();
        assert_eq!(none, "q.txt: no query found; a line has a name and a type");
        let many = QueryWorkload::parse("q.txt", &b"x\n".repeat(12), Query::PLAIN).unwrap_err();
        assert_eq!(many.lines().count(), 11);
        assert!(many.ends_with("q.txt: 2 more lines are invalid"), "{many}");
        let skipping = read("q.txt", text, Query::PLAIN, BadLines::Skip).unwrap();
        assert_eq!(texts(&skipping.workload), ["a.example. A", "e.example. A"]);
        assert_eq!(skipping.skipped, expected);
        assert!(read("q.txt", b"x\n", Query::PLAIN, BadLines::Skip).is_err());
    }
}
