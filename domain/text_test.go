package domain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"svc/domain"
)

func TestShortenCountsCharacters(t *testing.T) {
	t.Parallel()
	assert.Empty(t, domain.Shorten("", 3))
	assert.Equal(t, "été", domain.Shorten("été", 3))
	assert.Equal(t, "été…", domain.Shorten("étés", 3))
	assert.Equal(t, "abc…", domain.Shorten("abcd", 3))
	assert.Equal(t, "…", domain.Shorten("abc", 0))
}

func TestTimesAreWrittenInTheFormOfTimestamp(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{
		{}, time.Unix(0, 0), time.Date(2026, 11, 19, 1, 2, 3, 4_999_999, time.FixedZone("east", 3*3600)),
		time.Date(2026, 12, 31, 23, 59, 59, 999_999_999, time.FixedZone("west", -3*3600)), time.Date(9999, 1, 1, 0, 0, 0, 50e6, time.UTC),
	} {
		assert.Equal(t, at.UTC().Format(domain.Timestamp), domain.FormatTime(at))
	}
}
