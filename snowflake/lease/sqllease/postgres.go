package sqllease

// The statements for PostgreSQL. Names of parameters follow a colon; {namespaces} and {leases} are the tables, {server}
// is the identity of the server that executes the statement, "" if it has none. Operators get their schema when a
// statement is prepared: see package operator. Comments that are not here are at the columns, in schema.go.

const postgresCreateNamespaces = `CREATE TABLE IF NOT EXISTS {namespaces} (
	namespace pg_catalog.text NOT NULL,
	protocol bigint NOT NULL,
	layout pg_catalog.text NOT NULL,
	generation bigint NOT NULL,
	start_tick bigint NOT NULL,
	first_worker bigint NOT NULL,
	last_worker bigint NOT NULL,
	has_leases bigint NOT NULL,
	server pg_catalog.text NOT NULL,
	server_since_ms bigint NOT NULL,
	reach_ms bigint NOT NULL,
	reach_before_ms bigint NOT NULL,
	reach_since_ms bigint NOT NULL,
	revision bigint NOT NULL,
	PRIMARY KEY (namespace)
)`

const postgresCreateLeases = `CREATE TABLE IF NOT EXISTS {leases} (
	namespace pg_catalog.text NOT NULL,
	worker bigint NOT NULL,
	epoch bigint NOT NULL,
	token pg_catalog.text NOT NULL,
	horizon bigint NOT NULL,
	expires_ms bigint NOT NULL,
	generation bigint NOT NULL,
	reserved_for pg_catalog.text NOT NULL,
	host pg_catalog.text NOT NULL,
	pid bigint NOT NULL,
	version pg_catalog.text NOT NULL,
	revision bigint NOT NULL,
	PRIMARY KEY (namespace, worker)
)`

// postgresRead reads the namespace and, beside it in each row, one lease: the one that is held with the token, then the
// first free ones. Without any of them there is one row, whose columns of a lease are NULL.
const postgresRead = `SELECT
	ns.protocol, ns.layout, ns.generation, ns.start_tick, ns.first_worker, ns.last_worker, ns.has_leases,
	CASE WHEN EXISTS (SELECT 1 FROM {leases} AS one WHERE one.namespace = ns.namespace) THEN 1 ELSE 0 END,
	ns.server_since_ms, ns.reach_ms, ns.revision,
	CASE WHEN here.server = '' OR here.server = ns.server THEN 1 ELSE 0 END,
	here.now_ms,
	w.worker, w.epoch, w.token, w.horizon, w.expires_ms, w.reserved_for
FROM {namespaces} AS ns
CROSS JOIN (
	SELECT {server} AS server,
		CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint) AS now_ms
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

// postgresGap reads the lowest worker that was never taken, below the last one, which is for Reserve, and when the
// first lease ends. A worker that was never taken is the first one, or follows one that was taken.
const postgresGap = `SELECT
	(SELECT pg_catalog.min(candidate.worker) FROM (
		SELECT CAST(:first_worker AS bigint) AS worker
		UNION ALL
		SELECT (w.worker + 1) FROM {leases} AS w
		WHERE w.namespace = :namespace AND w.worker >= :first_worker AND w.worker < :last_worker
	) AS candidate
	WHERE NOT EXISTS (
		SELECT 1 FROM {leases} AS taken WHERE taken.namespace = :namespace AND taken.worker = candidate.worker
	)),
	(SELECT pg_catalog.min(w.expires_ms) FROM {leases} AS w
	WHERE w.namespace = :namespace AND w.generation = :generation
		AND w.worker >= :first_worker AND w.worker <= :last_worker AND w.reserved_for = '')`

// postgresAddNamespace adds a namespace that has no leases. With leases the table of the namespaces was lost.
const postgresAddNamespace = `INSERT INTO {namespaces} (
	namespace, protocol, layout, generation, start_tick, first_worker, last_worker, has_leases,
	server, server_since_ms, reach_ms, reach_before_ms, reach_since_ms, revision
)
SELECT :namespace, 1, :layout, 0, 0, 0, 9223372036854775807, 0, {server}, 0, :reach_ms, 0, 0, 0
WHERE NOT EXISTS (SELECT 1 FROM {leases} AS w WHERE w.namespace = :namespace)
ON CONFLICT DO NOTHING`

const postgresLeasesExist = `SELECT 1 FROM {leases} AS w WHERE w.namespace = :namespace LIMIT 1`

const postgresMarkLeases = `UPDATE {namespaces} SET has_leases = 1, revision = (revision + 1)
WHERE namespace = :namespace AND has_leases = 0`

// postgresRecordServer makes the server that executes it the one of the namespace, and raises the reach. A revision
// below the one that was seen is an old primary that was promoted again, or a backup.
//
// The time is the server's, or :horizon if that is ahead by more than the reach: the clocks before were ahead then. A
// server with no name before is no change. A reach counts for extensions an hour after it was raised: see
// postgresExtend.
const postgresRecordServer = `UPDATE {namespaces} AS ns SET
	server_since_ms = CASE
		WHEN (ns.server = '' OR here.server = '' OR here.server = ns.server) AND ns.revision >= :revision
			THEN ns.server_since_ms
		WHEN (CAST(:horizon_ms AS bigint) - ns.reach_ms) > here.now_ms
			THEN GREATEST(ns.server_since_ms, CAST(:horizon_ms AS bigint))
		ELSE GREATEST(ns.server_since_ms, here.now_ms)
	END,
	reach_before_ms = CASE
		WHEN ns.reach_ms < :reach_ms AND (ns.reach_since_ms + 3600000) <= here.now_ms THEN ns.reach_ms
		ELSE ns.reach_before_ms
	END,
	reach_since_ms = CASE WHEN ns.reach_ms < :reach_ms AND ns.reach_ms > 0 THEN here.now_ms ELSE ns.reach_since_ms END,
	reach_ms = GREATEST(ns.reach_ms, CAST(:reach_ms AS bigint)),
	server = CASE WHEN here.server = '' THEN ns.server ELSE here.server END,
	revision = (GREATEST(ns.revision, CAST(:revision AS bigint)) + 1)
