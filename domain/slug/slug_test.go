package slug_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain/document"
	"svc/domain/slug"
)

func TestTheSlugOfAWorkspace(t *testing.T) {
	t.Parallel()
	for given, wrong := range map[string]string{
		"shop":                         "",
		"a":                            "",
		"0":                            "",
		"-":                            "",
		"eu/shop-2":                    "",
		"platforms":                    "",
		"eu/platform":                  "",
		"import/a":                     "",
		strings.Repeat("a", 60):        "",
		strings.Repeat("a", 61):        "60 characters",
		"":                             "60 characters",
		"platform":                     "reserved",
		"import":                       "reserved",
		"export":                       "reserved",
		"labels":                       "reserved",
		"readiness":                    "reserved",
		"/shop":                        "joined by /",
		"shop/":                        "joined by /",
		"eu//shop":                     "joined by /",
		"/":                            "joined by /",
		"Shop":                         "joined by /",
		"a b":                          "joined by /",
		"a_b":                          "joined by /",
		"a.b":                          "joined by /",
		"..":                           "joined by /",
		"a\n":                          "joined by /",
		"a\x00":                        "joined by /",
		"shоp":                         "joined by /", // its o is Cyrillic
		"é":                            "joined by /",
		"a\xff":                        "joined by /",
		"slug:a":                       "joined by /",
		strings.Repeat("a/", 29) + "a": "",
	} {
		got := slug.CheckWorkspace(given)
		if wrong == "" {
			require.Empty(t, got, "%q", given)
			continue
		}
		require.Contains(t, got, wrong, "%q", given)
	}
}

func TestLabelsAndVersions(t *testing.T) {
	t.Parallel()
	for given, is := range map[string]struct{ label, version bool }{
		"v1.2_3-x":              {true, true},
		"production:eu":         {true, false},
		"a":                     {false, true},
		"":                      {false, false},
		"a b":                   {false, false},
		"a/b":                   {false, false},
		"сore":                  {false, false}, // its c is Cyrillic
		"a\xff":                 {false, false},
		"current":               {true, false},
		"latest":                {true, false},
		strings.Repeat("a", 60): {true, true},
		strings.Repeat("a", 63): {false, true},
		strings.Repeat("a", 64): {false, false},
	} {
		require.Equal(t, is.label, slug.IsLabel(given), "%q", given)
		require.Equal(t, is.version, slug.IsVersion(given), "%q", given)
	}
}

func TestAGeneratedSlugIsOneOfMany(t *testing.T) {
	t.Parallel()
	require.Equal(t, "able-acorn-0", slug.Generate(func(int) int { return 0 }))
	require.Equal(t, "zesty-zebra-9999", slug.Generate(func(n int) int { return n - 1 }))
	form := regexp.MustCompile(`^[a-z]{2,12}-[a-z]{2,12}-[0-9]{1,4}$`)
	var lists [3]int
	rapid.Check(t, func(t *rapid.T) {
		asked := 0
		s := slug.Generate(func(n int) int {
			lists[asked] = n
			asked++
			return rapid.IntRange(0, n-1).Draw(t, "n")
		})
		require.Regexp(t, form, s)
		require.Empty(t, slug.CheckWorkspace(s))
	})
	require.GreaterOrEqual(t, lists[0]*lists[1]*lists[2], 150*150*10000)
}

func free(string) bool { return false }

func TestASlugIsMadeOfAName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Charge card":                   "Charge card",
		"  Crème brûlée!  ":             "Creme brulee",
		"Cre\u0300me":                   "Creme", // e and its mark apart
		"Straße in Łódź":                "Strasse in Lodz",
		"Đặng Ærø":                      "Dang AEro",
		"a/b.c:d":                       "abcd",
		"snake_case-2":                  "snake_case-2",
		"支付":                            "untitled",
		"":                              "untitled",
		" \t\n":                         "untitled",
		"12345678901234567890123":       "12345678901234567890",
		"1234567890123456789 x":         "1234567890123456789",
		"1234567890123456789ß!a":        "1234567890123456789",
		"_svc":                          "_svc-1", // no page can be called so
		"__index__":                     "__index__-1",
		"shop\u202eevil":                "shopevil",
		"a\xffb":                        "ab",
		strings.Repeat(" ", 50) + "end": "end",
	} {
		require.Equal(t, want, slug.FromName(name, free), "%q", name)
	}
}

func TestASlugIsMadeOfTheFirstLanguage(t *testing.T) {
	t.Parallel()
	named := document.MapOf(document.Pair{Key: "fr", Value: "Éléphant"}, document.Pair{Key: "en", Value: "Elephant!"})
	require.Equal(t, "Elephant", slug.FromName(named, free))
	require.Equal(t, "untitled", slug.FromName(document.MapOf(), free))
	require.Equal(t, "untitled", slug.FromName(nil, free))
	require.Equal(t, "untitled", slug.FromName(7.0, free))
}

func TestTheFirstFreeSlugIsTaken(t *testing.T) {
	t.Parallel()
	used := func(slugs ...string) func(string) bool {
		return func(s string) bool { return slices.Contains(slugs, s) }
	}
	require.Equal(t, "Charge-1", slug.FromName("Charge", used("charge")), "whatever its case")
	require.Equal(t, "Charge-3", slug.FromName("Charge", used("charge", "charge-1", "charge-2", "charge-4")))
	require.Equal(t, "Charge", slug.FromName("Charge", used("charge-1")))
	require.Equal(t, "untitled-1", slug.FromName("", used("untitled")))
}

// Whatever the name, the slug can be used and was not taken.
func FuzzFromName(f *testing.F) {
	f.Add("Crème brûlée", uint8(3))
	f.Add("_svc", uint8(0))
	f.Add("\xff /", uint8(1))
	f.Fuzz(func(t *testing.T, name string, taken uint8) {
		asked := 0
		s := slug.FromName(name, func(lower string) bool {
			require.Equal(t, strings.ToLower(lower), lower)
			asked++
			return asked <= int(taken)
		})
		require.True(t, document.Page.HasSlug(s), "%q", s)
		require.True(t, document.Automation.HasSlug(s), "%q", s)
		require.NotContains(t, s, "/")
	})
}
