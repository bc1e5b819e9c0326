package knowledge_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/commands/llm/fakemodel"
)

// textOf returns the text that a frame has.
func textOf(t *testing.T, data string) string {
	t.Helper()
	var frame struct{ Text string }
	require.NoError(t, json.Unmarshal([]byte(data), &frame))
	return frame.Text
}

// toolCall is a call of a function that a message has; the only one.
func toolCall(t *testing.T, message map[string]any) map[string]any {
	t.Helper()
	calls := message["toolCalls"].([]any)
	require.Len(t, calls, 1, "%v", message)
	return calls[0].(map[string]any)
}

// Messages survive what happens to their node: approvals, functions that had begun, and runs that call each other.
func TestMessagesAcrossRestarts(t *testing.T) {
	t.Parallel()
	_, env := startModels(t)
	clock, remote := &nodetest.Clock{}, nodetest.NewBlockingServer(t)
	s := nodetest.NewServiceWithAccounts(t, append(env, "RATE_LIMIT_ASK_MODELS=1000", "EGRESS_ALLOW_PRIVATE=yes", "MAXIMUM_SUCCESSIVE_CALLS=4")...)
	s.Clock = clock.Now
	s.Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	one := p.Path + "/agents/helper"
	addAutomation(t, p, "pay", `"arguments":{"id":{"type":"number"}},"output":"paid {{id}}",`)
	addAutomation(t, p, "slowly", `"output":"{{r}}",`, `{"fetch":{"url":"`+remote.URL+`/slow","output":"r"}}`)
	addAutomation(t, p, "again", `"output":"{{m.text}}",`, `{"run":{"module":"agents","function":"send","parameters":{"agent":"helper","text":"call:again {}"},"output":"m"}}`)
	p.Do(t, 201, "POST", p.Path+"/agents", `{"name":"Helper","instructions":"You help.","limits":{"seconds":600},"tools":[{"automation":"pay","approval":"always"},{"automation":"slowly"},{"automation":"again"}]}`)
	message := func(id any) map[string]any {
		t.Helper()
		return p.Do(t, 200, "GET", fmt.Sprintf("%s/messages/%v", one, id), "").JSON(t)
	}
	awaitEnd := func(id any) map[string]any {
		t.Helper()
		var got map[string]any
		require.Eventually(t, func() bool {
			got = message(id)
			return got["status"] != "running" && got["status"] != "waiting_approval"
		}, 3*time.Minute, 50*time.Millisecond)
		return got
	}
	waiting := func() (id any, approve func(approved bool) map[string]any) {
		t.Helper()
		got := p.Do(t, 200, "POST", one+"/messages", `{"text":"call:pay {\"id\":3}"}`).JSON(t)
		require.Equal(t, "waiting_approval", got["status"])
		frames, _ := nodetest.ReadFrames(p.Follow(t, fmt.Sprintf("%s/messages/%v/stream", one, got["id"])), 0)
		var asked struct{ CallID string }
		require.NoError(t, json.Unmarshal([]byte(frames[len(frames)-1].Data), &asked))
		return got["id"], func(approved bool) map[string]any {
			t.Helper()
			return p.Do(t, 200, "POST", fmt.Sprintf("%s/messages/%v/approve", one, got["id"]), fmt.Sprintf(`{"callId":%q,"approved":%t,"reason":"too much"}`, asked.CallID, approved)).JSON(t)
		}
	}

	t.Log("an agent whose function calls the agent ends")
	got := p.Do(t, 200, "POST", one+"/messages?timeout=50", `{"text":"call:again {}"}`).JSON(t)
	require.Equal(t, "completed", got["status"])
	require.Contains(t, got["text"], "TooManyCallError")

	t.Log("approvals wait across a restart; the function runs once")
	_, approve := waiting()
	_, refuse := waiting()
	unanswered, _ := waiting()
	slow := p.Do(t, 202, "POST", one+"/messages?timeout=0", `{"text":"call:slowly {}"}`).JSON(t)
	remote.AwaitRequests(t, 1, "/slow")
	s.Stop(t)
	s.Start(t)
	approved := approve(true)
	require.Equal(t, []any{"completed", `tool said: "paid 3"`}, []any{approved["status"], approved["text"]})
	refused := refuse(false)
	require.Equal(t, []any{"completed", "refused"}, []any{refused["status"], toolCall(t, refused)["error"]})
	require.Contains(t, refused["text"], "too much")
	p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=pay")

	t.Log("a function that had begun is not repeated")
	interrupted := awaitEnd(slow["id"])
	require.Equal(t, []any{"completed", "interrupted"}, []any{interrupted["status"], toolCall(t, interrupted)["error"]})
	require.Equal(t, 1, remote.Count("/slow"))

	t.Log("nobody answers for a week, in which the agent gets another name")
	require.Equal(t, "waiting_approval", message(unanswered)["status"])
	p.Do(t, 200, "PATCH", one, `{"slug":"aide"}`)
	one = p.Path + "/agents/aide"
	clock.Pass(7*24*time.Hour + time.Minute)
	late := awaitEnd(unanswered)
	require.Equal(t, []any{"completed", "refused"}, []any{late["status"], toolCall(t, late)["error"]})
	require.Contains(t, late["text"], "nobody approved it in time")
	p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=pay")
}

