package sqllease

// The statements for PostgreSQL. mysql.go and sqlite.go have the same ones in the same order, with comments on what
// differs. schema.go has the columns.
//
// {namespaces} and {leases} are the tables. {server} is the identity of the server that executes the statement, '' for
// a server without one: see server.go. Operators get their schema when a statement is prepared: see package operator,
// which is why two of them need parentheses. ns is a row of the namespaces, w one of the leases, and here has the
// identity of the server and its time, in milliseconds since 1970. 1 and 0 are true and false.
//
// Parameters follow a colon. Those with the name of a column have its unit, and:
//
//	:token          of the owner; 32 hexadecimal digits
//	:next           the token that an extension puts in its place
//	:horizon        a tick of the layout
//	:horizon_ms     the greatest horizon of a lease that is held, in milliseconds since 1970; 0: none
//	:tick           of the caller's clock
//	:ttl_ms         from now to the end of the lease, in milliseconds
//	:reach_ms       how far the caller's horizons are ahead of a right clock at most, in milliseconds
//	:first_worker   the workers that the caller wants, or the share that is set, both inclusive
//	:last_worker
//	:generation     and :epoch, :revision, :server_since_ms: as they were read before
//	:limit          how many rows are wanted
//
// Several statements share these conditions and numbers:
//
//   - protocol <= 1: a namespace with a later protocol has rules that this code does not know.
//   - here.server = '' OR here.server = ns.server: the server is the one that served the namespace last. Another one
//     may lack commits: recordServer comes first. Statements without it give no worker to anyone.
//   - ns.revision >= :revision: the server is not behind what this process has seen.
//   - 10000 is [lease.DefaultMaxSkew] in milliseconds, by which the clocks of two servers may differ. A lease that ends
//     more than that after the server took over had not expired then, by either clock. So each lease that this server
//     grants or extends ends 10001 ms after it took over, or later, and later statements know it as confirmed.
//   - 3600000 is an hour in milliseconds, within which a greater reach arrives at all replicas. A server without an
//     identity has no lagging replicas.
//   - 1000000000000000000 keeps the sum in a bigint if someone has set server_since_ms to the end of the integers.

// postgresCreateNamespaces creates the table of namespaces: a row each. Types have their schema, since a stranger could
// have a type text that comes first in the search_path.
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

// postgresCreateLeases creates the table of leases: a row for each worker that was ever taken.
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

// postgresRead reads the namespace and, in each row, one lease. First comes the lease that is held with :token, by any
// worker. Then come free workers from :first_worker to :last_worker: those whose horizon :tick has passed, the one that
// has been free for the longest time first, and then the others, the lowest horizon first. Without any there is one
// row, whose columns of a lease are NULL. EXISTS makes the 1 of a namespace that has no leases.
//
// A lease of another generation, or of a worker outside of the share, is not there for anybody: its horizon is in ticks
// of another layout, or the worker is lent by another database.
const postgresRead = `SELECT
	ns.protocol, ns.layout, ns.generation, ns.start_tick, ns.first_worker, ns.last_worker, ns.has_leases,
	CASE WHEN EXISTS (SELECT 1 FROM {leases} AS one WHERE one.namespace = ns.namespace) THEN 0 ELSE 1 END,
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

// postgresGap reads the lowest worker from :first_worker to :last_worker that was never taken, and when the first lease
// ends. A worker that was never taken is :first_worker, or follows one that was taken; w.worker < :last_worker, since
// the one that follows must be in the range, too. Leases of another generation never become free.
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

// postgresAddNamespace adds a namespace with :layout, :reach_ms and no share: workers 0 to 2^63-1. If it has leases,
// the table of the namespaces was lost, and nothing is added.
const postgresAddNamespace = `INSERT INTO {namespaces} (
	namespace, protocol, layout, generation, start_tick, first_worker, last_worker, has_leases,
	server, server_since_ms, reach_ms, reach_before_ms, reach_since_ms, revision
)
SELECT :namespace, 1, :layout, 0, 0, 0, 9223372036854775807, 0, {server}, 0, :reach_ms, 0, 0, 0
WHERE NOT EXISTS (SELECT 1 FROM {leases} AS w WHERE w.namespace = :namespace)
ON CONFLICT DO NOTHING`

// postgresMarkLeases stores that the namespace has had a lease. If it has none later, their table was lost.
const postgresMarkLeases = `UPDATE {namespaces} SET has_leases = 1, revision = (revision + 1)
WHERE namespace = :namespace AND has_leases = 0`

// postgresRecordServer makes the server that executes it the one of the namespace, and raises the reach to :reach_ms.
//
// server_since_ms stays if the server is the same, or the namespace had none yet. :revision is the greatest one of the
// row that this process has seen: a lower one comes from an old primary that was promoted again, or from a backup, so
// it counts as another server. Otherwise it is the time by the server, or :horizon_ms if that is ahead by more than the
// reach: then clocks were ahead before. It is never lowered.
//
// reach_before_ms is what extensions may have until every replica knows the new reach, for an hour: see
// postgresExtend. If the hour of the reach before has not passed, the one before that stays. A reach of 0 is one of a
// namespace without an owner so far, such as one that package sqlfunc has added. Its first reach needs no hour, like
// the reach with which postgresAddNamespace adds one: what a replica may lack then is the first use, see README.md.
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

// postgresAddLease takes a worker that has no row, from the start of the layout on. The server, its time and the reach
// must be those that were read, since the floor of the owner is made of them.
//
// FOR SHARE keeps a share, a move and a later protocol from being stored meanwhile, which would not find the new row.
// Servers of a cluster that takes writes on each node do not have the lock of another one: see postgresExtend.
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
	AND (here.server = '' OR here.server = ns.server)
	AND ns.server_since_ms = :server_since_ms AND ns.reach_ms = :reach_ms
	AND ns.first_worker <= :worker AND ns.last_worker >= :worker
FOR SHARE OF ns
ON CONFLICT DO NOTHING`

