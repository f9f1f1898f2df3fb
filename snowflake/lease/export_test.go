package lease

// WorkerFromHost lets tests give the host's name.
var WorkerFromHost = workerFromHost
