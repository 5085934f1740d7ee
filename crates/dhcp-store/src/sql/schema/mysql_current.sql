-- From schema 14.0 (Kea 2.2) to 35.0 for MariaDB and MySQL. Names and types are Kea's; a blank line
-- ends a statement. Triggers of new leases count them as before.

DROP TRIGGER lease4_AINS

DROP TRIGGER lease4_AUPD

DROP TRIGGER lease4_ADEL

DROP TRIGGER lease6_AINS

DROP TRIGGER lease6_AUPD

DROP TRIGGER lease6_ADEL

DROP FUNCTION isJsonSupported

DROP PROCEDURE lease4DumpHeader

DROP PROCEDURE lease4DumpData

DROP PROCEDURE lease4Upload

DROP PROCEDURE lease6DumpHeader

DROP PROCEDURE lease6DumpData

DROP PROCEDURE lease6Upload

DROP PROCEDURE IF EXISTS countLeases4

DROP PROCEDURE IF EXISTS countLeases6

INSERT INTO lease_state VALUES (3, 'released'), (4, 'registered')

UPDATE lease6 SET lease_type = 0 WHERE lease_type = 1

DELETE FROM lease6_stat WHERE lease_type = 1

DELETE FROM lease6_stat_by_client_class WHERE lease_type = 1

DELETE FROM lease6_types WHERE lease_type = 1

ALTER TABLE lease4
    MODIFY client_id VARBINARY(255),
    ADD COLUMN relay_id VARBINARY(255),
    ADD COLUMN remote_id VARBINARY(255),
    ADD COLUMN pool_id INT UNSIGNED NOT NULL DEFAULT 0,
    ADD KEY lease4_by_relay_id (relay_id),
    ADD KEY lease4_by_remote_id (remote_id),
    ADD KEY lease4_by_state (state, subnet_id)

ALTER TABLE lease6
    ADD COLUMN octets BINARY(16) FIRST,
    MODIFY duid VARBINARY(130),
    ADD COLUMN pool_id INT UNSIGNED NOT NULL DEFAULT 0

UPDATE lease6 SET octets = INET6_ATON(address), duid = IF(duid = X'00', X'000000', duid)

ALTER TABLE lease6 DROP PRIMARY KEY, DROP COLUMN address

ALTER TABLE lease6
    CHANGE octets address BINARY(16) NOT NULL PRIMARY KEY,
    ADD KEY lease6_by_subnet_id_address (subnet_id, address),
    ADD KEY lease6_by_hwaddr (hwaddr),
    ADD KEY lease6_by_state (state, subnet_id)

ALTER TABLE ipv6_reservations ADD COLUMN octets BINARY(16) AFTER reservation_id

UPDATE ipv6_reservations SET octets = INET6_ATON(address)

ALTER TABLE ipv6_reservations DROP KEY key_dhcp6_address_prefix_len, DROP COLUMN address

ALTER TABLE ipv6_reservations
    CHANGE octets address BINARY(16) NOT NULL,
    ADD COLUMN excluded_prefix BINARY(16),
    ADD COLUMN excluded_prefix_len TINYINT(3) UNSIGNED NOT NULL DEFAULT 0,
    ADD KEY key_dhcp6_address_prefix_len (address, prefix_len)

ALTER TABLE hosts MODIFY dhcp_identifier VARBINARY(255) NOT NULL

ALTER TABLE dhcp4_options
    ADD COLUMN cancelled BOOL NOT NULL DEFAULT 0,
    ADD COLUMN client_classes LONGTEXT

UPDATE dhcp4_options SET client_classes = '[  ]'

ALTER TABLE dhcp4_options MODIFY client_classes LONGTEXT NOT NULL

ALTER TABLE dhcp6_options
    ADD COLUMN cancelled BOOL NOT NULL DEFAULT 0,
    ADD COLUMN client_classes LONGTEXT

UPDATE dhcp6_options SET client_classes = '[  ]'

