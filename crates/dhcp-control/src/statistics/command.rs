//! What commands do to statistics, and what they are answered.

use serde_json::json;

use super::{Statistics, written};
use crate::answer::Answer;
use crate::text::kea_json;

/// A command about statistics, read and checked. Where there may be a name, none means all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatisticCommand {
    /// `statistic-get`.
    Get(String),
    /// `statistic-get-all`, `statistic-global-get-all`.
    All {
        /// Without those of subnets and pools.
        is_global_only: bool,
    },
    /// `statistic-reset`, `statistic-reset-all`.
    Reset(Option<String>),
    /// `statistic-remove`, `statistic-remove-all`.
    Remove(Option<String>),
    /// `statistic-sample-age-set`, `-set-all`: seconds.
    SetAge(Option<String>, u64),
    /// `statistic-sample-count-set`, `-set-all`.
    SetCount(Option<String>, u32),
}

impl Statistics {
    /// Carries out `command`, soon after a look at the counts ([`Self::sample`]): the answer as JSON.
    pub fn execute(&mut self, command: &StatisticCommand) -> String {
        match command {
            // Of many subnets this has tens of millions of octets.
            StatisticCommand::All { is_global_only } => written::answer(self, *is_global_only),
            other => kea_json(&self.answer(other).to_json()),
        }
    }

    fn answer(&mut self, command: &StatisticCommand) -> Answer {
        match command {
            StatisticCommand::Get(name) => Answer::with(match self.get(name) {
                Some(samples) => json!({ name: samples }),
                None => json!({}),
            }),
            StatisticCommand::All { is_global_only } => Answer::with(self.all(*is_global_only)),
            StatisticCommand::Reset(Some(name)) => changed(name, self.reset(name), "reset."),
            StatisticCommand::Reset(None) => {
                self.reset_all();
                Answer::success("All statistics reset to neutral values.")
            }
            StatisticCommand::Remove(Some(name)) => changed(name, self.remove(name), "removed."),
            StatisticCommand::Remove(None) => {
                self.remove_all();
                Answer::success(
                    "Warning: statistic-remove-all command is deprecated. All statistics removed.",
                )
            }
            StatisticCommand::SetAge(Some(name), age_s) => {
                changed(name, self.set_age(name, *age_s), "duration limit is set.")
            }
            StatisticCommand::SetAge(None, age_s) => {
                self.set_age_of_all(*age_s);
                Answer::success("All statistics duration limit are set.")
            }
            StatisticCommand::SetCount(Some(name), count) => {
                changed(name, self.set_count(name, *count), "count limit is set.")
            }
            StatisticCommand::SetCount(None, count) => {
                self.set_count_of_all(*count);
                Answer::success("All statistics count limit are set.")
            }
        }
    }
}

fn changed(name: &str, was_there: bool, done: &str) -> Answer {
    match was_there {
        true => Answer::success(format!("Statistic '{name}' {done}")),
        false => Answer::error(format!("No '{name}' statistic found")),
    }
}
