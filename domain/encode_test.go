package domain_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
)

// anyText draws texts of all kinds: with what JSON escapes, and what is not UTF-8.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[a-z]{0,8}`), rapid.String(), rapid.StringMatching(`[<>&"\\a \x00-\x1f\x7f\x{2028}\x{2029}]{0,8}`),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)
}

func TestASourceIsEncodedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	text, number := anyText(), rapid.Int()
	rapid.Check(t, func(t *rapid.T) {
		m := domain.Meta{
			UserID: text.Draw(t, "user"), SessionID: text.Draw(t, "session"), CorrelationID: text.Draw(t, "correlation"), TraceID: text.Draw(t, "trace"),
			IP: text.Draw(t, "ip"), SocketID: text.Draw(t, "socket"), AutomationSlug: text.Draw(t, "automation"), AutomationDepth: number.Draw(t, "depth"),
			ExecutionID: text.Draw(t, "execution"), AppSlug: text.Draw(t, "app"), AppInstance: text.Draw(t, "instance"), AppDepth: number.Draw(t, "appDepth"),
			ServiceTopic: text.Draw(t, "topic"), Host: domain.Host{Service: text.Draw(t, "service"), Replica: text.Draw(t, "replica")},
			Hides: rapid.Bool().Draw(t, "hides"),
		}
		if rapid.Bool().Draw(t, "http") {
			m.HTTP = &domain.HTTPCause{Method: text.Draw(t, "method"), Path: text.Draw(t, "path"), Hostname: text.Draw(t, "hostname")}
		}
		if rapid.Bool().Draw(t, "actor") {
			m.Actor = &domain.Actor{KeyID: text.Draw(t, "key"), Scopes: rapid.SliceOf(text).Draw(t, "scopes")}
		}
		o := domain.NewObjectEncoder([]byte("before"))
		m.Encode(&o)
		got, err := o.End()
		require.NoError(t, err)
		want, err := json.Marshal(m)
		require.NoError(t, err)
		require.Equal(t, "before"+string(want), string(got))
	})
}

func TestTextsAreEncodedAndDecodedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := anyText().Draw(t, "text")
		want, err := json.Marshal(text)
		require.NoError(t, err)
		require.Equal(t, string(want), string(domain.AppendText(nil, text)))

		written := rapid.OneOf(rapid.Just(string(want)), rapid.StringMatching(`"([a-z\"\x{e9}\x{10000}\x{2028}\x1f]|\\[a-z"\\/0-9]|\\u[0-9a-fD]{4}){0,6}"`), rapid.Map(anyText(), func(s string) string {
			return `"` + s + `"`
		})).Draw(t, "written")
		got, was := "before", "before"
		err, wantErr := domain.DecodeText(&got, []byte(written)), json.Unmarshal([]byte(written), &was)
		require.Equal(t, wantErr == nil, err == nil, written)
		require.Equal(t, was, got, written)
	})
}

func TestJSONIsWrittenAgainAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"a":[1,true,null,"b"]}`, `{ "a": 1 }`, "[1,\n2]", `"<b>&amp;</b>"`, "\"\u2028\"", `"é"`, `"a b"`, "null", "", "{", "\"\xff\"", `1 2`,
	} {
		o := domain.NewObjectEncoder(nil)
		o.JSON("a", json.RawMessage(body))
		got, err := o.End()
		want, wantErr := json.Marshal(struct {
			A json.RawMessage `json:"a"`
		}{json.RawMessage(body)})
		require.Equal(t, wantErr == nil, err == nil, body)
		if wantErr == nil {
			require.Equal(t, string(want), string(got), body)
		}
	}
}

func TestNumbersAndTextsAreDecodedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"0", "7", "-0", "-7", "01", "1.5", "1e3", "123456789", "1234567890", "9223372036854775807", "9223372036854775808", "true", "null", `"1"`, "", "x",
		`""`, `"a"`, `"a\n"`, `"é"`, "\"\xff\"", `"a`, "false", "\"\x01\"",
	} {
		var gotInt, wantInt int64
		err, wantErr := domain.DecodeInt(&gotInt, []byte(value)), json.Unmarshal([]byte(value), &wantInt)
		require.Equal(t, wantErr == nil, err == nil, value)
		require.Equal(t, wantInt, gotInt, value)
		var gotText, wantText string
		err, wantErr = domain.DecodeText(&gotText, []byte(value)), json.Unmarshal([]byte(value), &wantText)
		require.Equal(t, wantErr == nil, err == nil, value)
		require.Equal(t, wantText, gotText, value)
		var gotBool, wantBool bool
		err, wantErr = domain.DecodeBool(&gotBool, []byte(value)), json.Unmarshal([]byte(value), &wantBool)
		require.Equal(t, wantErr == nil, err == nil, value)
		require.Equal(t, wantBool, gotBool, value)
	}
}
