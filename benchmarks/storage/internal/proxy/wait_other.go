//go:build !linux

package proxy

import "time"

// wait may take a millisecond longer.
func wait(d time.Duration) { time.Sleep(d) }
