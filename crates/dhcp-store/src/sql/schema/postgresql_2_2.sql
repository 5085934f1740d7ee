-- The lease and host tables of Kea 2.2 (schema 13.0) for PostgreSQL. Names and types are Kea's; a
-- blank line ends a statement. Triggers count what a statement adds or takes away at once, where Kea
-- counts row by row.

CREATE TABLE schema_version (
    version INT NOT NULL PRIMARY KEY,
    minor INT
)

CREATE TABLE lease_state (
    state BIGINT NOT NULL PRIMARY KEY,
    name VARCHAR(64) NOT NULL
)

INSERT INTO lease_state VALUES (0, 'default'), (1, 'declined'), (2, 'expired-reclaimed')

CREATE TABLE lease6_types (
    lease_type SMALLINT NOT NULL PRIMARY KEY,
    name VARCHAR(5)
)

INSERT INTO lease6_types VALUES (0, 'IA_NA'), (1, 'IA_TA'), (2, 'IA_PD')

CREATE TABLE lease_hwaddr_source (
    hwaddr_source INT NOT NULL PRIMARY KEY,
    name VARCHAR(40) DEFAULT NULL
)

INSERT INTO lease_hwaddr_source VALUES
    (0, 'HWADDR_SOURCE_UNKNOWN'), (1, 'HWADDR_SOURCE_RAW'),
    (2, 'HWADDR_SOURCE_IPV6_LINK_LOCAL'), (4, 'HWADDR_SOURCE_DUID'),
    (8, 'HWADDR_SOURCE_CLIENT_ADDR_RELAY_OPTION'), (16, 'HWADDR_SOURCE_REMOTE_ID'),
    (32, 'HWADDR_SOURCE_SUBSCRIBER_ID'), (64, 'HWADDR_SOURCE_DOCSIS_CMTS'),
    (128, 'HWADDR_SOURCE_DOCSIS_MODEM')

CREATE TABLE host_identifier_type (
    type SMALLINT NOT NULL PRIMARY KEY,
    name VARCHAR(32) DEFAULT NULL
)

INSERT INTO host_identifier_type VALUES
    (0, 'hw-address'), (1, 'duid'), (2, 'circuit-id'), (3, 'client-id'), (4, 'flex-id')

CREATE TABLE dhcp_option_scope (
    scope_id SMALLINT NOT NULL PRIMARY KEY,
    scope_name VARCHAR(32) DEFAULT NULL
)

INSERT INTO dhcp_option_scope VALUES
    (0, 'global'), (1, 'subnet'), (2, 'client-class'), (3, 'host'), (4, 'shared-network'),
    (5, 'pool'), (6, 'pd-pool')

CREATE TABLE lease4 (
    address BIGINT NOT NULL PRIMARY KEY,
    hwaddr BYTEA,
    client_id BYTEA,
    valid_lifetime BIGINT,
    expire TIMESTAMP WITH TIME ZONE,
    subnet_id BIGINT,
    fqdn_fwd BOOLEAN,
    fqdn_rev BOOLEAN,
    hostname VARCHAR(255),
    state BIGINT DEFAULT 0,
    user_context TEXT,
    CONSTRAINT fk_lease4_state FOREIGN KEY (state) REFERENCES lease_state (state)
)

CREATE INDEX lease4_by_hwaddr_subnet_id ON lease4 (hwaddr, subnet_id)

CREATE INDEX lease4_by_client_id_subnet_id ON lease4 (client_id, subnet_id)

CREATE INDEX lease4_by_state_expire ON lease4 (state, expire)

CREATE INDEX lease4_by_subnet_id ON lease4 (subnet_id)

CREATE INDEX lease4_by_hostname ON lease4 (lower(hostname)) WHERE hostname IS NOT NULL

