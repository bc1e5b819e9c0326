package recording

import (
	"time"

	"svc/domain/automation/value"
)

// Start is what a tree started with.
type Start struct {
	WorkspaceID   string
	CorrelationID string
	ExecutionID   string // of its first execution
	Ref           string // of the document of that
	Slug          string
	Revision      uint64 // of the content and the config of the workspace
	Depth         int
	Trigger       *value.Object
	Input         *value.Object
	At            time.Time

	UserID, SessionID, SocketID string
	// Run and User are what the platform says of the run and of its user, without the
	// time.
	Run, User *value.Object
	// Keys are the names of what the platform says in each context, in order.
	Keys *value.Object

	// What the interpreter runs with.
	MaxDepth, LocalLimit       int
	MaxWait, Wait, CodeTimeout time.Duration
	Locale, Zone               string
}

func (s *Start) encoded() any {
	return value.NewObject(
		"version", float64(recordVersion), "workspaceId", s.WorkspaceID, "correlationId", s.CorrelationID, "executionId", s.ExecutionID,
		"ref", s.Ref, "slug", s.Slug, "revision", float64(s.Revision), "depth", float64(s.Depth), "trigger", object(s.Trigger),
		"input", object(s.Input), "at", float64(s.At.UnixMilli()), "userId", s.UserID, "sessionId", s.SessionID, "socketId", s.SocketID,
		"run", object(s.Run), "user", object(s.User), "keys", object(s.Keys), "maxDepth", float64(s.MaxDepth),
		"local", float64(s.LocalLimit), "maxWait", float64(s.MaxWait), "wait", float64(s.Wait), "code", float64(s.CodeTimeout),
		"locale", s.Locale, "zone", s.Zone,
	)
}

func object(o *value.Object) *value.Object {
	if o == nil {
		return &value.Object{}
	}
	return o
}

func startOf(v any) (Start, bool) {
	text := func(key string) string { s, _ := value.At(v, key).(string); return s }
	number := func(key string) float64 { n, _ := value.At(v, key).(float64); return n }
	within := func(key string) *value.Object { o, _ := value.At(v, key).(*value.Object); return object(o) }
	s := Start{
		WorkspaceID: text("workspaceId"), CorrelationID: text("correlationId"), ExecutionID: text("executionId"), Ref: text("ref"),
		Slug: text("slug"), Revision: uint64(max(number("revision"), 0)), Depth: int(number("depth")), Trigger: within("trigger"),
		Input: within("input"), At: time.UnixMilli(int64(number("at"))).UTC(), UserID: text("userId"), SessionID: text("sessionId"),
		SocketID: text("socketId"), Run: within("run"), User: within("user"), Keys: within("keys"), MaxDepth: int(number("maxDepth")),
		LocalLimit: int(number("local")), MaxWait: time.Duration(number("maxWait")), Wait: time.Duration(number("wait")),
		CodeTimeout: time.Duration(number("code")), Locale: text("locale"), Zone: text("zone"),
	}
	return s, number("version") == recordVersion
}
