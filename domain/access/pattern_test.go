package access_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/domaintest"
)

func TestPatternsAreBounded(t *testing.T) {
	for _, text := range []string{"", "^a+$", "(?i)x|y", `\pL{10}`, "x{900}", strings.Repeat("é", 256), "x{0}", "(?:a{2,}){0,3}", `\b`} {
		re, err := access.Pattern(text)
		require.NoError(t, err, text)
		require.Equal(t, text, re.String())
	}
	for text, message := range map[string]string{
		strings.Repeat("a", 257):              "must be a text of at most 256 characters",
		"(":                                   "is not a regular expression: missing closing ): `(`",
		"(?=x)":                               "is not a regular expression: invalid or unsupported Perl syntax: `(?=`",
		"a{1001}":                             "is not a regular expression: invalid repeat count: `{1001}`",
		"\xff":                                "is not a regular expression: invalid UTF-8: `\xff`",
		"x{1000}x{1000}":                      "is too large once its repetitions are written out",
		"(?:x{10}y{10}){0,99}":                "is too large once its repetitions are written out",
		"(?:x?){1000}":                        "is too large once its repetitions are written out",
		strings.Repeat("(?:x{1000}){0,}", 17): "is too large once its repetitions are written out",
		strings.Repeat("(x{0,1000})", 23):     "is too large once its repetitions are written out",
		strings.Repeat(`\b{1000}`, 32):        "is too large once its repetitions are written out",
		strings.Repeat("(){1000}", 32):        "is too large once its repetitions are written out",
		strings.Repeat("(?:[a-z]|yy){0,500}", 13): "is too large once its repetitions are written out",
	} {
		re, err := access.Pattern(text)
		require.EqualError(t, err, message, text)
		require.Nil(t, re)
		require.Equal(t, domain.CodeInternal, domain.CodeOf(err), "a plain error: what is refused is for the caller to say")
		require.Less(t, effortOf(t, func() { _, _ = access.Pattern(text) }), soon, text)
	}
}

// Whatever the text, it is refused or compiled, soon, and says the same as the
// conditions do.
func FuzzPattern(f *testing.F) {
	for _, seed := range []string{"^a+$", "(", "x{1000}x{1000}", `(?:\pL{9}|){9,}`, "[^x]{2,5}?", "(?i)(?P<n>k)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var re *regexp.Regexp
		var err error
		require.Less(t, domaintest.MeasureEffort(t, func() { re, err = access.Pattern(text) }), most)
		require.Equal(t, err == nil, re != nil)
		_, refused := access.Compile(here, fileRule(map[string]any{"a": map[string]any{"$regex": text}}))
		require.True(t, refused != nil || err == nil, "%q", text)
	})
}