FROM (
	SELECT {server} AS server,
		CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint) AS now_ms
) AS here
WHERE ns.namespace = :namespace AND ns.protocol <= 1
	AND (here.server <> '' AND here.server <> ns.server OR ns.reach_ms < :reach_ms OR ns.revision < :revision)`

// postgresAddLease takes a worker that has no row. The lock of the namespace's row keeps a share, a move and a later
// version from being stored meanwhile, which would not find the new row.
const postgresAddLease = `INSERT INTO {leases} (
	namespace, worker, epoch, token, horizon, expires_ms, generation, reserved_for, host, pid, version, revision
)
SELECT ns.namespace, :worker, 1, :token, ns.start_tick,
	GREATEST((here.now_ms + CAST(:ttl_ms AS bigint)),
		(CASE WHEN ns.server_since_ms < 1000000000000000000 THEN ns.server_since_ms ELSE 0 END + 10001)),
	ns.generation, :reserved_for, :host, :pid, :version, 0
FROM {namespaces} AS ns
CROSS JOIN (
	SELECT {server} AS server,
		CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint) AS now_ms
) AS here
WHERE ns.namespace = :namespace AND ns.protocol <= 1 AND ns.generation = :generation
	AND (here.server = '' OR here.server = ns.server) AND ns.server_since_ms = :server_since_ms AND ns.reach_ms = :reach_ms
	AND ns.first_worker <= :worker AND ns.last_worker >= :worker
FOR SHARE OF ns
ON CONFLICT DO NOTHING`

// postgresTakeOver takes a worker that is free and has the epoch that was read. The server, its time and the reach must
// be those that were read, since the floor is made of them. It returns the horizon, which the owner before may have
// raised.
const postgresTakeOver = `UPDATE {leases} AS w SET
	epoch = (w.epoch + 1),
	token = :token,
	expires_ms = GREATEST((here.now_ms + CAST(:ttl_ms AS bigint)),
		(CASE WHEN ns.server_since_ms < 1000000000000000000 THEN ns.server_since_ms ELSE 0 END + 10001)),
	reserved_for = :reserved_for,
	host = :host,
	pid = :pid,
	version = :version,
	revision = (w.revision + 1)
FROM {namespaces} AS ns
CROSS JOIN (
	SELECT {server} AS server,
		CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint) AS now_ms
) AS here
WHERE ns.namespace = :namespace AND ns.protocol <= 1 AND ns.generation = :generation
	AND (here.server = '' OR here.server = ns.server) AND ns.server_since_ms = :server_since_ms AND ns.reach_ms = :reach_ms
	AND ns.first_worker <= :worker AND ns.last_worker >= :worker
	AND w.namespace = ns.namespace AND w.worker = :worker AND w.generation = ns.generation
	AND w.epoch = :epoch AND w.reserved_for = '' AND w.expires_ms <= here.now_ms
