package llm

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"svc/domain"
	"svc/domain/automation/sse"
)

// protocol is how requests to a provider are written, and its answers read.
type protocol interface {
	authorize(h http.Header, key string)
	chat(model string, r ChatRequest) request
	readChat(b *body, a *answer) error
	embed(model string, texts []string, dimensions int) (request, error)
	// readEmbeddings returns the vectors of n texts in their order, and the tokens that these took; 0: unknown.
	readEmbeddings(b *body, n int) (vectors [][]float32, tokens int, err error)
	list() request
	readList(b *body) ([]Declaration, error)
}

// protocols are the protocols by the type of a provider.
var protocols = map[string]protocol{"": openAI{}, "openai": openAI{}, "anthropic": anthropic{}, "ollama": ollama{}}

// maxEvent bounds one event of a stream, in bytes.
const maxEvent = 4 << 20

// errDone ends a stream at its last event.
var errDone = errors.New("done")

// readStream calls each with every event of a stream until it returns errDone, or the stream ends.
func readStream(b *body, each func(e sse.Event) error) error {
	err := sse.Read(b, maxEvent, each)
	switch {
	case errors.Is(err, errDone):
		return nil
	case errors.Is(err, sse.ErrTooLarge):
		return errTooLarge
	}
	return err
}

// bearer sets the header that most providers read the key from.
func bearer(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

// ordered checks that there is a vector for each of n texts.
func ordered(vectors [][]float32, n int) ([][]float32, error) {
	if len(vectors) != n {
		return nil, errMalformed
	}
	return vectors, nil
}

// openAI is the protocol of OpenAI, which many others speak, too.
type openAI struct{}

func (openAI) authorize(h http.Header, key string) { bearer(h, key) }

type (
	openAIChat struct {
		Model         string          `json:"model"`
		Messages      []openAIMessage `json:"messages"`
		Tools         []openAITool    `json:"tools,omitempty"`
		Temperature   *float64        `json:"temperature,omitempty"`
		MaxTokens     int             `json:"max_tokens,omitempty"`
		Stream        bool            `json:"stream"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	openAIMessage struct {
		Role       string           `json:"role"`
		Content    *string          `json:"content"`
		ToolCalls  []openAIToolCall `json:"tool_calls,omitempty"`
		ToolCallID string           `json:"tool_call_id,omitempty"`
	}
	openAITool struct {
		Type     string         `json:"type"`
		Function openAIFunction `json:"function"`
	}
	openAIFunction struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}
	openAIToolCall struct {
		Index    *int   `json:"index,omitempty"`
		ID       string `json:"id,omitempty"`
		Type     string `json:"type,omitempty"`
		Function struct {
			Name      string `json:"name,omitempty"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	openAIChunk struct {
		Choices []struct {
			Delta struct {
				Content   string           `json:"content"`
				ToolCalls []openAIToolCall `json:"tool_calls"`
			} `json:"delta"`
			FinishReason string `json:"finish_reason"`
		} `json:"choices"`
		Usage *struct {
			PromptTokens     int `json:"prompt_tokens"`
			CompletionTokens int `json:"completion_tokens"`
		} `json:"usage"`
		Error json.RawMessage `json:"error"`
	}
)

func (openAI) chat(model string, r ChatRequest) request {
	c := openAIChat{Model: model, Temperature: r.Temperature, MaxTokens: r.MaxTokens, Stream: true}
	c.StreamOptions.IncludeUsage = true
	for _, message := range r.Messages {
		m := openAIMessage{Role: message.Role, Content: &message.Content, ToolCallID: message.ToolCallID}
		if message.Content == "" && len(message.ToolCalls) > 0 {
			m.Content = nil
		}
		for _, call := range message.ToolCalls {
			t := openAIToolCall{ID: call.ID, Type: "function"}
			t.Function.Name, t.Function.Arguments = call.Name, call.Arguments
			m.ToolCalls = append(m.ToolCalls, t)
		}
		c.Messages = append(c.Messages, m)
	}
	for _, t := range r.Tools {
		c.Tools = append(c.Tools, openAITool{"function", openAIFunction(t)})
	}
	return request{method: http.MethodPost, path: "/chat/completions", body: c, stream: true}
}

func (openAI) readChat(b *body, a *answer) error {
	return readStream(b, func(e sse.Event) error {
		if e.Data == "[DONE]" {
			return errDone
		}
		var chunk openAIChunk
		if json.Unmarshal([]byte(e.Data), &chunk) != nil {
			return errMalformed
		}
		if len(chunk.Error) > 0 && string(chunk.Error) != "null" {
			return parseSpoken(0, []byte(e.Data))
		}
		if u := chunk.Usage; u != nil {
			a.setUsage(u.PromptTokens, u.CompletionTokens)
		}
		if len(chunk.Choices) == 0 {
			return nil
		}
		choice := chunk.Choices[0]
		if err := a.addText(choice.Delta.Content); err != nil {
			return err
		}
		for _, piece := range choice.Delta.ToolCalls {
			index := len(a.ToolCalls) - 1
			switch {
			case piece.Index != nil:
				index = *piece.Index
			case piece.ID != "" || index < 0:
				index = len(a.ToolCalls)
			}
			call, err := a.toolCall(index)
			if err != nil {
				return err
			}
			if piece.ID != "" {
				call.ID = piece.ID
			}
			call.Name += piece.Function.Name
			if err := a.addArguments(call, piece.Function.Arguments); err != nil {
				return err
			}
		}
		switch choice.FinishReason {
		case "":
		case "length", "content_filter", "tool_calls":
			a.finish(choice.FinishReason)
		default:
			a.finish("stop")
		}
		return nil
	})
}

func (openAI) embed(model string, texts []string, dimensions int) (request, error) {
	return request{method: http.MethodPost, path: "/embeddings", body: struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Dimensions int      `json:"dimensions,omitempty"`
	}{model, texts, dimensions}}, nil
}

func (openAI) readEmbeddings(b *body, n int) ([][]float32, int, error) {
	var made struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
		Usage struct {
			PromptTokens int `json:"prompt_tokens"`
			TotalTokens  int `json:"total_tokens"`
		} `json:"usage"`
	}
	if err := b.readJSON(&made); err != nil {
		return nil, 0, err
	}
	vectors := make([][]float32, n)
	for _, d := range made.Data {
		if d.Index < 0 || d.Index >= n || vectors[d.Index] != nil {
			return nil, 0, errMalformed
		}
		vectors[d.Index] = d.Embedding
	}
	checked, err := ordered(vectors, len(made.Data))
	return checked, max(made.Usage.PromptTokens, made.Usage.TotalTokens), err
}