// Nodes go on with the messages of each other, and tell of them alike.
func TestMessagesAcrossNodes(t *testing.T) {
	t.Parallel()
	fake, env := startModels(t)
	one, other := nodetest.StartPair(t, append(env, "RATE_LIMIT_ASK_MODELS=1000")...)
	p := nodetest.NewOwnedWorkspace(t, one)
	there := p
	there.Service = other
	at := p.Path + "/agents/helper"
	p.Do(t, 201, "POST", p.Path+"/agents", `{"name":"Helper","instructions":"You help."}`)

	t.Log("a stream that was cut goes on at the other node")
	said := p.Do(t, 200, "POST", at+"/messages", `{"text":"say:one two three four"}`).JSON(t)
	stream := fmt.Sprintf("%s/messages/%v/stream", at, said["id"])
	whole, _ := nodetest.ReadFrames(p.Follow(t, stream), 0)
	rest, _ := nodetest.ReadFrames(there.Follow(t, stream, "Last-Event-ID", "3"), 0)
	require.Greater(t, len(whole), 4)
	require.Equal(t, whole[3:], rest)
	require.Equal(t, "done", rest[len(rest)-1].Event)

	t.Log("also while the message is answered")
	fake.Script(fakemodel.Reply{Text: "one two three four five six seven eight nine ten eleven twelve", SlowMS: 250})
	res, _ := askStream(t, p, at+"/messages", `{"text":"count"}`)
	head, _ := nodetest.ReadFrames(res.Body, 3)
	var begun struct{ MessageID string }
	require.NoError(t, json.Unmarshal([]byte(head[0].Data), &begun))
	stream = at + "/messages/" + begun.MessageID + "/stream"
	rest, _ = nodetest.ReadFrames(there.Follow(t, stream, "Last-Event-ID", "3"), 0)
	joined := ""
	for i, f := range append(head, rest...) {
		require.Equal(t, strconv.Itoa(i+1), f.ID, "none is missing, and none comes twice")
		if f.Event == "delta" {
			joined += textOf(t, f.Data)
		}
	}
	require.Equal(t, "done", rest[len(rest)-1].Event)
	require.Equal(t, "one two three four five six seven eight nine ten eleven twelve", joined)
	require.Equal(t, joined, textOf(t, rest[len(rest)-1].Data))

	t.Log("of two messages at once one is answered")
	body := fmt.Sprintf(`{"text":"slow:200","conversationId":%q}`, said["conversationId"])
	answers := make(chan nodetest.Answer, 2)
	for _, who := range []nodetest.Workspace{p, there} {
		go func() { // ends with the answer
			header := nodetest.WithHeader(who.Auth, "Content-Type", "application/json")
			got, err := who.Service.Request(t.Context(), http.MethodPost, at+"/messages", header, body)
			if err != nil {
				got.Status = err.Error()
			}
			answers <- got
		}()
	}
	first, second := <-answers, <-answers
	require.ElementsMatch(t, []int{200, 409}, []int{first.StatusCode, second.StatusCode}, "%s %s", first.Body, second.Body)
	require.Contains(t, string(first.Body)+string(second.Body), "conversation_busy")

	t.Log("a node that is gone leaves its messages to another")
	before := len(fake.Calls())
	unwanted := p.Do(t, 202, "POST", at+"/messages?timeout=0", `{"text":"slow:600000"}`).JSON(t)
	require.Eventually(t, func() bool { return len(fake.Calls()) > before }, time.Minute, 10*time.Millisecond)
	fake.Script(fakemodel.Reply{Text: "never told", SlowMS: 600_000})
	late := p.Do(t, 202, "POST", at+"/messages?timeout=0", `{"text":"say:taken over"}`).JSON(t)
	require.Eventually(t, func() bool { return len(fake.Calls()) > before+1 }, time.Minute, 10*time.Millisecond)
	one.Stop(t)
	require.Equal(t, "cancelled", there.Do(t, 200, "POST", fmt.Sprintf("%s/messages/%v/cancel", at, unwanted["id"]), "").JSON(t)["status"], "although nobody may have taken it over yet")
	frames, _ := nodetest.ReadFrames(there.Follow(t, fmt.Sprintf("%s/messages/%v/stream", at, late["id"])), 0)
	require.Equal(t, "done", frames[len(frames)-1].Event)
	require.Equal(t, "taken over", there.Do(t, 200, "GET", fmt.Sprintf("%s/messages/%v", at, late["id"]), "").JSON(t)["text"])
}