CREATE TABLE lease6 (
    address VARCHAR(39) NOT NULL PRIMARY KEY,
    duid BYTEA,
    valid_lifetime BIGINT,
    expire TIMESTAMP WITH TIME ZONE,
    subnet_id BIGINT,
    pref_lifetime BIGINT,
    lease_type SMALLINT,
    iaid INT,
    prefix_len SMALLINT,
    fqdn_fwd BOOLEAN,
    fqdn_rev BOOLEAN,
    hostname VARCHAR(255),
    state BIGINT DEFAULT 0,
    hwaddr BYTEA,
    hwtype SMALLINT,
    hwaddr_source SMALLINT,
    user_context TEXT,
    CONSTRAINT fk_lease6_type FOREIGN KEY (lease_type) REFERENCES lease6_types (lease_type),
    CONSTRAINT fk_lease6_state FOREIGN KEY (state) REFERENCES lease_state (state)
)

CREATE INDEX lease6_by_duid_iaid_subnet_id ON lease6 (duid, iaid, subnet_id)

CREATE INDEX lease6_by_state_expire ON lease6 (state, expire)

CREATE INDEX lease6_by_subnet_id_lease_type ON lease6 (subnet_id, lease_type)

CREATE INDEX lease6_by_hostname ON lease6 (lower(hostname)) WHERE hostname IS NOT NULL

CREATE TABLE lease4_stat (
    subnet_id BIGINT NOT NULL,
    state BIGINT NOT NULL,
    leases BIGINT,
    PRIMARY KEY (subnet_id, state)
)

CREATE TABLE lease6_stat (
    subnet_id BIGINT NOT NULL,
    lease_type SMALLINT NOT NULL,
    state BIGINT NOT NULL,
    leases BIGINT,
    PRIMARY KEY (subnet_id, lease_type, state)
)

CREATE TABLE lease4_stat_by_client_class (
    client_class VARCHAR(128) NOT NULL PRIMARY KEY,
    leases BIGINT NOT NULL
)

CREATE TABLE lease6_stat_by_client_class (
    client_class VARCHAR(128) NOT NULL,
    lease_type SMALLINT NOT NULL,
    leases BIGINT NOT NULL,
    PRIMARY KEY (client_class, lease_type),
    CONSTRAINT fk_lease6_stat_by_client_class_lease_type FOREIGN KEY (lease_type)
        REFERENCES lease6_types (lease_type)
)

CREATE TABLE hosts (
    host_id SERIAL PRIMARY KEY,
    dhcp_identifier BYTEA NOT NULL,
    dhcp_identifier_type SMALLINT NOT NULL,
    dhcp4_subnet_id BIGINT,
    dhcp6_subnet_id BIGINT,
    ipv4_address BIGINT,
    hostname VARCHAR(255) DEFAULT NULL,
    dhcp4_client_classes VARCHAR(255) DEFAULT NULL,
    dhcp6_client_classes VARCHAR(255) DEFAULT NULL,
    dhcp4_next_server BIGINT,
    dhcp4_server_hostname VARCHAR(64) DEFAULT NULL,
    dhcp4_boot_file_name VARCHAR(128) DEFAULT NULL,
    user_context TEXT,
    auth_key VARCHAR(32) DEFAULT NULL,
    CONSTRAINT fk_host_identifier_type FOREIGN KEY (dhcp_identifier_type)
        REFERENCES host_identifier_type (type) ON DELETE CASCADE
)

CREATE INDEX fk_host_identifier_type ON hosts (dhcp_identifier_type)

CREATE INDEX hosts_by_hostname ON hosts (lower(hostname)) WHERE hostname IS NOT NULL

CREATE INDEX key_dhcp4_ipv4_address_subnet_id ON hosts (ipv4_address, dhcp4_subnet_id)

CREATE INDEX key_dhcp_identifier ON hosts (dhcp_identifier, dhcp_identifier_type)

CREATE UNIQUE INDEX key_dhcp4_identifier_subnet_id
ON hosts (dhcp_identifier, dhcp_identifier_type, dhcp4_subnet_id)
WHERE dhcp4_subnet_id IS NOT NULL

