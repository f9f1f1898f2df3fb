package gormplugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func Example() {
	gen, err := snowflake.New(1) // this process is worker 1
	if err != nil {
		panic(err)
	}
	db, err := gorm.Open(sqlite.Open(":memory:"), gormplugin.New(gen))
	if err != nil {
		panic(err)
	}

	type User struct {
		gormplugin.Model
		Name string
	}
	if err := db.AutoMigrate(&User{}); err != nil {
		panic(err)
	}

	users := []User{{Name: "Ada"}, {Name: "Grace"}}
	if err := db.Create(&users).Error; err != nil {
		panic(err)
	}
	fmt.Println("made by worker", gen.Layout().Decompose(users[0].ID).Worker)
	fmt.Println("in order:", users[0].ID < users[1].ID)
	// Output:
	// made by worker 1
	// in order: true
}

// openExample opens a database in memory with the plugin, if there is one, and tables for the models.
func openExample(plugin *gormplugin.Plugin, models ...any) *gorm.DB {
	db, err := gorm.Open(sqlite.Open(":memory:"), &gorm.Config{Logger: logger.Discard})
	if err == nil && plugin != nil {
		err = db.Use(plugin)
	}
	if err == nil {
		err = db.AutoMigrate(models...)
	}
	check(err)
	return db
}

// check ends an example that has failed.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// fromThousand returns a plugin whose IDs are 1001, 1002 and so on, so that the output is the same each time.
func fromThousand(opts ...gormplugin.Option) *gormplugin.Plugin {
	return gormplugin.New(from(1001), opts...)
}

// Associations are filled with their parents. JSON has keys as strings, which JavaScript reads without loss.
func ExampleNew_associations() {
	type Line struct{ ID, OrderID snowflake.ID }
	type Order struct {
		ID    snowflake.ID
		Lines []Line
	}
	db := openExample(fromThousand(), &Order{}, &Line{})

	order := Order{Lines: []Line{{}, {}}}
	check(db.Create(&order).Error)
	text, err := json.Marshal(order)
	check(err)
	fmt.Println(string(text))
	// Output:
	// {"ID":"1001","Lines":[{"ID":"1002","OrderID":"1001"},{"ID":"1003","OrderID":"1001"}]}
}

// A record that updates an existing row takes its key over.
func ExampleNew_upsert() {
	type Country struct {
		ID   snowflake.ID
		Code string `gorm:"uniqueIndex"`
		Name string
	}
	db := openExample(fromThousand(), &Country{})

	db.Create(&Country{Code: "CZ", Name: "Czech Republic"})
	countries := []Country{{Code: "AT", Name: "Austria"}, {Code: "CZ", Name: "Czechia"}}
	byCode := clause.OnConflict{
		Columns:   []clause.Column{{Name: "code"}},
		DoUpdates: clause.AssignmentColumns([]string{"name"}),
	}
	check(db.Clauses(byCode).Create(&countries).Error)
	for _, c := range countries {
		fmt.Println(c.ID, c.Name)
	}
	// Output:
	// 1002 Austria
	// 1001 Czechia
}

// Visit has no created_at: the time is in the key.
type Visit struct {
	ID   snowflake.ID `gorm:"primaryKey;type:int"`
	Page string
}

// openVisits returns a database with a visit at each hour of a morning, from midnight on.
func openVisits(pages ...string) *gorm.DB {
	gen := gormtest.New(snowflake.Default(), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), time.Hour)
	db := openExample(gormplugin.New(gen), &Visit{})
	for _, page := range pages {
		check(db.Create(&Visit{Page: page}).Error)
	}
	return db
}

func clock(hour int) time.Time { return time.Date(2026, 1, 2, hour, 0, 0, 0, time.UTC) }

func pages(visits []Visit) (list []string) {
	for _, v := range visits {
		list = append(list, v.Page)
	}
	return list
}

func ExampleCreatedBetween() {
	db := openVisits("home", "docs", "blog", "jobs")

	var visits []Visit
	check(db.Where(gormplugin.CreatedBetween(clock(1), clock(3))).Find(&visits).Error)
	fmt.Println(pages(visits))

	fmt.Println(db.ToSQL(func(db *gorm.DB) *gorm.DB {
		return db.Where(gormplugin.CreatedBetween(clock(1), clock(3))).Find(&visits)
	}))
	// Output:
	// [docs blog]
	// SELECT * FROM `visits` WHERE (`visits`.`id` >= 132649058304000000 AND `visits`.`id` < 132679257292800000)
}