ALTER TABLE dhcp6_options MODIFY client_classes LONGTEXT NOT NULL

CREATE TABLE lease6_relay_id (
    extended_info_id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    relay_id VARBINARY(130) NOT NULL,
    lease_addr BINARY(16) NOT NULL,
    KEY key_lease6_relay_id_by_id (relay_id, lease_addr),
    KEY key_lease6_relay_id_by_address (lease_addr),
    CONSTRAINT fk_lease6_relay_id_addr FOREIGN KEY (lease_addr)
        REFERENCES lease6 (address) ON DELETE CASCADE ON UPDATE NO ACTION
) ENGINE = InnoDB

CREATE TABLE lease6_remote_id (
    extended_info_id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    remote_id VARBINARY(255) NOT NULL,
    lease_addr BINARY(16) NOT NULL,
    KEY key_lease6_remote_id_by_id (remote_id, lease_addr),
    KEY key_lease6_remote_id_by_address (lease_addr),
    CONSTRAINT fk_lease6_remote_id_addr FOREIGN KEY (lease_addr)
        REFERENCES lease6 (address) ON DELETE CASCADE ON UPDATE NO ACTION
) ENGINE = InnoDB

CREATE TABLE lease4_pool_stat (
    subnet_id INT UNSIGNED NOT NULL,
    pool_id INT UNSIGNED NOT NULL,
    state INT UNSIGNED NOT NULL,
    leases BIGINT,
    PRIMARY KEY (subnet_id, pool_id, state)
) ENGINE = InnoDB

INSERT INTO lease4_pool_stat
    SELECT subnet_id, pool_id, state, count(*) FROM lease4 WHERE state IN (0, 1)
    GROUP BY subnet_id, pool_id, state

CREATE TABLE lease6_pool_stat (
    subnet_id INT UNSIGNED NOT NULL,
    pool_id INT UNSIGNED NOT NULL,
    lease_type INT UNSIGNED NOT NULL,
    state INT UNSIGNED NOT NULL,
    leases BIGINT,
    PRIMARY KEY (subnet_id, pool_id, lease_type, state)
) ENGINE = InnoDB

INSERT INTO lease6_pool_stat
    SELECT subnet_id, pool_id, lease_type, state, count(*) FROM lease6 WHERE state IN (0, 1)
    GROUP BY subnet_id, pool_id, lease_type, state

DELETE FROM lease6_stat

INSERT INTO lease6_stat
    SELECT subnet_id, lease_type, state, count(*) FROM lease6 WHERE state IN (0, 1)
    GROUP BY subnet_id, lease_type, state

CREATE TABLE flq_pool4 (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    start_address INT UNSIGNED NOT NULL,
    end_address INT UNSIGNED NOT NULL,
    last_returned_address INT UNSIGNED DEFAULT 0,
    subnet_id INT UNSIGNED NOT NULL,
    created_ts TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP,
    modification_ts TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    UNIQUE KEY flq_pool4_address_range (start_address, end_address),
    KEY flq_pool4_by_subnet_id (subnet_id)
) ENGINE = InnoDB

CREATE TABLE flq_pool6 (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    start_address VARCHAR(45) NOT NULL,
    end_address VARCHAR(45) NOT NULL,
    lease_type TINYINT,
    delegated_len TINYINT UNSIGNED,
    last_returned_address VARCHAR(45) DEFAULT '::',
    subnet_id INT UNSIGNED NOT NULL,
    created_ts TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP,
    modification_ts TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    UNIQUE KEY start_address (start_address, end_address),
    KEY flq_pool6_by_subnet_id (subnet_id),
    CONSTRAINT fk_flq_pool6_lease6_type FOREIGN KEY (lease_type)
        REFERENCES lease6_types (lease_type)
) ENGINE = InnoDB

CREATE TABLE free_lease4 (
    address INT UNSIGNED NOT NULL PRIMARY KEY,
    modification_ts TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP
) ENGINE = InnoDB

