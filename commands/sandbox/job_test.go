package sandbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/sandbox"
	"svc/domain/automation"
	"svc/domain/value"
)

func object(t *testing.T, text string) *value.Object {
	t.Helper()
	v, err := value.ParseJSON(text)
	require.NoError(t, err)
	return v.(*value.Object)
}

func TestParametersOfARunAreRead(t *testing.T) {
	tests := map[string]struct {
		params  string
		timeout time.Duration
		refused string
	}{
		"only code":              {`{"code": "return 1"}`, 0, ""},
		"a timeout":              {`{"code": "", "arguments": {"a": 1}, "timeout": 200}`, 200 * time.Millisecond, ""},
		"nulls":                  {`{"code": "", "arguments": null, "timeout": null}`, 0, ""},
		"no code":                {`{}`, 0, "code is the body of a function, not undefined"},
		"code that is a number":  {`{"code": 1}`, 0, "code is the body of a function, not number"},
		"arguments in a list":    {`{"code": "", "arguments": []}`, 0, "arguments are an object, not array"},
		"a timeout of 0":         {`{"code": "", "timeout": 0}`, 0, "timeout is a number of milliseconds above 0 and up to 20000"},
		"a timeout of text":      {`{"code": "", "timeout": "1"}`, 0, "timeout is a number of milliseconds above 0 and up to 20000"},
		"a timeout that is long": {`{"code": "", "timeout": 20001}`, 0, "timeout is a number of milliseconds above 0 and up to 20000"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			j, err := sandbox.ReadJob(object(t, tt.params), 20*time.Second)
			require.Equal(t, tt.refused, refusal(err))
			require.Equal(t, tt.timeout, j.Timeout)
		})
	}
}

// refusal is the message of an InvalidInstructionError, "" of none.
func refusal(err error) string {
	if err == nil {
		return ""
	}
	if raised := automation.ErrorOf(err); raised.Name == automation.InvalidInstruction {
		return raised.Message
	}
	return err.Error()
}

func TestFunctionsOfTheConfigAreRead(t *testing.T) {
	functions := object(t, `{
		"good": {"code": "return a", "parameters": {"a": {"type": "string", "required": true}}, "timeout": 100},
		"plain": {"code": "return 1"},
		"text": "return 1", "none": {}, "list": {"code": "", "parameters": []},
		"odd": {"code": "", "parameters": {"a": {"type": "colour"}, "b": 5}}, "slow": {"code": "", "timeout": 1e9}
	}`)
	tests := map[string]string{
		"good": "", "plain": "", "list": "", "odd": "",
		"missing": `config.functions has no function "missing"`,
		"text":    `config.functions has no function "text"`,
		"none":    "config.functions.none.code is the body of a function, not undefined",
		"slow":    "timeout is a number of milliseconds above 0 and up to 20000",
	}
	for name, want := range tests {
		_, err := sandbox.FunctionAt(functions, name, 20*time.Second)
		require.Equal(t, want, refusal(err), name)
	}
	_, err := sandbox.FunctionAt(value.Undefined, "good", 20*time.Second)
	require.Error(t, err)
	f, err := sandbox.FunctionAt(functions, "good", 20*time.Second)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, f.Parameters.Keys())
	arguments := value.NewObject("a", "x")
	require.Equal(t, sandbox.Job{Code: "return a", Arguments: arguments, Timeout: 100 * time.Millisecond}, f.Job(arguments))
	called, err := f.Called(value.NewObject("arguments", value.NewObject("b", 1.0)), nil)
	require.NoError(t, err, "typed fields make a form and are not enforced")
	require.Equal(t, []string{"b"}, called.Arguments.Keys())
	require.Equal(t, []string{"a"}, called.Undefined, "a parameter that is not given is undefined")
	called, err = f.Called(value.NewObject("input", true, "arguments", value.NewObject("b", 1.0)), value.NewObject("a", "x", "b", 2.0))
	require.NoError(t, err)
	require.Equal(t, value.NewObject("a", "x", "b", 1.0), called.Arguments, "the whole input, and arguments win")
}
