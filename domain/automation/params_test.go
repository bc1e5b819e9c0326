package automation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/automation/value"
)

func TestParametersAreCheckedAsTheyAreWhenTheyRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		instruction string
		params      *value.Object
		raises      string // "" when nothing is wrong
		field       string
	}{
		"what is not evaluated is not asked for":  {"repeat", value.NewObject("on", []any{}), "", ""},
		"the value of a set may be nothing":       {"set", value.NewObject("type", "merge"), "", ""},
		"a set has no other types":                {"set", value.NewObject("type", "add"), automation.InvalidInstruction, "do[0].x.type"},
		"a batch has whole iterations":            {"repeat", value.NewObject("batch", value.NewObject("size", 1.5)), automation.InvalidInstruction, "do[0].x.batch.size"},
		"bytes are a body":                        {"fetch", value.NewObject("url", "http://h", "body", value.Bytes("x")), "", ""},
		"bytes are no address":                    {"fetch", value.NewObject("url", value.Bytes("http://h")), automation.InvalidInstruction, "do[0].x.url"},
		"an address may hold braces":              {"fetch", value.NewObject("url", "http://h/{{x}}"), "", ""},
		"an address is asked for":                 {"fetch", &value.Object{}, automation.InvalidInstruction, "do[0].x.url"},
		"null is as good as absent":               {"wait", value.NewObject("timeout", nil), "", ""},
		"the name of an event has its own error":  {"emit", value.NewObject("event", "a/b"), automation.InvalidEvent, "do[0].x.event"},
		"unknown parameters are ignored":          {"emit", value.NewObject("event", "a", "what", 1.0), "", ""},
		"unknown members are ignored":             {"fetch", value.NewObject("url", "http://h", "auth", value.NewObject("digest", 1.0)), "", ""},
		"a stream without an event is none":       {"fetch", value.NewObject("url", "http://h", "stream", value.NewObject("event", "", "options", 5.0)), "", ""},
		"a stream has the name of an event":       {"fetch", value.NewObject("url", "http://h", "stream", value.NewObject("event", "a/b")), automation.InvalidEvent, "do[0].x.stream.event"},
		"throw is what break is":                  {"run", value.NewObject("module", "crypto", "function", "md5", "onError", "throw"), "", ""},
		"an output is looked at by others":        {"emit", value.NewObject("event", "a", "output", 1.0), "", ""},
		"a module has its functions":              {"run", value.NewObject("module", "crypto", "function", "md5"), "", ""},
		"a module has no others":                  {"run", value.NewObject("module", "crypto", "function", "md6"), automation.ObjectNotFound, "do[0].x.function"},
		"there are no other modules":              {"run", value.NewObject("module", "cryptic", "function", "md5"), automation.ObjectNotFound, "do[0].x.module"},
		"what is no instruction is not looked at": {"child", value.NewObject("what", 1.0), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := automation.CheckParams("do[0].x", test.instruction, test.params)
			if test.raises == "" {
				require.Nil(t, err)
				return
			}
			require.NotNil(t, err)
			require.Equal(t, test.raises, err.Name)
			require.Equal(t, test.field, err.Details.At("field"))
		})
	}
}
