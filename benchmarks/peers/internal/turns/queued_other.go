//go:build !linux

package turns

import "time"

// No system but Linux says how long threads waited for a core, so no turn is left out for that.

func queuedThread() time.Duration { return 0 }
func busy() time.Duration         { return 0 }
