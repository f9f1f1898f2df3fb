package adopt

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/sqlflake/sqlflake/contrib/internal/pgsql"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/period"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/postgres"
	"github.com/sqlflake/sqlflake/snowflake"
)

const (
	// lead is the least time from the start of an adoption to the cut.
	lead = 24 * time.Hour

	// scanSpeed is the slowest VALIDATE CONSTRAINT scan assumed, in bytes per second.
	scanSpeed = 20 << 20
)

// addConstraint adds the steps that lead to a valid constraint, and returns its cut. A constraint that fits stays.
func (a *Adoption) addConstraint(
	ctx context.Context, q engine.Querier, t *Table, o *ordinary, c *Claim,
) (cut int64, err error) {
	now := period.Later(o.now, t.Now)
	scan := time.Duration(o.bytes/scanSpeed) * time.Second

	cut, fits, err := t.parseCheck(o)
	if err != nil {
		return 0, err
	}

	if why := t.whyDropped(o, cut, fits, now, scan); why != "" {
		a.Steps = append(a.Steps, o.dropCheck(t, why))
		fits = false
	}

	if !fits {
		next, err := t.nextCut(now.Add(lead + scan))
		if err != nil {
			return 0, err
		}

		cut = next.Lo
		if err := a.refuseAhead(ctx, q, t, cut, "the cut"); err != nil {
			return 0, err
		}
		a.Steps = append(a.Steps, o.addCheck(t, c, next))
	}

	if !fits || !o.checkValid {
		a.Steps = append(a.Steps, o.validate(t, c, cut, now))
	}

	return cut, nil
}

var checkForm = regexp.MustCompile(
	`^CHECK \(\(\(.* IS NOT NULL\) AND \(.* < '?(\d+)'?(?:::bigint)?\)\)\)(?: NOT VALID)?$`)

// parseCheck returns the cut of the constraint. fits reports whether a period of the Set begins there.
func (t *Table) parseCheck(o *ordinary) (cut int64, fits bool, err error) {
	if o.checkDef == "" {
		return 0, false, nil
	}

	if match := checkForm.FindStringSubmatch(o.checkDef); match != nil {
		if cut, err := strconv.ParseInt(match[1], 10, 64); err == nil {
			return cut, t.Calendar.Of(cut).Lo == cut, nil
		}
	}

	return 0, false, fmt.Errorf("%w: %v has a constraint %s that is not of Adopt: %.200s",
		engine.ErrTable, o.Name, checkName, o.checkDef)
}

// whyDropped returns why the constraint of the table can't stay, or nothing if it can, or if there is none.
func (t *Table) whyDropped(o *ordinary, cut int64, fits bool, now time.Time, scan time.Duration) string {
	switch left := t.Calendar.Reached(cut).Sub(now); {
	case o.checkDef == "":
		return ""
	case !fits:
		return "no period begins at the cut of the constraint"
	case left < lead/4:
		return "the clock comes close to the cut of the constraint"
	case !o.checkValid && left < lead/2+scan:
		return "the time to the cut of the constraint is too short to validate it"
	}
	return ""
}

// nextCut returns the first period that begins at from or later.
func (t *Table) nextCut(from time.Time) (period.Span, error) {
	next := t.Calendar.Containing(from)
	for range 2 { // the second one may begin too early too, with a Layout.Period before its time
		if period.Earlier(next.From, t.Calendar.Reached(next.Lo)).Before(from) {
			next = t.Calendar.Next(next)
		}
	}

	if end := t.Calendar.Layout.End(); next.To.After(end) {
		return next, fmt.Errorf("%w: the period from %s on is ahead, the layout ends at %s",
			snowflake.ErrTimeExhausted, t.Calendar.Text(next.From), t.Calendar.Text(end))
	}

	return next, nil
}

// addCheck returns the step that adds the constraint.
func (o *ordinary) addCheck(t *Table, c *Claim, next period.Span) Step {
	check := fmt.Sprintf("ADD CONSTRAINT %s CHECK (%[2]s IS NOT NULL AND %[2]s < %[3]d) NOT VALID",
		checkName, pgsql.Name(t.Key), next.Lo)
	step := o.alter(t, "limits the keys to those before the cut, "+t.Calendar.Text(next.From), check)

	alter := step.Run
	step.Run = func(ctx context.Context, q engine.Querier) error {
		c.touched, c.table = true, postgres.Quote(o.Name)
		return alter(ctx, q)
	}
	return step
}

// validate returns the step that validates the constraint, until it has to go.
func (o *ordinary) validate(t *Table, c *Claim, cut int64, now time.Time) Step {
	sql := []string{fmt.Sprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s", postgres.Quote(o.Name), checkName)}
	step := o.step("reads all rows, without blocking writers", sql)
	step.Run = func(ctx context.Context, q engine.Querier) error {
		c.touched = true
		left := t.Calendar.Reached(cut).Sub(now) - lead/4
		err := engine.ExecAll(ctx, q, append(postgres.Limits(postgres.QueueTimeout, left), sql...)...)
		c.validated = c.validated || err == nil // unless the commit fails
		return err
	}
	return step
}

// dropCheck returns the step that drops the constraint.
func (o *ordinary) dropCheck(t *Table, why string) Step {
	return o.alter(t, why, "DROP CONSTRAINT IF EXISTS "+checkName)
}

// Claim is what a call of Adopt has done with the constraint. It removes only its own constraint: the one of another
// call may have taken hours to validate.
type Claim struct {
	table     string // for SQL; empty: this call has neither seen nor added the constraint
	touched   bool   // this call has tried to add or to validate it
	validated bool   // this call has validated it; if the commit failed, perhaps
}

// Release drops the constraint, if there is one of this call.
func (c *Claim) Release(ctx context.Context, q engine.Querier, t *Table) error {
	o, err := readOrdinary(ctx, q, t)
	switch {
	case errors.Is(err, engine.ErrTable):
		return nil
	case err != nil:
		return err
	case !o.isTable(), o.checkDef == "": // the swap is done, or there is none
		return nil
	}

	if _, _, err := t.parseCheck(o); err != nil {
		return nil // not of Adopt
	}

	c.table = postgres.Quote(o.Name)
	if isOthers := o.checkValid && !c.validated; isOthers || !c.touched {
		return errors.New("it belongs to another call, which may still run")
	}

	return o.dropCheck(t, "").Run(ctx, q)
}

// Touched reports whether the call has tried to change the constraint.
func (c *Claim) Touched() bool { return c.touched }

// Stays returns the error for a constraint that could not be released for a reason, or nil if there is none.
func (c *Claim) Stays(reason error) error {
	if reason == nil || c.table == "" {
		return nil
	}
	return fmt.Errorf("the constraint %s stays, and rejects rows from its cut on: call Adopt again, "+
		"or execute ALTER TABLE %s DROP CONSTRAINT IF EXISTS %[1]s: %[3]w", checkName, c.table, reason)
}
