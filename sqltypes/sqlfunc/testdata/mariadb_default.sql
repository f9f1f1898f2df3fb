DELIMITER //

BEGIN NOT ATOMIC
	DECLARE found, problem TEXT;
	SET found = (SELECT routine_comment FROM information_schema.routines
		WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION' AND routine_name = 'snowflake_layout');
	IF found IS NULL AND EXISTS (SELECT 1 FROM information_schema.routines
		WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION'
			AND routine_name IN ('snowflake_time', 'snowflake_parts', 'snowflake_min', 'snowflake_next')) THEN
		SET found = 'unknown';
	END IF;
	IF found <> 'epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12' THEN
		SET problem = LEFT(CONCAT('snowflake', ' functions of another layout are installed: ', found), 128);
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = problem;
	END IF;
END//

CREATE TABLE IF NOT EXISTS `snowflake_state` (
	zone SMALLINT UNSIGNED NOT NULL,
	word BIGINT NOT NULL AUTO_INCREMENT,
	connection BIGINT UNSIGNED NOT NULL,
	PRIMARY KEY (zone, word, connection),
	KEY (word)
) ENGINE=InnoDB COMMENT='state of `snowflake_next`: do not truncate or alter'//

BEGIN NOT ATOMIC
	IF (SELECT COUNT(*) FROM `snowflake_state` WHERE word = 0) < 4096 THEN
		SET STATEMENT sql_mode = 'NO_AUTO_VALUE_ON_ZERO' FOR
		INSERT IGNORE INTO `snowflake_state` (zone, word, connection)
			WITH digit (d) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15))
			SELECT a.d * 256 + b.d * 16 + c.d, 0, 0 FROM digit AS a, digit AS b, digit AS c;
	END IF;
END//

BEGIN NOT ATOMIC
	IF NOT EXISTS (SELECT 1 FROM information_schema.routines WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION'
		AND routine_name = 'snowflake_layout' AND routine_comment = 'epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12') THEN
		EXECUTE IMMEDIATE '
