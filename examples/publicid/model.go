package main

import "github.com/sqlflake/sqlflake/sqltypes/publicid"

// codecs are set by useKeys before a server starts, and not while one runs.
var codecs struct{ users, orders *publicid.Codec }

// useKeys makes the codecs. Both have the same keys; the domain keeps their tokens apart.
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

// User is a row, and the JSON of one.
type User struct {
	ID     UserID  `gorm:"primaryKey;type:int" json:"id"` // on SQLite the row's own place in the file
	Name   string  `json:"name"`
	Orders []Order `json:"orders,omitempty"`
}

// Order is a row, and the JSON of one.
type Order struct {
	ID      OrderID `gorm:"primaryKey;type:int" json:"id"`
	UserID  UserID  `json:"-"`
	Article string  `json:"article"`
}
