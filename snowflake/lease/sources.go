package lease

import (
	"fmt"
	"math"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// Where else worker numbers come from. A number alone does not keep IDs apart
// over a restart with a clock that was set back, nor from a second process that
// was given the same: put a [StateFile] beside it, or lease the very number from a
// database with WithWorkers(n, n), which also notices the second process.

// WorkerFromEnv returns the worker in the environment variable name: canonical
// decimal digits, 0 or more, no sign, no space, no leading zero. Whether it fits
// the layout is checked where it is used. It returns an error that wraps
// ErrOption, and names the variable, if that is not set or anything else.
//
// In Kubernetes the number of a StatefulSet's pod can be put there without any
// parsing of names, from the label apps.kubernetes.io/pod-index
// (https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#pod-index-label):
//
//	env:
//	- name: WORKER
//	  valueFrom:
//	    fieldRef:
//	      fieldPath: metadata.labels['apps.kubernetes.io/pod-index']
func WorkerFromEnv(name string) (int64, error) {
	value, ok := os.LookupEnv(name)
	if !ok {
		return 0, fmt.Errorf("%w: the environment variable %q is not set, want a worker number", ErrOption, name)
	}
	worker, err := parseWorker(value)
	if err != nil {
		return 0, fmt.Errorf("%w: environment variable %q: %w", ErrOption, name, err)
	}
	return worker, nil
}

// WorkerFromOrdinal returns the ordinal in the name of a pod of a StatefulSet:
// "web-12" is 12. Kubernetes names such a pod, and its host, by the set's name, a
// dash and the ordinal
// (https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#stable-network-id).
// Two pods of a set never have the same at the same time, unless one is deleted
// by force while its node can't be reached
// (https://kubernetes.io/docs/tasks/run-application/force-delete-stateful-set-pod/):
// lease the number from a database if that may happen. The pods of two sets do
// have the same ordinals.
//
// It returns an error that wraps ErrOption for a name that is not a DNS label (1
// to 63 small letters, digits and dashes) or does not end in a dash and an
// ordinal without leading zeros. Pods of a Deployment end in five random letters
// and digits; should these be digits only, the number is above what most layouts
// allow, and refused there.
func WorkerFromOrdinal(podName string) (int64, error) {
	if len(podName) > maxLabel {
		return 0, fmt.Errorf("%w: pod name %.20q... has %d bytes, at most %d are allowed",
			ErrOption, podName, len(podName), maxLabel)
	}
	dash := strings.LastIndexByte(podName, '-')
	if dash <= 0 || podName[0] == '-' || strings.Trim(podName, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return 0, fmt.Errorf("%w: pod name %q, want a name, a dash and an ordinal, such as \"web-12\"", ErrOption, podName)
	}
	worker, err := parseWorker(podName[dash+1:])
	if err != nil {
		return 0, fmt.Errorf("%w: pod name %q, want a name, a dash and an ordinal, such as \"web-12\": %w", ErrOption, podName, err)
	}
	return worker, nil
}

// WorkerFromHostname is WorkerFromOrdinal for the name of this host, up to its
// first dot. It also returns an error for a name of 63 bytes: Kubernetes cuts
// longer ones there, and "...-12" may have become "...-1".
func WorkerFromHostname() (int64, error) {
	host, err := os.Hostname()
	if err != nil {
		return 0, fmt.Errorf("%w: the host's name: %w", ErrOption, err)
	}
	return workerFromHost(host)
}

func workerFromHost(host string) (int64, error) {
	label, _, _ := strings.Cut(host, ".")
	if len(label) >= maxLabel {
		return 0, fmt.Errorf("%w: host name %q has %d bytes: names are cut at %d, so its ordinal may be another",
			ErrOption, label, len(label), maxLabel)
	}
	return WorkerFromOrdinal(label)
}

// UnsafeWorkerFromIP returns the lowest bits (1 to 32) of an IP address as a
// worker. IDs WILL repeat where two processes have the same bits, and nothing
// notices:
//
//   - Docker gives the first container on the default bridge of every host
//     172.17.0.2, the second 172.17.0.3.
//   - Two processes on a host have the same address.
//   - With 10 bits, 10.0.0.7 and 10.0.4.7 are both 7: networks wider than /22
//     repeat.
//   - An address goes to another machine as soon as its lease ends, whose clock may be behind.
//
// Users of such numbers have had the same ID twice in production, with sessions
// of one person shown to another (https://github.com/zitadel/zitadel/issues/10484).
// It is here for fleets where one process has one routed address, of one network
// that fits into the bits, and to name what it is. Lease a number instead.
//
// It returns an error that wraps ErrOption if bits is out of range, and for an
// address that can't be a host's own: none, unspecified, loopback, multicast, or
// link-local.
func UnsafeWorkerFromIP(addr netip.Addr, bits int) (int64, error) {
	if bits < 1 || bits > 32 {
		return 0, fmt.Errorf("%w: %d bits of an IP address out of range [1, 32]", ErrOption, bits)
	}
	addr = addr.Unmap()
	switch {
	case !addr.IsValid(), addr.IsUnspecified(), addr.IsLoopback(), addr.IsMulticast(), addr.IsLinkLocalUnicast():
		return 0, fmt.Errorf("%w: %v is not an address that one host alone has", ErrOption, addr)
	}
	b := addr.AsSlice()
	var low int64
	for _, c := range b[len(b)-4:] {
		low = low<<8 | int64(c)
	}
	return low & (1<<bits - 1), nil
}

const maxLabel = 63 // bytes of a DNS label, RFC 1035, section 2.3.4

// parseWorker accepts what strconv.FormatInt prints for numbers from 0.
func parseWorker(text string) (int64, error) {
	worker, err := strconv.ParseInt(text, 10, 64)
	if err != nil || worker < 0 || strconv.FormatInt(worker, 10) != text {
		return 0, fmt.Errorf("worker %.40q is not a decimal number from 0 to %d without sign or leading zeros",
			text, int64(math.MaxInt64))
	}
	return worker, nil
}
