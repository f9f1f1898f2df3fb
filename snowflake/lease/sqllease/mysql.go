package sqllease

// The statements for MySQL and MariaDB, in the order of postgres.go. Three heads explain what they have in common:
//
//   - schema.go: what each column means, such as reach_ms, reach_before_ms, reach_since_ms and server_since_ms.
//   - postgres.go: the parameters with their units; the conditions on protocol and server; the numbers 10000, 10001,
//     3600000 and 10^18.
//   - server.go: {server}, the identity of the server that executes the statement. It is '' for servers that agree on
//     each commit, so nothing that one has confirmed is missing on another.
//
// In short: ns is the namespace, w a lease, here the server and its time. An extension puts :next in the place of
// :token, and the row has :next already if the reply was lost. :epoch, :generation, :server_since_ms and :revision are
// what the process has read. ns.revision >= :revision: this server is not behind what the process has seen. The
// revision of a lease is never compared: see schema.go.
//
// Text is compared byte by byte: as VARCHAR, "a", "A" and "a " would be one namespace.
//
// UTC_TIMESTAMP depends neither on the session's time zone, where an hour is repeated in autumn, nor ends in 2038 as
// UNIX_TIMESTAMP does before MySQL 8.0.28. It is the time at which the statement began, so a statement that then waits
// for a lock takes no worker too early; and unlike SYSDATE it is the same on replicas.
//
// There is no RETURNING. LAST_INSERT_ID(x) is x, and also the insert ID in the reply to the statement:
// https://dev.mysql.com/doc/refman/8.4/en/information-functions.html#function_last-insert-id
//
// Rows are locked in the order in which a join names the tables. A statement with both tables locks the namespace
// first: see mysqlBeginMove. The exception is mysqlAddNamespace, which runs only while there is no namespace.
//
// A session whose statements replicas repeat has the identity 'binlog_format = STATEMENT': see statementBinlog.
// No namespace has it, so statements that compare it with the namespace's do nothing; the two that store it check it.
// Statements of a third kind check no server: mysqlRelease, mysqlRevoke, mysqlMarkLeases, and in a move those after
// mysqlBeginMove, which has checked it. The first three give no worker to anybody: see postgresRelease.

// mysqlCreateNamespaces is postgresCreateNamespaces. Lengths are in bytes.
const mysqlCreateNamespaces = `CREATE TABLE IF NOT EXISTS {namespaces} (
	namespace VARBINARY(100) NOT NULL,
	protocol BIGINT NOT NULL,
	layout VARBINARY(1000) NOT NULL,
	generation BIGINT NOT NULL,
	start_tick BIGINT NOT NULL,
	first_worker BIGINT NOT NULL,
	last_worker BIGINT NOT NULL,
	has_leases BIGINT NOT NULL,
	server VARBINARY(255) NOT NULL,
	server_since_ms BIGINT NOT NULL,
	reach_ms BIGINT NOT NULL,
	reach_before_ms BIGINT NOT NULL,
	reach_since_ms BIGINT NOT NULL,
	revision BIGINT NOT NULL,
	PRIMARY KEY (namespace)
) ENGINE=InnoDB`

// mysqlCreateLeases is postgresCreateLeases. host and version are for people, and so text.
const mysqlCreateLeases = `CREATE TABLE IF NOT EXISTS {leases} (
	namespace VARBINARY(100) NOT NULL,
	worker BIGINT NOT NULL,
	epoch BIGINT NOT NULL,
	token VARBINARY(32) NOT NULL,
	horizon BIGINT NOT NULL,
	expires_ms BIGINT NOT NULL,
	generation BIGINT NOT NULL,
	reserved_for VARBINARY(255) NOT NULL,
	host VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
	pid BIGINT NOT NULL,
	version VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
	revision BIGINT NOT NULL,
	PRIMARY KEY (namespace, worker)
) ENGINE=InnoDB`

