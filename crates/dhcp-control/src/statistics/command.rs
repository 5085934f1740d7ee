//! Control commands about statistics, and their answers.

use serde_json::json;

use super::{Statistics, text_writer};
use crate::answer::CommandAnswer;
use crate::text::kea_json;

/// Control command about statistics, read and checked. A missing optional name means all
/// statistics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatisticCommand {
    /// Command `statistic-get`, with the name of the statistic.
    Get(String),
    /// Command `statistic-get-all` or `statistic-global-get-all`.
    All {
        /// True to leave statistics of subnets and pools out of the answer.
        is_global_only: bool,
    },
    /// Command `statistic-reset` or `statistic-reset-all`, with the name of the statistic.
    Reset(Option<String>),
    /// Command `statistic-remove` or `statistic-remove-all`, with the name of the statistic.
    Remove(Option<String>),
    /// Command `statistic-sample-age-set` or `statistic-sample-age-set-all`, with the name of the
    /// statistic and the age in seconds.
    SetAge(Option<String>, u64),
    /// Command `statistic-sample-count-set` or `statistic-sample-count-set-all`, with the name of
    /// the statistic and the number of samples.
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
