package filelease

import (
	"os"
	"syscall"
)

// networkFileSystem returns the name of the network file system that path is on, "" for others. The numbers are those
// of statfs(2) and linux/magic.h. FUSE is not among them, since it may be local.
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
	case 0x01021997:
		return "9p", nil
	default:
		return "", nil
	}
}
