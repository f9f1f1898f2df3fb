package snowflake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

func Example() {
	gen, err := snowflake.New(1) // this process is worker 1
	if err != nil {
		log.Fatal(err)
	}
	id, err := gen.Next()
	if err != nil {
		log.Fatal(err)
	}
	parts := gen.Layout().Decompose(id)
	fmt.Println(parts.Worker, time.Since(parts.Time) < time.Minute)
	// Output: 1 true
}

// One call takes the IDs of a batch, in order.
func ExampleGenerator_Fill() {
	gen, err := snowflake.New(1)
	if err != nil {
		log.Fatal(err)
	}
	ids := make([]snowflake.ID, 1000)
	if err := gen.Fill(context.Background(), ids); err != nil {
		log.Fatal(err) // then no ID of the batch was taken
	}
	fmt.Println(ids[0] < ids[999])
	// Output: true
}

func ExampleLayout_Range() {
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	lo, hi, err := snowflake.Default().Range(day, day.AddDate(0, 0, 1))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("SELECT * FROM orders WHERE id >= %d AND id < %d", lo, hi)
	// Output: SELECT * FROM orders WHERE id >= 153652455014400000 AND id < 154014842880000000
}

func ExampleNewLayout() {
	layout, err := snowflake.NewLayout(
		time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), 10*time.Millisecond,
		snowflake.Field{Name: "time", Bits: 39},
		snowflake.Field{Name: "sequence", Bits: 8},
		snowflake.Field{Name: "worker", Bits: 16},
	)
	if err != nil {
		log.Fatal(err)
	}

	fmt.Println(layout)
	fmt.Println(layout.MaxWorker()+1, "workers until", layout.End().Year())
	// Output:
	// epoch=2024-01-01T00:00:00Z tick=10ms time:39 sequence:8 worker:16
	// 65536 workers until 2198
}

// A system with the bits of the preset resource, but its own epoch, needs a layout of its own.
func ExampleParseLayout() {
	const old = "epoch=2015-01-01T00:00:00+08:00 tick=1ms time:38 region:6 type:14 machine:2 sequence:3"
	layout, err := snowflake.ParseLayout(old)
	if err != nil {
		log.Fatal(err)
	}

	id := snowflake.ID(4897551207640340744) // of region 22, resource type 200, machine 1
	fmt.Println(layout.Decompose(id))
	fmt.Println("issues none since", layout.End().Format(time.DateOnly))
	fmt.Println("with the preset it seems to be of", snowflake.MustPreset("resource").Time(id).Year())
	// Output:
	// 2019-08-17T00:00:00Z worker=1 sequence=0 region=22 type=200
	// issues none since 2023-09-17
	// with the preset it seems to be of 2029
}

// A server answers 503 with Retry-After if an ID would be due only after the request's deadline.
func ExampleDueError() {
	g, err := snowflake.New(1, snowflake.WithLayout(snowflake.MustPreset("javascriptsafe")))
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	err = g.Fill(ctx, make([]snowflake.ID, 512_000)) // 128 are due each 10 ms
	var due *snowflake.DueError
	if errors.As(err, &due) {
		fmt.Printf("Retry-After: %.0f\n", math.Ceil(due.In.Seconds()))
	}
	// Output: Retry-After: 40
}

func ExampleParse() {
	id, err := snowflake.Parse("175928847299117063")
	fmt.Println(id, err)
	_, err = snowflake.Parse("0175928847299117063")
	fmt.Println(err)
	_, err = snowflake.Parse("9223372036854775808")
	fmt.Println(errors.Is(err, snowflake.ErrRange))
	// Output:
	// 175928847299117063 <nil>
	// snowflake: text "0175928847299117063" is not an ID: a number starts without a zero, and 0 has no sign
	// true
}

// An ID is a string in JSON. As a number, JavaScript would round these two to one: 175928847299117060.
func ExampleID_MarshalText() {
	type user struct {
		ID   snowflake.ID `json:"id"`
		Name string       `json:"name"`
	}
	out, err := json.Marshal([]user{{175928847299117063, "alice"}, {175928847299117064, "bob"}})
	fmt.Println(string(out), err)
	// Output:
	// [{"id":"175928847299117063","name":"alice"},{"id":"175928847299117064","name":"bob"}] <nil>
}
