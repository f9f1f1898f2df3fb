package gormplugin_test

import (
	"encoding/json"
	"fmt"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
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

// openExample opens a database in memory with tables for the models.
func openExample(plugin *gormplugin.Plugin, models ...any) *gorm.DB {
	db, err := gorm.Open(sqlite.Open(":memory:"), &gorm.Config{Logger: logger.Discard}, plugin)
	if err == nil {
		err = db.AutoMigrate(models...)
	}
	if err != nil {
		panic(err)
	}
	return db
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
	if err := db.Create(&order).Error; err != nil {
		panic(err)
	}
	text, err := json.Marshal(order)
	if err != nil {
		panic(err)
	}
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
	if err := db.Clauses(byCode).Create(&countries).Error; err != nil {
		panic(err)
	}
	for _, c := range countries {
		fmt.Println(c.ID, c.Name)
	}
	// Output:
	// 1002 Austria
	// 1001 Czechia
}
