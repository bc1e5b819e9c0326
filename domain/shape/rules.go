package shape

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/automation"
	"svc/domain/document"
)

// maxText is the length of a description in one language, in characters.
const maxText = 10000

var (
	label     = matching(`^[0-9A-Za-z._:-]{2,60}$`, "label (2 to 60 letters, digits and ._:-)")
	eventType = matching(`^[a-zA-Z0-9 ._-]{1,200}$`, "type of an event (1 to 200 letters, digits, spaces and ._-)")
	language  = matching(`^[A-Za-z]{2,8}([_-][A-Za-z0-9]{1,8}){0,4}$`, "language, such as en or pt-BR")
	secretRef = matching(`^\{\{\s*secret\.[A-Za-z0-9_.-]{1,100}\s*\}\}$`, "secret")
)

// The rules below are called with values of the type that their field has; those
// of a field that has two types let the other one pass.

func wrongWorkspaceName(v any) string {
	if s, ok := v.(string); ok && (s == "" || !domain.IsLine(s, 60)) {
		return "must be 1 to 60 characters without control characters"
	}
	return ""
}

// wrongTitle is the rule of a name in one language, or of all together.
func wrongTitle(v any) string {
	if m, ok := v.(*document.Map); ok && m.Len() == 0 {
		return "expected a name in at least one language"
	}
	if s, ok := v.(string); ok && !domain.IsTitle(s, len(s)) {
		return "a name is one line that is not blank, without control characters"
	}
	return ""
}

func wrongLine(v any) string {
	if s, ok := v.(string); ok && !domain.IsTitle(s, len(s)) {
		return "must be one line that is not blank, without control characters"
	}
	return ""
}

func wrongPicture(v any) string {
	if s, ok := v.(string); ok && s != "" && !domain.IsPicture(s) {
		return "must be an http or https URL or a path that begins with /, of at most 2048 characters"
	}
	return ""
}

// wrongAddress is the rule of what is called over the web.
func wrongAddress(v any) string {
	if s, ok := v.(string); ok && (strings.HasPrefix(s, "/") || !domain.IsPicture(s)) {
		return "must be an http or https URL"
	}
	return ""
}

// wrongSlug is the rule of slugs that a kind of documents has.
func wrongSlug(kind *document.Kind, says string) func(any) string {
	return func(v any) string {
		if s, ok := v.(string); ok && !kind.HasSlug(s) {
			return fmt.Sprintf("%s is no slug: %s", document.Shown(s), says)
		}
		return ""
	}
}

// wrongEvent is the rule of an event's type. A template is judged when it is
// known what it says.
func wrongEvent(v any) string {
	if s, ok := v.(string); ok && !isTemplate(s) && !eventType.MatchString(s) {
		return eventType.wrong(s)
	}
	return ""
}

// wrongEmitted is the rule of the type of an event that visitors emit.
func wrongEmitted(v any) string {
	if s, ok := v.(string); ok && automation.Native(s) {
		return fmt.Sprintf("%q is an event of the platform itself", s)
	}
	return wrongEvent(v)
}

func isTemplate(s string) bool { return strings.Contains(s, "{{") }

// wrongReference is the rule of the name of an automation or an app instance,
// which may be of another app.
func wrongReference(v any) string {
	if s, ok := v.(string); ok && !domain.IsTitle(s, 200) {
		return "must be a name of 1 to 200 characters"
	}
	return ""
}

// wrongKind is the rule of the kind of a block.
func wrongKind(v any) string {
	s, _ := v.(string)
	return wrongName(s, 200)
}

// wrongSecret is the rule of what must not be told in a document. What was told
// is not repeated.
func wrongSecret(v any) string {
	if s, ok := v.(string); ok && !secretRef.MatchString(s) {
		return "must be a secret of the workspace: {{secret.NAME}}"
	}
	return ""
}

func subjects() []string { return append(access.Subjects(), "all") }

// actions lists the actions of all subjects, each once.
func actions() []string {
	all := []string{"manage"}
	for _, subject := range access.Subjects() {
		for _, action := range access.Actions(subject) {
			if !slices.Contains(all, action) {
				all = append(all, action)
			}
		}
	}
	return all
}

// passedOn is a config that is one of the workspace, or a part of it.
var passedOn = regexp.MustCompile(`^\{\{\s*config(\.[A-Za-z0-9_.-]+)?\s*\}\}$`)

// wrongConfig is the rule of the config of an app instance that is no object.
func wrongConfig(v any) string {
	if text, ok := v.(string); ok && !passedOn.MatchString(text) {
		return "expected an object, or {{config}} or a part of it"
	}
	return ""
}
