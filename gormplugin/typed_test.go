package gormplugin_test

import (
	"cmp"
	"slices"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// The kinds of a shop whose IDs the compiler keeps apart.
type (
	buyerKind   struct{}
	saleKind    struct{}
	voucherKind struct{}

	buyerID   = sqltypes.Typed[buyerKind]
	saleID    = sqltypes.Typed[saleKind]
	voucherID = sqltypes.Typed[voucherKind]
)

func (buyerKind) Prefix() string   { return "buyer" }
func (saleKind) Prefix() string    { return "sale" }
func (voucherKind) Prefix() string { return "voucher" }

type buyer struct {
	ID        buyerID `gorm:"primaryKey;type:int"`
	Name      string
	InviterID *sqltypes.Typed[buyerKind]
	Inviter   *buyer
	FriendID  *buyerID
	Friend    *buyer
	Sales     []sale
}

type sale struct {
	ID       saleID `gorm:"primaryKey"`
	BuyerID  buyerID
	Buyer    *buyer
	Vouchers []voucher `gorm:"many2many:sale_vouchers"`
}

type voucher struct {
	ID   voucherID `gorm:"primaryKey;type:int"`
	Code string
}

var shopOfTypedKeys = []any{&buyer{}, &sale{}, &voucher{}}

func TestTypedKeysAreFilledAlone(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		one := buyer{Name: "a"}
		must(t, db.Create(&one))
		equal(t, "key", one.ID, buyerID(firstID))

		preset := []buyer{{Name: "b"}, {ID: 7, Name: "c"}, {Name: "d"}}
		must(t, db.Create(&preset))
		equal(t, "key that was set", preset[1].ID, 7)
		wantCalls(t, db.gen, 1, 2)

		must(t, db.CreateInBatches([]*buyer{{Name: "e"}, {Name: "f"}, {Name: "g"}}, 2))
		wantCalls(t, db.gen, 2, 1)

		byMap := map[string]any{"Name": "h"}
		must(t, db.Model(&buyer{}).Create(byMap))
		equal(t, "key in the map", byMap["id"], any(buyerID(firstID+6)))
		maps := []map[string]any{{"Name": "i"}, {"Name": "j", "ID": buyerID(8)}}
		must(t, db.Model(&buyer{}).Create(&maps))
		equal(t, "key in a map of a slice", maps[0]["id"], any(buyerID(firstID+7)))

		generic := buyer{Name: "k"}
		if err := gorm.G[buyer](db.DB).Create(t.Context(), &generic); err != nil {
			t.Fatal(err)
		}
		equal(t, "key by generics", generic.ID, buyerID(firstID+8))
		found, err := gorm.G[buyer](db.DB).Where("id = ?", generic.ID).First(t.Context())
		if err != nil || found.ID != generic.ID || found.Name != "k" {
			t.Errorf("found %+v, %v by generics", found, err)
		}
		db.wantKeys(t, "buyers", 7, 8, firstID, firstID+1, firstID+2, firstID+3, firstID+4, firstID+5, firstID+6, firstID+7,
			firstID+8)
	}, shopOfTypedKeys...)
}

func TestTypedKeysAreFilledInAssociations(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		shared := voucher{Code: "X"}
		one := buyer{
			Name:    "a",
			Inviter: &buyer{Name: "inviter"},
			Friend:  &buyer{Name: "friend"},
			Sales: []sale{
				{Vouchers: []voucher{{Code: "S"}, {Code: "T"}}},
				{Vouchers: []voucher{shared}},
			},
		}
		must(t, db.Create(&one))
		if one.ID == 0 || one.InviterID == nil || *one.InviterID != one.Inviter.ID ||
			one.FriendID == nil || *one.FriendID != one.Friend.ID {
			t.Errorf("created %+v", one)
		}
		for _, p := range one.Sales {
			if p.ID == 0 || p.BuyerID != one.ID || p.Vouchers[0].ID == 0 {
				t.Errorf("created %+v", p)
			}
		}
		other := sale{Buyer: &buyer{Name: "b"}}
		must(t, db.Create(&other))
		equal(t, "foreign key", other.BuyerID, other.Buyer.ID)
		equal(t, "buyers", db.count(t, "buyers", "id >= ?", firstID), 4)
		equal(t, "vouchers of sales", db.count(t, "sale_vouchers",
			"sale_id IN (SELECT id FROM sales) AND voucher_id IN (SELECT id FROM vouchers)"), 3)

		var back buyer
		must(t, db.Preload("Inviter").Preload("Friend").Preload("Sales.Vouchers").First(&back, one.ID))
		if back.ID != one.ID || back.Inviter.ID != one.Inviter.ID || back.Friend.ID != one.Friend.ID || len(back.Sales) != 2 ||
			len(back.Sales[0].Vouchers)+len(back.Sales[1].Vouchers) != 3 {
			t.Errorf("read back %+v", back)
		}
		var alone buyer
		must(t, db.Joins("Inviter").First(&alone, "buyers.id = ?", back.Inviter.ID)) // an outer join without a row
		if alone.InviterID != nil || alone.Inviter != nil || alone.FriendID != nil {
			t.Errorf("read back %+v", alone)
		}
		if err := db.Model(&back).Association("Sales").Append(&sale{}); err != nil {
			t.Error(err)
		}
		equal(t, "sales", db.count(t, "sales", "buyer_id = ?", one.ID), 3)
	}, shopOfTypedKeys...)
}

