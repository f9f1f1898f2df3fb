module github.com/sqlflake/sqlflake/snowflake/lease/redislease

go 1.25.0

require (
	github.com/redis/go-redis/v9 v9.22.0
	github.com/sqlflake/sqlflake v0.1.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/stretchr/testify v1.11.1 // indirect
	go.uber.org/atomic v1.11.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
)
