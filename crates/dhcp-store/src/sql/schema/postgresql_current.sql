-- From schema 13.0 (Kea 2.2) to 34.0 for PostgreSQL. Names and types are Kea's; a blank line ends a
-- statement.

DROP TRIGGER lease4_AINS ON lease4

DROP TRIGGER lease4_AUPD ON lease4

DROP TRIGGER lease4_ADEL ON lease4

DROP TRIGGER lease6_AINS ON lease6

DROP TRIGGER lease6_AUPD ON lease6

DROP TRIGGER lease6_ADEL ON lease6

DROP FUNCTION isJsonSupported, lease4DumpHeader, lease4DumpData, lease6DumpHeader, lease6DumpData

DROP FUNCTION IF EXISTS countLeases4, countLeases6

INSERT INTO lease_state VALUES (3, 'released'), (4, 'registered')

UPDATE lease6 SET lease_type = 0 WHERE lease_type = 1

DELETE FROM lease6_stat WHERE lease_type = 1

DELETE FROM lease6_stat_by_client_class WHERE lease_type = 1

DELETE FROM lease6_types WHERE lease_type = 1

ALTER TABLE lease4
    ADD COLUMN relay_id BYTEA,
    ADD COLUMN remote_id BYTEA,
    ADD COLUMN pool_id BIGINT NOT NULL DEFAULT 0

CREATE INDEX lease4_by_relay_id ON lease4 (relay_id)

CREATE INDEX lease4_by_remote_id ON lease4 (remote_id)

CREATE INDEX lease4_by_state ON lease4 (state, subnet_id)

UPDATE lease6 SET duid = '\x000000' WHERE duid = '\x00'

ALTER TABLE lease6
    ALTER COLUMN address TYPE INET USING address::inet,
    ADD COLUMN pool_id BIGINT NOT NULL DEFAULT 0

CREATE INDEX lease6_by_subnet_id_address ON lease6 (subnet_id, address)

CREATE INDEX lease6_by_hwaddr ON lease6 (hwaddr)

CREATE INDEX lease6_by_state ON lease6 (state, subnet_id)

ALTER TABLE ipv6_reservations
    ALTER COLUMN address TYPE INET USING address::inet,
    ADD COLUMN excluded_prefix INET,
    ADD COLUMN excluded_prefix_len SMALLINT NOT NULL DEFAULT '0'

ALTER TABLE dhcp4_options
    ADD COLUMN cancelled BOOLEAN NOT NULL DEFAULT false,
    ADD COLUMN client_classes TEXT NOT NULL DEFAULT '[  ]'

ALTER TABLE dhcp4_options ALTER COLUMN client_classes DROP DEFAULT

ALTER TABLE dhcp6_options
    ADD COLUMN cancelled BOOLEAN NOT NULL DEFAULT false,
    ADD COLUMN client_classes TEXT NOT NULL DEFAULT '[  ]'

ALTER TABLE dhcp6_options ALTER COLUMN client_classes DROP DEFAULT

CREATE TABLE lease6_relay_id (
    extended_info_id SERIAL PRIMARY KEY,
    relay_id BYTEA NOT NULL,
    lease_addr INET NOT NULL,
    CONSTRAINT fk_lease6_relay_id_addr FOREIGN KEY (lease_addr)
        REFERENCES lease6 (address) ON DELETE CASCADE
)

CREATE INDEX lease6_relay_id_by_id ON lease6_relay_id (relay_id, lease_addr)

CREATE INDEX lease6_relay_id_by_address ON lease6_relay_id (lease_addr)

CREATE TABLE lease6_remote_id (
    extended_info_id SERIAL PRIMARY KEY,
    remote_id BYTEA NOT NULL,
    lease_addr INET NOT NULL,
    CONSTRAINT fk_lease6_remote_id_addr FOREIGN KEY (lease_addr)
        REFERENCES lease6 (address) ON DELETE CASCADE
)

CREATE INDEX lease6_remote_id_by_id ON lease6_remote_id (remote_id, lease_addr)

