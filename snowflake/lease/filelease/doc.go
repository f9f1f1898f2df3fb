// Package filelease keeps leases of worker numbers in files of one host. It needs no server and no clock:
//
//	store, err := filelease.New("/var/lib/myservice/leases") // or NewStateFile, for a fixed number
//	defer store.Close()
//	l, err := lease.Open(ctx, store) // takes a worker
//	defer l.Close(ctx)               // gives it back
//	id, err := l.Generator().Next()
//
// [New] lends the workers of a folder to the processes of a host, [NewStateFile] keeps the horizon of one process whose
// number is given to it. A network file system is rejected, see [AllowNetworkFolder].
//
// A copy of a virtual machine that runs has a copy of the files on its disk. So the copies of a process are not found
// out: they issue the same IDs. Only if the folder is on a file system that both share, one of them gets lease.ErrLost.
package filelease