CREATE UNIQUE INDEX key_dhcp6_identifier_subnet_id
ON hosts (dhcp_identifier, dhcp_identifier_type, dhcp6_subnet_id)
WHERE dhcp6_subnet_id IS NOT NULL

CREATE TABLE ipv6_reservations (
    reservation_id SERIAL PRIMARY KEY,
    address VARCHAR(39) NOT NULL,
    prefix_len SMALLINT NOT NULL DEFAULT '128',
    type SMALLINT NOT NULL DEFAULT '0',
    dhcp6_iaid INT,
    host_id INT NOT NULL,
    CONSTRAINT fk_ipv6_reservations_host FOREIGN KEY (host_id)
        REFERENCES hosts (host_id) ON DELETE CASCADE
)

CREATE INDEX fk_ipv6_reservations_host_idx ON ipv6_reservations (host_id)

CREATE INDEX key_dhcp6_address_prefix_len ON ipv6_reservations (address, prefix_len)

CREATE TABLE dhcp4_options (
    option_id SERIAL PRIMARY KEY,
    code SMALLINT NOT NULL,
    value BYTEA,
    formatted_value TEXT,
    space VARCHAR(128) DEFAULT NULL,
    persistent BOOLEAN NOT NULL DEFAULT false,
    dhcp_client_class VARCHAR(128) DEFAULT NULL,
    dhcp4_subnet_id BIGINT,
    host_id INT,
    scope_id SMALLINT NOT NULL,
    user_context TEXT,
    shared_network_name VARCHAR(128) DEFAULT NULL,
    pool_id BIGINT,
    modification_ts TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT fk_dhcp4_option_scode FOREIGN KEY (scope_id)
        REFERENCES dhcp_option_scope (scope_id) ON DELETE CASCADE,
    CONSTRAINT fk_options_host1 FOREIGN KEY (host_id)
        REFERENCES hosts (host_id) ON DELETE CASCADE
)

CREATE INDEX fk_dhcp4_options_host1_idx ON dhcp4_options (host_id)

CREATE INDEX fk_dhcp4_options_scope_idx ON dhcp4_options (scope_id)

CREATE INDEX fk_dhcp4_options_pool ON dhcp4_options (pool_id)

CREATE INDEX fk_dhcp4_options_shared_network ON dhcp4_options (shared_network_name)

CREATE INDEX fk_dhcp4_options_subnet ON dhcp4_options (dhcp4_subnet_id)

CREATE TABLE dhcp6_options (
    option_id SERIAL PRIMARY KEY,
    code INT NOT NULL,
    value BYTEA,
    formatted_value TEXT,
    space VARCHAR(128) DEFAULT NULL,
    persistent BOOLEAN NOT NULL DEFAULT false,
    dhcp_client_class VARCHAR(128) DEFAULT NULL,
    dhcp6_subnet_id BIGINT,
    host_id INT,
    scope_id SMALLINT NOT NULL,
    user_context TEXT,
    shared_network_name VARCHAR(128) DEFAULT NULL,
    pool_id BIGINT,
    pd_pool_id BIGINT,
    modification_ts TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT fk_dhcp6_option_scode FOREIGN KEY (scope_id)
        REFERENCES dhcp_option_scope (scope_id) ON DELETE CASCADE,
    CONSTRAINT fk_options_host10 FOREIGN KEY (host_id)
        REFERENCES hosts (host_id) ON DELETE CASCADE
)

CREATE INDEX fk_dhcp6_options_host1_idx ON dhcp6_options (host_id)

CREATE INDEX fk_dhcp6_options_scope_idx ON dhcp6_options (scope_id)

CREATE INDEX fk_dhcp6_options_pool ON dhcp6_options (pool_id)

CREATE INDEX fk_dhcp6_options_pd_pool ON dhcp6_options (pd_pool_id)

CREATE INDEX fk_dhcp6_options_shared_network ON dhcp6_options (shared_network_name)

CREATE INDEX fk_dhcp6_options_subnet ON dhcp6_options (dhcp6_subnet_id)

CREATE TABLE logs (
    timestamp TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP,
    address VARCHAR(43),
    log TEXT NOT NULL
)

