//! Code blocks of a page in Markdown, and the comparison of what commands print with what the page
//! shows.

/// Command lines of a page, or output that the page shows, with the number of its first line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CodeBlock {
    /// Word after the opening fence, such as `sh`.
    pub(super) language: String,
    pub(super) text: String,
    /// Number of the line of the opening fence, from 1.
    pub(super) line: usize,
}

/// Returns the code blocks of the page `text`, in order.
pub(super) fn blocks(text: &str) -> Vec<CodeBlock> {
    let mut blocks: Vec<CodeBlock> = Vec::new();
    let mut is_open = false;
    for (index, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), is_open) {
            (Some(language), false) => {
                let language = language.to_owned();
                blocks.push(CodeBlock { language, text: String::new(), line: index + 1 });
                is_open = true;
            }
            (Some(_), true) => is_open = false,
            (None, true) => {
                let block = blocks.last_mut().expect("a fence opened it");
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, false) => {}
        }
    }
    assert!(!is_open, "the last code block has no end");
    blocks
}

/// Returns the first line of `shown` that `printed` lacks after the ones before it; `None` if all
/// are there. Numbers and blanks may differ, more may stand in a line, and `...` stands for any
/// lines.
pub(super) fn missing_line<'s>(shown: &'s str, printed: &str) -> Option<&'s str> {
    let printed: Vec<String> = printed.lines().map(without_numbers).collect();
    let mut rest = printed.iter();
    shown
        .lines()
        .filter(|line| *line != "...")
        .find(|line| !rest.any(|other| other.contains(&without_numbers(line))))
}

/// Returns `line` with 0 for each number and one blank for several.
fn without_numbers(line: &str) -> String {
    let mut shown = String::new();
    for letter in line.trim().chars() {
        let is_number = letter.is_ascii_digit();
        let goes_on = shown.ends_with('0') && matches!(letter, '.' | ',' | '0'..='9');
        if goes_on || (letter.is_whitespace() && shown.ends_with(' ')) {
            continue;
        }
        shown.push(match letter {
            _ if is_number => '0',
            _ if letter.is_whitespace() => ' ',
            _ => letter,
        });
    }
    shown
}

#[test]
fn code_blocks_of_a_page_are_found() {
    let page = "# A\n\n```sh\none \\\n  two\n```\n\n```text\n1\n```\n";
    let block = |language: &str, text: &str, line| CodeBlock {
        language: language.to_owned(),
        text: text.to_owned(),
        line,
    };
    assert_eq!(blocks(page), [block("sh", "one \\\n  two\n", 3), block("text", "1\n", 8)]);
}

#[test]
fn lines_that_are_not_printed_are_found() {
    let printed = "NAME   RATE\nkea    1,234.5/s  ok\n\nlimit  7/s\n";
    assert_eq!(missing_line("NAME RATE\n...\nlimit 99/s\n", printed), None);
    assert_eq!(missing_line("kea 5/s\n", printed), None);
    assert_eq!(missing_line("limit 7/s\nkea 5/s\n", printed), Some("kea 5/s"));
    assert_eq!(missing_line("bind 5/s\n", printed), Some("bind 5/s"));
}