// mysqlRead reads the namespace, the lease that is held with :token, and free workers, in the order of postgresRead.
// EXISTS makes the 1 of a namespace that has no leases.
const mysqlRead = `SELECT
	ns.protocol, ns.layout, ns.generation, ns.start_tick, ns.first_worker, ns.last_worker, ns.has_leases,
	CASE WHEN EXISTS (SELECT 1 FROM {leases} AS one WHERE one.namespace = ns.namespace) THEN 0 ELSE 1 END,
	ns.server_since_ms, ns.reach_ms, ns.revision,
	CASE WHEN here.server = '' OR here.server = ns.server THEN 1 ELSE 0 END,
	here.now_ms,
	w.worker, w.epoch, w.token, w.horizon, w.expires_ms, w.reserved_for
FROM {namespaces} AS ns
CROSS JOIN (
	SELECT {server} AS server, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000 AS now_ms
) AS here
LEFT JOIN {leases} AS w ON w.namespace = ns.namespace AND w.generation = ns.generation
	AND w.worker >= ns.first_worker AND w.worker <= ns.last_worker AND (
	w.token = :token AND (w.reserved_for <> '' OR w.expires_ms > here.now_ms)
	OR w.reserved_for = '' AND w.expires_ms <= here.now_ms
		AND w.worker >= :first_worker AND w.worker <= :last_worker
)
WHERE ns.namespace = :namespace
ORDER BY CASE WHEN w.reserved_for <> '' OR w.expires_ms > here.now_ms THEN 0 ELSE 1 END,
	CASE WHEN w.horizon > :tick THEN w.horizon ELSE :tick END, w.expires_ms, w.worker
LIMIT :limit`

// mysqlGap reads the lowest worker that was never taken, and when the first lease ends: see postgresGap.
const mysqlGap = `SELECT
	(SELECT MIN(candidate.worker) FROM (
		SELECT :first_worker AS worker
		UNION ALL
		SELECT w.worker + 1 FROM {leases} AS w
		WHERE w.namespace = :namespace AND w.worker >= :first_worker AND w.worker < :last_worker
	) AS candidate
	WHERE NOT EXISTS (
		SELECT 1 FROM {leases} AS taken WHERE taken.namespace = :namespace AND taken.worker = candidate.worker
	)),
	(SELECT MIN(w.expires_ms) FROM {leases} AS w
	WHERE w.namespace = :namespace AND w.generation = :generation
		AND w.worker >= :first_worker AND w.worker <= :last_worker AND w.reserved_for = '')`

// mysqlAddNamespace adds a namespace if there are no leases of that name: see postgresAddNamespace. IGNORE: another
// process may be faster.
const mysqlAddNamespace = `INSERT IGNORE INTO {namespaces} (
	namespace, protocol, layout, generation, start_tick, first_worker, last_worker, has_leases,
	server, server_since_ms, reach_ms, reach_before_ms, reach_since_ms, revision
)
SELECT :namespace, 1, :layout, 0, 0, 0, 9223372036854775807, 0, here.server, 0, :reach_ms, 0, 0, 0
FROM (SELECT {server} AS server) AS here
WHERE here.server <> 'binlog_format = STATEMENT'
	AND NOT EXISTS (SELECT 1 FROM {leases} AS w WHERE w.namespace = :namespace)`

// mysqlMarkLeases stores that the namespace has had a lease: see postgresMarkLeases.
const mysqlMarkLeases = `UPDATE {namespaces} SET has_leases = 1, revision = revision + 1
WHERE namespace = :namespace AND has_leases = 0`

// mysqlRecordServer makes the server that executes it the one of the namespace, and raises the reach: see
// postgresRecordServer, also on :horizon_ms - ns.reach_ms and on the first reach, which needs no hour. An UPDATE of one
// table assigns from left to right, and later expressions have the new values: so reach_ms, server and revision come
// last.
const mysqlRecordServer = `UPDATE {namespaces} AS ns SET
	server_since_ms = CASE
		WHEN (ns.server = '' OR {server} = '' OR {server} = ns.server) AND ns.revision >= :revision
			THEN ns.server_since_ms
		WHEN :horizon_ms - ns.reach_ms > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000
			THEN GREATEST(ns.server_since_ms, :horizon_ms)
		ELSE GREATEST(ns.server_since_ms, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000)
	END,
	reach_before_ms = CASE
		WHEN ns.reach_ms < :reach_ms
			AND ns.reach_since_ms + 3600000 <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000
			THEN ns.reach_ms
		ELSE ns.reach_before_ms
	END,
	reach_since_ms = CASE
		WHEN ns.reach_ms < :reach_ms AND ns.reach_ms > 0
			THEN TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000
		ELSE ns.reach_since_ms
	END,
	reach_ms = GREATEST(ns.reach_ms, :reach_ms),
	server = CASE WHEN {server} = '' THEN ns.server ELSE {server} END,
	revision = GREATEST(ns.revision, :revision) + 1
WHERE ns.namespace = :namespace AND ns.protocol <= 1 AND {server} <> 'binlog_format = STATEMENT'
	AND ({server} <> '' AND {server} <> ns.server OR ns.reach_ms < :reach_ms OR ns.revision < :revision)`

