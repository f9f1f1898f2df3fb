package partition_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// richTable has all that Adopt carries over. Roles are shared by the databases of a server: the tests use those that
// every server has.
const richTable = `
CREATE TABLE kinds (id bigint PRIMARY KEY);
INSERT INTO kinds VALUES (1), (2);
CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO notes VALUES (TG_NAME); RETURN new; END';
CREATE FUNCTION noted_after() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO notes VALUES (TG_NAME); RETURN NULL; END';
CREATE TABLE notes (name text);
CREATE TABLE events (
	id bigint, gone int, number bigserial, kind bigint NOT NULL DEFAULT 1,
	text varchar(40) COLLATE "C" DEFAULT 'it''s', "Odd ""name" numeric(10, 2) CHECK ("Odd ""name" > 0),
	twice bigint GENERATED ALWAYS AS (kind * 2) STORED, tags text[], at timestamptz DEFAULT now(),
	CONSTRAINT events_pkey PRIMARY KEY (id) WITH (fillfactor = 80),
	CONSTRAINT events_again UNIQUE (text, id) INCLUDE (kind) DEFERRABLE INITIALLY DEFERRED,
	CONSTRAINT events_kind_fkey FOREIGN KEY (kind) REFERENCES kinds ON UPDATE CASCADE DEFERRABLE,
	CONSTRAINT sane CHECK (kind < 100 AND text <> '')
) WITH (fillfactor = 90);
ALTER TABLE events DROP COLUMN gone;
CREATE UNIQUE INDEX events_kind_id ON events (kind, id);
CREATE INDEX "events Lower" ON events (lower(text) text_pattern_ops DESC NULLS LAST) WITH (fillfactor = 50) WHERE kind > 1;
CREATE INDEX events_tags ON events USING gin (tags);
CREATE INDEX events_at ON events USING brin (at);
CREATE STATISTICS events_stat (ndistinct, dependencies) ON kind, text FROM events;
ALTER STATISTICS events_stat SET STATISTICS 500;
CREATE TRIGGER "Before each" BEFORE INSERT ON events FOR EACH ROW WHEN (new.kind = 1) EXECUTE FUNCTION noted();
CREATE TRIGGER after_statement AFTER INSERT ON events REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION noted_after();
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION noted_after();
CREATE TRIGGER off AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION noted_after();
ALTER TABLE events DISABLE TRIGGER off;
CREATE TRIGGER always AFTER DELETE ON events FOR EACH ROW EXECUTE FUNCTION noted_after();
ALTER TABLE events ENABLE ALWAYS TRIGGER always;
ALTER TABLE events ALTER COLUMN kind SET STATISTICS 300;
ALTER TABLE events ALTER COLUMN text SET (n_distinct = -0.5);
ALTER TABLE events ALTER COLUMN text SET STORAGE EXTERNAL;
ALTER TABLE events ALTER COLUMN tags SET COMPRESSION pglz;
ALTER TABLE events REPLICA IDENTITY USING INDEX events_kind_id;
COMMENT ON TABLE events IS 'all ''events''';
COMMENT ON COLUMN events.text IS 'a column';
COMMENT ON CONSTRAINT sane ON events IS 'a check';
COMMENT ON CONSTRAINT events_pkey ON events IS 'a key';
COMMENT ON CONSTRAINT events_kind_fkey ON events IS 'a reference';
COMMENT ON INDEX events_kind_id IS 'an index';
COMMENT ON TRIGGER off ON events IS 'a trigger';
COMMENT ON STATISTICS events_stat IS 'statistics';
GRANT SELECT, INSERT ON events TO pg_monitor WITH GRANT OPTION;
GRANT SELECT (text), UPDATE (kind) ON events TO pg_read_all_stats;
GRANT SELECT ON events TO PUBLIC;
CREATE TABLE lines (id bigint PRIMARY KEY, event bigint CONSTRAINT lines_event REFERENCES events ON DELETE CASCADE);
COMMENT ON CONSTRAINT lines_event ON lines IS 'of two
lines';
CREATE TABLE pairs (event bigint, kind bigint, CONSTRAINT pairs_fkey FOREIGN KEY (kind, event) REFERENCES events (kind, id) DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE loose (event bigint);
INSERT INTO loose VALUES (-5);
ALTER TABLE loose ADD CONSTRAINT loose_fkey FOREIGN KEY (event) REFERENCES events NOT VALID;
`

