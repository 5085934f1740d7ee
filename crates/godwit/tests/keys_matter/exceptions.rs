//! Keys that are the same as in Kea and that no scenario shows to matter, each with its reason.

/// Reason why no scenario shows a key.
pub(crate) enum ExceptionReason {
    /// Test that shows the key, as `file::function`: it needs sockets, files or packets that
    /// scenarios do not have.
    ShownBy(&'static str),
    /// Explanation why no client could notice the key.
    Decides(&'static str),
}

impl ExceptionReason {
    /// Returns the name of the test or the explanation.
    pub(crate) const fn text(&self) -> &'static str {
        match self {
            Self::ShownBy(text) | Self::Decides(text) => text,
        }
    }
}

/// Exception for keys in scopes.
pub(crate) struct Exception {
    pub(crate) families: &'static str,
    /// Keys, separated by spaces.
    pub(crate) keys: &'static str,
    /// Scopes, as in the manual.
    pub(crate) scopes: &'static str,
    pub(crate) why: ExceptionReason,
}

const fn shown_by(
    families: &'static str,
    keys: &'static str,
    scopes: &'static str,
    test: &'static str,
) -> Exception {
    Exception { families, keys, scopes, why: ExceptionReason::ShownBy(test) }
}

/// Test that plays the twins.
const TWINS: &str =
    "crates/godwit/tests/twins/mod.rs::what_servers_leave_beside_packets_is_what_kea_3_leaves";

/// Keys of DNS updates that every scope may have.
const UPDATE_KEYS: &str = "ddns-override-no-update ddns-override-client-update ddns-send-updates \
                           ddns-update-on-renew ddns-use-conflict-resolution \
                           ddns-conflict-resolution-mode ddns-ttl ddns-ttl-percent ddns-ttl-min \
                           ddns-ttl-max";

// tidy: table
pub(crate) const EXCEPTIONS: &[Exception] = &[
    Exception {
        families: "46",
        keys: "comment user-context",
        scopes: "G N S P D C H",
        why: ExceptionReason::Decides("words of the operator, kept and shown"),
    },
    shown_by(
        "46",
        "interfaces-config interfaces",
        "G interfaces-config",
        "crates/godwit/tests/daemon.rs::a_reload_listens_elsewhere",
    ),
    shown_by("46", "dhcp-ddns", "G", TWINS),
    shown_by(
        "46",
        "enable-updates server-ip server-port sender-ip sender-port ncr-protocol ncr-format",
        "dhcp-ddns",
        TWINS,
    ),
    shown_by("46", UPDATE_KEYS, "S", TWINS),
    shown_by(
        "46",
        UPDATE_KEYS,
        "G N P",
        "crates/dhcp-config/tests/names.rs::settings_of_updates_are_inherited_key_by_key",
    ),
    shown_by(
        "46",
        "re-detect",
        "interfaces-config",
        "crates/godwit/tests/clients.rs::interfaces_that_come_later_are_served_without_a_restart",
    ),
    shown_by(
        "46",
        "service-sockets-require-all",
        "interfaces-config",
        "crates/godwit/tests/daemon.rs::\
         sockets_that_are_required_and_cannot_be_opened_end_the_server",
    ),
    shown_by(
        "46",
        "service-sockets-max-retries service-sockets-retry-wait-time",
        "interfaces-config",
        "crates/godwit/tests/daemon.rs::a_port_in_use_is_tried_again_until_it_is_free",
    ),
    shown_by(
        "4",
        "dhcp-socket-type",
        "interfaces-config",
        "crates/godwit/tests/clients.rs::interfaces_that_come_later_are_served_without_a_restart",
    ),
    shown_by(
        "4",
        "interface",
        "N S",
        "crates/dhcp-engine/tests/v4_direct.rs::a_named_link_counts_more_than_the_interface",
    ),
    shown_by(
        "6",
        "interface",
        "N",
        "crates/dhcp-engine/tests/v6_links.rs::\
         a_client_on_the_link_is_found_by_its_interface_and_answered_there",
    ),
    shown_by(
        "6",
        "data-directory",
        "G",
        "crates/godwit/tests/daemon_keys.rs::the_identifier_is_in_its_folder_if_it_is_to_stay",
    ),
    shown_by(
        "6",
        "persist",
        "server-id",
        "crates/godwit/tests/daemon_keys.rs::the_identifier_is_in_its_folder_if_it_is_to_stay",
    ),
    shown_by(
        "46",
        "lease-database name persist",
        "G lease-database",
        "crates/godwit/tests/daemon_keys.rs::leases_are_in_the_file_that_is_named_or_in_none",
    ),
    shown_by(
        "46",
        "lfc-interval",
        "lease-database",
        "crates/godwit/tests/daemon_keys.rs::the_lease_file_is_cleaned_up_as_often_as_that_is_set",
    ),
    shown_by(
        "46",
        "type host port user password",
        "lease-database",
        "crates/godwit/tests/kea_switch.rs::kea_and_this_server_share_mariadb",
    ),
    shown_by(
        "46",
        "password-file",
        "lease-database",
        "crates/dhcp-server/src/leases/database.rs::a_password_is_the_first_line_of_its_file",
    ),
    shown_by(
        "46",
        "max-reconnect-tries reconnect-wait-time",
        "lease-database",
        "crates/godwit/tests/database_lost.rs::a_server_ends_when_its_database_does_not_come_back",
    ),
    shown_by(
        "46",
        "retry-on-startup",
        "lease-database",
        "crates/godwit/tests/database_lost.rs::a_server_waits_for_its_database_when_it_starts",
    ),
    shown_by(
        "46",
        "trust-anchor cert-file key-file ssl-mode cipher-list",
        "lease-database hosts-databases",
        "crates/dhcp-store/tests/sql/tls.rs::postgresql_is_believed_by_its_certificate",
    ),
    Exception {
        families: "46",
        keys: "connect-timeout read-timeout write-timeout tcp-user-timeout",
        scopes: "lease-database hosts-databases",
        why: ExceptionReason::Decides(
            "how long the connection waits for a server that says nothing",
        ),
    },
    Exception {
        families: "46",
        keys: "readonly",
        scopes: "lease-database",
        why: ExceptionReason::Decides("it is for reservations, and read by Kea for them only"),
    },
    shown_by(
        "46",
        "readonly",
        "hosts-databases",
        "crates/godwit/tests/twins/mod.rs::rows_in_databases_are_those_of_kea_3",
    ),
    shown_by(
        "46",
        "hosts-database hosts-databases",
        "G",
        "crates/godwit/tests/hosts_databases.rs::clients_of_dhcpv4_get_what_is_reserved_in_two_databases",
    ),
    shown_by(
        "46",
        "type name host port user password",
        "hosts-databases",
        "crates/godwit/tests/hosts_databases.rs::clients_of_dhcpv6_get_what_is_reserved_in_two_databases",
    ),
    Exception {
        families: "46",
        keys: "reconnect-wait-time",
        scopes: "hosts-databases",
        why: ExceptionReason::Decides("how soon a database that was lost is asked again"),
    },
    shown_by(
        "46",
        "max-row-errors",
        "lease-database",
        "crates/godwit/tests/daemon_keys.rs::so_many_bad_rows_are_borne_and_no_more",
    ),
    shown_by(
        "46",
        "on-fail",
        "lease-database",
        "crates/dhcp-store/tests/log.rs::a_log_that_failed_goes_on_from_a_snapshot",
    ),
    shown_by(
        "46",
        "sanity-checks lease-checks",
        "G sanity-checks",
        "crates/godwit/tests/daemon_keys.rs::leases_of_wrong_subnets_are_treated_as_that_is_set",
    ),
    shown_by(
        "46",
        "loggers name severity debuglevel output-options output_options",
        "G loggers",
        "crates/dhcp-server/src/log/routes.rs::\
         the_nearest_logger_decides_and_the_root_lends_its_outputs",
    ),
    shown_by(
        "46",
        "output flush pattern",
        "output_options",
        "crates/dhcp-server/src/log/tests.rs::\
         what_is_said_is_written_with_its_identifier_and_in_single_lines",
    ),
    shown_by(
        "46",
        "maxsize maxver",
        "output_options",
        "crates/dhcp-server/src/log/sink.rs::a_file_is_rotated_before_it_outgrows_its_size",
    ),
    shown_by(
        "46",
        "control-sockets control-socket socket-type socket-name",
        "G control-sockets control-socket",
        "crates/godwit/tests/daemon_keys.rs::commands_are_taken_at_the_socket_that_is_named",
    ),
    shown_by(
        "46",
        "socket-address socket-port trust-anchor cert-file key-file cert-required",
        "control-sockets",
        "crates/godwit/tests/control.rs::a_client_without_a_certificate_does_not_come_far",
    ),
    shown_by(
        "46",
        "http-headers",
        "control-sockets",
        "crates/dhcp-server/src/control/tests.rs::\
         http_answers_with_a_list_and_refuses_with_a_map",
    ),
    shown_by(
        "46",
        "authentication",
        "control-sockets",
        "crates/dhcp-server/src/control/tests.rs::a_wrong_password_costs_nothing_and_opens_nothing",
    ),
    shown_by(
        "6",
        "ip-reservations-unique",
        "G",
        "crates/dhcp-config/tests/reservations.rs::hosts_may_share_an_address_where_that_is_allowed",
    ),
    shown_by(
        "4",
        "outbound-interface",
        "interfaces-config",
        "crates/godwit/tests/outbound.rs::\
         answers_leave_by_the_interface_of_the_request_or_by_the_routing_table",
    ),
    shown_by(
        "46",
        "extended-info-checks",
        "sanity-checks",
        "crates/godwit/tests/control.rs::\
         what_older_lease_files_keep_of_relay_agents_has_the_present_form_once_loaded",
    ),
    shown_by(
        "46",
        "unwarned-reclaim-cycles",
        "expired-leases-processing",
        "crates/godwit/tests/daemon.rs::limits_that_leave_ended_leases_over_are_warned_of",
    ),
    // A configuration that names an option by it is refused without it.
    shown_by(
        "46",
        "name",
        "option-def",
        "crates/dhcp-config/tests/definitions.rs::problems_of_definitions_stand_at_the_key",
    ),
];

/// Scenarios that cover a key without needing it, each with the reason.
// tidy: table
pub(crate) const CLAIMS: &[(&str, &str, &str)] = &[];