CREATE INDEX lease6_remote_id_by_address ON lease6_remote_id (lease_addr)

CREATE TABLE lease4_pool_stat (
    subnet_id BIGINT NOT NULL,
    pool_id BIGINT NOT NULL,
    state BIGINT NOT NULL,
    leases BIGINT,
    PRIMARY KEY (subnet_id, pool_id, state)
)

INSERT INTO lease4_pool_stat
    SELECT subnet_id, pool_id, state, count(*) FROM lease4 WHERE state IN (0, 1)
    GROUP BY subnet_id, pool_id, state

CREATE TABLE lease6_pool_stat (
    subnet_id BIGINT NOT NULL,
    pool_id BIGINT NOT NULL,
    lease_type SMALLINT NOT NULL,
    state BIGINT NOT NULL,
    leases BIGINT,
    PRIMARY KEY (subnet_id, pool_id, lease_type, state)
)

INSERT INTO lease6_pool_stat
    SELECT subnet_id, pool_id, lease_type, state, count(*) FROM lease6 WHERE state IN (0, 1)
    GROUP BY subnet_id, pool_id, lease_type, state

DELETE FROM lease6_stat

INSERT INTO lease6_stat
    SELECT subnet_id, lease_type, state, count(*) FROM lease6 WHERE state IN (0, 1)
    GROUP BY subnet_id, lease_type, state

CREATE TABLE flq_pool4 (
    id SERIAL PRIMARY KEY,
    start_address BIGINT NOT NULL,
    end_address BIGINT NOT NULL,
    last_returned_address BIGINT NOT NULL DEFAULT 0,
    subnet_id BIGINT NOT NULL,
    created_ts TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT CURRENT_TIMESTAMP,
    modification_ts TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT CURRENT_TIMESTAMP
)

CREATE UNIQUE INDEX flq_pool4_start_end_address ON flq_pool4 (start_address, end_address)

CREATE INDEX flq_pool4_by_subnet_id ON flq_pool4 (subnet_id)

CREATE TABLE flq_pool6 (
    id SERIAL PRIMARY KEY,
    start_address INET NOT NULL,
    end_address INET NOT NULL,
    lease_type SMALLINT NOT NULL,
    delegated_len SMALLINT NOT NULL,
    last_returned_address INET NOT NULL DEFAULT '::',
    subnet_id BIGINT NOT NULL,
    created_ts TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT CURRENT_TIMESTAMP,
    modification_ts TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT fk_flq_pool6_lease6_type FOREIGN KEY (lease_type)
        REFERENCES lease6_types (lease_type)
)

CREATE UNIQUE INDEX flq_pool6_start_end_address ON flq_pool6 (start_address, end_address)

CREATE INDEX flq_pool6_by_subnet_id ON flq_pool6 (subnet_id)

CREATE TABLE free_lease4 (
    address BIGINT NOT NULL PRIMARY KEY,
    modification_ts TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT CURRENT_TIMESTAMP
)

CREATE TABLE free_lease6 (
    address INET NOT NULL PRIMARY KEY,
    bin_address BYTEA NOT NULL,
    modification_ts TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT CURRENT_TIMESTAMP
)

CREATE UNIQUE INDEX free_lease6_bin_address ON free_lease6 (bin_address)

CREATE FUNCTION countLeases4(the_subnet BIGINT, the_pool BIGINT, the_state BIGINT, step INT)
RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    IF the_state IN (0, 1) AND step > 0 THEN
        INSERT INTO lease4_stat AS s VALUES (the_subnet, the_state, step)
            ON CONFLICT (subnet_id, state) DO UPDATE SET leases = s.leases + step;
        INSERT INTO lease4_pool_stat AS s VALUES (the_subnet, the_pool, the_state, step)
            ON CONFLICT (subnet_id, pool_id, state) DO UPDATE SET leases = s.leases + step;
    ELSIF the_state IN (0, 1) THEN
        UPDATE lease4_stat SET leases = greatest(leases + step, 0)
            WHERE subnet_id = the_subnet AND state = the_state;
        UPDATE lease4_pool_stat SET leases = greatest(leases + step, 0)
            WHERE subnet_id = the_subnet AND pool_id = the_pool AND state = the_state;
    END IF;
