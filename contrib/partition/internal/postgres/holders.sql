SELECT concat_ws(' ', coalesce('process ' || l.pid, 'a prepared transaction'), a.usename,
	a.application_name, a.state, 'for ' || date_trunc('second', clock_timestamp() - a.xact_start),
	CASE WHEN pg_backend_pid() = ANY (pg_blocking_pids(l.pid)) THEN '(waits for this call)' END)
FROM pg_locks AS l
LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
WHERE l.relation = $1::text::regclass
	AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
	AND l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
	AND ($2 = 'ACCESS EXCLUSIVE'
		OR l.mode NOT IN ('AccessShareLock', 'RowShareLock')
			AND ($2 = 'SHARE ROW EXCLUSIVE' OR l.mode <> 'RowExclusiveLock'))
ORDER BY a.xact_start LIMIT 5
