package adopt

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

// Rekeying says which rows get new keys.
type Rekeying struct {
	Models    []any // of the tables whose old rows get new keys
	Referring []any // other models, for references to these tables without a foreign key in the database

	CreatedAt string // field or column of Models with the time, as of sqlfunc.Functions.Backfill; "" for CreatedAt

	// Worker is that of the new keys, which no generator ever had and none will have: the layout's last one is a good
	// choice. Rekey reserves it with the lease of the plugin, see lease.Lease.Reserve, if that has the layout of the keys;
	// otherwise keep it free yourself. For further old rows of a table the next call needs another worker; with the same
	// one their keys could be equal, which is an error.
	Worker int64
}

// Rekeyed is what Rekey has done.
type Rekeyed struct {
	Rows     int64            // those that got a new key
	Dangling map[string]int64 // references to rows that do not exist, by column ("orders.user_id"): they stay as they are
}

// Rekey gives old rows new keys, made from the time of their creation by snowflake.Backfill, and rewrites what refers to
// them, so that gormplugin.CreatedBetween finds these rows: the layout is that of the generator that fills the key, which
// needs the methods Layout and Worker of snowflake.Generator. Old rows are those with keys below gormplugin.WithMinID, also
// soft-deleted ones and one with the key 0. Others stay as they are, so a second call changes nothing. A key of two columns
// must be unique without the other column.
//
// It rewrites the columns that foreign keys of the database show, in any table, and those that the relations of the given
// models show, also polymorphic ones. References that neither shows, in other databases, caches, links, texts, defaults of
// columns and the history of MariaDB, are yours: the table users_old_keys of each table users has the old and the new keys
// (old_key, new_key) and stays until you drop it. NULL stays NULL, and so does a 0 that refers to no row. The keys of two
// tables may be equal.
//
// Call it after DropAutoIncrement. Stop the new processes too, or let them read again what they keep in memory: an old key
// is no longer valid after the call. Make a backup first. If the pool has one connection, call it outside of db.Connection,
// since the lease reserves the worker on another one.
//
// All is one transaction, with the time and the log of an update of all rows of these tables: a call that fails or is
// killed leaves nothing but an empty table users_old_keys on MySQL. Triggers on updates run.
//
//   - PostgreSQL: readers and writers wait; a context bounds the wait for the lock. Foreign keys to the rewritten columns
//     are dropped and created again, which checks them; their comments are lost.
//   - MySQL and MariaDB, with InnoDB, parseTime=true and loc=UTC: writers wait, and foreign_key_checks is off for this
//     session. The account needs the right PROCESS, to see foreign keys of all databases, and rights on their tables.
//   - SQLite: writers wait, also extensions of leases, see gormplugin.Open. PRAGMA foreign_keys is off for this connection.
//
// Before anything is changed all rows and columns are checked. Errors are [ErrKeysKept]; [ErrNoTable] and [ErrNoIntegerKey]
// as of DropAutoIncrement, also for columns that refer to keys and for columns of less than 64 bits; those of
// sqlfunc.Backfill.Check, for rows that can't have a new key; of lease.Lease.Reserve; and of the database.
func Rekey(db *gorm.DB, what Rekeying) (Rekeyed, error) {
	done, err := rekey(db, what)
	return done, within("adopt: rekey", err)
}

// oldKey is a key column to be rewritten.
type oldKey struct {
	countedKey
	mapped countedKey // the table of old and new keys
	twin   *sqlfunc.Backfill
}

// rewrite is one call of Rekey.
type rewrite struct {
	*gorm.DB
	space   string // the default one, which has no name here
	old     string // the condition of old keys: " < MinID"
	keys    []oldKey
	known   map[countedKey][]reference // that the models show, by what they refer to
	columns [][]reference              // what to rewrite, by table; the keys refer to themselves
	after   []string                   // statements for the end
	leased  bool                       // new keys have the layout of the lease
	done    Rekeyed
}

func rekey(db *gorm.DB, what Rekeying) (done Rekeyed, err error) {
	if err := checkHandle(db); err != nil {
		return done, err
	}
	plugin, _ := db.Plugins["snowflake"].(*gormplugin.Plugin)
	if _, inside := db.Statement.ConnPool.(gorm.TxCommitter); inside || plugin.MinID() == 0 {
		return done, fmt.Errorf("%w: the handle is in a transaction or has no plugin with gormplugin.WithMinID", ErrKeysKept)
	}
	in, handle := pinned, db.Session(&gorm.Session{NewDB: true})
	if db.Name() == "mysql" {
		in = pinnedOnMySQL
	}
	var old int64
	r := &rewrite{old: fmt.Sprintf(" < %d", plugin.MinID()), known: map[countedKey][]reference{}}
	err = in(handle, func(p *pin) (err error) { // not on a replica
		r.DB = p.DB
		if err = r.parse(what, plugin); err == nil {
			old, err = r.find()
		}
		return err
	})
	if err == nil && old > 0 && r.leased {
		err = plugin.Lease().Reserve(db.Statement.Context, what.Worker, fmt.Sprintf("adopt.Rekey %d", what.Worker))
	}
	if err == nil && old > 0 {
		err = in(handle, r.run)
	}
	if err != nil { // some drivers only say that the connection is lost
		return done, errors.Join(db.Statement.Context.Err(), err)
	}
	return r.done, nil
}

