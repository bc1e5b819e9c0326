package nodes_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"svc/cmd/node/nodetest"
)

// cluster is two nodes over one broker on which automations are tried.
type cluster struct {
	one, other *nodetest.Service
	owner      http.Header
}

func newCluster(t *testing.T, env ...string) *cluster {
	t.Helper()
	c := &cluster{}
	c.one, c.other = nodetest.StartPair(t, append([]string{"EGRESS_ALLOW_PRIVATE=yes", "RATE_LIMIT_DISABLED=yes"}, env...)...)
	c.owner = c.one.NewUser(t, "owner")
	return c
}

// newWorkspace makes a workspace of the owner, as each of the nodes shows it.
func (c *cluster) newWorkspace(t *testing.T) (here, there nodetest.Workspace) {
	t.Helper()
	here = (&nodetest.OwnedService{Service: c.one, Owner: c.owner}).NewWorkspace(t)
	t.Cleanup(func() {
		for _, node := range []*nodetest.Service{c.one, c.other} {
			nodetest.RequireNoSecretIn(t, "the log of a node", node.Log.String(), nodetest.MasterKey, nodetest.InternalKey, nodetest.TokenIn(c.owner))
		}
	})
	return here, at(here, c.other)
}

// at is the same workspace on another node.
func at(p nodetest.Workspace, s *nodetest.Service) nodetest.Workspace {
	p.Service = s
	return p
}

// node is the one that recorded an event.
func node(e nodetest.Event) string {
	host, _ := e.Source["host"].(map[string]any)
	name, _ := host["replica"].(string)
	return name
}

func TestAutomationsOnTwoNodes(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for name, try := range map[string]func(*testing.T, *cluster){
		"each event starts each automation once":          eachEventOnce,
		"no update of a context is lost":                  noUpdateIsLost,
		"an emit comes after what was written before it":  emitsComeAfterWrites,
		"what is saved on one node runs on the other":     savedHereRunsThere,
		"a run is cancelled from any node":                cancelledFromAnywhere,
		"rates are limited over all nodes":                limitedTogether,
		"uniques hold over all nodes":                     uniqueOverall,
		"rows are read where they were not written":       rowsReadElsewhere,
		"runs are shown and replayed elsewhere":           runsShownElsewhere,
		"topics reach their members elsewhere":            topicsReachElsewhere,
		"a wait is for what comes after it began":         waitsForWhatComes,
		"an answer from elsewhere is not missed":          answersFromElsewhere,
		"who waits keeps events from starting others":     suppressedElsewhere,
		"an event that is not kept starts automations":    passingEventsStart,
		"the same secret and config are known everywhere": configElsewhere,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			try(t, c)
		})
	}
}

