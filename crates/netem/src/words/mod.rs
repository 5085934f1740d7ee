//! Link settings as words, in the language of `tc`:
//! `delay 75ms 10ms 25% loss 10% tbf rate 100mbit …`.
//!
//! `netem` reads and checks the first stage, `bucket` the second, `print` writes both. All problems
//! are reported at once, each with its position. Words may be abbreviated as in `tc`.

mod bucket;
mod netem;
mod print;
mod reader;
mod units;

pub use reader::WordProblem;

use crate::settings::LinkSettings;
use reader::WordReader;

impl LinkSettings {
    /// Parses the words of `tc qdisc add dev … root netem` and, after the word `tbf`, those of a
    /// token bucket, into link settings. Either part may be missing.
    ///
    /// # Errors
    ///
    /// All problems, in the order of the text.
    pub fn parse(text: &str) -> Result<Self, Vec<WordProblem>> {
        let mut reader = WordReader::new(text);
        let mut settings = Self::default();
        if reader.peek() == Some("netem") {
            reader.take();
        }
        netem::read(&mut reader, &mut settings);
        if let Some(word) = reader.take() {
            debug_assert_eq!(word.text, "tbf");
            settings.bucket = bucket::read(&mut reader, word);
        }
        reader.finish(settings)
    }
}

/// Returns the first word of `words` that begins with `prefix`, as `tc` does.
fn look_up(words: &[&'static str], prefix: &str) -> Option<&'static str> {
    words.iter().copied().find(|word| !prefix.is_empty() && word.starts_with(prefix))
}
