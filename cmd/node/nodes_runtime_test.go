package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// cluster is two nodes over one broker on which automations are tried.
type cluster struct {
	one, other *service
	owner      http.Header
}

func newCluster(t *testing.T, env ...string) *cluster {
	t.Helper()
	c := &cluster{}
	c.one, c.other = couple(t, append([]string{"EGRESS_ALLOW_PRIVATE=yes", "RATE_LIMIT_DISABLED=yes"}, env...)...)
	c.owner = c.one.person(t, "owner")
	return c
}

// place makes a workspace of the owner, as each of the nodes shows it.
func (c *cluster) place(t *testing.T) (here, there place) {
	t.Helper()
	here = (&workshop{service: c.one, owner: c.owner}).place(t)
	t.Cleanup(func() {
		for _, node := range []*service{c.one, c.other} {
			requireUntold(t, "the log of a node", node.log.String(), masterKey, internalKey, shownBy(c.owner))
		}
	})
	return here, here.at(c.other)
}

// at is the same workspace on another node.
func (p place) at(s *service) place {
	p.s = s
	return p
}

// posts calls an endpoint where a test may not end, and returns the answer.
func (p place) posts(ctx context.Context, path, body string) (answer, error) {
	got, err := p.s.request(ctx, http.MethodPost, p.path+"/webhooks/"+path, p.me, body)
	if err == nil && got.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", got.Status, got.body)
	}
	return got, err
}

