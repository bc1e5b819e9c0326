package node

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"svc/cmd/settings"
	"svc/commands/llm"
	"svc/commands/llm/fakemodel"
	"svc/commands/secrets"
	"svc/domain"
	modelhandlers "svc/http/api/llm"
	"svc/projections"
)

// openLanguageModels opens the language models of the settings and of workspaces.
func (n *Node) openLanguageModels(ctx context.Context) error {
	k := n.config().Knowledge
	platform, err := n.platformModels(ctx)
	if err != nil {
		return err
	}
	n.workspaces.languageModels, err = llm.New(llm.Options{
		Platform: platform, PlatformClient: n.egress.OperatorClient(), WorkspaceClient: n.egress.Client(0),
		Workspace: n.workspaceModels, Resolve: secrets.Secrets{Values: n.workspaces.secrets}.Resolve,
		Check:   n.checkTokens,
		Timeout: k.ModelTimeout, Concurrency: k.ModelConcurrency, Log: n.log,
	})
	return err
}

// checkTokens refuses calls of models to a workspace that has used up the tokens of the day.
func (n *Node) checkTokens(_ context.Context, workspaceID string, unrecorded int) error {
	quota := n.config().Knowledge.TokensPerDay
	if quota == 0 {
		return nil
	}
	r := n.models.Reader()
	defer r.Close()
	now := time.Now().UTC()
	used, err := projections.Usage{}.Tokens(r, workspaceID, now)
	if used += float64(unrecorded); err != nil || used < float64(quota) {
		return err
	}
	tomorrow := now.Truncate(24 * time.Hour).Add(24 * time.Hour)
	return domain.Refuse(domain.CodeQuota, "the workspace has used up the %d tokens of language models that it has each day", quota).
		With("limit", quota).With("used", used).With("retryAfter", int(tomorrow.Sub(now).Seconds())+1)
}

// workspaceModels returns the providers of a workspace.
func (n *Node) workspaceModels(_ context.Context, workspaceID string) (c llm.Config, err error) {
	r := n.models.Reader()
	defer r.Close()
	doc, ok, err := projections.Workspaces{}.Settings(r, workspaceID)
	if err != nil || !ok || doc.Object("models").Len() == 0 {
		return c, err
	}
	text, err := json.Marshal(doc.Object("models"))
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(text, &c)
}

// modelHandlers returns the handlers of language models.
func (n *Node) modelHandlers() *modelhandlers.Handlers {
	return &modelhandlers.Handlers{Models: n.workspaces.languageModels, Used: n.workspaces.recorder.Used, Now: time.Now}
}

// platformModels returns the providers of the settings.
func (n *Node) platformModels(ctx context.Context) (llm.Config, error) {
	k := n.config().Knowledge
	switch {
	case k.Models != "":
		c, err := llm.ParseConfig(k.Models.Reveal())
		if err != nil {
			return c, fmt.Errorf("MODELS_CONFIG: %w", err)
		}
		return c, nil
	case k.LLMBaseURL == settings.DemoModels:
		address, err := n.serveDemoModels(ctx)
		return llm.SingleProvider(address, fakemodel.Key, cmp.Or(k.LLMModel, fakemodel.ChatModel), cmp.Or(k.LLMEmbedding, fakemodel.EmbeddingModel)), err
	case k.LLMBaseURL != "":
		return llm.SingleProvider(k.LLMBaseURL.Reveal(), k.LLMAPIKey.Reveal(), k.LLMModel, k.LLMEmbedding), nil
	}
	return llm.Config{}, nil
}

// serveDemoModels starts a model server that needs no model, for this machine only.
func (n *Node) serveDemoModels(ctx context.Context) (address string, err error) {
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("serve the models of LLM_BASE_URL=%s: %w", settings.DemoModels, err)
	}
	server := &http.Server{Handler: fakemodel.NewDemo(), ReadHeaderTimeout: time.Minute}
	n.log.Warn("language models are a demonstration: answers repeat the first source", "setting", "LLM_BASE_URL")
	stop, wait := n.start("models of the demonstration", func(context.Context) error {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	n.closeWith("models of the demonstration", func(context.Context) error {
		stop()
		err := server.Close()
		wait()
		return err
	})
	return "http://" + l.Addr().String() + "/v1", nil
}