func TestAdoptCarriesEverythingOver(t *testing.T) {
	t.Parallel()
	a := onPostgres(t, richTable)
	a.exec(fmt.Sprintf(`INSERT INTO events (id, text) SELECT %d + n, 'row ' || n FROM generate_series(1, 1000) AS n;
		INSERT INTO lines VALUES (1, %[1]d + 7);
		INSERT INTO pairs VALUES (%[1]d + 8, 1);
`, idAt(time.Now().Add(-time.Hour))))
	before := a.describe()
	files := `SELECT string_agg(pg_relation_filenode(oid)::text, ' ' ORDER BY oid) FROM pg_class
		WHERE oid = $1::regclass OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = $1::regclass)`
	filesBefore := a.texts(files, "events")

	set := a.newSet(partition.Day)
	plan, err := set.PlanAdopt(t.Context(), a.DB)
	a.must(err)
	if a.same(a.describe(), before...); len(plan.Problems) > 0 {
		t.Fatalf("the problems are %v", plan.Problems)
	}
	// People execute the script, perhaps with the functions of strangers in their search_path.
	swap := plan.Steps[slices.IndexFunc(plan.Steps, func(s partition.Step) bool { return s.SQL[0] == "BEGIN" })].SQL
	if swap[1] != "SET LOCAL search_path = pg_catalog, pg_temp" || !strings.HasPrefix(swap[2], "SET LOCAL lock_timeout = ") {
		t.Errorf("the script of the swap begins with %q", swap[:3])
	}
	steps := a.adopt(set)
	texts := func(steps []partition.Step) (texts []string) {
		for _, s := range steps {
			texts = append(texts, fmt.Sprint(s.Action, s.Partition, s.Why, s.SQL))
		}
		return texts
	}
	a.same(texts(steps), texts(plan.Steps)...)
	a.same(a.describe(), before...)
	a.same(a.texts(files, "events_legacy"), filesBefore...)
	a.same(a.texts(`SELECT conname::text FROM pg_constraint WHERE conname LIKE 'sqlflake%' AND connamespace = current_schema()::regnamespace`))
	a.same(a.texts(`SELECT conname::text FROM pg_constraint WHERE NOT convalidated AND conrelid IN ('lines'::regclass, 'pairs'::regclass)`))
	a.same(a.texts(`SELECT count(*)::text FROM events`), "1000")

	// Triggers fire once, in the old partition and in a new one, and references hold.
	for _, at := range []time.Time{time.Now(), steps[2].To} {
		id := idAt(at) + 1
		a.exec("TRUNCATE notes")
		a.exec(fmt.Sprintf("INSERT INTO events (id, text) VALUES (%d, 'x')", id))
		a.same(a.texts(`SELECT name FROM notes ORDER BY name`), "Before each", "after_statement", "late")
		a.exec(fmt.Sprintf("INSERT INTO lines VALUES (%d, %[1]d)", id))
		a.exec(fmt.Sprintf("DELETE FROM events WHERE id = %d", id))
	}
	a.same(a.texts(`SELECT id::text FROM lines`), "1")
	if _, err := a.ExecContext(t.Context(), "INSERT INTO lines VALUES (9, 9)"); err == nil {
		t.Error("a line without an event")
	}

	// The Set fits the table, and its partition is one like others.
	a.same(kinds(a.adopt(set)))
	a.does(set)
}

