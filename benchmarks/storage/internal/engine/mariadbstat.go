package engine

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Trees counts the pages in use. InnoDB also reserves extents of 1 MiB, up to four ahead, which would hide the
// differences between keys in all but large tables.
func (e *mariadb) Trees(ctx context.Context, table string) ([]Tree, error) {
	if err := e.analyze(ctx, table); err != nil {
		return nil, err
	}
	indexes, err := e.indexes(ctx, table)
	if denied(err) {
		return e.wholeTrees(ctx, table)
	}
	if err != nil {
		return nil, err
	}
	pooled, err := e.pooled(ctx, table)
	if err == nil && len(indexes) == 0 {
		err = fmt.Errorf("no table %s", table)
	}
	if err != nil {
		return nil, err
	}
	trees := make([]Tree, len(indexes))
	for i, x := range indexes {
		trees[i] = Tree{Name: x.name, Role: Secondary, Density: -1, Fragmentation: -1}
		if i == 0 {
			trees[i].Role = Clustered
		}
		var pages int64
		pages, trees[i].Density = x.measure(pooled[x.name], e.pageSize)
		trees[i].Pages, trees[i].Bytes = pages, pages*e.pageSize
		if pooled != nil && trees[i].Density < 0 {
			e.add("How full the pages are is known on %s only for tables that fit into the buffer pool (innodb_buffer_pool_size).",
				e.product())
		}
	}
	return trees, nil
}

// indexPages is the entry of an index in mysql.innodb_index_stats. Its page counts are exact; other statistics there
// are estimates.
type indexPages struct {
	name     string
	reserved int64 // for pages of all kinds
	leaves   int64 // in use; MariaDB 10.11 reports 1 for indexes of up to about 40 pages
}

// poolPages are the pages of an index in the buffer pool.
type poolPages struct {
	name           string
	pages, roots   int64
	data, rootData int64 // bytes of records
}

// measure returns the pages in use and how full the leaves are. The page count is exact if all pages are in the buffer
// pool. Otherwise pages between the root and the leaves are missing, about one in three hundred. The density leaves out
// the root and counts inner pages as leaves. It is -1 if too few leaves are in the pool: those are the last used, not a
// random sample.
func (x indexPages) measure(pool poolPages, pageSize int64) (pages int64, density float64) {
	leaves := x.leaves
	if leaves <= 1 && x.reserved > 1 { // impossible: the root is a page of its own
		leaves = x.reserved - 1
		if below := pool.pages - pool.roots; pool.roots == 1 && x.reserved > fragmentPages+1 {
			leaves = min(leaves, below)
		}
	}
	pages, inPool, data := leaves, pool.pages, pool.data
	if leaves > 1 {
		pages++ // the root
		inPool, data = pool.pages-pool.roots, pool.data-pool.rootData
	}
	if pool.roots == 1 && pool.pages > pages && pool.pages <= x.reserved {
		pages = pool.pages
	}
	if leaves == 0 || inPool*10 < leaves*9 || data == 0 {
		return pages, -1
	}
	return pages, float64(data) / float64(inPool*(pageSize-pageOverhead))
}

// fragmentPages is the number of single pages that a segment gets before it gets extents.
const fragmentPages = 32

// indexes returns the clustered index first.
func (e *mariadb) indexes(ctx context.Context, table string) ([]indexPages, error) {
	return collect(ctx, e.db, func(x *indexPages) []any { return []any{&x.name, &x.reserved, &x.leaves} },
		`SELECT index_name, MAX(IF(stat_name = 'size', stat_value, 0)), MAX(IF(stat_name = 'n_leaf_pages', stat_value, 0))
		FROM mysql.innodb_index_stats WHERE database_name = ? AND table_name = ? GROUP BY index_name
		ORDER BY index_name NOT IN ('PRIMARY', 'GEN_CLUST_INDEX'), index_name`, e.place, table)
}