END $$

CREATE FUNCTION countLeases6(
    the_subnet BIGINT, the_pool BIGINT, the_type SMALLINT, the_state BIGINT, step INT
) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    IF the_state IN (0, 1, 4) AND step > 0 THEN
        INSERT INTO lease6_stat AS s VALUES (the_subnet, the_type, the_state, step)
            ON CONFLICT (subnet_id, lease_type, state) DO UPDATE SET leases = s.leases + step;
    ELSIF the_state IN (0, 1, 4) THEN
        UPDATE lease6_stat SET leases = greatest(leases + step, 0)
            WHERE subnet_id = the_subnet AND lease_type = the_type AND state = the_state;
    END IF;
    IF the_state IN (0, 1) AND step > 0 THEN
        INSERT INTO lease6_pool_stat AS s
            VALUES (the_subnet, the_pool, the_type, the_state, step)
            ON CONFLICT (subnet_id, pool_id, lease_type, state)
            DO UPDATE SET leases = s.leases + step;
    ELSIF the_state IN (0, 1) THEN
        UPDATE lease6_pool_stat SET leases = greatest(leases + step, 0)
            WHERE subnet_id = the_subnet AND pool_id = the_pool AND lease_type = the_type
                AND state = the_state;
    END IF;
END $$

CREATE OR REPLACE FUNCTION func_lease4_AINS() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM countLeases4(subnet_id, pool_id, state, count(*)::int) FROM changed
        GROUP BY subnet_id, pool_id, state ORDER BY subnet_id, pool_id, state;
    PERFORM countClasses4(state, user_context, 1) FROM changed WHERE user_context <> '';
    RETURN NULL;
END $$

CREATE OR REPLACE FUNCTION func_lease4_AUPD() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.subnet_id, OLD.pool_id, OLD.state)
            IS DISTINCT FROM (NEW.subnet_id, NEW.pool_id, NEW.state) THEN
        PERFORM countLeases4(OLD.subnet_id, OLD.pool_id, OLD.state, -1);
        PERFORM countLeases4(NEW.subnet_id, NEW.pool_id, NEW.state, 1);
    END IF;
    IF (OLD.state, OLD.user_context) IS DISTINCT FROM (NEW.state, NEW.user_context) THEN
        PERFORM countClasses4(OLD.state, OLD.user_context, -1);
        PERFORM countClasses4(NEW.state, NEW.user_context, 1);
    END IF;
    RETURN NULL;
END $$

CREATE OR REPLACE FUNCTION func_lease4_ADEL() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM countLeases4(subnet_id, pool_id, state, -count(*)::int) FROM changed
        GROUP BY subnet_id, pool_id, state ORDER BY subnet_id, pool_id, state;
    PERFORM countClasses4(state, user_context, -1) FROM changed WHERE user_context <> '';
    RETURN NULL;
END $$

CREATE OR REPLACE FUNCTION func_lease6_AINS() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM countLeases6(subnet_id, pool_id, lease_type, state, count(*)::int) FROM changed
        GROUP BY subnet_id, pool_id, lease_type, state
        ORDER BY subnet_id, pool_id, lease_type, state;
    PERFORM countClasses6(state, lease_type, user_context, 1) FROM changed WHERE user_context <> '';
    RETURN NULL;
END $$

CREATE OR REPLACE FUNCTION func_lease6_AUPD() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.subnet_id, OLD.pool_id, OLD.lease_type, OLD.state)
            IS DISTINCT FROM (NEW.subnet_id, NEW.pool_id, NEW.lease_type, NEW.state) THEN
        PERFORM countLeases6(OLD.subnet_id, OLD.pool_id, OLD.lease_type, OLD.state, -1);
        PERFORM countLeases6(NEW.subnet_id, NEW.pool_id, NEW.lease_type, NEW.state, 1);
    END IF;
    IF (OLD.state, OLD.lease_type, OLD.user_context)
            IS DISTINCT FROM (NEW.state, NEW.lease_type, NEW.user_context) THEN
        PERFORM countClasses6(OLD.state, OLD.lease_type, OLD.user_context, -1);
        PERFORM countClasses6(NEW.state, NEW.lease_type, NEW.user_context, 1);
    END IF;
    RETURN NULL;
