package filelease

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// networkFileSystem returns the name of the network file system that path is on, "" for others. A folder that a virtual
// machine shares with its host counts as one. The numbers are those of statfs(2), linux/magic.h and coreutils.
func networkFileSystem(path string) (string, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(path, &fs); err != nil {
		return "", &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	switch uint32(fs.Type) { // the field is signed, of 32 or 64 bits
	case 0x6969:
		return "nfs", nil
	case 0xFF534D42:
		return "cifs", nil
	case 0xFE534D42:
		return "smb2", nil
	case 0x517B:
		return "smbfs", nil
	case 0x564C:
		return "ncpfs", nil
	case 0x73757245:
		return "coda", nil
	case 0x5346414F, 0x6B414653:
		return "afs", nil
	case 0x00C36400:
		return "ceph", nil
	case 0x0BD00BD0:
		return "lustre", nil
	case 0x47504653:
		return "gpfs", nil
	case 0x19830326:
		return "beegfs", nil
	case 0x01021997:
		return "9p", nil
	case 0x786F4256:
		return "vboxsf", nil
	case 0x65735546: // FUSE, which may be local
		if typeOfMount(path) == "virtiofs" {
			return "virtiofs", nil
		}
	}
	return "", nil
}

// typeOfMount returns the type of the mount that path is on, as in /proc/self/mountinfo, "" if it is not there.
func typeOfMount(path string) string {
	var file syscall.Stat_t
	if err := syscall.Stat(path, &file); err != nil {
		return ""
	}
	dev := uint64(file.Dev) //nolint:unconvert // it has 32 bits on some platforms
	number := fmt.Sprintf(" %d:%d ", dev>>8&0xFFF|dev>>32&^0xFFF, dev&0xFF|dev>>12&^0xFF)
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	for mount := range strings.Lines(string(mounts)) {
		if where, what, _ := strings.Cut(mount, " - "); strings.Contains(where, number) {
			kind, _, _ := strings.Cut(what, " ")
			return kind
		}
	}
	return ""
}