func ExampleCreatedBefore() {
	db := openVisits("home", "docs", "blog", "jobs")

	result := db.Where("page <> ?", "docs").Delete(&Visit{}, gormplugin.CreatedBefore(clock(2)))
	check(result.Error)
	fmt.Println("deleted:", result.RowsAffected)

	// A mistake deletes nothing.
	var forgotten time.Time
	fmt.Println(db.Delete(&Visit{}, gormplugin.CreatedBefore(forgotten)).Error)
	// Output:
	// deleted: 1
	// gormplugin: invalid condition: the upper bound of visits.id is the zero time; CreatedSince has none
}

func ExamplePage() {
	db := openVisits("home", "docs", "blog", "docs", "home", "jobs")

	// The newest two, and the two before them. The OR stays on the page.
	newest := gormplugin.Page{Limit: 2, Desc: true}
	var visits []Visit
	check(db.Clauses(newest).Where("page = ?", "home").Or("page = ?", "docs").Find(&visits).Error)
	fmt.Println(pages(visits))

	next := gormplugin.Page{After: visits[1].ID, Limit: 2, Desc: true}
	visits, err := gorm.G[Visit](db, next).Where("page = ?", "home").Or("page = ?", "docs").Find(context.Background())
	check(err)
	fmt.Println(pages(visits))

	// Output:
	// [home docs]
	// [docs home]
}

// A list in an API: the cursor is the last key, which JSON has as a string. The client sends it back as After.
func ExampleNextPage() {
	db := openVisits("home", "docs", "blog")

	page := gormplugin.Page{Limit: 2}
	for more := true; more; {
		visits, err := gorm.G[Visit](db, page).Find(context.Background())
		check(err)
		if page, more, err = gormplugin.NextPage(page, visits, func(v Visit) snowflake.ID { return v.ID }); err != nil {
			panic(err)
		}

		cursor, err := json.Marshal(page.After)
		fmt.Println(pages(visits), more, string(cursor), err)
	}
	// Output:
	// [home docs] true "132649058304000000" <nil>
	// [blog] false "132664157798400000" <nil>
}

// All rows, two at a time.
func ExampleEach() {
	db := openVisits("home", "docs", "blog", "docs")

	for visit, err := range gormplugin.Each[Visit](context.Background(), db, gormplugin.Page{Limit: 2}) {
		fmt.Println(visit.Page, err)
	}
	// Output:
	// home <nil>
	// docs <nil>
	// blog <nil>
	// docs <nil>
}

func Example_tags() {
	type Invoice struct {
		ID       snowflake.ID
		PublicID string `gorm:"snowflake;size:19;uniqueIndex"`
		Total    int
	}

	db := openExample(fromThousand(), &Invoice{})

	invoices := []Invoice{{Total: 5}, {Total: 7}}
	check(db.Create(&invoices).Error)

	for _, i := range invoices {
		fmt.Println(i.ID, i.PublicID, i.Total)
	}
	// Output:
	// 1001 1002 5
	// 1003 1004 7
}

func ExampleWithNamed() {
	type Parcel struct {
		ID      snowflake.ID
		Barcode int64 `gorm:"snowflake:gen=barcodes"`
	}

	barcodes := from(700) // of another layout, say
	db := openExample(fromThousand(gormplugin.WithNamed("barcodes", barcodes)), &Parcel{})

	p := Parcel{}
	check(db.Create(&p).Error)

	fmt.Println(p.ID, p.Barcode)
	// Output: 1001 700
}

func ExampleWithIntegerKeys() {
	type Account struct {
		gorm.Model // ID is a uint
		Name       string
	}

	db := openExample(fromThousand(gormplugin.WithIntegerKeys()))
	check(gormplugin.DisableAutoIncrement(db, &Account{}))
	check(db.AutoMigrate(&Account{}))

	a := Account{Name: "ada"}
	check(db.Create(&a).Error)

	fmt.Println(a.ID)
	var create string
	db.Raw("SELECT sql FROM sqlite_master WHERE name = 'accounts'").Scan(&create)
	fmt.Println(create[:32])
	// Output:
	// 1001
	// CREATE TABLE `accounts` (`id` in
}

