package gormplugin_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// kid is associated with a head in every way. richKid has a column that RETURNING brings.
type kid struct {
	ID     snowflake.ID `gorm:"type:int"`
	Text   string       `gorm:"size:20"`
	OneOf  *snowflake.ID
	ManyOf *snowflake.ID
}

type richKid struct {
	Kid   kid    `gorm:"embedded"`
	State string `gorm:"size:20;default:(lower('X'))"`
}

type head struct {
	ID       snowflake.ID `gorm:"type:int"`
	UpID     *snowflake.ID
	Up       *kid   `gorm:"foreignKey:UpID"`
	One      *kid   `gorm:"foreignKey:OneOf"`
	Many     []*kid `gorm:"foreignKey:ManyOf"`
	Tags     []*kid `gorm:"many2many:head_kids"`
	RichUpID *snowflake.ID
	RichUp   *richKid   `gorm:"foreignKey:RichUpID"`
	RichOne  *richKid   `gorm:"foreignKey:OneOf"`
	RichMany []*richKid `gorm:"foreignKey:ManyOf"`
	RichTags []*richKid `gorm:"many2many:head_rich_kids"`
}

func newKid(id snowflake.ID, text string) *kid { return &kid{ID: id, Text: text} }

// newRichKid sets the state, since SQLite knows no DEFAULT among values.
func newRichKid(id snowflake.ID, text string) *richKid {
	return &richKid{Kid: kid{ID: id, Text: text}, State: "set"}
}

func (k *kid) self() *kid     { return k }
func (k *richKid) self() *kid { return &k.Kid }

// kids are the children of one type, and how a head refers to them.
type kids[K any] struct {
	table string
	make  func(id snowflake.ID, text string) *K
	self  func(*K) *kid
	head  func(up, one *K, many, tags []*K) head
}

var plainKids = kids[kid]{
	table: "kids", make: newKid, self: (*kid).self,
	head: func(up, one *kid, many, tags []*kid) head { return head{Up: up, One: one, Many: many, Tags: tags} },
}

var richKids = kids[richKid]{
	table: "rich_kids", make: newRichKid, self: (*richKid).self,
	head: func(up, one *richKid, many, tags []*richKid) head {
		return head{RichUp: up, RichOne: one, RichMany: many, RichTags: tags}
	},
}

// kidWrites are the ways to write new children, with others or alone.
func kidWrites[K any](f kids[K]) map[string]func(tx *gorm.DB, list []*K) error {
	full := func(tx *gorm.DB) *gorm.DB { return tx.Session(&gorm.Session{FullSaveAssociations: true}) }
	save := func(tx *gorm.DB, h head) error { return tx.Create(&h).Error }
	each := func(of func(k *K) head) func(tx *gorm.DB, list []*K) error {
		return func(tx *gorm.DB, list []*K) error {
			if len(list) == 1 {
				return save(tx, of(list[0]))
			}
			heads := make([]head, 2, len(list)+2)
			for _, k := range list {
				heads = append(heads, of(k))
			}
			return tx.Create(&heads).Error
		}
	}

	up := each(func(k *K) head { return f.head(k, nil, nil, nil) })
	one := each(func(k *K) head { return f.head(nil, k, nil, nil) })
	many := func(tx *gorm.DB, list []*K) error { return save(tx, f.head(nil, nil, list, nil)) }
	return map[string]func(tx *gorm.DB, list []*K) error{
		"belongs to":         up,
		"has one":            one,
		"has many":           many,
		"belongs to in full": func(tx *gorm.DB, list []*K) error { return up(full(tx), list) },
		"has one in full":    func(tx *gorm.DB, list []*K) error { return one(full(tx), list) },
		"has many in full":   func(tx *gorm.DB, list []*K) error { return many(full(tx), list) },
		"many to many":       func(tx *gorm.DB, list []*K) error { return save(tx, f.head(nil, nil, nil, list)) },
		"shared by two": func(tx *gorm.DB, list []*K) error {
			h := f.head(nil, nil, nil, list)
			return tx.Create(&[]head{h, h, {}, {}, {}}).Error
		},
		"Save": func(tx *gorm.DB, list []*K) error { return tx.Save(&list).Error },
		"UpdateAll": func(tx *gorm.DB, list []*K) error {
			return tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&list).Error
		},
		"by the key":  func(tx *gorm.DB, list []*K) error { return tx.Clauses(by("id", "text")).Create(&list).Error },
		"DO NOTHING":  func(tx *gorm.DB, list []*K) error { return tx.Clauses(nothing).Create(&list).Error },
		"in batches":  func(tx *gorm.DB, list []*K) error { return tx.Clauses(nothing).CreateInBatches(&list, 10).Error },
		"one of them": func(tx *gorm.DB, list []*K) error { return tx.Clauses(nothing).Create(list[len(list)-1]).Error },
	}
}

