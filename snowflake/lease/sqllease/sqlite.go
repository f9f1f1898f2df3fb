package sqllease

// The statements for SQLite, whose bigint has integer affinity. schema.go explains the columns, postgres.go the
// parameters, the conditions and the numbers. SQLite has one server, one writer, and no search_path, so they are
// shorter: no condition is about the server, and no greater reach has to arrive at replicas. Whatever waits for another
// writer has not begun, so nothing takes a lock by itself.
//
// The time stands still while a statement looks for its rows, so it is written where it is used, which takes half as
// long as a subquery. unixepoch('subsec') needs 3.42. A Julian day in a double is exact to 40 microseconds; 2440587.5
// is the start of 1970 in them, and 86400000 the milliseconds of one.

// sqliteCreateNamespaces is postgresCreateNamespaces.
const sqliteCreateNamespaces = `CREATE TABLE IF NOT EXISTS {namespaces} (
	namespace text NOT NULL,
	protocol bigint NOT NULL,
	layout text NOT NULL,
	generation bigint NOT NULL,
	start_tick bigint NOT NULL,
	first_worker bigint NOT NULL,
	last_worker bigint NOT NULL,
	has_leases bigint NOT NULL,
	server text NOT NULL,
	server_since_ms bigint NOT NULL,
	reach_ms bigint NOT NULL,
	reach_before_ms bigint NOT NULL,
	reach_since_ms bigint NOT NULL,
	revision bigint NOT NULL,
	PRIMARY KEY (namespace)
)`

// sqliteCreateLeases is postgresCreateLeases.
const sqliteCreateLeases = `CREATE TABLE IF NOT EXISTS {leases} (
	namespace text NOT NULL,
	worker bigint NOT NULL,
	epoch bigint NOT NULL,
	token text NOT NULL,
	horizon bigint NOT NULL,
	expires_ms bigint NOT NULL,
	generation bigint NOT NULL,
	reserved_for text NOT NULL,
	host text NOT NULL,
	pid bigint NOT NULL,
	version text NOT NULL,
	revision bigint NOT NULL,
	PRIMARY KEY (namespace, worker)
)`

// sqliteRead reads the namespace, the lease that is held with :token, and free workers, in the order of postgresRead.
// The 1 is whether the server is the one of the namespace.
const sqliteRead = `SELECT
	ns.protocol, ns.layout, ns.generation, ns.start_tick, ns.first_worker, ns.last_worker, ns.has_leases,
	CASE WHEN EXISTS (SELECT 1 FROM {leases} AS one WHERE one.namespace = ns.namespace) THEN 0 ELSE 1 END,
	ns.server_since_ms, ns.reach_ms, ns.revision,
	1,
	CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER),
	w.worker, w.epoch, w.token, w.horizon, w.expires_ms, w.reserved_for
FROM {namespaces} AS ns
LEFT JOIN {leases} AS w ON w.namespace = ns.namespace AND w.generation = ns.generation
	AND w.worker >= ns.first_worker AND w.worker <= ns.last_worker AND (
	w.token = :token
		AND (w.reserved_for <> '' OR w.expires_ms > CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER))
	OR w.reserved_for = '' AND w.expires_ms <= CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
		AND w.worker >= :first_worker AND w.worker <= :last_worker
)
WHERE ns.namespace = :namespace
ORDER BY CASE
		WHEN w.reserved_for <> '' THEN 0
		WHEN w.expires_ms > CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) THEN 0
		ELSE 1
	END,
	CASE WHEN w.horizon > :tick THEN w.horizon ELSE :tick END, w.expires_ms, w.worker
LIMIT :limit`

// sqliteGap reads the lowest worker that was never taken, and when the first lease ends: see postgresGap.
const sqliteGap = `SELECT
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

// sqliteAddNamespace adds a namespace that has no leases: see postgresAddNamespace.
const sqliteAddNamespace = `INSERT INTO {namespaces} (
	namespace, protocol, layout, generation, start_tick, first_worker, last_worker, has_leases,
	server, server_since_ms, reach_ms, reach_before_ms, reach_since_ms, revision
)
SELECT :namespace, 1, :layout, 0, 0, 0, 9223372036854775807, 0, '', 0, :reach_ms, 0, 0, 0
WHERE NOT EXISTS (SELECT 1 FROM {leases} AS w WHERE w.namespace = :namespace)
ON CONFLICT DO NOTHING`

// sqliteMarkLeases stores that the namespace has had a lease: see postgresMarkLeases.
const sqliteMarkLeases = `UPDATE {namespaces} SET has_leases = 1, revision = revision + 1
WHERE namespace = :namespace AND has_leases = 0`

// sqliteRecordServer raises the reach. A revision below :revision comes from a backup, which counts as another server:
// see postgresRecordServer.
const sqliteRecordServer = `UPDATE {namespaces} AS ns SET
	server_since_ms = CASE
		WHEN ns.revision >= :revision THEN ns.server_since_ms
		WHEN :horizon_ms - ns.reach_ms > CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
			THEN MAX(ns.server_since_ms, :horizon_ms)
		ELSE MAX(ns.server_since_ms, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER))
	END,
	reach_before_ms = CASE
		WHEN ns.reach_ms < :reach_ms
			AND ns.reach_since_ms + 3600000 <= CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
			THEN ns.reach_ms
		ELSE ns.reach_before_ms
	END,
	reach_since_ms = CASE
		WHEN ns.reach_ms < :reach_ms AND ns.reach_ms > 0
			THEN CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
		ELSE ns.reach_since_ms
	END,
	reach_ms = MAX(ns.reach_ms, :reach_ms),
	revision = MAX(ns.revision, :revision) + 1
