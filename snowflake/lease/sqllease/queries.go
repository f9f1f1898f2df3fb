package sqllease

import (
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/internal/sqltable"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// maxCandidates is how many free workers one look returns. So many that ask at the same time find a row each in the
// second round.
const maxCandidates = 1 << maxDoublings

// queries are the statements of a store in its dialect. Each is atomic by itself, and no lock outlives its statement.
// They need no transaction, session or isolation level, so they may go through a pooler, and the database may be one
// that restarts transactions.
type queries struct {
	look, gap              string
	addNamespace, meet     string
	addWorker              string
	takeover, extend       string
	assess, assured        string // after a failover
	tell, tellFirst        string // of a share
	forgets                bool   // the server can lack the commits of the one before
	release, revoke        string
	listAll, listNamespace string
	place                  sqltable.Place // of the table
	warning                error          // for Grant.Warning
}

// The conditions that the protocol needs: only the owner extends and releases, and only a row that is free and still
// has the epoch that was seen is taken. For both, the row of the namespace, ns, must have the identity of the very
// server that executes the statement: see meet. For a takeover that row must also have the two values that were seen,
// since the floor is their sum. A count of changes would not do: two servers can have the same.
//
// An extension needs a row that certainly is the owner's. Either this server has confirmed it since it began to serve the
// namespace, which {expiry} shows, or the row had not expired at that time, whatever the clocks of two servers showed.
// Otherwise the owner must know that, and the row of the namespace must be unchanged since assess has read it.
//
// A later version that needs to keep this one out raises protocol in all rows of the namespace. That of the worker's row
// must count, too: while an UPDATE waits for its lock, PostgreSQL does not read ns again. That of ns counts for new rows. It raises them
// once more after the commit, since an extension of a row that the first UPDATE did not find may have begun before.
//
// This version marks a namespace with protocol 2 to keep those out that know 1, before it has a share. A row can't be
// extended while its protocol is below that of ns. So a row that was added, by a
// statement that began before such a change, is of no use, and no second UPDATE is needed. New leases need the settings
// that were seen. Should the row of the namespace have changed meanwhile, those of the workers are marked all the same; the
// next attempt marks it. Owners that know 1 stall, without a VersionError until then.
//
// Operators are in braces: see package operator.
const (
	ifOwned = "namespace {=} ? AND {w}worker {=} ? AND {w}worker {>=} 0 AND {w}epoch {=} ? " +
		"AND ({w}token {=} ? OR {w}token {=} ?)"
	ifFree    = "namespace {=} ? AND {w}worker {=} ? AND {w}epoch {=} ? AND {w}expires_ms {<=} {now}"
	ifSeen    = "{same server} AND ns.expires_ms {=} ? AND ns.horizon {=} ? AND ns.version {=} ? AND ns.layout {=} ?"
	ifKnown   = "{same server} AND {in force} AND {allowed} {>=} ? AND ns.revision {>=} ? AND {known}"
	ifAssured = "{same server} AND {in force} AND {allowed} {>=} ? AND ns.host {=} ? AND ns.expires_ms {=} ?"

	inForce = "w.protocol {>=} ns.protocol"

	known  = "(ns.expires_ms {=} 0 OR (w.expires_ms {-} {skew}) {>} ns.expires_ms)"
	expiry = "{greatest}({now} {+} ?, " +
		"(CASE WHEN ns.expires_ms {<} 1000000000000000000 THEN ns.expires_ms ELSE 0 END {+} {skew}) {+} 1)"

	// The reach that extensions may have. Servers without an identity forget nothing.
	allowed = "(CASE WHEN {server} {=} '' OR (ns.pid {+} {settles}) {<=} {now} THEN ns.horizon ELSE ns.epoch END)"

	// A server without an identity is every server.
	sameServer = "(ns.host {=} {server or})"
)

// settles is how long a greater reach is in the row of its namespace before extensions may have it. A replica that is
// promoted must not lack older commits.
const settles = time.Hour

// newQueries returns the statements for servers whose identity is the given expression.
func newQueries(d dialect, table, identity string) queries {
	words := vocabulary[d]
	conditions := strings.NewReplacer("{same server}", sameServer, "{known}", known,
		"{expiry}", expiry, "{allowed}", allowed, "{in force}", inForce)
	fill := strings.NewReplacer("{now}", words.now, "{bigint}", words.bigint, "{insert}", words.before,
		"{if absent}", words.after, "{columns}", columnNames, "{greatest}", words.greatest, "{pg}", words.schema,
		"{server}", "COALESCE("+identity+", '')", "{server or}", "COALESCE("+identity+", ns.host)",
		"{skew}", strconv.FormatInt(lease.DefaultMaxSkew.Milliseconds(), 10),
		"{settles}", strconv.FormatInt(settles.Milliseconds(), 10))
	text := func(query string) string {
		text := d.rebind(strings.TrimSpace(words.operators.Replace(fill.Replace(conditions.Replace(query)))))
		return strings.ReplaceAll(text, "{table}", table) // last: the name of a schema may have a ? in it
	}
	// update returns an UPDATE of a worker's row, w, that also has a condition on the row of its namespace.
	update := func(set, where, namespace string) string {
		const join = "ns.namespace {=} w.namespace AND ns.worker {=} -1"
		where = " WHERE w." + strings.ReplaceAll(where, "{w}", "w.") +
			" AND w.protocol {<=} 2 AND ns.protocol {<=} 2 AND " + namespace
		if d == mysql {
			return "UPDATE {table} AS w JOIN {table} AS ns ON " + join + " SET " + strings.ReplaceAll(set, "{w}", "w.") + where
		}
		return "UPDATE {table} AS w SET " + strings.ReplaceAll(set, "{w}", "") + " FROM {table} AS ns" + where + " AND " + join
	}
	q := queries{
		// The time is in a subquery so that it is the same for all rows and conditions. The result begins with the row
		// of the namespace and the row of the token, if that is held; then come the free rows in the order of Acquire,
		// those with a horizon above the tick by their horizons.
		look: text(`SELECT worker, epoch, horizon, expires_ms, layout, protocol, revision,
	CASE WHEN server {=} '' OR server {=} host THEN 1 ELSE 0 END, now_ms, version
FROM {table} CROSS JOIN (SELECT {now} AS now_ms, {server} AS server) here
WHERE namespace {=} ? AND (worker {=} -1 OR (token {=} ? AND expires_ms {>} now_ms)
	OR (worker {>=} ? AND worker {<=} ? AND expires_ms {<=} now_ms))
ORDER BY CASE WHEN worker {=} -1 THEN 0 WHEN expires_ms {>} now_ms THEN 1 ELSE 2 END,
	CASE WHEN horizon {>} ? THEN horizon ELSE ? END, expires_ms, worker
LIMIT ?`),
		// A number that was never taken is the first or follows one that was.
		gap: text(`SELECT (SELECT {pg}MIN(candidate) FROM (SELECT CAST(? AS {bigint}) AS candidate
		UNION ALL SELECT worker {+} 1 FROM {table} WHERE namespace {=} ? AND worker {>=} ? AND worker {<=} ?) candidates
	WHERE NOT EXISTS (SELECT 1 FROM {table} taken
		WHERE taken.namespace {=} ? AND taken.worker {=} candidates.candidate)),
	(SELECT {pg}MIN(expires_ms) FROM {table} WHERE namespace {=} ? AND worker {>=} ? AND worker {<=} ?), {now}`),
		addNamespace: text(`{insert} {table} ({columns})
SELECT ?, -1, 0, '', ?, 0, 0, ?, server, 0, '' FROM (SELECT {server} AS server) here
WHERE server {<>} ` + unreplicated + ` {if absent}`),
		// The order of the assignments counts: MySQL uses the new values in those that follow. Without a reach nobody has
		// leased in the namespace, and the first one settles at once.
		meet: text(`UPDATE {table} AS ns SET
	expires_ms = CASE WHEN (ns.host {=} '' OR {same server}) AND ns.revision {>=} ? THEN ns.expires_ms
		ELSE {greatest}(ns.expires_ms, CASE WHEN (? {-} ns.horizon) {>} {now} THEN ? ELSE {now} END) END,
	epoch = CASE WHEN ns.horizon {<} ? AND (ns.pid {+} {settles}) {<=} {now} THEN ns.horizon ELSE ns.epoch END,
	pid = CASE WHEN ns.horizon {<} ? AND ns.horizon {>} 0 THEN {now} ELSE ns.pid END,
	horizon = CASE WHEN ns.horizon {<} ? THEN ? ELSE ns.horizon END,
	host = {server or}, revision = {greatest}(ns.revision, ?) {+} 1
WHERE ns.namespace {=} ? AND ns.worker {=} -1 AND ns.protocol {<=} 2
	AND (NOT {same server} OR ns.horizon {<} ? OR ns.revision {<} ?)
	AND {server} {<>} ` + unreplicated),
		addWorker: text(`{insert} {table} ({columns}, protocol)
SELECT namespace, ?, 1, ?, ?, {expiry}, 0, layout, ?, ?, ?, protocol FROM {table} AS ns
WHERE ns.namespace {=} ? AND ns.worker {=} -1 AND ns.protocol {<=} 2 AND ` + ifSeen + ` {if absent}`),
		tell: text(`UPDATE {table} AS ns SET version = ?, revision = ns.revision {+} 1
WHERE ns.namespace {=} ? AND ns.worker {=} -1 AND ns.protocol {=} 2 AND {now} {<} ? AND ` + ifSeen),
		tellFirst: text(`UPDATE {table} AS ns SET protocol = 2,
	version = CASE WHEN ns.worker {=} -1 THEN ? ELSE ns.version END,
	revision = ns.revision {+} 1
WHERE ns.namespace {=} ? AND ns.protocol {<} 2 AND (ns.worker {>=} 0 OR {now} {<} ? AND ` + ifSeen + `)`),
		release: text(`UPDATE {table} SET horizon = CASE WHEN horizon {>} ? THEN ? ELSE horizon END,
	expires_ms = CASE WHEN expires_ms {>} {now} THEN {now} ELSE expires_ms END, revision = revision {+} 1
WHERE ` + strings.ReplaceAll(ifOwned, "{w}", "")),
		// Not if it expires in a century, as a reserved one does. The token of a worker that is reserved for functions, and
		// that of a namespace, has another length.
		revoke: text(`UPDATE {table} SET epoch = epoch {+} 1, token = ?,
	expires_ms = CASE WHEN expires_ms {>} {now} THEN {now} ELSE expires_ms END, revision = revision {+} 1
WHERE namespace {=} ? AND worker {=} ? AND epoch {=} ? AND {pg}LENGTH(token) {=} 32
	AND (expires_ms {-} {now}) {<} 3153600000000`),
		listAll:       text(`SELECT {columns}, {now} FROM {table}`),
		listNamespace: text(`SELECT {columns}, {now} FROM {table} WHERE namespace {=} ?`),
	}
	const (
		own = "{w}epoch = w.epoch {+} 1, {w}token = ?, {w}expires_ms = {expiry}, {w}revision = w.revision {+} 1, " +
			"{w}host = ?, {w}pid = ?, {w}version = ?, {w}layout = ns.layout, " +
			"{w}protocol = {greatest}(w.protocol, ns.protocol), {w}horizon = "
		from  = "w.horizon"
		raise = "{w}horizon = CASE WHEN w.horizon {<} ? THEN ? ELSE w.horizon END, {w}token = ?, " +
			"{w}revision = w.revision {+} 1, {w}expires_ms = "
	)
	q.assess = text(`SELECT ns.protocol, ns.host, ns.expires_ms, ns.revision, {allowed}, (ns.pid {+} {settles}) {-} {now},
	CASE WHEN {in force} THEN 1 ELSE 0 END, CASE WHEN {same server} THEN 1 ELSE 0 END, CASE WHEN {known} THEN 1 ELSE 0 END
FROM {table} AS ns JOIN {table} AS w ON w.namespace {=} ns.namespace
WHERE ns.worker {=} -1 AND w.` + strings.ReplaceAll(ifOwned, "{w}", "w."))
	if d == mysql {
		// MySQL has no RETURNING here. LAST_INSERT_ID(x) is x, and also the insert ID in the reply to the statement:
		// https://dev.mysql.com/doc/refman/8.4/en/information-functions.html#function_last-insert-id
		q.takeover = text(update(own+"LAST_INSERT_ID("+from+")", ifFree, ifSeen))
		answer := raise + strings.Replace(expiry, "{now}", "LAST_INSERT_ID({now})", 1)
		q.extend, q.assured = text(update(answer, ifOwned, ifKnown)), text(update(answer, ifOwned, ifAssured))
		return q
	}
	horizon := "w.horizon"
	if d == sqlite { // which has no aliases there
		horizon = "horizon"
	}
	q.takeover = text(update(own+from, ifFree, ifSeen) + " RETURNING " + horizon)
	q.extend = text(update(raise+"{expiry}", ifOwned, ifKnown) + " RETURNING {now}")
	q.assured = text(update(raise+"{expiry}", ifOwned, ifAssured) + " RETURNING {now}")
	return q
}
