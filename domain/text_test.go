package domain_test

import (
	"testing"

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
