package knowledge

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"svc/commands"
	"svc/commands/knowledge"
	"svc/http/api/handler"
	"svc/http/gateway"
)

// askBody is the body of a question.
type askBody struct {
	Question *string `json:"question"` // of AskQuery, which cannot tell whether it was given
	Stream   bool    `json:"stream"`
	knowledge.AskQuery
}

// AskBase handles POST …/knowledgeBases/{slug}/ask.
func (h *Handlers) AskBase(r *http.Request) (any, error) {
	if _, err := h.newRequest(r, "read"); err != nil {
		return nil, err
	}
	var body askBody
	if err := gateway.Decode(r, &body); err != nil {
		return nil, err
	}
	return h.ask(r, []string{gateway.Var(r, "slug")}, body)
}

// AskBases handles POST …/knowledgeBases/ask.
func (h *Handlers) AskBases(r *http.Request) (any, error) {
	if err := h.CheckSome(r); err != nil {
		return nil, err
	}
	var body struct {
		Bases *[]string `json:"knowledgeBases"`
		askBody
	}
	if err := gateway.Decode(r, &body); err != nil {
		return nil, err
	}
	var bases []string
	if body.Bases != nil {
		bases = append([]string{}, *body.Bases...)
	}
	return h.ask(r, bases, body.askBody)
}

// ask answers a question: as a whole, or piece by piece as the model answers.
func (h *Handlers) ask(r *http.Request, bases []string, body askBody) (any, error) {
	if body.Question == nil {
		return nil, handler.MissingField("question")
	}
	in := knowledge.AskRequest{
		WorkspaceID: handler.WorkspaceID(r), Bases: bases, Rights: gateway.GrantFrom(r.Context()).Rights, AskQuery: body.AskQuery, Languages: r.Header.Get("Accept-Language"),
	}
	in.Question = *body.Question
	if body.Stream || handler.WantsStream(r) {
		return gateway.Stream{Serve: func(w http.ResponseWriter, r *http.Request) (any, error) { return nil, h.streamAnswer(w, r, in) }}, nil
	}
	answer, err := h.Ask(r.Context(), in)
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// askPulse is how often a comment is sent while the model says nothing.
const askPulse = 15 * time.Second

// streamAnswer sends what was found, the answer in pieces, and last the whole answer or an error. An error before the
// first event is returned. The call of the model ends when the client leaves.
func (h *Handlers) streamAnswer(w http.ResponseWriter, r *http.Request, in knowledge.AskRequest) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s := answerStream{w: w, out: handler.NewStreamWriter(w, r)}
	in.OnSources = func(results []knowledge.SearchResult) error {
		return s.send("sources", map[string]any{"results": results})
	}
	in.OnDelta = func(text string) error { return s.send("delta", map[string]string{"text": text}) }
	var pulse sync.WaitGroup
	pulse.Go(func() { commands.Every(ctx, askPulse, s.sendComment) })
	answer, err := h.Ask(ctx, in)
	cancel()
	pulse.Wait()
	switch {
	case err != nil && !s.begun:
		return err
	case err != nil:
		err = s.send("error", json.RawMessage(gateway.ErrorFrame(r, err)))
	default:
		err = s.send("done", answer)
	}
	if err != nil {
		return err
	}
	return s.out.SetDeadline(time.Time{}) // the connection may serve more
}

// answerStream sends an answer as server-sent events.
type answerStream struct {
	w http.ResponseWriter

	mu    sync.Mutex
	out   *handler.StreamWriter
	begun bool
}

func (s *answerStream) send(event string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		s.begun = true
		handler.SetStreamHeaders(s.w.Header())
	}
	return s.out.Send([]byte("event: " + event + "\ndata: " + string(text) + "\n\n"))
}

// sendComment shows that the connection is alive. Whether it is, the next event finds out.
func (s *answerStream) sendComment() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		_ = s.out.Send([]byte(": the model is working\n\n"))
	}
}
