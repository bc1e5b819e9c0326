package feed_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/feed"
)

var _ access.Object = (*feed.Event)(nil)

func event(name, payload string) *feed.Event {
	return feed.Of(domain.Recorded{
		ID: "01J", Log: domain.Activity, Stream: domain.StreamID{Scope: "w1"}, Seq: 7, At: time.Date(2026, 1, 31, 12, 0, 0, 123456789, time.UTC),
		Meta: domain.Meta{UserID: "u1", CorrelationID: "c1", AppDepth: 0, Host: domain.Host{Service: "s"}}, Data: domain.Unknown{Name: name},
	}, domain.Position{State: 3, Activity: 7}, json.RawMessage(payload))
}

func TestAnEventIsShownAsTheContractSays(t *testing.T) {
	e := event("order.paid", `{"n":1,"items":[{"name":"a"},{"name":"b"}]}`)
	var got map[string]any
	require.NoError(t, json.Unmarshal(e.JSON(), &got))
	require.Equal(t, "2026-01-31T12:00:00.123Z", got["createdAt"])
	require.Equal(t, domain.Position{State: 3, Activity: 7}.Token(), got["seq"])
	require.Equal(t, "w1", got["source"].(map[string]any)["workspaceId"])
	require.Equal(t, "order.paid", got["source"].(map[string]any)["serviceTopic"])
	require.InDelta(t, len(e.JSON()), got["size"], 3, "the length of the event, but for its own digits")
	require.Equal(t, []any{"a", "b"}, e.Values("payload.items.name"))
	require.Nil(t, e.Values("payload.none.name"))
	require.Equal(t, []any{"u1"}, e.Values("source.userId"))
	require.Equal(t, []any{"2026-01-31T12:00:00.123Z"}, e.Values("@timestamp"))
	require.NotContains(t, got, "error")

	failed := event("shop.error", `{"error":"E","message":"m","details":{"x":1}}`)
	require.NoError(t, json.Unmarshal(failed.JSON(), &got))
	require.Equal(t, map[string]any{"error": "E", "message": "m", "details": map[string]any{"x": 1.0}, "level": "error"}, got["error"])
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"*", "x.y", true}, {"a.*", "a.b.c", true}, {"a.*", "a", false},
		{"*.c", "a.b.c", true}, {"a*c*e", "abcde", true}, {"a*c*e", "ace", true}, {"a*c*e", "aec", false}, {"a*a", "a", false}, {"**", "x", true},
	} {
		require.Equal(t, c.want, feed.Like(c.pattern, c.text), "%s %s", c.pattern, c.text)
	}
}

func TestFilters(t *testing.T) {
	e := event("order.paid", `{"n":10,"ok":true,"name":"Zoë O'Neil","list":["a","b"],"nothing":null,"big":1e3}`)
	for query, want := range map[string]bool{
		"":                                       true,
		"types=order.*":                          true,
		"types=x,order.paid":                     true,
		"types=order":                            false,
		"text=ZOË":                               true,
		"text=neil zoë":                          true,
		"text=nei":                               false,
		"text=nei*":                              true,
		"text=zoë missing":                       false,
		"text=paid":                              true,
		"payload.n=10":                           true,
		"payload.n=10.0":                         false,
		"payload.big=1000":                       true,
		"payload.ok=true":                        true,
		"payload.list=b":                         true,
		"payload.list=c":                         false,
		"payload.nothing=":                       true,
		"payload.n=":                             false,
		"payload.none=":                          true,
		"payload.none=*":                         false,
		"payload.none=*&payload.none=":           true,
		"payload.n=*":                            true,
		"payload.n=9&payload.n=10":               true,
		"payload.n=10&payload.ok=false":          false,
		"payload.name=Z*l":                       true,
		"source.userId=u1":                       true,
		"afterDate=2026-01-31T12:00:00.123Z":     false,
		"afterDate=2026-01-31T12:00:00.122Z":     true,
		"beforeDate=2026-01-31T13:00:00%2B01:00": false,
		"beforeDate=2026-01-31T13:00:01%2B01:00": true,
	} {
		values, err := url.ParseQuery(query)
		require.NoError(t, err)
		f, err := feed.ParseFilter(values)
		require.NoError(t, err, query)
		require.Equal(t, want, f.Match(e), query)
		if want {
			require.True(t, f.May(feed.SignatureOf(e)), "the signature must not deny what matches: %s", query)
		}
	}
}

func TestDepth(t *testing.T) {
	deep := event("a.b.x", `{}`)
	deep.Source.AppDepth = 2
	for depth, want := range map[string]bool{"": false, "0": false, "1": false, "2": true, "-1": true} {
		values := map[string][]string{}
		if depth != "" {
			values["appInstanceDepth"] = []string{depth}
		}
		f, err := feed.ParseFilter(values)
		require.NoError(t, err)
		require.Equal(t, want, f.Match(deep), depth)
	}
}