RETURNING w.horizon`

// postgresExtend extends a lease of its owner. The row was certainly not taken over on another server: this one has
// confirmed it, or it had not expired when this one began to serve the namespace, by any of the two clocks. The reach
// is one that every replica knows. It returns the server's time.
//
// An UPDATE that has waited for the lease does not read the namespace again. So what must stop an extension changes the
// epoch or the generation in the lease, too.
const postgresExtend = `UPDATE {leases} AS w SET
	horizon = GREATEST(w.horizon, CAST(:horizon AS bigint)),
	token = :next,
	expires_ms = GREATEST(
		(CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint) + CAST(:ttl_ms AS bigint)),
		(CASE WHEN ns.server_since_ms < 1000000000000000000 THEN ns.server_since_ms ELSE 0 END + 10001)),
	revision = (w.revision + 1)
FROM {namespaces} AS ns
CROSS JOIN (
	SELECT {server} AS server,
		CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint) AS now_ms
) AS here
WHERE ns.namespace = :namespace AND ns.protocol <= 1 AND ns.revision >= :revision
	AND (here.server = '' OR here.server = ns.server)
	AND CASE WHEN here.server = '' OR (ns.reach_since_ms + 3600000) <= here.now_ms
		THEN ns.reach_ms ELSE ns.reach_before_ms END >= :reach_ms
	AND ns.first_worker <= w.worker AND ns.last_worker >= w.worker
	AND w.namespace = ns.namespace AND w.worker = :worker AND w.generation = ns.generation
	AND w.epoch = :epoch AND (w.token = :token OR w.token = :next)
	AND (ns.server_since_ms = 0 OR (w.expires_ms - 10000) > ns.server_since_ms)
RETURNING CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint)`

// postgresExtendUnexpired is postgresExtend for an owner that knows that its lease had not expired when the server
// began to serve the namespace, which is still the server, since the same time.
const postgresExtendUnexpired = `UPDATE {leases} AS w SET
	horizon = GREATEST(w.horizon, CAST(:horizon AS bigint)),
	token = :next,
	expires_ms = GREATEST(
		(CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint) + CAST(:ttl_ms AS bigint)),
		(CASE WHEN ns.server_since_ms < 1000000000000000000 THEN ns.server_since_ms ELSE 0 END + 10001)),
	revision = (w.revision + 1)
FROM {namespaces} AS ns
CROSS JOIN (
	SELECT {server} AS server,
		CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint) AS now_ms
) AS here
WHERE ns.namespace = :namespace AND ns.protocol <= 1 AND ns.server = :server AND ns.server_since_ms = :server_since_ms
	AND (here.server = '' OR here.server = ns.server)
	AND CASE WHEN here.server = '' OR (ns.reach_since_ms + 3600000) <= here.now_ms
		THEN ns.reach_ms ELSE ns.reach_before_ms END >= :reach_ms
	AND ns.first_worker <= w.worker AND ns.last_worker >= w.worker
	AND w.namespace = ns.namespace AND w.worker = :worker AND w.generation = ns.generation
	AND w.epoch = :epoch AND (w.token = :token OR w.token = :next)
RETURNING CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint)`

// postgresWhyRefused reads what an extension depends on. Without a row the lease has another owner.
const postgresWhyRefused = `SELECT ns.protocol, ns.server, ns.server_since_ms, ns.revision,
	CASE WHEN here.server = '' OR (ns.reach_since_ms + 3600000) <= here.now_ms
		THEN ns.reach_ms ELSE ns.reach_before_ms END,
	((ns.reach_since_ms + 3600000) - here.now_ms),
	CASE WHEN w.generation = ns.generation AND ns.first_worker <= w.worker AND ns.last_worker >= w.worker
		THEN 1 ELSE 0 END,
	CASE WHEN here.server = '' OR here.server = ns.server THEN 1 ELSE 0 END,
	CASE WHEN ns.server_since_ms = 0 OR (w.expires_ms - 10000) > ns.server_since_ms THEN 1 ELSE 0 END