// repeating is a generator that returns one ID again: in the calls for a number of IDs but the first ones, at a position.
type repeating struct {
	*counting
	id             snowflake.ID // 0 for none
	size, skip, at int
}

func (r *repeating) Fill(ctx context.Context, dst []snowflake.ID) error {
	if err := r.counting.Fill(ctx, dst); err != nil || len(dst) != r.size || r.id == 0 {
		return err
	}
	if r.skip--; r.skip < 0 {
		dst[r.at] = r.id
	}
	return nil
}

// withRepeats opens another handle on the database, whose generator repeats an ID.
func withRepeats(t *testing.T, db *env, config gorm.Config) (*handle, *repeating) {
	t.Helper()
	gen := &repeating{counting: &counting{next: firstID + snowflake.ID(rand.Int64N(1e15))}}
	h := openHandle(t, db.Dialector, config)
	noError(t, h.Use(gormplugin.New(gen)))
	return h, gen
}

// stranger returns all columns of the row that has the repeated ID.
func (h *handle) stranger(t *testing.T, table string) string {
	t.Helper()
	row := map[string]any{}
	must(t, h.Table(table).Where("id = ?", strangerID).Take(&row))
	return fmt.Sprint(row)
}

func TestARepeatedIDIsAnErrorAndTheRowOfTheOtherStays(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		testRepeats(t, db, plainKids)
		testRepeats(t, db, richKids)
	}, &kid{}, &richKid{}, &head{})
}

const strangerID snowflake.ID = 77

func testRepeats[K any](t *testing.T, db *env, f kids[K]) {
	must(t, db.Create(f.make(strangerID, "stranger")))
	preset := snowflake.ID(1000)
	for _, skipTx := range []bool{false, true} {
		h, gen := withRepeats(t, db, gorm.Config{SkipDefaultTransaction: skipTx})
		h.Logger = db.log
		for name, write := range kidWrites(f) {
			for _, shape := range []string{"all new", "mixed", "single"} {
				what := fmt.Sprintf("%s, %s, %s, without transaction: %v", f.table, name, shape, skipTx)
				list := func() []*K {
					preset++
					loaded := f.make(preset, "loaded")
					must(t, h.Create(loaded))
					return map[string][]*K{
						"all new": {f.make(0, "a"), f.make(0, "b"), f.make(0, "c")},
						"mixed":   {loaded, f.make(0, "a"), f.make(0, "b"), f.make(0, "c")},
						"single":  {f.make(0, "a")},
					}[shape]
				}

				repeated := list()
				gen.id, gen.size, gen.skip = strangerID, min(len(repeated), 3), 0 // of the new ones
				if name == "one of them" {
					gen.size = 1
				}
				gen.at = gen.size - 1
				if name == "shared by two" {
					gen.size *= 2
				}
				hasHead := !slices.Contains([]string{"Save", "UpdateAll", "by the key", "DO NOTHING", "in batches", "one of them"}, name)
				if gen.size == 1 && hasHead { // the first call is for the head
					gen.skip = 1
				}

				before, rows := h.stranger(t, f.table), h.rows(t)
				err := write(h.DB, repeated)
				wantErrorOf(t, what, err, gormplugin.ErrRepeated)
				wantErrorOf(t, what, err, gorm.ErrDuplicatedKey)
				equal(t, what+": mentions", strings.Count(fmt.Sprint(err), "exists already"), 1)
				equal(t, what+": the row", h.stranger(t, f.table), before)
				if !skipTx {
					equal(t, what+": rows", h.rows(t), rows)
				}
				for _, k := range repeated {
					if id := f.self(k).ID; id == strangerID || id > firstID && !skipTx {
						t.Errorf("%s: a record keeps the ID %d", what, id)
					}
				}

				// Without the repeat such records are written, with the statements of GORM alone.
				gen.id = 0
				written := list()
				db.log.take()
				noError(t, write(h.DB, written))
				selects := db.log.takeLike("SELECT")
				inParts := func(s string) bool { return strings.HasPrefix(s, "(") } // for the records that exist
				selects = slices.DeleteFunc(selects, inParts)
				for _, k := range written {
					if self := f.self(k); name != "one of them" {
						equal(t, what+": rows of the record", h.count(t, f.table, "id = ? AND text = ?", self.ID, self.Text), 1)
					}
				}
				unclear := shape == "mixed" || f.table == "rich_kids" // records that exist hide the others, as RETURNING does
				mayLookUp := unclear && db.mysql && len(selects) == 1
				if len(selects) > 0 && !mayLookUp {
					t.Errorf("%s: SELECTs %q", what, selects)
				}
			}
		}
	}
}