// wholeTrees implements Trees for users without access to the statistics table.
func (e *mariadb) wholeTrees(ctx context.Context, table string) ([]Tree, error) {
	e.add("The user may not read mysql.innodb_index_stats, so sizes on %s include pages that are reserved but empty, "+
		"and those of several indexes are one figure.", e.product())
	var rows, indexes int64
	err := e.db.QueryRowContext(ctx, `SELECT data_length, index_length FROM information_schema.tables
		WHERE table_schema = ? AND table_name = ?`, e.place, table).Scan(&rows, &indexes)
	if err != nil {
		return nil, fmt.Errorf("the size of %s: %w", table, err)
	}
	return []Tree{
		{Name: "PRIMARY", Role: Clustered, Bytes: rows, Density: -1, Fragmentation: -1},
		{Name: "indexes", Role: Secondary, Bytes: indexes, Density: -1, Fragmentation: -1},
	}, nil
}

// pageOverhead is the part of a page that holds no records: a header of 38 bytes, the index header of 56, 26 for the
// infimum and supremum records, and a trailer of 8. The page directory, 2 bytes for 4 to 8 records, counts as free.
const pageOverhead = 38 + 56 + 26 + 8

// pooled returns the pages of a table in the buffer pool, by index name; nil without the right to read it.
func (e *mariadb) pooled(ctx context.Context, table string) (map[string]poolPages, error) {
	prefix := "INNODB_"
	if strings.Contains(e.version, "MariaDB") {
		prefix = "INNODB_SYS_"
	}
	list, err := collect(ctx, e.db,
		func(p *poolPages) []any { return []any{&p.name, &p.pages, &p.roots, &p.data, &p.rootData} },
		`SELECT i.NAME, COUNT(*), CAST(SUM(p.PAGE_NUMBER = i.PAGE_NO) AS SIGNED),
			CAST(SUM(p.DATA_SIZE) AS SIGNED), CAST(SUM(IF(p.PAGE_NUMBER = i.PAGE_NO, p.DATA_SIZE, 0)) AS SIGNED)
		FROM information_schema.`+prefix+`TABLES t
		JOIN information_schema.`+prefix+`INDEXES i ON i.TABLE_ID = t.TABLE_ID
		JOIN information_schema.INNODB_BUFFER_PAGE p ON p.SPACE = i.SPACE AND p.INDEX_NAME = i.NAME
		WHERE t.NAME = ? AND p.PAGE_TYPE = 'INDEX' GROUP BY i.NAME`, e.place+"/"+table)
	if denied(err) {
		e.add("How full the pages are is not known on %s: the user may not read the buffer pool's contents (GRANT PROCESS).",
			e.product())
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the pages of %s in the buffer pool: %w", table, err)
	}
	pools := map[string]poolPages{}
	for _, p := range list {
		pools[p.name] = p
	}
	return pools, nil
}

// Usage is that of the whole server. Written includes the doublewrite buffer. Pages are written long after their
// change, so Written measures the work only if Settle ran before the second call.
func (e *mariadb) Usage(ctx context.Context) (Usage, error) {
	list, err := collect(ctx, e.db, func(s *Setting) []any { return []any{&s.Name, &s.Value} },
		`SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_lsn_current', 'Innodb_redo_log_current_lsn', 'Innodb_data_written',
		'Innodb_buffer_pool_reads', 'Innodb_buffer_pool_read_requests')`)
	if err != nil {
		return Usage{}, err
	}
	number := func(name string) int64 {
		for _, one := range list {
			if n, err := strconv.ParseInt(one.Value, 10, 64); err == nil && one.Name == name {
				return n
			}
		}
		return -1
	}
	u := Usage{
		PageImages: -1, Hits: -1, CPU: e.cpu(),
		Written: number("Innodb_data_written"), Reads: number("Innodb_buffer_pool_reads"),
	}
	if u.Log = number("Innodb_lsn_current"); u.Log < 0 {
		u.Log = number("Innodb_redo_log_current_lsn") // MySQL, from 8.0.30 on
	}
	if requests := number("Innodb_buffer_pool_read_requests"); requests >= 0 && u.Reads >= 0 {
		u.Hits = requests - u.Reads
	}
	return u, nil
}
