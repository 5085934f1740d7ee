//! Lists of processors or nodes on the command line and in `/sys`: `0,2-3,8-`, `all`, `ALL`.

use base::{ToolError, ToolResult};

use crate::cpustat::{ALL, ProcessorSelection};

/// List of processor or node numbers, ranges of them, and their sum.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NumberList {
    /// True if the list has the sum of all processors or nodes (`all`).
    has_sum: bool,
    /// True if the list has each processor or node (`ALL`).
    is_each: bool,
    ranges: Vec<NumberRange>,
}

/// Range of numbers from a first to a last one; without a last one, to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NumberRange {
    first: u32,
    last: Option<u32>,
}

impl NumberList {
    /// Returns the list of the sum alone, the default without a list on the command line.
    pub(super) fn sum() -> Self {
        Self { has_sum: true, ..Self::default() }
    }

    /// Returns the list of the sum and each processor or node (`ALL`).
    pub(super) fn each() -> Self {
        Self { has_sum: true, is_each: true, ranges: Vec::new() }
    }

    /// Parses a list such as `0,2-3,8-`, `all` or `ALL`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut list = Self::default();
        for word in text.split(',') {
            match word {
                // Older versions have `ON` for processors in use, and others are not shown here.
                "ALL" | "ON" => (list.has_sum, list.is_each) = (true, true),
                ALL => list.has_sum = true,
                _ => list.ranges.push(NumberRange::parse(word).ok_or_else(|| {
                    format!(
                        "`{word}` is not a number: must be numbers and ranges like 0,2-3,8-, all, \
                         or ALL"
                    )
                })?),
            }
        }
        Ok(list)
    }

    /// Returns true if the list has the processor or node `number`.
    pub(super) fn contains(&self, number: u32) -> bool {
        let is_in = |range: &NumberRange| {
            range.first <= number && range.last.is_none_or(|last| number <= last)
        };
        self.is_each || self.ranges.iter().any(is_in)
    }

    /// Returns the processors or nodes of the list among the numbers `known`.
    ///
    /// # Errors
    ///
    /// The list names a number that does not exist; `noun` is the noun for it.
    pub(super) fn select(&self, known: &[u32], noun: &str) -> ToolResult<ProcessorSelection> {
        let ends = self.ranges.iter().flat_map(|range| [Some(range.first), range.last]).flatten();
        for end in ends {
            if !known.contains(&end) {
                let known: Vec<String> = known.iter().map(u32::to_string).collect();
                let known = known.join(", ");
                return Err(ToolError::Usage(format!(
                    "there is no {noun} {end} in use; there are {known}"
                )));
            }
        }
        Ok(ProcessorSelection {
            has_sum: self.has_sum,
            is_each: self.is_each,
            cpus: known.iter().copied().filter(|number| self.contains(*number)).collect(),
        })
    }
}

impl NumberRange {
    fn parse(word: &str) -> Option<Self> {
        let Some((first, last)) = word.split_once('-') else {
            let number = word.parse().ok()?;
            return Some(Self { first: number, last: Some(number) });
        };
        let first: u32 = first.parse().ok()?;
        let last: Option<u32> = if last.is_empty() { None } else { Some(last.parse().ok()?) };
        (last.is_none_or(|last| first <= last)).then_some(Self { first, last })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_select_among_the_numbers_that_exist() {
        let select = |text: &str| NumberList::parse(text).unwrap().select(&[0, 1, 2, 4], "node");
        assert_eq!(select("0,2-").unwrap().cpus, [0, 2, 4]);
        assert_eq!(select("1-2,all").unwrap().cpus, [1, 2]);
        assert!(select("1-2,all").unwrap().has_sum && !select("1-2").unwrap().has_sum);
        assert!(select("ALL").unwrap().is_each && select("ON").unwrap().has_sum);
        let error = select("3").unwrap_err().to_string();
        assert_eq!(error, "there is no node 3 in use; there are 0, 1, 2, 4");
        assert!(select("0-9").is_err());
        for wrong in ["", "x", "3-1", "-1", "1,,2", "4294967296"] {
            assert!(NumberList::parse(wrong).is_err(), "{wrong}");
        }
    }
}