// rows returns the number of rows of all tables.
func (h *handle) rows(t *testing.T) string {
	t.Helper()
	var counts []int64
	for _, table := range []string{"kids", "rich_kids", "heads", "head_kids", "head_rich_kids"} {
		counts = append(counts, h.count(t, table, "1 = 1"))
	}
	return fmt.Sprint(counts)
}

// dispatch has a generated column beside its key, and a unique column of the caller.
type dispatch struct {
	ID       snowflake.ID `gorm:"type:int"`
	Code     string       `gorm:"uniqueIndex;size:20"`
	PublicID string       `gorm:"snowflake;size:20;uniqueIndex"`
	Weight   int
}

func TestAnyGeneratedColumnThatRepeatsIsAnError(t *testing.T) {
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		must(t, db.Create(&dispatch{ID: strangerID, Code: "stranger", PublicID: "88"}))
		h, gen := withRepeats(t, db, gorm.Config{})
		before := h.stranger(t, "dispatches")
		ignore := clause.Insert{Modifier: "OR IGNORE"}
		if db.mysql {
			ignore.Modifier = "IGNORE"
		}
		for name, c := range map[string]clause.Expression{
			"no clause": clause.Limit{}, "DO NOTHING": nothing, "UpdateAll": clause.OnConflict{UpdateAll: true},
			"by the public ID": by("public_id", "weight"), "by the code": by("code", "weight", "public_id"), "IGNORE": ignore,
		} {
			if name == "IGNORE" && db.target.Name == "postgres" {
				continue // it has none
			}
			for _, id := range []snowflake.ID{strangerID, 88} {
				for _, mixed := range []bool{false, true} {
					if name == "IGNORE" && mixed && db.mysql {
						continue // a count cannot tell which of the rows were inserted
					}
					what := fmt.Sprint(name, ", ", id, ", mixed: ", mixed)
					list := []dispatch{{Code: "a"}, {Code: "b"}}
					gen.id, gen.size, gen.skip, gen.at = id, 4, 0, 3
					if mixed {
						list = []dispatch{{ID: 5, Code: "a", PublicID: "6"}, {ID: 6, Code: "b"}}
						if gen.size, gen.at = 1, 0; id == strangerID {
							list[1] = dispatch{Code: "b", PublicID: "7"}
						}
					}
					if !mixed && id == strangerID { // the last ID that is drawn is a public one
						list, gen.size, gen.at = []dispatch{{Code: "a", PublicID: "1"}, {Code: "b", PublicID: "2"}}, 2, 1
					}
					wantErrorOf(t, what, h.Clauses(c).Create(&list).Error, gormplugin.ErrRepeated)
					equal(t, what+": the row", h.stranger(t, "dispatches"), before)
					h.wantKeys(t, "dispatches", strangerID)
				}
			}
		}

		gen.id = 0
		translating := openHandle(t, db.Dialector, gorm.Config{TranslateError: true})
		noError(t, translating.Use(gormplugin.New(gen)))
		for _, tx := range []*gorm.DB{h.DB, translating.DB, translating.Clauses(by("id", "weight"))} {
			err := tx.Create(&dispatch{Code: "stranger"}).Error // a conflict that the caller has made
			if tx.Statement.Clauses["ON CONFLICT"].Expression == nil && (err == nil || errors.Is(err, gormplugin.ErrRepeated)) {
				t.Errorf("error %v, want one of the unique code alone", err)
			}
		}
		gen.id, gen.size, gen.skip, gen.at = strangerID, 1, 0, 0
		want := gormplugin.ErrRepeated
		if dropsCause(db.Dialector) {
			want = gorm.ErrDuplicatedKey
		}
		wantError(t, translating.Create(&dispatch{Code: "c", PublicID: "9"}).Error, want)
	}, &dispatch{})
}