CREATE TABLE free_lease6 (
    address VARCHAR(45) NOT NULL PRIMARY KEY,
    bin_address BINARY(16) NOT NULL,
    modification_ts TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    UNIQUE KEY bin_address (bin_address)
) ENGINE = InnoDB

CREATE PROCEDURE countLeases4(
    the_subnet INT UNSIGNED, the_pool INT UNSIGNED, the_state INT UNSIGNED, step INT
)
BEGIN
    IF the_state IN (0, 1) AND step > 0 THEN
        INSERT INTO lease4_stat VALUES (the_subnet, the_state, 1)
            ON DUPLICATE KEY UPDATE leases = leases + 1;
        INSERT INTO lease4_pool_stat VALUES (the_subnet, the_pool, the_state, 1)
            ON DUPLICATE KEY UPDATE leases = leases + 1;
    ELSEIF the_state IN (0, 1) THEN
        UPDATE lease4_stat SET leases = leases - 1
            WHERE subnet_id = the_subnet AND state = the_state AND leases > 0;
        UPDATE lease4_pool_stat SET leases = leases - 1
            WHERE subnet_id = the_subnet AND pool_id = the_pool AND state = the_state
                AND leases > 0;
    END IF;
END

CREATE PROCEDURE countLeases6(
    the_subnet INT UNSIGNED, the_pool INT UNSIGNED, the_type INT UNSIGNED,
    the_state INT UNSIGNED, step INT
)
BEGIN
    IF the_state IN (0, 1, 4) AND step > 0 THEN
        INSERT INTO lease6_stat VALUES (the_subnet, the_type, the_state, 1)
            ON DUPLICATE KEY UPDATE leases = leases + 1;
    ELSEIF the_state IN (0, 1, 4) THEN
        UPDATE lease6_stat SET leases = leases - 1
            WHERE subnet_id = the_subnet AND lease_type = the_type AND state = the_state
                AND leases > 0;
    END IF;
    IF the_state IN (0, 1) AND step > 0 THEN
        INSERT INTO lease6_pool_stat VALUES (the_subnet, the_pool, the_type, the_state, 1)
            ON DUPLICATE KEY UPDATE leases = leases + 1;
    ELSEIF the_state IN (0, 1) THEN
        UPDATE lease6_pool_stat SET leases = leases - 1
            WHERE subnet_id = the_subnet AND pool_id = the_pool AND lease_type = the_type
                AND state = the_state AND leases > 0;
    END IF;
END

CREATE TRIGGER lease4_AINS AFTER INSERT ON lease4 FOR EACH ROW
BEGIN
    IF NEW.state IN (0, 1) AND @godwit_counts_leases IS NULL THEN
        INSERT INTO lease4_stat VALUES (NEW.subnet_id, NEW.state, 1)
            ON DUPLICATE KEY UPDATE leases = leases + 1;
        INSERT INTO lease4_pool_stat VALUES (NEW.subnet_id, NEW.pool_id, NEW.state, 1)
            ON DUPLICATE KEY UPDATE leases = leases + 1;
    END IF;
    IF NEW.user_context <> '' THEN
        CALL countClasses4(NEW.state, NEW.user_context, 1);
    END IF;
END

CREATE TRIGGER lease4_AUPD AFTER UPDATE ON lease4 FOR EACH ROW
BEGIN
    IF NOT (OLD.subnet_id <=> NEW.subnet_id AND OLD.pool_id <=> NEW.pool_id
            AND OLD.state <=> NEW.state) THEN
        CALL countLeases4(OLD.subnet_id, OLD.pool_id, OLD.state, -1);
        CALL countLeases4(NEW.subnet_id, NEW.pool_id, NEW.state, 1);
    END IF;
    IF NOT (OLD.state <=> NEW.state AND OLD.user_context <=> NEW.user_context) THEN
        CALL countClasses4(OLD.state, OLD.user_context, -1);
        CALL countClasses4(NEW.state, NEW.user_context, 1);
    END IF;
END

