package publicid_test

import (
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

// The kinds of the tests, as a program declares them.
type (
	userKind  struct{}
	orderKind struct{}
	shortKind struct{} // base 62
	noKind    struct{} // has no codec
)

var (
	users  = mustCodec("user", newKey+","+oldKey)
	orders = mustCodec("order", newKey+","+oldKey)
	shorts = mustCodec("short", newKey, publicid.WithBase62())
)

func (userKind) Codec() *publicid.Codec  { return users }
func (orderKind) Codec() *publicid.Codec { return orders }
func (shortKind) Codec() *publicid.Codec { return shorts }
func (noKind) Codec() *publicid.Codec    { return nil }

type (
	UserID  = publicid.ID[userKind]
	OrderID = publicid.ID[orderKind]
	ShortID = publicid.ID[shortKind]
	NoID    = publicid.ID[noKind]
)

func userID(n snowflake.ID) UserID   { return publicid.IDFrom[userKind](n) }
func orderID(n snowflake.ID) OrderID { return publicid.IDFrom[orderKind](n) }
func shortID(n snowflake.ID) ShortID { return publicid.IDFrom[shortKind](n) }
func noID(n snowflake.ID) NoID       { return publicid.IDFrom[noKind](n) }
