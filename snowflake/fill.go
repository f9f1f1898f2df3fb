package snowflake

import (
	"context"
	"fmt"
)

// Fill sets every element of dst to a new ID, in the order of their time and sequence, which is ascending (see
// Generator). It takes all of them at once, at about the cost of a store for each. Of a slice that is longer than what
// a burst may hold (45,056 IDs on the Default layout) it takes one such part after the other, and other calls may take
// IDs in between.
//
// It returns the errors of NextContext, and ErrEmptyFill for a slice without elements. On an error dst is unchanged.
func (g *Generator) Fill(ctx context.Context, dst []ID) error {
	if g == nil || g.source == nil {
		return ErrNoGenerator
	}
	if len(dst) == 0 {
		return fmt.Errorf("%w: Fill of a slice of length 0 (capacity %d)", ErrEmptyFill, cap(dst))
	}
	step := uint64(g.reach.span) + 1
	if uint64(len(dst)) <= step {
		c, first, err := g.source.draw(ctx, g.reach, uint64(len(dst)))
		if err != nil {
			return err
		}
		g.write(dst, c, first)
		return nil
	}
	if err := g.checkAll(ctx, uint64(len(dst))); err != nil {
		return err
	}
	// Nothing is written before all parts are taken.
	type run struct {
		core  *core
		first state
	}
	runs := make([]run, 0, uint64(len(dst))/step+1)
	for left := uint64(len(dst)); left > 0; left -= min(left, step) {
		c, first, err := g.source.draw(ctx, g.reach, min(left, step))
		if err != nil {
			g.current().abandoned.Add(uint64(len(dst)) - left)
			return err
		}
		runs = append(runs, run{c, first})
	}
	for _, r := range runs {
		n := min(uint64(len(dst)), step)
		g.write(dst[:n], r.core, r.first)
		dst = dst[n:]
	}
	return nil
}

// checkAll rejects a batch of several parts before the first of them if its last ID would be past the layout's end or
// due after the deadline of ctx, even without other calls.
func (g *Generator) checkAll(ctx context.Context, count uint64) error {
	if ctx.Err() != nil {
		return waitError(ctx)
	}
	c := g.current()
	now, err := c.read()
	if err != nil {
		return err
	}
	last := c.state.Load()
	if last == frozen { // until the lease has a worker
		return nil
	}
	next := max(last+1, c.floor(now)) + state(count) - 1
	if next > c.last {
		return c.exhausted(c.layout.start(c.tickOf(next)))
	}
	return c.checkDeadline(ctx, g.reach.lead, now, next)
}

// write sets dst to the IDs of the states of c from first on.
func (g *Generator) write(dst []ID, c *core, first state) {
	for len(dst) > 0 {
		n := min(uint64(len(dst)), uint64(c.mask-first&c.mask+1)) // as many as are left in the tick
		ascend(dst[:n], g.compose(c, first), g.seqUnit)
		dst = dst[n:]
		first += state(n)
	}
}

// ascend sets dst to id, id+step, id+2*step and so on. It is faster than a loop over the elements because eight
// additions that do not depend on each other run at once, with one check of the bounds.
func ascend(dst []ID, id, step ID) {
	step2, step3, step4, step5, step6, step7 := 2*step, 3*step, 4*step, 5*step, 6*step, 7*step
	i := 0
	for ; i < len(dst)-7; i += 8 {
		to := (*[8]ID)(dst[i:])
		to[0], to[1], to[2], to[3] = id, id+step, id+step2, id+step3
		to[4], to[5], to[6], to[7] = id+step4, id+step5, id+step6, id+step7
		id += 8 * step
	}
	for ; i < len(dst); i++ {
		dst[i] = id
		id += step
	}
}
