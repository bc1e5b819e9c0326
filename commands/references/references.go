// Package references keeps secrets that automations set and pass on without reading
// them: what an automation gets is a text that names the secret, and only what is sent
// by a fetch has the value in its place.
package references

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"svc/commands"
	"svc/commands/contexts"
	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/variable"
	"svc/domain/value"
	"svc/domain/workspace"
)

// Values keeps the secrets, sealed. It is a *contexts.Contexts.
type Values interface {
	Load(ctx context.Context, key contexts.Key) (*value.Object, error)
	Append(ctx context.Context, id string, changes []contexts.Change) error
}

// Secrets are those that people set for a workspace. It is a programs.Secrets.
type Secrets interface {
	All(ctx context.Context, workspaceID string) (map[string]string, error)
}

// References sets, names and resolves secrets. All fields are required.
type References struct {
	Values  Values
	Secrets Secrets
	Vault   commands.Vault
	Now     func() time.Time
	NewID   func() string
}

// Holder says whose secrets are meant: those of a workspace, of an app instance in it,
// and of one user there.
type Holder struct{ WorkspaceID, Instance, UserID string }

// The scopes of secrets.
const (
	ofWorkspace = "workspace"
	ofUser      = "user"
)

// kind is that of the contexts that hold the secrets.
const kind = "secrets"

const purpose = "secretReference"

// named is a secret as a reference has it.
type named struct {
	Scope string `json:"s"`
	Name  string `json:"n"`
}

func (h Holder) key(scope string) contexts.Key {
	id := "workspace/" + h.Instance
	if scope == ofUser {
		id = "user/" + h.Instance + "/" + h.UserID
	}
	return contexts.Key{WorkspaceID: h.WorkspaceID, Kind: kind, ID: id}
}

// refusal is an error that is returned as a value.
func refusal(reason string) *value.Object { return value.NewObject("error", reason) }

// Call performs a function of the module secrets.
func (r *References) Call(ctx context.Context, of Holder, function string, params *value.Object) (any, error) {
	name, ok := params.At("name").(string)
	if !ok || workspace.WrongSecretName(name) != "" {
		return value.Undefined, automation.Invalid("name is that of a secret: 1 to 100 letters, digits and _ . -")
	}
	scope, ok := params.At("scope").(string)
	if !ok {
		scope = ofWorkspace
	}
	switch {
	case scope != ofWorkspace && scope != ofUser:
		return value.Undefined, automation.Invalid("scope is workspace or user")
	case strings.HasPrefix(name, workspace.SecretPrefix):
		return refusal("forbidden"), nil
	case scope == ofUser && of.UserID == "":
		return refusal("user_required"), nil
	}
	switch function {
	case "set":
		return r.set(ctx, of, named{scope, name}, params)
	case "get":
		return r.get(ctx, of, named{scope, name})
	case "delete":
		return value.NewObject("deleted", true), r.write(ctx, of.key(scope), variable.Op{Kind: variable.Delete, Path: path(name)}, time.Time{})
	}
	return value.Undefined, automation.Invalid("module secrets has no function %s", function)
}

func path(name string) []expr.Step { return []expr.Step{{Key: name}} }

func (r *References) set(ctx context.Context, of Holder, n named, params *value.Object) (any, error) {
	text, ok := params.At("value").(string)
	if !ok || text == "" {
		return value.Undefined, automation.Invalid("value is a text that is not empty")
	}
	if why, err := r.tooMuch(ctx, of.key(n.Scope), n.Name, text); err != nil || why != "" {
		return refusal(why), err
	}
	until := time.Time{}
	if ttl, ok := params.At("ttl").(float64); ok {
		if ttl <= 0 {
			return value.Undefined, automation.Invalid("ttl is a number of seconds above 0")
		}
		until = r.Now().Add(time.Duration(ttl * float64(time.Second)))
	}
	if err := r.write(ctx, of.key(n.Scope), variable.Op{Kind: variable.Replace, Path: path(n.Name), Value: text}, until); err != nil {
		return value.Undefined, err
	}
	reference, err := r.reference(ctx, of, n)
	return value.NewObject("reference", reference), err
}

