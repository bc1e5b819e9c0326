package redact_test

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain/automation/redact"
	"svc/domain/value"
)

func TestSecretsAreTakenOutOfText(t *testing.T) {
	set := redact.New("abcdef", "abcdefgh", " hunter22\n", "p/ss w+rd~'é", "xy", "a", "", " ", "line1\n\"line2\"", "overlap", "lapdog")
	tests := map[string]struct{ text, want string }{
		"in a text":                 {"Bearer abcdef.", "Bearer REDACTED."},
		"twice":                     {"abcdefabcdef", "REDACTEDREDACTED"},
		"the longest":               {"abcdefgh", "REDACTED"},
		"trimmed":                   {"hunter22", "REDACTED"},
		"nothing":                   {"nothing here", "nothing here"},
		"empty":                     {"", ""},
		"not as written":            {"ABCDEF hunter 22", "ABCDEF hunter 22"},
		"a short one inside":        {"xyz a xy", "xyz a xy"},
		"a short one alone":         {"xy", "REDACTED"},
		"a shorter one alone":       {"a", "REDACTED"},
		"a short one as base64":     {"eHk=", "REDACTED"},
		"overlapping":               {"an overlapdog", "an REDACTED"},
		"its own overlap":           {"overlaplapdog", "REDACTEDREDACTED"},
		"base64":                    {"Basic " + base64.StdEncoding.EncodeToString([]byte("hunter22")), "Basic REDACTED"},
		"base64 without padding":    {base64.RawStdEncoding.EncodeToString([]byte("hunter22")) + ".", "REDACTED."},
		"base64 of addresses":       {base64.URLEncoding.EncodeToString([]byte("p/ss w+rd~'é")), "REDACTED"},
		"base64 of addresses, bare": {base64.RawURLEncoding.EncodeToString([]byte("p/ss w+rd~'é")), "REDACTED"},
		"in a query":                {"?q=" + url.QueryEscape("p/ss w+rd~'é") + "&r", "?q=REDACTED&r"},
		"in a query, lower case":    {"?q=p%2fss+w%2brd~%27%c3%a9", "?q=REDACTED"},
		"in a path":                 {"/" + url.PathEscape("p/ss w+rd~'é") + "/", "/REDACTED/"},
		"as browsers do":            {"p%2Fss%20w%2Brd~'%C3%A9", "REDACTED"},
		"as browsers do with all":   {"p/ss%20w+rd~'%C3%A9", "REDACTED"},
		"as forms do":               {"p%2Fss+w%2Brd%7E%27%C3%A9", "REDACTED"},
		"in JSON that is a text":    {`{"k":"line1\n\"line2\""}`, `{"k":"REDACTED"}`},
		"at the end":                {"é abcdef", "é REDACTED"},
		"cut off":                   {"abcde", "abcde"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { require.Equal(t, tt.want, set.Text(tt.text)) })
	}
}

func TestOfATextThatWasCutTheBeginningOfASecretGoesToo(t *testing.T) {
	set := redact.New("abcdef", "abcdefgh", "overlap", "lapdog", "aaXaa", "xy", "p/ss w+rd")
	tests := map[string]struct{ text, want string }{
		"nothing":                       {"nothing here", "nothing here"},
		"empty":                         {"", ""},
		"a beginning at the end":        {"the abcde", "the "},
		"a beginning before the end":    {"the abcde.", "the abcde."},
		"a whole one":                   {"the abcdef.", "the REDACTED."},
		"the beginning of a longer one": {"the abcdefg", "the "},
		"one that ends as it begins":    {"the aaXaa", "the REDACTED"},
		"one that reaches into it":      {"an overlapdo", "an REDACTED"},
		"one before it":                 {"an overlap, ab", "an REDACTED, "},
		"percent-encoded":               {"q=p%2Fss%20w", "q="},
		"base64":                        {"Basic " + base64.StdEncoding.EncodeToString([]byte("p/ss w+rd"))[:7], "Basic "},
		"a short one counts as a whole": {"ends in x", "ends in x"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { require.Equal(t, tt.want, set.RedactCut(tt.text)) })
	}
	var none *redact.Set
	require.Equal(t, "abc", none.RedactCut("abc"))
}

func TestValuesAreRedactedWhereTheyHoldSecrets(t *testing.T) {
	set := redact.New("abcdef", "xy")
	clean := value.NewObject("a", []any{1.0, "b"})
	v := value.NewObject(
		"z", clean, "k abcdef", "xy", "l", []any{"q", "Bearer abcdef", nil, true, value.Undefined}, "b", value.Bytes("\xffabcdef"), "n", 5.0, "xy", "x",
	)
	before := value.JSON(v, "")
	got := set.Value(v).(*value.Object)
	require.Equal(t, []string{"z", "k REDACTED", "l", "b", "n", "REDACTED"}, got.Keys())
	require.Equal(t, `["q","Bearer REDACTED",null,true,null]`, value.JSON(got.At("l"), ""))
	require.Equal(t, value.Bytes("\xffREDACTED"), got.At("b"))
	require.Equal(t, "REDACTED", got.At("k REDACTED"))
	require.Same(t, clean, got.At("z"), "what holds none is not copied")
	require.Same(t, clean, set.Value(clean))
	require.Equal(t, before, value.JSON(v, ""), "the value itself stays")
}

