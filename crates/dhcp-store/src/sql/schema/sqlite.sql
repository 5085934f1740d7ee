-- Kea's tables (schema 35.0 of MySQL) for SQLite, which Kea does not have. Times are seconds since
-- 1970, IPv6 addresses sixteen octets; a blank line ends a statement. Kea's indexes by which ended leases
-- are found are left out: a renewal would write two more pages, and the one server that has the file
-- looks for them in memory.

CREATE TABLE schema_version (
    version INTEGER NOT NULL PRIMARY KEY,
    minor INTEGER
)

CREATE TABLE lease_state (
    state INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL
)

INSERT INTO lease_state VALUES
    (0, 'default'), (1, 'declined'), (2, 'expired-reclaimed'), (3, 'released'), (4, 'registered')

CREATE TABLE lease6_types (
    lease_type INTEGER NOT NULL PRIMARY KEY,
    name TEXT
)

INSERT INTO lease6_types VALUES (0, 'IA_NA'), (2, 'IA_PD')

CREATE TABLE lease_hwaddr_source (
    hwaddr_source INTEGER NOT NULL PRIMARY KEY,
    name TEXT
)

INSERT INTO lease_hwaddr_source VALUES
    (0, 'HWADDR_SOURCE_UNKNOWN'), (1, 'HWADDR_SOURCE_RAW'),
    (2, 'HWADDR_SOURCE_IPV6_LINK_LOCAL'), (4, 'HWADDR_SOURCE_DUID'),
    (8, 'HWADDR_SOURCE_CLIENT_ADDR_RELAY_OPTION'), (16, 'HWADDR_SOURCE_REMOTE_ID'),
    (32, 'HWADDR_SOURCE_SUBSCRIBER_ID'), (64, 'HWADDR_SOURCE_DOCSIS_CMTS'),
    (128, 'HWADDR_SOURCE_DOCSIS_MODEM')

CREATE TABLE lease4 (
    address INTEGER NOT NULL PRIMARY KEY,
    hwaddr BLOB,
    client_id BLOB,
    valid_lifetime INTEGER,
    expire INTEGER,
    subnet_id INTEGER,
    fqdn_fwd INTEGER,
    fqdn_rev INTEGER,
    hostname TEXT,
    state INTEGER DEFAULT 0,
    user_context TEXT,
    relay_id BLOB,
    remote_id BLOB,
    pool_id INTEGER NOT NULL DEFAULT 0
)

CREATE INDEX lease4_by_hwaddr_subnet_id ON lease4 (hwaddr, subnet_id)

CREATE INDEX lease4_by_client_id_subnet_id ON lease4 (client_id, subnet_id)

