package sqltypes_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/sqltypes"
)

type userKind struct{}

func (userKind) Prefix() string { return "user" }

type orderKind struct{}

func (orderKind) Prefix() string { return "order" }

// apiKeyKind has a prefix with underscores.
type apiKeyKind struct{}

func (apiKeyKind) Prefix() string { return "my_api__key" }

// noteKind has the first letter of null, which encoding/json looks at.
type noteKind struct{}

func (noteKind) Prefix() string { return "note" }

type shortestKind struct{}

func (shortestKind) Prefix() string { return "x" }

type longestKind struct{}

func (longestKind) Prefix() string { return "a" + strings.Repeat("_", 61) + "z" }

type (
	userID  = sqltypes.Typed[userKind]
	orderID = sqltypes.Typed[orderKind]
)

// The interfaces of Typed.
var (
	_ fmt.Stringer                              = userID(0)
	_ encoding.TextAppender                     = userID(0)
	_ encoding.TextMarshaler                    = userID(0)
	_ encoding.TextUnmarshaler                  = (*userID)(nil)
	_ json.Unmarshaler                          = (*userID)(nil)
	_ driver.Valuer                             = userID(0)
	_ sql.Scanner                               = (*userID)(nil)
	_ interface{ UnmarshalParam(string) error } = (*userID)(nil) // gin and echo
	_ interface{ GormDataType() string }        = userID(0)      // GORM
	_ gormplugin.Key                            = (*userID)(nil)
)
