package filelease

import "testing"

func TestTheTypeOfAMountIsFound(t *testing.T) {
	for path, want := range map[string]string{"/proc": "proc", "/proc/self/status": "proc", "/proc/no such file": ""} {
		if got := typeOfMount(path); got != want {
			t.Errorf("%s is on %q, want %q", path, got, want)
		}
	}
}