WHERE ns.namespace = :namespace AND ns.protocol <= 1
	AND (ns.reach_ms < :reach_ms OR ns.revision < :revision)`

// sqliteAddLease takes a worker that has no row: see postgresAddLease.
const sqliteAddLease = `INSERT INTO {leases} (
	namespace, worker, epoch, token, horizon, expires_ms, generation, reserved_for, host, pid, version, revision
)
SELECT ns.namespace, :worker, 1, :token, ns.start_tick,
	MAX(CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + :ttl_ms,
		CASE WHEN ns.server_since_ms < 1000000000000000000 THEN ns.server_since_ms ELSE 0 END + 10001),
	ns.generation, :reserved_for, :host, :pid, :version, 0
FROM {namespaces} AS ns
WHERE ns.namespace = :namespace AND ns.protocol <= 1 AND ns.generation = :generation
	AND ns.server_since_ms = :server_since_ms AND ns.reach_ms = :reach_ms
	AND ns.first_worker <= :worker AND ns.last_worker >= :worker
ON CONFLICT DO NOTHING`

// sqliteTakeOver takes a worker that is free, and returns its horizon: see postgresTakeOver.
const sqliteTakeOver = `UPDATE {leases} AS w SET
	epoch = w.epoch + 1,
	token = :token,
	expires_ms = MAX(CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + :ttl_ms,
		CASE WHEN ns.server_since_ms < 1000000000000000000 THEN ns.server_since_ms ELSE 0 END + 10001),
	reserved_for = :reserved_for,
	host = :host,
	pid = :pid,
	version = :version,
	revision = w.revision + 1
FROM {namespaces} AS ns
WHERE ns.namespace = :namespace AND ns.protocol <= 1 AND ns.generation = :generation
	AND ns.server_since_ms = :server_since_ms AND ns.reach_ms = :reach_ms
	AND ns.first_worker <= :worker AND ns.last_worker >= :worker
	AND w.namespace = ns.namespace AND w.worker = :worker AND w.generation = ns.generation
	AND w.epoch = :epoch AND w.reserved_for = ''
	AND w.expires_ms <= CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
RETURNING horizon`

// sqliteExtend raises the horizon of a lease for its owner, and returns the time: see postgresExtend.
const sqliteExtend = `UPDATE {leases} AS w SET
	horizon = MAX(w.horizon, :horizon),
	token = :next,
	expires_ms = MAX(CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + :ttl_ms,
		CASE WHEN ns.server_since_ms < 1000000000000000000 THEN ns.server_since_ms ELSE 0 END + 10001),
	revision = w.revision + 1
FROM {namespaces} AS ns
WHERE ns.namespace = :namespace AND ns.protocol <= 1 AND ns.revision >= :revision
	AND ns.reach_ms >= :reach_ms
	AND ns.first_worker <= w.worker AND ns.last_worker >= w.worker
	AND w.namespace = ns.namespace AND w.worker = :worker AND w.generation = ns.generation
	AND w.epoch = :epoch AND (w.token = :token OR w.token = :next)
	AND (ns.server_since_ms = 0 OR w.expires_ms - 10000 > ns.server_since_ms)
RETURNING CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)`

// sqliteExtendUnexpired is sqliteExtend for an owner that knows that the lease had not expired when a backup was
// restored: see postgresExtendUnexpired.
const sqliteExtendUnexpired = `UPDATE {leases} AS w SET
	horizon = MAX(w.horizon, :horizon),
	token = :next,
	expires_ms = MAX(CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + :ttl_ms,
		CASE WHEN ns.server_since_ms < 1000000000000000000 THEN ns.server_since_ms ELSE 0 END + 10001),
	revision = w.revision + 1
FROM {namespaces} AS ns
WHERE ns.namespace = :namespace AND ns.protocol <= 1 AND ns.server_since_ms = :server_since_ms
	AND ns.reach_ms >= :reach_ms
	AND ns.first_worker <= w.worker AND ns.last_worker >= w.worker
	AND w.namespace = ns.namespace AND w.worker = :worker AND w.generation = ns.generation
	AND w.epoch = :epoch AND (w.token = :token OR w.token = :next)
