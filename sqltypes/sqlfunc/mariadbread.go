package sqlfunc

import (
	"strconv"
	"strings"
	"time"
)

// mariadbEnd is the first instant that DATETIME does not have.
var mariadbEnd = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)

// mariadbTime counts from a DATETIME, which has no time zone: a TIMESTAMP would be
// shown in the session's, ends in 2038, and has no time before 1970.
func (f *Functions) mariadbTime() string {
	body := "\tRETURN TIMESTAMPADD(MICROSECOND, {microseconds}, '1970-01-01 00:00:00.000000');"
	if f.layout.End().After(mariadbEnd) {
		body = `	DECLARE problem TEXT;
	IF {microseconds} > {last} THEN
		SET problem = CONCAT({time text}, ': the time of ', id, ' is after the year 9999, the last of DATETIME');
		SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = problem;
	END IF;
` + body
	}
	return f.mariadbFill(strings.NewReplacer(
		"{microseconds}", f.mariadbMicroseconds("id"),
		"{last}", strconv.FormatInt(mariadbEnd.UnixMicro()-1, 10),
	).Replace(mariadbMode + `CREATE OR REPLACE FUNCTION {time}(id BIGINT) RETURNS DATETIME(6)
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT {comment}
BEGIN
` + body + `
END`))
}

// mariadbTick returns the number of the tick of an ID. Shifts and masks are those of
// unsigned numbers in MariaDB, as in Go.
func (f *Functions) mariadbTick(id string) string {
	return f.mariadbFill("((" + id + " >> {time shift}) & {time max})")
}

// mariadbMicroseconds returns the microseconds from 1970 to the start of an ID's
// tick, as a DECIMAL, which is exact to 65 digits.
func (f *Functions) mariadbMicroseconds(id string) string {
	tick, epoch := int64(f.layout.Tick()), f.layout.Epoch().UnixNano()
	ticks := "CAST(" + f.mariadbTick(id) + " AS DECIMAL(20))"
	if tick%1000 == 0 && epoch%1000 == 0 {
		return "(" + ticks + " * " + strconv.FormatInt(tick/1000, 10) + " + (" + strconv.FormatInt(epoch/1000, 10) + "))"
	}
	return "FLOOR((" + ticks + " * " + strconv.FormatInt(tick, 10) + " + (" + strconv.FormatInt(epoch, 10) + ")) * 0.001)"
}

// mariadbTicks returns the whole ticks from the epoch to a time that is not before
// it, given in microseconds since 1970.
func (f *Functions) mariadbTicks(microseconds string) string {
	tick, epoch := int64(f.layout.Tick()), f.layout.Epoch().UnixNano()
	if tick%1000 == 0 && epoch%1000 == 0 {
		return "(" + microseconds + " - (" + strconv.FormatInt(epoch/1000, 10) + ")) DIV " + strconv.FormatInt(tick/1000, 10)
	}
	return "(CAST(" + microseconds + " AS DECIMAL(30)) * 1000 - (" + strconv.FormatInt(epoch, 10) + ")) DIV " +
		strconv.FormatInt(tick, 10)
}

// mariadbParts returns an object with the fields in the layout's order. The time
// is text of RFC 3339, which JSON has no other form for.
func (f *Functions) mariadbParts() string {
	var values []string
	for _, p := range f.places {
		value := "CONCAT(DATE_FORMAT({time}(id), '%Y-%m-%dT%H:%i:%s.%f'), 'Z')"
		if p.name != "time" {
			value = "(id >> " + strconv.Itoa(p.shift) + ") & " + strconv.FormatInt(p.max(), 10)
		}
		values = append(values, "'"+p.name+"', "+value)
	}
	return f.mariadbFill(mariadbMode + `CREATE OR REPLACE FUNCTION {parts}(id BIGINT) RETURNS TEXT CHARACTER SET utf8mb4
DETERMINISTIC CONTAINS SQL SQL SECURITY INVOKER COMMENT {comment}
BEGIN
	IF id IS NULL THEN
		RETURN NULL;
	END IF;
	RETURN JSON_OBJECT(` + strings.Join(values, ",\n\t\t") + `);
END`)
}

func (f *Functions) mariadbMin() string {
	const plain = mariadbMode + `CREATE OR REPLACE FUNCTION {min}(at DATETIME(6)) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER COMMENT {comment}
BEGIN
	DECLARE microseconds BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00.000000', at);
	DECLARE problem TEXT;
	IF at IS NOT NULL AND (microseconds IS NULL OR microseconds < {first}) THEN
		SET problem = CONCAT({min text}, ': ', at, ' is before the epoch, {epoch} UTC');
		SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = problem;
	END IF;
	IF {ticks} > {time max} THEN
		SET problem = CONCAT({min text}, ': ', at, ' is not before the end, {end} UTC');
		SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = problem;
	END IF;
	RETURN ({ticks}) << {time shift};
END`
	return f.mariadbFill(strings.ReplaceAll(plain, "{ticks}", f.mariadbTicks("microseconds")),
		"{first}", strconv.FormatInt(ceilMicroseconds(f.layout.Epoch()).UnixMicro(), 10),
		"{epoch}", f.layout.Epoch().Format(mariadbFormat),
		"{end}", f.layout.End().Format(mariadbFormat))
}

const mariadbFormat = "2006-01-02 15:04:05.999999999"