// The owner and the privileges stay, whoever calls Adopt and whatever privileges new tables get by default.
func TestAdoptKeepsOwnerAndPrivileges(t *testing.T) {
	t.Parallel()
	a := onPostgres(t, "CREATE TABLE events (id bigint PRIMARY KEY)")
	role := a.role()
	schema := a.schema()
	a.exec("ALTER TABLE events OWNER TO " + role + ";\nREVOKE DELETE ON events FROM " + role)
	a.exec("ALTER DEFAULT PRIVILEGES IN SCHEMA " + schema + " GRANT SELECT ON TABLES TO PUBLIC;\nGRANT USAGE ON SCHEMA " + schema + " TO pg_monitor")
	before := a.describe()
	set := a.newSet(partition.Day)
	a.SetMaxOpenConns(1)
	a.exec("SET ROLE pg_monitor")
	if plan, err := set.PlanAdopt(t.Context(), a.DB); err != nil || !strings.Contains(fmt.Sprint(plan.Problems), "does not own") {
		t.Errorf("plan of a role that does not own the table: %v, %v", plan, err)
	}

	for _, by := range []string{"postgres", role} {
		a.exec("SET ROLE " + by)
		if by == role {
			a.exec("DROP TABLE events;\nCREATE TABLE events (id bigint PRIMARY KEY);\nREVOKE DELETE ON events FROM " + role)
		}
		a.adopt(set)
		a.same(a.describe(), before...)
	}

	a.exec("RESET ROLE")
}

// adopt adopts the table.
func (a *events) adopt(s *partition.Set) []partition.Step {
	a.Helper()
	steps, err := s.Adopt(a.limit(), a.DB)
	a.must(err)
	return steps
}

// adopting adopts the table in the background.
func (a *events) adopting(ctx context.Context, s *partition.Set) <-chan error {
	return background(func() error { _, err := s.Adopt(ctx, a.DB); return err })
}

// describeQueries return what \d+ shows of a table, without its kind and partitions.
var describeQueries = map[string]string{
	"table":      `SELECT relowner::regrole || ' ' || relreplident::text || ' ' || coalesce(obj_description(oid, 'pg_class'), '') FROM pg_class WHERE oid = $1::regclass`,
	"privileges": `SELECT grantor::regrole || ' ' || grantee::text || ' ' || privilege_type || is_grantable FROM pg_class, aclexplode(relacl) WHERE oid = $1::regclass`,
	"columns": `SELECT concat_ws('|', attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid), attgenerated, attstorage, attcompression,
		attstattarget, (SELECT string_agg(o, ' ') FROM unnest(attoptions) AS o WHERE o LIKE 'n_%'), attacl, attcollation::regcollation, col_description(attrelid, attnum), pg_get_serial_sequence($1, attname))
		FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`,
	"constraints": `SELECT concat_ws('|', conname, contype, pg_get_constraintdef(oid), convalidated, obj_description(oid, 'pg_constraint'))
		FROM pg_constraint WHERE conrelid = $1::regclass`,
	"indexes": `SELECT concat_ws('|', replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON '), reloptions, indisreplident, indisvalid, obj_description(indexrelid, 'pg_class'))
		FROM pg_index JOIN pg_class ON oid = indexrelid WHERE indrelid = $1::regclass`,
	"statistics": `SELECT concat_ws('|', pg_get_statisticsobjdef(oid), stxstattarget, obj_description(oid, 'pg_statistic_ext')) FROM pg_statistic_ext WHERE stxrelid = $1::regclass`,
	"triggers":   `SELECT concat_ws('|', pg_get_triggerdef(oid), tgenabled, obj_description(oid, 'pg_trigger')) FROM pg_trigger WHERE tgrelid = $1::regclass AND NOT tgisinternal`,
	"references": `SELECT concat_ws('|', conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated, obj_description(oid, 'pg_constraint'))
		FROM pg_constraint WHERE confrelid = $1::regclass AND conparentid = 0`,
	"sequences": `SELECT concat_ws('|', objid::regclass, deptype) FROM pg_depend WHERE refobjid = $1::regclass AND refclassid = 'pg_class'::regclass
		AND (SELECT relkind FROM pg_class WHERE oid = objid) = 'S'`,
}

