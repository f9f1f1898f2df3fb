package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
)

// hostWorkers has 16 workers for each of 256 hosts.
var hostWorkers = snowflake.MustLayout(epoch, time.Millisecond,
	snowflake.Field{Name: "time", Bits: 41}, snowflake.Field{Name: "worker", Bits: 12}, snowflake.Field{Name: "sequence", Bits: 10})

// stateFile has the host's number as its worker, and its horizon in a file.
func stateFile(h *host) (process, error) {
	store, err := filelease.NewStateFile(filepath.Join(h.dir, "state.json"))
	if err != nil {
		return process{}, err
	}
	return leased(h, store, store.Close, lease.WithWorkers(h.number, h.number))
}

// sixteen leases one of the host's 16 workers from a folder.
func sixteen(h *host) (process, error) {
	store, err := filelease.New(h.dir)
	if err != nil {
		return process{}, err
	}
	return leased(h, store, store.Close, lease.WithWorkers(16*h.number, 16*h.number+15),
		lease.WithGenerator(snowflake.WithLayout(hostWorkers)))
}

// shared leases one of two workers from a database.
func shared(opts ...snowflake.Option) func(h *host) (process, error) {
	return func(h *host) (process, error) {
		return leased(h, h.db, func() error { return nil }, lease.WithWorkers(0, 1), lease.WithGenerator(opts...))
	}
}

// leased starts a process. At its end, kill frees what the process holds, as the operating system does.
func leased(h *host, store lease.Store, kill func() error, opts ...lease.Option) (process, error) {
	ctx, cancel := context.WithTimeout(h.ctx, time.Minute) // nobody lets time pass while it opens
	defer cancel()
	l, err := lease.Open(ctx, store, append(opts, lease.WithClock(background{h}),
		lease.WithGenerator(snowflake.WithClock(h)), lease.WithLogger(slog.New(slog.DiscardHandler)))...)
	if err != nil {
		return process{}, err
	}
	h.open(1)
	next := func() (int64, error) {
		id, err := l.Generator().Next()
		return int64(id), err
	}
	return process{next: next, end: func(crash bool) error {
		h.open(-1)
		ctx := context.WithoutCancel(h.ctx)
		if crash {
			err := kill()
			_ = l.Close(ctx) // ends the goroutine, and can't give the worker back any more
			return err
		}
		return errors.Join(l.Close(ctx), kill())
	}}, nil
}
