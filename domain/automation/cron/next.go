package cron

import (
	"time"
)

// horizon is how many days are searched: the 29th of February may be eight
// years away.
const horizon = 366 * 9

// Next returns the first firing after t in zone, false when there is none for
// years.
func (s *Schedule) Next(t time.Time, zone *time.Location) (time.Time, bool) {
	local := t.In(zone)
	// Days are counted in UTC, where each has its midnight.
	day := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)
	for range horizon {
		if s.fits(day) {
			if at, ok := s.onDay(day, t, zone); ok {
				return at, true
			}
		}
		day = day.AddDate(0, 0, 1)
	}
	return time.Time{}, false
}

// Upcoming returns the next n firings after t in zone.
func (s *Schedule) Upcoming(t time.Time, zone *time.Location, n int) []time.Time {
	var all []time.Time
	for len(all) < n {
		next, ok := s.Next(t, zone)
		if !ok {
			break
		}
		all = append(all, next)
		t = next
	}
	return all
}

// Period returns the shortest time between two firings, as far as they can be
// foreseen; false when there are no two.
func (s *Schedule) Period() (time.Duration, bool) {
	const samples = 1500 // more than a day of minutes
	var shortest time.Duration
	at, ok := s.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), time.UTC)
	found := false
	for range samples {
		next, more := s.Next(at, time.UTC)
		if !ok || !more {
			break
		}
		if gap := next.Sub(at); !found || gap < shortest {
			shortest, found = gap, true
		}
		at = next
	}
	return shortest, found
}

// onDay returns the first firing of a day after t.
func (s *Schedule) onDay(day, t time.Time, zone *time.Location) (time.Time, bool) {
	for hour := range 24 {
		if s.hour&(1<<hour) == 0 || !instant(day, hour, 59, zone).After(t) {
			continue // an hour that is over has no minute after t
		}
		for minute := range 60 {
			if s.minute&(1<<minute) == 0 {
				continue
			}
			if at := instant(day, hour, minute, zone); at.After(t) {
				return at, true
			}
		}
	}
	return time.Time{}, false
}

// instant returns when the clocks of zone show a time of a day: the first time
// if they show it twice, the end of the gap if they skip it.
func instant(day time.Time, hour, minute int, zone *time.Location) time.Time {
	at := time.Date(day.Year(), day.Month(), day.Day(), hour, minute, 0, 0, zone)
	start, end := at.ZoneBounds()
	if at.Hour() != hour || at.Minute() != minute {
		// Go moved it out of the gap, to one of its sides.
		if moved := at.Hour()*60 + at.Minute(); at.Day() == day.Day() && moved > hour*60+minute {
			return start
		}
		return end
	}
	if start.IsZero() {
		return at
	}
	_, before := start.Add(-time.Second).Zone()
	_, now := at.Zone()
	if earlier := at.Add(time.Duration(now-before) * time.Second); before > now && earlier.Before(start) {
		return earlier
	}
	return at
}
