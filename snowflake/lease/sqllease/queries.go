package sqllease

import "strings"

// maxCandidates is how many free workers one look returns. So many that ask at the same time find a row each in the
// second round.
const maxCandidates = 1 << maxDoublings

// queries are the statements of a store in its dialect. Each is atomic by itself, and no lock outlives its statement.
// They need no transaction, session or isolation level, so they may go through a pooler, and the database may be one
// that restarts transactions.
type queries struct {
	look, gap                 string
	addNamespace, addWorker   string
	takeover, extend, release string
	listAll, listNamespace    string
	lastInsertID              bool // takeover and extend answer with LAST_INSERT_ID, else with a row
}

// The conditions that the protocol needs: only the owner extends and releases, and only a row that is free and still
// has the epoch that was seen is taken.
const (
	ifOwned = " WHERE namespace = ? AND worker = ? AND epoch = ? AND token = ?"
	ifFree  = " WHERE namespace = ? AND worker = ? AND epoch = ? AND expires_ms <= {now}"
)

func newQueries(d Dialect, table string) queries {
	before, after := d.insert()
	fill := strings.NewReplacer("{table}", table, "{now}", d.now(), "{bigint}", d.bigint(), "{insert}", before,
		"{if absent}", after, "{columns}", columnNames)
	text := func(query string) string { return d.rebind(strings.TrimSpace(fill.Replace(query))) }
	q := queries{
		// The time is in a subquery so that it is the same for all rows and conditions. The result begins with the row
		// of the namespace and the row of the token, if that is held; then come the free rows in the order of Acquire,
		// those with a horizon above the tick by their horizons.
		look: text(`SELECT worker, epoch, horizon, expires_ms, layout, now_ms
FROM {table} CROSS JOIN (SELECT {now} AS now_ms) clock
WHERE namespace = ? AND (worker = -1 OR (token = ? AND expires_ms > now_ms)
	OR (worker BETWEEN ? AND ? AND expires_ms <= now_ms))
ORDER BY CASE WHEN worker = -1 THEN 0 WHEN expires_ms > now_ms THEN 1 ELSE 2 END,
	CASE WHEN horizon > ? THEN horizon ELSE ? END, expires_ms, worker
LIMIT ?`),
		// A number that was never taken is the first or follows one that was.
		gap: text(`SELECT (SELECT MIN(candidate) FROM (SELECT CAST(? AS {bigint}) AS candidate
		UNION ALL SELECT worker + 1 FROM {table} WHERE namespace = ? AND worker BETWEEN ? AND ?) candidates
	WHERE NOT EXISTS (SELECT 1 FROM {table} taken WHERE taken.namespace = ? AND taken.worker = candidates.candidate)),
	(SELECT MIN(expires_ms) FROM {table} WHERE namespace = ? AND worker BETWEEN ? AND ?), {now}`),
		addNamespace: text(`{insert} {table} ({columns}) VALUES (?, -1, 0, '', 0, 0, 0, ?, '', 0, '') {if absent}`),
		addWorker:    text(`{insert} {table} ({columns}) VALUES (?, ?, 1, ?, 0, {now} + ?, 0, ?, ?, ?, ?) {if absent}`),
		release: text(`UPDATE {table} SET horizon = CASE WHEN horizon > ? THEN ? ELSE horizon END,
	expires_ms = CASE WHEN expires_ms > {now} THEN {now} ELSE expires_ms END, revision = revision + 1` + ifOwned),
		listAll:       text(`SELECT {columns}, {now} FROM {table} WHERE worker >= 0`),
		listNamespace: text(`SELECT {columns}, {now} FROM {table} WHERE worker >= 0 AND namespace = ?`),
	}
	const (
		own   = "UPDATE {table} SET epoch = epoch + 1, token = ?, expires_ms = {now} + ?, revision = revision + 1, host = ?, pid = ?, version = ?"
		raise = "UPDATE {table} SET horizon = CASE WHEN horizon < ? THEN ? ELSE horizon END, revision = revision + 1, expires_ms = "
	)
	if d == MySQL {
		// MySQL has no RETURNING here. LAST_INSERT_ID(x) is x, and also the insert ID in the reply to the statement:
		// https://dev.mysql.com/doc/refman/8.4/en/information-functions.html#function_last-insert-id
		q.lastInsertID = true
		q.takeover = text(own + ", horizon = LAST_INSERT_ID(horizon)" + ifFree)
		q.extend = text(raise + "LAST_INSERT_ID({now}) + ?" + ifOwned)
		return q
	}
	q.takeover = text(own + ifFree + " RETURNING horizon")
	q.extend = text(raise + "{now} + ?" + ifOwned + " RETURNING {now}")
	return q
}
