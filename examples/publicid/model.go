package main

import "github.com/sqlflake/sqlflake/sqltypes/publicid"

// codecs is set by useKeys before a server starts, and not changed while it runs.
var codecs struct{ users, orders *publicid.Codec }

// useKeys makes the codecs. Both have the same keys; the domain separates their tokens.
func useKeys(keys []publicid.Key) (err error) {
	if codecs.users, err = publicid.New("user", keys); err != nil {
		return err
	}
	codecs.orders, err = publicid.New("order", keys)
	return err
}

type (
	userKind  struct{}
	orderKind struct{}
)

func (userKind) Codec() *publicid.Codec  { return codecs.users }
func (orderKind) Codec() *publicid.Codec { return codecs.orders }

// UserID and OrderID are bigint in the database and tokens everywhere else.
type (
	UserID  = publicid.ID[userKind]
	OrderID = publicid.ID[orderKind]
)

// User is a row and its JSON.
type User struct {
	ID     UserID  `gorm:"primaryKey;type:int;size:64" json:"id"` // the rowid on SQLite
	Name   string  `json:"name"`
	Orders []Order `json:"orders,omitempty"`
}

// Order is a row and its JSON.
type Order struct {
	ID      OrderID `gorm:"primaryKey;type:int;size:64" json:"id"`
	UserID  UserID  `json:"-"`
	Article string  `json:"article"`
}