// Up to 1,024 copies of this program can run at the same time.
func ExampleOpen() {
	ctx := context.Background()
	db, err := gorm.Open(sqlite.Open(":memory:"), &gorm.Config{}) // or a file, PostgreSQL, MySQL, MariaDB
	if err != nil {
		panic(err)
	}
	plugin, err := gormplugin.Open(ctx, db) // leases a worker in this database
	if err != nil {
		panic(err)
	}
	defer func() { _ = plugin.Close(ctx) }() // gives it back

	type User struct {
		gormplugin.Model
		Name string
	}

	if err := db.AutoMigrate(&User{}); err != nil {
		panic(err)
	}

	users := []User{{Name: "Ada"}, {Name: "Grace"}}
	if err := db.Create(&users).Error; err != nil {
		panic(err)
	}

	fmt.Println("in order:", 0 < users[0].ID && users[0].ID < users[1].ID)
	// Output:
	// in order: true
}

// Several processes write to tables of InnoDB (MySQL, MariaDB): with this layout their keys fill its pages.
func ExampleWithLayout() {
	db, ctx := openExample(nil), context.Background()
	plugin, err := gormplugin.Open(ctx, db, gormplugin.WithLayout(snowflake.Clustered()))
	check(err)

	fmt.Println(plugin.Lease().Generator().Layout())

	check(plugin.Close(ctx))
	// Output: epoch=2025-01-01T00:00:00Z tick=1ms time:19 worker:10 time:22 sequence:12
}

// With Clustered the keys of each worker ascend, not those of all. The newest rows come from an index on created_at.
func ExampleWithLayout_newestRows() {
	type Order struct {
		gormplugin.Model
		Name string
	}
	db := openExample(fromThousand(), &Order{})
	check(db.Exec("CREATE INDEX orders_created_at ON orders (created_at, id)").Error)
	check(db.Create(&[]Order{{Name: "first"}, {Name: "second"}, {Name: "third"}}).Error)

	var newest []Order
	check(db.Order("created_at DESC, id DESC").Limit(2).Find(&newest).Error)
	fmt.Println(newest[0].Name, newest[1].Name)
	// Output: third second
}

// The lease can have a namespace for a group of programs.
func ExampleWithLease() {
	db, ctx := openExample(nil), context.Background()
	plugin, err := gormplugin.Open(ctx, db, gormplugin.WithLease(
		lease.WithNamespace("billing"),
		lease.WithWorkers(16, 31), // the others are given to programs by hand
	))
	check(err)

	status := plugin.Lease().Status()
	fmt.Println(status.Namespace, status.Worker)

	check(plugin.Close(ctx))
	// Output: billing 16
}

// One generator for each resource type, in a region: an ID says where it was made, and what it is the key of.
func Example_resources() {
	type User struct{ ID snowflake.ID }
	type Order struct {
		ID     snowflake.ID `gorm:"primaryKey;snowflake:gen=orders"`
		UserID snowflake.ID
	}
	db, ctx := openExample(nil, &User{}, &Order{}), context.Background()
	users, errUsers := leaseOf(ctx, db, "users", 200)
	orders, errOrders := leaseOf(ctx, db, "orders", 201)
	err := errors.Join(errUsers, errOrders)
	if err == nil {
		err = db.Use(gormplugin.New(users.Generator(), gormplugin.WithNamed("orders", orders.Generator())))
	}
	check(err)

	user, order := User{}, Order{}
	err = db.Create(&user).Error
	if err == nil {
		order.UserID = user.ID
		err = db.Create(&order).Error
	}
	check(err)
	fmt.Println(users.Generator().Layout().Decompose(user.ID).Fields)
	fmt.Println(orders.Generator().Layout().Decompose(order.ID).Fields)

	check(errors.Join(users.Close(ctx), orders.Close(ctx)))
	// Output:
	// map[region:22 type:200]
	// map[region:22 type:201]
}

// leaseOf leases a worker for a resource type. The type keeps the IDs of two namespaces apart, also of one worker. Each
// region has a number, and a lease table of its own.
func leaseOf(ctx context.Context, db *gorm.DB, namespace string, resource int64) (*lease.Lease, error) {
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	store, err := sqllease.New(pool, sqldb.SQLite)
	if err == nil {
		err = store.Migrate(ctx)
	}
	if err != nil {
		return nil, err
	}

	generator := lease.WithGenerator(snowflake.WithLayout(snowflake.MustPreset("resource")),
		snowflake.WithField("region", 22), snowflake.WithField("type", resource))
	return lease.Open(ctx, store, lease.WithNamespace(namespace), generator)
}