// mysqlAddLease takes a worker that has no row: see postgresAddLease. FOR UPDATE would be a deadlock with
// mysqlAddNamespace, which locks the leases first, when many processes start at once.
//
// TiDB refuses LOCK IN SHARE MODE unless tidb_enable_noop_functions is set, and then does not lock. So a share, a move
// or a later protocol may be stored meanwhile, as on another node of a cluster. The lease issues nothing before its
// first extension, which then finds no row: see postgresExtend. README.md has what is left, "What is not covered".
const mysqlAddLease = `INSERT IGNORE INTO {leases} (
	namespace, worker, epoch, token, horizon, expires_ms, generation, reserved_for, host, pid, version, revision
)
SELECT ns.namespace, :worker, 1, :token, ns.start_tick,
	GREATEST(here.now_ms + :ttl_ms,
		CASE WHEN ns.server_since_ms < 1000000000000000000 THEN ns.server_since_ms ELSE 0 END + 10001),
	ns.generation, :reserved_for, :host, :pid, :version, 0
FROM {namespaces} AS ns
CROSS JOIN (
	SELECT {server} AS server, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000 AS now_ms
) AS here
WHERE ns.namespace = :namespace AND ns.protocol <= 1 AND ns.generation = :generation
	AND (here.server = '' OR here.server = ns.server)
	AND ns.server_since_ms = :server_since_ms AND ns.reach_ms = :reach_ms
	AND ns.first_worker <= :worker AND ns.last_worker >= :worker
LOCK IN SHARE MODE`

// mysqlTakeOver takes a worker that is free: see postgresTakeOver. The insert ID is the horizon. An UPDATE of several
// tables assigns in no certain order; no expression here reads a column that another assignment changes.
const mysqlTakeOver = `UPDATE {namespaces} AS ns
CROSS JOIN (
	SELECT {server} AS server, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000 AS now_ms
) AS here
JOIN {leases} AS w ON w.namespace = ns.namespace
SET
	w.epoch = w.epoch + 1,
	w.token = :token,
	w.expires_ms = GREATEST(here.now_ms + :ttl_ms,
		CASE WHEN ns.server_since_ms < 1000000000000000000 THEN ns.server_since_ms ELSE 0 END + 10001),
	w.reserved_for = :reserved_for,
	w.host = :host,
	w.pid = :pid,
	w.version = :version,
	w.revision = w.revision + 1,
	w.horizon = LAST_INSERT_ID(w.horizon)
WHERE ns.namespace = :namespace AND ns.protocol <= 1 AND ns.generation = :generation
	AND (here.server = '' OR here.server = ns.server)
	AND ns.server_since_ms = :server_since_ms AND ns.reach_ms = :reach_ms
	AND ns.first_worker <= :worker AND ns.last_worker >= :worker
	AND w.worker = :worker AND w.generation = ns.generation
	AND w.epoch = :epoch AND w.reserved_for = '' AND w.expires_ms <= here.now_ms`