func TestFiltersOfObjects(t *testing.T) {
	f, err := feed.FilterOf(map[string]any{"types": []any{"a.*", "b"}, "payload.n": 10.0, "payload.ok": true, "payload.none": nil, "appInstanceDepth": -1.0})
	require.NoError(t, err)
	require.True(t, f.Match(event("a.x", `{"n":10,"ok":true}`)))
	require.False(t, f.Match(event("a.x", `{"n":10,"ok":true,"none":1}`)))
	_, err = feed.FilterOf(map[string]any{"payload.n": map[string]any{"$gt": 1.0}})
	require.Equal(t, domain.CodeInvalidParameter, domain.CodeOf(err))
}

// shape is the envelope of the contract. Size comes last: it is the length of the rest.
type shape struct {
	ID        string               `json:"id"`
	Type      string               `json:"type"`
	CreatedAt string               `json:"createdAt"`
	Seq       domain.Position      `json:"seq"`
	Source    feed.Source          `json:"source"`
	Payload   json.RawMessage      `json:"payload"`
	Target    *domain.Target       `json:"target,omitempty"`
	Options   *domain.EventOptions `json:"options,omitempty"`
	Error     *feed.Failure        `json:"error,omitempty"`
	Stripped  bool                 `json:"stripped,omitempty"`
	Size      int                  `json:"size"`
}

// An event is written as encoding/json writes its envelope, by itself and among others.
func TestEventsAreWrittenAsTheirEnvelope(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`[a-z.]{0,8}`), rapid.StringN(0, 12, 40))
		var list []*feed.Event
		var meta domain.Meta
		for range rapid.IntRange(1, 6).Draw(t, "events") {
			if rapid.Bool().Draw(t, "another source") {
				meta = domain.Meta{UserID: text.Draw(t, "user"), IP: text.Draw(t, "ip"), AutomationDepth: rapid.IntRange(0, 3).Draw(t, "depth")}
				if rapid.Bool().Draw(t, "http") {
					meta.HTTP = &domain.HTTPCause{Method: "POST", Path: text.Draw(t, "path")}
				}
			}
			payload, err := json.Marshal(map[string]any{text.Draw(t, "name"): text.Draw(t, "value"), "n": 1.5})
			require.NoError(t, err)
			if rapid.Bool().Draw(t, "blanks") {
				payload = append([]byte(" "), payload...)
			}
			name := rapid.SampledFrom([]string{"order.paid", "a <b> & \"c\"", "é", "orders.usage"}).Draw(t, "type")
			e := feed.Of(domain.Recorded{
				ID: text.Draw(t, "id"), Log: domain.Activity, Stream: domain.StreamID{Scope: "w1"}, Seq: 7, At: time.UnixMilli(rapid.Int64Range(0, 1e13).Draw(t, "at")),
				Meta: meta, Data: domain.Unknown{Name: name},
			}, domain.Position{State: 3, Activity: rapid.Uint64().Draw(t, "seq")}, payload)
			if e.Stripped = rapid.Bool().Draw(t, "stripped"); e.Stripped {
				e.Target = &domain.Target{UserID: text.Draw(t, "target")}
				e.Options.AggPayload = rapid.Bool().Draw(t, "options")
			}
			list = append(list, e)
		}
		feed.EncodeAll(list)
		for _, e := range list {
			s := shape{ID: e.ID, Type: e.Type, CreatedAt: e.CreatedAt(), Seq: e.Seq, Source: e.Source, Payload: e.Payload, Target: e.Target, Stripped: e.Stripped}
			if e.Options != (domain.EventOptions{}) {
				s.Options = &e.Options
			}
			want, err := json.Marshal(s)
			require.NoError(t, err)
			s.Size = len(want)
			want, err = json.Marshal(s)
			require.NoError(t, err)
			require.Equal(t, string(want), string(e.JSON()))
			alone := feed.Event{
				ID: e.ID, Type: e.Type, At: e.At, Seq: e.Seq, Log: e.Log, Payload: e.Payload, Source: e.Source, Target: e.Target, Options: e.Options, Stripped: e.Stripped,
			}
			require.Equal(t, string(want), string(alone.JSON()))
		}
	})
}

// What an event says is never denied by its signature.
func TestSignaturesDenyNothingThatIsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fields := rapid.MapOfN(rapid.StringMatching(`[a-z]{1,6}`), rapid.OneOf(
			rapid.StringN(0, 30, 60).AsAny(), rapid.Float64Range(-1e6, 1e6).AsAny(), rapid.Bool().AsAny(),
			rapid.SliceOfN(rapid.StringN(0, 10, 20), 0, 5).AsAny(),
		), 0, 30).Draw(t, "fields")
		payload, err := json.Marshal(fields)
		require.NoError(t, err)
		e := event("t", string(payload))
		sig := feed.SignatureOf(e)
		for name := range fields {
			for _, v := range e.Values("payload." + name) {
				text, ok := feed.Text(v)
				if !ok || text == "" || strings.Contains(text, "*") || len(text) > 1000 {
					continue
				}
				f := feed.Filter{Paths: []feed.PathFilter{{Path: "payload." + name, Any: []string{text}}}}
				if !f.Match(e) || !f.May(sig) {
					t.Fatalf("payload.%s=%q: match %v, may %v", name, text, f.Match(e), f.May(sig))
				}
				feed.Words(text, func(word string) bool {
					f := feed.Filter{Words: []string{word}}
					if !f.Match(e) || !f.May(sig) {
						t.Fatalf("word %q of %q: match %v, may %v", word, text, f.Match(e), f.May(sig))
					}
					return true
				})
			}
		}
	})
}

