package main

import (
	"errors"
	"slices"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

// User has two keys. ID is above 2^53. Number is of the layout JavaScriptSafe, so it is exact in JavaScript.
type User struct {
	gormplugin.Model
	Name   string
	Number int64 `gorm:"snowflake:safe;uniqueIndex;not null"`
}

// openDB creates a database in memory. For a service of several processes, gormplugin.Open leases the workers.
func openDB() (*gorm.DB, error) {
	gen, err := snowflake.New(1)
	safe, errSafe := snowflake.New(1, snowflake.WithLayout(snowflake.MustPreset("javascriptsafe")))
	if err := errors.Join(err, errSafe); err != nil {
		return nil, err
	}
	plugin := gormplugin.New(gen, gormplugin.WithNamed("safe", safe))
	db, err := gorm.Open(sqlite.Open(":memory:"), &gorm.Config{Logger: logger.Discard}, plugin)
	if err != nil {
		return nil, err
	}
	if pool, err := db.DB(); err == nil {
		pool.SetMaxOpenConns(1) // each connection would have a database of its own
	}
	return db, db.AutoMigrate(&User{})
}

// createUsers stores two users, whose keys are of one millisecond. It makes others instead if the keys are two numbers
// in JavaScript, or if one ends in 0: JavaScript prints 17 digits of such a number and then a 0, so that link may open.
func createUsers(db *gorm.DB) error {
	for {
		two := []User{{Name: "Ada"}, {Name: "Grace"}}
		err := db.Create(&two).Error
		if a, b := two[0].ID, two[1].ID; err != nil || float64(a) == float64(b) && a%10 != 0 && b%10 != 0 {
			return err
		}
		if err := db.Delete(&two).Error; err != nil {
			return err
		}
	}
}

// newestUsers returns the last two users.
func newestUsers(db *gorm.DB) (list []User, err error) {
	err = db.Order("id DESC").Limit(2).Find(&list).Error
	slices.Reverse(list)
	return list, err
}

// findUser returns the user with an ID that was sent as the kind, and gorm.ErrRecordNotFound if there is none.
func findUser(db *gorm.DB, kind, id string) (user User, err error) {
	column := map[string]string{"numbers": "id", "strings": "id", "safe": "number"}[kind]
	key, err := snowflake.Parse(id)
	if err != nil || column == "" {
		return user, gorm.ErrRecordNotFound
	}
	return user, db.Where(column+" = ?", key).Take(&user).Error
}
