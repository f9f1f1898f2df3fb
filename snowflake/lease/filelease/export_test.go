package filelease

// NamespaceFolder lets tests find the files of a namespace.
var NamespaceFolder = namespaceFolder

// DecodeStateFile decodes a state file's text and encodes the result again.
func DecodeStateFile(text []byte) (epoch, horizon int64, again []byte, err error) {
	s, err := decodeState(text)
	if err != nil {
		return 0, 0, nil, err
	}
	again, err = s.encode()
	return s.Epoch, s.Horizon, again, err
}

// Lock takes the lock beside path, as another process does while it chooses a worker.
func Lock(path string) (unlock func(), err error) {
	lock, err := fileRow{path: path}.lock()
	return func() { _ = lock.Close() }, err
}