END $$

CREATE OR REPLACE FUNCTION func_lease6_ADEL() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM countLeases6(subnet_id, pool_id, lease_type, state, -count(*)::int) FROM changed
        GROUP BY subnet_id, pool_id, lease_type, state
        ORDER BY subnet_id, pool_id, lease_type, state;
    PERFORM countClasses6(state, lease_type, user_context, -1)
        FROM changed WHERE user_context <> '';
    RETURN NULL;
END $$

CREATE TRIGGER lease4_AINS AFTER INSERT ON lease4
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION func_lease4_AINS()

CREATE TRIGGER lease4_AUPD AFTER UPDATE ON lease4
FOR EACH ROW WHEN (
    (OLD.subnet_id, OLD.pool_id, OLD.state, OLD.user_context)
    IS DISTINCT FROM (NEW.subnet_id, NEW.pool_id, NEW.state, NEW.user_context)
) EXECUTE FUNCTION func_lease4_AUPD()

CREATE TRIGGER lease4_ADEL AFTER DELETE ON lease4
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION func_lease4_ADEL()

CREATE TRIGGER lease6_AINS AFTER INSERT ON lease6
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION func_lease6_AINS()

CREATE TRIGGER lease6_AUPD AFTER UPDATE ON lease6
FOR EACH ROW WHEN (
    (OLD.subnet_id, OLD.pool_id, OLD.lease_type, OLD.state, OLD.user_context)
    IS DISTINCT FROM (NEW.subnet_id, NEW.pool_id, NEW.lease_type, NEW.state, NEW.user_context)
) EXECUTE FUNCTION func_lease6_AUPD()

CREATE TRIGGER lease6_ADEL AFTER DELETE ON lease6
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION func_lease6_ADEL()

CREATE FUNCTION lease4DumpHeader() RETURNS TEXT LANGUAGE sql AS $$
    SELECT 'address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state,user_context,pool_id'
$$

CREATE FUNCTION lease4DumpData() RETURNS TABLE (
    address INET, hwaddr VARCHAR, client_id VARCHAR, valid_lifetime BIGINT, expire BIGINT,
    subnet_id BIGINT, fqdn_fwd INT, fqdn_rev INT, hostname VARCHAR, state BIGINT,
    user_context VARCHAR, pool_id BIGINT
) LANGUAGE sql AS $$
    SELECT '0.0.0.0'::inet + l.address, colonSeparatedHex(encode(l.hwaddr, 'hex')),
        colonSeparatedHex(encode(l.client_id, 'hex')), l.valid_lifetime,
        extract(epoch FROM l.expire)::bigint, l.subnet_id, l.fqdn_fwd::int, l.fqdn_rev::int,
        replace(l.hostname, ',', '&#x2c'), l.state, replace(l.user_context, ',', '&#x2c'),
        l.pool_id
    FROM lease4 AS l ORDER BY l.address
$$

CREATE FUNCTION lease4Upload(
    the_address VARCHAR, the_hwaddr VARCHAR, the_client_id VARCHAR, the_lifetime BIGINT,
    the_end BIGINT, the_subnet BIGINT, the_fwd INT, the_rev INT, the_hostname VARCHAR,
    the_state BIGINT, the_context VARCHAR, the_pool BIGINT
) RETURNS VOID LANGUAGE sql AS $$
    INSERT INTO lease4 (address, hwaddr, client_id, valid_lifetime, expire, subnet_id,
        fqdn_fwd, fqdn_rev, hostname, state, user_context, pool_id)
    VALUES (the_address::inet - '0.0.0.0'::inet, decode(replace(the_hwaddr, ':', ''), 'hex'),
        decode(replace(the_client_id, ':', ''), 'hex'), the_lifetime, to_timestamp(the_end),
        the_subnet, the_fwd::boolean, the_rev::boolean, replace(the_hostname, '&#x2c', ','),
        the_state, replace(the_context, '&#x2c', ','), the_pool)