// mysqlExtend raises the horizon of a lease for its owner: see postgresExtend. The insert ID is the server's time. As
// in mysqlTakeOver, the order of the assignments does not matter.
//
// Here the time is when the statement began, even after a wait. If an extension is repeated, and the first one ends
// last, it lowers expires_ms by the time between the two, so the worker is free earlier than the owner was told. That
// alone repeats no ID: the horizon is never lowered, and a takeover ends the extensions. After a repetition the owner
// extends again at once, with tokens with which the late one finds no row. What is left: the late one has waited for
// longer than the accepted skew, the worker is taken before that extension, and a failover loses the takeover. Then
// mysqlExtendUnexpired believes the former owner.
const mysqlExtend = `UPDATE {namespaces} AS ns
CROSS JOIN (
	SELECT {server} AS server, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000 AS now_ms
) AS here
JOIN {leases} AS w ON w.namespace = ns.namespace
SET
	w.horizon = GREATEST(w.horizon, :horizon),
	w.token = :next,
	w.expires_ms = GREATEST(LAST_INSERT_ID(here.now_ms) + :ttl_ms,
		CASE WHEN ns.server_since_ms < 1000000000000000000 THEN ns.server_since_ms ELSE 0 END + 10001),
	w.revision = w.revision + 1
WHERE ns.namespace = :namespace AND ns.protocol <= 1 AND ns.revision >= :revision
	AND (here.server = '' OR here.server = ns.server)
	AND CASE WHEN here.server = '' OR ns.reach_since_ms + 3600000 <= here.now_ms
		THEN ns.reach_ms ELSE ns.reach_before_ms END >= :reach_ms
	AND ns.first_worker <= w.worker AND ns.last_worker >= w.worker
	AND w.worker = :worker AND w.generation = ns.generation
	AND w.epoch = :epoch AND (w.token = :token OR w.token = :next)
	AND (ns.server_since_ms = 0 OR w.expires_ms - 10000 > ns.server_since_ms)`

// mysqlExtendUnexpired is mysqlExtend for an owner that knows that the lease had not expired when this server took
// over: see postgresExtendUnexpired.
const mysqlExtendUnexpired = `UPDATE {namespaces} AS ns
CROSS JOIN (
	SELECT {server} AS server, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000 AS now_ms
) AS here
JOIN {leases} AS w ON w.namespace = ns.namespace
SET
	w.horizon = GREATEST(w.horizon, :horizon),
	w.token = :next,
	w.expires_ms = GREATEST(LAST_INSERT_ID(here.now_ms) + :ttl_ms,
		CASE WHEN ns.server_since_ms < 1000000000000000000 THEN ns.server_since_ms ELSE 0 END + 10001),
	w.revision = w.revision + 1
WHERE ns.namespace = :namespace AND ns.protocol <= 1 AND ns.server = :server AND ns.server_since_ms = :server_since_ms
	AND (here.server = '' OR here.server = ns.server)
	AND CASE WHEN here.server = '' OR ns.reach_since_ms + 3600000 <= here.now_ms
		THEN ns.reach_ms ELSE ns.reach_before_ms END >= :reach_ms
	AND ns.first_worker <= w.worker AND ns.last_worker >= w.worker
	AND w.worker = :worker AND w.generation = ns.generation
	AND w.epoch = :epoch AND (w.token = :token OR w.token = :next)`

// mysqlWhyRefused reads what an extension depends on: see postgresWhyRefused.
const mysqlWhyRefused = `SELECT ns.protocol, ns.server, ns.server_since_ms, ns.revision,
	CASE WHEN here.server = '' OR ns.reach_since_ms + 3600000 <= here.now_ms
		THEN ns.reach_ms ELSE ns.reach_before_ms END,
	((ns.reach_since_ms + 3600000) - here.now_ms),
	CASE WHEN w.generation = ns.generation AND ns.first_worker <= w.worker AND ns.last_worker >= w.worker
		THEN 1 ELSE 0 END,
	CASE WHEN here.server = '' OR here.server = ns.server THEN 1 ELSE 0 END,
	CASE WHEN ns.server_since_ms = 0 OR w.expires_ms - 10000 > ns.server_since_ms THEN 1 ELSE 0 END
FROM {namespaces} AS ns
CROSS JOIN (
	SELECT {server} AS server, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000 AS now_ms
) AS here
JOIN {leases} AS w ON w.namespace = ns.namespace
WHERE ns.namespace = :namespace AND w.worker = :worker AND w.epoch = :epoch AND (w.token = :token OR w.token = :next)`

