package engine

import (
	"regexp"
	"strconv"
	"strings"
)

// product names the server, as far as it is known.
func (e *mariadb) product() string {
	switch {
	case e.version == "":
		return "MariaDB or MySQL"
	case strings.Contains(e.version, "MariaDB"):
		return "MariaDB"
	}
	return "MySQL"
}

var mariadbVersion = regexp.MustCompile(`(\d+)\.(\d+)\.\d+-MariaDB`)

// Returning: MariaDB since 10.5, MySQL never. https://mariadb.com/kb/en/insertreturning/.
func (e *mariadb) Returning() bool {
	found := mariadbVersion.FindStringSubmatch(e.version)
	if found == nil {
		return false
	}
	major, _ := strconv.Atoi(found[1])
	minor, _ := strconv.Atoi(found[2])
	return major > 10 || major == 10 && minor >= 5
}
