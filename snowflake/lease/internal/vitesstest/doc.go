// Package vitesstest tests leases and GORM on Vitess: leases in an unsharded keyspace, with processes that are killed,
// and orders and their lines in a keyspace with two shards.
//
// The tests run with SNOWFLAKE_TEST_VITESS=throwaway:FOLDER, where FOLDER has vtcombo and mysqld: see .ci/vitess.
package vitesstest
