package main

import (
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

// The models as the application has them today: gorm.Model has a key of type uint, and the database counts it up.

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

// The models of the new version. The embedded struct and the types of the references are all that differs: the columns,
// indexes and foreign keys are the same, so AutoMigrate finds nothing to do. Models that must stay as they are, with keys
// of type uint, are for gormplugin.IntegerKeys and gormplugin.Prepare; their keys are numbers in JSON, which browsers round.

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