// Lists of conversations have pages, and those of everybody for who manages the agent.
func TestListsOfConversations(t *testing.T) {
	t.Parallel()
	_, env := startModels(t)
	s := nodetest.NewServiceWithAccounts(t, append(env, "RATE_LIMIT_ASK_MODELS=1000")...).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	visitor, at := p.As(s.NewUser(t, "visitor")), p.Path+"/agents/helper"
	p.Do(t, 201, "POST", p.Path+"/agents", `{"name":"Helper","instructions":"You help."}`)
	p.Do(t, 200, "POST", at+"/publish", "")
	p.Do(t, 200, "POST", at+"/permissions", `{"target":{"email":"visitor@example.org"},"permissions":{"policies":{"execute":true}}}`)
	for i := range 5 {
		p.Do(t, 200, "POST", at+"/messages", fmt.Sprintf(`{"text":"say:mine %d"}`, i))
	}
	theirs := visitor.Do(t, 200, "POST", at+"/messages", `{"text":"say:theirs"}`).JSON(t)
	list := func(who nodetest.Workspace, query, total string) []any {
		t.Helper()
		got := who.Do(t, 200, "GET", at+"/conversations?"+query, "")
		require.Equal(t, total, got.Header.Get("X-Total-Count"))
		return nodetest.Fields(got.List(t), "title")
	}
	require.Equal(t, []any{"say:mine 4", "say:mine 3"}, list(p, "limit=2", "5"))
	require.Equal(t, []any{"say:mine 0"}, list(p, "limit=2&page=2", "5"))
	require.Equal(t, []any{"say:mine 3"}, list(p, "search=MINE+3", "1"))
	require.Equal(t, []any{"say:theirs"}, list(visitor, "", "1"))
	require.Equal(t, []any{"say:theirs", "say:mine 4"}, list(p, "all=true&limit=2", "6"))
	require.Equal(t, []any{"say:theirs"}, list(p, "all=true&search=theirs", "1"))
	one := fmt.Sprintf("%s/conversations/%v", at, theirs["conversationId"])
	require.Equal(t, "say:theirs", p.Do(t, 200, "GET", one, "").JSON(t)["title"])
	p.Do(t, 200, "DELETE", one, "")
	require.Empty(t, list(visitor, "", "0"))
	require.Len(t, list(p, "all=true", "5"), 5)
}

// The quota of the day counts what a message has used so far.
func TestAMessageEndsWithTheQuota(t *testing.T) {
	t.Parallel()
	fake, env := startModels(t)
	s := nodetest.NewServiceWithAccounts(t, append(env, "RATE_LIMIT_ASK_MODELS=1000", "KNOWLEDGE_TOKENS_PER_DAY=1")...).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	addAutomation(t, p, "work", `"output":"done",`)
	p.Do(t, 201, "POST", p.Path+"/agents", `{"name":"Helper","instructions":"You help.","tools":[{"automation":"work"}]}`)
	p.RequireRefusal(t, 429, "quota_exceeded", "POST", p.Path+"/agents/helper/messages", `{"text":"loop"}`)
	require.Equal(t, 1, fake.Count("/v1/chat/completions"))
	told := p.AwaitEvents(t, 1, "agents.messages.completed", "")[0]
	require.Equal(t, []any{"failed", "quota_exceeded"}, []any{told.Payload["status"], told.Payload["error"].(map[string]any)["error"]})
	require.NotContains(t, told.At(), "loop", "the text is in no event")
}

