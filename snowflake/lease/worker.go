package lease

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// WorkerFromEnv returns the worker in the environment variable name: decimal digits without sign, space or leading
// zero. Open checks whether it fits the layout. The error matches ErrOption and names the variable. Kubernetes puts the
// number of a StatefulSet's pod there by fieldRef.fieldPath metadata.labels['apps.kubernetes.io/pod-index']
// (https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#pod-index-label).
//
// A number alone does not keep IDs apart after a restart with a clock that was set back, nor from a second process with
// the same number. So lease that very number with WithWorkers(n, n) from a database, which also notices the second
// process, or from a filelease.New in a folder of the process.
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

// WorkerFromOrdinal returns the ordinal in the name of a pod of a Kubernetes StatefulSet, or in its host name up to the
// first dot, which os.Hostname returns: "web-12" is 12
// (https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#stable-network-id).
//
// Two pods of a set have the same ordinal at the same time only if one was deleted by force while its node could not be
// reached (https://kubernetes.io/docs/tasks/run-application/force-delete-stateful-set-pod/): then lease the number from
// a database. Pods of two sets do have the same ordinals.
//
// The error matches ErrOption: the name must be a DNS label of 1 to 62 small letters, digits and dashes that ends in a
// dash and an ordinal without leading zeros. Kubernetes cuts host names at 63 bytes, so in a name of that length "-1"
// may have been "-12". Pods of a Deployment end in five random characters; if all are digits, Open rejects most
// numbers.
func WorkerFromOrdinal(name string) (int64, error) {
	label, _, _ := strings.Cut(name, ".")
	if len(label) >= maxLabel {
		return 0, fmt.Errorf(
			"%w: pod name %.20q... has %d bytes: names are cut at %d, so its ordinal may be another one",
			ErrOption, label, len(label), maxLabel)
	}

	dash := strings.LastIndexByte(label, '-')
	hasName := dash > 0 && label[0] != '-'
	if !hasName || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return 0, fmt.Errorf("%w: pod name %q, want a name, a dash and an ordinal, such as \"web-12\"", ErrOption, name)
	}

	worker, err := parseWorker(label[dash+1:])
	if err != nil {
		return 0, fmt.Errorf("%w: pod name %q, want a name, a dash and an ordinal, such as \"web-12\": %w",
			ErrOption, name, err)
	}

	return worker, nil
}

const maxLabel = 63 // bytes of a DNS label, RFC 1035, section 2.3.4

// parseWorker reads a number from 0 on, in the form that strconv.FormatInt prints.
func parseWorker(text string) (int64, error) {
	worker, err := strconv.ParseUint(text, 10, 63)
	if err != nil || strconv.FormatUint(worker, 10) != text {
		return 0, fmt.Errorf("worker %.40q is not a decimal number from 0 to %d without sign or leading zeros",
			text, int64(math.MaxInt64))
	}
	return int64(worker), nil
}
