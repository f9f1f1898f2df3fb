package natslease

import (
	"fmt"
	"go/version"
	"regexp"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// check returns lease.ErrOption if the bucket would lose rows, or could accept two messages for one revision. The
// server is the version of the connection's server.
func (e *engine) check(c jetstream.StreamConfig, server string) error {
	limited := c.MaxMsgs > 0 || c.MaxBytes > 0
	for _, rule := range []struct {
		broken bool
		why    string
	}{
		{c.MaxAge > 0, fmt.Sprintf("has a TTL of %v, after which it drops the horizons", c.MaxAge)},
		{c.Storage != jetstream.FileStorage, "keeps the horizons in memory only"},
		{c.PersistMode != jetstream.DefaultPersistMode, "confirms what it has not written to a file"},
		{limited && c.Discard != jetstream.DiscardNew, "discards old horizons when it is full"},
		{
			limited && c.MaxMsgsPerSubject != 1,
			"keeps old values and has a limit, so when it is full it refuses extensions for good",
		},
		{c.DiscardNewPerSubject, "refuses new values of a key (DiscardNewPerSubject)"},
		{
			c.Retention != jetstream.LimitsPolicy,
			fmt.Sprintf("has the retention %v and drops the horizons", c.Retention),
		},
		{c.NoAck, "does not confirm what it has stored"},
		{c.Mirror != nil, "is a mirror, whose rows are out of date"},
		{len(c.Sources) > 0, "has sources, which change rows without a comparison"},
		{c.SubjectTransform != nil, "transforms subjects"},
		{c.Sealed, "is sealed"},
		{
			older(server, "2.10.23"),
			fmt.Sprintf("is on nats-server %s, which may lose it when it is killed; 2.10.23 does not", server),
		},
		{
			c.Replicas > 1 && older(server, "2.11.0"),
			fmt.Sprintf(
				"has %d replicas on nats-server %s, which may accept two messages for one revision; 2.11 does not",
				c.Replicas, server),
		},
	} {
		if rule.broken {
			return fmt.Errorf("%w: the NATS stream %q %s", lease.ErrOption, e.stream, rule.why)
		}
	}

	return nil
}

// older reports whether a version such as "2.9.10" or "2.12.0-RC.1" is below the other one. An unknown one is not. Go
// versions have the same form. A suffix of the build does not count.
func older(v, than string) bool {
	v = numbers.FindString(v)
	return v != "" && version.Compare("go"+v, "go"+than) < 0
}

var numbers = regexp.MustCompile(`^\d+\.\d+(\.\d+)?`)
