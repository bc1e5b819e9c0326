package collections

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain/value"
)

// Whatever a text is, a table has a cell that no spreadsheet computes, and reading it gives
// the text again. (That \r\n is \n in a table is its format's.)
func TestCellsDoNotComputeAndComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`['=+\-@\t]{0,4}[a-z0-9(]{0,3}`)).Draw(t, "text")
		text = strings.ReplaceAll(text, "\r", "")
		if text == "" {
			return
		}
		var out bytes.Buffer
		to, _, _ := newRowWriter(&out, rowsCSV)
		require.NoError(t, to.begin([]string{"a", text}))
		require.NoError(t, to.row(value.NewObject("a", "x", text, text)))
		require.NoError(t, to.end())
		lines, err := csv.NewReader(&out).ReadAll()
		require.NoError(t, err)
		cell := lines[1][1]
		if _, number := value.ParseNumber(cell); !number {
			require.NotContains(t, "=+-@\t\n", cell[:1], "%q", cell)
		}
		require.Equal(t, text, readCell(cell))
		require.Equal(t, text, readCell(lines[0][1]))
	})
}