func (openAI) list() request { return request{method: http.MethodGet, path: "/models"} }

func (openAI) readList(b *body) ([]Declaration, error) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := b.readJSON(&list); err != nil {
		return nil, err
	}
	models := make([]Declaration, len(list.Data))
	for i, m := range list.Data {
		models[i].ID = m.ID
	}
	return models, nil
}

// anthropic is the protocol of Anthropic's messages. It has no embeddings.
type anthropic struct{}

func (anthropic) authorize(h http.Header, key string) {
	if key != "" {
		h.Set("X-Api-Key", key)
	}
	h.Set("Anthropic-Version", "2023-06-01")
}

// anthropicMaxTokens is how long an answer may be where the request does not say: the protocol demands a number.
const anthropicMaxTokens = 4096

type (
	anthropicChat struct {
		Model       string             `json:"model"`
		System      string             `json:"system,omitempty"`
		Messages    []anthropicMessage `json:"messages"`
		Tools       []anthropicTool    `json:"tools,omitempty"`
		Temperature *float64           `json:"temperature,omitempty"`
		MaxTokens   int                `json:"max_tokens"`
		Stream      bool               `json:"stream"`
	}
	anthropicMessage struct {
		Role    string           `json:"role"`
		Content []anthropicBlock `json:"content"`
	}
	anthropicBlock struct {
		Type      string          `json:"type"`
		Text      string          `json:"text,omitempty"`
		ID        string          `json:"id,omitempty"`
		Name      string          `json:"name,omitempty"`
		Input     json.RawMessage `json:"input,omitempty"`
		ToolUseID string          `json:"tool_use_id,omitempty"`
		Content   string          `json:"content,omitempty"`
	}
	anthropicTool struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	anthropicUsage struct {
		InputTokens  int `json:"input_tokens"`
		OutputTokens int `json:"output_tokens"`
	}
	anthropicEvent struct {
		Type    string `json:"type"`
		Message struct {
			Usage anthropicUsage `json:"usage"`
		} `json:"message"`
		ContentBlock anthropicBlock `json:"content_block"`
		Delta        struct {
			Text        string `json:"text"`
			PartialJSON string `json:"partial_json"`
			StopReason  string `json:"stop_reason"`
		} `json:"delta"`
		Usage anthropicUsage `json:"usage"`
	}
)

