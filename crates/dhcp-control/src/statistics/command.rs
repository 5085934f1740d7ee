//! Commands about statistics, and their answers.

use serde_json::json;

use super::{Statistics, text_writer};
use crate::answer::CommandAnswer;
use crate::text::kea_json;

/// Command about statistics, read and checked. A missing optional name means all statistics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatisticCommand {
    /// `statistic-get`.
    Get(String),
    /// `statistic-get-all`, `statistic-global-get-all`.
    All {
        /// True to leave out statistics of subnets and pools.
        is_global_only: bool,
    },
    /// `statistic-reset`, `statistic-reset-all`.
    Reset(Option<String>),
    /// `statistic-remove`, `statistic-remove-all`.
    Remove(Option<String>),
    /// `statistic-sample-age-set`, `-set-all`: age in seconds.
    SetAge(Option<String>, u64),
    /// `statistic-sample-count-set`, `-set-all`.
    SetCount(Option<String>, u32),
}

impl Statistics {
    /// Executes `command`, soon after [`Self::sample`] has read the counts; returns the answer as
    /// JSON.
    pub fn execute(&mut self, command: &StatisticCommand) -> String {
        match command {
            // With many subnets this answer has tens of millions of bytes.
            StatisticCommand::All { is_global_only } => text_writer::answer(self, *is_global_only),
            other => kea_json(&self.answer(other).to_json()),
        }
    }

    fn answer(&mut self, command: &StatisticCommand) -> CommandAnswer {
        match command {
            StatisticCommand::Get(name) => CommandAnswer::from_arguments(match self.get(name) {
                Some(samples) => json!({ name: samples }),
                None => json!({}),
            }),
            StatisticCommand::All { is_global_only } => {
                CommandAnswer::from_arguments(self.all(*is_global_only))
            }
            StatisticCommand::Reset(Some(name)) => changed(name, self.reset(name), "reset."),
            StatisticCommand::Reset(None) => {
                self.reset_all();
                CommandAnswer::success("All statistics reset to neutral values.")
            }
            StatisticCommand::Remove(Some(name)) => changed(name, self.remove(name), "removed."),
            StatisticCommand::Remove(None) => {
                self.remove_all();
                CommandAnswer::success(
                    "Warning: statistic-remove-all command is deprecated. All statistics removed.",
                )
            }
            StatisticCommand::SetAge(Some(name), age_s) => {
                changed(name, self.set_age(name, *age_s), "duration limit is set.")
            }
            StatisticCommand::SetAge(None, age_s) => {
                self.set_age_of_all(*age_s);
                CommandAnswer::success("All statistics duration limit are set.")
            }
            StatisticCommand::SetCount(Some(name), count) => {
                changed(name, self.set_count(name, *count), "count limit is set.")
            }
            StatisticCommand::SetCount(None, count) => {
                self.set_count_of_all(*count);
                CommandAnswer::success("All statistics count limit are set.")
            }
        }
    }
}

fn changed(name: &str, was_there: bool, done: &str) -> CommandAnswer {
    if was_there {
        CommandAnswer::success(format!("Statistic '{name}' {done}"))
    } else {
        CommandAnswer::error(format!("No '{name}' statistic found"))
    }
}