CREATE TRIGGER lease4_ADEL AFTER DELETE ON lease4 FOR EACH ROW
BEGIN
    CALL countLeases4(OLD.subnet_id, OLD.pool_id, OLD.state, -1);
    CALL countClasses4(OLD.state, OLD.user_context, -1);
END

CREATE TRIGGER lease6_AINS AFTER INSERT ON lease6 FOR EACH ROW
BEGIN
    IF NEW.state IN (0, 1, 4) AND @godwit_counts_leases IS NULL THEN
        INSERT INTO lease6_stat VALUES (NEW.subnet_id, NEW.lease_type, NEW.state, 1)
            ON DUPLICATE KEY UPDATE leases = leases + 1;
    END IF;
    IF NEW.state IN (0, 1) AND @godwit_counts_leases IS NULL THEN
        INSERT INTO lease6_pool_stat
            VALUES (NEW.subnet_id, NEW.pool_id, NEW.lease_type, NEW.state, 1)
            ON DUPLICATE KEY UPDATE leases = leases + 1;
    END IF;
    IF NEW.user_context <> '' THEN
        CALL countClasses6(NEW.state, NEW.lease_type, NEW.user_context, 1);
    END IF;
END

CREATE TRIGGER lease6_AUPD AFTER UPDATE ON lease6 FOR EACH ROW
BEGIN
    IF NOT (OLD.subnet_id <=> NEW.subnet_id AND OLD.pool_id <=> NEW.pool_id
            AND OLD.lease_type <=> NEW.lease_type AND OLD.state <=> NEW.state) THEN
        CALL countLeases6(OLD.subnet_id, OLD.pool_id, OLD.lease_type, OLD.state, -1);
        CALL countLeases6(NEW.subnet_id, NEW.pool_id, NEW.lease_type, NEW.state, 1);
    END IF;
    IF NOT (OLD.state <=> NEW.state AND OLD.lease_type <=> NEW.lease_type
            AND OLD.user_context <=> NEW.user_context) THEN
        CALL countClasses6(OLD.state, OLD.lease_type, OLD.user_context, -1);
        CALL countClasses6(NEW.state, NEW.lease_type, NEW.user_context, 1);
    END IF;
END

CREATE TRIGGER lease6_ADEL AFTER DELETE ON lease6 FOR EACH ROW
BEGIN
    CALL countLeases6(OLD.subnet_id, OLD.pool_id, OLD.lease_type, OLD.state, -1);
    CALL countClasses6(OLD.state, OLD.lease_type, OLD.user_context, -1);
END

CREATE PROCEDURE lease4DumpHeader()
SELECT 'address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state,user_context,pool_id'

CREATE PROCEDURE lease4DumpData()
SELECT INET_NTOA(address), IFNULL(colonSeparatedHex(HEX(hwaddr)), ''),
    IFNULL(colonSeparatedHex(HEX(client_id)), ''), valid_lifetime, UNIX_TIMESTAMP(expire),
    subnet_id, fqdn_fwd, fqdn_rev, REPLACE(hostname, ',', '&#x2c'), state,
    REPLACE(IFNULL(user_context, ''), ',', '&#x2c'), pool_id
FROM lease4 ORDER BY address

CREATE PROCEDURE lease4Upload(
    the_address VARCHAR(15), the_hwaddr VARCHAR(60), the_client_id TEXT,
    the_lifetime INT UNSIGNED, the_end BIGINT UNSIGNED, the_subnet INT UNSIGNED,
    the_fwd TINYINT, the_rev TINYINT, the_hostname TEXT, the_state INT UNSIGNED,
    the_context TEXT, the_pool INT UNSIGNED
)
INSERT INTO lease4 VALUES (
    INET_ATON(the_address), UNHEX(REPLACE(the_hwaddr, ':', '')),
    UNHEX(REPLACE(the_client_id, ':', '')), the_lifetime, FROM_UNIXTIME(the_end), the_subnet,
    the_fwd, the_rev, REPLACE(the_hostname, '&#x2c', ','), the_state,
    REPLACE(the_context, '&#x2c', ','), NULL, NULL, the_pool)

