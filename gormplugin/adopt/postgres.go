package adopt

import (
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

func dropOnPostgres(db *gorm.DB, keys []countedKey) error {
	db.DisableNestedTransaction = false // so that a refusal leaves nothing in the transaction of the handle
	return db.Transaction(func(tx *gorm.DB) error {
		found := make([]postgresKey, len(keys))
		for i, k := range keys {
			var err error
			if found[i], err = k.onPostgres(tx); err == nil {
				err = k.checkMinID(tx)
			}
			if err != nil {
				return err
			}
		}
		var owned []string
		for i, k := range keys { // all defaults first, since two tables may share a sequence
			sequences, err := k.dropDefault(tx, found[i])
			if err != nil {
				return err
			}
			owned = append(owned, sequences...)
		}
		for i, k := range keys {
			if err := k.failed(k.widenOnPostgres(tx, found[i])); err != nil {
				return err
			}
		}
		for _, sequence := range owned {
			if err := dropSequence(tx, sequence); err != nil {
				return err
			}
		}
		for _, k := range keys {
			after, err := k.onPostgres(tx)
			if err != nil {
				return err
			}
			if after.Identity || after.Default != "" || after.Type != "bigint" {
				return k.kept("the column is still %s, default %q, identity %t", after.Type, after.Default, after.Identity)
			}
		}
		return nil
	})
}

// onPostgres reads the column and rejects what must not be changed.
func (k countedKey) onPostgres(tx *gorm.DB) (postgresKey, error) {
	var found []postgresKey
	err := tx.Raw(`
		SELECT c.oid::bigint AS relation, coalesce(a.attnum, 0) AS number, coalesce(format_type(a.atttypid, NULL), '') AS type,
			coalesce(a.attidentity <> '', false) AS identity, coalesce(pg_get_expr(d.adbin, d.adrelid), '') AS "default",
			EXISTS (
				SELECT FROM pg_depend p JOIN pg_class s ON s.oid = p.refobjid AND s.relkind = 'S'
				WHERE p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid AND p.refclassid = 'pg_class'::regclass
			) AS drawn
		FROM pg_class c
		LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = ? AND a.attnum > 0 AND NOT a.attisdropped
		LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
		WHERE c.oid = to_regclass(?::text) AND c.relkind IN ('r', 'p')`, k.column, tx.Statement.Quote(k.name())).Scan(&found).Error
	switch {
	case err != nil:
		return postgresKey{}, k.failed(err)
	case len(found) == 0:
		return postgresKey{}, k.noTable()
	}
	key := found[0]
	switch {
	case key.Number == 0:
		return key, k.noInteger("the table has no such column")
	case !slices.Contains([]string{"smallint", "integer", "bigint"}, key.Type):
		return key, k.noInteger("the column is of type %s", key.Type)
	case key.Default != "" && !key.Drawn && !strings.HasPrefix(key.Default, "nextval("):
		return key, k.kept("its default is not a sequence but %s", key.Default)
	}
	return key, nil
}

// dropDefault drops the default or the identity and returns the sequences that the column owned.
func (k countedKey) dropDefault(tx *gorm.DB, key postgresKey) (owned []string, err error) {
	change := "ALTER TABLE " + tx.Statement.Quote(k.name()) + " ALTER COLUMN " + tx.Statement.Quote(k.column)
	if key.Identity { // drops its sequence too
		err = run(tx, change+" DROP IDENTITY")
	} else if key.Default != "" {
		err = run(tx, change+" DROP DEFAULT")
	}
	if err != nil {
		return nil, k.failed(err)
	}
	err = tx.Raw(`
		SELECT s.oid::regclass::text FROM pg_depend p JOIN pg_class s ON s.oid = p.objid AND s.relkind = 'S'
		WHERE p.classid = 'pg_class'::regclass AND p.refclassid = 'pg_class'::regclass
			AND p.refobjid = ? AND p.refobjsubid = ? AND p.deptype = 'a'
		ORDER BY 1`, key.Relation, key.Number).Scan(&owned).Error
	return owned, k.failed(err)
}

// widenOnPostgres changes the column and all that refer to it, directly or through others, to bigint.
func (k countedKey) widenOnPostgres(tx *gorm.DB, key postgresKey) error {
	var narrow []struct{ Relation, Name string }
	err := tx.Raw(`
		WITH RECURSIVE same(relation, number) AS (
			SELECT ?::oid, ?::smallint
			UNION
			SELECT f.conrelid, f.conkey[i] FROM same
			JOIN pg_constraint f ON f.contype = 'f' AND f.confrelid = same.relation
			CROSS JOIN generate_subscripts(f.confkey, 1) i
			WHERE f.confkey[i] = same.number
		)
		SELECT same.relation::regclass::text AS relation, quote_ident(a.attname) AS name
		FROM same JOIN pg_class c ON c.oid = same.relation
		JOIN pg_attribute a ON a.attrelid = same.relation AND a.attnum = same.number
		WHERE a.atttypid IN ('smallint'::regtype, 'integer'::regtype) AND (same.relation = ? OR NOT c.relispartition)
		ORDER BY same.relation <> ?, 1, 2`, key.Relation, key.Number, key.Relation, key.Relation).Scan(&narrow).Error
	if err != nil {
		return err
	}
	for _, column := range narrow {
		if err := run(tx, "ALTER TABLE "+column.Relation+" ALTER COLUMN "+column.Name+" TYPE bigint"); err != nil {
			return err
		}
	}
	return nil
}

// dropSequence drops the sequence of a serial column unless other columns use it.
func dropSequence(tx *gorm.DB, sequence string) error {
	var others []string
	err := tx.Raw(`
		SELECT d.adrelid::regclass::text || '.' || a.attname FROM pg_depend p
		JOIN pg_attrdef d ON p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid
		JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
		WHERE p.refclassid = 'pg_class'::regclass AND p.refobjid = ?::text::regclass ORDER BY 1`, sequence).Scan(&others).Error
	switch {
	case err != nil:
		return fmt.Errorf("adopt: drop the sequence %s: %w", sequence, err)
	case len(others) > 0:
		return fmt.Errorf("%w: the sequence %s also serves %s", ErrAutoIncrementKept, sequence, strings.Join(others, ", "))
	}
	if err := run(tx, "DROP SEQUENCE "+sequence); err != nil {
		return fmt.Errorf("adopt: drop the sequence %s: %w", sequence, err)
	}
	return nil
}