// emptyObject stands where a protocol demands an object and there is none.
var emptyObject = json.RawMessage(`{}`)

// jsonObject returns a text if it is a JSON object, else an empty one: models write broken arguments.
func jsonObject(text []byte) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) != nil || object == nil {
		return emptyObject
	}
	return text
}

func (anthropic) chat(model string, r ChatRequest) request {
	c := anthropicChat{Model: model, Temperature: r.Temperature, MaxTokens: r.MaxTokens, Stream: true}
	if c.MaxTokens == 0 {
		c.MaxTokens = anthropicMaxTokens
	}
	var system []string
	for _, message := range r.Messages {
		role, blocks := message.Role, []anthropicBlock{}
		switch role {
		case "system":
			system = append(system, message.Content)
			continue
		case "tool":
			role = "user"
			blocks = append(blocks, anthropicBlock{Type: "tool_result", ToolUseID: message.ToolCallID, Content: message.Content})
		default:
			if message.Content != "" {
				blocks = append(blocks, anthropicBlock{Type: "text", Text: message.Content})
			}
		}
		for _, call := range message.ToolCalls {
			blocks = append(blocks, anthropicBlock{Type: "tool_use", ID: call.ID, Name: call.Name, Input: jsonObject([]byte(call.Arguments))})
		}
		if last := len(c.Messages) - 1; last >= 0 && c.Messages[last].Role == role { // the roles must alternate
			c.Messages[last].Content = append(c.Messages[last].Content, blocks...)
			continue
		}
		c.Messages = append(c.Messages, anthropicMessage{role, blocks})
	}
	c.System = strings.Join(system, "\n\n")
	for _, t := range r.Tools {
		schema := t.Parameters
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		c.Tools = append(c.Tools, anthropicTool{t.Name, t.Description, schema})
	}
	return request{method: http.MethodPost, path: "/messages", body: c, stream: true}
}

// anthropicReasons are why an answer ended, in our words. All others are stop.
var anthropicReasons = map[string]string{"max_tokens": "length", "model_context_window_exceeded": "length", "tool_use": "tool_calls", "refusal": "content_filter"}

func (anthropic) readChat(b *body, a *answer) error {
	var usage anthropicUsage
	return readStream(b, func(line sse.Event) error {
		var e anthropicEvent
		if json.Unmarshal([]byte(line.Data), &e) != nil {
			return errMalformed
		}
		switch e.Type {
		case "error":
			return parseSpoken(0, []byte(line.Data))
		case "message_start":
			usage = e.Message.Usage
		case "content_block_start":
			if e.ContentBlock.Type != "tool_use" {
				return a.addText(e.ContentBlock.Text)
			}
			call, err := a.toolCall(-1)
			if err != nil {
				return err
			}
			call.ID, call.Name = e.ContentBlock.ID, e.ContentBlock.Name
		case "content_block_delta":
			if last := len(a.ToolCalls) - 1; e.Delta.PartialJSON != "" && last >= 0 {
				return a.addArguments(&a.ToolCalls[last], e.Delta.PartialJSON)
			}
			return a.addText(e.Delta.Text)
		case "message_delta":
			a.setUsage(max(usage.InputTokens, e.Usage.InputTokens), e.Usage.OutputTokens)
			reason, ok := anthropicReasons[e.Delta.StopReason]
			if !ok {
				reason = "stop"
			}
			a.finish(reason)
		case "message_stop":
			return errDone
		}
		return nil
	})
}

func (anthropic) embed(string, []string, int) (request, error) {
	return request{}, domain.Invalid(domain.FieldError{Field: "model", Message: "providers of the type anthropic have no embeddings"})
}

func (anthropic) readEmbeddings(*body, int) ([][]float32, int, error) { return nil, 0, errMalformed }