// A message ends at its limits, and a request before the gateway gives it up.
func TestLimitsOfMessages(t *testing.T) {
	t.Parallel()
	fake, env := startModels(t)
	s := nodetest.NewServiceWithAccounts(t, append(env, "RATE_LIMIT_ASK_MODELS=1000", "GATEWAY_REQUEST_TIMEOUT_SECONDS=15")...).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	addAutomation(t, p, "work", `"output":"done",`)
	add := func(slug, more string) (messages string) {
		t.Helper()
		p.Do(t, 201, "POST", p.Path+"/agents", `{"slug":"`+slug+`","name":"x","instructions":"Now is {{run.date}}.",`+more+`"tools":[{"automation":"work"}]}`)
		return p.Path + "/agents/" + slug + "/messages"
	}
	prompt := func() string {
		calls := fake.Calls()
		return string(calls[len(calls)-1].Body)
	}

	t.Log("functions, and tokens")
	got := p.Do(t, 200, "POST", add("calls", `"limits":{"toolCalls":2},`), `{"text":"loop"}`).JSON(t)
	require.Equal(t, []any{"completed", "limit", 3.0}, []any{got["status"], got["finishReason"], got["steps"]})
	require.Len(t, got["toolCalls"], 2)
	got = p.Do(t, 200, "POST", add("call", `"limits":{"toolCalls":1},`), `{"text":"call:work {}\ncall:work {}"}`).JSON(t)
	require.Equal(t, []any{nil, "limit"}, nodetest.Fields(toMaps(got["toolCalls"]), "error"))
	require.Equal(t, "limit", got["finishReason"])
	got = p.Do(t, 200, "POST", add("tokens", `"limits":{"tokens":1},`), `{"text":"loop"}`).JSON(t)
	require.Equal(t, []any{"completed", "limit", 2.0}, []any{got["status"], got["finishReason"], got["steps"]})

	t.Log("what the model gets of the conversation")
	for kept, want := range map[int][]bool{2: {false, true}, 0: {false, false}} {
		at := add(fmt.Sprintf("memory-%d", kept), fmt.Sprintf(`"memory":{"messages":%d},`, kept))
		conversation := ""
		for _, text := range []string{"say:alpha", "say:beta", "say:gamma"} {
			said := p.Do(t, 200, "POST", at, `{"text":"`+text+`"`+conversation+`}`).JSON(t)
			conversation = fmt.Sprintf(`,"conversationId":%q`, said["conversationId"])
		}
		require.Equal(t, want, []bool{strings.Contains(prompt(), "alpha"), strings.Contains(prompt(), "beta")}, kept)
	}
	require.Regexp(t, `Now is \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\.`, prompt())

	t.Log("time")
	at := add("time", `"limits":{"seconds":1},`)
	details := p.RequireRefusal(t, 504, "gateway_timeout", "POST", at, `{"text":"slow:600000"}`)
	require.Equal(t, "message_timeout", details["reason"])
	failed := p.AwaitEvents(t, 1, "agents.messages.completed", "payload.status=failed")[0]
	told := p.Do(t, 200, "GET", at+"/"+failed.Payload["messageId"].(string), "").JSON(t)
	require.Equal(t, "failed", told["status"])
	require.Equal(t, "message_timeout", told["error"].(map[string]any)["details"].(map[string]any)["reason"])

	t.Log("the time of a request: the answer has the id of the message")
	at = add("long", `"limits":{"seconds":600},`)
	late := p.Do(t, 202, "POST", at+"?timeout=600", `{"text":"slow:600000"}`).JSON(t)
	require.Equal(t, []any{late["id"], "running"}, []any{late["operationId"], late["status"]})
	require.Equal(t, "cancelled", p.Do(t, 200, "POST", at+"/"+late["id"].(string)+"/cancel", "").JSON(t)["status"])
	p.Do(t, 200, "PATCH", strings.TrimSuffix(at, "/messages"), `{"tools":[{"automation":"work","approval":"always"}]}`)
	waits := p.Do(t, 200, "POST", at, `{"text":"call:work {}"}`).JSON(t)
	fake.Script(fakemodel.Reply{Text: "never told", SlowMS: 600_000})
	late = p.Do(t, 202, "POST", at+"/"+waits["id"].(string)+"/approve", fmt.Sprintf(`{"callId":%q,"approved":true}`, toMaps(waits["approvals"])[0]["callId"])).JSON(t)
	require.Equal(t, waits["id"], late["operationId"])

	t.Log("a conversation that is deleted meanwhile: what it took is counted")
	p.Do(t, 200, "DELETE", fmt.Sprintf("%s/agents/long/conversations/%v", p.Path, waits["conversationId"]), "")
	require.Equal(t, waits["id"], p.AwaitEvents(t, 1, "agents.messages.completed", fmt.Sprintf("payload.status=cancelled&payload.messageId=%v", waits["id"]))[0].Payload["messageId"])
	p.RequireRefusal(t, 404, "resource_not_found", "GET", at+"/"+waits["id"].(string), "")
	waits = p.Do(t, 200, "POST", at, `{"text":"call:work {}"}`).JSON(t)
	require.Equal(t, "waiting_approval", waits["status"])
	p.Do(t, 200, "DELETE", fmt.Sprintf("%s/agents/long/conversations/%v", p.Path, waits["conversationId"]), "")
	p.AwaitEvents(t, 1, "agents.messages.completed", fmt.Sprintf("payload.status=cancelled&payload.messageId=%v", waits["id"]))
}