$$

CREATE FUNCTION lease6DumpHeader() RETURNS TEXT LANGUAGE sql AS $$
    SELECT 'address,duid,valid_lifetime,expire,subnet_id,pref_lifetime,lease_type,iaid,prefix_len,fqdn_fwd,fqdn_rev,hostname,hwaddr,state,user_context,hwtype,hwaddr_source,pool_id'
$$

CREATE FUNCTION lease6DumpData() RETURNS TABLE (
    address VARCHAR, duid VARCHAR, valid_lifetime BIGINT, expire BIGINT, subnet_id BIGINT,
    pref_lifetime BIGINT, lease_type SMALLINT, iaid INT, prefix_len SMALLINT, fqdn_fwd INT,
    fqdn_rev INT, hostname VARCHAR, hwaddr VARCHAR, state BIGINT, user_context VARCHAR,
    hwtype SMALLINT, hwaddr_source SMALLINT, pool_id BIGINT
) LANGUAGE sql AS $$
    SELECT host(l.address), colonSeparatedHex(encode(l.duid, 'hex')), l.valid_lifetime,
        extract(epoch FROM l.expire)::bigint, l.subnet_id, l.pref_lifetime, l.lease_type,
        l.iaid, l.prefix_len, l.fqdn_fwd::int, l.fqdn_rev::int,
        replace(l.hostname, ',', '&#x2c'), colonSeparatedHex(encode(l.hwaddr, 'hex')), l.state,
        replace(l.user_context, ',', '&#x2c'), l.hwtype, l.hwaddr_source, l.pool_id
    FROM lease6 AS l ORDER BY l.address
$$

DROP FUNCTION lease6Upload

CREATE FUNCTION lease6Upload(
    the_address VARCHAR, the_duid VARCHAR, the_lifetime BIGINT, the_end BIGINT,
    the_subnet BIGINT, the_preferred BIGINT, the_type INT, the_iaid INT, the_len INT,
    the_fwd INT, the_rev INT, the_hostname VARCHAR, the_hwaddr VARCHAR, the_state BIGINT,
    the_context VARCHAR, the_hwtype INT, the_source INT, the_pool BIGINT DEFAULT 0
) RETURNS VOID LANGUAGE sql AS $$
    INSERT INTO lease6 (address, duid, valid_lifetime, expire, subnet_id, pref_lifetime,
        lease_type, iaid, prefix_len, fqdn_fwd, fqdn_rev, hostname, hwaddr, state,
        user_context, hwtype, hwaddr_source, pool_id)
    VALUES (the_address::inet, decode(replace(the_duid, ':', ''), 'hex'), the_lifetime,
        to_timestamp(the_end), the_subnet, the_preferred, the_type, the_iaid, the_len,
        the_fwd::boolean, the_rev::boolean, replace(the_hostname, '&#x2c', ','),
        decode(replace(the_hwaddr, ':', ''), 'hex'), the_state,
        replace(the_context, '&#x2c', ','), the_hwtype, the_source, the_pool)
$$

CREATE FUNCTION inetToBytea(address INET) RETURNS BYTEA LANGUAGE sql IMMUTABLE AS $$
    SELECT substr(inet_send(address), 5)
$$

CREATE FUNCTION byteaToInet(octets BYTEA) RETURNS INET LANGUAGE sql IMMUTABLE AS $$
    SELECT regexp_replace(encode(octets, 'hex'), '(....)(?=.)', '\1:', 'g')::inet
$$

CREATE FUNCTION prefixAfter(prefix BYTEA, len INT) RETURNS BYTEA
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    place INT := (len - 1) / 8;
    carry INT := 1 << (7 - (len - 1) % 8);
