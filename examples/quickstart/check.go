package main

import (
	"fmt"
	"strings"

	"gorm.io/gorm"
)

// missing reads everything back and returns a line for each row of the input that is not in the database as it should
// be, and how many rows are.
func missing(db *gorm.DB, data tzdata) (found counts, lines []string, err error) {
	stored, err := read(db)
	if err != nil {
		return counts{}, nil, fmt.Errorf("check: %w", err)
	}
	for _, row := range data.countries {
		if c := stored.countries[row.code]; c == nil || c.Name != row.name || c.ID.IsZero() {
			lines = append(lines, "country "+row.code)
		} else {
			found.countries++
		}
	}
	for _, row := range data.zones {
		if z := stored.zones[row.name]; z == nil || z.ID.IsZero() || z.Comment != row.comment ||
			z.Latitude != row.latitude || z.Longitude != row.longitude {
			lines = append(lines, "zone "+row.name)
		} else {
			found.zones++
		}
		for _, code := range row.codes {
			if stored.links[code+row.name] {
				found.links++
			} else {
				lines = append(lines, "zone "+row.name+" in country "+code)
			}
		}
	}
	return found, lines, nil
}

// size returns how many rows the input has.
func (d tzdata) size() counts {
	n := counts{countries: len(d.countries), zones: len(d.zones)}
	for _, zone := range d.zones {
		n.links += len(zone.codes)
	}
	return n
}

// lossError tells which rows of the input are not in the database.
type lossError []string

func (e lossError) Error() string {
	const most = 5
	if len(e) > most {
		return fmt.Sprintf("not in the database: %s and %d more", strings.Join(e[:most], ", "), len(e)-most)
	}
	return "not in the database: " + strings.Join(e, ", ")
}