func TestAnEmptySetChangesNothing(t *testing.T) {
	var none *redact.Set
	for _, set := range []*redact.Set{none, {}, redact.New(), redact.New("", " \t")} {
		require.Equal(t, "abcdef", set.Text("abcdef"))
		require.Equal(t, "abcdef", set.Value("abcdef"))
		require.Empty(t, set.Secrets())
	}
}

func TestASetGrowsWhileItIsUsed(t *testing.T) {
	set := redact.New()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 50 {
				secret := fmt.Sprintf("secret-%d-%d", i, n)
				set.Add(secret, secret)
				if got := set.Text(secret); got != redact.Redacted {
					t.Errorf("%s became %s", secret, got)
				}
			}
		})
	}
	all.Wait()
	require.Len(t, set.Secrets(), 200)
}

func TestACloneGoesItsOwnWay(t *testing.T) {
	base := redact.New("abcdef")
	require.Equal(t, "REDACTED", base.Text("abcdef"))
	one, other := base.Clone(), base.Clone()
	one.Add("secret1")
	other.Add("secret2")
	require.Equal(t, []string{"abcdef"}, base.Secrets())
	require.Equal(t, []string{"abcdef", "secret1"}, one.Secrets())
	require.Equal(t, "REDACTED REDACTED secret2", one.Text("abcdef secret1 secret2"))
	require.Equal(t, "REDACTED secret1 REDACTED", other.Text("abcdef secret1 secret2"))
	var none *redact.Set
	require.Empty(t, none.Clone().Secrets())
}

// No occurrence of a secret remains in any of its forms, and what is around it
// stays. Secrets are of other letters than what stands in their place.
func TestNoSecretRemains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringMatching(`[a-c/ +é"]{4,12}`), 1, 8).Draw(t, "secrets")
		pieces := rapid.SliceOf(rapid.OneOf(
			rapid.StringMatching(`[a-c/ x]{0,6}`),
			rapid.SampledFrom(secrets),
			rapid.Map(rapid.SampledFrom(secrets), func(s string) string { return url.QueryEscape(strings.TrimSpace(s)) }),
			rapid.Map(rapid.SampledFrom(secrets), func(s string) string {
				return base64.StdEncoding.EncodeToString([]byte(strings.TrimSpace(s)))
			}),
		)).Draw(t, "pieces")
		set := redact.New(secrets...)
		got := set.Text(strings.Join(pieces, "|"))
		for _, secret := range set.Secrets() {
			if len([]rune(secret)) < 4 {
				continue
			}
			require.NotContains(t, got, secret)
			require.NotContains(t, got, url.QueryEscape(secret))
			require.NotContains(t, got, base64.RawStdEncoding.EncodeToString([]byte(secret)))
		}
		require.Equal(t, got, set.Text(got), "once is enough")
	})
}

func BenchmarkText(b *testing.B) {
	var secrets []string
	for i := range 50 {
		secrets = append(secrets, fmt.Sprintf("sk-proj-%032x/%d+", i*7919, i))
	}
	set := redact.New(secrets...)
	clean := strings.Repeat("the quick brown fox jumps over the lazy dog, sk-ip it; ", 200)[:10_000]
	dirty := clean[:5000] + secrets[7] + clean[5000:]
	for name, text := range map[string]string{"clean": clean, "one secret": dirty} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				set.Text(text)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	secrets := make([]string, 50)
	for i := range secrets {
		secrets[i] = fmt.Sprintf("sk-proj-%032x/%d+", i*7919, i)
	}
	b.Run("added", func(b *testing.B) {
		for b.Loop() {
			redact.New(secrets...)
		}
	})
	b.Run("used", func(b *testing.B) {
		for b.Loop() {
			redact.New(secrets...).Text("a text")
		}
	})
	base := redact.New(secrets...)
	base.Text("a text")
	b.Run("cloned", func(b *testing.B) {
		for b.Loop() {
			set := base.Clone()
			set.Add("another secret")
			set.Text("a text")
		}
	})
}

func TestPathsLeadToSecrets(t *testing.T) {
	v, err := value.ParseJSON(`{"a":"Bearer abcdef","b":[1,"x",{"c":"abcdef"}],"d":{"e abcdef":1,"f":"abcdef"},"g":"none"}`)
	require.NoError(t, err)
	require.Equal(t, [][]string{{"a"}, {"b", "2", "c"}, {"d"}}, redact.New("abcdef").Paths(v))
	require.Empty(t, redact.New("other").Paths(v))
	require.Empty(t, redact.New().Paths(v))
}