// dropsCause reports whether the driver translates an error of PostgreSQL to one without its detail, as 1.6.0 does.
func dropsCause(dialector gorm.Dialector) bool {
	translator, ok := dialector.(gorm.ErrorTranslator)
	if !ok || dialector.Name() != "postgres" {
		return false
	}
	translated := translator.Translate(&pgconn.PgError{Code: "23505"})
	return !errors.As(translated, new(*pgconn.PgError))
}

// ring is associated with rings that lead back to it.
type ring struct {
	ID      snowflake.ID `gorm:"type:int"`
	Text    string       `gorm:"size:20"`
	NextID  *snowflake.ID
	Next    *ring
	Befores []*ring `gorm:"foreignKey:NextID"`
}

func TestARecordThatItsAssociationsWriteFirstIsNoRepeat(t *testing.T) {
	type box struct {
		ID    snowflake.ID `gorm:"type:int"`
		Rings []*ring      `gorm:"many2many:box_rings"`
		TopID *snowflake.ID
		Top   *ring
	}

	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		for _, full := range []bool{false, true} {
			for way := range 3 {
				a, b, c := &ring{Text: "a"}, &ring{Text: "b"}, &ring{Text: "c"}
				a.Next, b.Befores = b, []*ring{a, c}
				x := []box{{Rings: []*ring{a}}, {Rings: []*ring{a, {Text: "d"}}}, {Top: a}}[way]
				must(t, db.Session(&gorm.Session{FullSaveAssociations: full}).Create(&x))
				equal(t, "rows", db.count(t, "rings", "id IN ?", []snowflake.ID{a.ID, b.ID, c.ID}), 3)
			}
		}
	}, &box{}, &ring{})
}

// A trigger that moves rows is PostgreSQL's way to partition by inheritance.
func TestATableWhoseTriggerMovesRowsReportsNoRepeats(t *testing.T) {
	db := open(t, testdb.Postgres(t), withoutConstraints, []any{&kid{}, &richKid{}, &head{}})
	for _, table := range []string{"kids", "rich_kids"} {
		db.moveRows(t, table)
	}
	for name, write := range kidWrites(plainKids) {
		wantErrorOf(t, name, write(db.DB, []*kid{newKid(0, "a"), newKid(0, "b"), newKid(0, "c")}), nil)
		wantErrorOf(t, name, write(db.DB, []*kid{newKid(0, "a"), newKid(db.gen.next+100, "b"), newKid(0, "c")}), nil)
	}
	for name, write := range kidWrites(richKids) {
		err := write(db.DB, []*richKid{newRichKid(0, "a"), newRichKid(db.gen.next+100, "b"), newRichKid(0, "c")})
		wantErrorOf(t, name+", rich", err, nil)
	}
}

// moveRows gives a table of PostgreSQL a trigger that moves new rows to a table that inherits from it.
func (h *handle) moveRows(t *testing.T, table string) {
	t.Helper()
	must(t, h.Exec("CREATE TABLE "+table+"_2026 () INHERITS ("+table+")"))
	must(t, h.Exec("CREATE FUNCTION move_"+table+"() RETURNS trigger LANGUAGE plpgsql AS "+
		"$$ BEGIN INSERT INTO "+table+"_2026 VALUES (NEW.*); RETURN NULL; END $$"))
	must(t, h.Exec("CREATE TRIGGER move BEFORE INSERT ON "+table+" FOR EACH ROW EXECUTE FUNCTION move_"+table+"()"))
}
