DELIMITER //

BEGIN NOT ATOMIC
	DECLARE found, problem TEXT;
	SET found = (SELECT routine_comment FROM information_schema.routines
		WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION' AND routine_name = 'snowflake_layout');
	IF found IS NULL AND EXISTS (SELECT 1 FROM information_schema.routines
		WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION'
			AND routine_name IN ('snowflake_time', 'snowflake_parts', 'snowflake_min')) THEN
		SET found = 'unknown';
	END IF;
	IF found <> 'epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12' THEN
		SET problem = LEFT(CONCAT('snowflake', ' functions of another layout are installed: ', found), 128);
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = problem;
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

DELIMITER ;