// Most of what events say is the same in all of them: a word that nobody said must not look as if
// all of them said it.
func TestSignaturesDenyMostOfWhatIsNot(t *testing.T) {
	const words = 200
	var may [words]int
	all := 0
	for i := range 1000 {
		sig := feed.SignatureOf(event("t", fmt.Sprintf(`{"order":"o-%d","status":"paid","amount":%d,"customer":{"name":"Customer %d","city":"Ghent"}}`, i, i*7, i)))
		for w := range may {
			f := feed.Filter{Words: []string{fmt.Sprintf("nowhere%d", w)}}
			if f.May(sig) {
				may[w]++
				all++
			}
		}
	}
	require.Less(t, all, words*1000/500, "one of five hundred at most")
	require.Less(t, slices.Max(may[:]), 200, "of 1000")
}

func TestHintsSpareWhatSurelyIsNotWanted(t *testing.T) {
	e := event("order.paid", `{"n":10}`)
	signed := feed.SignatureOf(e)
	at := func(path, text string) feed.PathFilter { return feed.PathFilter{Path: path, Any: []string{text}} }
	mine, topic := at("source.userId", "u1"), at("source.serviceTopic", "other")
	for name, c := range map[string]struct {
		hints [][]feed.PathFilter
		want  bool
	}{
		"none":                          {nil, true},
		"what it says":                  {[][]feed.PathFilter{{mine}}, true},
		"one of two":                    {[][]feed.PathFilter{{at("source.userId", "u2")}, {mine}}, true},
		"what it does not say":          {[][]feed.PathFilter{{at("source.userId", "u2")}, {at("target.userId", "u1")}}, false},
		"both, and one is not said":     {[][]feed.PathFilter{{mine, at("source.sessionId", "somebody else")}}, false},
		"what the index does not know":  {[][]feed.PathFilter{{topic}}, true},
		"nothing at all can be allowed": {[][]feed.PathFilter{{{Path: "id"}}}, false},
	} {
		f := feed.Filter{Hints: c.hints}
		require.Equal(t, c.want, f.May(signed), name)
		require.True(t, f.Match(e), "%s: hints are for the index alone", name)
	}
}

func TestBadFilters(t *testing.T) {
	for _, query := range []string{
		"types=a%2Fb", "types=%00", "types=" + strings.Repeat("a,", 51), "afterDate=x", "appInstanceDepth=-2", "foo=1", "payload.=1", "..=1",
		"text=" + strings.Repeat("a ", 21), "source..x=1",
	} {
		values, err := url.ParseQuery(query)
		require.NoError(t, err)
		_, err = feed.ParseFilter(values)
		require.Equal(t, domain.CodeInvalidParameter, domain.CodeOf(err), query)
	}
}

func FuzzSignature(f *testing.F) {
	f.Add(`{"a":"b"}`)
	f.Add(`{"a":[1,2,{"b":"\u00e9"}]}`)
	f.Add(`{"a":`)
	f.Fuzz(func(t *testing.T, payload string) {
		e := event("t", payload)
		feed.SignatureOf(e)
		_ = e.JSON()
		_ = e.Values("payload.a.b")
	})
}

// A text that is found without decoding is the one that decoding finds.
func TestPlainTextsAreWhatDecodingFinds(t *testing.T) {
	for payload, want := range map[string]string{
		`{"order":"o-1","n":1}`:                           "o-1",
		`{"in":{"order":"x"},"order":""}`:                 "",
		` { "order" : "a <b> & c" } `:                     "a <b> & c",
		`{"order":"first","order":"last"}`:                "last",
		`{"order":"first","order":["no","text"]}`:         "-",
		`{"order":"first","or\u0064er":"hidden"}`:         "-",
		`{"order":"escaped \" quote"}`:                    "-",
		`{"order":"é"}`:                                   "é",
		"{\"order\":\"\xff\"}":                            "-",
		`{"order":17}`:                                    "-",
		`{"order":{"order":"x"}}`:                         "-",
		`{"other":"x"}`:                                   "-",
		`[{"order":"x"}]`:                                 "-",
		`{"order":"cut`:                                   "-",
		`{"order":"o-1","note":"a \"text\" \\","z":"\\"}`: "o-1",
	} {
		e := event("order.paid", payload)
		text, ok := e.PlainText("payload.order")
		require.Equal(t, want != "-", ok, payload)
		if ok {
			require.Equal(t, want, text, payload)
			require.Equal(t, []any{want}, e.Values("payload.order"), payload)
		}
	}
	e := event("order.paid", `{"a":"x","a.b":"y"}`)
	for _, path := range []string{"payload.a.b", "payload", "type", "source.correlationId", "a"} {
		_, ok := e.PlainText(path)
		require.False(t, ok, path)
	}
}
