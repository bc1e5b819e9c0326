package jetstream

import (
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
)

func TestTokensKeepPlainTextAndEncodeTheRest(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"plain text stays":         {"Workspace_1-b", "Workspace_1-b"},
		"nothing is a token":       {"", "%"},
		"separators and wildcards": {"a.b*c>d e", "a%2Eb%2Ac%3Ed%20e"},
		"control characters":       {"\x00\r\n\t\x7f", "%00%0D%0A%09%7F"},
		"the escape itself":        {"%", "%25"},
		"bytes, not letters":       {"é", "%C3%A9"},
		"what is not UTF-8":        {"\xff", "%FF"},
		"the longest plain text":   {strings.Repeat("a", maxToken), strings.Repeat("a", maxToken)},
		"the longest odd text":     {strings.Repeat(" ", 85) + "a", strings.Repeat("%20", 85) + "a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { require.Equal(t, test.want, token(test.text)) })
	}
}

func TestALongTextKeepsItsBeginningAndAHash(t *testing.T) {
	form := regexp.MustCompile(`^a{222}%%[0-9a-f]{32}$`)
	one, other := token(strings.Repeat("a", 300)), token(strings.Repeat("a", 300)+"b")
	require.Regexp(t, form, one)
	require.Regexp(t, form, other)
	require.NotEqual(t, one, other)
	require.Len(t, token(strings.Repeat("\n", 1<<20)), maxToken)
}

// anyText draws texts of every kind, long ones and those that differ little.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.StringMatching(`[a-b.%*> ]{0,4}`),
		rapid.StringMatching(`%[0-9A-F]{2}`),
		rapid.Map(rapid.IntRange(250, 260), func(n int) string { return strings.Repeat("x", n) }),
		rapid.Map(rapid.IntRange(84, 88), func(n int) string { return strings.Repeat("é ", n/2) }),
	)
}

// readBack undoes the encoding of a token that was not cut.
func readBack(t *rapid.T, tok string) string {
	if tok == "%" {
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(tok); i++ {
		if tok[i] != '%' {
			b.WriteByte(tok[i])
			continue
		}
		if i+2 >= len(tok) {
			t.Fatalf("%q ends in the middle of a byte", tok)
		}
		const digits = "0123456789ABCDEF"
		b.WriteByte(byte(strings.IndexByte(digits, tok[i+1])<<4 | strings.IndexByte(digits, tok[i+2])))
		i += 2
	}
	return b.String()
}

func TestDifferentTextsHaveDifferentTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, other := anyText().Draw(t, "text"), anyText().Draw(t, "other")
		tok := token(text)
		if (tok == token(other)) != (text == other) {
			t.Fatalf("%q and %q are both %q", text, other, tok)
		}
		if !strings.Contains(tok, "%%") && readBack(t, tok) != text {
			t.Fatalf("%q became %q, which reads %q", text, tok, readBack(t, tok))
		}
	})
}

func TestDifferentAggregatesShareNoSubject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) domain.StreamID {
			return domain.StreamID{Scope: anyText().Draw(t, name), Kind: anyText().Draw(t, name), ID: anyText().Draw(t, name)}
		}
		one, other := draw("one"), draw("other")
		if rapid.Bool().Draw(t, "alike") {
			other.Scope, other.Kind = one.Scope, one.Kind
		}
		root := aggregateRoot(other)
		if one != other && strings.HasPrefix(subjectOf(domain.State, one, anyText().Draw(t, "type")), root) {
			t.Fatalf("an event of %q is below %q", one, root)
		}
	})
}

func TestEverySubjectIsOneForTheBroker(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := domain.StreamID{Scope: anyText().Draw(t, "scope"), Kind: anyText().Draw(t, "kind"), ID: anyText().Draw(t, "id")}
		checkSubjects(t, id, strings.Repeat(anyText().Draw(t, "type"), rapid.IntRange(1, 50).Draw(t, "times")))
	})
}

// fatal is what a test and a property have in common.
type fatal interface {
	Fatalf(format string, args ...any)
}

// checkSubjects asks the broker's own judgement of every subject that texts of
// users become part of, and that it fits a broker with default settings.
func checkSubjects(t fatal, id domain.StreamID, eventType string) {
	const maxLine = 4096 - 256 // less the reply subject and the sizes
	subjects := []string{
		subjectOf(domain.State, id, eventType), subjectOf(domain.Activity, id, eventType),
		dataSubject(id), payloadSubject(id.Scope, id.ID),
	}
	for _, subject := range subjects {
		if !server.IsValidLiteralSubject(subject) || strings.ContainsAny(subject, " \t\r\n\x00") || len(subject) > maxLine {
			t.Fatalf("%q is no subject", subject)
		}
	}
	if filter := aggregateFilter(id); !server.IsValidSubject(filter) || !server.SubjectMatchesFilter(subjects[0], filter) {
		t.Fatalf("%q does not find %q", filter, subjects[0])
	}
	if !server.SubjectMatchesFilter(subjects[1], activityRoot+">") {
		t.Fatalf("%q is outside its stream", subjects[1])
	}
	if key := bucketKey(eventType); !regexp.MustCompile(`^[-/_=.a-zA-Z0-9]+$`).MatchString(key) {
		t.Fatalf("%q is no key of a bucket", key)
	}
}

func FuzzSubjects(f *testing.F) {
	f.Add("w1", "workspace", "w1", "workspaces.created")
	f.Add("", "", "", "")
	f.Add("*", ">", "$JS.API", "a..b. .*.>")
	f.Add(strings.Repeat("a", 256), strings.Repeat("a", 257), "\xff\x00\n", strings.Repeat(".", 9000))
	f.Fuzz(func(t *testing.T, scope, kind, id, eventType string) {
		checkSubjects(t, domain.StreamID{Scope: scope, Kind: kind, ID: id}, eventType)
		if token(scope) == token(kind) && scope != kind {
			t.Fatalf("%q and %q are both %q", scope, kind, token(scope))
		}
	})
}
