package adopt

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
)

// postgresKey is a key column as PostgreSQL's catalog describes it.
type postgresKey struct {
	Relation int64  // oid of the table
	Number   int    // of the column, 0 if it does not exist
	Type     string // in the form of format_type
	Identity bool
	Default  string
	Drawn    bool // the default depends on a sequence
}

// dropOnPostgres looks the tables up as the session does. Everything else is looked up in pg_catalog: another schema of
// the search_path may have functions and operators of strangers.
func dropOnPostgres(db *gorm.DB, keys []countedKey) error {
	db.DisableNestedTransaction = false // so that a refusal leaves nothing in the transaction of the handle
	return db.Transaction(func(tx *gorm.DB) error {
		var path string
		if err := tx.Raw("SELECT pg_catalog.current_setting('search_path')").Row().Scan(&path); err != nil {
			return err
		}

		found, err := resolve(tx, keys)
		if err != nil {
			return err
		}

		if err := setPath(tx, "pg_catalog, pg_temp"); err != nil {
			return err
		}
		if err := dropCounters(tx, found); err != nil {
			return err
		}
		return setPath(tx, path) // the transaction may continue
	})
}

// setPath sets the search_path until the transaction ends.
func setPath(tx *gorm.DB, path string) error {
	return tx.Raw("SELECT pg_catalog.set_config('search_path', ?, true)", path).Row().Scan(&path)
}

// resolve returns the keys with the schemas of their tables, each once.
func resolve(tx *gorm.DB, keys []countedKey) (all []countedKey, err error) {
	err = each(keys, func(_ int, k countedKey) error {
		err := tx.Raw(`
			SELECT n.nspname, c.relname FROM pg_catalog.pg_class c
			JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
			WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(?::pg_catalog.text)`,
			tx.Statement.Quote(k.name())).Row().Scan(&k.schema, &k.table)

		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("%w: %s", ErrNoTable, k.name())
		case err == nil && !slices.Contains(all, k):
			all = append(all, k)
		}

		return err
	})
	return all, err
}

// dropCounters drops the defaults or identities of the keys, and their sequences.
func dropCounters(tx *gorm.DB, keys []countedKey) error {
	found, err := readAll(tx, keys, countedKey.onPostgres)
	if err != nil {
		return err
	}

	var sequences []string
	err = each(keys, func(i int, k countedKey) error { // all defaults first, since two tables may share a sequence
		owned, err := k.dropDefault(tx, found[i])
		sequences = append(sequences, owned...)
		return err
	})
	if err != nil {
		return err
	}

	for _, sequence := range sequences {
		if err := run(tx, "DROP SEQUENCE "+sequence); err != nil { // other columns may use it
			return fmt.Errorf("sequence %s: %w", sequence, err)
		}
	}
	return nil
}

// isDrawn reports whether the default takes numbers of a sequence.
func (key postgresKey) isDrawn() bool { return key.Drawn || strings.HasPrefix(key.Default, "nextval(") }

// onPostgres reads the column, and rejects one that must not be changed.
func (k countedKey) onPostgres(tx *gorm.DB) (key postgresKey, err error) {
	result := tx.Raw(`
		SELECT c.oid::bigint AS relation, coalesce(a.attnum, 0) AS number,
			coalesce(format_type(a.atttypid, NULL), '') AS type,
			coalesce(a.attidentity <> '', false) AS identity,
			coalesce(pg_get_expr(d.adbin, d.adrelid), '') AS "default",
			EXISTS (
				SELECT FROM pg_depend p JOIN pg_class s ON s.oid = p.refobjid AND s.relkind = 'S'
				WHERE p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid AND p.refclassid = 'pg_class'::regclass
			) AS drawn
		FROM pg_class c
		LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = ? AND a.attnum > 0 AND NOT a.attisdropped
		LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
		WHERE c.oid = to_regclass(?::text) AND c.relkind IN ('r', 'p')`, k.column, k.quoted(tx)).Scan(&key)

	switch {
	case result.Error != nil:
		return key, result.Error
	case result.RowsAffected == 0:
		return key, fmt.Errorf("%w: %s", ErrNoTable, k.name())
	case key.Number == 0:
		return key, k.refused(ErrNoIntegerKey, "the table has no such column")
	case key.Type != "bigint":
		return key, k.refused(ErrNoIntegerKey, "the column is of type %s", key.Type)
	case key.Default != "" && !key.isDrawn():
		return key, k.refused(ErrAutoIncrementKept, "its default is not a sequence but %s", key.Default)
	}

	return key, nil
}

// dropDefault drops the default or the identity and returns the sequences that the column owned.
func (k countedKey) dropDefault(tx *gorm.DB, key postgresKey) (owned []string, err error) {
	change := "ALTER TABLE " + k.quoted(tx) + " ALTER COLUMN " + tx.Statement.Quote(k.column)
	if key.Identity { // drops its sequence too
		err = run(tx, change+" DROP IDENTITY")
	} else if key.Default != "" {
		err = run(tx, change+" DROP DEFAULT")
	}
	if err != nil {
		return nil, err
	}

	err = tx.Raw(`SELECT s.oid::regclass::text FROM pg_depend p JOIN pg_class s ON s.oid = p.objid AND s.relkind = 'S'
		WHERE p.classid = 'pg_class'::regclass AND p.refclassid = 'pg_class'::regclass
			AND p.refobjid = ? AND p.refobjsubid = ? AND p.deptype = 'a'
		ORDER BY 1`, key.Relation, key.Number).Scan(&owned).Error
	return owned, err
}