func (anthropic) list() request { return request{method: http.MethodGet, path: "/models?limit=1000"} }

func (anthropic) readList(b *body) ([]Declaration, error) { return openAI{}.readList(b) }

// ollama is the protocol of Ollama's own API.
type ollama struct{}

func (ollama) authorize(h http.Header, key string) { bearer(h, key) }

type (
	ollamaMessage struct {
		Role      string           `json:"role"`
		Content   string           `json:"content"`
		ToolCalls []ollamaToolCall `json:"tool_calls,omitempty"`
	}
	ollamaToolCall struct {
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	}
	ollamaOptions struct {
		Temperature *float64 `json:"temperature,omitempty"`
		NumPredict  int      `json:"num_predict,omitempty"`
	}
)

func (ollama) chat(model string, r ChatRequest) request {
	c := struct {
		Model    string          `json:"model"`
		Messages []ollamaMessage `json:"messages"`
		Tools    []openAITool    `json:"tools,omitempty"`
		Options  ollamaOptions   `json:"options"`
		Stream   bool            `json:"stream"`
	}{Model: model, Options: ollamaOptions{r.Temperature, r.MaxTokens}, Stream: true}
	for _, message := range r.Messages {
		m := ollamaMessage{Role: message.Role, Content: message.Content}
		for _, call := range message.ToolCalls {
			var t ollamaToolCall
			t.Function.Name, t.Function.Arguments = call.Name, jsonObject([]byte(call.Arguments))
			m.ToolCalls = append(m.ToolCalls, t)
		}
		c.Messages = append(c.Messages, m)
	}
	for _, t := range r.Tools {
		c.Tools = append(c.Tools, openAITool{"function", openAIFunction(t)})
	}
	return request{method: http.MethodPost, path: "/api/chat", body: c, stream: true}
}

// readChat reads a line of JSON for each piece.
func (ollama) readChat(b *body, a *answer) error {
	limited := &io.LimitedReader{R: b}
	lines := json.NewDecoder(limited)
	for {
		limited.N = maxEvent
		var piece struct {
			Message         ollamaMessage   `json:"message"`
			Done            bool            `json:"done"`
			DoneReason      string          `json:"done_reason"`
			PromptEvalCount int             `json:"prompt_eval_count"`
			EvalCount       int             `json:"eval_count"`
			Error           json.RawMessage `json:"error"`
		}
		err := lines.Decode(&piece)
		switch _, broken := errors.AsType[*json.SyntaxError](err); {
		case broken:
			return errMalformed
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case len(piece.Error) > 0:
			return parseSpoken(0, append(append([]byte(`{"error":`), piece.Error...), '}'))
		}
		if err := a.addText(piece.Message.Content); err != nil {
			return err
		}
		for _, t := range piece.Message.ToolCalls {
			call, err := a.toolCall(-1)
			if err != nil {
				return err
			}
			call.Name = t.Function.Name
			if err := a.addArguments(call, string(t.Function.Arguments)); err != nil {
				return err
			}
		}
		if piece.Done {
			a.setUsage(piece.PromptEvalCount, piece.EvalCount)
			if a.finish("stop"); piece.DoneReason == "length" {
				a.finish("length")
			}
			return nil
		}
	}
}

func (ollama) embed(model string, texts []string, dimensions int) (request, error) {
	r, err := openAI{}.embed(model, texts, dimensions)
	r.path = "/api/embed"
	return r, err
}

func (ollama) readEmbeddings(b *body, n int) ([][]float32, int, error) {
	var made struct {
		Embeddings      [][]float32 `json:"embeddings"`
		PromptEvalCount int         `json:"prompt_eval_count"`
	}
	if err := b.readJSON(&made); err != nil {
		return nil, 0, err
	}
	vectors, err := ordered(made.Embeddings, n)
	return vectors, made.PromptEvalCount, err
}

func (ollama) list() request { return request{method: http.MethodGet, path: "/api/tags"} }

func (ollama) readList(b *body) ([]Declaration, error) {
	var list struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := b.readJSON(&list); err != nil {
		return nil, err
	}
	models := make([]Declaration, len(list.Models))
	for i, m := range list.Models {
		models[i].ID = m.Name
	}
	return models, nil
}