// node is the one that recorded an event.
func (e shownEvent) node() string {
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
	here, there := c.place(t)
	here.has(t, `
a: {when: {events: [e]}, do: [{'set global.a[]': '{{payload.n}}'}], output: '{{run.attempt}}'}
b: {when: {events: ['e', 'e.*']}, do: [], output: '{{run.attempt}}'}
last: {when: {events: [last]}, do: []}
read: {when: {endpoint: true}, do: [], output: '{{global.a.length}}'}`)
	const events, each = 200, 10
	var g errgroup.Group
	for i, p := range []place{here, there} {
		g.Go(func() error {
			for n := 0; n < events/2; n += each {
				list := make([]string, each)
				for j := range list {
					list[j] = fmt.Sprintf(`{"type":"e","payload":{"n":"%d-%d"}}`, i, n+j)
				}
				got, err := p.s.request(t.Context(), http.MethodPost, p.path+"/events", p.me, `{"events":[`+strings.Join(list, ",")+`]}`)
				if err != nil || got.StatusCode != http.StatusCreated {
					return fmt.Errorf("%w: %s", err, got.body)
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	there.awaits(t, 2*events, executed, "")
	here.emits(t, `{"type":"last"}`)
	here.awaits(t, 1, executed, "payload.slug=last")
	started := map[string]int{}
	for _, e := range here.awaits(t, 2*events+1, executed, "") {
		started[e.at("slug")+e.at("trigger", "id")]++
		require.Empty(t, e.at("error"))
	}
	require.Len(t, started, 2*events+1)
	require.Equal(t, fmt.Sprint(events), string(there.calls(t, 200, "GET", "read", "").body))
	inLogOrder(t, here, events)
}

// inLogOrder holds that automations were started in the order of the events.
func inLogOrder(t *testing.T, p place, events int) {
	t.Helper()
	place := map[string]int{}
	for i, e := range p.awaits(t, events, "e", "") {
		place[`"`+e.ID+`"`] = i
	}
	for _, slug := range []string{"a", "b"} {
		at := make([]string, events)
		for _, e := range p.awaits(t, events, "runtime.interactions.triggered", "payload.automation="+slug) {
			at[place[e.at("trigger", "id")]] = e.at("startedAt")
		}
		require.IsNonDecreasing(t, at, "started in the order of the log")
	}
}

func noUpdateIsLost(t *testing.T, c *cluster) {
	here, there := c.place(t)
	here.has(t, `
t: {when: {endpoint: true}, do: [{repeat: {until: 100, do: [{'set global.l[]': '{{body.n}}-{{item}}'}, {'set global[{{body.n}}].n': '{{item}}'}, {'set session.l[]': 1}, {conditions: {'{{item}} % 10 == 0': [{wait: {timeout: 0.01}}]}}]}}]}
read: {when: {endpoint: true}, do: [], output: {l: '{{global.l}}', a: '{{global.a.n}}', b: '{{global.b.n}}', s: '{{session.l.length}}'}}`)
	var g errgroup.Group
	for n, p := range map[string]place{"a": here, "b": there} {
		g.Go(func() error {
			_, err := p.posts(t.Context(), "t", `{"n":"`+n+`"}`)
			return err
		})
	}
	require.NoError(t, g.Wait())
	for _, p := range []place{here, there} {
		got := p.calls(t, 200, "GET", "read", "").json(t)
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
	here, there := c.place(t)
	here.has(t, `
t: {when: {endpoint: true}, do: [{repeat: {until: 20, do: [{'set global.{{body.n}}': '{{item}}'}, {set session.n: '{{item}}'}, {'set run.n': '{{item}}'}, {emit: {event: e, payload: {n: '{{item}}', of: '{{body.n}}'}}}]}}]}
hears: {when: {events: [e]}, do: [], output: ['{{payload.n}}', '{{global[{{payload.of}}]}}', '{{session.n}}', '{{run.n}}']}`)
	nodes := map[string]bool{}
	for n, p := range map[string]place{"a": here, "b": there} {
		got := p.calls(t, 200, "POST", "t", `{"n":"`+n+`"}`)
		for _, e := range got.awaits(t, 21, executed) {
			nodes[e.node()] = true
			if e.at("slug") != `"hears"` {
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
	here, there := c.place(t)
	for i := range 10 {
		slug := fmt.Sprintf("s%d", i)
		here.has(t, slug+`: {when: {endpoint: true, events: [`+slug+`]}, do: [], output: '{{run.trigger.type}}'}`)
		require.Equal(t, "endpoint", string(there.calls(t, 200, "POST", slug, "").body))
		there.has(t, slug+`e: {when: {events: [`+slug+`]}, do: []}`)
		there.emits(t, `{"type":"`+slug+`"}`)
		here.awaits(t, 1, executed, "payload.trigger.type=event&payload.slug="+slug)
		here.awaits(t, 1, executed, "payload.trigger.type=event&payload.slug="+slug+"e")
	}
}

// together calls an endpoint so many times at once, in turn at one place and the other, and
// returns the answers.
func together(t *testing.T, here, there place, times int, endpoint, body string) []string {
	t.Helper()
	answers := make([]string, times)
	var g errgroup.Group
	for i := range answers {
		p := []place{here, there}[i%2]
		g.Go(func() error {
			got, err := p.posts(t.Context(), endpoint, body)
			answers[i] = string(got.body)
			return err
		})
	}
	require.NoError(t, g.Wait())
	return answers
}

func limitedTogether(t *testing.T, c *cluster) {
	here, there := c.place(t)
	here.has(t, `t: {when: {endpoint: true}, do: [{rateLimit: {name: l, limit: 10, window: 86400, output: r}}], output: '{{r.ok}}'}`)
	answers := together(t, here, there, 50, "t", "")
	require.Equal(t, 10, count(answers, "true"), "%v", answers)
	require.Equal(t, 40, count(answers, "{}"), "what is false is shown as nothing")
}

func uniqueOverall(t *testing.T, c *cluster) {
	here, there := c.place(t)
	here.has(t, `
declare: {when: {endpoint: true}, do: [{run: {module: collections, function: updateSchema, parameters: {collection: u, properties: {k: {type: string}}, uniques: [[k]]}}}]}
make: {when: {endpoint: true}, do: [{run: {module: collections, function: create, parameters: {collection: u, data: {k: '{{body.k}}'}}, onError: continue, output: r}}], output: '{{r.details.reason}}{{r.acknowledged}}'}
count: {when: {endpoint: true}, do: [{run: {module: collections, function: count, parameters: {collection: u}, output: n}}], output: {n: '{{n}}'}}`)
	here.calls(t, 200, "POST", "declare", "")
	for round := range 10 {
		answers := together(t, here, there, 4, "make", fmt.Sprintf(`{"k":"k%d"}`, round))
		require.ElementsMatch(t, []string{"true", "unique", "unique", "unique"}, answers)
	}
	for _, p := range []place{here, there} {
		require.JSONEq(t, `{"n":10}`, string(p.calls(t, 200, "POST", "count", "").body))
	}
}

func rowsReadElsewhere(t *testing.T, c *cluster) {
	here, there := c.place(t)
	here.has(t, `
make: {when: {endpoint: true}, do: [{run: {module: collections, function: create, parameters: {collection: c, data: {n: '{{body.n}}'}}, output: r}}], output: '{{r.insertedId}}'}
find: {when: {endpoint: true}, do: [{run: {module: collections, function: findMany, parameters: {collection: c}, output: rows}}], output: {n: '{{rows.length}}'}}
tell: {when: {endpoint: true}, do: [{run: {module: collections, function: create, parameters: {collection: c, data: {n: told}}}}, {emit: {event: made}}]}
told: {when: {events: [made]}, do: [{run: {module: collections, function: count, parameters: {collection: c}, output: n}}], output: {n: '{{n}}'}}`)
	writer, reader := here, there
	for i := 1; i <= 20; i++ {
		require.NotEmpty(t, writer.calls(t, 200, "POST", "make", fmt.Sprintf(`{"n":%d}`, i)).body)
		require.JSONEq(t, fmt.Sprintf(`{"n":%d}`, i), string(reader.calls(t, 200, "POST", "find", "").body), "the next run on the other node reads it")
		writer, reader = reader, writer
	}
	for i, p := range []place{here, there} {
		ended := p.calls(t, 200, "POST", "tell", "").awaits(t, 2, executed)
		for _, e := range ended {
			if e.at("slug") == `"told"` {
				require.Equal(t, fmt.Sprintf(`{"n":%d}`, 21+i), e.at("output"))
			}
		}
	}
}

func topicsReachElsewhere(t *testing.T, c *cluster) {
	here, there := c.place(t)
	here.has(t, `
t: {when: {endpoint: true}, do: [{joinUserTopic: {topic: '{{body.topic}}', userIds: ['{{body.user}}']}}, {emit: {event: news, payload: {n: '{{body.topic}}'}, target: {userTopic: '{{body.topic}}'}}}, {emit: {event: news, target: {userTopic: other}}}]}`)
	ann := c.one.person(t, "ann")
	user := here.as(ann).userID(t)
	for _, to := range []place{here, there} {
		from := there
		if to.s == there.s {
			from = here
		}
		topic := "to-" + to.s.port()
		socket := to.plug(t, "", ann)
		require.Contains(t, socket.hears(), "ready")
		stream := to.as(ann).follow(t, to.path+"/events/stream")
		from.calls(t, 200, "POST", "t", `{"topic":"`+topic+`","user":"`+user+`"}`)
		frames, _ := listen(stream, 1)
		var e shownEvent
		require.NoError(t, json.Unmarshal([]byte(frames[0].data), &e))
		require.Equal(t, topic, e.Payload["n"])
		require.Equal(t, topic, inner(inner(socket.hears(), "event"), "payload")["n"])
	}
}