BEGIN
    WHILE place >= 0 AND carry > 0 LOOP
        carry := carry + get_byte(prefix, place);
        prefix := set_byte(prefix, place, carry % 256);
        carry := carry / 256;
        place := place - 1;
    END LOOP;
    RETURN prefix;
END $$

CREATE FUNCTION noteFree4(the_address BIGINT, is_free BOOLEAN)
RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    IF is_free THEN
        INSERT INTO free_lease4 (address) VALUES (the_address) ON CONFLICT DO NOTHING;
    ELSE
        DELETE FROM free_lease4 WHERE address = the_address;
    END IF;
END $$

CREATE FUNCTION noteFree6(the_address INET, is_free BOOLEAN)
RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    IF is_free THEN
        INSERT INTO free_lease6 (address, bin_address)
            VALUES (the_address, inetToBytea(the_address)) ON CONFLICT DO NOTHING;
    ELSE
        DELETE FROM free_lease6 WHERE address = the_address;
    END IF;
END $$

CREATE FUNCTION sflqCreateFlqPool4(
    first_address BIGINT, last_address BIGINT, the_subnet BIGINT, again BOOLEAN
) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    IF first_address = 0 OR first_address > last_address THEN
        RAISE EXCEPTION 'not a range of addresses: % - %', first_address, last_address;
    END IF;
    IF again THEN
        INSERT INTO flq_pool4 (start_address, end_address, subnet_id)
            VALUES (first_address, last_address, the_subnet) ON CONFLICT DO NOTHING;
    ELSE
        INSERT INTO flq_pool4 (start_address, end_address, subnet_id)
            VALUES (first_address, last_address, the_subnet);
    END IF;
    DELETE FROM free_lease4 WHERE address BETWEEN first_address AND last_address;
    INSERT INTO free_lease4 (address)
        SELECT candidate FROM generate_series(first_address, last_address) AS candidate
        WHERE NOT EXISTS (SELECT 1 FROM lease4 WHERE address = candidate AND state <> 2);
    UPDATE flq_pool4 SET modification_ts = now()
        WHERE start_address = first_address AND end_address = last_address;
END $$

CREATE FUNCTION sflqPickFreeLease4(first_address BIGINT, last_address BIGINT)
RETURNS BIGINT LANGUAGE plpgsql AS $$
DECLARE
    pool INT;
    previous BIGINT;
    picked BIGINT;
BEGIN
    SELECT id, last_returned_address INTO pool, previous FROM flq_pool4
        WHERE start_address = first_address AND end_address = last_address;
    SELECT min(address) INTO picked FROM free_lease4
        WHERE address BETWEEN greatest(previous + 1, first_address) AND last_address;
    IF picked IS NULL THEN
        SELECT min(address) INTO picked FROM free_lease4
            WHERE address BETWEEN first_address AND last_address;
    END IF;
    IF pool IS NULL OR picked IS NULL THEN
        RETURN 0;
    END IF;
    UPDATE flq_pool4 SET last_returned_address = picked WHERE id = pool;
    RETURN picked;
END $$

CREATE FUNCTION sflqInsertLease4(
    p_address BIGINT, p_hwaddr BYTEA, p_client_id BYTEA, p_lifetime BIGINT,
    p_expire TIMESTAMP WITH TIME ZONE, p_subnet BIGINT, p_fwd BOOLEAN, p_rev BOOLEAN,
    p_hostname VARCHAR, p_state BIGINT, p_context TEXT, p_relay_id BYTEA, p_remote_id BYTEA,
    p_pool BIGINT
) RETURNS INT LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO lease4 VALUES (p_address, p_hwaddr, p_client_id, p_lifetime, p_expire, p_subnet,
        p_fwd, p_rev, p_hostname, p_state, p_context, p_relay_id, p_remote_id, p_pool);
    PERFORM noteFree4(p_address, p_state = 2);
    RETURN 1;
END $$

