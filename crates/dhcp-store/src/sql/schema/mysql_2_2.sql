-- The lease and host tables of Kea 2.2 (schema 14.0) for MariaDB and MySQL. Names and types are
-- Kea's; a blank line ends a statement. Triggers of new leases count them without a call, which
-- would cost more than what it does, and not at all for who counts them itself, many at once: a
-- session in which @godwit_counts_leases is set.

CREATE TABLE schema_version (
    version INT NOT NULL PRIMARY KEY,
    minor INT
) ENGINE = InnoDB

CREATE TABLE lease_state (
    state INT UNSIGNED NOT NULL PRIMARY KEY,
    name VARCHAR(64) NOT NULL
) ENGINE = InnoDB

INSERT INTO lease_state VALUES (0, 'default'), (1, 'declined'), (2, 'expired-reclaimed')

CREATE TABLE lease6_types (
    lease_type TINYINT NOT NULL PRIMARY KEY,
    name VARCHAR(5)
) ENGINE = InnoDB

INSERT INTO lease6_types VALUES (0, 'IA_NA'), (1, 'IA_TA'), (2, 'IA_PD')

CREATE TABLE lease_hwaddr_source (
    hwaddr_source INT UNSIGNED NOT NULL PRIMARY KEY,
    name VARCHAR(40)
) ENGINE = InnoDB

INSERT INTO lease_hwaddr_source VALUES
    (0, 'HWADDR_SOURCE_UNKNOWN'), (1, 'HWADDR_SOURCE_RAW'),
    (2, 'HWADDR_SOURCE_IPV6_LINK_LOCAL'), (4, 'HWADDR_SOURCE_DUID'),
    (8, 'HWADDR_SOURCE_CLIENT_ADDR_RELAY_OPTION'), (16, 'HWADDR_SOURCE_REMOTE_ID'),
    (32, 'HWADDR_SOURCE_SUBSCRIBER_ID'), (64, 'HWADDR_SOURCE_DOCSIS_CMTS'),
    (128, 'HWADDR_SOURCE_DOCSIS_MODEM')

CREATE TABLE host_identifier_type (
    type TINYINT NOT NULL PRIMARY KEY,
    name VARCHAR(32)
) ENGINE = InnoDB

INSERT INTO host_identifier_type VALUES
    (0, 'hw-address'), (1, 'duid'), (2, 'circuit-id'), (3, 'client-id'), (4, 'flex-id')

CREATE TABLE dhcp_option_scope (
    scope_id TINYINT UNSIGNED NOT NULL PRIMARY KEY,
    scope_name VARCHAR(32)
) ENGINE = InnoDB

INSERT INTO dhcp_option_scope VALUES
    (0, 'global'), (1, 'subnet'), (2, 'client-class'), (3, 'host'), (4, 'shared-network'),
    (5, 'pool'), (6, 'pd-pool')

CREATE TABLE lease4 (
    address INT UNSIGNED NOT NULL PRIMARY KEY,
    hwaddr VARBINARY(20),
    client_id VARBINARY(128),
    valid_lifetime INT UNSIGNED,
    expire TIMESTAMP NULL DEFAULT NULL,
    subnet_id INT UNSIGNED,
    fqdn_fwd BOOL,
    fqdn_rev BOOL,
    hostname VARCHAR(255),
    state INT UNSIGNED DEFAULT 0,
    user_context TEXT,
    KEY lease4_by_hwaddr_subnet_id (hwaddr, subnet_id),
    KEY lease4_by_client_id_subnet_id (client_id, subnet_id),
    KEY lease4_by_subnet_id (subnet_id),
    KEY lease4_by_hostname (hostname),
    KEY lease4_by_expire_state (expire, state),
    CONSTRAINT fk_lease4_state FOREIGN KEY (state) REFERENCES lease_state (state)
) ENGINE = InnoDB