CREATE INDEX timestamp_id ON logs (timestamp)

CREATE INDEX address_id ON logs (address)

CREATE FUNCTION isJsonSupported() RETURNS BOOLEAN LANGUAGE sql AS 'SELECT true'

CREATE FUNCTION countLeases4(the_subnet BIGINT, the_state BIGINT, step INT)
RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    IF the_state IN (0, 1) AND step > 0 THEN
        INSERT INTO lease4_stat AS s VALUES (the_subnet, the_state, step)
            ON CONFLICT (subnet_id, state) DO UPDATE SET leases = s.leases + step;
    ELSIF the_state IN (0, 1) THEN
        UPDATE lease4_stat SET leases = greatest(leases + step, 0)
            WHERE subnet_id = the_subnet AND state = the_state;
    END IF;
END $$

CREATE FUNCTION countLeases6(the_subnet BIGINT, the_type SMALLINT, the_state BIGINT, step INT)
RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    IF the_state IN (0, 1) AND step > 0 THEN
        INSERT INTO lease6_stat AS s VALUES (the_subnet, the_type, the_state, step)
            ON CONFLICT (subnet_id, lease_type, state) DO UPDATE SET leases = s.leases + step;
    ELSIF the_state IN (0, 1) THEN
        UPDATE lease6_stat SET leases = greatest(leases + step, 0)
            WHERE subnet_id = the_subnet AND lease_type = the_type AND state = the_state;
    END IF;
END $$

CREATE FUNCTION classesOfContext(context TEXT) RETURNS SETOF TEXT LANGUAGE sql AS $$
    SELECT json_array_elements_text(context::json->'ISC'->'client-classes')
$$

CREATE FUNCTION countClasses4(the_state BIGINT, context TEXT, step INT)
RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    IF the_state <> 0 OR context IS NULL OR context = '' THEN
        RETURN;
    END IF;
    IF step > 0 THEN
        INSERT INTO lease4_stat_by_client_class AS s
            SELECT class, count(*) FROM classesOfContext(context) AS class
            GROUP BY class ORDER BY class
            ON CONFLICT (client_class) DO UPDATE SET leases = s.leases + excluded.leases;
    ELSE
        UPDATE lease4_stat_by_client_class SET leases = leases - 1
            WHERE leases > 0 AND client_class IN (SELECT classesOfContext(context));
    END IF;
END $$

CREATE FUNCTION countClasses6(the_state BIGINT, the_type SMALLINT, context TEXT, step INT)
RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    IF the_state <> 0 OR context IS NULL OR context = '' THEN
        RETURN;
    END IF;
    IF step > 0 THEN
        INSERT INTO lease6_stat_by_client_class AS s
            SELECT class, the_type, count(*) FROM classesOfContext(context) AS class
            GROUP BY class ORDER BY class
            ON CONFLICT (client_class, lease_type)
            DO UPDATE SET leases = s.leases + excluded.leases;
    ELSE
        UPDATE lease6_stat_by_client_class SET leases = leases - 1
            WHERE leases > 0 AND lease_type = the_type
                AND client_class IN (SELECT classesOfContext(context));
    END IF;
END $$

CREATE FUNCTION func_lease4_AINS() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM countLeases4(subnet_id, state, count(*)::int) FROM changed
        GROUP BY subnet_id, state ORDER BY subnet_id, state;
    PERFORM countClasses4(state, user_context, 1) FROM changed WHERE user_context <> '';
    RETURN NULL;
END $$

CREATE FUNCTION func_lease4_AUPD() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.subnet_id, OLD.state) IS DISTINCT FROM (NEW.subnet_id, NEW.state) THEN
        PERFORM countLeases4(OLD.subnet_id, OLD.state, -1);
        PERFORM countLeases4(NEW.subnet_id, NEW.state, 1);
    END IF;
    IF (OLD.state, OLD.user_context) IS DISTINCT FROM (NEW.state, NEW.user_context) THEN
        PERFORM countClasses4(OLD.state, OLD.user_context, -1);
        PERFORM countClasses4(NEW.state, NEW.user_context, 1);
    END IF;
    RETURN NULL;