CREATE PROCEDURE lease6DumpHeader()
SELECT 'address,duid,valid_lifetime,expire,subnet_id,pref_lifetime,lease_type,iaid,prefix_len,fqdn_fwd,fqdn_rev,hostname,hwaddr,state,user_context,hwtype,hwaddr_source,pool_id'

CREATE PROCEDURE lease6DumpData()
SELECT INET6_NTOA(address), IFNULL(colonSeparatedHex(HEX(duid)), ''), valid_lifetime,
    UNIX_TIMESTAMP(expire), subnet_id, pref_lifetime, lease_type, iaid, prefix_len, fqdn_fwd,
    fqdn_rev, REPLACE(hostname, ',', '&#x2c'), IFNULL(colonSeparatedHex(HEX(hwaddr)), ''),
    state, REPLACE(IFNULL(user_context, ''), ',', '&#x2c'), hwtype, hwaddr_source, pool_id
FROM lease6 ORDER BY address

CREATE PROCEDURE lease6Upload(
    the_address VARCHAR(39), the_duid TEXT, the_lifetime INT UNSIGNED, the_end BIGINT UNSIGNED,
    the_subnet INT UNSIGNED, the_preferred INT UNSIGNED, the_type TINYINT,
    the_iaid INT UNSIGNED, the_len TINYINT UNSIGNED, the_fwd TINYINT, the_rev TINYINT,
    the_hostname TEXT, the_hwaddr VARCHAR(60), the_state INT UNSIGNED, the_context TEXT,
    the_hwtype SMALLINT UNSIGNED, the_source INT UNSIGNED, the_pool INT UNSIGNED
)
INSERT INTO lease6 VALUES (
    INET6_ATON(the_address), UNHEX(REPLACE(the_duid, ':', '')), the_lifetime,
    FROM_UNIXTIME(the_end), the_subnet, the_preferred, the_type, the_iaid, the_len, the_fwd,
    the_rev, REPLACE(the_hostname, '&#x2c', ','), UNHEX(REPLACE(the_hwaddr, ':', '')),
    the_hwtype, the_source, the_state, REPLACE(the_context, '&#x2c', ','), the_pool)

CREATE PROCEDURE noteFree4(the_address INT UNSIGNED, is_free BOOL)
BEGIN
    IF is_free THEN
        INSERT IGNORE INTO free_lease4 (address) VALUES (the_address);
    ELSE
        DELETE FROM free_lease4 WHERE address = the_address;
    END IF;
END

CREATE PROCEDURE noteFree6(the_address BINARY(16), is_free BOOL)
BEGIN
    IF is_free THEN
        INSERT IGNORE INTO free_lease6 (address, bin_address)
            VALUES (INET6_NTOA(the_address), the_address);
    ELSE
        DELETE FROM free_lease6 WHERE bin_address = the_address;
    END IF;
END

CREATE FUNCTION prefixAfter(prefix BINARY(16), len INT) RETURNS BINARY(16) DETERMINISTIC
BEGIN
    DECLARE place INT DEFAULT (len - 1) DIV 8 + 1;
    DECLARE carry INT DEFAULT 1 << (7 - (len - 1) MOD 8);
    WHILE place > 0 AND carry > 0 DO
        SET carry = carry + ORD(SUBSTR(prefix, place, 1));
        SET prefix = INSERT(prefix, place, 1, CHAR(carry MOD 256));
        SET carry = carry DIV 256;
        SET place = place - 1;
    END WHILE;
    RETURN prefix;
END