func (a *events) describe() (found []string) {
	a.Helper()
	for name, query := range describeQueries {
		for _, text := range a.texts(query, "events") {
			found = append(found, name+": "+text)
		}
	}
	slices.Sort(found)
	return found
}

// What can't be carried over is refused by its name, by the plan too, and nothing is changed.
func TestAdoptRefuses(t *testing.T) {
	t.Parallel()
	publication := fmt.Sprintf("sqlflake_test_%d", time.Now().UnixNano()) // belongs to no schema
	const table = "CREATE TABLE events (id bigint PRIMARY KEY, a int, b text, r int4range);\n"
	for name, test := range map[string]struct{ statements, want string }{
		"a view":                    {table + "CREATE VIEW shown AS SELECT a FROM events", "view"},
		"a materialized view":       {table + "CREATE MATERIALIZED VIEW kept AS SELECT a FROM events", "kept"},
		"a rule":                    {table + "CREATE RULE also AS ON INSERT TO events DO ALSO SELECT 1", "rule also"},
		"a policy":                  {table + "CREATE POLICY own ON events", "policy own"},
		"row security":              {table + "ALTER TABLE events ENABLE ROW LEVEL SECURITY", "row level security"},
		"a function of rows":        {table + "CREATE FUNCTION all_of() RETURNS SETOF events LANGUAGE sql AS 'SELECT * FROM events'", "function"},
		"a function with its body":  {table + "CREATE FUNCTION n() RETURNS bigint LANGUAGE sql RETURN (SELECT count(*) FROM events)", "function"},
		"a column of the row type":  {table + "CREATE TABLE copies (e events)", "column e of table"},
		"a child":                   {table + "CREATE TABLE child () INHERITS (events)", "table "},
		"a parent":                  {"CREATE TABLE parent (id bigint NOT NULL);\nCREATE TABLE events () INHERITS (parent)", "inherits from"},
		"a publication":             {table + "CREATE PUBLICATION " + publication + " FOR TABLE events", publication},
		"a typed table":             {"CREATE TYPE row_type AS (id bigint);\nCREATE TABLE events OF row_type (PRIMARY KEY (id))", "row_type"},
		"an unlogged table":         {"CREATE UNLOGGED TABLE events (id bigint PRIMARY KEY)", "unlogged"},
		"a key that allows NULL":    {"CREATE TABLE events (id bigint)", "allows NULL"},
		"a serial key":              {"CREATE TABLE events (id bigserial PRIMARY KEY)", "events_id_seq"},
		"an identity key":           {"CREATE TABLE events (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY)", "column id is an identity"},
		"another identity":          {"CREATE TABLE events (id bigint PRIMARY KEY, n int GENERATED BY DEFAULT AS IDENTITY)", "column n is an identity"},
		"another primary key":       {"CREATE TABLE events (id bigint NOT NULL, n int PRIMARY KEY)", "events_pkey does not contain the key id"},
		"a unique index":            {table + "CREATE UNIQUE INDEX one ON events (a)", "one does not contain the key id"},
		"the key only included":     {table + "CREATE UNIQUE INDEX one ON events (a) INCLUDE (id)", "one does not contain the key id"},
		"the key in an expression":  {table + "CREATE UNIQUE INDEX one ON events ((id + 1))", "one does not contain the key id"},
		"an exclusion constraint":   {table + "ALTER TABLE events ADD CONSTRAINT apart EXCLUDE USING gist (r WITH &&)", "apart is an exclusion"},
		"a check not validated":     {table + "ALTER TABLE events ADD CONSTRAINT later CHECK (a > 0) NOT VALID", "later is NOT VALID"},
		"a check without children":  {table + "ALTER TABLE events ADD CONSTRAINT mine CHECK (a > 0) NO INHERIT", "mine is NO INHERIT"},
		"a reference to itself":     {table + "ALTER TABLE events ADD CONSTRAINT self FOREIGN KEY (a) REFERENCES events", "self refers to the table itself"},
		"a partitioned referrer":    {table + "CREATE TABLE lines (e bigint, CONSTRAINT ref FOREIGN KEY (e) REFERENCES events) PARTITION BY RANGE (e)", "ref is of a partitioned table"},
		"a row trigger with tables": {table + "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';\nCREATE TRIGGER rows_of AFTER INSERT ON events REFERENCING NEW TABLE AS n FOR EACH ROW EXECUTE FUNCTION f()", "rows_of is for each row"},
		"the name of the partition": {table + "CREATE TABLE events_legacy (n int)", "events_legacy"},
		"the name of an index":      {table + "CREATE TABLE events_pkey_legacy (n int)", "events_pkey_legacy"},
		"keys ahead":                {table + fmt.Sprintf("INSERT INTO events VALUES (%d)", idAt(time.Now().AddDate(1, 0, 0))), "after the cut"},
		"a name of a new partition": {table + "CREATE TABLE " + dayName(2) + " (n int)", "a table of this name exists"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := onPostgres(t, test.statements+";\n")
			if strings.Contains(test.statements, publication) {
				defer func() { _, _ = a.Exec("DROP PUBLICATION " + publication) }()
			}
			before := a.describe()
			a.refuses(test.want)
			a.same(a.describe(), before...)
		})
	}
}

