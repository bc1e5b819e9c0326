package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"svc/domain/automation/value"
	"svc/domain/domaintest"
)

// attempt is a case that was run over HTTP.
type attempt struct {
	domaintest.Case
	docs    *value.Object
	refused map[string]answer // documents that could not be saved, by slug
	ran     answer
	took    time.Duration
	events  []shownEvent
}

// Every case of the conformance table, and those of the interpreter that need no
// script, come to the same over HTTP. A document with a fault is refused when it is
// saved; imported, it runs until the fault is reached.
func TestConformanceOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, "RATE_LIMIT_DISABLED=yes")
	for _, a := range w.carryOut(t) {
		t.Run(a.Name(), a.check)
	}
}

// carryOut runs all cases that need no script, many at a time: most of them wait.
func (w *workshop) carryOut(t *testing.T) []*attempt {
	t.Helper()
	cases := slices.Concat(
		domaintest.ReadCases(t, "../../domain/automation/machine/testdata/*.yaml"), domaintest.ReadCases(t, "testdata/automations/*.yaml"),
	)
	cases = slices.DeleteFunc(cases, domaintest.Case.Scripted)
	attempts := make([]*attempt, len(cases))
	for i, c := range cases {
		attempts[i] = &attempt{Case: c, docs: c.Automations(t), refused: map[string]answer{}}
	}
	var once sync.Mutex // one import at a time: they make a file each
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(16)
	for _, a := range attempts {
		g.Go(func() error {
			made, err := w.request(ctx, http.MethodPost, "/v2/workspaces", w.owner, `{"name":"Case"}`)
			if err != nil {
				return err
			}
			var shown struct{ ID string }
			if err := json.Unmarshal(made.body, &shown); err != nil {
				return err
			}
			p := w.made(place{w.service, "/v2/workspaces/" + shown.ID, shown.ID, w.owner})
			if err := a.save(ctx, p); err != nil {
				return err
			}
			if len(a.refused) > 0 {
				once.Lock()
				a.bring(t, p)
				once.Unlock()
			}
			return a.run(ctx, p)
		})
	}
	require.NoError(t, g.Wait())
	return attempts
}

// save creates the documents.
func (a *attempt) save(ctx context.Context, p place) error {
	for _, slug := range a.docs.Keys() {
		got, err := p.s.request(ctx, http.MethodPost, p.path+"/automations", p.me, value.JSON(a.docs.At(slug), ""))
		if err != nil {
			return err
		}
		switch got.StatusCode {
		case http.StatusCreated:
		case http.StatusUnprocessableEntity:
			a.refused[slug] = got
		default:
			return errors.New(a.Name() + ": " + string(got.body))
		}
	}
	return nil
}

// bring imports the documents that were refused.
func (a *attempt) bring(t *testing.T, p place) {
	t.Helper()
	files := map[string]string{"index.yml": "name: Case\n"}
	for slug := range a.refused {
		files["automations/"+slug+".yml"] = value.JSON(a.docs.At(slug), "")
	}
	got := p.s.upload(t, p.path+"/import", p.me, zipOf(t, files), false)
	if got.StatusCode != http.StatusOK {
		t.Errorf("%s: %s", a.Name(), got.body)
	}
}

// run runs t, and collects what was recorded.
func (a *attempt) run(ctx context.Context, p place) (err error) {
	began := time.Now()
	a.ran, err = p.s.request(ctx, http.MethodPost, p.path+"/test/t", p.me, `{"payload":`+value.JSON(a.Input(), "")+`}`)
	if err != nil {
		return err
	}
	a.took = time.Since(began)
	a.events, err = p.recorded(ctx, "source.correlationId="+a.ran.Header.Get("X-Correlation-Id"))
	return err
}

// check compares what came with what the case expects.
func (a *attempt) check(t *testing.T) {
	want := a.Expect(t)
	name := want.At("error")
	for slug, got := range a.refused {
		caught := strings.Contains(value.JSON(a.docs, ""), `"try"`)
		require.True(t, caught || name != value.Undefined, "%s is refused: %s", slug, got.body)
		listed := got.json(t)["details"].(map[string]any)["errors"].([]any)
		require.NotEmpty(t, listed[0].(map[string]any)["field"])
	}
	output, _ := value.ParseJSON(string(a.ran.body))
	told := []any{}
	for _, e := range a.events {
		if e.Type == "error" && e.byRun() {
			told = append(told, e.Payload["error"])
		}
	}
	if name == value.Undefined {
		require.Equal(t, http.StatusOK, a.ran.StatusCode, "%s", a.ran.body)
	} else {
		require.Equal(t, http.StatusBadRequest, a.ran.StatusCode, "%s", a.ran.body)
		require.Equal(t, name, value.Walk(output, "details", "name"), "%s", a.ran.body)
		require.Equal(t, "invalid_request", a.ran.code(t))
		require.NotEmpty(t, told, "one error event tells of it")
		require.Equal(t, name, told[len(told)-1])
		told = told[:len(told)-1]
	}
	wanted, _ := want.At("events").([]any)
	require.Equal(t, append([]any{}, wanted...), told, "error events")
	require.NotContains(t, strings.Join(typesOf(a.events), " "), "contexts", "nobody reads those")
	for _, key := range want.Keys() {
		a.expect(t, key, want.At(key), output)
	}
}

// expect checks one expectation.
func (a *attempt) expect(t *testing.T, key string, want, output any) {
	t.Helper()
	var ended []shownEvent
	for _, e := range a.events {
		if e.Type == executed {
			ended = append(ended, e)
		}
	}
	switch key {
	case "r":
		a.sort(t, want, value.At(output, "r"))
		require.Equal(t, value.JSON(want, ""), value.JSON(value.At(output, "r"), ""))
	case "absent":
		require.Equal(t, "{}", string(a.ran.body))
	case "output":
		if !value.Truth(want) {
			want = &value.Object{}
		}
		require.Equal(t, value.JSON(want, ""), string(a.ran.body))
	case "instruction":
		require.Equal(t, want, value.Walk(output, "details", "instruction"))
	case "details":
		for _, name := range want.(*value.Object).Keys() {
			require.Equal(t, value.JSON(value.At(want, name), ""), value.JSON(value.Walk(output, "details", name), ""))
		}
	case "emitted":
		var emitted []any
		for _, e := range a.events {
			if e.Source["serviceTopic"] == "topic:runtime:emit" {
				emitted = append(emitted, e.Type)
			}
		}
		require.Equal(t, append([]any{}, want.([]any)...), append([]any{}, emitted...))
	case "executed":
		require.Len(t, ended, int(value.Num(want)))
	case "broke":
		require.NotEmpty(t, ended)
		require.Equal(t, want, ended[len(ended)-1].Payload["break"] == true)
	case "seconds":
		require.GreaterOrEqual(t, a.took.Seconds()+0.01, want, "time passes")
	case "within":
		require.Less(t, a.took.Seconds(), want)
	}
}

// sort puts lists in order whose items came at the same time.
func (a *attempt) sort(t *testing.T, lists ...any) {
	t.Helper()
	if a.Expect(t).At("anyOrder") != true {
		return
	}
	for _, list := range lists {
		items, _ := list.([]any)
		slices.SortFunc(items, func(x, y any) int { return strings.Compare(value.JSON(x, ""), value.JSON(y, "")) })
	}
}
