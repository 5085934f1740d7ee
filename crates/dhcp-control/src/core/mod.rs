//! Commands that every server has, without a hook library.

mod config;
mod selection;
mod server;
mod statistic;

pub(crate) use config::{configuration_refused, tested};

use crate::backend::Backend;
use crate::dispatch::Command;
use crate::family::IpVersion;

/// Returns all of these commands except `list-commands`.
pub(crate) fn commands<B: Backend>() -> Vec<Command<B>> {
    vec![
        Command::core("build-report", server::build_report),
        Command::core("version-get", server::version),
        Command::core("status-get", server::status),
        Command::core("server-tag-get", server::tag),
        Command::core("shutdown", server::shut_down),
        Command::core("dhcp-disable", server::disable),
        Command::core("dhcp-enable", server::enable),
        Command::core("interface-add", server::add_interfaces),
        Command::core("interface-list", server::interfaces),
        Command::core("interface-redetect", server::detect_interfaces),
        Command::core("kea-lfc-start", server::clean_up),
        Command::core("leases-reclaim", server::reclaim),
        Command::core("config-get", config::get),
        Command::core("config-hash-get", config::hash),
        Command::core("config-set", config::set),
        Command::core("config-test", config::test),
        Command::core("config-reload", config::reload),
        Command::core("config-write", config::write),
        Command::core("config-backend-pull", config::pull),
        Command::core("subnet4-select-test", selection::select_4).only(IpVersion::V4),
        Command::core("subnet6-select-test", selection::select_6).only(IpVersion::V6),
        Command::about_statistics("statistic-get", statistic::get),
        Command::about_statistics("statistic-get-all", statistic::get_all),
        Command::about_statistics("statistic-global-get-all", statistic::get_all_global),
        Command::about_statistics("statistic-reset", statistic::reset),
        Command::about_statistics("statistic-reset-all", statistic::reset_all),
        Command::about_statistics("statistic-remove", statistic::remove),
        Command::about_statistics("statistic-remove-all", statistic::remove_all),
        Command::about_statistics("statistic-sample-age-set", statistic::set_age),
        Command::about_statistics("statistic-sample-age-set-all", statistic::set_age_of_all),
        Command::about_statistics("statistic-sample-count-set", statistic::set_count),
        Command::about_statistics("statistic-sample-count-set-all", statistic::set_count_of_all),
    ]
}
