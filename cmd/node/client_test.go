package node_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/http/client"
)

// newClient returns a client of a service whose caller is a new user, with the options given besides.
func newClient(t *testing.T, s *nodetest.Service, options ...client.Option) *client.Client {
	t.Helper()
	s.SignUp(t, "ada@example.org")
	anybody, err := client.New(s.Base)
	require.NoError(t, err)
	in, err := anybody.Login(t.Context(), client.Login{Email: "ada@example.org", Password: "long enough"})
	require.NoError(t, err)
	c, err := client.New(s.Base, append([]client.Option{client.WithToken(in.Token), client.WithRetries(4, time.Millisecond)}, options...)...)
	require.NoError(t, err)
	return c
}

// faultyNetwork lets requests fail in a given way, once each.
type faultyNetwork struct {
	http.RoundTripper
	fault atomic.Pointer[func(*http.Request) (*http.Response, error)]
	sent  atomic.Int64
}

func (n *faultyNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	n.sent.Add(1)
	if fault := n.fault.Swap(nil); fault != nil {
		return (*fault)(r)
	}
	return n.RoundTripper.RoundTrip(r)
}

// failOnce lets the next request fail; with reaches, after the service did what it asks for.
func (n *faultyNetwork) failOnce(reaches bool) {
	n.sent.Store(0)
	fault := func(r *http.Request) (*http.Response, error) {
		if reaches {
			answer, err := n.RoundTripper.RoundTrip(r)
			if err != nil {
				return nil, err
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		}
		return nil, errors.New("the connection was lost")
	}
	n.fault.Store(&fault)
}

func TestTheClientBuildsAWorkspace(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	c, ctx := newClient(t, s), t.Context()

	var made client.Answer
	shop, err := c.CreateWorkspace(ctx, client.NewWorkspace{Name: "Shop", Photo: client.Value("/shop.png")}, client.Read(&made))
	require.NoError(t, err)
	require.Equal(t, "Shop", shop.Name)
	require.Equal(t, "/shop.png", shop.Photo)
	require.Equal(t, http.StatusCreated, made.Status)

	// Null removes, what is absent stays, and a stale ETag is refused.
	changed, err := c.UpdateWorkspace(ctx, shop.ID, client.WorkspaceChange{Photo: client.Null[string]()}, client.IfMatch(made.ETag))
	require.NoError(t, err)
	require.Equal(t, "Shop", changed.Name)
	require.Empty(t, changed.Photo)
	_, err = c.UpdateWorkspace(ctx, shop.ID, client.WorkspaceChange{Name: "Store"}, client.IfMatch(made.ETag))
	refused, ok := errors.AsType[*client.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, http.StatusConflict, refused.Status)
	require.Contains(t, string(refused.Details), `"stale"`)
	require.NotEmpty(t, refused.CorrelationID)

	// What the type does not name is sent and read as well.
	automation, err := c.CreateAutomation(ctx, shop.ID, client.NewAutomation{
		Slug: "greet", Name: "Greet", When: map[string]any{"endpoint": true}, Do: []map[string]any{}, Output: "Hello {{body.name}}",
	})
	require.NoError(t, err)
	require.Equal(t, "greet", automation.Slug)
	require.NotContains(t, automation.Rest, "slug")
	text, err := json.Marshal(automation)
	require.NoError(t, err)
	for name := range automation.Rest {
		require.Contains(t, string(text), `"`+name+`":`)
	}
	_, err = c.CreateAutomation(ctx, shop.ID, client.NewAutomation{Slug: "two", Name: "Two", Do: []map[string]any{}, Rest: map[string]any{"colour": "red"}})
	require.ErrorContains(t, err, "colour: unknown field")

	answer, err := c.CallEndpointByPost(ctx, shop.ID, "greet", map[string]any{"name": "Ada"})
	require.NoError(t, err)
	defer answer.Body.Close()
	greeting, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, "Hello Ada", string(greeting))

	// Errors have their codes; a segment of a path cannot lead elsewhere.
	_, err = c.GetAutomation(ctx, shop.ID, "none")
	require.Equal(t, "resource_not_found", client.CodeOf(err))
	_, err = c.GetAutomation(ctx, shop.ID, "../pages/{x}")
	require.NotEmpty(t, client.CodeOf(err))
	require.Empty(t, client.CodeOf(errors.New("another")))
	_, err = client.New("svc.example.com")
	require.ErrorContains(t, err, "must begin with http:// or https://")

	// Lists have pages.
	for i := range 4 {
		_, err := c.CreateWorkspace(ctx, client.NewWorkspace{Name: fmt.Sprint("More ", i)})
		require.NoError(t, err)
	}
	page, err := c.ListWorkspaces(ctx, client.ListWorkspacesQuery{Limit: new(int64(2)), Sort: "name"})
	require.NoError(t, err)
	require.Len(t, page.Items, 2)
	require.Equal(t, 5, page.Total)
	var names []string
	for w, err := range page.All(ctx) {
		require.NoError(t, err)
		names = append(names, w.Name)
	}
	require.Equal(t, []string{"More 0", "More 1", "More 2", "More 3", "Shop"}, names)
	next, err := page.Next(ctx)
	require.NoError(t, err)
	require.Equal(t, "More 2", next.Items[0].Name)

	// What has no method is asked for by its path.
	var verdict client.DocumentVerdict
	require.NoError(t, c.Do(ctx, "POST", "/v2/workspaces/"+shop.ID+"/automations", strings.NewReader("slug: x\ndo: [{sett: {}}]\n"), &verdict, client.ContentType("application/yaml"), client.Query("dryRun", "true")))
	require.NotEmpty(t, verdict.Errors)
}