// postgresTakeOver takes a worker that is free, if it still has the :epoch that was read. The server, its time and the
// reach must be those that were read, as in postgresAddLease. It returns the horizon, which the owner before may have
// raised after the read; with another epoch it no longer can.
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
	AND (here.server = '' OR here.server = ns.server)
	AND ns.server_since_ms = :server_since_ms AND ns.reach_ms = :reach_ms
	AND ns.first_worker <= :worker AND ns.last_worker >= :worker
	AND w.namespace = ns.namespace AND w.worker = :worker AND w.generation = ns.generation
	AND w.epoch = :epoch AND w.reserved_for = '' AND w.expires_ms <= here.now_ms
RETURNING w.horizon`

// postgresExtend raises the horizon of a lease for its owner, puts :next in the place of :token, and returns the time
// by the server. The token may be :next already: the reply to the same extension was lost.
//
//   - ns.revision >= :revision: this server is not an older one than this process has seen. See postgresRecordServer.
//   - CASE: every replica that may be promoted knows a reach of :reach_ms, so it makes new owners wait for long enough.
//   - first_worker and last_worker, generation: see postgresRead. On a cluster that takes writes on each node, a node
//     that has not applied a share or a move may add a lease, whose row comes after them on each node: it is never
//     extended.
//   - The last one: the lease was certainly not taken over on a server before this one. This server has confirmed it,
//     or it had not expired when this one took over, by either clock.
//
// An UPDATE that has waited for the lease does not read the namespace again. So what must stop an extension changes the
// epoch or the generation in the lease, too. It does read the clock again, since it would shorten what a later
// extension has confirmed.
const postgresExtend = `UPDATE {leases} AS w SET
	horizon = GREATEST(w.horizon, CAST(:horizon AS bigint)),
	token = :next,
	expires_ms = GREATEST(
		(CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint)
			+ CAST(:ttl_ms AS bigint)),
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

// postgresExtendUnexpired is postgresExtend without its last condition, for an owner that knows by its own clocks that
// the lease had not expired when this server took over. The server and the time of the takeover must be those for which
// the owner has decided that. So the revision is a known one.
const postgresExtendUnexpired = `UPDATE {leases} AS w SET
	horizon = GREATEST(w.horizon, CAST(:horizon AS bigint)),
	token = :next,
	expires_ms = GREATEST(
		(CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint)
			+ CAST(:ttl_ms AS bigint)),
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

// postgresWhyRefused reads what an extension depends on: the protocol, the server of the namespace, its time and the
// revision; the reach that an extension may have, and in how many milliseconds it rises; and, as 1 or 0, whether the
// namespace has the generation of the lease and the worker in its share, whether its server is the one that answers,
// and whether the lease is certainly the owner's. Without a row the lease has another owner.
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

// postgresRelease makes a worker free at once, from :horizon on if that is below its horizon. The token stays, so that
// a release whose reply was lost can be repeated. An extension may have put :next in the place of :token.
//
// This also frees a reserved worker: Reserve gives back one that turns out to be used, and no lease takes a row with a
// purpose.
//
// No condition is about the server, the protocol or the generation, here and in postgresRevoke. On a primary that was
// replaced it changes a row that no process can take there, since postgresTakeOver checks all three. On the new primary
// the worker then stays held, at most until the lease ends. On a new primary that lacks a later owner the horizon may
// be lowered below that owner's, as it may be there anyway: the floor is above both. A move has changed the epoch.
const postgresRelease = `UPDATE {leases} SET
	horizon = LEAST(horizon, CAST(:horizon AS bigint)),
	expires_ms = LEAST(expires_ms,
		CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint)),
	reserved_for = '',
	revision = (revision + 1)
