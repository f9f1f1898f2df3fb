package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"
	godruoyi "github.com/godruoyi/go-snowflake"
	"github.com/sony/sonyflake/v2"
	"github.com/yitter/idgenerator-go/idgen"

	"github.com/sqlflake/sqlflake/internal/testclock"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
)

// library is a generator as its documentation says to use it, with the worker number that a process is given.
type library struct {
	name, title string
	even        bool // it has an option for even remainders
	open        func(ctx context.Context, s spec, worker int) (source, error)
}

// source is one generator. end is nil if there is nothing to give back.
type source struct {
	next func() (int64, error)
	end  func() error
}

// libraries returns all, this one last.
func libraries() []library {
	return []library{
		{name: "bwmarrin", title: "bwmarrin", open: openBwmarrin},
		{name: "sonyflake", title: "sonyflake v2", open: openSonyflake},
		{name: "godruoyi", title: "godruoyi", open: openGodruoyi},
		{name: "yitter", title: "yitter", open: openYitter},
		{name: "fixed", title: "sqlflake, fixed worker", open: openFixed, even: true},
		{name: "leased", title: "sqlflake, leased worker", open: openLeased, even: true},
	}
}

func (s spec) library() library {
	all := libraries()
	return all[slices.IndexFunc(all, func(l library) bool { return l.name == s.Library })]
}

// epoch returns the time that a library counts from: otherwise, or so that the time bits are soon used up. A later
// epoch gives the same IDs as a clock that was set back.
func (s spec) epoch(otherwise time.Time, unit time.Duration, bits int) time.Time {
	if s.Left > 0 {
		return time.Now().Add(s.Left).Add(-unit << bits)
	}
	return otherwise.Add(s.Back)
}

func openBwmarrin(_ context.Context, s spec, worker int) (source, error) {
	bwmarrin.Epoch = s.epoch(time.UnixMilli(1288834974657), time.Millisecond, 41).UnixMilli()
	node, err := bwmarrin.NewNode(int64(worker))
	return source{next: func() (int64, error) { return node.Generate().Int64(), nil }}, err
}

func openSonyflake(_ context.Context, s spec, worker int) (source, error) {
	flake, err := sonyflake.New(sonyflake.Settings{
		StartTime: s.epoch(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), 10*time.Millisecond, 39),
		MachineID: func() (int, error) { return worker, nil },
	})
	if err != nil {
		return source{}, err
	}
	return source{next: flake.NextID}, nil
}

// openGodruoyi uses ID, as its README does. The package is one generator, so its number is set before each call.
func openGodruoyi(_ context.Context, s spec, worker int) (source, error) {
	if len(s.Workers) == 2 {
		return source{}, errors.New("the package has only one generator")
	}
	godruoyi.SetStartTime(s.epoch(time.Date(2008, 11, 10, 23, 0, 0, 0, time.UTC), time.Millisecond, 41))
	return source{next: func() (int64, error) {
		godruoyi.SetMachineID(uint16(worker))
		return int64(godruoyi.ID()), nil
	}}, nil
}

// openYitter has the default widths, which are for 64 workers, or those for 1,024. With 10 and 12 bits the time has 41.
func openYitter(_ context.Context, s spec, worker int) (source, error) {
	options := idgen.NewIdGeneratorOptions(uint16(worker))
	options.BaseTime += s.Back.Milliseconds()
	if s.Left > 0 {
		return source{}, errors.New("its time bits end in 2059 at the earliest: BaseTime is 1990 or later")
	}

	if len(s.Workers) > 64 {
		options.WorkerIdBitLength, options.SeqBitLength = 10, 12
	}

	generator := idgen.NewDefaultIdGenerator(options).SnowWorker
	return source{next: func() (int64, error) { return generator.NextId(), nil }}, nil
}

func openFixed(_ context.Context, s spec, worker int) (source, error) {
	options, err := s.options()
	if err != nil {
		return source{}, err
	}
	generator, err := snowflake.New(int64(worker), options...)
	return source{next: next(generator)}, err
}

// quiet leaves standard error to progress and errors.
var quiet = lease.WithLogger(slog.New(slog.DiscardHandler))

// openLeased leases from a folder: any worker, or that number.
func openLeased(ctx context.Context, s spec, worker int) (source, error) {
	if len(s.Workers) > 64 {
		return source{}, errors.New("a process leases one worker, and 1,024 leases in one would measure the disk")
	}

	options, err := s.options()
	if err != nil {
		return source{}, err
	}

	store, err := filelease.New(s.Folder)
	if err != nil {
		return source{}, err
	}

	settings := []lease.Option{lease.WithGenerator(options...), quiet}
	if s.Back > 0 {
		settings = append(settings, lease.WithClock(testclock.New(-s.Back)))
	}
	if s.Numbered {
		settings = append(settings, lease.WithWorkers(int64(worker), int64(worker)))
	}

	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()

	held, err := lease.Open(ctx, store, settings...)
	if err != nil {
		return source{}, err
	}

	return source{next(held.Generator()), func() error { return held.Close(context.Background()) }}, nil
}

func next(generator *snowflake.Generator) func() (int64, error) {
	return func() (int64, error) {
		id, err := generator.Next()
		return int64(id), err
	}
}

func (s spec) options() (options []snowflake.Option, err error) {
	layout := snowflake.Default()
	if s.Left > 0 {
		epoch := s.epoch(time.Time{}, time.Millisecond, 41)
		layout, err = snowflake.NewLayout(epoch, time.Millisecond, layout.Fields()...)
	}

	options = append(options, snowflake.WithLayout(layout))
	if s.Back > 0 {
		options = append(options, snowflake.WithClock(testclock.New(-s.Back)))
	}
	if s.Even {
		options = append(options, snowflake.WithRandomStart())
	}

	return options, err
}