END $$

CREATE FUNCTION func_lease4_ADEL() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM countLeases4(subnet_id, state, -count(*)::int) FROM changed
        GROUP BY subnet_id, state ORDER BY subnet_id, state;
    PERFORM countClasses4(state, user_context, -1) FROM changed WHERE user_context <> '';
    RETURN NULL;
END $$

CREATE FUNCTION func_lease6_AINS() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM countLeases6(subnet_id, lease_type, state, count(*)::int) FROM changed
        GROUP BY subnet_id, lease_type, state ORDER BY subnet_id, lease_type, state;
    PERFORM countClasses6(state, lease_type, user_context, 1) FROM changed WHERE user_context <> '';
    RETURN NULL;
END $$

CREATE FUNCTION func_lease6_AUPD() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.subnet_id, OLD.lease_type, OLD.state)
            IS DISTINCT FROM (NEW.subnet_id, NEW.lease_type, NEW.state) THEN
        PERFORM countLeases6(OLD.subnet_id, OLD.lease_type, OLD.state, -1);
        PERFORM countLeases6(NEW.subnet_id, NEW.lease_type, NEW.state, 1);
    END IF;
    IF (OLD.state, OLD.lease_type, OLD.user_context)
            IS DISTINCT FROM (NEW.state, NEW.lease_type, NEW.user_context) THEN
        PERFORM countClasses6(OLD.state, OLD.lease_type, OLD.user_context, -1);
        PERFORM countClasses6(NEW.state, NEW.lease_type, NEW.user_context, 1);
    END IF;
    RETURN NULL;
END $$

CREATE FUNCTION func_lease6_ADEL() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM countLeases6(subnet_id, lease_type, state, -count(*)::int) FROM changed
        GROUP BY subnet_id, lease_type, state ORDER BY subnet_id, lease_type, state;
    PERFORM countClasses6(state, lease_type, user_context, -1)
        FROM changed WHERE user_context <> '';
    RETURN NULL;
END $$

CREATE TRIGGER lease4_AINS AFTER INSERT ON lease4
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION func_lease4_AINS()

CREATE TRIGGER lease4_AUPD AFTER UPDATE ON lease4
FOR EACH ROW WHEN (
    (OLD.subnet_id, OLD.state, OLD.user_context)
    IS DISTINCT FROM (NEW.subnet_id, NEW.state, NEW.user_context)
) EXECUTE FUNCTION func_lease4_AUPD()

CREATE TRIGGER lease4_ADEL AFTER DELETE ON lease4
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION func_lease4_ADEL()

CREATE TRIGGER lease6_AINS AFTER INSERT ON lease6
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION func_lease6_AINS()

CREATE TRIGGER lease6_AUPD AFTER UPDATE ON lease6
FOR EACH ROW WHEN (
    (OLD.subnet_id, OLD.lease_type, OLD.state, OLD.user_context)
    IS DISTINCT FROM (NEW.subnet_id, NEW.lease_type, NEW.state, NEW.user_context)
) EXECUTE FUNCTION func_lease6_AUPD()

CREATE TRIGGER lease6_ADEL AFTER DELETE ON lease6
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION func_lease6_ADEL()

CREATE FUNCTION limitReached(kind TEXT, the_limit TEXT, place TEXT, leases BIGINT)
RETURNS TEXT LANGUAGE sql AS $$
    SELECT CASE WHEN the_limit::bigint <= coalesce(leases, 0) THEN
        concat(kind, ' limit ', the_limit, ' for ', place, ', current lease count ',
            coalesce(leases, 0))
    END
$$

CREATE FUNCTION limitsOfContext(context TEXT) RETURNS json LANGUAGE sql AS $$
    SELECT CASE WHEN context <> '' THEN context::json->'ISC'->'limits' END
$$

