package knowledge_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// What was used is counted exactly. Row 64 of the knowledge contract's conformance list.
func TestUsageOfKnowledge(t *testing.T) {
	t.Parallel()
	_, env := startModels(t)
	s := nodetest.NewServiceWithAccounts(t, env...).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	one := p.Path + "/knowledgeBases/faq"
	p.Do(t, 201, "POST", p.Path+"/knowledgeBases", `{"name":"FAQ","slug":"faq"}`)
	p.Do(t, 201, "POST", p.Path+"/knowledgeBases", `{"name":"Other","slug":"other"}`)
	p.Do(t, 201, "POST", one+"/documents?wait=30", `{"text":"Paris is the capital of France."}`)
	p.Do(t, 201, "POST", p.Path+"/agents", `{"name":"Helper","instructions":"Help."}`)

	prompt, completion := 0.0, 0.0
	add := func(answer map[string]any) {
		used := nodetest.ObjectAt(answer, "usage")
		require.NotZero(t, used["promptTokens"], "%v", answer)
		prompt, completion = prompt+used["promptTokens"].(float64), completion+used["completionTokens"].(float64)
	}
	for range 2 {
		add(p.Do(t, 200, "POST", one+"/ask", `{"question":"What is the capital of France?"}`).JSON(t))
	}
	add(p.Do(t, 200, "POST", p.Path+"/agents/helper/messages", `{"text":"say:hello"}`).JSON(t))
	p.Do(t, 201, "POST", p.Path+"/agents", `{"name":"Librarian","instructions":"Help.","knowledge":[{"base":"faq","when":"always"},{"base":"faq"}]}`)
	add(p.Do(t, 200, "POST", p.Path+"/agents/librarian/messages", `{"text":"call:search_knowledge {\"query\":\"capital\"}"}`).JSON(t))
	searched := p.AwaitEvents(t, 2, "knowledge.queried", "payload.kind=search")
	for _, ev := range searched {
		require.Equal(t, []any{[]any{"faq"}, nil, 1.0}, []any{ev.Payload["knowledgeBases"], ev.Payload["query"], ev.Payload["total"]}, "what is said in conversations is in no event")
	}
	require.Equal(t, true, p.Do(t, 200, "POST", p.Path+"/models/test", `{"model":"fake-embed"}`).JSON(t)["ok"])
	require.Equal(t, true, p.Do(t, 200, "POST", p.Path+"/models/test", `{"model":"fake-chat"}`).JSON(t)["ok"])
	prompt, completion = prompt+5, completion+2 // "Answer with the word ok." and "no source"
	for range 4 {
		p.Do(t, 200, "POST", one+"/search", `{"query":"capital"}`)
	}
	p.Do(t, 200, "GET", one+"/search?q=capital", "")
	s.Stop(t) // which records what is summed up every minute
	s.Start(t)

	used := p.Usage(t, "&details=true")
	require.Equal(t, map[string]any{
		"knowledge.documents.indexed": 1.0, "knowledge.queries": 7.0, "knowledge.questions": 2.0, "agents.messages": 2.0, "agents.toolCalls": 1.0,
		"tokens.prompt": prompt, "tokens.completion": completion, "tokens.embedding": 1.0,
	}, nodetest.ObjectAt(nodetest.ObjectAt(used, "total"), "custom"))
	knowledge := nodetest.ObjectAt(used, "knowledge")
	faq := nodetest.ObjectAt(nodetest.ObjectAt(knowledge, "knowledgeBases"), "faq")
	require.Equal(t, []any{1.0, 7.0, 2.0}, []any{faq["knowledge.documents.indexed"], faq["knowledge.queries"], faq["knowledge.questions"]})
	require.NotContains(t, knowledge["knowledgeBases"], "other")
	require.Equal(t, 1.0, nodetest.ObjectAt(nodetest.ObjectAt(knowledge, "agents"), "helper")["agents.messages"])
	require.Equal(t, prompt, nodetest.ObjectAt(nodetest.ObjectAt(knowledge, "models"), "default/fake-chat")["tokens.prompt"])
}
