package shape_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/document"
	"svc/domain/shape"
)

// Names that others refer to show what they are: by the names of roles, which
// the evaluator of rules judges a second time.
func TestNamesShowWhatTheyAre(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"agent": true, "Agent 2": true, "first-line support": true, "équipe": true, "代理": true, "代理 API": true, "サポート": true, "서비스": true,
		"агент": true, "Μηχανή": true, "նախագահ": true, "वकील": true, "ผู้ดูแล": true, "مدير": true, "מנהל": true, "Đội trưởng": true, "a@b.c/d#e": true, "12": true,
		"": false, " ": false, " agent": false, "agent\u00a0": false,
		"age\u200bnt": false, "\u202eagent": false, "agent\u2066": false, "agent\ufeff": false, "age\u3164nt": false, "a\u0000": false, "a\nb": false, "a\u0085": false,
		"editоr":       false, // a Cyrillic o
		"Εditor":       false, // a Greek E
		"агентa":       false, // a Latin a
		"сосо":         false, // all Cyrillic, all like Latin
		"ΑΒΕ":          false, // all Greek
		"ոսօ":          false, // all Armenian
		"ᎪᎢᎬ":          false, // Cherokee
		"ａｇｅｎｔ":        false, // full width
		"\U0001d41a":   false, // mathematical
		"agent\u0301":  false, // a mark on its own
		"\u212a":       false, // the sign of Kelvin
		"ownerı":       false, // an i without its dot
		"ﬁx":           false, // two letters in one
		"\uf900":       false, // a second form of a Han character
		"\U0002f800":   false,
		"a☺":           false,
		"٣":            false, // a digit of another script
		"a\ufe0f":      false,
		"\xff":         false,
		"مدير agent":   false,
		"\ue000":       false,
		"\u2028":       false,
		"a\u00adb":     false,
		"１":            false,
		"agent\u2003b": false,
	} {
		roles := document.MapOf(document.Pair{Key: name, Value: document.MapOf()})
		doc := document.MapOf(document.Pair{Key: "authorizations", Value: document.MapOf(document.Pair{Key: "roles", Value: roles})})
		require.Equal(t, ok, len(shape.Check(document.Security, doc)) == 0, "%q", name)
	}
}