// refuses checks that the plan has one problem, and that Adopt returns it.
func (a *events) refuses(want string) {
	a.Helper()
	set := a.newSet(partition.Day)
	plan, err := set.PlanAdopt(a.limit(), a.DB)
	if err != nil || len(plan.Problems) != 1 || !strings.Contains(plan.Problems[0].Error(), want) {
		a.Fatalf("plan %+v, %v; want one problem, with %q", plan, err, want)
	}
	_, err = set.Adopt(a.limit(), a.DB)
	a.is(err, partition.ErrTable, want)
	a.is(err, partition.ErrBlocked)
}

func TestAdoptTakesOddNames(t *testing.T) {
	t.Parallel()
	a := onPostgres(t, `CREATE TABLE "Odd ""Events" ("the Key" bigint PRIMARY KEY, n int CHECK (n > 0));
INSERT INTO "Odd ""Events" VALUES (1, 1), (-3, 2);
`)
	set, err := partition.New(sqldb.Postgres, a.schema()+`.Odd "Events`, partition.Month, partition.WithKey("the Key"),
		partition.WithStalls(time.Minute, time.Minute), partition.WithLogger(slog.New(slog.DiscardHandler)))
	a.must(err)
	a.adopt(set)
	// The old one, and four months.
	a.counts(5, `SELECT count(*) FROM pg_partition_tree(quote_ident('Odd "Events')::regclass) WHERE isleaf`)
	a.rows(`"Odd ""Events_legacy"`, 2)

	// Names have 63 bytes at most, and those that Adopt makes are cut.
	long := strings.Repeat("x", 60)
	a.exec(fmt.Sprintf("CREATE TABLE %s (id bigint PRIMARY KEY, a int, b int);\nCREATE INDEX %[1]s_in ON %[1]s (a);\n"+
		"CREATE STATISTICS %[1]s_st ON a, b FROM %[1]s", long))
	set, err = partition.New(sqldb.Postgres, long, partition.Month, partition.WithStalls(time.Minute, time.Minute),
		partition.WithLogger(slog.New(slog.DiscardHandler)))
	a.must(err)
	a.adopt(set)
	a.counts(1, "SELECT count(*) FROM pg_class WHERE relname LIKE $1 AND relispartition", long[:47]+"\\_%\\_legacy")
}

// The cut of such a unit is further ahead than the longest timeout of the server, 24 days.
func TestAdoptTakesLongUnits(t *testing.T) {
	t.Parallel()
	a := onPostgres(t, ordinaryTable)
	january := func() time.Time { return time.Date(noon.Year()+1, 1, 2, 0, 0, 0, 0, time.UTC) }
	a.adopt(a.newSet(partition.Month, partition.WithNow(january)))
}