// mysqlRelease makes a worker free at once: see postgresRelease, also on why it checks no server, and ends a
// reservation.
const mysqlRelease = `UPDATE {leases} SET
	horizon = LEAST(horizon, :horizon),
	expires_ms = LEAST(expires_ms,
		TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000),
	reserved_for = '',
	revision = revision + 1
WHERE namespace = :namespace AND worker = :worker AND epoch = :epoch AND (token = :token OR token = :next)`

// mysqlRevoke takes a worker away from the owner of :epoch: see postgresRevoke.
const mysqlRevoke = `UPDATE {leases} SET
	epoch = epoch + 1,
	token = :token,
	expires_ms = LEAST(expires_ms,
		TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000),
	revision = revision + 1
WHERE namespace = :namespace AND worker = :worker AND epoch = :epoch AND reserved_for = ''`

// mysqlSetShare sets the share if the namespace has none: see postgresSetShare.
const mysqlSetShare = `UPDATE {namespaces} AS ns SET
	first_worker = :first_worker,
	last_worker = :last_worker,
	revision = ns.revision + 1
WHERE ns.namespace = :namespace AND ns.protocol <= 1 AND ns.generation = :generation
	AND ({server} = '' OR {server} = ns.server)
	AND ns.first_worker = 0 AND ns.last_worker = 9223372036854775807`

// mysqlList reads the leases of a namespace, or of all if it is empty: see postgresList.
const mysqlList = `SELECT
	w.namespace, w.worker, w.epoch, w.horizon, w.expires_ms, w.reserved_for, w.host, w.pid, w.version,
	ns.layout, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000
FROM {leases} AS w
LEFT JOIN {namespaces} AS ns ON ns.namespace = w.namespace
WHERE :namespace = '' OR w.namespace = :namespace`

// mysqlUsable reads every column and no row: see postgresUsable.
const mysqlUsable = `SELECT ns.namespace, ns.protocol, ns.layout, ns.generation, ns.start_tick, ns.first_worker,
	ns.last_worker, ns.has_leases, ns.server, ns.server_since_ms, ns.reach_ms, ns.reach_before_ms, ns.reach_since_ms,
	ns.revision, w.namespace, w.worker, w.epoch, w.token, w.horizon, w.expires_ms, w.generation, w.reserved_for, w.host,
	w.pid, w.version, w.revision
FROM {namespaces} AS ns CROSS JOIN {leases} AS w LIMIT 0`

// mysqlBeginMove locks the namespace as the first statement of a move: see postgresBeginMove. Statements that wait for
// a move wait for this row, and hold none of the leases that mysqlEndOwners locks next. One of Release and Revoke holds
// a single lease, and waits for nothing else.
const mysqlBeginMove = `UPDATE {namespaces} AS ns SET revision = ns.revision + 1
WHERE ns.namespace = :namespace AND ns.protocol <= 1 AND ns.generation = :generation AND ns.layout = :layout
	AND ({server} = '' OR {server} = ns.server)`

// mysqlEndOwners ends what owners can do: see postgresEndOwners. ORDER BY is the order of the locks.
const mysqlEndOwners = `UPDATE {leases} SET
	epoch = epoch + 1,
	token = '',
	revision = revision + 1
WHERE namespace = :namespace
ORDER BY worker`

// mysqlReadMove reads the namespace and its leases: see postgresReadMove.
const mysqlReadMove = `SELECT ns.start_tick, ns.first_worker, ns.server_since_ms, ns.reach_ms,
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000,
	w.worker, w.epoch, w.horizon, w.expires_ms, w.reserved_for, w.host, w.pid, w.version
FROM {namespaces} AS ns
LEFT JOIN {leases} AS w ON w.namespace = ns.namespace
WHERE ns.namespace = :namespace`

// mysqlMoveLeases moves the leases whose owners mysqlEndOwners has ended, which left their token empty: see
// postgresMoveLeases.
const mysqlMoveLeases = `UPDATE {leases} SET
	horizon = :start_tick,
	generation = :generation + 1,
	revision = revision + 1
WHERE namespace = :namespace AND token = ''`

// mysqlMoveNamespace moves the namespace to :layout: see postgresMoveNamespace.
const mysqlMoveNamespace = `UPDATE {namespaces} SET
	layout = :layout,
	start_tick = :start_tick,
	generation = :generation + 1,
	revision = revision + 1
WHERE namespace = :namespace AND generation = :generation`
