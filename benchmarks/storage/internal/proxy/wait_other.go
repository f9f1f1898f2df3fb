//go:build !linux

package proxy

import "time"

// wait may take a millisecond longer, so who asks measures the ping.
func wait(d time.Duration) { time.Sleep(d) }