// What comes between the plan and the locks of the swap is refused too.
func TestAdoptRefusesWhatComesBeforeItsLocks(t *testing.T) {
	t.Parallel()
	a := onPostgres(t, "CREATE TABLE events (id bigint PRIMARY KEY, a int);\n")
	a.exec(fmt.Sprintf("ALTER TABLE events ADD CONSTRAINT sqlflake_adopt CHECK (id IS NOT NULL AND id < %d)", idAt(day(2))))
	commit := a.hold("CREATE UNIQUE INDEX one ON events (a)")
	done := a.adopting(a.limit(), a.newSet(partition.Day))
	a.waitFor("SELECT count(*) FROM pg_locks WHERE relation = 'events'::regclass AND NOT granted AND mode = 'ShareUpdateExclusiveLock'")
	commit()
	a.is(<-done, partition.ErrTable, ".one does not contain the key id")
}

// The legacy partition has no lower bound. It is dropped once it is beyond the retention, if the Set says how old its rows
// may be, and if it has no others.
func TestAdoptedPartitionIsDroppedByRetention(t *testing.T) {
	t.Parallel()
	a := onPostgres(t, ordinaryTable)
	a.insert(day(-40), day(-30), 24*time.Hour)
	a.exec("INSERT INTO events VALUES (5)")
	without := a.newSet(partition.Day, partition.WithRetain(5), partition.WithIdle(5))
	set := a.newSet(partition.Day, partition.WithRetain(5), partition.WithIdle(5), partition.WithStart(day(-40)))
	a.adopt(set)
	a.does(set)
	// As if it had been adopted twenty days ago.
	a.exec(fmt.Sprintf("ALTER TABLE events DETACH PARTITION events_legacy;\n"+
		"ALTER TABLE events ATTACH PARTITION events_legacy FOR VALUES FROM (MINVALUE) TO ('%d')", idAt(day(-20))))
	a.maintain(a.newSet(partition.Day))
	a.insert(day(0), day(1), 24*time.Hour)
	a.fails(set, partition.ErrBlocked, "events_legacy", "the key 5")
	a.exec("DELETE FROM events WHERE id = 5")
	a.fails(without, partition.ErrBlocked, "events_legacy", "set WithStart")
	if steps := a.maintain(set); !slices.Contains(steps, "drop events_legacy") {
		t.Errorf("the steps are %q", steps)
	}
}

// A table that is created with the options is one that Maintain accepts as it is.
func TestTableOptionsFitMaintain(t *testing.T) {
	for _, options := range [][]partition.Option{nil, {partition.WithStart(day(-9)), partition.WithRetain(3)}} {
		e := onMariaDB(t, "")
		set := e.set(options...)
		text, err := set.TableOptions()
		e.must(err)
		e.exec("CREATE TABLE events (id bigint PRIMARY KEY) " + text)
		e.does(set)
	}

	e := newEvents(t, testdb.Postgres(t), "")
	set := e.set(partition.WithKey("the Key"))
	text, err := set.TableOptions()
	e.must(err)
	e.exec(`CREATE TABLE events ("the Key" bigint PRIMARY KEY) ` + text)
	e.does(set, "create "+dayName(0), "create "+dayName(1), "create "+dayName(2), "create "+dayName(3))
}

// On MySQL the statement of the error, which is the one of TableOptions, partitions a table with rows.
func TestAdoptNamesTheStatementOfMySQL(t *testing.T) {
	e := onMariaDB(t, "CREATE TABLE events (id bigint PRIMARY KEY, body text)")
	e.insert(day(-5), day(1), 24*time.Hour)
	set := e.set(partition.WithStart(day(-2)))
	_, planErr := set.PlanAdopt(t.Context(), e.DB)
	_, err := set.Adopt(t.Context(), e.DB)
	e.is(err, partition.ErrTable, "ALTER TABLE `events` PARTITION BY RANGE (`id`) (PARTITION `"+dayName(-2)+"` ")
	e.is(planErr, partition.ErrTable, err.Error())
	_, statement, _ := strings.Cut(err.Error(), "meanwhile: ")
	e.exec(statement)
	e.rows("events PARTITION ("+dayName(-2)+")", 4)
	e.does(set)
}