CREATE FUNCTION checkLease4Limits(user_context TEXT) RETURNS TEXT LANGUAGE sql AS $$
    SELECT coalesce((
        SELECT reached FROM (
            SELECT 0 AS part, ordinality AS position, limitReached('address',
                class->>'address-limit', concat('client class "', class->>'name', '"'),
                (SELECT leases FROM lease4_stat_by_client_class
                    WHERE client_class = class->>'name')) AS reached
            FROM json_array_elements(limitsOfContext(user_context)->'client-classes')
                WITH ORDINALITY AS classes (class, ordinality)
            UNION ALL
            SELECT 1, 0, limitReached('address', subnet->>'address-limit',
                concat('subnet ID ', subnet->>'id'),
                (SELECT leases FROM lease4_stat
                    WHERE subnet_id = (subnet->>'id')::bigint AND state = 0))
            FROM (SELECT limitsOfContext(user_context)->'subnet' AS subnet) AS subnets
        ) AS limits WHERE reached IS NOT NULL ORDER BY part, position LIMIT 1
    ), '')
$$

CREATE FUNCTION checkLease6Limits(user_context TEXT) RETURNS TEXT LANGUAGE sql AS $$
    SELECT coalesce((
        SELECT reached FROM (
            SELECT 0 AS part, ordinality AS position, the_type, limitReached(kind,
                class->>(kind || '-limit'), concat('client class "', class->>'name', '"'),
                (SELECT leases FROM lease6_stat_by_client_class
                    WHERE client_class = class->>'name' AND lease_type = the_type)) AS reached
            FROM json_array_elements(limitsOfContext(user_context)->'client-classes')
                WITH ORDINALITY AS classes (class, ordinality),
                (VALUES ('address', 0), ('prefix', 2)) AS kinds (kind, the_type)
            UNION ALL
            SELECT 1, 0, the_type, limitReached(kind, subnet->>(kind || '-limit'),
                concat('subnet ID ', subnet->>'id'),
                (SELECT leases FROM lease6_stat
                    WHERE subnet_id = (subnet->>'id')::bigint AND lease_type = the_type
                        AND state = 0))
            FROM (SELECT limitsOfContext(user_context)->'subnet' AS subnet) AS subnets,
                (VALUES ('address', 0), ('prefix', 2)) AS kinds (kind, the_type)
        ) AS limits WHERE reached IS NOT NULL ORDER BY part, position, the_type LIMIT 1
    ), '')
$$

CREATE FUNCTION gmt_epoch(input_ts TIMESTAMP WITH TIME ZONE) RETURNS BIGINT LANGUAGE sql AS $$
    SELECT (extract(epoch FROM input_ts) + extract(timezone FROM input_ts))::bigint
$$

CREATE FUNCTION colonSeparatedHex(hex TEXT) RETURNS TEXT LANGUAGE sql AS $$
    SELECT lower(rtrim(regexp_replace(
        CASE WHEN length(hex) % 2 = 1 THEN '0' || hex ELSE hex END, '(..)', '\1:', 'g'), ':'))
$$

CREATE FUNCTION lease4DumpHeader() RETURNS TEXT LANGUAGE sql AS $$
    SELECT 'address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state,user_context'
$$

CREATE FUNCTION lease4DumpData() RETURNS TABLE (
    address INET, hwaddr VARCHAR, client_id VARCHAR, valid_lifetime BIGINT, expire BIGINT,
    subnet_id BIGINT, fqdn_fwd INT, fqdn_rev INT, hostname VARCHAR, state BIGINT,
    user_context VARCHAR
) LANGUAGE sql AS $$
    SELECT '0.0.0.0'::inet + l.address, colonSeparatedHex(encode(l.hwaddr, 'hex')),
        colonSeparatedHex(encode(l.client_id, 'hex')), l.valid_lifetime,
        extract(epoch FROM l.expire)::bigint, l.subnet_id, l.fqdn_fwd::int, l.fqdn_rev::int,
        replace(l.hostname, ',', '&#x2c'), l.state, replace(l.user_context, ',', '&#x2c')
    FROM lease4 AS l ORDER BY l.address
