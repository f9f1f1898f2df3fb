// Outbox stores each order and its event in one transaction. A reader delivers the events, to a message broker for
// example, in the order of their keys. Up to the bound of gormsettled.Read it misses none that commits late.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/contrib/settled"
	"github.com/sqlflake/sqlflake/contrib/settled/gormsettled"
	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

// Order is what the service is about.
type Order struct{ gormplugin.Model }

// OutboxEvent is what a transaction leaves for the reader.
type OutboxEvent struct {
	ID      snowflake.ID `gorm:"primaryKey;type:int"`
	OrderID snowflake.ID `gorm:"not null"`
}

// OutboxCursor is how far a reader has delivered.
type OutboxCursor struct {
	Reader string `gorm:"primaryKey;size:40"`
	Last   snowflake.ID
}

// write stores an order and its event, or neither. The keys are made within the transaction, which may commit late.
func write(db *gorm.DB, late time.Duration) error {
	return db.Transaction(func(tx *gorm.DB) error {
		var order Order
		if err := tx.Create(&order).Error; err != nil {
			return err
		}

		err := tx.Create(&OutboxEvent{OrderID: order.ID}).Error
		time.Sleep(late)
		return err
	})
}

// read delivers the settled events after the cursor. A service calls it in a loop, even after an error. Run one reader
// of a name at a time. An event is delivered again if its cursor could not be stored: receivers must expect that.
func read(ctx context.Context, db *gorm.DB, name string, margin time.Duration, deliver func(OutboxEvent) error) error {
	cursor := OutboxCursor{Reader: name}
	if err := db.FirstOrCreate(&cursor).Error; err != nil {
		return err
	}

	bound, err := gormsettled.Read(ctx, db, &OutboxEvent{}, settled.WithMargin(margin)) // first
	if err != nil {
		return err
	}

	page := gormplugin.Page{After: cursor.Last, Limit: 100}
	for event, err := range gormplugin.Each[OutboxEvent](ctx, db.Where("id < ?", bound.Below), page) { // then
		if err == nil {
			err = deliver(event)
		}
		if err != nil {
			return err
		}

		if err := db.Save(&OutboxCursor{name, event.ID}).Error; err != nil {
			return err
		}
	}

	return nil
}

func main() {
	dialector := sqlite.Open("outbox.db?_journal_mode=WAL&_busy_timeout=5000&_txlock=immediate") // or another database

	// The default margin of 10 s is for hosts whose clocks differ; the events come as much later.
	if err := run(context.Background(), dialector, time.Second, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run writes ten orders, and delivers their events. Every second order commits late.
func run(ctx context.Context, dialector gorm.Dialector, margin time.Duration, out io.Writer) (err error) {
	db, err := gorm.Open(dialector)
	if err != nil {
		return err
	}

	plugin, err := gormplugin.Open(ctx, db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plugin.Close(context.WithoutCancel(ctx))) }()

	if err := db.AutoMigrate(&Order{}, &OutboxEvent{}, &OutboxCursor{}); err != nil {
		return err
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	db = db.WithContext(ctx)

	for i := range 10 {
		go func() {
			if err := write(db, time.Duration(i%2)*300*time.Millisecond); err != nil {
				cancel(err) // the reader stops, and returns an error
			}
		}()
		time.Sleep(20 * time.Millisecond) // the late ones commit after those with greater keys
	}

	for delivered := 0; delivered < 10; time.Sleep(100 * time.Millisecond) {
		err := read(ctx, db, "printer", margin, func(event OutboxEvent) error {
			delivered++
			_, err := fmt.Fprintf(out, "event %d: order %d\n", event.ID, event.OrderID)
			return err
		})
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
	}

	return nil
}