CREATE TABLE lease6 (
    address VARCHAR(39) NOT NULL PRIMARY KEY,
    duid VARBINARY(128),
    valid_lifetime INT UNSIGNED,
    expire TIMESTAMP NULL DEFAULT NULL,
    subnet_id INT UNSIGNED,
    pref_lifetime INT UNSIGNED,
    lease_type TINYINT,
    iaid INT UNSIGNED,
    prefix_len TINYINT UNSIGNED,
    fqdn_fwd BOOL,
    fqdn_rev BOOL,
    hostname VARCHAR(255),
    hwaddr VARBINARY(20),
    hwtype SMALLINT UNSIGNED,
    hwaddr_source INT UNSIGNED,
    state INT UNSIGNED DEFAULT 0,
    user_context TEXT,
    KEY lease6_by_subnet_id_lease_type (subnet_id, lease_type),
    KEY lease6_by_duid_iaid_subnet_id (duid, iaid, subnet_id),
    KEY lease6_by_hostname (hostname),
    KEY lease6_by_expire_state (expire, state),
    CONSTRAINT fk_lease6_type FOREIGN KEY (lease_type) REFERENCES lease6_types (lease_type),
    CONSTRAINT fk_lease6_hwaddr_source FOREIGN KEY (hwaddr_source)
        REFERENCES lease_hwaddr_source (hwaddr_source),
    CONSTRAINT fk_lease6_state FOREIGN KEY (state) REFERENCES lease_state (state)
) ENGINE = InnoDB

CREATE TABLE lease4_stat (
    subnet_id INT UNSIGNED NOT NULL,
    state INT UNSIGNED NOT NULL,
    leases BIGINT,
    PRIMARY KEY (subnet_id, state)
) ENGINE = InnoDB

CREATE TABLE lease6_stat (
    subnet_id INT UNSIGNED NOT NULL,
    lease_type INT UNSIGNED NOT NULL,
    state INT UNSIGNED NOT NULL,
    leases BIGINT,
    PRIMARY KEY (subnet_id, lease_type, state)
) ENGINE = InnoDB

CREATE TABLE lease4_stat_by_client_class (
    client_class VARCHAR(128) NOT NULL PRIMARY KEY,
    leases BIGINT UNSIGNED NOT NULL
) ENGINE = InnoDB

CREATE TABLE lease6_stat_by_client_class (
    client_class VARCHAR(128) NOT NULL,
    lease_type TINYINT NOT NULL,
    leases BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (client_class, lease_type),
    CONSTRAINT fk_lease6_stat_by_client_class_lease_type FOREIGN KEY (lease_type)
        REFERENCES lease6_types (lease_type)
) ENGINE = InnoDB

CREATE TABLE hosts (
    host_id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    dhcp_identifier VARBINARY(128) NOT NULL,
    dhcp_identifier_type TINYINT NOT NULL,
    dhcp4_subnet_id INT UNSIGNED,
    dhcp6_subnet_id INT UNSIGNED,
    ipv4_address INT UNSIGNED,
    hostname VARCHAR(255),
    dhcp4_client_classes VARCHAR(255),
    dhcp6_client_classes VARCHAR(255),
    dhcp4_next_server INT UNSIGNED,
    dhcp4_server_hostname VARCHAR(64),
    dhcp4_boot_file_name VARCHAR(128),
    user_context TEXT,
    auth_key VARCHAR(32),
    UNIQUE KEY key_dhcp4_identifier_subnet_id
        (dhcp_identifier, dhcp_identifier_type, dhcp4_subnet_id),
    UNIQUE KEY key_dhcp6_identifier_subnet_id
        (dhcp_identifier, dhcp_identifier_type, dhcp6_subnet_id),
    KEY hosts_by_hostname (hostname),
    KEY key_dhcp4_ipv4_address_subnet_id_identifier (ipv4_address, dhcp4_subnet_id),
    CONSTRAINT fk_host_identifier_type FOREIGN KEY (dhcp_identifier_type)
        REFERENCES host_identifier_type (type)
) ENGINE = InnoDB

