package publicid_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// The keys of the tests. The first is that of the vectors.
const (
	oldKey   = "old:000102030405060708090a0b0c0d0e0f"
	newKey   = "new:f0e1d2c3b4a5968778695a4b3c2d1e0f"
	otherKey = "other:00000000000000000000000000000001"
)

func mustKeys(text string) []publicid.Key {
	keys, err := publicid.ParseKeys(text)
	if err != nil {
		panic(err)
	}
	return keys
}

func mustCodec(domain, keys string) *publicid.Codec {
	codec, err := publicid.New(domain, mustKeys(keys))
	if err != nil {
		panic(err)
	}
	return codec
}

func mustToken(t testing.TB, codec *publicid.Codec, id snowflake.ID) string {
	t.Helper()
	token, err := codec.Token(id)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

const (
	alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	length   = 26
)

// numberOf returns the number of a text. math/big has its digits in another order.
func numberOf(text string) *big.Int {
	n := new(big.Int)
	for _, c := range []byte(text) {
		n.Add(n.Lsh(n, 5), big.NewInt(int64(strings.IndexByte(alphabet, c))))
	}
	return n
}

// textOf returns a number as a text of that length.
func textOf(n *big.Int) string {
	text, rest, digit := make([]byte, length), new(big.Int).Set(n), new(big.Int)
	for i := len(text) - 1; i >= 0; i-- {
		rest.DivMod(rest, big.NewInt(32), digit)
		text[i] = alphabet[digit.Int64()]
	}
	return string(text)
}

// someIDs are the smallest and largest, and some of all sizes.
func someIDs() []snowflake.ID {
	ids := []snowflake.ID{1, 2, 255, 256, 175907170989793351, math.MaxInt64 - 1, math.MaxInt64}
	random := rand.New(rand.NewPCG(1, 2))
	for shift := range 63 {
		ids = append(ids, snowflake.ID(random.Int64()>>shift|1))
	}
	return ids
}

// The kinds of the tests, as a program declares them.
type (
	userKind  struct{}
	orderKind struct{}
	noKind    struct{} // has no codec

	UserID  = publicid.ID[userKind]
	OrderID = publicid.ID[orderKind]
)

var (
	users  = mustCodec("user", newKey+","+oldKey)
	orders = mustCodec("order", newKey+","+oldKey)
)

func (userKind) Codec() *publicid.Codec  { return users }
func (orderKind) Codec() *publicid.Codec { return orders }
func (noKind) Codec() *publicid.Codec    { return nil }

func userID(n snowflake.ID) UserID            { return publicid.IDFrom[userKind](n) }
func orderID(n snowflake.ID) OrderID          { return publicid.IDFrom[orderKind](n) }
func noID(n snowflake.ID) publicid.ID[noKind] { return publicid.IDFrom[noKind](n) }