CREATE FUNCTION sflqUpdateLease4(
    p_address BIGINT, p_hwaddr BYTEA, p_client_id BYTEA, p_lifetime BIGINT,
    p_expire TIMESTAMP WITH TIME ZONE, p_subnet BIGINT, p_fwd BOOLEAN, p_rev BOOLEAN,
    p_hostname VARCHAR, p_state BIGINT, p_context TEXT, p_relay_id BYTEA, p_remote_id BYTEA,
    p_pool BIGINT, p_where_address BIGINT, p_where_expire TIMESTAMP WITH TIME ZONE
) RETURNS INT LANGUAGE plpgsql AS $$
DECLARE
    changed INT;
BEGIN
    UPDATE lease4 SET address = p_address, hwaddr = p_hwaddr, client_id = p_client_id,
        valid_lifetime = p_lifetime, expire = p_expire, subnet_id = p_subnet,
        fqdn_fwd = p_fwd, fqdn_rev = p_rev, hostname = p_hostname, state = p_state,
        user_context = p_context, relay_id = p_relay_id, remote_id = p_remote_id,
        pool_id = p_pool
        WHERE address = p_where_address AND expire = p_where_expire;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed > 0 THEN
        PERFORM noteFree4(p_address, p_state = 2);
    END IF;
    RETURN changed;
END $$

CREATE FUNCTION sflqDeleteLease4(p_address BIGINT, p_expire TIMESTAMP WITH TIME ZONE)
RETURNS INT LANGUAGE plpgsql AS $$
DECLARE
    changed INT;
BEGIN
    DELETE FROM lease4 WHERE address = p_address AND expire = p_expire;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed > 0 THEN
        PERFORM noteFree4(p_address, true);
    END IF;
    RETURN changed;
END $$

CREATE FUNCTION sflqCreateFlqPool6(
    first_address INET, last_address INET, the_type SMALLINT, the_len SMALLINT,
    the_subnet BIGINT, again BOOLEAN
) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    first_octets BYTEA := inetToBytea(first_address);
    last_octets BYTEA := inetToBytea(last_address);
    place BYTEA := first_octets;
BEGIN
    IF first_address = '::' OR first_address > last_address
            OR the_len NOT BETWEEN 1 AND 128 THEN
        RAISE EXCEPTION 'not a range: % - %, /%', first_address, last_address, the_len;
    END IF;
    IF again OR EXISTS (SELECT 1 FROM flq_pool6 WHERE start_address = first_address
            AND end_address = last_address AND delegated_len <> the_len) THEN
        INSERT INTO flq_pool6 (start_address, end_address, lease_type, delegated_len, subnet_id)
            VALUES (first_address, last_address, the_type, the_len, the_subnet)
            ON CONFLICT (start_address, end_address) DO UPDATE
                SET lease_type = the_type, delegated_len = the_len, subnet_id = the_subnet;
    ELSE
        INSERT INTO flq_pool6 (start_address, end_address, lease_type, delegated_len, subnet_id)
            VALUES (first_address, last_address, the_type, the_len, the_subnet);
    END IF;
    DELETE FROM free_lease6 WHERE bin_address BETWEEN first_octets AND last_octets;
    LOOP
        IF NOT EXISTS (SELECT 1 FROM lease6 WHERE address = byteaToInet(place) AND state <> 2) THEN
            INSERT INTO free_lease6 (address, bin_address) VALUES (byteaToInet(place), place);
        END IF;
        place := prefixAfter(place, the_len);
        EXIT WHEN place > last_octets OR place <= first_octets;
    END LOOP;
    UPDATE flq_pool6 SET modification_ts = now()
        WHERE start_address = first_address AND end_address = last_address;
END $$

CREATE FUNCTION sflqPickFreeLease6(first_address INET, last_address INET)
RETURNS INET LANGUAGE plpgsql AS $$
DECLARE
    pool INT;
    previous INET;
    picked BYTEA;
