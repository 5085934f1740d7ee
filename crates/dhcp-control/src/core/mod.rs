//! Control commands that every server has, without a hook library.

mod config;
mod selection;
mod server;
mod statistic;

pub(crate) use config::{config_test_answer, hash_of};

use crate::command::CommandDefinition;
use crate::family::CommandFamily;
use crate::ip_version::IpVersion;

/// Returns the definitions of the commands that every server has, except `list-commands`.
pub(crate) fn commands<F: CommandFamily>() -> Vec<CommandDefinition<F>> {
    vec![
        CommandDefinition::core("build-report", server::build_report),
        CommandDefinition::core("version-get", server::version),
        CommandDefinition::core("status-get", server::status),
        CommandDefinition::core("server-tag-get", server::tag),
        CommandDefinition::core("shutdown", server::shut_down),
        CommandDefinition::core("dhcp-disable", server::disable),
        CommandDefinition::core("dhcp-enable", server::enable),
        CommandDefinition::core("interface-add", server::add_interfaces),
        CommandDefinition::core("interface-list", server::interfaces),
        CommandDefinition::core("interface-redetect", server::detect_interfaces),
        CommandDefinition::core("kea-lfc-start", server::clean_up),
        CommandDefinition::core("leases-reclaim", server::reclaim),
        CommandDefinition::core("config-get", config::get),
        CommandDefinition::core("config-hash-get", config::hash),
        CommandDefinition::core("config-set", config::set),
        CommandDefinition::core("config-test", config::test),
        CommandDefinition::core("config-reload", config::reload),
        CommandDefinition::core("config-write", config::write),
        CommandDefinition::core("config-backend-pull", config::pull),
        CommandDefinition::core("subnet4-select-test", selection::select_4).only(IpVersion::V4),
        CommandDefinition::core("subnet6-select-test", selection::select_6).only(IpVersion::V6),
        CommandDefinition::for_statistics("statistic-get", statistic::get),
        CommandDefinition::for_statistics("statistic-get-all", statistic::get_all),
        CommandDefinition::for_statistics("statistic-global-get-all", statistic::get_all_global),
        CommandDefinition::for_statistics("statistic-reset", statistic::reset),
        CommandDefinition::for_statistics("statistic-reset-all", statistic::reset_all),
        CommandDefinition::for_statistics("statistic-remove", statistic::remove),
        CommandDefinition::for_statistics("statistic-remove-all", statistic::remove_all),
        CommandDefinition::for_statistics("statistic-sample-age-set", statistic::set_age),
        CommandDefinition::for_statistics(
            "statistic-sample-age-set-all",
            statistic::set_age_of_all,
        ),
        CommandDefinition::for_statistics("statistic-sample-count-set", statistic::set_count),
        CommandDefinition::for_statistics(
            "statistic-sample-count-set-all",
            statistic::set_count_of_all,
        ),
    ]
}
