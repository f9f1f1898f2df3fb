DELIMITER //

BEGIN NOT ATOMIC
	DECLARE found, problem TEXT;
	SET found = (SELECT routine_comment FROM information_schema.routines
		WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION' AND routine_name = 'sony_layout');
	IF found IS NULL AND EXISTS (SELECT 1 FROM information_schema.routines
		WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION'
			AND routine_name IN ('sony_time', 'sony_parts', 'sony_min', 'sony_next')) THEN
		SET found = 'unknown';
	END IF;
	IF found <> 'epoch=2014-09-01T00:00:00Z tick=10ms time:39 sequence:8 machine:16' THEN
		SET problem = LEFT(CONCAT('sony', ' functions of another layout are installed: ', found), 128);
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = problem;
	END IF;
END//

CREATE TABLE IF NOT EXISTS `sony_state` (
	zone SMALLINT UNSIGNED NOT NULL,
	word BIGINT NOT NULL AUTO_INCREMENT,
	connection BIGINT UNSIGNED NOT NULL,
	PRIMARY KEY (zone, word, connection),
	KEY (word)
) ENGINE=InnoDB COMMENT='state of `sony_next`: do not truncate or alter'//

BEGIN NOT ATOMIC
	IF (SELECT COUNT(*) FROM `sony_state` WHERE word = 0) < 4096 THEN
		SET STATEMENT sql_mode = 'NO_AUTO_VALUE_ON_ZERO' FOR
		INSERT IGNORE INTO `sony_state` (zone, word, connection)
			WITH digit (d) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15))
			SELECT a.d * 256 + b.d * 16 + c.d, 0, 0 FROM digit AS a, digit AS b, digit AS c;
	END IF;
END//

BEGIN NOT ATOMIC
	IF NOT EXISTS (SELECT 1 FROM information_schema.routines WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION'
		AND routine_name = 'sony_layout' AND routine_comment = 'epoch=2014-09-01T00:00:00Z tick=10ms time:39 sequence:8 machine:16') THEN
		EXECUTE IMMEDIATE '
