package sqlfunc

import (
	"cmp"
	_ "embed" // for the template
	"fmt"
	"strings"

	"github.com/sqlflake/sqlflake/contrib/internal/pgsql"
	"github.com/sqlflake/sqlflake/snowflake"
)

// guardBits makes 1<<guardBits larger than the number of concurrent sessions of a PostgreSQL server: MAX_BACKENDS is
// 0x3FFFF in its source.
const guardBits = 18

// wordBits returns the number of bits of the word below its tick, and whether sessions may call nextval without the
// lock.
func (f *Functions) wordBits() (low int, draw bool) {
	sequence := f.place(snowflake.FieldSequence)
	if low = max(sequence.bits, guardBits) + 1; f.time.bits()+low <= 63 {
		return low, true
	}
	return sequence.bits, false
}

// The state is one word, the value of a sequence object: the tick above, and below it a count, in which the layout's
// sequence numbers come first and then the guard, numbers that no ID has. Sequences are not part of transactions in
// PostgreSQL: a value is visible to all sessions at once and stays when a transaction rolls back
// (https://www.postgresql.org/docs/current/functions-sequence.html).
//
// An ID is made from the value that one call of nextval or setval has stored, so tick and sequence are claimed
// together. No value occurs twice:
//
//   - nextval returns each value to one session.
//   - setval is called only under the lock, with the first value of a later tick than the word has at that moment.
//     After the word was read under the lock only nextval can have changed it, and nextval does not reach the next
//     tick: a session calls it only after it has seen the count below the last sequence number (once for each read
//     outside of the lock, or under it), so at most one call of each session comes after the count has reached that
//     number. The guard is longer than the number of sessions that a server can have.
//   - A value in the guard makes no ID. Its session takes the lock.
//
// This does not depend on the clock. The clock only decides when a later tick begins.
//
// The lock belongs to a transaction and is taken in a subtransaction that always ends with an error, ours (SF001) or
// another, so its end releases the lock in every case. A session lock would stay if a statement is cancelled between
// taking and releasing it, or in its handler. The holder of the lock waits for nothing else (it has already taken the
// sequence's own lock, which ALTER SEQUENCE competes for), so there is no deadlock. The high half of the key is the OID
// of pg_class, the low half the OID of the sequence: nothing else has a reason to use it.
//
// If the bits of the layout leave no room for the guard, each ID is claimed under the lock.
//
//go:embed postgres_next.sql
var postgresNext string

// postgresDraw is the fast path: more than one call per tick.
const postgresDraw = `		IF now_tick >= 0 AND (word >> {low}) BETWEEN now_tick AND now_tick + {lead}
			AND (word & {low max}) < {sequence max} THEN
			word := nextval({state text});
			IF (word & {low max}) <= {sequence max} THEN
				RETURN {id of word};
			END IF;
		END IF;
`

func (f *Functions) postgresNext() string {
	low, draw := f.wordBits()
	expand := strings.NewReplacer("{draw}", "", "{one more}", "setval({state text}, word + 1)")
	if draw {
		expand = strings.NewReplacer("{draw}", postgresDraw, "{one more}", "nextval({state text})")
	}

	return f.postgresFill(expand.Replace(postgresNext),
		"{low}", low,
		"{low max}", int64(1)<<low-1,
		// One tick more and one less, since the last tick before the epoch would be rounded up.
		"{now}", pgsql.Plain.Replace(f.ticksSQL(cmp.Or(f.clock, "clock_timestamp()"), 1))+" - 1",
		"{id of word}", f.postgresID("word", low),
		"{id of claimed}", f.postgresID("claimed", low),
		"{end}", f.layout.End().Format(timestampFormat))
}

// postgresID returns the ID for a word.
func (f *Functions) postgresID(word string, low int) string {
	sequence := f.place(snowflake.FieldSequence)
	tick := fmt.Sprintf("(%s >> %d)", word, low)
	count := f.spread(fmt.Sprintf("(%s & %d)", word, sequence.max()), "hashint8"+tick)
	if sequence.shift > 0 {
		count = fmt.Sprintf("(%s << %d)", count, sequence.shift)
	}
	id := fmt.Sprintf("(%s) | %s", f.time.put(tick), count)
	if f.fixed != 0 {
		id += fmt.Sprintf(" | %d", f.fixed)
	}
	return pgsql.Plain.Replace(id)
}