func eachEventOnce(t *testing.T, c *cluster) {
	here, there := c.newWorkspace(t)
	here.AddAutomations(t, `
a: {when: {events: [e]}, do: [{'set global.a[]': '{{payload.n}}'}], output: '{{run.attempt}}'}
b: {when: {events: ['e', 'e.*']}, do: [], output: '{{run.attempt}}'}
last: {when: {events: [last]}, do: []}
read: {when: {endpoint: true}, do: [], output: '{{global.a.length}}'}`)
	const events, each = 200, 10
	var g errgroup.Group
	for i, p := range []nodetest.Workspace{here, there} {
		g.Go(func() error {
			for n := 0; n < events/2; n += each {
				list := make([]string, each)
				for j := range list {
					list[j] = fmt.Sprintf(`{"type":"e","payload":{"n":"%d-%d"}}`, i, n+j)
				}
				got, err := p.Service.Request(t.Context(), http.MethodPost, p.Path+"/events", p.Auth, `{"events":[`+strings.Join(list, ",")+`]}`)
				if err != nil || got.StatusCode != http.StatusCreated {
					return fmt.Errorf("%w: %s", err, got.Body)
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	there.AwaitEvents(t, 2*events, nodetest.Executed, "")
	here.Emit(t, `{"type":"last"}`)
	here.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=last")
	started := map[string]int{}
	for _, e := range here.AwaitEvents(t, 2*events+1, nodetest.Executed, "") {
		started[e.At("slug")+e.At("trigger", "id")]++
		require.Empty(t, e.At("error"))
	}
	require.Len(t, started, 2*events+1)
	require.Equal(t, fmt.Sprint(events), string(there.CallEndpoint(t, 200, "GET", "read", "").Body))
	inLogOrder(t, here, events)
}

// inLogOrder holds that automations were started in the order of the events.
func inLogOrder(t *testing.T, p nodetest.Workspace, events int) {
	t.Helper()
	place := map[string]int{}
	for i, e := range p.AwaitEvents(t, events, "e", "") {
		place[`"`+e.ID+`"`] = i
	}
	for _, slug := range []string{"a", "b"} {
		at := make([]string, events)
		for _, e := range p.AwaitEvents(t, events, "runtime.interactions.triggered", "payload.automation="+slug) {
			at[place[e.At("trigger", "id")]] = e.At("startedAt")
		}
		require.IsNonDecreasing(t, at, "started in the order of the log")
	}
}

func noUpdateIsLost(t *testing.T, c *cluster) {
	here, there := c.newWorkspace(t)
	here.AddAutomations(t, `
t: {when: {endpoint: true}, do: [{repeat: {until: 100, do: [{'set global.l[]': '{{body.n}}-{{item}}'}, {'set global[{{body.n}}].n': '{{item}}'}, {'set session.l[]': 1}, {conditions: {'{{item}} % 10 == 0': [{wait: {timeout: 0.01}}]}}]}}]}
read: {when: {endpoint: true}, do: [], output: {l: '{{global.l}}', a: '{{global.a.n}}', b: '{{global.b.n}}', s: '{{session.l.length}}'}}`)
	var g errgroup.Group
	for n, p := range map[string]nodetest.Workspace{"a": here, "b": there} {
		g.Go(func() error {
			_, err := p.PostEndpoint(t.Context(), "t", `{"n":"`+n+`"}`)
			return err
		})
	}
	require.NoError(t, g.Wait())
	for _, p := range []nodetest.Workspace{here, there} {
		got := p.CallEndpoint(t, 200, "GET", "read", "").JSON(t)
		seen := map[any]bool{}
		for _, item := range got["l"].([]any) {
			seen[item] = true
		}
		require.Len(t, got["l"], 200)
		require.Len(t, seen, 200)
		require.Equal(t, []any{99.0, 99.0, 200.0}, []any{got["a"], got["b"], got["s"]})
	}
}

func emitsComeAfterWrites(t *testing.T, c *cluster) {
	here, there := c.newWorkspace(t)
	here.AddAutomations(t, `
t: {when: {endpoint: true}, do: [{repeat: {until: 20, do: [{'set global.{{body.n}}': '{{item}}'}, {set session.n: '{{item}}'}, {'set run.n': '{{item}}'}, {emit: {event: e, payload: {n: '{{item}}', of: '{{body.n}}'}}}]}}]}
hears: {when: {events: [e]}, do: [], output: ['{{payload.n}}', '{{global[{{payload.of}}]}}', '{{session.n}}', '{{run.n}}']}`)
	nodes := map[string]bool{}
	for n, p := range map[string]nodetest.Workspace{"a": here, "b": there} {
		got := p.CallEndpoint(t, 200, "POST", "t", `{"n":"`+n+`"}`)
		for _, e := range got.AwaitEvents(t, 21, nodetest.Executed) {
			nodes[node(e)] = true
			if e.At("slug") != `"hears"` {
				continue
			}
			seen := e.Payload["output"].([]any)
			for _, v := range seen[1:] {
				require.GreaterOrEqual(t, v, seen[0], "%v", seen)
			}
		}
	}
	require.Len(t, nodes, 2, "some were heard on the other node")
}

func savedHereRunsThere(t *testing.T, c *cluster) {
	here, there := c.newWorkspace(t)
	for i := range 10 {
		slug := fmt.Sprintf("s%d", i)
		here.AddAutomations(t, slug+`: {when: {endpoint: true, events: [`+slug+`]}, do: [], output: '{{run.trigger.type}}'}`)
		require.Equal(t, "endpoint", string(there.CallEndpoint(t, 200, "POST", slug, "").Body))
		there.AddAutomations(t, slug+`e: {when: {events: [`+slug+`]}, do: []}`)
		there.Emit(t, `{"type":"`+slug+`"}`)
		here.AwaitEvents(t, 1, nodetest.Executed, "payload.trigger.type=event&payload.slug="+slug)
		here.AwaitEvents(t, 1, nodetest.Executed, "payload.trigger.type=event&payload.slug="+slug+"e")
	}
}

// together calls an endpoint so many times at once, in turn at one place and the other, and
// returns the answers.
func together(t *testing.T, here, there nodetest.Workspace, times int, endpoint, body string) []string {
	t.Helper()
	answers := make([]string, times)
	var g errgroup.Group
	for i := range answers {
		p := []nodetest.Workspace{here, there}[i%2]
		g.Go(func() error {
			got, err := p.PostEndpoint(t.Context(), endpoint, body)
			answers[i] = string(got.Body)
			return err
		})
	}
	require.NoError(t, g.Wait())
	return answers
}

func limitedTogether(t *testing.T, c *cluster) {
	here, there := c.newWorkspace(t)
	here.AddAutomations(t, `t: {when: {endpoint: true}, do: [{rateLimit: {name: l, limit: 10, window: 86400, output: r}}], output: '{{r.ok}}'}`)
	answers := together(t, here, there, 50, "t", "")
	require.Equal(t, 10, nodetest.CountOf(answers, "true"), "%v", answers)
	require.Equal(t, 40, nodetest.CountOf(answers, "{}"), "what is false is shown as nothing")
}

func uniqueOverall(t *testing.T, c *cluster) {
	here, there := c.newWorkspace(t)
	here.AddAutomations(t, `
declare: {when: {endpoint: true}, do: [{run: {module: collections, function: updateSchema, parameters: {collection: u, properties: {k: {type: string}}, uniques: [[k]]}}}]}
make: {when: {endpoint: true}, do: [{run: {module: collections, function: create, parameters: {collection: u, data: {k: '{{body.k}}'}}, onError: continue, output: r}}], output: '{{r.details.reason}}{{r.acknowledged}}'}
count: {when: {endpoint: true}, do: [{run: {module: collections, function: count, parameters: {collection: u}, output: n}}], output: {n: '{{n}}'}}`)
	here.CallEndpoint(t, 200, "POST", "declare", "")
	for round := range 10 {
		answers := together(t, here, there, 4, "make", fmt.Sprintf(`{"k":"k%d"}`, round))
		require.ElementsMatch(t, []string{"true", "unique", "unique", "unique"}, answers)
	}
	for _, p := range []nodetest.Workspace{here, there} {
		require.JSONEq(t, `{"n":10}`, string(p.CallEndpoint(t, 200, "POST", "count", "").Body))
	}
}

func rowsReadElsewhere(t *testing.T, c *cluster) {
	here, there := c.newWorkspace(t)
	here.AddAutomations(t, `
make: {when: {endpoint: true}, do: [{run: {module: collections, function: create, parameters: {collection: c, data: {n: '{{body.n}}'}}, output: r}}], output: '{{r.insertedId}}'}
find: {when: {endpoint: true}, do: [{run: {module: collections, function: findMany, parameters: {collection: c}, output: rows}}], output: {n: '{{rows.length}}'}}
tell: {when: {endpoint: true}, do: [{run: {module: collections, function: create, parameters: {collection: c, data: {n: told}}}}, {emit: {event: made}}]}
told: {when: {events: [made]}, do: [{run: {module: collections, function: count, parameters: {collection: c}, output: n}}], output: {n: '{{n}}'}}`)
	writer, reader := here, there
	for i := 1; i <= 20; i++ {
		require.NotEmpty(t, writer.CallEndpoint(t, 200, "POST", "make", fmt.Sprintf(`{"n":%d}`, i)).Body)
		require.JSONEq(t, fmt.Sprintf(`{"n":%d}`, i), string(reader.CallEndpoint(t, 200, "POST", "find", "").Body), "the next run on the other node reads it")
		writer, reader = reader, writer
	}
	for i, p := range []nodetest.Workspace{here, there} {
		ended := p.CallEndpoint(t, 200, "POST", "tell", "").AwaitEvents(t, 2, nodetest.Executed)
		for _, e := range ended {
			if e.At("slug") == `"told"` {
				require.Equal(t, fmt.Sprintf(`{"n":%d}`, 21+i), e.At("output"))
			}
		}
	}
}

func topicsReachElsewhere(t *testing.T, c *cluster) {
	here, there := c.newWorkspace(t)
	here.AddAutomations(t, `
t: {when: {endpoint: true}, do: [{joinUserTopic: {topic: '{{body.topic}}', userIds: ['{{body.user}}']}}, {emit: {event: news, payload: {n: '{{body.topic}}'}, target: {userTopic: '{{body.topic}}'}}}, {emit: {event: news, target: {userTopic: other}}}]}`)
	ann := c.one.NewUser(t, "ann")
	user := here.As(ann).UserID(t)
	for _, to := range []nodetest.Workspace{here, there} {
		from := there
		if to.Service == there.Service {
			from = here
		}
		topic := "to-" + to.Service.Port()
		socket := to.OpenWebSocket(t, "", ann)
		require.Contains(t, socket.Receive(), "ready")
		stream := to.As(ann).Follow(t, to.Path+"/events/stream")
		from.CallEndpoint(t, 200, "POST", "t", `{"topic":"`+topic+`","user":"`+user+`"}`)
		frames, _ := nodetest.ReadFrames(stream, 1)
		var e nodetest.Event
		require.NoError(t, json.Unmarshal([]byte(frames[0].Data), &e))
		require.Equal(t, topic, e.Payload["n"])
		require.Equal(t, topic, nodetest.ObjectAt(nodetest.ObjectAt(socket.Receive(), "event"), "payload")["n"])
	}
}
