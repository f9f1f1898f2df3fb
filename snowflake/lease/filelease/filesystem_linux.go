package filelease

import (
	"fmt"
	"os"
	"regexp"
	"syscall"
)

// networkTypes are the types of statfs(2), from linux/magic.h and coreutils.
var networkTypes = map[uint32]string{
	0x6969: "nfs", 0xFF534D42: "cifs", 0xFE534D42: "smb2", 0x517B: "smbfs", 0x564C: "ncpfs", 0x73757245: "coda",
	0x5346414F: "afs", 0x6B414653: "afs", 0x00C36400: "ceph", 0x0BD00BD0: "lustre", 0x47504653: "gpfs",
	0x19830326: "beegfs", 0x01021997: "9p", 0x786F4256: "vboxsf",
}

const fuse = 0x65735546 // may be local

// Tests replace them.
var (
	statfs    = syscall.Statfs
	mountInfo = "/proc/self/mountinfo"
)

// networkFileSystem returns the name of the network file system that path is on, "" for others. A folder that a virtual
// machine shares with its host counts as one.
func networkFileSystem(path string) (string, error) {
	var fs syscall.Statfs_t
	if err := statfs(path, &fs); err != nil {
		return "", &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	kind := uint32(fs.Type) // the field is signed, of 32 or 64 bits
	if kind == fuse && typeOfMount(path) == "virtiofs" {
		return "virtiofs", nil
	}
	return networkTypes[kind], nil
}

// typeOfMount returns the type of the mount that path is on, as in mountInfo, "" if it is not there.
func typeOfMount(path string) string {
	var file syscall.Stat_t
	if err := syscall.Stat(path, &file); err != nil {
		return ""
	}

	number := deviceNumber(uint64(file.Dev)) //nolint:unconvert // it has 32 bits on some platforms
	mounts, _ := os.ReadFile(mountInfo)      // none after an error
	mount := regexp.MustCompile(`(?m)^\d+ \d+ ` + number + ` .*? - (\S+) `).FindSubmatch(mounts)
	if mount == nil {
		return ""
	}
	return string(mount[1])
}

// deviceNumber returns the major and the minor number as in mountInfo.
func deviceNumber(dev uint64) string {
	return fmt.Sprintf("%d:%d", dev>>8&0xFFF|dev>>32&^0xFFF, dev&0xFF|dev>>12&^0xFF)
}