CREATE PROCEDURE sflqCreateFlqPool4(
    first_address INT UNSIGNED, last_address INT UNSIGNED, the_subnet INT UNSIGNED,
    again TINYINT
)
BEGIN
    DECLARE filled BIGINT DEFAULT 1;
    DECLARE wanted BIGINT DEFAULT CAST(last_address AS SIGNED) - first_address + 1;
    IF first_address = 0 OR wanted < 1 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not a range of addresses';
    END IF;
    IF again = 1 THEN
        INSERT IGNORE INTO flq_pool4 (start_address, end_address, subnet_id)
            VALUES (first_address, last_address, the_subnet);
    ELSE
        INSERT INTO flq_pool4 (start_address, end_address, subnet_id)
            VALUES (first_address, last_address, the_subnet);
    END IF;
    DELETE FROM free_lease4 WHERE address BETWEEN first_address AND last_address;
    INSERT INTO free_lease4 (address) VALUES (first_address);
    WHILE filled < wanted DO
        INSERT INTO free_lease4 (address)
            SELECT address + filled FROM free_lease4
            WHERE address BETWEEN first_address
                AND first_address + LEAST(filled, wanted - filled) - 1;
        SET filled = filled * 2;
    END WHILE;
    DELETE free_lease4 FROM free_lease4 JOIN lease4 USING (address)
        WHERE address BETWEEN first_address AND last_address AND lease4.state <> 2;
    UPDATE flq_pool4 SET modification_ts = NOW()
        WHERE start_address = first_address AND end_address = last_address;
END

CREATE FUNCTION sflqPickFreeLease4(first_address INT UNSIGNED, last_address INT UNSIGNED)
RETURNS INT UNSIGNED MODIFIES SQL DATA
BEGIN
    DECLARE pool BIGINT DEFAULT NULL;
    DECLARE previous BIGINT DEFAULT 0;
    DECLARE picked INT UNSIGNED DEFAULT NULL;
    SELECT id, last_returned_address INTO pool, previous FROM flq_pool4
        WHERE start_address = first_address AND end_address = last_address;
    IF pool IS NULL THEN
        RETURN 0;
    END IF;
    SET picked = (SELECT MIN(address) FROM free_lease4
        WHERE address BETWEEN GREATEST(previous + 1, first_address) AND last_address);
    IF picked IS NULL THEN
        SET picked = (SELECT MIN(address) FROM free_lease4
            WHERE address BETWEEN first_address AND last_address);
    END IF;
    IF picked IS NULL THEN
        RETURN 0;
    END IF;
    UPDATE flq_pool4 SET last_returned_address = picked WHERE id = pool;
    RETURN picked;
END

CREATE FUNCTION sflqInsertLease4(
    p_address INT UNSIGNED, p_hwaddr VARBINARY(20), p_client_id VARBINARY(255),
    p_lifetime INT UNSIGNED, p_expire TIMESTAMP, p_subnet INT UNSIGNED, p_fwd BOOL, p_rev BOOL,
    p_hostname VARCHAR(255), p_state INT UNSIGNED, p_context TEXT, p_relay_id VARBINARY(255),
    p_remote_id VARBINARY(255), p_pool INT UNSIGNED
) RETURNS INT MODIFIES SQL DATA
BEGIN
    INSERT INTO lease4 VALUES (p_address, p_hwaddr, p_client_id, p_lifetime, p_expire, p_subnet,
        p_fwd, p_rev, p_hostname, p_state, p_context, p_relay_id, p_remote_id, p_pool);
    CALL noteFree4(p_address, p_state = 2);
    RETURN 1;
END

