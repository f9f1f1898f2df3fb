package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/adopt"
	"github.com/sqlflake/sqlflake/snowflake"
)

const (
	users         = 1000
	ordersPerUser = 5
)

// migration is one run of the example. err is the first error of an output.
type migration struct {
	out    io.Writer
	old    *gorm.DB // handle of the old version of the program
	db     *gorm.DB // handle of the new version, with the plugin
	layout snowflake.Layout
	before []row // the rows before any change
	err    error
}

func (m *migration) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(m.out, format, args...); m.err == nil {
		m.err = err
	}
}

// row is one row of a table, read without the models.
type row struct {
	Kind                    string
	ID, Reference, Cents    int64
	Text                    string
	CreatedAt               time.Time
	Deleted                 bool
	UserExists, UserDeleted bool
}

// rows reads both tables, and the users that the orders refer to.
func rows(db *gorm.DB) (all []row, err error) {
	err = db.Raw(`
		SELECT 'user' AS kind, u.id, 0 AS reference, 0 AS cents, concat(u.name, u.email) AS text, u.created_at,
			u.deleted_at IS NOT NULL AS deleted, false AS user_exists, false AS user_deleted
		FROM adopt_users u`).Scan(&all).Error
	var orders []row
	if err == nil {
		err = db.Raw(`
			SELECT 'order' AS kind, o.id, o.user_id AS reference, o.cents, '' AS text, o.created_at,
				o.deleted_at IS NOT NULL AS deleted, u.id IS NOT NULL AS user_exists, u.deleted_at IS NOT NULL AS user_deleted
			FROM adopt_orders o LEFT JOIN adopt_users u ON u.id = o.user_id`).Scan(&orders).Error
	}
	all = append(all, orders...)
	slices.SortFunc(all, func(a, b row) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return all, err
}

// shopAsItIs fills the tables with two months of rows, as the old version of the program would.
func (m *migration) shopAsItIs() error {
	if err := m.old.AutoMigrate(&oldUser{}, &oldOrder{}); err != nil {
		return fmt.Errorf("create the tables: %w", err)
	}
	at := time.Date(2024, 3, 1, 9, 0, 0, 0, time.UTC)
	tick := func() gorm.Model {
		at = at.Add(15 * time.Minute)
		return gorm.Model{CreatedAt: at, UpdatedAt: at}
	}
	all := make([]oldUser, users)
	for i := range all {
		all[i] = oldUser{Model: tick(), Name: fmt.Sprint("user ", i+1), Email: fmt.Sprintf("%d@example.org", i+1)}
	}
	orders := make([]oldOrder, users*ordersPerUser)
	err := m.old.Transaction(func(tx *gorm.DB) error {
		if err := tx.CreateInBatches(all, 500).Error; err != nil {
			return err
		}
		for i := range orders {
			orders[i] = oldOrder{Model: tick(), UserID: all[i*7%users].ID, Cents: int64(i)}
		}
		if err := tx.CreateInBatches(orders, 500).Error; err != nil {
			return err
		}
		if err := tx.Where("id % 10 = 0").Delete(&oldOrder{}).Error; err != nil { // soft deletion
			return err
		}
		return tx.Where("id % 100 = 0").Delete(&oldUser{}).Error
	})
	if err != nil {
		return fmt.Errorf("fill the tables: %w", err)
	}
	if m.before, err = rows(m.old); err != nil {
		return err
	}
	m.printf("\n1. The old shop: gorm.Model, the database makes the keys.\n")
	return m.count()
}

// count prints the number of rows by kind of key.
func (m *migration) count() error {
	all, err := rows(m.old)
	if err != nil {
		return err
	}
	type kinds struct{ small, large, deleted int }
	var n [2]kinds
	for _, r := range all {
		k := &n[0]
		if r.Kind == "order" {
			k = &n[1]
		}
		if r.ID <= users*ordersPerUser {
			k.small++
		} else {
			k.large++
		}
		if r.Deleted {
			k.deleted++
		}
	}
	for i, name := range []string{"users: ", "orders:"} {
		m.printf("   %s %4d with small keys, %3d with snowflakes; %d of them soft-deleted\n",
			name, n[i].small, n[i].large, n[i].deleted)
	}
	return nil
}

// newModels reads the old rows with the new models, which needs no change of the tables.
func (m *migration) newModels() error {
	n, err := countChanges(m.db, func(db *gorm.DB) error { return db.AutoMigrate(&User{}, &Order{}) })
	if err != nil {
		return fmt.Errorf("migrate with the new models: %w", err)
	}
	var user User
	if err := m.db.Preload("Orders").First(&user, 17).Error; err != nil {
		return fmt.Errorf("read an old user: %w", err)
	}
	m.printf("\n2. New models: gormplugin.ModelSoftDelete, references of type snowflake.ID.\n")
	m.printf("   AutoMigrate: %d changes of the schema\n", n)
	m.printf("   user %d: %s, with %d orders that are not deleted\n", user.ID, user.Name, len(user.Orders))
	return nil
}

var errUndo = errors.New("undo")

// oldBesideNew shows why on some databases the old processes must end before the first new one writes: their counter
// continues after the largest key, among numbers that a generator issues next. Inserts then fail with a duplicate key.
// PostgreSQL's sequences do not depend on the keys.
func (m *migration) oldBesideNew() error {
	var created User
	var late oldUser
	err := m.db.Transaction(func(tx *gorm.DB) error {
		created = User{Name: "new", Email: "new@example.org"}
		if err := tx.Create(&created).Error; err != nil {
			return err
		}
		late = oldUser{Name: "late", Email: "late@example.org"}
		if err := tx.Create(&late).Error; err != nil {
			return err
		}
		return errUndo
	})
	if !errors.Is(err, errUndo) {
		return fmt.Errorf("write as both versions: %w", err)
	}
	m.printf("\n3. A new process inserts a snowflake, then an old one lets the database make a key:\n")
	switch uint64(late.ID) {
	case users + 1:
		m.printf("   it gets %d. Both versions can write at the same time.\n", late.ID)
	case uint64(created.ID) + 1:
		m.printf("   it gets the snowflake + 1, which the generator may issue next.\n")
		m.printf("   So stop the old writers first, or retry after a duplicate key.\n")
	default:
		return fmt.Errorf("unexpected key %d of the old process, after %d", late.ID, created.ID)
	}
	m.printf("   (Rolled back.)\n")
	return nil
}

// dropCounters is the last step of the deployment, when no old process is left.
func (m *migration) dropCounters() error {
	drop := func(db *gorm.DB) error { return adopt.DropAutoIncrement(db, &User{}, &Order{}) }
	first, err := countChanges(m.db, drop)
	if err != nil {
		return err
	}
	again, err := countChanges(m.db, drop)
	if err != nil {
		return err
	}
	migrated, err := countChanges(m.db, func(db *gorm.DB) error { return db.AutoMigrate(&User{}, &Order{}) })
	if err != nil {
		return fmt.Errorf("migrate without the counters: %w", err)
	}
	after, err := rows(m.db)
	switch {
	case err != nil:
		return err
	case first == 0:
		return errors.New("DropAutoIncrement found nothing to do")
	case !slices.Equal(after, m.before):
		return errors.New("the rows have changed")
	}
	m.printf("\n4. DropAutoIncrement.\n")
	m.printf("   unchanged rows: %d of %d\n", len(after), len(m.before))
	m.printf("   a second call: %d changes of the schema; AutoMigrate: %d\n", again, migrated)
	return m.count()
}

// goOn creates rows with the new version of the program, for new and for old users.
func (m *migration) goOn() error {
	news := make([]User, 100)
	for i := range news {
		news[i] = User{
			Name: fmt.Sprint("user ", users+i+1), Email: fmt.Sprintf("%d@example.org", users+i+1),
			Orders: []Order{{Cents: 100}, {Cents: 200}},
		}
	}
	if err := m.db.Create(&news).Error; err != nil {
		return fmt.Errorf("create users: %w", err)
	}
	order := Order{UserID: 17, Cents: 300}
	if err := m.db.Create(&order).Error; err != nil {
		return fmt.Errorf("create an order: %w", err)
	}
	m.printf("\n5. 100 users with 2 orders each, and one order of user 17.\n")
	if err := m.count(); err != nil {
		return err
	}

	all, err := rows(m.db)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b row) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID)) })
	for i, r := range all {
		switch {
		case i > 0 && r.Kind == all[i-1].Kind && r.CreatedAt.Before(all[i-1].CreatedAt):
			return fmt.Errorf("%s %d was created before %s %d", r.Kind, r.ID, r.Kind, all[i-1].ID)
		case r.Kind == "order" && !r.UserExists:
			return fmt.Errorf("order %d has no user", r.ID)
		}
	}
	m.printf("   ORDER BY id is the order of creation; every order finds its user\n")
	var before, old int64
	if err := m.db.Model(&Order{}).Where(gormplugin.CreatedBefore(time.Now().Add(time.Hour))).Count(&before).Error; err != nil {
		return err
	}
	if err := m.db.Model(&Order{}).Where("id < ?", users*ordersPerUser+1).Count(&old).Error; err != nil {
		return err
	}
	m.printf("   gormplugin.CreatedBefore(now) finds %d orders; the %d with small keys need another condition\n", before, old)

	var found []Order
	if err := m.db.Where("user_id = ?", 17).Order("id").Find(&found).Error; err != nil {
		return err
	}
	digits := regexp.MustCompile(`\d{10,}`)
	for _, o := range []Order{found[0], found[len(found)-1]} {
		text, err := json.Marshal(struct {
			ID     snowflake.ID `json:"id"`
			UserID snowflake.ID `json:"user_id"`
		}{o.ID, o.UserID})
		if err != nil {
			return err
		}
		m.printf("   an order of user 17 in JSON: %s\n", digits.ReplaceAll(text, []byte("(18 digits)")))
	}
	return m.layout.Validate(order.ID)
}

// withoutKey inserts a row as a remaining old process would.
func (m *migration) withoutKey() error {
	var before, made int64
	if err := m.old.Raw("SELECT max(id) FROM adopt_users").Scan(&before).Error; err != nil {
		return err
	}
	forgotten := oldUser{Name: "forgotten", Email: "forgotten@example.org"}
	err := m.old.Create(&forgotten).Error
	m.printf("\n6. A remaining old process lets the database make a key:\n")
	if err != nil {
		m.printf("   it is rejected\n")
		return nil
	}
	if err := m.old.Raw("SELECT max(id) FROM adopt_users").Scan(&made).Error; err != nil {
		return err
	}
	if m.old.Name() != "sqlite" || made != before+1 {
		return fmt.Errorf("unexpected key %d, the largest was %d", made, before)
	}
	m.printf("   SQLite gives it the largest + 1, with or without AUTOINCREMENT: make sure that none is left\n")
	return nil
}
