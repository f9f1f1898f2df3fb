package filelease

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// The numbers are those of makedev(3).
func TestTheTypeOfAMountIsFound(t *testing.T) {
	for path, want := range map[string]string{"/proc": "proc", "/proc/self/status": "proc", "/proc/no such file": ""} {
		if got := typeOfMount(path); got != want {
			t.Errorf("%s is on %q, want %q", path, got, want)
		}
	}
	for dev, want := range map[uint64]string{0x801: "8:1", 0x35: "0:53", 0x11110370: "259:70000", 0x1000_00FF: "0:65791"} {
		if got := deviceNumber(dev); got != want {
			t.Errorf("%#x is %s, want %s", dev, got, want)
		}
	}
}

// setType sets a field whose type depends on the platform.
func setType[T int32 | uint32 | int64](field *T, kind uint32) { *field = T(int32(kind)) } // which is negative for some

func TestAFolderWhoseLocksCanBeLostIsRefused(t *testing.T) {
	mounts := mountInfo
	defer func() { statfs, mountInfo = syscall.Statfs, mounts }()
	dir := t.TempDir()
	var file syscall.Stat_t
	if err := syscall.Stat(dir, &file); err != nil {
		t.Fatal(err)
	}

	mountInfo = filepath.Join(t.TempDir(), "mountinfo")
	for _, test := range []struct {
		kind        uint32 // of linux/magic.h
		mount, want string // of FUSE; "" for a folder that is accepted
	}{
		{0xEF53, "virtiofs", ""},
		{0x01021994, "virtiofs", ""},
		{0x58465342, "virtiofs", ""}, // ext4, tmpfs, xfs
		{0x65735546, "fuse.ext2", ""},
		{0x65735546, "virtiofs", "virtiofs"},
		{0x6969, "", "nfs"},
		{0xFF534D42, "", "cifs"},
		{0xFE534D42, "", "smb2"},
		{0x517B, "", "smbfs"},
		{0x564C, "", "ncpfs"},
		{0x73757245, "", "coda"},
		{0x5346414F, "", "afs"},
		{0x6B414653, "", "afs"},
		{0x00C36400, "", "ceph"},
		{0x0BD00BD0, "", "lustre"},
		{0x47504653, "", "gpfs"},
		{0x19830326, "", "beegfs"},
		{0x01021997, "", "9p"},
		{0x786F4256, "", "vboxsf"},
	} {
		statfs = func(_ string, buf *syscall.Statfs_t) error {
			setType(&buf.Type, test.kind)
			return nil
		}

		text := fmt.Sprintf("20 1 0:99999 / /other rw shared:1 - virtiofs other rw\n30 1 %s / /x rw shared:2 - %s share rw\n",
			deviceNumber(uint64(file.Dev)), test.mount) //nolint:unconvert // it has 32 bits on some platforms
		if err := os.WriteFile(mountInfo, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}

		_, err := New(dir)
		refused := errors.Is(err, lease.ErrOption) && strings.Contains(err.Error(), dir+" ") &&
			strings.Contains(err.Error(), "("+test.want+")")
		if refused != (test.want != "") || (err != nil) != refused {
			t.Errorf("%#x %s: got %v, want one of %q", test.kind, test.mount, err, test.want)
		}
	}

	statfs = func(string, *syscall.Statfs_t) error { return syscall.EIO }
	if _, err := New(dir); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v, want EIO with the folder", err)
	}
}
