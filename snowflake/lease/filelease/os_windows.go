package filelease

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

var (
	kernel32    = syscall.NewLazyDLL("kernel32.dll")
	lockFileEx  = kernel32.NewProc("LockFileEx")
	moveFileExW = kernel32.NewProc("MoveFileExW")
)

const (
	lockfileFailImmediately = 0x1
	lockfileExclusiveLock   = 0x2
	movefileReplaceExisting = 0x1
	movefileWriteThrough    = 0x8

	errorLockViolation = syscall.Errno(33)
)

// lockFile takes an exclusive lock on f without waiting, and reports whether it did. The lock belongs to the handle and
// ends with it. It covers one byte far behind the end, since a lock of Windows also prevents reading.
func lockFile(f *os.File) (bool, error) {
	at := syscall.Overlapped{Offset: 0xFFFFFFFE, OffsetHigh: 0x7FFFFFFF}
	ok, _, err := lockFileEx.Call(f.Fd(), lockfileExclusiveLock|lockfileFailImmediately, 0, 1, 0,
		uintptr(unsafe.Pointer(&at)))
	switch {
	case ok != 0:
		return true, nil
	case errors.Is(err, errorLockViolation), errors.Is(err, syscall.ERROR_IO_PENDING):
		return false, nil
	default:
		return false, &os.PathError{Op: "LockFileEx", Path: f.Name(), Err: err}
	}
}

// replaceFile renames a file within its folder and returns when that is on the disk.
func replaceFile(from, to string) error {
	source, err := syscall.UTF16PtrFromString(from)
	target, targetErr := syscall.UTF16PtrFromString(to)
	if err = errors.Join(err, targetErr); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	ok, _, err := moveFileExW.Call(uintptr(unsafe.Pointer(source)), uintptr(unsafe.Pointer(target)),
		movefileReplaceExisting|movefileWriteThrough)
	if ok == 0 {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// unlockFile does nothing: closing ends the lock.
func unlockFile(*os.File) error { return nil }

// syncFolder does nothing: Windows has no flush of a folder, NTFS keeps names in its journal.
func syncFolder(string) error { return nil }