CREATE FUNCTION sflqUpdateLease4(
    p_address INT UNSIGNED, p_hwaddr VARBINARY(20), p_client_id VARBINARY(255),
    p_lifetime INT UNSIGNED, p_expire TIMESTAMP, p_subnet INT UNSIGNED, p_fwd BOOL, p_rev BOOL,
    p_hostname VARCHAR(255), p_state INT UNSIGNED, p_context TEXT, p_relay_id VARBINARY(255),
    p_remote_id VARBINARY(255), p_pool INT UNSIGNED, p_where_address INT UNSIGNED,
    p_where_expire TIMESTAMP
) RETURNS INT MODIFIES SQL DATA
BEGIN
    DECLARE changed INT;
    UPDATE lease4 SET address = p_address, hwaddr = p_hwaddr, client_id = p_client_id,
        valid_lifetime = p_lifetime, expire = p_expire, subnet_id = p_subnet,
        fqdn_fwd = p_fwd, fqdn_rev = p_rev, hostname = p_hostname, state = p_state,
        user_context = p_context, relay_id = p_relay_id, remote_id = p_remote_id,
        pool_id = p_pool
        WHERE address = p_where_address AND expire = p_where_expire;
    SET changed = ROW_COUNT();
    IF changed > 0 THEN
        CALL noteFree4(p_address, p_state = 2);
    END IF;
    RETURN changed;
END

CREATE FUNCTION sflqDeleteLease4(p_address INT UNSIGNED, p_expire TIMESTAMP)
RETURNS INT MODIFIES SQL DATA
BEGIN
    DECLARE changed INT;
    DELETE FROM lease4 WHERE address = p_address AND expire = p_expire;
    SET changed = ROW_COUNT();
    IF changed > 0 THEN
        CALL noteFree4(p_address, TRUE);
    END IF;
    RETURN changed;
END

CREATE PROCEDURE sflqCreateFlqPool6(
    first_text VARCHAR(45), last_text VARCHAR(45), the_type TINYINT UNSIGNED,
    the_len TINYINT UNSIGNED, the_subnet INT UNSIGNED, again TINYINT
)
BEGIN
    DECLARE first_address BINARY(16) DEFAULT INET6_ATON(first_text);
    DECLARE last_address BINARY(16) DEFAULT INET6_ATON(last_text);
    DECLARE place BINARY(16) DEFAULT first_address;
    DECLARE has_other_len INT DEFAULT (SELECT COUNT(*) FROM flq_pool6
        WHERE start_address = first_text AND end_address = last_text
            AND delegated_len <> the_len);
    IF first_text = '::' OR first_address > last_address OR the_len NOT BETWEEN 1 AND 128 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not a range of addresses or prefixes';
    END IF;
    IF again = 1 OR has_other_len > 0 THEN
        INSERT INTO flq_pool6 (start_address, end_address, lease_type, delegated_len, subnet_id)
            VALUES (first_text, last_text, the_type, the_len, the_subnet)
            ON DUPLICATE KEY UPDATE lease_type = the_type, delegated_len = the_len,
                subnet_id = the_subnet;
    ELSE
        INSERT INTO flq_pool6 (start_address, end_address, lease_type, delegated_len, subnet_id)
            VALUES (first_text, last_text, the_type, the_len, the_subnet);
    END IF;
    DELETE FROM free_lease6 WHERE bin_address BETWEEN first_address AND last_address;
    REPEAT
        INSERT INTO free_lease6 (address, bin_address) VALUES (INET6_NTOA(place), place);
        SET place = prefixAfter(place, the_len);
    UNTIL place > last_address OR place <= first_address END REPEAT;
    DELETE free_lease6 FROM free_lease6 JOIN lease6 ON lease6.address = bin_address
        WHERE bin_address BETWEEN first_address AND last_address AND lease6.state <> 2;
    UPDATE flq_pool6 SET modification_ts = NOW()
        WHERE start_address = first_text AND end_address = last_text;
END

