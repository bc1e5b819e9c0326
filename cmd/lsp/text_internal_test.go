package lsp

import (
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"svc/commands/yamltext"
)

func TestPositionsAreUnitsOfUTF16(t *testing.T) {
	t.Parallel()
	// é is 2 bytes and 1 unit, 😀 is 4 bytes and 2 units, 中 is 3 bytes and 1 unit.
	body := "a: é😀中b\r\nzwei\rdrei\n"
	text := newText(body)
	require.Equal(t, []int{0, 15, 20, 25}, text.lines)
	for _, c := range []struct {
		offset int
		at     position
	}{
		{0, position{0, 0}}, {3, position{0, 3}}, {5, position{0, 4}}, {9, position{0, 6}}, {12, position{0, 7}}, {13, position{0, 8}},
		{15, position{1, 0}}, {19, position{1, 4}}, {20, position{2, 0}}, {25, position{3, 0}},
	} {
		require.Equal(t, c.at, text.position(c.offset), c.offset)
		require.Equal(t, c.offset, text.offset(c.at), c.at)
	}
	require.Equal(t, 5, text.offset(position{0, 5}), "inside a pair of surrogates")
	require.Equal(t, 13, text.offset(position{0, 99}), "beyond the line")
	require.Equal(t, len(body), text.offset(position{99, 0}), "beyond the text")
	require.Equal(t, 0, text.offset(position{-1, 0}))
	require.Equal(t, 9, text.at(yamltext.Position{Line: 1, Column: 6}), "columns of YAML are characters")
	for offset := range body { // every beginning of a character, both ways, as another implementation counts
		at := text.position(offset)
		require.Len(t, utf16.Encode([]rune(body[text.lines[at.Line]:offset])), at.Character)
	}
}

func TestTokenEndsWhereTheKeyOrTheValueDoes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"event: x":         "event",
		"event:":           "event",
		`"a: b": x`:        `"a: b"`,
		"'it''s' # c":      "'it''s'",
		"plain text  # c":  "plain text",
		"a:b":              "a:b",
		"https://x.org/:y": "https://x.org/:y",
		`"open`:            `"open`,
		"":                 "",
	} {
		text := newText(line)
		require.Equal(t, want, line[:text.token(0)], line)
	}
}
