//go:build !unix

package scenario

import "time"

// processCPU is not known here.
func processCPU() time.Duration { return 0 }