BEGIN
    SELECT id, last_returned_address INTO pool, previous FROM flq_pool6
        WHERE start_address = first_address AND end_address = last_address;
    SELECT bin_address INTO picked FROM free_lease6
        WHERE bin_address > inetToBytea(previous)
            AND bin_address BETWEEN inetToBytea(first_address) AND inetToBytea(last_address)
        ORDER BY bin_address LIMIT 1;
    IF picked IS NULL THEN
        SELECT bin_address INTO picked FROM free_lease6
            WHERE bin_address BETWEEN inetToBytea(first_address) AND inetToBytea(last_address)
            ORDER BY bin_address LIMIT 1;
    END IF;
    IF pool IS NULL OR picked IS NULL THEN
        RETURN '::'::inet;
    END IF;
    UPDATE flq_pool6 SET last_returned_address = byteaToInet(picked) WHERE id = pool;
    RETURN byteaToInet(picked);
END $$

CREATE FUNCTION sflqInsertLease6(
    p_address INET, p_duid BYTEA, p_lifetime BIGINT, p_expire TIMESTAMP WITH TIME ZONE,
    p_subnet BIGINT, p_preferred BIGINT, p_type SMALLINT, p_iaid INT, p_len SMALLINT,
    p_fwd BOOLEAN, p_rev BOOLEAN, p_hostname VARCHAR, p_hwaddr BYTEA, p_hwtype SMALLINT,
    p_source SMALLINT, p_state BIGINT, p_context TEXT, p_pool BIGINT
) RETURNS INT LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO lease6 (address, duid, valid_lifetime, expire, subnet_id, pref_lifetime,
        lease_type, iaid, prefix_len, fqdn_fwd, fqdn_rev, hostname, hwaddr, hwtype,
        hwaddr_source, state, user_context, pool_id)
    VALUES (p_address, p_duid, p_lifetime, p_expire, p_subnet, p_preferred, p_type, p_iaid,
        p_len, p_fwd, p_rev, p_hostname, p_hwaddr, p_hwtype, p_source, p_state, p_context,
        p_pool);
    PERFORM noteFree6(p_address, p_state = 2);
    RETURN 1;
END $$

CREATE FUNCTION sflqUpdateLease6(
    p_address INET, p_duid BYTEA, p_lifetime BIGINT, p_expire TIMESTAMP WITH TIME ZONE,
    p_subnet BIGINT, p_preferred BIGINT, p_type SMALLINT, p_iaid INT, p_len SMALLINT,
    p_fwd BOOLEAN, p_rev BOOLEAN, p_hostname VARCHAR, p_hwaddr BYTEA, p_hwtype SMALLINT,
    p_source SMALLINT, p_state BIGINT, p_context TEXT, p_pool BIGINT, p_where_address INET,
    p_where_expire TIMESTAMP WITH TIME ZONE
) RETURNS INT LANGUAGE plpgsql AS $$
DECLARE
    changed INT;
BEGIN
    UPDATE lease6 SET address = p_address, duid = p_duid, valid_lifetime = p_lifetime,
        expire = p_expire, subnet_id = p_subnet, pref_lifetime = p_preferred,
        lease_type = p_type, iaid = p_iaid, prefix_len = p_len, fqdn_fwd = p_fwd,
        fqdn_rev = p_rev, hostname = p_hostname, hwaddr = p_hwaddr, hwtype = p_hwtype,
        hwaddr_source = p_source, state = p_state, user_context = p_context, pool_id = p_pool
        WHERE address = p_where_address AND expire = p_where_expire;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed > 0 THEN
        PERFORM noteFree6(p_address, p_state = 2);
    END IF;
    RETURN changed;
END $$

CREATE FUNCTION sflqDeleteLease6(p_address INET, p_expire TIMESTAMP WITH TIME ZONE)
RETURNS INT LANGUAGE plpgsql AS $$
DECLARE
    changed INT;
BEGIN
    DELETE FROM lease6 WHERE address = p_address AND expire = p_expire;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed > 0 THEN
        PERFORM noteFree6(p_address, true);
    END IF;
    RETURN changed;
END $$

UPDATE schema_version SET version = 34, minor = 0
