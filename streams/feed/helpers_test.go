package feed_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	domainfeed "svc/domain/feed"
)

func parse(t *testing.T, query string) domainfeed.Filter {
	values, err := url.ParseQuery(query)
	require.NoError(t, err)
	f, err := domainfeed.ParseFilter(values)
	require.NoError(t, err)
	return f
}
