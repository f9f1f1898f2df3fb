package testdb

// Status tells where one kind of server is, for a program that reports it before the tests run.
type Status struct {
	Name     string // "postgres", "mariadb" ("mysql" if the server is MySQL) or "redis"
	Variable string // the environment variable that names its address
	Address  string // to print: without the password
	Version  string // as the server says it
	Value    string // of Variable, so that other processes use this very server; may hold a password

	Err    error // why there is none, on one line; Address, Version and Value are then empty
	Needed bool  // its tests fail rather than being skipped when there is none
}

// Servers looks for every kind of server as the tests do. It may start a throwaway PostgreSQL, so call [Stop] at the end.
// It returns an error when SNOWFLAKE_TEST_REQUIRE has an unknown value.
func Servers() ([]Status, error) {
	required, err := requireAll()
	if err != nil {
		return nil, err
	}
	var all []Status
	for _, s := range []*server{postgresServer, mariadbServer, redisServer} {
		loc := s.find()
		status := Status{Name: s.name, Variable: s.variable, Err: loc.err, Needed: required || loc.asked}
		if loc.err == nil {
			if s == mariadbServer && isMySQL(loc.version) {
				status.Name = "mysql"
			}
			status.Address, status.Version, status.Value = loc.printed, loc.version, loc.dsn
		}
		all = append(all, status)
	}
	return all, nil
}
