package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Config is the providers of the platform (MODELS_CONFIG) or of a workspace (its field models).
type Config struct {
	Providers map[string]ProviderConfig `json:"providers"` // by slug
	Defaults  Defaults                  `json:"defaults"`
}

// Defaults are the models that are used where none is named: provider/model, or the id of a model; "": none.
type Defaults struct {
	Chat      string `json:"chat,omitempty"`
	Embedding string `json:"embedding,omitempty"`
}

func (d Defaults) of(kind Kind) string {
	if kind == EmbeddingKind {
		return d.Embedding
	}
	return d.Chat
}

// ProviderConfig is how one provider is reached.
type ProviderConfig struct {
	Type    string            `json:"type,omitempty"` // openai (also ""), anthropic or ollama
	BaseURL string            `json:"baseUrl"`
	APIKey  string            `json:"apiKey,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Models  []Declaration     `json:"models,omitempty"` // empty: those that the provider lists itself
}

// Kind is what a model is for.
type Kind string

// The kinds of models.
const (
	ChatKind      Kind = "chat"
	EmbeddingKind Kind = "embedding"
)

var kinds = []Kind{ChatKind, EmbeddingKind}

// Declaration is a model of a provider. Zero numbers are unknown.
type Declaration struct {
	ID         string `json:"id"`
	Kind       Kind   `json:"kind,omitempty"` // "": told from the id
	Context    int    `json:"context,omitempty"`
	Dimensions int    `json:"dimensions,omitempty"`
	Tools      *bool  `json:"tools,omitempty"` // nil: it has tools
}

// kind returns the kind of a model. Most lists of providers do not tell it.
func (d Declaration) kind() Kind {
	switch {
	case d.Kind != "":
		return d.Kind
	case strings.Contains(strings.ToLower(d.ID), "embed"):
		return EmbeddingKind
	}
	return ChatKind
}

// ParseConfig reads MODELS_CONFIG. Its errors contain no value: some are keys.
func ParseConfig(text string) (c Config, err error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return Config{}, errors.New("llm: the configuration is not an object of providers and defaults: " + jsonProblem(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Config{}, errors.New("llm: the configuration has more than one JSON value")
	}
	return c, c.check()
}

// jsonProblem says what is wrong with JSON, without its values.
func jsonProblem(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%s is not of type %s", wrong.Field, wrong.Type)
	}
	if strings.Contains(err.Error(), "unknown field") {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	return "it is not well-formed"
}

func (c Config) check() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("llm: "+format, args...)) }
	for _, slug := range slices.Sorted(maps.Keys(c.Providers)) {
		p := c.Providers[slug]
		if slug == "" || strings.ContainsAny(slug, "/ ") {
			fault("the name of provider %q must not be empty, nor contain / or a space", slug)
		}
		if u, err := url.Parse(p.BaseURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			fault("providers.%s.baseUrl is not an http or https URL without credentials", slug)
		}
		if _, ok := protocols[p.Type]; !ok {
			fault("providers.%s.type is none of openai, anthropic and ollama", slug)
		}
		for i, m := range p.Models {
			if m.ID == "" || m.Kind != "" && m.Kind != ChatKind && m.Kind != EmbeddingKind {
				fault("providers.%s.models[%d] needs an id, and its kind is chat or embedding", slug, i)
			}
		}
	}
	for _, id := range []string{c.Defaults.Chat, c.Defaults.Embedding} {
		slug, _, qualified := strings.Cut(id, "/")
		if _, known := c.Providers[slug]; qualified && !known {
			fault("a default names a provider that is not configured")
		}
	}
	return errors.Join(errs...)
}

// SingleProvider returns the configuration of LLM_BASE_URL, LLM_API_KEY, LLM_MODEL and LLM_EMBEDDING_MODEL: a provider
// called default.
func SingleProvider(baseURL, apiKey, chat, embedding string) Config {
	const slug = "default"
	c := Config{Providers: map[string]ProviderConfig{slug: {BaseURL: baseURL, APIKey: apiKey}}}
	if chat != "" {
		c.Defaults.Chat = slug + "/" + chat
	}
	if embedding != "" {
		c.Defaults.Embedding = slug + "/" + embedding
	}
	return c
}
