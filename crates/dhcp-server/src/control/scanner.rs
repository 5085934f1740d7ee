//! Detection of the end of a JSON value in a stream of bytes without parsing it. A client of a Unix
//! socket keeps its side open and waits for the answer, so that the end of the stream does not end
//! the command.

/// Scanner for the end of a control command, which reads each byte once.
#[derive(Debug, Default)]
pub(super) struct CommandScanner {
    depth: u32,
    is_in_string: bool,
    is_escaped: bool,
    has_begun: bool,
}

/// Progress of a scanned JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueProgress {
    /// Incomplete JSON value: more bytes are needed.
    Open,
    /// Complete JSON value, with the number of its bytes in the last input.
    Complete(usize),
    /// Invalid input, which begins neither a map nor a list.
    Wrong,
}

impl CommandScanner {
    /// Scans the next bytes of the JSON value and returns its progress.
    pub(super) fn take(&mut self, octets: &[u8]) -> ValueProgress {
        for (at, &octet) in octets.iter().enumerate() {
            if self.is_in_string {
                match octet {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => self.is_in_string = false,
                    _ => {}
                }
                continue;
            }
            match octet {
                b'{' | b'[' => {
                    self.depth += 1;
                    self.has_begun = true;
                }
                b' ' | b'\t' | b'\n' | b'\r' => {}
                _ if !self.has_begun => return ValueProgress::Wrong,
                b'"' => self.is_in_string = true,
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return ValueProgress::Complete(at + 1);
                    }
                }
                _ => {}
            }
        }
        ValueProgress::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Random;

    #[test]
    fn a_value_ends_at_its_last_bracket_however_it_is_cut() {
        let text = br#"  { "a": [ "]}\"{\\", { "b": "\\" } ], "c": "}" } trailing"#;
        let end = text.len() - " trailing".len();
        let mut random = Random::from_seed(5);
        for _ in 0..1_000 {
            let mut feed = CommandScanner::default();
            let mut at = 0;
            let ended = loop {
                let until = (at + 1 + random.below(6) as usize).min(text.len());
                match feed.take(&text[at..until]) {
                    ValueProgress::Open => at = until,
                    ValueProgress::Complete(count) => break at + count,
                    ValueProgress::Wrong => panic!("it is a map"),
                }
            };
            assert_eq!(ended, end);
        }
    }

    #[test]
    fn what_is_no_map_or_list_is_known_at_once() {
        for text in ["list-commands", "\"x\"", " 7", "}", "\u{feff}{}"] {
            assert_eq!(
                CommandScanner::default().take(text.as_bytes()),
                ValueProgress::Wrong,
                "{text}"
            );
        }
        assert_eq!(CommandScanner::default().take(b" \r\n"), ValueProgress::Open);
        assert_eq!(CommandScanner::default().take(b"[]x"), ValueProgress::Complete(2));
    }
}