SET STATEMENT sql_mode = ''STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE'' FOR
CREATE OR REPLACE FUNCTION `sony_layout`() RETURNS VARCHAR(1000) CHARACTER SET utf8mb4
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT ''epoch=2014-09-01T00:00:00Z tick=10ms time:39 sequence:8 machine:16''
RETURN ''epoch=2014-09-01T00:00:00Z tick=10ms time:39 sequence:8 machine:16''';
	END IF;
END//

BEGIN NOT ATOMIC
	IF NOT EXISTS (SELECT 1 FROM information_schema.routines WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION'
		AND routine_name = 'sony_time' AND routine_comment = 'sqlfunc bd9dd9078aa52eba') THEN
		EXECUTE IMMEDIATE '
SET STATEMENT sql_mode = ''STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE'' FOR
CREATE OR REPLACE FUNCTION `sony_time`(id BIGINT) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT ''sqlfunc bd9dd9078aa52eba''
BEGIN
	RETURN TIMESTAMPADD(MICROSECOND, (CAST(((id >> 24) & 549755813887) AS DECIMAL(20)) * 10000 + (1409529600000000)), ''1970-01-01 00:00:00.000000'');
END';
	END IF;
END//

BEGIN NOT ATOMIC
	IF NOT EXISTS (SELECT 1 FROM information_schema.routines WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION'
		AND routine_name = 'sony_parts' AND routine_comment = 'sqlfunc d3e3ae4a907be38b') THEN
		EXECUTE IMMEDIATE '
SET STATEMENT sql_mode = ''STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE'' FOR
CREATE OR REPLACE FUNCTION `sony_parts`(id BIGINT) RETURNS TEXT CHARACTER SET utf8mb4
DETERMINISTIC CONTAINS SQL SQL SECURITY INVOKER COMMENT ''sqlfunc d3e3ae4a907be38b''
BEGIN
	IF id IS NULL THEN
		RETURN NULL;
	END IF;
	RETURN JSON_OBJECT(''time'', CONCAT(DATE_FORMAT(`sony_time`(id), ''%Y-%m-%dT%H:%i:%s.%f''), ''Z''),
		''sequence'', (id >> 16) & 255,
		''machine'', (id >> 0) & 65535);
END';
	END IF;
END//

BEGIN NOT ATOMIC
	IF NOT EXISTS (SELECT 1 FROM information_schema.routines WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION'
		AND routine_name = 'sony_min' AND routine_comment = 'sqlfunc bd0cca544aea4786') THEN
		EXECUTE IMMEDIATE '
SET STATEMENT sql_mode = ''STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE'' FOR
CREATE OR REPLACE FUNCTION `sony_min`(at DATETIME(6)) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT ''sqlfunc bd0cca544aea4786''
BEGIN
	DECLARE microseconds BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, ''1970-01-01 00:00:00.000000'', at);
	DECLARE problem TEXT;
	IF at IS NOT NULL AND (microseconds IS NULL OR microseconds < 1409529600000000) THEN
		SET problem = CONCAT(''sony_min'', '': '', at, '' is before the epoch, 2014-09-01 00:00:00 UTC'');
		SIGNAL SQLSTATE ''22003'' SET MESSAGE_TEXT = problem;
	END IF;
	IF (microseconds - (1409529600000000)) DIV 10000 > 549755813887 THEN
		SET problem = CONCAT(''sony_min'', '': '', at, '' is not before the end, 2188-11-16 03:28:58.88 UTC'');
		SIGNAL SQLSTATE ''22003'' SET MESSAGE_TEXT = problem;
	END IF;
	RETURN ((microseconds - (1409529600000000)) DIV 10000) << 24;
END';
	END IF;
END//

BEGIN NOT ATOMIC
	IF NOT EXISTS (SELECT 1 FROM information_schema.routines WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION'
		AND routine_name = 'sony_next' AND routine_comment = 'sqlfunc 3ed6108fc58d92b8') THEN
		EXECUTE IMMEDIATE '
SET STATEMENT sql_mode = ''STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE'' FOR
CREATE OR REPLACE FUNCTION `sony_next`() RETURNS BIGINT
NOT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER COMMENT ''sqlfunc 3ed6108fc58d92b8''
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
			MESSAGE_TEXT = ''sony_next: replicas would have other IDs: binlog_format is STATEMENT, want MIXED'';
	END IF;
	IF moment < 1409529600000000 THEN
		SIGNAL SQLSTATE ''45000'' SET MESSAGE_TEXT = ''sony_next: the clock is before the epoch, 2014-09-01 00:00:00 UTC'';
	END IF;
	SET tick = (moment - (1409529600000000)) DIV 10000;
	IF tick > 549755813887 THEN
		SIGNAL SQLSTATE ''45000'' SET MESSAGE_TEXT = ''sony_next: the time of the layout is exhausted, it ends at 2188-11-16 03:28:58.88 UTC'';
	END IF;
	SET lowest = tick << 8;
	SET STATEMENT insert_id = 0, auto_increment_increment = @@GLOBAL.auto_increment_increment,
		auto_increment_offset = @@GLOBAL.auto_increment_offset FOR
		INSERT INTO `sony_state` (zone, word, connection) VALUES (my, NULL, me);
	SET claimed = LAST_INSERT_ID();
	DELETE own FROM `sony_state` AS own FORCE INDEX (PRIMARY) WHERE own.zone = my AND own.word = claimed AND own.connection = me;
	IF claimed < lowest THEN
		INSERT INTO `sony_state` (zone, word, connection) VALUES (my, lowest - 1, me);
		DELETE own FROM `sony_state` AS own FORCE INDEX (PRIMARY) WHERE own.zone = my AND own.word = lowest - 1 AND own.connection = me;
		SET STATEMENT insert_id = 0, auto_increment_increment = @@GLOBAL.auto_increment_increment,
			auto_increment_offset = @@GLOBAL.auto_increment_offset FOR
			INSERT INTO `sony_state` (zone, word, connection) VALUES (my, NULL, me);
		SET claimed = LAST_INSERT_ID();
		DELETE own FROM `sony_state` AS own FORCE INDEX (PRIMARY) WHERE own.zone = my AND own.word = claimed AND own.connection = me;
	END IF;
	SET claimed_tick = claimed >> 8;
	IF claimed < lowest OR claimed_tick > 549755813887 THEN
		SIGNAL SQLSTATE ''45000'' SET MESSAGE_TEXT = ''sony_next: the time of the layout is exhausted, it ends at 2188-11-16 03:28:58.88 UTC'';
	ELSEIF claimed_tick - tick - 1000 > 100 THEN
		SET problem = CONCAT(''sony_next: the IDs are '', (claimed_tick - tick) * 0.01,
			'' s ahead of the clock, 10s is the lead'');
		SIGNAL SQLSTATE ''45000'' SET MESSAGE_TEXT = problem;
	ELSEIF claimed_tick - tick > 1000 THEN
		DO SLEEP((claimed_tick - tick - 1000) * 0.01);
	END IF;
	RETURN claimed_tick << 24 | (claimed & 255) << 16 | 65535;
END';
	END IF;
END//

DELIMITER ;
