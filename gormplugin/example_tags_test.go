package gormplugin_test

import (
	"fmt"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

func Example_tags() {
	type Invoice struct {
		ID       snowflake.ID
		PublicID string `gorm:"snowflake;size:19;uniqueIndex"`
		Total    int
	}
	db := openExample(fromThousand(), &Invoice{})
	invoices := []Invoice{{Total: 5}, {Total: 7}}
	if err := db.Create(&invoices).Error; err != nil {
		panic(err)
	}
	for _, i := range invoices {
		fmt.Println(i.ID, i.PublicID, i.Total)
	}
	// Output:
	// 1001 1002 5
	// 1003 1004 7
}

func ExampleWithNamed() {
	type Parcel struct {
		ID      snowflake.ID
		Barcode int64 `gorm:"snowflake:barcodes"`
	}
	barcodes := from(700) // of another layout, say
	db := openExample(fromThousand(gormplugin.WithNamed("barcodes", barcodes)), &Parcel{})
	p := Parcel{}
	if err := db.Create(&p).Error; err != nil {
		panic(err)
	}
	fmt.Println(p.ID, p.Barcode)
	// Output: 1001 700
}

func ExampleWithIntegerKeys() {
	type Account struct {
		gorm.Model // ID is a uint
		Name       string
	}
	db := openExample(fromThousand(gormplugin.WithIntegerKeys()))
	if err := gormplugin.DisableAutoIncrement(db, &Account{}); err != nil {
		panic(err)
	}
	if err := db.AutoMigrate(&Account{}); err != nil {
		panic(err)
	}
	a := Account{Name: "ada"}
	if err := db.Create(&a).Error; err != nil {
		panic(err)
	}
	fmt.Println(a.ID)
	var create string
	db.Raw("SELECT sql FROM sqlite_master WHERE name = 'accounts'").Scan(&create)
	fmt.Println(create[:32])
	// Output:
	// 1001
	// CREATE TABLE `accounts` (`id` in
}
