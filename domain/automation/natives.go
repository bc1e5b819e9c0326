package automation

import (
	"fmt"
	"strings"
)

// natives are the event types of the platform, all but error and usage, that nobody
// else emits: a prefix and what may follow it.
var natives = map[string]string{
	"webhooks.":                 "test deliveries.attempted",
	"gateway.login.":            "succeeded failed",
	"gateway.mfa.":              "succeeded failed",
	"gateway.passwordReset.":    "requested succeeded",
	"gateway.signup.":           "succeeded",
	"gateway.users.":            "created updated deleted",
	"gateway.sessions.":         "ended",
	"gateway.accessTokens.":     "created deleted",
	"gateway.jwks.":             "updated",
	"apikeys.":                  "created updated deleted",
	"workspaces.":               "created updated deleted undeleted configured restored duplicated locked unlocked imported staged",
	"workspaces.security.":      "updated",
	"workspaces.secrets.":       "updated",
	"workspaces.events.":        "updated",
	"workspaces.blocks.":        "updated",
	"workspaces.permissions.":   "shared deleted",
	"workspaces.automations.":   "created updated deleted",
	"workspaces.pages.":         "created updated deleted permissions.shared permissions.deleted",
	"workspaces.apps.":          "installed configured uninstalled",
	"workspaces.files.":         "uploaded updated deleted counted",
	"workspaces.subscriptions.": "created updated deleted disabled",
	"workspaces.collections.":   "updated",
	"workspaces.versions.":      "published deleted progress marked intended",
	"workspaces.bulkImport.":    "started progress completed",
	"workspaces.bulkPush.":      "started progress completed",
	"apps.":                     "published deleted",
	"runtime.jwks.":             "updated",
	"runtime.interactions.":     "triggered",
	"runtime.webhooks.":         "triggered",
	"runtime.schedules.":        "triggered created",
	"runtime.automations.":      "executed",
	"runtime.fetch.":            "failed",
	"runtime.waits.":            "pending kept fulfilled expired",
	"runtime.runs.":             "replayed",
	"runtime.contexts.":         "updated",
	"events.userTopics.":        "created joined",
	"events.":                   "cleaned dropped deliveries.dropped",
	"workspaces.operations.":    "started cancelRequested resumed advanced ended",
	"runtime.trees.":            "started",
	"log.":                      "sealed",
	"names.":                    "taken released",
	"nats.users.":               "created deleted",
}

// nativeTypes are their whole names: every event is asked for.
var nativeTypes = func() map[string]bool {
	all := map[string]bool{}
	for prefix, names := range natives {
		for _, name := range strings.Fields(names) {
			all[prefix+name] = true
		}
	}
	return all
}()

// Native reports whether an event type is one of the platform that nobody else
// may emit; error and usage are not.
func Native(eventType string) bool { return nativeTypes[eventType] }

// notNative is the rule of names that are emitted.
func notNative(v any) string {
	if s, ok := v.(string); ok && Native(s) {
		return fmt.Sprintf("%q is an event of the platform itself", s)
	}
	return ""
}
