// Package snowflake generates and reads Snowflake IDs: 64-bit primary keys that an application generates itself, that
// sort by time of creation, and that fit into a bigint column.
//
//	gen, err := snowflake.New(1) // a worker that no other running process has; package lease assigns one
//	if err != nil {
//		return err
//	}
//	id, err := gen.Next()
//
// The bits of an ID are defined by a [Layout]. That of [Default]:
//
//	 63                                        22        12            0
//	+-+-----------------------------------------+---------+------------+
//	|0|           time, 41 bits of 1 ms         | worker  |  sequence  |
//	+-+-----------------------------------------+---------+------------+
//
// [Preset] has the layouts of Twitter, Discord, Instagram, Sonyflake and others; [NewLayout] makes new ones.
//
// # Generating
//
// [Generator.Next] returns one ID, [Generator.Fill] a batch. They are unique and in order, even when the wall clock
// steps back; the comment of [Generator] gives the reasons and the limits of a fixed worker. The IDs of several workers
// are in order as far as their clocks agree.
//
// # Reading and storing
//
// An [ID] is an int64 with the methods that databases, JSON, web frameworks and loggers use. In JSON it is a string.
//
// A layout reads IDs: [Layout.Time] returns when an ID was issued, [Layout.Decompose] all its fields, [Layout.Range]
// the bounds of a span of time for a query by primary key, and [Layout.Validate] rejects input that no generator can
// have issued.
//
// # What IDs reveal
//
// An ID shows when it was issued and by which worker, and two IDs show the rate. IDs are not secret and can be guessed;
// they do not replace an access check. Package publicid encrypts IDs for the outside.
package snowflake
