module github.com/sqlflake/sqlflake/examples/recipes/sqlx

go 1.25.0

replace github.com/sqlflake/sqlflake => ../../..

require (
	github.com/jmoiron/sqlx v1.4.0
	github.com/mattn/go-sqlite3 v1.14.53
	github.com/sqlflake/sqlflake v0.0.0-00010101000000-000000000000
)

require github.com/google/uuid v1.6.0 // indirect