RETURNING CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)`

// sqliteWhyRefused reads what an extension depends on: see postgresWhyRefused. Two columns are constants: 0
// milliseconds until the reach rises, and 1, since a file is always the server of its namespace.
const sqliteWhyRefused = `SELECT ns.protocol, ns.server, ns.server_since_ms, ns.revision,
	ns.reach_ms, 0,
	CASE WHEN w.generation = ns.generation AND ns.first_worker <= w.worker AND ns.last_worker >= w.worker
		THEN 1 ELSE 0 END,
	1,
	CASE WHEN ns.server_since_ms = 0 OR w.expires_ms - 10000 > ns.server_since_ms THEN 1 ELSE 0 END
FROM {namespaces} AS ns
JOIN {leases} AS w ON w.namespace = ns.namespace
WHERE ns.namespace = :namespace AND w.worker = :worker AND w.epoch = :epoch AND (w.token = :token OR w.token = :next)`

// sqliteRelease makes a worker free at once: see postgresRelease.
const sqliteRelease = `UPDATE {leases} SET
	horizon = MIN(horizon, :horizon),
	expires_ms = MIN(expires_ms,
		CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)),
	reserved_for = '',
	revision = revision + 1
WHERE namespace = :namespace AND worker = :worker AND epoch = :epoch AND (token = :token OR token = :next)`

// sqliteRevoke takes a worker away from the owner of :epoch: see postgresRevoke.
const sqliteRevoke = `UPDATE {leases} SET
	epoch = epoch + 1,
	token = :token,
	expires_ms = MIN(expires_ms,
		CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)),
	revision = revision + 1
WHERE namespace = :namespace AND worker = :worker AND epoch = :epoch AND reserved_for = ''`

// sqliteSetShare sets the share if the namespace has none: see postgresSetShare.
const sqliteSetShare = `UPDATE {namespaces} AS ns SET
	first_worker = :first_worker,
	last_worker = :last_worker,
	revision = ns.revision + 1
WHERE ns.namespace = :namespace AND ns.protocol <= 1 AND ns.generation = :generation
	AND ns.first_worker = 0 AND ns.last_worker = 9223372036854775807`

// sqliteList reads the leases of a namespace, or of all if it is empty: see postgresList.
const sqliteList = `SELECT
	w.namespace, w.worker, w.epoch, w.horizon, w.expires_ms, w.reserved_for, w.host, w.pid, w.version,
	ns.layout, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
FROM {leases} AS w
LEFT JOIN {namespaces} AS ns ON ns.namespace = w.namespace
WHERE :namespace = '' OR w.namespace = :namespace`

// sqliteUsable reads every column and no row: see postgresUsable.
const sqliteUsable = `SELECT ns.namespace, ns.protocol, ns.layout, ns.generation, ns.start_tick, ns.first_worker,
	ns.last_worker, ns.has_leases, ns.server, ns.server_since_ms, ns.reach_ms, ns.reach_before_ms, ns.reach_since_ms,
	ns.revision, w.namespace, w.worker, w.epoch, w.token, w.horizon, w.expires_ms, w.generation, w.reserved_for, w.host,
	w.pid, w.version, w.revision
FROM {namespaces} AS ns CROSS JOIN {leases} AS w LIMIT 0`

// sqliteBeginMove locks the file as the first statement of a move: see postgresBeginMove.
const sqliteBeginMove = `UPDATE {namespaces} AS ns SET revision = ns.revision + 1
WHERE ns.namespace = :namespace AND ns.protocol <= 1 AND ns.generation = :generation AND ns.layout = :layout`

// sqliteEndOwners ends what owners can do: see postgresEndOwners.
const sqliteEndOwners = `UPDATE {leases} SET
	epoch = epoch + 1,
	token = '',
	revision = revision + 1
WHERE namespace = :namespace`

// sqliteReadMove reads the namespace and its leases: see postgresReadMove.
const sqliteReadMove = `SELECT ns.start_tick, ns.first_worker, ns.server_since_ms, ns.reach_ms,
	CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER),
	w.worker, w.epoch, w.horizon, w.expires_ms, w.reserved_for, w.host, w.pid, w.version
FROM {namespaces} AS ns
LEFT JOIN {leases} AS w ON w.namespace = ns.namespace
WHERE ns.namespace = :namespace`

// sqliteMoveLeases moves the leases whose owners have ended: see postgresMoveLeases.
const sqliteMoveLeases = `UPDATE {leases} SET
	horizon = :start_tick,
	generation = :generation + 1,
	revision = revision + 1
WHERE namespace = :namespace AND token = ''`

// sqliteMoveNamespace gives the namespace the layout :layout: see postgresMoveNamespace.
const sqliteMoveNamespace = `UPDATE {namespaces} SET
	layout = :layout,
	start_tick = :start_tick,
	generation = :generation + 1,
	revision = revision + 1
WHERE namespace = :namespace AND generation = :generation`