CREATE TABLE lease6 (
    address BLOB NOT NULL PRIMARY KEY,
    duid BLOB,
    valid_lifetime INTEGER,
    expire INTEGER,
    subnet_id INTEGER,
    pref_lifetime INTEGER,
    lease_type INTEGER,
    iaid INTEGER,
    prefix_len INTEGER,
    fqdn_fwd INTEGER,
    fqdn_rev INTEGER,
    hostname TEXT,
    hwaddr BLOB,
    hwtype INTEGER,
    hwaddr_source INTEGER,
    state INTEGER DEFAULT 0,
    user_context TEXT,
    pool_id INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID

CREATE INDEX lease6_by_duid_iaid_subnet_id ON lease6 (duid, iaid, subnet_id)

CREATE TABLE lease4_stat (
    subnet_id INTEGER NOT NULL,
    state INTEGER NOT NULL,
    leases INTEGER,
    PRIMARY KEY (subnet_id, state)
) WITHOUT ROWID

CREATE TABLE lease6_stat (
    subnet_id INTEGER NOT NULL,
    lease_type INTEGER NOT NULL,
    state INTEGER NOT NULL,
    leases INTEGER,
    PRIMARY KEY (subnet_id, lease_type, state)
) WITHOUT ROWID

CREATE TABLE lease4_pool_stat (
    subnet_id INTEGER NOT NULL,
    pool_id INTEGER NOT NULL,
    state INTEGER NOT NULL,
    leases INTEGER,
    PRIMARY KEY (subnet_id, pool_id, state)
) WITHOUT ROWID

CREATE TABLE lease6_pool_stat (
    subnet_id INTEGER NOT NULL,
    pool_id INTEGER NOT NULL,
    lease_type INTEGER NOT NULL,
    state INTEGER NOT NULL,
    leases INTEGER,
    PRIMARY KEY (subnet_id, pool_id, lease_type, state)
) WITHOUT ROWID

CREATE TABLE host_identifier_type (
    type INTEGER NOT NULL PRIMARY KEY,
    name TEXT
)

INSERT INTO host_identifier_type VALUES
    (0, 'hw-address'), (1, 'duid'), (2, 'circuit-id'), (3, 'client-id'), (4, 'flex-id')

CREATE TABLE hosts (
    host_id INTEGER NOT NULL PRIMARY KEY,
    dhcp_identifier BLOB NOT NULL,
    dhcp_identifier_type INTEGER NOT NULL REFERENCES host_identifier_type (type),
    dhcp4_subnet_id INTEGER,
    dhcp6_subnet_id INTEGER,
    ipv4_address INTEGER,
    hostname TEXT,
    dhcp4_client_classes TEXT,
    dhcp6_client_classes TEXT,
    dhcp4_next_server INTEGER,
    dhcp4_server_hostname TEXT,
    dhcp4_boot_file_name TEXT,
    user_context TEXT,
    auth_key TEXT
)

CREATE UNIQUE INDEX key_dhcp4_identifier_subnet_id
ON hosts (dhcp_identifier, dhcp_identifier_type, dhcp4_subnet_id)

CREATE UNIQUE INDEX key_dhcp6_identifier_subnet_id
ON hosts (dhcp_identifier, dhcp_identifier_type, dhcp6_subnet_id)

CREATE INDEX key_dhcp4_ipv4_address_subnet_id_identifier ON hosts (ipv4_address, dhcp4_subnet_id)

CREATE INDEX hosts_by_hostname ON hosts (hostname)

CREATE TABLE ipv6_reservations (
    reservation_id INTEGER NOT NULL PRIMARY KEY,
    address BLOB NOT NULL,
    prefix_len INTEGER NOT NULL DEFAULT 128,
    type INTEGER NOT NULL DEFAULT 0,
    dhcp6_iaid INTEGER,
    host_id INTEGER NOT NULL REFERENCES hosts (host_id) ON DELETE CASCADE,
    excluded_prefix BLOB,
    excluded_prefix_len INTEGER NOT NULL DEFAULT 0
)

CREATE INDEX fk_ipv6_reservations_host_idx ON ipv6_reservations (host_id)

CREATE INDEX key_dhcp6_address_prefix_len ON ipv6_reservations (address, prefix_len)

CREATE TABLE dhcp4_options (
    option_id INTEGER NOT NULL PRIMARY KEY,
    code INTEGER NOT NULL,
    value BLOB,
    formatted_value TEXT,
    space TEXT,
    persistent INTEGER NOT NULL DEFAULT 0,
    dhcp_client_class TEXT,
    dhcp4_subnet_id INTEGER,
    host_id INTEGER REFERENCES hosts (host_id) ON DELETE CASCADE,
    scope_id INTEGER NOT NULL,
    user_context TEXT,
    shared_network_name TEXT,
    pool_id INTEGER,
    cancelled INTEGER NOT NULL DEFAULT 0,
    client_classes TEXT NOT NULL DEFAULT '[  ]'
)

CREATE INDEX fk_options4_host1_idx ON dhcp4_options (host_id)

CREATE TABLE dhcp6_options (
    option_id INTEGER NOT NULL PRIMARY KEY,
    code INTEGER NOT NULL,
    value BLOB,
    formatted_value TEXT,
    space TEXT,
    persistent INTEGER NOT NULL DEFAULT 0,
    dhcp_client_class TEXT,
    dhcp6_subnet_id INTEGER,
    host_id INTEGER REFERENCES hosts (host_id) ON DELETE CASCADE,
    scope_id INTEGER NOT NULL,
    user_context TEXT,
    shared_network_name TEXT,
    pool_id INTEGER,
    pd_pool_id INTEGER,
    cancelled INTEGER NOT NULL DEFAULT 0,
    client_classes TEXT NOT NULL DEFAULT '[  ]'
)

CREATE INDEX fk_options6_host1_idx ON dhcp6_options (host_id)

CREATE TRIGGER lease4_AINS AFTER INSERT ON lease4
BEGIN
    INSERT INTO lease4_stat SELECT NEW.subnet_id, NEW.state, 1 WHERE NEW.state IN (0, 1)
        ON CONFLICT (subnet_id, state) DO UPDATE SET leases = leases + 1;
    INSERT INTO lease4_pool_stat SELECT NEW.subnet_id, NEW.pool_id, NEW.state, 1 WHERE NEW.state IN (0, 1)
        ON CONFLICT (subnet_id, pool_id, state) DO UPDATE SET leases = leases + 1;
END

CREATE TRIGGER lease4_AUPD AFTER UPDATE ON lease4
WHEN OLD.subnet_id IS NOT NEW.subnet_id OR OLD.pool_id IS NOT NEW.pool_id OR OLD.state IS NOT NEW.state
BEGIN
    UPDATE lease4_stat SET leases = leases - 1
        WHERE subnet_id = OLD.subnet_id AND state = OLD.state AND leases > 0;
    UPDATE lease4_pool_stat SET leases = leases - 1
        WHERE subnet_id = OLD.subnet_id AND pool_id = OLD.pool_id AND state = OLD.state AND leases > 0;
    INSERT INTO lease4_stat SELECT NEW.subnet_id, NEW.state, 1 WHERE NEW.state IN (0, 1)
        ON CONFLICT (subnet_id, state) DO UPDATE SET leases = leases + 1;
    INSERT INTO lease4_pool_stat SELECT NEW.subnet_id, NEW.pool_id, NEW.state, 1 WHERE NEW.state IN (0, 1)
        ON CONFLICT (subnet_id, pool_id, state) DO UPDATE SET leases = leases + 1;
END

CREATE TRIGGER lease4_ADEL AFTER DELETE ON lease4
BEGIN
    UPDATE lease4_stat SET leases = leases - 1
        WHERE subnet_id = OLD.subnet_id AND state = OLD.state AND leases > 0;
    UPDATE lease4_pool_stat SET leases = leases - 1
        WHERE subnet_id = OLD.subnet_id AND pool_id = OLD.pool_id AND state = OLD.state AND leases > 0;
END

CREATE TRIGGER lease6_AINS AFTER INSERT ON lease6
BEGIN
    INSERT INTO lease6_stat SELECT NEW.subnet_id, NEW.lease_type, NEW.state, 1 WHERE NEW.state IN (0, 1, 4)
        ON CONFLICT (subnet_id, lease_type, state) DO UPDATE SET leases = leases + 1;
    INSERT INTO lease6_pool_stat SELECT NEW.subnet_id, NEW.pool_id, NEW.lease_type, NEW.state, 1 WHERE NEW.state IN (0, 1)
        ON CONFLICT (subnet_id, pool_id, lease_type, state) DO UPDATE SET leases = leases + 1;
END

CREATE TRIGGER lease6_AUPD AFTER UPDATE ON lease6
WHEN OLD.subnet_id IS NOT NEW.subnet_id OR OLD.pool_id IS NOT NEW.pool_id OR OLD.lease_type IS NOT NEW.lease_type OR OLD.state IS NOT NEW.state
BEGIN
    UPDATE lease6_stat SET leases = leases - 1
        WHERE subnet_id = OLD.subnet_id AND lease_type = OLD.lease_type AND state = OLD.state AND leases > 0;
    UPDATE lease6_pool_stat SET leases = leases - 1
        WHERE subnet_id = OLD.subnet_id AND pool_id = OLD.pool_id AND lease_type = OLD.lease_type AND state = OLD.state AND leases > 0;
    INSERT INTO lease6_stat SELECT NEW.subnet_id, NEW.lease_type, NEW.state, 1 WHERE NEW.state IN (0, 1, 4)
        ON CONFLICT (subnet_id, lease_type, state) DO UPDATE SET leases = leases + 1;
    INSERT INTO lease6_pool_stat SELECT NEW.subnet_id, NEW.pool_id, NEW.lease_type, NEW.state, 1 WHERE NEW.state IN (0, 1)
        ON CONFLICT (subnet_id, pool_id, lease_type, state) DO UPDATE SET leases = leases + 1;
END

CREATE TRIGGER lease6_ADEL AFTER DELETE ON lease6
BEGIN
    UPDATE lease6_stat SET leases = leases - 1
        WHERE subnet_id = OLD.subnet_id AND lease_type = OLD.lease_type AND state = OLD.state AND leases > 0;
    UPDATE lease6_pool_stat SET leases = leases - 1
        WHERE subnet_id = OLD.subnet_id AND pool_id = OLD.pool_id AND lease_type = OLD.lease_type AND state = OLD.state AND leases > 0;
END

INSERT INTO schema_version VALUES (35, 0)
