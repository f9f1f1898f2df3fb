// Package snowflake makes and reads Snowflake IDs: 64-bit primary keys that an application draws by itself, that sort
// by the time of their creation, and that fit into a bigint column.
//
//	 63                                        22        12            0
//	+-+-----------------------------------------+---------+------------+
//	|0|           time, 41 bits of 1 ms         | worker  |  sequence  |
//	+-+-----------------------------------------+---------+------------+
//
// That is the [Default] layout. A [Layout] can have other widths, fields, orders, ticks and epochs; [Twitter],
// [Discord], [Instagram], [Sonyflake] and others are there by name.
//
// # Making IDs
//
// [New] returns a [Generator] for a worker, a number that no other process has at the same time. [Generator.Next]
// returns one ID, [Generator.Fill] a batch:
//
//	gen, err := snowflake.New(1)
//	id, err := gen.Next()
//
// The IDs of a generator are unique and in order, whatever the wall clock does; the comment of [Generator] says why,
// and what a fixed worker number can't cover. IDs of several workers are ascending only as far as their clocks agree.
//
// # Reading and storing IDs
//
// An [ID] is an int64 with the methods that databases, JSON, web frameworks and loggers look for. In JSON it is a
// string, because JavaScript's numbers have 53 bits and round larger ones without a word. As text it is accepted if and
// only if it is what String prints.
//
// What an ID means only its layout knows: [Layout.Time] tells when it was made, [Layout.Decompose] takes it apart,
// [Layout.Range] turns a span of time into bounds for the primary key, and [Layout.Validate] refuses numbers from
// outside that no generator can have issued.
//
// # What IDs give away
//
// Whoever sees an ID learns when the row was made, by which worker, and from two of them how fast rows are made. IDs
// are not secret and can be guessed; they are no substitute for an access check.
package snowflake
