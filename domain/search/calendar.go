package search

import "time"

// calendar is a unit of the calendar: not all of them are equally long.
type calendar struct {
	floor func(time.Time) time.Time // the beginning of the unit that a time is in
	next  func(time.Time) time.Time // the beginning of the unit after one
}

// calendarUnits are the units by their names.
var calendarUnits = func() map[string]calendar {
	day := func(at time.Time, months, days int) time.Time {
		return time.Date(at.Year(), at.Month()-time.Month(months), at.Day()-days, 0, 0, 0, 0, at.Location())
	}
	ahead := func(years, months, days int) func(time.Time) time.Time {
		return func(at time.Time) time.Time { return at.AddDate(years, months, days) }
	}
	units := map[string]calendar{
		"1s": clock(time.Second),
		"1m": clock(time.Minute),
		"1h": clock(time.Hour),
		"1d": {func(at time.Time) time.Time { return day(at, 0, 0) }, ahead(0, 0, 1)},
		"1w": {func(at time.Time) time.Time { return day(at, 0, (int(at.Weekday())+6)%7) }, ahead(0, 0, 7)},
		"1M": {func(at time.Time) time.Time { return day(at, 0, at.Day()-1) }, ahead(0, 1, 0)},
		"1q": {func(at time.Time) time.Time { return day(at, (int(at.Month())-1)%3, at.Day()-1) }, ahead(0, 3, 0)},
		"1y": {func(at time.Time) time.Time { return day(at, int(at.Month())-1, at.Day()-1) }, ahead(1, 0, 0)},
	}
	for long, short := range map[string]string{
		"second": "1s", "minute": "1m", "hour": "1h", "day": "1d", "week": "1w", "month": "1M", "quarter": "1q", "year": "1y",
	} {
		units[long] = units[short]
	}
	return units
}()

// clock is a unit of the same length everywhere, which begins with the hour of the
// place. One of more than an hour begins at the same times of every day, whenever the
// clocks of the place are changed.
func clock(length time.Duration) calendar {
	step := length.Milliseconds()
	if length > time.Hour {
		return calendar{
			floor: func(at time.Time) time.Time { return onWall(floorTo(wall(at), step), at.Location()) },
			next: func(at time.Time) time.Time {
				from, after := floorTo(wall(at), step), at
				for !after.After(at) { // again where an hour is left out
					from += step
					after = onWall(from, at.Location())
				}
				return after
			},
		}
	}
	return calendar{
		floor: func(at time.Time) time.Time {
			local := wall(at)
			return time.UnixMilli(at.UnixMilli() - local + floorTo(local, step)).In(at.Location())
		},
		next: func(at time.Time) time.Time { return at.Add(length) },
	}
}

// wall is what the clocks of the place show, in milliseconds.
func wall(at time.Time) int64 {
	_, offset := at.Zone()
	return at.UnixMilli() + int64(offset)*1000
}

// onWall is when the clocks of a place show so many milliseconds.
func onWall(ms int64, place *time.Location) time.Time {
	t := time.UnixMilli(ms).UTC()
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), place)
}

// floorTo returns the greatest multiple of step that is not above n.
func floorTo(n, step int64) int64 {
	rest := n % step
	if rest < 0 {
		rest += step
	}
	return n - rest
}