// A request whose answer is lost is sent again and done once; what could be done twice is not sent again.
func TestTheClientTriesAgain(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	network := &faultyNetwork{RoundTripper: s.Client.Transport}
	c, ctx := newClient(t, s, client.WithHTTPClient(&http.Client{Transport: network})), t.Context()
	count := func() int {
		page, err := c.ListWorkspaces(ctx)
		require.NoError(t, err)
		return page.Total
	}

	network.failOnce(true)
	made, err := c.CreateWorkspace(ctx, client.NewWorkspace{Name: "Once"})
	require.NoError(t, err)
	require.EqualValues(t, 2, network.sent.Load())
	require.Equal(t, 1, count())
	network.failOnce(false)
	_, err = c.GetWorkspace(ctx, made.ID)
	require.NoError(t, err)

	// The service is told to be busy: the client waits as long as it says.
	busy := func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"1"}}, Body: io.NopCloser(strings.NewReader("no JSON"))}, nil
	}
	network.fault.Store(&busy)
	began := time.Now()
	_, err = c.GetWorkspace(ctx, made.ID)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(began), time.Second)

	// A file is sent again from its beginning; what cannot be read twice is not.
	_, err = c.CreateAutomation(ctx, made.ID, client.NewAutomation{Slug: "a", Name: "A", Do: []map[string]any{}})
	require.NoError(t, err)
	network.failOnce(true)
	require.NoError(t, c.Do(ctx, "PUT", "/v2/workspaces/"+made.ID+"/automations/a", strings.NewReader("slug: a\nname: A\ndo: []\n"), nil, client.ContentType("application/yaml")))
	require.EqualValues(t, 2, network.sent.Load())
	network.failOnce(true)
	err = c.Do(ctx, "PUT", "/v2/workspaces/"+made.ID+"/automations/a", io.MultiReader(strings.NewReader("slug: a\nname: B\ndo: []\n")), nil, client.ContentType("application/yaml"))
	require.ErrorContains(t, err, "the connection was lost")
	require.EqualValues(t, 1, network.sent.Load())

	// A caller whom the service does not know has no idempotency keys: what could be done twice is not sent again.
	anybody, err := client.New(s.Base, client.WithHTTPClient(&http.Client{Transport: network}))
	require.NoError(t, err)
	network.failOnce(true)
	_, err = anybody.Login(ctx, client.Login{Email: "ada@example.org", Password: "long enough"})
	require.ErrorContains(t, err, "the connection was lost")
	require.EqualValues(t, 1, network.sent.Load())

	// In the end the error is told.
	gone, err := client.New("http://127.0.0.1:1", client.WithRetries(2, time.Millisecond))
	require.NoError(t, err)
	_, err = gone.GetSystemHealth(ctx)
	require.ErrorContains(t, err, "refused")
}

// A stream goes on where it was when the service comes back, without a gap or a repetition.
func TestTheClientResumesAStream(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	c, ctx := newClient(t, s, client.WithRetries(100, 50*time.Millisecond)), t.Context()
	var made client.Answer
	shop, err := c.CreateWorkspace(ctx, client.NewWorkspace{Name: "Shop"}, client.Read(&made))
	require.NoError(t, err)
	emit := func(from, to int) {
		t.Helper()
		for n := from; n < to; n++ {
			_, err := c.EmitEvents(ctx, shop.ID, client.NewEvents{Events: []client.NewEvent{{Type: "order.paid", Payload: client.Value(map[string]any{"n": n})}}})
			require.NoError(t, err)
		}
	}
	emit(0, 3)
	var got []int
	for frame, err := range c.StreamEvents(ctx, shop.ID, client.StreamEventsQuery{Types: "order.*", FromSeq: made.Seq}) {
		require.NoError(t, err)
		var event client.Event
		require.NoError(t, json.Unmarshal(frame.Data, &event))
		require.Equal(t, frame.ID, event.Seq)
		got = append(got, int(event.Payload["n"].(float64)))
		if len(got) == 3 {
			s.Stop(t)
			s.Start(t)
			emit(3, 6)
		}
		if len(got) == 6 {
			break
		}
	}
	require.Equal(t, []int{0, 1, 2, 3, 4, 5}, got)

	// A refusal ends it.
	for _, err := range c.StreamEvents(ctx, shop.ID, client.StreamEventsQuery{FromSeq: "nowhere"}) {
		require.Equal(t, "invalid_parameter", client.CodeOf(err))
	}
}

// The stream of an operation ends with it.
func TestTheClientFollowsAnOperation(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	c, ctx := newClient(t, s), t.Context()
	shop, err := c.CreateWorkspace(ctx, client.NewWorkspace{Name: "Shop"})
	require.NoError(t, err)
	_, err = c.PushVersion(ctx, shop.ID, client.PushRequest{Name: "one"})
	require.NoError(t, err)
	operations, err := c.ListOperations(ctx, shop.ID)
	require.NoError(t, err)
	require.Len(t, operations.Items, 1)
	var types []string
	for frame, err := range c.StreamOperation(ctx, shop.ID, operations.Items[0].ID) {
		require.NoError(t, err)
		types = append(types, frame.Event)
	}
	require.NotEmpty(t, types)
}
