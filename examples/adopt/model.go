package main

import (
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

// The old models: gorm.Model has a key of type uint, and the database makes the keys.

type oldUser struct {
	gorm.Model
	Name   string     `gorm:"size:80;not null"`
	Email  string     `gorm:"size:80;uniqueIndex"`
	Orders []oldOrder `gorm:"foreignKey:UserID"`
}

type oldOrder struct {
	gorm.Model
	UserID uint `gorm:"index;not null"`
	Cents  int64
}

func (oldUser) TableName() string  { return "adopt_users" }
func (oldOrder) TableName() string { return "adopt_orders" }

// The new models. Only the embedded struct and the types of the references differ. Columns, indexes and foreign keys
// stay the same, so AutoMigrate has nothing to do. For models that must keep keys of type uint there is
// gormplugin.WithIntegerKeys; their keys are numbers in JSON, which browsers round.

// User is a customer of the shop.
type User struct {
	gormplugin.ModelSoftDelete
	Name   string  `gorm:"size:80;not null" json:"name"`
	Email  string  `gorm:"size:80;uniqueIndex" json:"email"`
	Orders []Order `gorm:"foreignKey:UserID" json:"orders,omitempty"`
}

// Order is what a user has bought.
type Order struct {
	gormplugin.ModelSoftDelete
	UserID snowflake.ID `gorm:"index;not null" json:"user_id"`
	Cents  int64        `json:"cents"`
}

// TableName keeps the table of the old model.
func (User) TableName() string { return "adopt_users" }

// TableName keeps the table of the old model.
func (Order) TableName() string { return "adopt_orders" }