CREATE TABLE ipv6_reservations (
    reservation_id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    address VARCHAR(39) NOT NULL,
    prefix_len TINYINT(3) UNSIGNED NOT NULL DEFAULT 128,
    type TINYINT(4) UNSIGNED NOT NULL DEFAULT 0,
    dhcp6_iaid INT UNSIGNED,
    host_id INT UNSIGNED NOT NULL,
    KEY fk_ipv6_reservations_host_idx (host_id),
    KEY key_dhcp6_address_prefix_len (address, prefix_len),
    CONSTRAINT fk_ipv6_reservations_Host FOREIGN KEY (host_id)
        REFERENCES hosts (host_id) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE = InnoDB

CREATE TABLE dhcp4_options (
    option_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    code TINYINT UNSIGNED NOT NULL,
    value BLOB,
    formatted_value TEXT,
    space VARCHAR(128),
    persistent BOOL NOT NULL DEFAULT 0,
    dhcp_client_class VARCHAR(128),
    dhcp4_subnet_id INT UNSIGNED,
    host_id INT UNSIGNED,
    scope_id TINYINT UNSIGNED NOT NULL,
    user_context TEXT,
    shared_network_name VARCHAR(128),
    pool_id BIGINT UNSIGNED,
    modification_ts TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    UNIQUE KEY option_id_UNIQUE (option_id),
    KEY fk_options_host1_idx (host_id),
    KEY fk_dhcp4_options_shared_network (shared_network_name),
    KEY fk_dhcp4_options_subnet (dhcp4_subnet_id),
    KEY fk_dhcp4_options_pool (pool_id),
    KEY fk_dhcp4_options_client_class (dhcp_client_class),
    CONSTRAINT fk_dhcp4_option_scope FOREIGN KEY (scope_id)
        REFERENCES dhcp_option_scope (scope_id),
    CONSTRAINT fk_dhcp4_options_Host FOREIGN KEY (host_id)
        REFERENCES hosts (host_id) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE = InnoDB

CREATE TABLE dhcp6_options (
    option_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    code SMALLINT UNSIGNED NOT NULL,
    value BLOB,
    formatted_value TEXT,
    space VARCHAR(128),
    persistent BOOL NOT NULL DEFAULT 0,
    dhcp_client_class VARCHAR(128),
    dhcp6_subnet_id INT UNSIGNED,
    host_id INT UNSIGNED,
    scope_id TINYINT UNSIGNED NOT NULL,
    user_context TEXT,
    shared_network_name VARCHAR(128),
    pool_id BIGINT UNSIGNED,
    pd_pool_id BIGINT UNSIGNED,
    modification_ts TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    UNIQUE KEY option_id_UNIQUE (option_id),
    KEY fk_options_host1_idx (host_id),
    KEY fk_dhcp6_options_shared_network (shared_network_name),
    KEY fk_dhcp6_options_subnet (dhcp6_subnet_id),
    KEY fk_dhcp6_options_pool (pool_id),
    KEY fk_dhcp6_options_pd_pool (pd_pool_id),
    KEY fk_dhcp6_options_client_class (dhcp_client_class),
    CONSTRAINT fk_dhcp6_option_scope FOREIGN KEY (scope_id)
        REFERENCES dhcp_option_scope (scope_id),
    CONSTRAINT fk_dhcp6_options_Host FOREIGN KEY (host_id)
        REFERENCES hosts (host_id) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE = InnoDB

CREATE TABLE logs (
    timestamp TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP,
    address VARCHAR(43),
    log TEXT NOT NULL,
    id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    KEY timestamp_index (timestamp)
) ENGINE = InnoDB

CREATE FUNCTION isJsonSupported() RETURNS BOOL DETERMINISTIC
RETURN TRUE

CREATE PROCEDURE countLeases4(the_subnet INT UNSIGNED, the_state INT UNSIGNED, step INT)
BEGIN
    IF the_state IN (0, 1) AND step > 0 THEN
        INSERT INTO lease4_stat VALUES (the_subnet, the_state, 1)
            ON DUPLICATE KEY UPDATE leases = leases + 1;
    ELSEIF the_state IN (0, 1) THEN
        UPDATE lease4_stat SET leases = leases - 1
            WHERE subnet_id = the_subnet AND state = the_state AND leases > 0;
    END IF;
END

CREATE PROCEDURE countLeases6(
    the_subnet INT UNSIGNED, the_type INT UNSIGNED, the_state INT UNSIGNED, step INT
)
BEGIN
    IF the_state IN (0, 1) AND step > 0 THEN
        INSERT INTO lease6_stat VALUES (the_subnet, the_type, the_state, 1)
            ON DUPLICATE KEY UPDATE leases = leases + 1;
    ELSEIF the_state IN (0, 1) THEN
        UPDATE lease6_stat SET leases = leases - 1
            WHERE subnet_id = the_subnet AND lease_type = the_type AND state = the_state
                AND leases > 0;
    END IF;
END

CREATE FUNCTION classOfContext(context TEXT, position INT) RETURNS VARCHAR(128) DETERMINISTIC
RETURN JSON_UNQUOTE(JSON_EXTRACT(context, CONCAT('$.ISC."client-classes"[', position, ']')))

CREATE PROCEDURE countClasses4(the_state INT UNSIGNED, context TEXT, step INT)
BEGIN
    DECLARE position INT DEFAULT 0;
    DECLARE class VARCHAR(128);
    IF the_state = 0 AND context <> '' AND JSON_VALID(context) THEN
        SET class = classOfContext(context, 0);
        WHILE class IS NOT NULL DO
            IF step > 0 THEN
                INSERT INTO lease4_stat_by_client_class VALUES (class, 1)
                    ON DUPLICATE KEY UPDATE leases = leases + 1;
            ELSE
                UPDATE lease4_stat_by_client_class SET leases = leases - 1
                    WHERE client_class = class AND leases > 0;
            END IF;
            SET position = position + 1;
            SET class = classOfContext(context, position);
        END WHILE;
    END IF;
END

CREATE PROCEDURE countClasses6(the_state INT UNSIGNED, the_type TINYINT, context TEXT, step INT)
BEGIN
    DECLARE position INT DEFAULT 0;
    DECLARE class VARCHAR(128);
    IF the_state = 0 AND context <> '' AND JSON_VALID(context) THEN
        SET class = classOfContext(context, 0);
        WHILE class IS NOT NULL DO
            IF step > 0 THEN
                INSERT INTO lease6_stat_by_client_class VALUES (class, the_type, 1)
                    ON DUPLICATE KEY UPDATE leases = leases + 1;
            ELSE
                UPDATE lease6_stat_by_client_class SET leases = leases - 1
                    WHERE client_class = class AND lease_type = the_type AND leases > 0;
            END IF;
            SET position = position + 1;
            SET class = classOfContext(context, position);
        END WHILE;
    END IF;
END

CREATE TRIGGER lease4_AINS AFTER INSERT ON lease4 FOR EACH ROW
BEGIN
    IF NEW.state IN (0, 1) AND @godwit_counts_leases IS NULL THEN
        INSERT INTO lease4_stat VALUES (NEW.subnet_id, NEW.state, 1)
            ON DUPLICATE KEY UPDATE leases = leases + 1;
    END IF;
    IF NEW.user_context <> '' THEN
        CALL countClasses4(NEW.state, NEW.user_context, 1);
    END IF;
END

CREATE TRIGGER lease4_AUPD AFTER UPDATE ON lease4 FOR EACH ROW
BEGIN
    IF NOT (OLD.subnet_id <=> NEW.subnet_id AND OLD.state <=> NEW.state) THEN
        CALL countLeases4(OLD.subnet_id, OLD.state, -1);
        CALL countLeases4(NEW.subnet_id, NEW.state, 1);
    END IF;
    IF NOT (OLD.state <=> NEW.state AND OLD.user_context <=> NEW.user_context) THEN
        CALL countClasses4(OLD.state, OLD.user_context, -1);
        CALL countClasses4(NEW.state, NEW.user_context, 1);
    END IF;
END

CREATE TRIGGER lease4_ADEL AFTER DELETE ON lease4 FOR EACH ROW
BEGIN
    CALL countLeases4(OLD.subnet_id, OLD.state, -1);
    CALL countClasses4(OLD.state, OLD.user_context, -1);
END

CREATE TRIGGER lease6_AINS AFTER INSERT ON lease6 FOR EACH ROW
BEGIN
    IF NEW.state IN (0, 1) AND @godwit_counts_leases IS NULL THEN
        INSERT INTO lease6_stat VALUES (NEW.subnet_id, NEW.lease_type, NEW.state, 1)
            ON DUPLICATE KEY UPDATE leases = leases + 1;
    END IF;
    IF NEW.user_context <> '' THEN
        CALL countClasses6(NEW.state, NEW.lease_type, NEW.user_context, 1);
    END IF;
END

CREATE TRIGGER lease6_AUPD AFTER UPDATE ON lease6 FOR EACH ROW
BEGIN
    IF NOT (OLD.subnet_id <=> NEW.subnet_id AND OLD.lease_type <=> NEW.lease_type
            AND OLD.state <=> NEW.state) THEN
        CALL countLeases6(OLD.subnet_id, OLD.lease_type, OLD.state, -1);
        CALL countLeases6(NEW.subnet_id, NEW.lease_type, NEW.state, 1);
    END IF;
    IF NOT (OLD.state <=> NEW.state AND OLD.lease_type <=> NEW.lease_type
            AND OLD.user_context <=> NEW.user_context) THEN
        CALL countClasses6(OLD.state, OLD.lease_type, OLD.user_context, -1);
        CALL countClasses6(NEW.state, NEW.lease_type, NEW.user_context, 1);
    END IF;
END

CREATE TRIGGER lease6_ADEL AFTER DELETE ON lease6 FOR EACH ROW
BEGIN
    CALL countLeases6(OLD.subnet_id, OLD.lease_type, OLD.state, -1);
    CALL countClasses6(OLD.state, OLD.lease_type, OLD.user_context, -1);
END

CREATE FUNCTION limitReached(
    kind VARCHAR(16), the_limit INT, place VARCHAR(255), leases BIGINT
) RETURNS TEXT DETERMINISTIC
RETURN IF(
    the_limit <= IFNULL(leases, 0),
    CONCAT(kind, ' limit ', the_limit, ' for ', place, ', current lease count ',
        IFNULL(leases, 0)),
    ''
)

CREATE FUNCTION checkLease4Limits(user_context TEXT) RETURNS TEXT READS SQL DATA
BEGIN
    DECLARE position INT DEFAULT 0;
    DECLARE class TEXT;
    DECLARE class_name VARCHAR(128);
    DECLARE reached TEXT DEFAULT '';
    DECLARE subnet TEXT DEFAULT JSON_EXTRACT(user_context, '$.ISC.limits.subnet');
    SET class = JSON_EXTRACT(user_context, '$.ISC.limits."client-classes"[0]');
    WHILE class IS NOT NULL DO
        SET class_name = JSON_UNQUOTE(JSON_EXTRACT(class, '$.name'));
        SET reached = limitReached(
            'address', JSON_EXTRACT(class, '$."address-limit"'),
            CONCAT('client class "', class_name, '"'),
            (SELECT leases FROM lease4_stat_by_client_class WHERE client_class = class_name));
        IF reached <> '' THEN
            RETURN reached;
        END IF;
        SET position = position + 1;
        SET class = JSON_EXTRACT(
            user_context, CONCAT('$.ISC.limits."client-classes"[', position, ']'));
    END WHILE;
    RETURN IFNULL(limitReached(
        'address', JSON_EXTRACT(subnet, '$."address-limit"'),
        CONCAT('subnet ID ', JSON_EXTRACT(subnet, '$.id')),
        (SELECT leases FROM lease4_stat
            WHERE subnet_id = JSON_EXTRACT(subnet, '$.id') AND state = 0)), '');
END

CREATE FUNCTION classLimitReached6(class TEXT, kind VARCHAR(16), the_type TINYINT)
RETURNS TEXT READS SQL DATA
BEGIN
    DECLARE class_name VARCHAR(128) DEFAULT JSON_UNQUOTE(JSON_EXTRACT(class, '$.name'));
    RETURN IFNULL(limitReached(
        kind, JSON_EXTRACT(class, CONCAT('$."', kind, '-limit"')),
        CONCAT('client class "', class_name, '"'),
        (SELECT leases FROM lease6_stat_by_client_class
            WHERE client_class = class_name AND lease_type = the_type)), '');
END

CREATE FUNCTION subnetLimitReached6(subnet TEXT, kind VARCHAR(16), the_type TINYINT)
RETURNS TEXT READS SQL DATA
RETURN IFNULL(limitReached(
    kind, JSON_EXTRACT(subnet, CONCAT('$."', kind, '-limit"')),
    CONCAT('subnet ID ', JSON_EXTRACT(subnet, '$.id')),
    (SELECT leases FROM lease6_stat
        WHERE subnet_id = JSON_EXTRACT(subnet, '$.id') AND lease_type = the_type
            AND state = 0)), '')

CREATE FUNCTION checkLease6Limits(user_context TEXT) RETURNS TEXT READS SQL DATA
BEGIN
    DECLARE position INT DEFAULT 0;
    DECLARE class TEXT;
    DECLARE reached TEXT;
    DECLARE subnet TEXT DEFAULT JSON_EXTRACT(user_context, '$.ISC.limits.subnet');
    SET class = JSON_EXTRACT(user_context, '$.ISC.limits."client-classes"[0]');
    WHILE class IS NOT NULL DO
        SET reached = CONCAT(classLimitReached6(class, 'address', 0));
        IF reached = '' THEN
            SET reached = classLimitReached6(class, 'prefix', 2);
        END IF;
        IF reached <> '' THEN
            RETURN reached;
        END IF;
        SET position = position + 1;
        SET class = JSON_EXTRACT(
            user_context, CONCAT('$.ISC.limits."client-classes"[', position, ']'));
    END WHILE;
    SET reached = subnetLimitReached6(subnet, 'address', 0);
    IF reached = '' THEN
        SET reached = subnetLimitReached6(subnet, 'prefix', 2);
    END IF;
    RETURN reached;
END

CREATE FUNCTION colonSeparatedHex(hex TEXT) RETURNS TEXT DETERMINISTIC
RETURN LOWER(TRIM(TRAILING ':' FROM REGEXP_REPLACE(
    IF(LENGTH(hex) MOD 2 = 1, CONCAT('0', hex), hex), '(..)', '\\1:')))

CREATE PROCEDURE lease4DumpHeader()
SELECT 'address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state,user_context'

CREATE PROCEDURE lease4DumpData()
SELECT INET_NTOA(address), IFNULL(colonSeparatedHex(HEX(hwaddr)), ''),
    IFNULL(colonSeparatedHex(HEX(client_id)), ''), valid_lifetime, UNIX_TIMESTAMP(expire),
    subnet_id, fqdn_fwd, fqdn_rev, REPLACE(hostname, ',', '&#x2c'), state,
    REPLACE(IFNULL(user_context, ''), ',', '&#x2c')
FROM lease4 ORDER BY address

CREATE PROCEDURE lease4Upload(
    the_address VARCHAR(15), the_hwaddr VARCHAR(60), the_client_id TEXT,
    the_lifetime INT UNSIGNED, the_end BIGINT UNSIGNED, the_subnet INT UNSIGNED,
    the_fwd TINYINT, the_rev TINYINT, the_hostname TEXT, the_state INT UNSIGNED,
    the_context TEXT
)
INSERT INTO lease4 VALUES (
    INET_ATON(the_address), UNHEX(REPLACE(the_hwaddr, ':', '')),
    UNHEX(REPLACE(the_client_id, ':', '')), the_lifetime, FROM_UNIXTIME(the_end), the_subnet,
    the_fwd, the_rev, REPLACE(the_hostname, '&#x2c', ','), the_state,
    REPLACE(the_context, '&#x2c', ','))

CREATE PROCEDURE lease6DumpHeader()
SELECT 'address,duid,valid_lifetime,expire,subnet_id,pref_lifetime,lease_type,iaid,prefix_len,fqdn_fwd,fqdn_rev,hostname,hwaddr,state,user_context,hwtype,hwaddr_source'

CREATE PROCEDURE lease6DumpData()
SELECT address, IFNULL(colonSeparatedHex(HEX(duid)), ''), valid_lifetime,
    UNIX_TIMESTAMP(expire), subnet_id, pref_lifetime, lease_type, iaid, prefix_len, fqdn_fwd,
    fqdn_rev, REPLACE(hostname, ',', '&#x2c'), IFNULL(colonSeparatedHex(HEX(hwaddr)), ''),
    state, REPLACE(IFNULL(user_context, ''), ',', '&#x2c'), hwtype, hwaddr_source
FROM lease6 ORDER BY address

CREATE PROCEDURE lease6Upload(
    the_address VARCHAR(39), the_duid TEXT, the_lifetime INT UNSIGNED, the_end BIGINT UNSIGNED,
    the_subnet INT UNSIGNED, the_preferred INT UNSIGNED, the_type TINYINT,
    the_iaid INT UNSIGNED, the_len TINYINT UNSIGNED, the_fwd TINYINT, the_rev TINYINT,
    the_hostname TEXT, the_hwaddr VARCHAR(60), the_state INT UNSIGNED, the_context TEXT,
    the_hwtype SMALLINT UNSIGNED, the_source INT UNSIGNED
)
INSERT INTO lease6 VALUES (
    the_address, UNHEX(REPLACE(the_duid, ':', '')), the_lifetime, FROM_UNIXTIME(the_end),
    the_subnet, the_preferred, the_type, the_iaid, the_len, the_fwd, the_rev,
    REPLACE(the_hostname, '&#x2c', ','), UNHEX(REPLACE(the_hwaddr, ':', '')), the_hwtype,
    the_source, the_state, REPLACE(the_context, '&#x2c', ','))

INSERT INTO schema_version VALUES (14, 0)
