module github.com/sqlflake/sqlflake/contrib/natslease

go 1.25.0

require (
	github.com/nats-io/nats.go v1.46.1
	github.com/sqlflake/sqlflake v0.1.0
	github.com/sqlflake/sqlflake/contrib v0.1.0
)

require (
	github.com/klauspost/compress v1.18.0 // indirect
	github.com/nats-io/nkeys v0.4.11 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	golang.org/x/crypto v0.52.0 // indirect
	golang.org/x/sys v0.45.0 // indirect
)