CREATE FUNCTION sflqPickFreeLease6(first_text VARCHAR(45), last_text VARCHAR(45))
RETURNS VARCHAR(45) MODIFIES SQL DATA
BEGIN
    DECLARE pool BIGINT DEFAULT NULL;
    DECLARE first_address BINARY(16) DEFAULT INET6_ATON(first_text);
    DECLARE last_address BINARY(16) DEFAULT INET6_ATON(last_text);
    DECLARE previous BINARY(16);
    DECLARE picked BINARY(16) DEFAULT NULL;
    SELECT id, INET6_ATON(last_returned_address) INTO pool, previous FROM flq_pool6
        WHERE start_address = first_text AND end_address = last_text;
    IF pool IS NULL THEN
        RETURN '::';
    END IF;
    SET picked = (SELECT MIN(bin_address) FROM free_lease6
        WHERE bin_address > previous AND bin_address BETWEEN first_address AND last_address);
    IF picked IS NULL THEN
        SET picked = (SELECT MIN(bin_address) FROM free_lease6
            WHERE bin_address BETWEEN first_address AND last_address);
    END IF;
    IF picked IS NULL THEN
        RETURN '::';
    END IF;
    UPDATE flq_pool6 SET last_returned_address = INET6_NTOA(picked) WHERE id = pool;
    RETURN INET6_NTOA(picked);
END

CREATE FUNCTION sflqInsertLease6(
    p_address BINARY(16), p_duid VARBINARY(130), p_lifetime INT UNSIGNED, p_expire TIMESTAMP,
    p_subnet INT UNSIGNED, p_preferred INT UNSIGNED, p_type TINYINT, p_iaid INT UNSIGNED,
    p_len TINYINT UNSIGNED, p_fwd BOOL, p_rev BOOL, p_hostname VARCHAR(255),
    p_hwaddr VARBINARY(20), p_hwtype SMALLINT UNSIGNED, p_source INT UNSIGNED,
    p_state INT UNSIGNED, p_context TEXT, p_pool INT UNSIGNED
) RETURNS INT MODIFIES SQL DATA
BEGIN
    INSERT INTO lease6 VALUES (p_address, p_duid, p_lifetime, p_expire, p_subnet, p_preferred,
        p_type, p_iaid, p_len, p_fwd, p_rev, p_hostname, p_hwaddr, p_hwtype, p_source, p_state,
        p_context, p_pool);
    CALL noteFree6(p_address, p_state = 2);
    RETURN 1;
END

CREATE FUNCTION sflqUpdateLease6(
    p_address BINARY(16), p_duid VARBINARY(130), p_lifetime INT UNSIGNED, p_expire TIMESTAMP,
    p_subnet INT UNSIGNED, p_preferred INT UNSIGNED, p_type TINYINT, p_iaid INT UNSIGNED,
    p_len TINYINT UNSIGNED, p_fwd BOOL, p_rev BOOL, p_hostname VARCHAR(255),
    p_hwaddr VARBINARY(20), p_hwtype SMALLINT UNSIGNED, p_source INT UNSIGNED,
    p_state INT UNSIGNED, p_context TEXT, p_pool INT UNSIGNED, p_where_address BINARY(16),
    p_where_expire TIMESTAMP
) RETURNS INT MODIFIES SQL DATA
BEGIN
    DECLARE changed INT;
    UPDATE lease6 SET address = p_address, duid = p_duid, valid_lifetime = p_lifetime,
        expire = p_expire, subnet_id = p_subnet, pref_lifetime = p_preferred,
        lease_type = p_type, iaid = p_iaid, prefix_len = p_len, fqdn_fwd = p_fwd,
        fqdn_rev = p_rev, hostname = p_hostname, hwaddr = p_hwaddr, hwtype = p_hwtype,
        hwaddr_source = p_source, state = p_state, user_context = p_context, pool_id = p_pool
        WHERE address = p_where_address AND expire = p_where_expire;
    SET changed = ROW_COUNT();
    IF changed > 0 THEN
        CALL noteFree6(p_address, p_state = 2);
    END IF;
    RETURN changed;
END

CREATE FUNCTION sflqDeleteLease6(p_address BINARY(16), p_expire TIMESTAMP)
RETURNS INT MODIFIES SQL DATA
BEGIN
    DECLARE changed INT;
    DELETE FROM lease6 WHERE address = p_address AND expire = p_expire;
    SET changed = ROW_COUNT();
    IF changed > 0 THEN
        CALL noteFree6(p_address, TRUE);
    END IF;
    RETURN changed;
END

UPDATE schema_version SET version = 35, minor = 0
