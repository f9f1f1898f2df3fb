//go:build !linux

package proxy

import "time"

// wait may take a millisecond longer, so callers measure the ping.
func wait(d time.Duration) { time.Sleep(d) }
