package nearest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/nearest"
)

func TestNearestName(t *testing.T) {
	t.Parallel()
	known := slices.Values([]string{"list", "last", "fetch", "setDefault", "mail.send", "ab", "Ünïcode"})
	for wanted, want := range map[string]string{
		"lst":      "list", // the first of two that are as near
		"lits":     "list",
		"LIST":     "list",
		"ftech":    "fetch",
		"setdefau": "setDefault",
		"mial.sed": "mail.send",
		"ünicode":  "Ünïcode",
		"x":        "",
		"a":        "ab",
		"":         "",
		"orders":   "",
		"list":     "last", // it is asked for another than itself

		strings.Repeat("l", 1000): "",
	} {
		require.Equal(t, want, nearest.Name(wanted, known), wanted)
	}
	require.Equal(t, `; did you mean "list"?`, nearest.DidYouMean("lst", known))
	require.Empty(t, nearest.DidYouMean("orders", known))
}