WHERE namespace = :namespace AND worker = :worker AND epoch = :epoch AND (token = :token OR token = :next)`

// postgresRevoke takes a worker away from the owner of :epoch, as if an owner with :token took it that issues nothing.
// A worker that is reserved has no lease to lose.
const postgresRevoke = `UPDATE {leases} SET
	epoch = (epoch + 1),
	token = :token,
	expires_ms = LEAST(expires_ms,
		CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint)),
	revision = (revision + 1)
WHERE namespace = :namespace AND worker = :worker AND epoch = :epoch AND reserved_for = ''`

// postgresSetShare sets the share to :first_worker to :last_worker if the namespace has none, which is 0 to 2^63-1.
const postgresSetShare = `UPDATE {namespaces} AS ns SET
	first_worker = :first_worker,
	last_worker = :last_worker,
	revision = (ns.revision + 1)
FROM (SELECT {server} AS server) AS here
WHERE ns.namespace = :namespace AND ns.protocol <= 1 AND ns.generation = :generation
	AND (here.server = '' OR here.server = ns.server)
	AND ns.first_worker = 0 AND ns.last_worker = 9223372036854775807`

// postgresList reads the leases of a namespace, or of all if it is empty, and the server's time. The layout is NULL if
// the namespace was lost.
const postgresList = `SELECT
	w.namespace, w.worker, w.epoch, w.horizon, w.expires_ms, w.reserved_for, w.host, w.pid, w.version,
	ns.layout, CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint)
FROM {leases} AS w
LEFT JOIN {namespaces} AS ns ON ns.namespace = w.namespace
WHERE CAST(:namespace AS pg_catalog.text) = '' OR w.namespace = :namespace`

// postgresUsable reads every column and no row: it fails if a table or a column is missing. Migrate reads it before it
// creates a table.
const postgresUsable = `SELECT ns.namespace, ns.protocol, ns.layout, ns.generation, ns.start_tick, ns.first_worker,
	ns.last_worker, ns.has_leases, ns.server, ns.server_since_ms, ns.reach_ms, ns.reach_before_ms, ns.reach_since_ms,
	ns.revision, w.namespace, w.worker, w.epoch, w.token, w.horizon, w.expires_ms, w.generation, w.reserved_for, w.host,
	w.pid, w.version, w.revision
FROM {namespaces} AS ns CROSS JOIN {leases} AS w LIMIT 0`

// postgresBeginMove is the first statement of a move. It locks the namespace if it still has :generation and :layout:
// nothing is added to it, and nothing else moves it, before the transaction ends.
const postgresBeginMove = `UPDATE {namespaces} AS ns SET revision = (ns.revision + 1)
FROM (SELECT {server} AS server) AS here
WHERE ns.namespace = :namespace AND ns.protocol <= 1 AND ns.generation = :generation AND ns.layout = :layout
	AND (here.server = '' OR here.server = ns.server)`

// postgresEndOwners ends what owners can do: their extensions and releases find another epoch and no token, also those
// that wait for the row. It locks the rows in the order of the workers, so that two moves can't wait for each other.
const postgresEndOwners = `WITH locked AS (
	SELECT w.namespace, w.worker FROM {leases} AS w WHERE w.namespace = :namespace ORDER BY w.worker FOR UPDATE
)
UPDATE {leases} AS w SET
	epoch = (w.epoch + 1),
	token = '',
	revision = (w.revision + 1)
FROM locked
WHERE w.namespace = locked.namespace AND w.worker = locked.worker`

// postgresReadMove reads the namespace and its leases, after their owners have ended. Without a lease the columns of
// one are NULL.
const postgresReadMove = `SELECT ns.start_tick, ns.first_worker, ns.server_since_ms, ns.reach_ms,
	CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint),
	w.worker, w.epoch, w.horizon, w.expires_ms, w.reserved_for, w.host, w.pid, w.version
FROM {namespaces} AS ns
LEFT JOIN {leases} AS w ON w.namespace = ns.namespace
WHERE ns.namespace = :namespace`

// postgresMoveLeases moves the leases to the layout that starts at :start_tick. After postgresEndOwners no lease has a
// token. A row with one was added later, by another node of a cluster: it keeps its generation, which ends its owner.
const postgresMoveLeases = `UPDATE {leases} SET
	horizon = :start_tick,
	generation = (CAST(:generation AS bigint) + 1),
	revision = (revision + 1)
WHERE namespace = :namespace AND token = ''`

// postgresMoveNamespace gives the namespace the layout :layout, from :start_tick on, in ticks of that layout.
const postgresMoveNamespace = `UPDATE {namespaces} SET
	layout = :layout,
	start_tick = :start_tick,
	generation = (CAST(:generation AS bigint) + 1),
	revision = (revision + 1)
WHERE namespace = :namespace AND generation = :generation`
