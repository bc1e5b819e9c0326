package cron_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/cron"
)

func next(t *testing.T, schedule, after, zone string, n int) []string {
	t.Helper()
	s, err := cron.Parse(schedule)
	require.NoError(t, err, schedule)
	at, err := time.Parse(time.RFC3339, after)
	require.NoError(t, err)
	loc, err := time.LoadLocation(zone)
	require.NoError(t, err)
	var all []string
	for _, firing := range s.Upcoming(at, loc, n) {
		all = append(all, firing.In(loc).Format("Mon 2006-01-02 15:04 -07"))
	}
	return all
}

func TestNext(t *testing.T) {
	t.Parallel()
	const friday = "2024-03-01T10:07:30Z"
	for schedule, want := range map[string][]string{
		"*/5 * * * *":         {"Fri 2024-03-01 10:10 +00", "Fri 2024-03-01 10:15 +00"},
		"7 10 * * *":          {"Sat 2024-03-02 10:07 +00", "Sun 2024-03-03 10:07 +00"},
		"@hourly":             {"Fri 2024-03-01 11:00 +00", "Fri 2024-03-01 12:00 +00"},
		"@daily":              {"Sat 2024-03-02 00:00 +00", "Sun 2024-03-03 00:00 +00"},
		"@weekly":             {"Sun 2024-03-03 00:00 +00", "Sun 2024-03-10 00:00 +00"},
		"@monthly":            {"Mon 2024-04-01 00:00 +00", "Wed 2024-05-01 00:00 +00"},
		"@yearly":             {"Wed 2025-01-01 00:00 +00", "Thu 2026-01-01 00:00 +00"},
		"0 9 * * mon-fri":     {"Mon 2024-03-04 09:00 +00", "Tue 2024-03-05 09:00 +00"},
		"0 9 * * 7":           {"Sun 2024-03-03 09:00 +00", "Sun 2024-03-10 09:00 +00"},
		"0 9 * * 0":           {"Sun 2024-03-03 09:00 +00", "Sun 2024-03-10 09:00 +00"},
		"0 0 13 * FRI":        {"Fri 2024-03-08 00:00 +00", "Wed 2024-03-13 00:00 +00"},
		"0 0 31 2 mon":        {"Mon 2025-02-03 00:00 +00", "Mon 2025-02-10 00:00 +00"},
		"0 0 29 2 *":          {"Tue 2028-02-29 00:00 +00", "Sun 2032-02-29 00:00 +00"},
		"0 0 1 jan,Jun *":     {"Sat 2024-06-01 00:00 +00", "Wed 2025-01-01 00:00 +00"},
		"10-20/5,50 12 * * *": {"Fri 2024-03-01 12:10 +00", "Fri 2024-03-01 12:15 +00"},
		"40/10 10 * * *":      {"Fri 2024-03-01 10:40 +00", "Fri 2024-03-01 10:50 +00"},
		"0 0 */10 * 1":        {"Mon 2024-03-04 00:00 +00", "Mon 2024-03-11 00:00 +00"},
	} {
		require.Equal(t, want, next(t, schedule, friday, "UTC", 2), schedule)
	}
}

func TestClockChanges(t *testing.T) {
	t.Parallel()
	// Clocks in Paris go from 02:00 to 03:00 on 2024-03-31, and from 03:00 back to 02:00 on 2024-10-27.
	require.Equal(t, []string{"Sun 2024-03-31 03:00 +02", "Mon 2024-04-01 02:30 +02"},
		next(t, "30 2 * * *", "2024-03-30T12:00:00Z", "Europe/Paris", 2), "a skipped time fires at the next instant")
	require.Equal(t, []string{"Sun 2024-03-31 01:40 +01", "Sun 2024-03-31 03:00 +02", "Sun 2024-03-31 03:20 +02"},
		next(t, "*/20 * * * *", "2024-03-31T00:20:00Z", "Europe/Paris", 3), "and once")
	require.Equal(t, []string{"Sun 2024-10-27 02:30 +02", "Mon 2024-10-28 02:30 +01"},
		next(t, "30 2 * * *", "2024-10-26T12:00:00Z", "Europe/Paris", 2), "a repeated time fires once")
	require.Equal(t, []string{"Sun 2024-10-27 02:30 +02", "Sun 2024-10-27 03:00 +01"},
		next(t, "*/30 * * * *", "2024-10-27T00:00:00Z", "Europe/Paris", 2))
	require.Equal(t, []string{"Sun 2024-10-27 03:00 +01"},
		next(t, "*/30 * * * *", "2024-10-27T01:10:00Z", "Europe/Paris", 1), "asked in the second of the two hours")
	// Half an hour, and behind Greenwich: Lord Howe, and New York.
	require.Equal(t, []string{"Sun 2024-10-06 02:30 +11"}, next(t, "15 2 6 10 *", "2024-10-01T00:00:00Z", "Australia/Lord_Howe", 1))
	require.Equal(t, []string{"Sun 2024-03-10 03:00 -04"}, next(t, "30 2 10 3 *", "2024-03-01T00:00:00Z", "America/New_York", 1))
	require.Equal(t, []string{"Sun 2024-11-03 01:30 -04", "Mon 2024-11-04 01:30 -05"},
		next(t, "30 1 * 11 *", "2024-11-03T04:00:00Z", "America/New_York", 2))
	// Midnight itself is skipped in Santiago on 2024-09-08.
	require.Equal(t, []string{"Sun 2024-09-08 01:00 -03"}, next(t, "0 0 8 9 *", "2024-09-01T00:00:00Z", "America/Santiago", 1))
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, schedule := range []string{
		"", "* * * *", "0 */5 * * * *", "@reboot", "@every 5m", "@Daily", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *",
		"* * * 13 *", "* * * * 8", "*/0 * * * *", "5-1 * * * *", "a * * * *", "1,, * * * *", "* * * foo *", "-1 * * * *",
		"1- * * * *", "*/x * * * *", "+1 * * * *", "* * ? * *", "* * L * *", "* * * * mon#1", "TZ=UTC * * * * *", "** * * * *",
		"0 0 31 2 *", "0 0 30,31 feb *", "0 0 31 apr,jun,9,11 *",
	} {
		_, err := cron.Parse(schedule)
		require.Error(t, err, schedule)
	}
}

func TestPeriod(t *testing.T) {
	t.Parallel()
	for schedule, want := range map[string]time.Duration{
		"* * * * *": time.Minute, "*/7 * * * *": 4 * time.Minute, "0 23,0 * * *": time.Hour, "@yearly": 365 * 24 * time.Hour,
		"0 0 1,2 * *": 24 * time.Hour,
	} {
		s, err := cron.Parse(schedule)
		require.NoError(t, err)
		got, ok := s.Period()
		require.True(t, ok)
		require.Equal(t, want, got, schedule)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("*/5 1-3 1,15 jan-mar mon")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := cron.Parse(text)
		if err != nil {
			return
		}
		at := time.Date(2024, 3, 31, 0, 0, 0, 0, time.UTC)
		if firing, ok := s.Next(at, time.UTC); ok {
			require.True(t, firing.After(at))
		}
	})
}
