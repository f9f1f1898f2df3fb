package main

import "github.com/sqlflake/sqlflake/gormplugin"

// Country is a country or territory of ISO 3166.
type Country struct {
	gormplugin.Model         // the key, and the times of creation and update
	Code             string  `gorm:"size:2;uniqueIndex;not null" json:"code"`
	Name             string  `gorm:"not null" json:"name"`
	Zones            []*Zone `gorm:"many2many:country_zones" json:"zones"`
}

// Zone is a time zone of the tz database. It may lie in several countries.
type Zone struct {
	gormplugin.Model
	Name      string  `gorm:"size:64;uniqueIndex;not null" json:"name"`
	Latitude  float64 `json:"latitude"`  // degrees, north is positive
	Longitude float64 `json:"longitude"` // degrees, east is positive
	Comment   string  `json:"comment,omitempty"`
}
