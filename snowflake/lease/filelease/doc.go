// Package filelease keeps leases of worker numbers in files of one host. It needs no server and no clock:
//
//	store, err := filelease.New("/var/lib/myservice/leases")
//	defer store.Close()
//	l, err := lease.Open(ctx, store) // takes a worker
//	defer l.Close(ctx)               // gives it back
//	id, err := l.Generator().Next()
//
// Cloning a running virtual machine also copies the files on its disk. Such clones are not detected: they issue the
// same IDs. Only on a file system that the clones share, one of them gets lease.ErrLost.
package filelease
