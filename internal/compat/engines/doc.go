// Package enginetest tests etcdlease and natslease against real servers: clusters of three members, each a process of
// its own that is killed and stopped. Members are not cut off from each other. It is a separate module, so that users
// of the two modules do not download the servers.
//
// The servers are the test binary, started again. The tests of natslease also use a server at SNOWFLAKE_TEST_NATS,
// 127.0.0.1:4222 by default, of the installed program if none answers, or none if that is "off".
//
// They are not built with -race: the compilation of the servers takes minutes then, and the modules have no state that
// goroutines share. Those of kvlease are tested with -race in its package.
package enginetest