// parse reads the models.
func (r *rewrite) parse(what Rekeying, plugin *gormplugin.Plugin) error {
	space := map[string]string{"postgres": "current_schema()", "mysql": "database()", "sqlite": "'main'"}[r.Name()]
	if err := r.Raw("SELECT coalesce(" + cmp.Or(space, "''") + ", '')").Row().Scan(&r.space); err != nil {
		return err
	}
	for i, model := range slices.Concat(what.Models, what.Referring) {
		stmt := &gorm.Statement{DB: r.DB}
		if err := stmt.Parse(model); err != nil {
			return err
		}
		r.know(stmt.Schema)
		if i >= len(what.Models) {
			continue
		}
		keys, err := countedKeys(r.DB, []any{model})
		if err != nil {
			return err
		}
		k := oldKey{countedKey: keys[0].inside(r.space)}
		if slices.ContainsFunc(r.keys, func(other oldKey) bool { return other.countedKey == k.countedKey }) {
			continue // two models of one table
		}
		k.mapped = countedKey{k.space, k.table + "_old_keys", "old_key"}
		filling, err := plugin.GeneratorOf(stmt.Schema.PrioritizedPrimaryField)
		own, ok := filling.(interface {
			Layout() snowflake.Layout
			Worker() int64
		})
		created := stmt.Schema.LookUpField(cmp.Or(what.CreatedAt, "CreatedAt"))
		switch {
		case err != nil:
			return err
		case !ok:
			return k.refused(ErrKeysKept, "the plugin has to fill the key of %s, by a generator with a Layout and a Worker, not %T",
				stmt.Schema, filling)
		case own.Worker() == what.Worker:
			return k.refused(ErrKeysKept, "the generator that fills it has the worker %d too, and may have made these keys", what.Worker)
		case created == nil || created.DBName == "":
			return k.refused(ErrKeysKept, "the model %s has no field %s", stmt.Schema, cmp.Or(what.CreatedAt, "CreatedAt"))
		case len(k.mapped.table) > 63:
			return k.refused(ErrKeysKept, "the name %s has more than 63 bytes", k.mapped.table)
		}
		functions, err := sqlfunc.New(own.Layout(), sqlfunc.WithWorker(what.Worker))
		if err == nil {
			k.twin, err = functions.Backfill(sqldb.Dialect(r.Name()), sqlfunc.BackfillRows{
				Table: k.name(), Key: k.column, Time: created.DBName, Where: r.where(reference{countedKey: k.countedKey}, r.old),
			})
		}
		if err != nil {
			return err
		}
		r.leased = r.leased || plugin.Lease() != nil && plugin.Lease().Generator().Layout() == own.Layout()
		r.keys = append(r.keys, k)
	}
	return nil
}

// know adds the references of a model.
func (r *rewrite) know(s *schema.Schema) {
	all := &s.Relationships // whose map lacks those of a struct that is embedded twice
	for _, relation := range slices.Concat(all.BelongsTo, all.HasOne, all.HasMany, all.Many2Many) {
		for _, pair := range relation.References {
			if pair.PrimaryKey == nil { // the type of a polymorphic one
				continue
			}
			from, known := r.columnOf(pair.PrimaryKey), reference{countedKey: r.columnOf(pair.ForeignKey)}
			if p := relation.Polymorphic; p != nil {
				known.kind, known.value = p.PolymorphicType.DBName, p.Value
			}
			r.known[from] = append(r.known[from], known)
		}
	}
}

func (r *rewrite) columnOf(field *schema.Field) countedKey {
	space, table, found := strings.Cut(field.Schema.Table, ".")
	if !found {
		space, table = "", field.Schema.Table
	}
	return countedKey{space, table, field.DBName}.inside(r.space)
}

// inside leaves out the default space, so that a table has one name.
func (k countedKey) inside(space string) countedKey {
	if k.space == space {
		k.space = ""
	}
	return k
}

// run rewrites all in one transaction.
func (r *rewrite) run(p *pin) error {
	r.DB = p.DB
	for _, k := range r.keys {
		if err := k.twin.Check(p.Statement.Context, p.conn); err != nil {
			return err
		}
	}
	if err := r.begin(p); err != nil {
		return err
	}
	for _, k := range r.keys {
		filled := p.Exec("?", gorm.Expr("INSERT INTO "+p.Statement.Quote(k.mapped.name())+" (old_key, new_key) "+k.twin.Select()))
		if filled.Error != nil {
			return within(k.mapped.name(), filled.Error)
		}
		r.done.Rows += filled.RowsAffected
	}
	for _, columns := range r.columns {
		if err := within(columns[0].name(), r.update(columns)); err != nil {
			return err
		}
	}
	if err := r.check(); err != nil {
		return err
	}
	if err := run(p.DB, r.after...); err != nil {
		return err
	}
	// Of a foreign key that is new; a row that is written later waits and finds no old key. PostgreSQL has locked the tables.
	before := r.columns
	if _, err := r.find(); err != nil {
		return err
	}
	if !slices.EqualFunc(before, r.columns, slices.Equal) {
		return fmt.Errorf("%w: foreign keys to the tables have changed meanwhile: repeat the call", ErrKeysKept)
	}
	return p.commit()
}