FROM {namespaces} AS ns
CROSS JOIN (
	SELECT {server} AS server,
		CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint) AS now_ms
) AS here
JOIN {leases} AS w ON w.namespace = ns.namespace
WHERE ns.namespace = :namespace AND w.worker = :worker AND w.epoch = :epoch AND (w.token = :token OR w.token = :next)`

// postgresRelease gives a worker back. The token stays, so that it can be repeated.
const postgresRelease = `UPDATE {leases} SET
	horizon = LEAST(horizon, CAST(:horizon AS bigint)),
	expires_ms = LEAST(expires_ms,
		CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint)),
	reserved_for = '',
	revision = (revision + 1)
WHERE namespace = :namespace AND worker = :worker AND epoch = :epoch AND (token = :token OR token = :next)`

// postgresRevoke takes a worker away from its owner, as an owner does that issues nothing.
const postgresRevoke = `UPDATE {leases} SET
	epoch = (epoch + 1),
	token = :token,
	expires_ms = LEAST(expires_ms,
		CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint)),
	revision = (revision + 1)
WHERE namespace = :namespace AND worker = :worker AND epoch = :epoch AND reserved_for = ''`

// postgresSetShare sets a share, once.
const postgresSetShare = `UPDATE {namespaces} AS ns SET
	first_worker = :first_worker,
	last_worker = :last_worker,
	revision = (ns.revision + 1)
FROM (SELECT {server} AS server) AS here
WHERE ns.namespace = :namespace AND ns.protocol <= 1 AND ns.generation = :generation
	AND (here.server = '' OR here.server = ns.server)
	AND ns.first_worker = 0 AND ns.last_worker = 9223372036854775807`

// postgresList reads the leases of a namespace, or of all for "". The layout is NULL if the namespace was lost.
const postgresList = `SELECT
	w.namespace, w.worker, w.epoch, w.horizon, w.expires_ms, w.reserved_for, w.host, w.pid, w.version,
	ns.layout, CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint)
FROM {leases} AS w
LEFT JOIN {namespaces} AS ns ON ns.namespace = w.namespace
WHERE CAST(:namespace AS pg_catalog.text) = '' OR w.namespace = :namespace`

// postgresUsable reads every column and no row.
const postgresUsable = `SELECT ns.namespace, ns.protocol, ns.layout, ns.generation, ns.start_tick, ns.first_worker,
	ns.last_worker, ns.has_leases, ns.server, ns.server_since_ms, ns.reach_ms, ns.reach_before_ms, ns.reach_since_ms,
	ns.revision, w.namespace, w.worker, w.epoch, w.token, w.horizon, w.expires_ms, w.generation, w.reserved_for, w.host,
	w.pid, w.version, w.revision
FROM {namespaces} AS ns CROSS JOIN {leases} AS w LIMIT 0`

// postgresBeginMove locks the namespace: nothing is added to it, and nothing else moves it, before the transaction
// ends.
const postgresBeginMove = `UPDATE {namespaces} AS ns SET revision = (ns.revision + 1)
FROM (SELECT {server} AS server) AS here
WHERE ns.namespace = :namespace AND ns.protocol <= 1 AND ns.generation = :generation AND ns.layout = :layout
	AND (here.server = '' OR here.server = ns.server)`

// postgresEndOwners ends what owners can do: their extensions and releases find another epoch, also those that wait.
const postgresEndOwners = `WITH locked AS (
	SELECT w.namespace, w.worker FROM {leases} AS w WHERE w.namespace = :namespace ORDER BY w.worker FOR UPDATE
)
UPDATE {leases} AS w SET
	epoch = (w.epoch + 1),
	token = '',
	revision = (w.revision + 1)
FROM locked
WHERE w.namespace = locked.namespace AND w.worker = locked.worker`

// postgresReadMove reads the namespace and its leases. Without a lease the columns of one are NULL.
const postgresReadMove = `SELECT ns.start_tick, ns.first_worker, ns.server_since_ms, ns.reach_ms,
	CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint),
	w.worker, w.epoch, w.horizon, w.expires_ms, w.reserved_for, w.host, w.pid, w.version
FROM {namespaces} AS ns
LEFT JOIN {leases} AS w ON w.namespace = ns.namespace
WHERE ns.namespace = :namespace`

const postgresMoveLeases = `UPDATE {leases} SET
	horizon = :start_tick,
	generation = (CAST(:generation AS bigint) + 1),
	revision = (revision + 1)
WHERE namespace = :namespace AND token = ''`

const postgresMoveNamespace = `UPDATE {namespaces} SET
	layout = :layout,
	start_tick = :start_tick,
	generation = (CAST(:generation AS bigint) + 1),
	revision = (revision + 1)
WHERE namespace = :namespace AND generation = :generation`
