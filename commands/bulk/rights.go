package bulk

import (
	"context"
	"sync"

	"svc/commands/content"
)

// LateRights are the Rights that another part of the node provides later: a run may be taken
// over before the API is open. Until then its methods wait. The zero value is not usable.
type LateRights struct {
	set    chan struct{} // closed when rights is set
	once   sync.Once
	rights Rights
}

// NewLateRights returns LateRights that are not set yet.
func NewLateRights() *LateRights { return &LateRights{set: make(chan struct{})} }

// Set provides the rights, once.
func (l *LateRights) Set(rights Rights) {
	l.once.Do(func() {
		l.rights = rights
		close(l.set)
	})
}

// Import implements Rights.
func (l *LateRights) Import(ctx context.Context, who Who, workspaceID string) (content.ImportOptions, bool, error) {
	if err := l.wait(ctx); err != nil {
		return content.ImportOptions{}, false, err
	}
	return l.rights.Import(ctx, who, workspaceID)
}

// Create implements Rights.
func (l *LateRights) Create(ctx context.Context, who Who) (content.ImportOptions, bool, error) {
	if err := l.wait(ctx); err != nil {
		return content.ImportOptions{}, false, err
	}
	return l.rights.Create(ctx, who)
}

func (l *LateRights) wait(ctx context.Context) error {
	select {
	case <-l.set:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
