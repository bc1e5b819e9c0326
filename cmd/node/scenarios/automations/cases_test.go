package automations_test

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

	"svc/cmd/node/nodetest"
	"svc/domain/domaintest"
	"svc/domain/value"
)

// attempt is a case that was run over HTTP.
type attempt struct {
	domaintest.Case
	docs    *value.Object
	refused map[string]nodetest.Answer // documents that could not be saved, by slug
	ran     nodetest.Answer
	took    time.Duration
	events  []nodetest.Event
}

// Every case of the conformance table, and those of the interpreter that need no
// script, come to the same over HTTP. A document with a fault is refused when it is
// saved; imported, it runs until the fault is reached.
func TestConformanceOverHTTP(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, "RATE_LIMIT_DISABLED=yes")
	for _, a := range runCases(t, w) {
		t.Run(a.Name(), a.check)
	}
}

// runCases runs all cases that need no script, many at a time: most of them wait.
func runCases(t *testing.T, w *nodetest.OwnedService) []*attempt {
	t.Helper()
	cases := slices.Concat(
		domaintest.ReadCases(t, "../../../../domain/automation/machine/testdata/*.yaml"), domaintest.ReadCases(t, "testdata/*.yaml"),
	)
	cases = slices.DeleteFunc(cases, domaintest.Case.Scripted)
	attempts := make([]*attempt, len(cases))
	for i, c := range cases {
		attempts[i] = &attempt{Case: c, docs: c.Automations(t), refused: map[string]nodetest.Answer{}}
	}
	var once sync.Mutex // one import at a time: they make a file each
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(16)
	for _, a := range attempts {
		g.Go(func() error {
			made, err := w.Request(ctx, http.MethodPost, "/v2/workspaces", w.Owner, `{"name":"Case"}`)
			if err != nil {
				return err
			}
			var shown struct{ ID string }
			if err := json.Unmarshal(made.Body, &shown); err != nil {
				return err
			}
			p := w.Track(nodetest.Workspace{Service: w.Service, Path: "/v2/workspaces/" + shown.ID, ID: shown.ID, Auth: w.Owner})
			if err := a.save(ctx, p); err != nil {
				return err
			}
			if len(a.refused) > 0 {
				once.Lock()
				a.importRefused(t, p)
				once.Unlock()
			}
			return a.run(ctx, p)
		})
	}
	require.NoError(t, g.Wait())
	return attempts
}

// save creates the documents.
func (a *attempt) save(ctx context.Context, p nodetest.Workspace) error {
	for _, slug := range a.docs.Keys() {
		got, err := p.Service.Request(ctx, http.MethodPost, p.Path+"/automations", p.Auth, value.JSON(a.docs.At(slug), ""))
		if err != nil {
			return err
		}
		switch got.StatusCode {
		case http.StatusCreated:
		case http.StatusUnprocessableEntity:
			a.refused[slug] = got
		default:
			return errors.New(a.Name() + ": " + string(got.Body))
		}
	}
	return nil
}

// importRefused imports the documents that were refused.
func (a *attempt) importRefused(t *testing.T, p nodetest.Workspace) {
	t.Helper()
	files := map[string]string{"index.yml": "name: Case\n"}
	for slug := range a.refused {
		files["automations/"+slug+".yml"] = value.JSON(a.docs.At(slug), "")
	}
	got := p.Service.Upload(t, p.Path+"/import", p.Auth, nodetest.ZipOf(t, files), false)
	if got.StatusCode != http.StatusOK {
		t.Errorf("%s: %s", a.Name(), got.Body)
	}
}

// run runs t, and collects what was recorded.
func (a *attempt) run(ctx context.Context, p nodetest.Workspace) (err error) {
	began := time.Now()
	a.ran, err = p.Service.Request(ctx, http.MethodPost, p.Path+"/test/t", p.Auth, `{"payload":`+value.JSON(a.Input(), "")+`}`)
	if err != nil {
		return err
	}
	a.took = time.Since(began)
	a.events, err = p.FindEvents(ctx, "source.correlationId="+a.ran.Header.Get("X-Correlation-Id"))
	return err
}

// check compares what came with what the case expects.
func (a *attempt) check(t *testing.T) {
	want := a.Expect(t)
	name := want.At("error")
	for slug, got := range a.refused {
		caught := strings.Contains(value.JSON(a.docs, ""), `"try"`)
		require.True(t, caught || name != value.Undefined, "%s is refused: %s", slug, got.Body)
		listed := got.JSON(t)["details"].(map[string]any)["errors"].([]any)
		require.NotEmpty(t, listed[0].(map[string]any)["field"])
	}
	output, _ := value.ParseJSON(string(a.ran.Body))
	told := []any{}
	for _, e := range a.events {
		if e.Type == "error" && e.IsByRun() {
			told = append(told, e.Payload["error"])
		}
	}
	if name == value.Undefined {
		require.Equal(t, http.StatusOK, a.ran.StatusCode, "%s", a.ran.Body)
	} else {
		status, code := http.StatusInternalServerError, "internal_error" // a fault of the automation
		switch {
		case name == "InvalidArgumentsError" && value.IsUndefined(value.Walk(output, "details", "instruction")): // those of the caller
			status, code = http.StatusBadRequest, "invalid_request"
		case name == "FetchError":
			status, code = http.StatusBadGateway, "upstream_failed"
		case name == "CustomCodeError" && value.Walk(output, "details", "reason") == "timeout":
			status, code = http.StatusGatewayTimeout, "gateway_timeout"
		}
		require.Equal(t, status, a.ran.StatusCode, "%s", a.ran.Body)
		require.Equal(t, name, value.Walk(output, "details", "name"), "%s", a.ran.Body)
		require.Equal(t, code, a.ran.Code(t))
		require.NotEmpty(t, told, "one error event tells of it")
		require.Equal(t, name, told[len(told)-1])
		told = told[:len(told)-1]
	}
	wanted, _ := want.At("events").([]any)
	require.Equal(t, append([]any{}, wanted...), told, "error events")
	require.NotContains(t, strings.Join(nodetest.TypesOf(a.events), " "), "contexts", "nobody reads those")
	for _, key := range want.Keys() {
		a.expect(t, key, want.At(key), output)
	}
}

// expect checks one expectation.
func (a *attempt) expect(t *testing.T, key string, want, output any) {
	t.Helper()
	var ended []nodetest.Event
	for _, e := range a.events {
		if e.Type == nodetest.Executed {
			ended = append(ended, e)
		}
	}
	switch key {
	case "r":
		a.sort(t, want, value.At(output, "r"))
		require.Equal(t, value.JSON(want, ""), value.JSON(value.At(output, "r"), ""))
	case "absent":
		require.Equal(t, "{}", string(a.ran.Body))
	case "output":
		if !value.IsTruthy(want) {
			want = &value.Object{}
		}
		require.Equal(t, value.JSON(want, ""), string(a.ran.Body))
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
		require.Len(t, ended, int(value.ToNumber(want)))
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