// Bounds of what is kept: of a secret, in bytes, and how many one holder has in a scope.
const (
	maxValue   = 64 << 10
	maxSecrets = 1000
)

// tooMuch says why a secret is not kept, "" when it is.
func (r *References) tooMuch(ctx context.Context, key contexts.Key, name, text string) (why string, err error) {
	if len(text) > maxValue {
		return "too_large", nil
	}
	stored, err := r.Values.Load(ctx, key)
	if _, known := stored.Get(name); err == nil && !known && stored.Len() >= maxSecrets {
		why = "too_many"
	}
	return why, err
}

func (r *References) write(ctx context.Context, key contexts.Key, op variable.Op, until time.Time) error {
	return r.Values.Append(ctx, r.NewID(), []contexts.Change{{Key: key, Writes: []contexts.Write{{Op: op, Until: until}}}})
}

func (r *References) get(ctx context.Context, of Holder, n named) (any, error) {
	_, found, err := r.value(ctx, of, n)
	if err != nil {
		return value.Undefined, err
	}
	if !found {
		return refusal("not_found"), nil
	}
	return r.reference(ctx, of, n)
}

// value returns the secret itself. What people set for the workspace is found by its
// own automations, too.
func (r *References) value(ctx context.Context, of Holder, n named) (text string, found bool, err error) {
	stored, err := r.Values.Load(ctx, of.key(n.Scope))
	if err != nil {
		return "", false, err
	}
	if text, ok := stored.At(n.Name).(string); ok {
		return text, true, nil
	}
	if n.Scope != ofWorkspace || of.Instance != "" {
		return "", false, nil
	}
	all, err := r.Secrets.All(ctx, of.WorkspaceID)
	text, found = all[n.Name]
	return text, found, err
}

// reference returns the text that names a secret.
func (r *References) reference(ctx context.Context, of Holder, n named) (string, error) {
	name, err := json.Marshal(n)
	if err != nil {
		return "", err
	}
	proof, err := r.proof(ctx, of, name, n.Scope)
	return "$secret:" + base64.RawURLEncoding.EncodeToString(name) + "." + proof, err
}

// proof is what a reference has to show: it is good for its holder only.
func (r *References) proof(ctx context.Context, of Holder, name []byte, scope string) (string, error) {
	key := of.key(scope)
	mac, err := r.Vault.MAC(ctx, of.WorkspaceID, purpose, append([]byte(key.ID+"\x00"), name...))
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(mac[:16]), nil
}

var written = regexp.MustCompile(`\$secret:([A-Za-z0-9_-]{1,400})\.([A-Za-z0-9_-]{22})`)

// Resolve puts the values of secrets in the place of references to them, and returns
// which were used. A reference that is not the holder's stays as it is.
func (r *References) Resolve(ctx context.Context, of Holder, text string) (resolved string, used []string, err error) {
	if !strings.Contains(text, "$secret:") {
		return text, nil, nil
	}
	resolved = written.ReplaceAllStringFunc(text, func(found string) string {
		secret, ok, failed := r.follow(ctx, of, found)
		if failed != nil {
			err = failed
		}
		if !ok {
			return found
		}
		used = append(used, secret)
		return secret
	})
	return resolved, used, err
}

// follow returns what a reference names, if it is the holder's.
func (r *References) follow(ctx context.Context, of Holder, reference string) (secret string, ok bool, err error) {
	parts := written.FindStringSubmatch(reference)
	name, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", false, nil
	}
	var n named
	if json.Unmarshal(name, &n) != nil || n.Scope != ofWorkspace && n.Scope != ofUser {
		return "", false, nil
	}
	proof, err := r.proof(ctx, of, name, n.Scope)
	if err != nil || subtle.ConstantTimeCompare([]byte(proof), []byte(parts[2])) != 1 {
		return "", false, err
	}
	return r.value(ctx, of, n)
}
