// Package release tests .ci/release, and what those get who install the modules that it releases.
package release