func TestTypedColumnsAreThoseOfAnID(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		equal(t, "key with type:int", db.column(t, "buyers", "id"), column{db.integerOn(), false, true})
		equal(t, "key", db.column(t, "sales", "id"), column{"bigint", false, true})
		// GORM gives a foreign key the type of the key that it refers to.
		equal(t, "foreign key", db.column(t, "sales", "buyer_id").Type, db.integerOn())
		equal(t, "optional foreign key", db.column(t, "buyers", "inviter_id").Type, db.integerOn())
		equal(t, "pointer", db.column(t, "buyers", "friend_id").Type, db.integerOn())
		equal(t, "join table", db.column(t, "sale_vouchers", "voucher_id").InKey, true)
		must(t, db.Create(&buyer{Name: "a", Sales: []sale{{}}}))

		db.log.take()
		if err := gormplugin.AutoMigrate(db.DB, shopOfTypedKeys...); err != nil { // nothing to change
			t.Fatal(err)
		}
		if statements := db.log.takeLike("ALTER"); len(statements) != 0 {
			t.Errorf("the second migration runs %q", statements)
		}
	}, shopOfTypedKeys...)
}

func TestQueriesByTypedKeys(t *testing.T) {
	eachHourly(t, func(t *testing.T, db *gorm.DB) {
		sales := make([]sale, 6)
		must(t, db.Create(&[]buyer{{Sales: sales}}))
		must(t, db.Find(&sales)) // a key of the buyer's own came first
		slices.SortFunc(sales, func(a, b sale) int { return cmp.Compare(a.ID, b.ID) })

		var n int64
		must(t, db.Model(&sale{}).Where(gormplugin.CreatedBetween(hour(2), hour(4))).Count(&n))
		equal(t, "created in two hours", n, 2)
		must(t, db.Model(&sale{}).Where(gormplugin.Since(hour(0)).On("buyer_id")).Count(&n))
		equal(t, "of buyers since then", n, 6)
		must(t, db.Model(&buyer{}).Where(gormplugin.Before(hour(100)).On("inviter_id")).Count(&n))
		equal(t, "with an inviter", n, 0)

		ids := []saleID{sales[0].ID, sales[5].ID, 7}
		must(t, db.Model(&sale{}).Where("id IN ?", ids).Count(&n))
		equal(t, "in a list", n, 2)
		var plucked []saleID
		must(t, db.Model(&sale{}).Order("id").Pluck("id", &plucked))
		equal(t, "plucked", len(plucked), 6)
		equal(t, "first of those plucked", plucked[0], sales[0].ID)

		var page []sale
		must(t, db.Clauses(gormplugin.Page{After: sales[1].ID.SnowflakeID(), Limit: 3}).Find(&page))
		if len(page) != 3 || page[0].ID != sales[2].ID {
			t.Errorf("page of %d sales", len(page))
		}
		next, more, err := gormplugin.NextPage(gormplugin.Page{Limit: 3}, page, func(p sale) snowflake.ID {
			return p.ID.SnowflakeID()
		})
		if next.After != sales[4].ID.SnowflakeID() || !more || err != nil {
			t.Errorf("next page %+v, %v, %v", next, more, err)
		}
		i := 0
		for p, err := range gormplugin.Each[sale](t.Context(), db, gormplugin.Page{Limit: 2}) {
			if err != nil || p.ID != sales[i].ID {
				t.Fatalf("sale %d is %+v, %v, want %d", i, p, err, sales[i].ID)
			}
			i++
		}
		equal(t, "sales of all pages", i, 6)
	}, shopOfTypedKeys...)
}

func TestUpsertsByTypedKeys(t *testing.T) {
	type customer struct {
		ID    buyerID `gorm:"primaryKey;type:int"`
		Email string  `gorm:"uniqueIndex;size:40"`
		Name  string
	}
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		must(t, db.Create(&customer{Email: "a@example.org", Name: "old"}))
		again := []customer{{Email: "a@example.org", Name: "new"}, {Email: "b@example.org"}}
		must(t, db.Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "email"}},
			DoUpdates: clause.AssignmentColumns([]string{"name"}),
		}).Create(&again))
		equal(t, "key of the row that was met", again[0].ID, buyerID(firstID))
		equal(t, "rows", db.count(t, "customers", "id = ? AND name = 'new' OR id = ?", again[0].ID, again[1].ID), 2)

		found := customer{Email: "b@example.org"}
		must(t, db.Where(&customer{Email: "b@example.org"}).FirstOrCreate(&found))
		equal(t, "key that was found", found.ID, again[1].ID)
	}, &customer{})
}