SET STATEMENT sql_mode = ''STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE'' FOR
CREATE OR REPLACE FUNCTION `snowflake_layout`() RETURNS VARCHAR(1000) CHARACTER SET utf8mb4
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT ''epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12''
RETURN ''epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12''';
	END IF;
END//

BEGIN NOT ATOMIC
	IF NOT EXISTS (SELECT 1 FROM information_schema.routines WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION'
		AND routine_name = 'snowflake_time' AND routine_comment = 'sqlfunc 140627579c347779') THEN
		EXECUTE IMMEDIATE '
SET STATEMENT sql_mode = ''STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE'' FOR
CREATE OR REPLACE FUNCTION `snowflake_time`(id BIGINT) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT ''sqlfunc 140627579c347779''
BEGIN
	RETURN TIMESTAMPADD(MICROSECOND, (CAST(((id >> 22) & 2199023255551) AS DECIMAL(20)) * 1000 + (1735689600000000)), ''1970-01-01 00:00:00.000000'');
END';
	END IF;
END//

BEGIN NOT ATOMIC
	IF NOT EXISTS (SELECT 1 FROM information_schema.routines WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION'
		AND routine_name = 'snowflake_parts' AND routine_comment = 'sqlfunc bea573d5c1170a22') THEN
		EXECUTE IMMEDIATE '
SET STATEMENT sql_mode = ''STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE'' FOR
CREATE OR REPLACE FUNCTION `snowflake_parts`(id BIGINT) RETURNS TEXT CHARACTER SET utf8mb4
DETERMINISTIC CONTAINS SQL SQL SECURITY INVOKER COMMENT ''sqlfunc bea573d5c1170a22''
BEGIN
	IF id IS NULL THEN
		RETURN NULL;
	END IF;
	RETURN JSON_OBJECT(''time'', CONCAT(DATE_FORMAT(`snowflake_time`(id), ''%Y-%m-%dT%H:%i:%s.%f''), ''Z''),
		''worker'', (id >> 12) & 1023,
		''sequence'', (id >> 0) & 4095);
END';
	END IF;
END//

BEGIN NOT ATOMIC
	IF NOT EXISTS (SELECT 1 FROM information_schema.routines WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION'
		AND routine_name = 'snowflake_min' AND routine_comment = 'sqlfunc ab47fc81e1b273e9') THEN
		EXECUTE IMMEDIATE '
SET STATEMENT sql_mode = ''STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE'' FOR
CREATE OR REPLACE FUNCTION `snowflake_min`(at DATETIME(6)) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT ''sqlfunc ab47fc81e1b273e9''
BEGIN
	DECLARE microseconds BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, ''1970-01-01 00:00:00.000000'', at);
	DECLARE problem TEXT;
	IF at IS NOT NULL AND (microseconds IS NULL OR microseconds < 1735689600000000) THEN
		SET problem = CONCAT(''snowflake_min'', '': '', at, '' is before the epoch, 2025-01-01 00:00:00 UTC'');
		SIGNAL SQLSTATE ''22003'' SET MESSAGE_TEXT = problem;
	END IF;
	IF (microseconds - (1735689600000000)) DIV 1000 > 2199023255551 THEN
		SET problem = CONCAT(''snowflake_min'', '': '', at, '' is not before the end, 2094-09-07 15:47:35.552 UTC'');
		SIGNAL SQLSTATE ''22003'' SET MESSAGE_TEXT = problem;
	END IF;
	RETURN ((microseconds - (1735689600000000)) DIV 1000) << 22;
END';
	END IF;
END//

BEGIN NOT ATOMIC
	IF NOT EXISTS (SELECT 1 FROM information_schema.routines WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION'
		AND routine_name = 'snowflake_next' AND routine_comment = 'sqlfunc a7dc4c36f3bc8231') THEN
		EXECUTE IMMEDIATE '
SET STATEMENT sql_mode = ''STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE'' FOR
CREATE OR REPLACE FUNCTION `snowflake_next`() RETURNS BIGINT
NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER COMMENT ''sqlfunc a7dc4c36f3bc8231''
BEGIN
	DECLARE stamp CHAR(36) CHARACTER SET ascii DEFAULT UUID();
	DECLARE moment BIGINT DEFAULT CAST(CONV(CONCAT(SUBSTRING(stamp, 16, 3), SUBSTRING(stamp, 10, 4), SUBSTRING(stamp, 1, 8)), 16, 10)
		AS UNSIGNED) DIV 10 - 12219292800000000;
	DECLARE me BIGINT UNSIGNED DEFAULT CONNECTION_ID();
	DECLARE my SMALLINT UNSIGNED DEFAULT me & 4095;
	DECLARE tick, lowest, claimed, claimed_tick BIGINT;
	DECLARE problem TEXT;
	IF @@log_bin AND @@sql_log_bin AND @@binlog_format = ''STATEMENT'' THEN
		SIGNAL SQLSTATE ''45000'' SET
			MESSAGE_TEXT = ''snowflake_next: replicas would have other IDs: binlog_format is STATEMENT, want MIXED'';
	END IF;
	IF moment < 1735689600000000 THEN
		SIGNAL SQLSTATE ''45000'' SET MESSAGE_TEXT = ''snowflake_next: the clock is before the epoch, 2025-01-01 00:00:00 UTC'';
	END IF;
	SET tick = (moment - (1735689600000000)) DIV 1000;
	IF tick > 2199023255551 THEN
		SIGNAL SQLSTATE ''45000'' SET MESSAGE_TEXT = ''snowflake_next: the time of the layout is exhausted, it ends at 2094-09-07 15:47:35.552 UTC'';
	END IF;
	SET lowest = tick << 12;
	SET STATEMENT insert_id = 0, auto_increment_increment = @@GLOBAL.auto_increment_increment,
		auto_increment_offset = @@GLOBAL.auto_increment_offset FOR
		INSERT INTO `snowflake_state` (zone, word, connection) VALUES (my, NULL, me);
	SET claimed = LAST_INSERT_ID();
	DELETE own FROM `snowflake_state` AS own FORCE INDEX (PRIMARY) WHERE own.zone = my AND own.word = claimed AND own.connection = me;
	IF claimed < lowest THEN
		INSERT INTO `snowflake_state` (zone, word, connection) VALUES (my, lowest - 1, me);
		DELETE own FROM `snowflake_state` AS own FORCE INDEX (PRIMARY) WHERE own.zone = my AND own.word = lowest - 1 AND own.connection = me;
		SET STATEMENT insert_id = 0, auto_increment_increment = @@GLOBAL.auto_increment_increment,
			auto_increment_offset = @@GLOBAL.auto_increment_offset FOR
			INSERT INTO `snowflake_state` (zone, word, connection) VALUES (my, NULL, me);
		SET claimed = LAST_INSERT_ID();
		DELETE own FROM `snowflake_state` AS own FORCE INDEX (PRIMARY) WHERE own.zone = my AND own.word = claimed AND own.connection = me;
	END IF;
	SET claimed_tick = claimed >> 12;
	IF claimed < lowest OR claimed_tick > 2199023255551 THEN
		SIGNAL SQLSTATE ''45000'' SET MESSAGE_TEXT = ''snowflake_next: the time of the layout is exhausted, it ends at 2094-09-07 15:47:35.552 UTC'';
	ELSEIF claimed_tick - tick - 10000 > 1000 THEN
		SET problem = CONCAT(''snowflake_next: the IDs are '', (claimed_tick - tick) * 0.001,
			'' s ahead of the clock, 10s is the lead'');
		SIGNAL SQLSTATE ''45000'' SET MESSAGE_TEXT = problem;
	ELSEIF claimed_tick - tick > 10000 THEN
		DO SLEEP((claimed_tick - tick - 10000) * 0.001);
	END IF;
	RETURN claimed_tick << 22 | (claimed & 4095) << 0 | 4190208;
END';
	END IF;
END//

CREATE TABLE IF NOT EXISTS `snowflake_leases` (
	namespace VARBINARY(100) NOT NULL,
	worker BIGINT NOT NULL,
	epoch BIGINT NOT NULL,
	token VARBINARY(32) NOT NULL,
	horizon BIGINT NOT NULL,
	expires_ms BIGINT NOT NULL,
	revision BIGINT NOT NULL,
	layout VARBINARY(1000) NOT NULL,
	host VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
	pid BIGINT NOT NULL,
	version VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
	protocol BIGINT NOT NULL DEFAULT 1,
	PRIMARY KEY (namespace, worker)
) ENGINE=InnoDB//

BEGIN NOT ATOMIC
	DECLARE layout_found VARBINARY(1000);
	DECLARE token_found VARBINARY(32);
	DECLARE owner, owner_found VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT CONCAT('database server, ', DATABASE(), '.snowflake_next');
	DECLARE protocol_found, expires_found, horizon_found, now_ms BIGINT;
	DECLARE problem TEXT;
	DECLARE EXIT HANDLER FOR SQLEXCEPTION
	BEGIN
		ROLLBACK;
		RESIGNAL;
	END;
	START TRANSACTION;
	INSERT IGNORE INTO `snowflake_leases` (namespace, worker, epoch, token, horizon, expires_ms, revision, layout, host, pid, version)
		VALUES (X'69742773', -1, 0, '', 0, 0, 0, 'epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12', '', 0, '');
	SELECT layout, protocol INTO layout_found, protocol_found FROM `snowflake_leases` WHERE namespace = X'69742773' AND worker = -1;
	IF protocol_found > 2 OR protocol_found > 1 AND NOT EXISTS (SELECT 1 FROM `snowflake_leases`
			WHERE namespace = X'69742773' AND worker = 1023 AND token = 'reserved for the server' AND host = owner) THEN
		SET problem = LEFT(CONCAT('snowflake: the namespace requires version ', protocol_found, ' of the lease protocol'), 128);
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = problem;
	ELSEIF layout_found <> 'epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12' THEN
		SET problem = LEFT(CONCAT('snowflake: the namespace has leases of another layout: ', layout_found), 128);
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = problem;
	END IF;
	INSERT IGNORE INTO `snowflake_leases` (namespace, worker, epoch, token, horizon, expires_ms, revision, layout, host, pid, version)
		VALUES (X'69742773', 1023, 1, 'reserved for the server', 0, 7258118400000, 0, 'epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12', owner, 0, 'sqlfunc');
	SELECT token, expires_ms, horizon, host INTO token_found, expires_found, horizon_found, owner_found
		FROM `snowflake_leases` WHERE namespace = X'69742773' AND worker = 1023 FOR UPDATE;
	SET now_ms = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000;
	IF token_found = 'reserved for the server' AND owner_found <> owner THEN
		SET problem = LEFT(CONCAT('snowflake: worker 1023 is reserved in the namespace for the ', owner_found), 128);
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = problem;
	END IF;
	IF token_found <> 'reserved for the server' THEN
		IF expires_found > now_ms THEN
			SET problem = CONCAT('snowflake: worker 1023 is leased in the namespace for another ',
				expires_found - now_ms, ' ms at least');
			SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = problem;
		END IF;
		UPDATE `snowflake_leases` SET epoch = epoch + 1, token = 'reserved for the server', expires_ms = 7258118400000, revision = revision + 1,
			host = owner, pid = 0, version = 'sqlfunc' WHERE namespace = X'69742773' AND worker = 1023;
		IF horizon_found > 0 THEN
			INSERT INTO `snowflake_state` (zone, word, connection)
				VALUES (0, (horizon_found << 12) - 1, CONNECTION_ID());
			DELETE own FROM `snowflake_state` AS own FORCE INDEX (PRIMARY)
				WHERE own.zone = 0 AND own.word = (horizon_found << 12) - 1 AND own.connection = CONNECTION_ID();
		END IF;
	END IF;
	COMMIT;
END//

DELIMITER ;
