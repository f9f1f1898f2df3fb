package kvlease

import "context"

// KV is an engine, or a part of one that no other program uses. Keys consist of ASCII letters, digits, "-", "_", "=",
// and "/" between their parts; they differ if the case of a letter does. It must be safe for concurrent use.
//
// An engine that remembers keys that were deleted should also have the method
//
//	Existed(ctx context.Context, prefix string) (bool, error)
//
// which reports whether there have been keys with the prefix, as far as it can know. It is called when there are none,
// before a namespace is created: if it was deleted, the first IDs wait until the time of forgotten owners is over.
type KV interface {
	// Get returns the pair of a key. Revision is empty if there is none. It should know what was confirmed before the
	// call.
	Get(ctx context.Context, key string) (Pair, error)

	// List returns the pairs whose keys begin with the prefix, in any order. The prefix is empty or ends with "/". It
	// may be out of date, or show some keys as they were earlier than others.
	List(ctx context.Context, prefix string) ([]Pair, error)

	// Swap writes the value if the key still has the revision, or if revision is empty and there is no such key, as one
	// step. When it returns true, the value is durable and has another revision. It returns false if the key has
	// another revision. After an error it is unknown whether the value was written. A repetition inside of the engine's
	// client may make it return false although the value was written.
	Swap(ctx context.Context, key string, value []byte, revision string) (bool, error)
}

// Pair is a key with its value.
type Pair struct {
	Key   string
	Value []byte

	// Revision changes with each write of the key and never comes again. It is the engine's own, in any form, but not
	// empty.
	Revision string
}

// historian is such an engine.
type historian interface {
	Existed(ctx context.Context, prefix string) (bool, error)
}
