package gormplugin_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// buckets are views of one generator with different values of a field above the time.
type buckets []*snowflake.Generator

// Fill spreads the IDs of a batch over the buckets. They ascend within a bucket only.
func (b buckets) Fill(ctx context.Context, dst []snowflake.ID) (err error) {
	ids := make([]snowflake.ID, len(dst))
	for i := range ids {
		if ids[i], err = b[rand.IntN(len(b))].NextContext(ctx); err != nil {
			return err
		}
	}
	copy(dst, ids)
	return nil
}

// Layout is what Created reads times with.
func (b buckets) Layout() snowflake.Layout { return b[0].Layout() }

func newBuckets() (buckets, error) {
	layout, err := snowflake.ParseLayout("epoch=2025-01-01T00:00:00Z tick=1ms bucket:2 time:41 worker:8 sequence:12")
	if err != nil {
		return nil, err
	}
	g, err := snowflake.New(1, snowflake.WithLayout(layout))
	b := make(buckets, 4)
	for i := range b {
		view, failed := g.With("bucket", int64(i))
		b[i], err = view, errors.Join(err, failed)
	}
	return b, err
}

func TestCreatedFindsRowsOfAllBuckets(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		gen, err := newBuckets()
		if err != nil {
			t.Fatal(err)
		}
		db, _ := openWith(t, target, gormplugin.New(gen), &parcel{}, &label{})
		var all []parcel
		for range 20 {
			all = append(all, createParcels(t, db, 10)...)
			time.Sleep(2 * time.Millisecond)
		}
		layout := gen.Layout()
		from, to := layout.Time(all[50].ID), layout.Time(all[150].ID)
		want := int64(0)
		for _, p := range all {
			if at := layout.Time(p.ID); !at.Before(from) && at.Before(to) {
				want++
			}
		}
		for what, n := range map[string]struct {
			where *gorm.DB
			want  int64
		}{
			"between": {db.Where(gormplugin.CreatedBetween(from, to)), want},
			"not":     {db.Not(gormplugin.CreatedBetween(from, to)), int64(len(all)) - want},
			"with":    {db.Where("weight >= 0").Where(gormplugin.CreatedBetween(from, to)), want},
			"or":      {db.Where("weight < 0").Or(gormplugin.CreatedBetween(from, to)), want},
		} {
			var got int64
			must(t, n.where.Model(&parcel{}).Count(&got))
			equal(t, what, got, n.want)
		}
		var before, since int64
		must(t, db.Model(&parcel{}).Where(gormplugin.CreatedBefore(to)).Count(&before))
		must(t, db.Model(&parcel{}).Where(gormplugin.CreatedSince(to)).Count(&since))
		equal(t, "before and since", before+since, int64(len(all)))
	})
}
