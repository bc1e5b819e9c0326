package collection

import (
	"encoding/base64"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"svc/domain/automation/value"
)

// maxInteger is the largest number up to which doubles count without a gap.
const maxInteger = 1<<53 - 1

// plain returns a value as rows keep it: bytes are base64, what has no JSON is null,
// and streams are left out. It is false for one that is nested too deeply.
func plain(v any, depth int) (any, bool) {
	if depth > maxDepth {
		return nil, false
	}
	switch v := v.(type) {
	case nil, bool, string:
		return v, true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, true
		}
		return v, true
	case value.Bytes:
		return base64.StdEncoding.EncodeToString(v), true
	case []any:
		return plainList(v, depth)
	case *value.Object:
		return plainObject(v, depth)
	}
	return value.Undefined, true
}

// tooDeep reports whether a value is nested too deeply to be kept.
func tooDeep(v any, depth int) bool {
	switch v := v.(type) {
	case []any:
		return depth > maxDepth || slices.ContainsFunc(v, func(item any) bool { return tooDeep(item, depth+1) })
	case *value.Object:
		return depth > maxDepth || slices.ContainsFunc(v.Keys(), func(key string) bool { return tooDeep(v.At(key), depth+1) })
	}
	return false
}

func plainList(list []any, depth int) (any, bool) {
	made := make([]any, len(list))
	for i, item := range list {
		kept, ok := plain(item, depth+1)
		if !ok {
			return nil, false
		}
		if !value.IsUndefined(kept) {
			made[i] = kept
		}
	}
	return made, true
}

func plainObject(o *value.Object, depth int) (any, bool) {
	made := &value.Object{}
	for _, key := range o.Keys() {
		kept, ok := plain(o.At(key), depth+1)
		if !ok {
			return nil, false
		}
		made.Set(key, kept)
	}
	return made, true
}

// fit returns a value as a declared field keeps it: numbers as doubles, points in time
// to the millisecond. It is false when the value does not fit. Null always does.
func (p *Property) fit(v any) (any, bool) {
	if value.IsNothing(v) || p.Type == "json" {
		return v, true
	}
	switch p.Type {
	case "string", "text":
		_, ok := v.(string)
		return v, ok
	case "boolean":
		_, ok := v.(bool)
		return v, ok
	case "number", "double", "float":
		return fitNumber(v)
	case "integer":
		n, ok := fitNumber(v)
		number, _ := n.(float64)
		return n, ok && number == math.Trunc(number) && math.Abs(number) <= maxInteger
	case "decimal":
		return fitDecimal(v)
	case "date", "datetime":
		return fitDate(v, p.Type == "date")
	case "time":
		text, ok := v.(string)
		return v, ok && timeOfDay.MatchString(text)
	case "uint8array", "blob":
		return fitBytes(v)
	case "array":
		_, ok := v.([]any)
		return v, ok
	case "enum":
		return v, p.lists(v)
	}
	items, ok := v.([]any) // enumArray
	return v, ok && !slices.ContainsFunc(items, func(item any) bool { return !p.lists(item) })
}

// lists reports whether v is one of the values of an enum.
func (p *Property) lists(v any) bool { return p.listed[identity(v)] }

func fitNumber(v any) (any, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		n, ok := value.Numeric(v)
		return n, ok && !math.IsInf(n, 0)
	}
	return nil, false
}

// fitDecimal keeps a number as the text that writes it.
func fitDecimal(v any) (any, bool) {
	switch v := v.(type) {
	case float64:
		return value.Text(v), true
	case string:
		_, ok := value.Numeric(v)
		return strings.TrimSpace(v), ok
	}
	return nil, false
}

var timeOfDay = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?(Z|[+-]([01][0-9]|2[0-3]):?[0-5][0-9])?$`)

// layouts are the forms of dates that are accepted. Without a zone they are UTC.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02", "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "2006-01-02T15:04Z07:00",
	"2006-01-02T15:04:05.999999999Z0700", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00",
}

// stampLayout is how points in time are kept: texts of it are in their order.
const stampLayout = "2006-01-02T15:04:05.000Z"

func stamp(t time.Time) string { return t.UTC().Format(stampLayout) }

// fitDate accepts ISO texts, and numbers as milliseconds since 1970. A day is kept
// as such, and a point in time that is the beginning of one fits.
func fitDate(v any, day bool) (any, bool) {
	t, ok := dateOf(v)
	if !ok || t.Year() < 0 || t.Year() > 9999 {
		return nil, false
	}
	if !day {
		return stamp(t), true
	}
	return t.Format(time.DateOnly), t.Equal(t.Truncate(24 * time.Hour))
}

func dateOf(v any) (time.Time, bool) {
	switch v := v.(type) {
	case float64:
		if v != math.Trunc(v) || math.Abs(v) > 8.64e15 {
			return time.Time{}, false
		}
		return time.UnixMilli(int64(v)).UTC(), true
	case string:
		for _, layout := range layouts {
			if t, err := time.Parse(layout, v); err == nil {
				return t.UTC(), true
			}
		}
	}
	return time.Time{}, false
}

// fitBytes keeps bytes as base64; a list of numbers below 256 is bytes too.
func fitBytes(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		b, err := base64.StdEncoding.DecodeString(v)
		if err != nil {
			b, err = base64.RawStdEncoding.DecodeString(v)
		}
		return base64.StdEncoding.EncodeToString(b), err == nil
	case []any:
		b := make([]byte, len(v))
		for i, item := range v {
			n, ok := item.(float64)
			if !ok || n != math.Trunc(n) || n < 0 || n > 255 {
				return nil, false
			}
			b[i] = byte(n)
		}
		return base64.StdEncoding.EncodeToString(b), true
	}
	return nil, false
}