$$

CREATE FUNCTION lease4Upload(
    the_address VARCHAR, the_hwaddr VARCHAR, the_client_id VARCHAR, the_lifetime BIGINT,
    the_end BIGINT, the_subnet BIGINT, the_fwd INT, the_rev INT, the_hostname VARCHAR,
    the_state BIGINT, the_context VARCHAR
) RETURNS VOID LANGUAGE sql AS $$
    INSERT INTO lease4 (address, hwaddr, client_id, valid_lifetime, expire, subnet_id,
        fqdn_fwd, fqdn_rev, hostname, state, user_context)
    VALUES (the_address::inet - '0.0.0.0'::inet, decode(replace(the_hwaddr, ':', ''), 'hex'),
        decode(replace(the_client_id, ':', ''), 'hex'), the_lifetime, to_timestamp(the_end),
        the_subnet, the_fwd::boolean, the_rev::boolean, replace(the_hostname, '&#x2c', ','),
        the_state, replace(the_context, '&#x2c', ','))
$$

CREATE FUNCTION lease6DumpHeader() RETURNS TEXT LANGUAGE sql AS $$
    SELECT 'address,duid,valid_lifetime,expire,subnet_id,pref_lifetime,lease_type,iaid,prefix_len,fqdn_fwd,fqdn_rev,hostname,hwaddr,state,user_context,hwtype,hwaddr_source'
$$

CREATE FUNCTION lease6DumpData() RETURNS TABLE (
    address VARCHAR, duid VARCHAR, valid_lifetime BIGINT, expire BIGINT, subnet_id BIGINT,
    pref_lifetime BIGINT, lease_type SMALLINT, iaid INT, prefix_len SMALLINT, fqdn_fwd INT,
    fqdn_rev INT, hostname VARCHAR, hwaddr VARCHAR, state BIGINT, user_context VARCHAR,
    hwtype SMALLINT, hwaddr_source SMALLINT
) LANGUAGE sql AS $$
    SELECT l.address, colonSeparatedHex(encode(l.duid, 'hex')), l.valid_lifetime,
        extract(epoch FROM l.expire)::bigint, l.subnet_id, l.pref_lifetime, l.lease_type,
        l.iaid, l.prefix_len, l.fqdn_fwd::int, l.fqdn_rev::int,
        replace(l.hostname, ',', '&#x2c'), colonSeparatedHex(encode(l.hwaddr, 'hex')), l.state,
        replace(l.user_context, ',', '&#x2c'), l.hwtype, l.hwaddr_source
    FROM lease6 AS l ORDER BY l.address
$$

CREATE FUNCTION lease6Upload(
    the_address VARCHAR, the_duid VARCHAR, the_lifetime BIGINT, the_end BIGINT,
    the_subnet BIGINT, the_preferred BIGINT, the_type INT, the_iaid INT, the_len INT,
    the_fwd INT, the_rev INT, the_hostname VARCHAR, the_hwaddr VARCHAR, the_state BIGINT,
    the_context VARCHAR, the_hwtype INT, the_source INT
) RETURNS VOID LANGUAGE sql AS $$
    INSERT INTO lease6 (address, duid, valid_lifetime, expire, subnet_id, pref_lifetime,
        lease_type, iaid, prefix_len, fqdn_fwd, fqdn_rev, hostname, hwaddr, state,
        user_context, hwtype, hwaddr_source)
    VALUES (the_address, decode(replace(the_duid, ':', ''), 'hex'), the_lifetime,
        to_timestamp(the_end), the_subnet, the_preferred, the_type, the_iaid, the_len,
        the_fwd::boolean, the_rev::boolean, replace(the_hostname, '&#x2c', ','),
        decode(replace(the_hwaddr, ':', ''), 'hex'), the_state,
        replace(the_context, '&#x2c', ','), the_hwtype, the_source)
$$

INSERT INTO schema_version VALUES (13, 0)
