package main

import (
	"fmt"

	"gorm.io/gorm"
)

// counts counts rows of the three tables.
type counts struct{ countries, zones, links int }

// load stores what is not there yet, all of it or nothing, and returns how much that was.
func load(db *gorm.DB, data tzdata) (added counts, err error) {
	err = alone(db, func(tx *gorm.DB) error {
		stored, err := read(tx)
		if err != nil {
			return err
		}
		// Countries that are new are created with their zones, in one call. A zone that several of them share is one
		// struct, so it is created once.
		var created []*Country
		for _, row := range data.countries {
			if stored.countries[row.code] == nil {
				country := &Country{Code: row.code, Name: row.name}
				stored.countries[row.code] = country
				created = append(created, country)
				added.countries++
			}
		}
		var late []link // between a country that is there and a zone that is not, or not in it
		for _, row := range data.zones {
			zone := stored.zones[row.name]
			if zone == nil {
				zone = &Zone{Name: row.name, Latitude: row.latitude, Longitude: row.longitude, Comment: row.comment}
				added.zones++
			}
			for _, code := range row.codes {
				country := stored.countries[code]
				switch {
				case stored.links[code+row.name]:
					continue
				case country.ID.IsZero():
					country.Zones = append(country.Zones, zone)
				default:
					late = append(late, link{country, zone})
				}
				added.links++
			}
		}
		if len(created) > 0 {
			if err := tx.Create(created).Error; err != nil {
				return err
			}
		}
		for _, l := range late {
			if err := tx.Model(l.country).Association("Zones").Append(l.zone); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return counts{}, fmt.Errorf("import: %w", err)
	}
	return added, nil
}

type link struct {
	country *Country
	zone    *Zone
}

// content is what the database holds.
type content struct {
	countries map[string]*Country // by code
	zones     map[string]*Zone    // by name
	links     map[string]bool     // by code and name, one after the other: a code has two letters
}

func read(db *gorm.DB) (content, error) {
	c := content{countries: map[string]*Country{}, zones: map[string]*Zone{}, links: map[string]bool{}}
	var zones []*Zone
	if err := db.Find(&zones).Error; err != nil {
		return content{}, err
	}
	for _, zone := range zones {
		c.zones[zone.Name] = zone
	}
	var countries []*Country
	if err := db.Preload("Zones").Find(&countries).Error; err != nil {
		return content{}, err
	}
	for _, country := range countries {
		c.countries[country.Code] = country
		for _, zone := range country.Zones {
			c.links[country.Code+zone.Name] = true
		}
	}
	return c, nil
}
