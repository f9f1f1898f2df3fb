package main

import "fmt"

// size prints how many bytes the tables take, with their indexes.
func (r *report) size() error {
	if r.db.Name() == "postgres" {
		return r.postgresSize()
	}
	var bytes int64
	const query = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
	if err := r.db.Raw(query).Scan(&bytes).Error; err != nil {
		return fmt.Errorf("read the size: %w", err)
	}
	r.printf("The file with all tables and indexes takes %d bytes.\n", bytes)
	return nil
}

func (r *report) postgresSize() error {
	var total int64
	for _, table := range []string{"countries", "zones", "country_zones"} {
		var bytes int64
		if err := r.db.Raw("SELECT pg_total_relation_size(?::regclass)", table).Scan(&bytes).Error; err != nil {
			return fmt.Errorf("read the size of %s: %w", table, err)
		}
		r.printf("%-13s %7d bytes with its indexes\n", table, bytes)
		total += bytes
	}
	r.printf("%-13s %7d bytes\n", "together", total)
	return nil
}
