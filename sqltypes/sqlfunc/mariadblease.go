package sqlfunc

import (
	"encoding/hex"
	"strconv"

	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

// mariadbReserve returns the statements of WithLeaseTable.
func (f *Functions) mariadbReserve() []string {
	schema, table := f.leases.schema(sqllease.MySQL)
	return []string{
		schema,
		f.mariadbFill(mariadbReserve,
			"{leases}", table,
			// No sql_mode and no character set changes the meaning of digits.
			"{namespace}", "X'"+hex.EncodeToString([]byte(f.leases.namespace))+"'",
			"{worker}", strconv.FormatInt(f.worker, 10),
			"{token}", "'"+leaseToken+"'",
			"{expires}", leaseExpires,
			"{host}", "CONCAT('"+leaseHost+", ', DATABASE(), '."+f.called("next")+"')",
			"{version}", "'"+leaseVersion+"'",
			"{name}", f.name),
	}
}

// A horizon is the first tick that the owner before has no ID of: the counter is
// put before its first word.
const mariadbReserve = `BEGIN NOT ATOMIC
	DECLARE layout_found VARBINARY(1000);
	DECLARE token_found VARBINARY(32);
	DECLARE owner, owner_found VARCHAR(255) DEFAULT {host};
	DECLARE expires_found, horizon_found, now_ms BIGINT;
	DECLARE problem TEXT;
	DECLARE EXIT HANDLER FOR SQLEXCEPTION
	BEGIN
		ROLLBACK;
		RESIGNAL;
	END;
	START TRANSACTION;
	INSERT IGNORE INTO {leases} (namespace, worker, epoch, token, horizon, expires_ms, revision, layout, host, pid, version)
		VALUES ({namespace}, -1, 0, '', 0, 0, 0, {definition}, '', 0, '');
	SELECT layout INTO layout_found FROM {leases} WHERE namespace = {namespace} AND worker = -1;
	IF layout_found <> {definition} THEN
		SET problem = LEFT(CONCAT('{name}: the namespace has leases of another layout: ', layout_found), 128);
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = problem;
	END IF;
	INSERT IGNORE INTO {leases} (namespace, worker, epoch, token, horizon, expires_ms, revision, layout, host, pid, version)
		VALUES ({namespace}, {worker}, 1, {token}, 0, {expires}, 0, {definition}, owner, 0, {version});
	SELECT token, expires_ms, horizon, host INTO token_found, expires_found, horizon_found, owner_found
		FROM {leases} WHERE namespace = {namespace} AND worker = {worker} FOR UPDATE;
	SET now_ms = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000;
	IF token_found = {token} AND owner_found <> owner THEN
		SET problem = LEFT(CONCAT('{name}: worker {worker} is reserved in the namespace for the ', owner_found), 128);
		SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = problem;
	END IF;
	IF token_found <> {token} THEN
		IF expires_found > now_ms THEN
			SET problem = CONCAT('{name}: worker {worker} is leased in the namespace for another ',
				expires_found - now_ms, ' ms at least');
			SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = problem;
		END IF;
		UPDATE {leases} SET epoch = epoch + 1, token = {token}, expires_ms = {expires}, revision = revision + 1,
			host = owner, pid = 0, version = {version} WHERE namespace = {namespace} AND worker = {worker};
		IF horizon_found > 0 THEN
			INSERT INTO {state} (zone, word, connection)
				VALUES (0, (horizon_found << {sequence bits}) - 1, CONNECTION_ID());
			DELETE own FROM {state} AS own FORCE INDEX (PRIMARY)
				WHERE own.zone = 0 AND own.word = (horizon_found << {sequence bits}) - 1 AND own.connection = CONNECTION_ID();
		END IF;
	END IF;
	COMMIT;
END`
